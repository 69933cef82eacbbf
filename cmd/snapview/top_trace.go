package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// traceTop answers top for a trace.
func (u *ui) traceTop(f *input.File, name string, o *topOptions, at string) error {
	by, err := profiler.ParseBy(o.by)
	if err != nil || by == profiler.ByShape || by == profiler.ByKernel {
		return usagef("--by %s: of a trace, memory is held by line, op, module, stack or category", o.by)
	}
	t, err := u.readTrace(f, name)
	if err != nil {
		return err
	}
	ledgers, err := o.device.pickLedgers(t.Ledgers())
	if err != nil {
		return inFile(name, err)
	}
	if o.device == allDevices {
		ledgers = mainLedgers(ledgers)
	}
	if len(ledgers) == 0 {
		u.note(name, noMemoryEvents)
	}
	tops := make([]traceTop, len(ledgers))
	if more := len(ledgers) - maxTopDevices; more > 0 {
		u.note(name, plural(more, "more device")+" left out: --device N picks one")
		ledgers, tops = ledgers[:maxTopDevices], tops[:maxTopDevices]
	}
	for i, l := range ledgers {
		if tops[i], err = newTraceTop(t, l, by, at); err != nil {
			return inFile(name, err)
		}
	}
	if o.json {
		return u.traceTopJSON(t, tops, &o.options)
	}
	var b strings.Builder
	b.WriteString(u.tracePartialLine(t))
	for i := range tops {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(u.traceTopText(&tops[i], &o.options))
	}
	if len(tops) == 0 {
		b.WriteString("no device held memory\n")
	}
	_, err = fmt.Fprint(u.out, b.String())
	return err
}

// maxTopDevices is how many devices top answers for. No machine has as many, and
// each takes a pass over the trace.
const maxTopDevices = 16

// mainLedgers leaves out the CPU where there are devices.
func mainLedgers(all []profiler.Ledger) []profiler.Ledger {
	var devices []profiler.Ledger
	for _, l := range all {
		if l.Device >= 0 {
			devices = append(devices, l)
		}
	}
	if len(devices) == 0 {
		return all
	}
	return devices
}

// A traceTop is who holds the memory of one device at a moment.
type traceTop struct {
	ledger profiler.Ledger
	moment string
	time   int64 // ns, as in the file
	since  int64 // ns since the start of the trace
	total  int64
	table  profiler.Table
}

func newTraceTop(t *profiler.Trace, l profiler.Ledger, by profiler.By, at string) (traceTop, error) {
	c := t.CategorizeDevice(l.Type, l.Device)
	top := traceTop{ledger: l, moment: at}
	first, _ := t.Span()
	last := lastMemory(t)
	switch at {
	case "peak":
		top.time = l.PeakTime
	case "end":
		top.time = last
	default:
		after, err := time.ParseDuration(at)
		if err != nil || after < 0 {
			return top, usagef("--at %s: of a trace, the moments are end, peak and a time since its start, such as +20ms", at)
		}
		if after.Nanoseconds() > last-first {
			return top, usagef("--at %s: after the last memory event, which is at +%s", at, nanoseconds(last-first))
		}
		top.moment, top.time = "time", first+after.Nanoseconds()
	}
	top.since = top.time - first
	var err error
	if top.table, err = t.Live(&c, top.time, by); err != nil {
		return top, err
	}
	for _, r := range top.table.Rows {
		top.total += r.Kept
	}
	return top, nil
}

func lastMemory(t *profiler.Trace) int64 {
	last := int64(math.MinInt64)
	for i := range t.Memory {
		last = max(last, t.Memory[i].Time)
	}
	return last
}

// traceTopTable is the JSON of top for one device of a trace.
type traceTopTable struct {
	DeviceType string        `json:"device_type"`
	Device     int           `json:"device"`
	Partial    string        `json:"partial,omitempty"`
	At         traceMoment   `json:"at"`
	By         string        `json:"by"`
	Total      int64         `json:"total_bytes"`
	AllRows    int           `json:"total_rows"` // before -n
	Rows       []traceTopRow `json:"rows"`
}

