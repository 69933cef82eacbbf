package attribution

import (
	"cmp"
	"slices"
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// A stretch is a run of events, both ends included.
type stretch struct {
	first, last int32
	closed      bool // the history shows that it ended
}

// history divides the events of a device by what was running.
type history struct {
	marks     []mark
	forwards  []int32 // events inside a forward
	backwards []stretch
	backward  []int32   // by event: index into backwards, −1 outside; only marked events count as inside
	steps     []stretch // optimizer steps
	cycles    []int32   // events at which a backward or a step ends
	kinds     map[string]bool
}

func newHistory(s *snapshot.Snapshot, t *snapshot.Timeline, stacks *stackIndex) *history {
	spans := optimizerSpans(s, t.Device.Index)
	h := &history{marks: markEvents(t, stacks, spans), kinds: optimizerKinds(s, t.Device.Index)}
	for i, m := range h.marks {
		if m == markForward {
			h.forwards = append(h.forwards, int32(i))
		}
	}
	h.findBackwards()
	h.findSteps()
	h.addSpans(eventsOf(t), spans)
	for _, list := range [][]stretch{h.backwards, h.steps} {
		for _, s := range list {
			h.cycles = append(h.cycles, s.last)
		}
	}
	slices.Sort(h.cycles)
	return h
}

// findBackwards takes every run of backward events as one backward. An event of
// the main thread ends it, since that thread waits while the engine runs.
func (h *history) findBackwards() {
	h.backward = make([]int32, len(h.marks))
	running := false
	for i, m := range h.marks {
		h.backward[i] = -1
		last := len(h.backwards) - 1
		switch {
		case m == markBackward && running:
			h.backwards[last].last = int32(i)
			h.backward[i] = int32(last)
		case m == markBackward:
			running = true
			h.backwards = append(h.backwards, stretch{first: int32(i), last: int32(i)})
			h.backward[i] = int32(last + 1)
		case m != noMark && running:
			running = false
			h.backwards[last].closed = true
		}
	}
}

// findSteps takes every run of optimizer events as one step; zero_grad, which
// some call inside their step, does not break it.
func (h *history) findSteps() {
	running := false
	for i, m := range h.marks {
		switch {
		case m == markStep && running:
			h.steps[len(h.steps)-1].last = int32(i)
		case m == markStep:
			running = true
			h.steps = append(h.steps, stretch{first: int32(i), last: int32(i)})
		case m != noMark && m != markZero:
			running = false
		}
	}
}

// addSpans adds the annotated steps during which no event was seen: a step
// whose state exists and whose kernels work in place allocates nothing.
func (h *history) addSpans(events []snapshot.Event, spans []span) {
	if len(events) == 0 || !slices.IsSortedFunc(events, func(a, b snapshot.Event) int { return cmp.Compare(a.Time, b.Time) }) {
		return
	}
	seen := h.steps
	for _, s := range spans {
		if s.mark != markStep {
			continue
		}
		last := len(events) - 1
		first := sort.Search(len(events), func(i int) bool { return events[i].Time >= s.start })
		end := sort.Search(len(events), func(i int) bool { return events[i].Time > s.end }) - 1
		step := stretch{first: int32(min(first, last)), last: int32(min(max(first, end), last))}
		if newest := h.steps[max(len(h.steps)-1, 0):]; overlaps(seen, step) || len(newest) > 0 && newest[0].last >= step.first && newest[0].first <= step.last {
			continue
		}
		h.steps = append(h.steps, step)
	}
	slices.SortFunc(h.steps, func(a, b stretch) int { return cmp.Compare(a.first, b.first) })
}

// overlaps reports whether one of a sorted list of disjoint stretches touches s.
func overlaps(list []stretch, s stretch) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i].last >= s.first })
	return i < len(list) && list[i].first <= s.last
}

// training reports whether anything but forwards was seen.
func (h *history) training() bool { return len(h.backwards) > 0 || len(h.steps) > 0 }

// after returns the first of a sorted list of events later than at, never
// without one.
func after(list []int32, at int32) int32 {
	if i := sort.Search(len(list), func(i int) bool { return list[i] > at }); i < len(list) {
		return list[i]
	}
	return never
}

// forwardBetween reports whether a forward event lies strictly between two.
func (h *history) forwardBetween(from, to int32) bool { return after(h.forwards, from) < to }

// nextBackward returns where the first backward after an event begins.
func (h *history) nextBackward(at int32) int32 { return startAfter(h.backwards, at) }

func startAfter(list []stretch, at int32) int32 {
	if i := sort.Search(len(list), func(i int) bool { return list[i].first > at }); i < len(list) {
		return list[i].first
	}
	return never
}

// stepAt returns the index of the step that an event lies in, −1 outside.
func (h *history) stepAt(at int32) int {
	i := sort.Search(len(h.steps), func(i int) bool { return h.steps[i].first > at }) - 1
	if i < 0 || at > h.steps[i].last {
		return -1
	}
	return i
}

// closedBackwardAfter reports whether a whole backward lies after an event.
func (h *history) closedBackwardAfter(at int32) bool {
	for i := len(h.backwards) - 1; i >= 0; i-- {
		if h.backwards[i].closed {
			return h.backwards[i].first > at
		}
	}
	return false
}

// anyClosedBackward reports whether a backward was seen to end.
func (h *history) anyClosedBackward() bool { return h.closedBackwardAfter(-1) }

// A cursor walks a sorted list for questions in rising order.
type cursor struct {
	list []int32
	next int
}

func starts(list []stretch) []int32 {
	out := make([]int32, len(list))
	for i, s := range list {
		out[i] = s.first
	}
	return out
}

// seek returns the last entry ≤ at (−1 without one) and the first one > at
// (never without one).
func (c *cursor) seek(at int32) (before, later int32) {
	for c.next < len(c.list) && c.list[c.next] <= at {
		c.next++
	}
	before, later = -1, never
	if c.next > 0 {
		before = c.list[c.next-1]
	}
	if c.next < len(c.list) {
		later = c.list[c.next]
	}
	return before, later
}
