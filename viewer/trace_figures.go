package viewer

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
)

// traceNumbers is the row of large figures on the first view.
func traceNumbers(tr *Trace, html *texts) []number {
	var out []number
	if len(tr.Memory) > 0 {
		m := &tr.Memory[0]
		name := html.name(m.Name)
		out = append(out,
			sizeNumber("Peak", m.Peak, name+", "+sinceStart(m.PeakTime), true),
			reservedNumber(m, name),
			sizeNumber("End", m.End, "still allocated", true),
			sizeNumber("Before profiling", m.Baseline, "allocated when it began", false),
			sizeNumber("Allocated", m.Allocated, "in all; "+units.Bytes(m.Freed)+" freed", false))
	} else {
		out = append(out, number{Name: "Peak", Text: "unknown", Sub: "no memory events", Main: true})
	}
	if len(tr.Kernels) > 0 {
		d := &tr.Kernels[0]
		out = append(out, number{Name: "GPU busy", Text: units.Percent(d.Busy, d.Span), Sub: durationText(d.Busy) + " of " + durationText(d.Span), Main: len(tr.Memory) == 0})
	}
	if len(out) < 6 {
		out = append(out, number{Name: "Wall time", Text: durationText(tr.Wall), Sub: "first to last event"})
	}
	return out
}

func sizeNumber(name string, n int64, sub string, main bool) number {
	return number{Name: name, Text: units.Bytes(n), Exact: units.Exact(n), Raw: n, Sub: sub, Main: main}
}

func reservedNumber(m *TraceMemory, name string) number {
	if m.ReservedPeak <= 0 {
		return number{Name: "Reserved, peak", Text: "unknown", Sub: "not recorded for " + name}
	}
	return sizeNumber("Reserved, peak", m.ReservedPeak, fmt.Sprintf("%s above the peak", units.Bytes(m.ReservedPeak-m.Peak)), false)
}
