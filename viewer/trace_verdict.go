package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// sortTrace puts rows with the largest first number first.
func sortTrace(rows []TraceRow) {
	slices.SortStableFunc(rows, func(a, b TraceRow) int { return cmp.Compare(b.Values[0], a.Values[0]) })
}

// traceVerdict puts the results in a few sentences: how high memory went, what
// it was, who allocated most, and whether the devices were busy.
func traceVerdict(tr *Trace) Verdict {
	v := Verdict{Tone: "ok"}
	var parts []string
	if tr.Partial != "" || tr.Repaired > 0 {
		v.Tone = "note"
	}
	if len(tr.Memory) == 0 {
		v.Tone = "note"
		parts = append(parts, "The trace holds no memory events, so it cannot tell who holds memory.")
	} else {
		m := &tr.Memory[0]
		if m.OOMs > 0 {
			v.Tone = "bad"
			parts = append(parts, fmt.Sprintf("Memory of %s ran out %s.", m.Name, times(m.OOMs)))
		}
		parts = append(parts, peakSentence(m))
	}
	for _, t := range tr.Tables {
		if s := mostSentence(&t, len(tr.Memory) > 0); s != "" {
			parts = append(parts, s)
			break
		}
	}
	if len(tr.Kernels) > 0 {
		d := &tr.Kernels[0]
		parts = append(parts, fmt.Sprintf("%s was busy %s of the %s between its first and last work.", d.Name, units.Percent(d.Busy, d.Span), durationText(d.Span)))
	}
	v.Text = strings.Join(parts, " ")
	return v
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return units.Count(n) + " times"
}

func peakSentence(m *TraceMemory) string {
	s := fmt.Sprintf("Memory of %s peaked at %s, %s into the trace", m.Name, units.Bytes(m.Peak), durationText(m.PeakTime))
	if !m.HasTotals {
		s = fmt.Sprintf("Memory of %s rose by %s at most, %s into the trace; what was there before is not in the file", m.Name, units.Bytes(m.Peak), durationText(m.PeakTime))
	} else if m.Baseline > 0 {
		s += fmt.Sprintf("; %s were allocated before it began", units.Bytes(m.Baseline))
	}
	largest := -1
	for i := range m.AtPeak {
		if m.Categories[i] != profiler.CategoryUnknown.String() && (largest < 0 || m.AtPeak[i] > m.AtPeak[largest]) {
			largest = i
		}
	}
	if largest >= 0 && m.AtPeak[largest] > 0 {
		s += fmt.Sprintf(". Of the peak, %s are %s (%s)", units.Bytes(m.AtPeak[largest]), strings.ReplaceAll(m.Categories[largest], "_", " "), units.Percent(m.AtPeak[largest], m.Peak))
	}
	return s + "."
}

// mostSentence names the first row of a table that is a place.
func mostSentence(t *TraceTable, memory bool) string {
	for _, r := range t.Rows {
		if r.Kind == SpecialFrame || r.Values[0] <= 0 {
			continue
		}
		where := clean(r.Function, 80)
		if r.File != "" {
			where = fmt.Sprintf("%s:%d (%s)", r.File, r.Line, r.Function)
		}
		if r.Backward {
			where = "the backward of " + where
		}
		text, _ := amount(r.Values[0], t.Columns[0].Unit)
		switch {
		case t.Verb == "hold":
			return fmt.Sprintf("The largest part is held by %s: %s (%s).", where, text, units.Percent(r.Values[0], t.Total))
		case memory:
			return fmt.Sprintf("%s allocates most: %s of %s over the trace.", where, text, units.Bytes(t.Total))
		}
		total, _ := amount(t.Total, t.Columns[0].Unit)
		return fmt.Sprintf("%s takes most time: %s of %s.", where, text, total)
	}
	return ""
}

// notes tell how the numbers came about and what is missing.
func (g *gatherer) notes(tr *Trace, stats profiler.KernelStats) []TraceNote {
	var out []TraceNote
	add := func(tone, format string, a ...any) { out = append(out, TraceNote{tone, fmt.Sprintf(format, a...)}) }
	for _, m := range tr.Memory {
		switch {
		case !m.HasTotals:
			add("note", "%s: the events carry no totals (PyTorch before 1.10), so curve, peak and end count from the first event, not from nothing.", m.Name)
		case m.Unreconciled != 0:
			add("bad", "%s: the events and the allocator's own totals (Total Allocated) differ by %s in all: events are missing or the trace was cut.", m.Name, units.Exact(m.Unreconciled))
		default:
			add("ok", "%s: every event agrees with the allocator's own total (Total Allocated) to the byte: %s before profiling + %s allocated − %s freed = %s at the end.",
				m.Name, units.Exact(m.Baseline), units.Exact(m.Allocated), units.Exact(m.Freed), units.Exact(m.End))
		}
	}
	if g.hasMemory {
		add("ok", "Sizes are those of the allocator's events: requested bytes, or block sizes in older versions of PyTorch. An event belongs to the innermost operator that ran on its thread at its time.")
		add("ok", "Not visible in a trace: who holds what was allocated before profiling began, and memory taken outside of PyTorch's allocator.")
	}
	if g.hasDevice {
		add("ok", "Busy, idle and overlap count time in which anything ran: two kernels at once count once. GPU time in tables is the sum of durations.")
	}
	if stats.Unlinked > 0 {
		add("note", "The launch of %s is not in the trace; their time belongs to no line or operator.", plural(stats.Unlinked, "kernel"))
	}
	if tr.Repaired > 0 {
		add("note", "The file is not valid JSON in %s; the rest was read around that.", plural(tr.Repaired, "place"))
	}
	return out
}
