package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// traceStatsJSON is the JSON of stats for a trace.
type traceStatsJSON struct {
	Kind     string        `json:"kind"`
	Partial  string        `json:"partial,omitempty"`
	Repaired int           `json:"repaired,omitempty"`
	Repairs  []traceRepair `json:"repairs,omitempty"`
	File     string        `json:"file"`
	Format   string        `json:"format"`
	Devices  []traceDevice `json:"devices"`
	Kernels  traceKernels  `json:"kernels"`
	Events   int           `json:"events"`

	Timeline *traceAgreement `json:"timeline,omitempty"` // only with --timeline
}

// traceDevice is the memory of a device over a trace.
type traceDevice struct {
	Type         string       `json:"device_type"`
	Device       int          `json:"device"`
	Baseline     int64        `json:"baseline_bytes"`
	Peak         int64        `json:"peak_bytes"`
	PeakTime     microseconds `json:"peak_time_us"`
	ReservedPeak int64        `json:"reserved_peak_bytes"`
	End          int64        `json:"end_bytes"`
	Allocated    int64        `json:"allocated_bytes"`
	Freed        int64        `json:"freed_bytes"`
	Events       int          `json:"memory_events"`
	OOMs         int          `json:"oom_events"`
	HasTotals    bool         `json:"has_totals"`
	Unreconciled int64        `json:"unreconciled_bytes"`
}

type traceKernels struct {
	Count int          `json:"count"`
	Time  microseconds `json:"time_us"`
}

// traceStats answers stats for a trace.
func (u *ui) traceStats(f *input.File, name string, o *statsOptions) error {
	t, err := u.readTrace(f, name)
	if err != nil {
		return err
	}
	ledgers, err := o.device.pickLedgers(t.Ledgers())
	if err != nil {
		return inFile(name, err)
	}
	agreed, err := u.compareTimeline(t, o)
	if err != nil {
		return err
	}
	shown := ledgers[:o.rows.limit(len(ledgers))]
	if o.json {
		out := traceStatsOf(t, shown)
		out.Timeline = agreed
		return writeJSON(u.out, out)
	}
	text := u.traceStatsText(t, shown, len(ledgers)-len(shown))
	if agreed != nil {
		text += "\n" + u.agreementText(agreed)
	}
	_, err = fmt.Fprint(u.out, text)
	return err
}

// pickLedgers returns the devices the flag asks for, which are never the CPU.
func (d deviceFlag) pickLedgers(all []profiler.Ledger) ([]profiler.Ledger, error) {
	if d == allDevices {
		return all, nil
	}
	var picked []profiler.Ledger
	var have []string
	for _, l := range all {
		if l.Device == int(d) {
			picked = append(picked, l)
		}
		if l.Device >= 0 {
			have = append(have, fmt.Sprint(l.Device))
		}
	}
	switch {
	case len(picked) > 0:
		return picked, nil
	case len(have) == 0:
		return nil, usagef("--device %d: the trace has no memory of a device", d)
	}
	return nil, usagef("--device %d: not in the trace, which has device %s", d, strings.Join(have, ", "))
}

func traceStatsOf(t *profiler.Trace, ledgers []profiler.Ledger) traceStatsJSON {
	out := traceStatsJSON{
		Kind: "trace", Partial: tracePartial(t), Repaired: t.Repaired, Repairs: traceRepairs(t),
		File: t.Source.Name, Format: traceFormat(t), Devices: []traceDevice{}, Events: t.Counts.Events,
	}
	for _, l := range ledgers {
		out.Devices = append(out.Devices, traceDevice{
			Type: l.Type.String(), Device: l.Device, Baseline: l.Baseline, Peak: l.Peak, PeakTime: microseconds(l.PeakTime),
			ReservedPeak: l.ReservedPeak, End: l.End, Allocated: l.Allocated, Freed: l.Freed,
			Events: l.Events, OOMs: l.OOMs, HasTotals: l.HasTotals, Unreconciled: l.Unreconciled,
		})
	}
	count, time := t.KernelTotals()
	out.Kernels = traceKernels{count, microseconds(time)}
	return out
}

func (u *ui) traceStatsText(t *profiler.Trace, ledgers []profiler.Ledger, more int) string {
	var b strings.Builder
	b.WriteString(u.tracePartialLine(t) + traceLine(t) + "\n")
	start, _ := t.Span()
	for _, l := range ledgers {
		b.WriteString("\n" + u.style(bold, ledgerName(l)) + "\n" + u.ledgerTable(l, start))
	}
	if more > 0 {
		b.WriteString("\n" + ellipsis + " " + plural(more, "more device") + "\n")
	}
	if len(t.Memory) == 0 {
		b.WriteString("\n" + noMemoryEvents + "\n")
	}
	count, time := t.KernelTotals()
	fmt.Fprintf(&b, "\nkernels: %s", units.Count(count))
	if count > 0 {
		b.WriteString(", " + nanoseconds(time))
	}
	b.WriteString("\n" + strings.Join(wrap(append([]string{"recorded with: "}, afterCommas(recordedWith(t))...), u.width), "\n") + "\n")
	return b.String()
}

func ledgerName(l profiler.Ledger) string {
	if l.Device < 0 {
		return l.Type.String()
	}
	return fmt.Sprintf("%s %d", l.Type, l.Device)
}

// ledgerTable is the memory of one device for reading.
func (u *ui) ledgerTable(l profiler.Ledger, start int64) string {
	w := newTable(left, right, right, left)
	row := func(name string, bytes int64, remark string) {
		w.row("  "+name, units.Bytes(bytes), units.Exact(bytes), remark)
	}
	relative := ""
	if l.HasTotals {
		row("before the trace", l.Baseline, "")
	} else {
		relative = "since the start of the trace"
	}
	row("peak", l.Peak, "at +"+nanoseconds(l.PeakTime-start))
	if l.ReservedPeak > 0 {
		row("reserved peak", l.ReservedPeak, "")
	}
	row("end", l.End, relative)
	row("allocated", l.Allocated, "sum over "+plural(l.Events, "event"))
	row("freed", l.Freed, "")
	if l.Unreconciled != 0 {
		row("unreconciled", l.Unreconciled, "totals against events")
	}
	text := w.String()
	if l.OOMs > 0 {
		text += "  " + u.style(alarm, plural(l.OOMs, "allocation")+" failed: out of memory") + "\n"
	}
	return text
}

// noMemoryEvents is said where a trace cannot answer about memory.
const noMemoryEvents = "the trace has no memory events: record it with profile_memory=True"

// recordedWith lists the options of the profiler that the trace was made with.
func recordedWith(t *profiler.Trace) string {
	var on []string
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"profile_memory", t.Meta.ProfileMemory}, {"with_stack", t.Meta.WithStack}, {"record_shapes", t.Meta.RecordShapes},
		{"with_modules", t.Meta.WithModules}, {"with_flops", t.Meta.WithFlops},
	} {
		if option.set {
			on = append(on, option.name)
		}
	}
	if len(on) == 0 {
		return "no options"
	}
	return strings.Join(on, ", ")
}
