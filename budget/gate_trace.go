package budget

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/profiler"
)

// TraceCapture returns what gates can judge of a profiler trace: its devices, or
// the CPU when it has memory of nothing else.
func TraceCapture(file string, t *profiler.Trace) *Capture {
	c := &Capture{File: file, Kind: "trace"}
	ledgers := t.Ledgers()
	if t.Partial != nil {
		c.Notes = append(c.Notes, "the trace was not read to its end: its numbers are at least what is shown")
	}
	if t.Repaired > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("the trace is damaged in %d places, which were read around: what it lost counts nowhere", t.Repaired))
	}
	for _, l := range ledgers {
		if l.Device < 0 && len(ledgers) > 1 {
			continue
		}
		id := "cpu"
		if l.Device >= 0 {
			id = strconv.Itoa(l.Device)
		}
		c.Devices = append(c.Devices, &CaptureDevice{id, &traceSource{trace: t, ledger: l,
			categorize: sync.OnceValue(func() *profiler.Categories {
				all := t.CategorizeDevice(l.Type, l.Device)
				return &all
			})}})
	}
	return c
}

// traceSource answers for one device of a trace.
type traceSource struct {
	trace      *profiler.Trace
	ledger     profiler.Ledger
	categorize func() *profiler.Categories
}

// afterAll is a time after every event of a trace at which what was not freed
// in it is still live.
const afterAll = math.MaxInt64 - 1

func (x *traceSource) number(stat string) (Number, bool) {
	l := &x.ledger
	var n int64
	level := false // a level of memory rather than a sum over the trace
	switch stat {
	case "trace.peak_bytes":
		n, level = l.Peak, true
	case "trace.reserved_peak_bytes":
		if l.ReservedPeak == 0 {
			return missing("the trace does not say what was reserved"), true
		}
		n, level = l.ReservedPeak, true
	case "trace.baseline_bytes":
		n, level = l.Baseline, true
	case "trace.end_bytes":
		n, level = l.End, true
	case "trace.allocated_bytes":
		n = l.Allocated
	case "trace.freed_bytes":
		n = l.Freed
	case "trace.memory_events":
		n = int64(l.Events)
	case "trace.oom_events":
		n = int64(l.OOMs)
	case "trace.unreconciled_bytes":
		n = l.Unreconciled
	default:
		return Number{}, false
	}
	if level && !l.HasTotals {
		return missing("what was allocated before the trace is not known: it was recorded by PyTorch before 1.10"), true
	}
	return Number{Value: n, AtLeast: x.trace.Partial != nil}, true
}

func (x *traceSource) word(string) (word, unsure string, ok bool) { return "", "", false }

func (x *traceSource) time(at string) int64 {
	if at == atPeak {
		return x.ledger.PeakTime
	}
	return afterAll
}

func (x *traceSource) totals(at string) (attribution.Totals, string) {
	point := x.categorize().At(x.time(at))
	return traceTotals(&point), ""
}

// traceTotals are the categories of the profiler in the order of attribution's.
func traceTotals(p *profiler.CategoryPoint) (t attribution.Totals) {
	for k, bytes := range p.Bytes {
		c, err := attribution.ParseCategory(profiler.Category(k).String())
		if err != nil {
			c = attribution.Unknown
		}
		t[c] += bytes
	}
	return t
}

// places are the lines of a trace. What they hold is not divided into
// categories: the table of a trace has one or the other.
func (x *traceSource) places(at string) ([]attribution.Place, string) {
	table, err := x.trace.Live(x.categorize(), x.time(at), profiler.ByLine)
	if err != nil {
		return nil, err.Error()
	}
	places := make([]attribution.Place, len(table.Rows))
	for i, r := range table.Rows {
		p := &places[i]
		*p = attribution.Place{File: r.File, Function: r.Function, Line: r.Line, Count: r.Count}
		if r.File == "" {
			p.Function = r.Name
		}
		p.Totals[attribution.Unknown] = r.Kept
	}
	return joinPlaces(places), "" // a line and its backward are two rows
}

func (x *traceSource) findings() ([]attribution.Finding, bool) { return nil, false }

func (x *traceSource) settings() string { return "" }

// TimelineCapture returns what gates can judge of a memory timeline, which does
// not say which device it is of: that counts as device 0.
func TimelineCapture(file string, tl *profiler.MemoryTimeline) *Capture {
	c := &Capture{File: file, Kind: "memory_timeline"}
	if tl.Partial != nil {
		c.Notes = append(c.Notes, "the timeline was not read to its end: its numbers are at least what is shown")
	}
	if len(tl.Points) > 0 {
		c.Devices = append(c.Devices, &CaptureDevice{"0", timelineSource{tl}})
	}
	return c
}

// timelineSource answers for a memory timeline with at least one point.
type timelineSource struct{ timeline *profiler.MemoryTimeline }

func (x timelineSource) point(at string) *profiler.CategoryPoint {
	if at == atPeak {
		return &x.timeline.Points[x.timeline.Peak]
	}
	return &x.timeline.Points[len(x.timeline.Points)-1]
}

func (x timelineSource) number(stat string) (Number, bool) {
	switch stat {
	case "trace.peak_bytes":
		return Number{Value: x.point(atPeak).Total(), AtLeast: x.timeline.Partial != nil}, true
	case "trace.end_bytes":
		return Number{Value: x.point(atEnd).Total(), AtLeast: x.timeline.Partial != nil}, true
	}
	return Number{}, false
}

func (x timelineSource) word(string) (word, unsure string, ok bool) { return "", "", false }

func (x timelineSource) totals(at string) (attribution.Totals, string) {
	return traceTotals(x.point(at)), ""
}

func (x timelineSource) places(string) ([]attribution.Place, string) {
	return nil, "a memory timeline has no lines"
}

func (x timelineSource) findings() ([]attribution.Finding, bool) { return nil, false }

func (x timelineSource) settings() string { return "" }
