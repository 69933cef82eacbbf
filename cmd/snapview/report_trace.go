package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
	"github.com/snapview/snapview/viewer"
)

// traceReport is the report of a profiler trace.
type traceReport struct {
	trace   *profiler.Trace
	ledgers []profiler.Ledger // of the devices asked for
	page    viewer.Trace
	report  string // path, "-" for stdout
	size    int64  // of the report, bytes
}

// newTraceReport gathers the report of the devices asked for.
func newTraceReport(t *profiler.Trace, name string, o *options) (*traceReport, error) {
	ledgers, err := o.device.pickLedgers(t.Ledgers())
	if err != nil {
		return nil, inFile(name, err)
	}
	view := viewer.Options{Version: currentVersion().Version}
	if o.device != allDevices {
		view.Keep = func(index int) bool { return index == int(o.device) }
	}
	return &traceReport{trace: t, ledgers: ledgers, page: viewer.NewTrace(t, view)}, nil
}

func (r *traceReport) write(w io.Writer) error { return viewer.WriteTrace(w, r.page) }

func (r *traceReport) written(_ *options, report string, size int64) (reportSummary, error) {
	r.report, r.size = report, size
	return r, nil
}

// traceReportJSON is the JSON of report for a trace: the one of stats, where
// the report is, and what it says in words.
type traceReportJSON struct {
	Report string `json:"report"`
	Bytes  int64  `json:"report_bytes"`
	traceStatsJSON
	Verdict  string         `json:"verdict"`
	Findings []traceFinding `json:"findings"`
}

type traceFinding struct {
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	Fix      string `json:"fix,omitempty"`
}

func (r *traceReport) asJSON(*options) any {
	out := traceReportJSON{Report: r.report, Bytes: r.size, traceStatsJSON: traceStatsOf(r.trace, r.ledgers), Verdict: r.page.Verdict.Text, Findings: []traceFinding{}}
	for _, f := range r.trace.Doctor() {
		out.Findings = append(out.Findings, traceFinding{f.Severity.String(), f.Title, f.Detail, f.Fix})
	}
	return out
}

// text is the summary for reading, in ten lines unless -n asks for more. It is
// about the first device of the report.
func (r *traceReport) text(u *ui, o *options) string {
	var head, tail []string
	if r.trace.Partial != nil {
		head = append(head, strings.TrimSuffix(u.tracePartialLine(r.trace), "\n"))
	}
	head = append(head, traceLine(r.trace))
	if len(r.page.Memory) == 0 {
		head = append(head, u.summaryLines("memory", strings.SplitAfter(noMemoryEvents, ": "))...)
	} else {
		m := &r.page.Memory[0]
		head = append(head, u.summaryLines("device", r.deviceParts())...)
		head = append(head, u.summaryLines("peak", tracePeakText(m))...)
		tail = append(tail, u.summaryLines("end", traceEndText(m))...)
	}
	if len(r.page.Kernels) > 0 {
		d := &r.page.Kernels[0]
		tail = append(tail, u.summaryLines("busy", []string{
			fmt.Sprintf("%s %s of %s, ", d.Name, units.Percent(d.Busy, d.Span), nanoseconds(d.Span)),
			"with " + units.Count(d.Count) + " kernels and copies; ", "idle " + nanoseconds(d.Idle),
		})...)
	}
	if n := len(r.page.Findings); n > 0 {
		text := r.page.Findings[0].Title
		if n > 1 {
			text += fmt.Sprintf(" (and %s, see the report)", plural(n-1, "more finding"))
		}
		tail = append(tail, u.summaryLines("doctor", []string{units.Safe(text)})...)
	}
	if r.report != "-" {
		tail = append(tail, u.style(bold, "report  "+units.Safe(r.report))+" ("+units.Bytes(r.size)+")")
	}
	rows := u.traceSummaryRows(r.page.Tables, o, summaryLength-len(head)-len(tail))
	return strings.Join(append(append(head, rows...), tail...), "\n") + "\n"
}

func (r *traceReport) deviceParts() []string {
	parts := []string{r.page.Memory[0].Name}
	var others []string
	for _, m := range r.page.Memory[1:] {
		others = append(others, m.Name)
	}
	if len(others) > 0 {
		parts[0] += " "
		parts = append(parts, afterCommas("(also in the report: "+strings.Join(others, ", ")+")")...)
	}
	return parts
}

func tracePeakText(m *viewer.TraceMemory) []string {
	parts := []string{units.Bytes(m.Peak) + " allocated ", "(+" + nanoseconds(m.PeakTime) + ")"}
	if m.ReservedPeak > 0 {
		parts[1] += "; "
		parts = append(parts, "peak reserved "+units.Bytes(m.ReservedPeak))
	}
	return parts
}

func traceEndText(m *viewer.TraceMemory) []string {
	return []string{
		units.Bytes(m.End) + " allocated; ", units.Bytes(m.Baseline) + " before the trace, ",
		units.Bytes(m.Allocated) + " allocated and ", units.Bytes(m.Freed) + " freed in it",
	}
}

// traceSummaryRows are the first rows of the first table: the lines that
// allocate most, or that take most time.
func (u *ui) traceSummaryRows(tables []viewer.TraceTable, o *options, room int) []string {
	if len(tables) == 0 {
		return nil
	}
	table := &tables[0]
	shown, restShown := o.rows.limit(len(table.Rows)), true
	if !o.rows.given {
		shown, restShown = fitRows(len(table.Rows), room)
	}
	amount := units.Bytes
	if table.Columns[0].Unit == viewer.InTime {
		amount = nanoseconds
	}
	w := newTable(right, right, left)
	for _, r := range table.Rows[:shown] {
		place := location(r.File, r.Line, r.Function, u.width-summaryIndent-18-2*columnGap)
		if r.Backward {
			place += " (backward)"
		}
		w.row(amount(r.Values[0]), units.Percent(r.Values[0], table.Total), place)
	}
	if shown < len(table.Rows) && restShown {
		var sum int64
		for _, r := range table.Rows[shown:] {
			sum += r.Values[0]
		}
		w.row(amount(sum), units.Percent(sum, table.Total), ellipsis+" "+plural(len(table.Rows)-shown, "more row"))
	}
	if shown == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(w.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.Repeat(" ", summaryIndent) + lines[i]
	}
	return lines
}
