package viewer

import (
	"fmt"
	"slices"

	"github.com/snapview/snapview/profiler"
)

// NewTimeline gathers the report of a memory timeline: its curve by category.
func NewTimeline(tl *profiler.MemoryTimeline, o Options) Trace {
	out := Trace{Name: tl.Name, Format: "memory timeline", Version: o.Version, Facts: []string{plural(len(tl.Points), "point")}}
	if tl.Partial != nil {
		out.Partial = tl.Partial.Error()
	}
	if len(tl.Points) == 0 {
		out.Verdict = Verdict{"note", "The timeline has no points."}
		return out
	}
	first, peak, last := &tl.Points[0], &tl.Points[tl.Peak], &tl.Points[len(tl.Points)-1]
	m := TraceMemory{
		Name: "Timeline", Baseline: first.Total(), Peak: peak.Total(), PeakTime: peak.Time - first.Time, End: last.Total(),
		Events: len(tl.Points), HasTotals: true, CategoryNote: "Bytes and shares are those at the peak. The categories are the ones that PyTorch's profiler wrote into the file.",
	}
	points := tl.Curve(maxTracePoints)
	used := slices.DeleteFunc(slices.Clone(shownCategories), func(k profiler.Category) bool {
		return !slices.ContainsFunc(points, func(p profiler.CategoryPoint) bool { return p.Bytes[k] != 0 })
	})
	for _, k := range used {
		m.Categories = append(m.Categories, k.String())
		m.AtPeak = append(m.AtPeak, peak.Bytes[k])
	}
	for _, p := range points {
		point := TracePoint{Time: p.Time - first.Time, Allocated: p.Total()}
		for _, k := range used {
			point.Categories = append(point.Categories, p.Bytes[k])
		}
		m.Curve = append(m.Curve, point)
	}
	m.Allocated, m.Freed = timelineSums(tl)
	out.Wall = last.Time - first.Time
	out.Memory = []TraceMemory{m}
	out.Verdict = Verdict{"ok", fmt.Sprintf("%s An entry of the timeline is a category and its bytes: who holds them is in the trace of the same run.", peakSentence(&m))}
	out.Notes = []TraceNote{{"ok", "Sums are over the changes of the total from point to point."}}
	if tl.Negative > 0 {
		out.Verdict.Tone = "note"
		out.Notes = append(out.Notes, TraceNote{"note", "A category is below zero in " + plural(tl.Negative, "point") + ": the profiler lost track of a tensor there."})
	}
	return out
}

// timelineSums are what the total rose and fell by in all, bytes.
func timelineSums(tl *profiler.MemoryTimeline) (rose, fell int64) {
	for i := range tl.Points[1:] {
		if step := tl.Points[i+1].Total() - tl.Points[i].Total(); step > 0 {
			rose += step
		} else {
			fell -= step
		}
	}
	return rose, fell
}