type traceMoment struct {
	Moment string       `json:"moment"`
	Time   microseconds `json:"time_us"`
}

type traceTopRow struct {
	Name     string   `json:"name"`
	File     string   `json:"file,omitempty"`
	Line     int32    `json:"line,omitempty"`
	Function string   `json:"function,omitempty"`
	Module   string   `json:"module,omitempty"`
	Category string   `json:"category,omitempty"`
	Backward bool     `json:"backward,omitempty"`
	Stack    []string `json:"stack,omitempty"` // innermost first; only by stack
	Bytes    int64    `json:"bytes"`
	Count    int      `json:"count"`
}

// traceTopJSON prints one object for one device and a list otherwise.
func (u *ui) traceTopJSON(t *profiler.Trace, tops []traceTop, o *options) error {
	tables := make([]traceTopTable, len(tops))
	for i := range tops {
		top := &tops[i]
		tables[i] = traceTopTable{
			DeviceType: top.ledger.Type.String(), Device: top.ledger.Device, Partial: tracePartial(t),
			At: traceMoment{top.moment, microseconds(top.time)}, By: top.table.By.String(),
			Total: top.total, AllRows: len(top.table.Rows), Rows: []traceTopRow{},
		}
		for _, r := range top.table.Rows[:o.rows.limit(len(top.table.Rows))] {
			row := traceTopRow{Name: r.Name, File: r.File, Line: r.Line, Function: r.Function, Module: r.Module, Backward: r.Backward, Bytes: r.Kept, Count: r.Count}
			switch top.table.By {
			case profiler.ByStack:
				row.Stack = r.Stack
			case profiler.ByCategory:
				row.Category = r.Name
			}
			tables[i].Rows = append(tables[i].Rows, row)
		}
	}
	if len(tables) == 1 {
		return writeJSON(u.out, tables[0])
	}
	return writeJSON(u.out, tables)
}

func (u *ui) traceTopText(top *traceTop, o *options) string {
	title := ledgerName(top.ledger) + " at "
	switch top.moment {
	case "end":
		title += "the end"
	case "peak":
		title += "the peak (+" + nanoseconds(top.since) + ")"
	default:
		title += "+" + nanoseconds(top.since)
	}
	table := &top.table
	shown := o.rows.limit(len(table.Rows))
	if shown == len(table.Rows)-1 && !o.rows.given {
		shown++
	}
	w := newTable(right, right, right, left)
	w.header("allocated", "share", "blocks", table.By.String())
	row := func(bytes int64, count int, name string) {
		w.row(units.Bytes(bytes), units.Percent(bytes, top.total), units.Count(count), name)
	}
	const numbers = 40 // columns that the numbers may take
	count := 0
	for i, r := range table.Rows {
		count += r.Count
		if i < shown {
			row(r.Kept, r.Count, traceTopName(&r, table.By, u.width-numbers))
		}
	}
	if shown < len(table.Rows) {
		bytes, blocks := int64(0), 0
		for _, r := range table.Rows[shown:] {
			bytes, blocks = bytes+r.Kept, blocks+r.Count
		}
		row(bytes, blocks, ellipsis+" "+plural(len(table.Rows)-shown, "more row"))
	}
	total := "total, " + plural(len(table.Rows), "row")
	if shown < len(table.Rows) {
		total = fmt.Sprintf("total, %s of %s shown", units.Count(shown), plural(len(table.Rows), "row"))
	}
	row(top.total, count, u.style(bold, total))
	return u.style(bold, title) + "\n" + w.String()
}

// traceTopName is what a row is called; of a stack, its innermost frames.
func traceTopName(r *profiler.Row, by profiler.By, width int) string {
	tail := ""
	if r.Backward {
		tail = " (backward)"
	}
	name := location("", 0, r.Name, width-len(tail))
	switch {
	case by == profiler.ByLine && r.File != "":
		name = location(r.File, r.Line, r.Function, width-len(tail))
	case by == profiler.ByStack && len(r.Stack) > 0:
		name = cutRight(units.Safe(strings.Join(r.Stack, " < ")), width-len(tail))
	}
	return name + tail
}
