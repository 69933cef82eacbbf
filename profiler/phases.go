package profiler

import (
	"cmp"
	"slices"
	"strings"
)

// PhaseKind is a part of a training step.
type PhaseKind uint8

const (
	PhaseOther PhaseKind = iota
	PhaseForward
	PhaseBackward
	PhaseOptimizer
	PhaseZeroGrad
)

var phaseNames = [...]string{"other", "forward", "backward", "optimizer", "zero_grad"}

func (p PhaseKind) String() string { return phaseNames[min(int(p), len(phaseNames)-1)] }

// phaseSpan is a phase in time, on all threads.
type phaseSpan struct {
	kind       PhaseKind
	start, end int64
}

// isBackwardOp reports whether an operator was run by autograd's engine: its
// own span around each node, or a node, which names the thread of its forward.
func (t *Trace) isBackwardOp(e *HostEvent) bool {
	return e.Kind == Operator && (e.FwdThread != 0 || strings.HasPrefix(t.Names[e.Name], evaluateFunction))
}

const (
	evaluateFunction = "autograd::engine::evaluate_function: "
	optimizerStep    = "Optimizer.step#"
	optimizerZero    = "Optimizer.zero_grad#"
	profilerStep     = "ProfilerStep"
)

// phases returns what findPhases finds, once.
func (t *Trace) phases() []phaseSpan {
	d := t.derived()
	d.oncePhases.Do(func() { d.phaseSpans = t.findPhases() })
	return d.phaseSpans
}

// findPhases finds the phases of training in order of time, apart from each other.
//
// Optimizer.step# and Optimizer.zero_grad# are annotations that PyTorch writes.
// A backward pass runs from its first to its last operator of autograd's
// engine; two passes have an optimizer step, zero_grad or an operator that
// another pass's backward leads back to (a forward arrow) between them. Forward
// is what has forward arrows between the end of the phase before and the
// backward pass.
func (t *Trace) findPhases() []phaseSpan {
	var spans, backward []phaseSpan
	var cuts []int64 // times between two passes
	for i := range t.Host {
		e := &t.Host[i]
		name := t.Names[e.Name]
		switch {
		case e.Kind == Annotation && strings.HasPrefix(name, optimizerStep):
			spans = append(spans, phaseSpan{PhaseOptimizer, e.Start, e.End()})
			cuts = append(cuts, e.Start)
		case e.Kind == Annotation && strings.HasPrefix(name, optimizerZero):
			spans = append(spans, phaseSpan{PhaseZeroGrad, e.Start, e.End()})
			cuts = append(cuts, e.Start)
		case t.isBackwardOp(e):
			backward = append(backward, phaseSpan{PhaseBackward, e.Start, e.End()})
		}
	}
	sortSpans(backward)
	forward := t.forwardTimes(mergeSpans(backward, nil))
	cuts = append(cuts, forward...)
	slices.Sort(cuts)
	spans = append(spans, mergeSpans(backward, cuts)...)
	sortSpans(spans)
	spans = apart(spans)
	return withForward(spans, forward)
}

func sortSpans(s []phaseSpan) {
	slices.SortStableFunc(s, func(a, b phaseSpan) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
}

// mergeSpans joins spans that overlap, and those that no cut lies between when
// there are cuts.
func mergeSpans(sorted []phaseSpan, cuts []int64) []phaseSpan {
	var out []phaseSpan
	for _, s := range sorted {
		if n := len(out); n > 0 {
			last := &out[n-1]
			joined := s.start <= last.end
			if !joined && cuts != nil {
				at, _ := slices.BinarySearch(cuts, last.end)
				joined = at == len(cuts) || cuts[at] > s.start
			}
			if joined {
				last.end = max(last.end, s.end)
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// forwardTimes are the times at which forward arrows start outside of the
// operators of a backward pass: recomputing forward work there is backward.
func (t *Trace) forwardTimes(backward []phaseSpan) []int64 {
	var times []int64
	for i := range t.Arrows {
		a := &t.Arrows[i]
		if !a.Start {
			continue
		}
		at, exact := slices.BinarySearchFunc(backward, a.Time, func(s phaseSpan, v int64) int { return cmp.Compare(s.start, v) })
		if exact || at > 0 && a.Time < backward[at-1].end {
			continue
		}
		times = append(times, a.Time)
	}
	slices.Sort(times)
	return times
}

// apart cuts spans that overlap at the start of the later one; what lies inside
// another is dropped: zero_grad in a step is part of it.
func apart(spans []phaseSpan) []phaseSpan {
	var out []phaseSpan
	for _, s := range spans {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			if s.end <= out[n-1].end {
				continue
			}
			out[n-1].end = s.start
		}
		out = append(out, s)
	}
	return out
}

// withForward adds a forward phase to each time between phases that has forward
// operators.
func withForward(spans []phaseSpan, forward []int64) []phaseSpan {
	if len(forward) == 0 {
		return spans
	}
	var out []phaseSpan
	from := forward[0]
	for k := 0; k <= len(spans); k++ {
		to := forward[len(forward)-1] + 1
		if k < len(spans) {
			to = spans[k].start
		}
		if at, _ := slices.BinarySearch(forward, from); at < len(forward) && forward[at] < to {
			out = append(out, phaseSpan{PhaseForward, from, to})
		}
		if k < len(spans) {
			out = append(out, spans[k])
			from = spans[k].end
		}
	}
	return out
}

// phaseAt returns the phase of a time.
func phaseAt(spans []phaseSpan, time int64) (index int, kind PhaseKind) {
	at, exact := slices.BinarySearchFunc(spans, time, func(s phaseSpan, v int64) int { return cmp.Compare(s.start, v) })
	if !exact {
		at--
	}
	if at >= 0 && time <= spans[at].end {
		return at, spans[at].kind
	}
	return -1, PhaseOther
}
