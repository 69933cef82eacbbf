package attribution

import (
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// Classify labels every allocation of a timeline of s. It works on any history,
// and without one; the less there is to go by, the more is Unknown or has a low
// confidence. Its cost is linear in events but for older memory, whose layout is
// searched with a bounded effort.
func Classify(s *snapshot.Snapshot, t *snapshot.Timeline) *Classification {
	w := newWork(s, t)
	w.labelByStack()
	w.labelWorkspaces()
	w.labelBackwards()
	w.labelClaims()
	w.labelForwards()
	w.labelOlderWithStack()
	w.labelOlder()
	w.close()
	c := &Classification{Snapshot: s, Timeline: t, Labels: w.labels}
	c.divide(w.history)
	return c
}

// close labels what is left. A history that contradicts itself may have lost
// frees and births, on which lifetimes and phases rest.
func (w *work) close() {
	ceiling := float32(1)
	if w.time.History == snapshot.HistoryInconsistent {
		ceiling = fair
	}
	for i := range w.labels {
		if w.open(i) {
			w.labels[i] = nothingKnown
		}
		w.labels[i].Confidence = min(w.labels[i].Confidence, ceiling)
	}
}

// A sizes counts allocations by requested bytes.
type sizes map[int64]int

// bytes returns the bytes of all that is counted.
func (s sizes) bytes() (sum int64) {
	for size, n := range s {
		sum += size * int64(n)
	}
	return sum
}

// raise makes the count of a size at least n.
func (s sizes) raise(size int64, n int) { s[size] = max(s[size], n) }

// work is a classification on its way. Passes run in order, and what has a
// label keeps it: earlier passes rest on stronger evidence.
type work struct {
	snap    *snapshot.Snapshot
	time    *snapshot.Timeline
	allocs  []snapshot.Allocation
	labels  []Label
	stacks  *stackIndex
	history *history

	firstBorn, endBorn int // allocs[firstBorn:endBorn] are those whose birth the history shows

	params, states sizes // what is known of the model; states only as born in the history or with a stack
	newStates      sizes // states born in the history
	grads          sizes // per size, the most gradients that any one backward left
	older          sizes // memory older than the history, alive at its end

	// Put off by labelByStack until the gradients are known.
	constructed, loaded, buckets, unsure []int32
}

func newWork(s *snapshot.Snapshot, t *snapshot.Timeline) *work {
	w := &work{
		snap: s, time: t, allocs: t.Allocations, labels: make([]Label, len(t.Allocations)), stacks: newStackIndex(s, t),
		params: sizes{}, states: sizes{}, newStates: sizes{}, grads: sizes{}, older: sizes{},
	}
	w.history = newHistory(s, t, w.stacks)
	w.firstBorn = sort.Search(len(w.allocs), func(i int) bool { return w.allocs[i].Born >= 0 })
	w.endBorn = w.findEndBorn()
	for i := range w.allocs {
		if w.isOlder(i) && w.end(i) == never {
			w.older[w.allocs[i].Requested]++
		}
	}
	return w
}

// findEndBorn returns where the allocations begin whose alloc event is missing:
// the timeline puts their birth at the last event, behind all others.
func (w *work) findEndBorn() int {
	events := eventsOf(w.time)
	last := int32(len(events) - 1)
	i := sort.Search(len(w.allocs), func(i int) bool { return w.allocs[i].Born >= max(last, 0) })
	if i < len(w.allocs) && last >= 0 && events[last].Action == snapshot.Alloc && events[last].Addr == w.allocs[i].Addr {
		i++
	}
	return max(i, w.firstBorn)
}

// isOlder reports whether the history does not show an allocation's birth.
func (w *work) isOlder(i int) bool { return i < w.firstBorn || i >= w.endBorn }

// open reports whether an allocation has no label yet.
func (w *work) open(i int) bool { return w.labels[i].Evidence == "" }

// end returns the event at which the program gave an allocation up, never when
// it did not.
func (w *work) end(i int) int32 {
	return min(w.allocs[i].FreeRequested, w.allocs[i].Freed)
}

func (w *work) feature(i int) feature { return w.stacks.of(w.allocs[i].Stack) }

// born returns what ran when an allocation was made.
func (w *work) born(i int) mark {
	if w.isOlder(i) {
		return noMark
	}
	return w.history.marks[w.allocs[i].Born]
}

// backwardOf returns the index of the backward in which an allocation was made,
// −1 for others.
func (w *work) backwardOf(i int) int32 {
	if w.isOlder(i) {
		return -1
	}
	return w.history.backward[w.allocs[i].Born]
}

// addParameter labels a parameter and counts it.
func (w *work) addParameter(i int, l Label) {
	w.labels[i] = l
	w.params[w.allocs[i].Requested]++
}

// addState labels optimizer state and counts it.
func (w *work) addState(i int, l Label) {
	w.labels[i] = l
	w.states[w.allocs[i].Requested]++
	if !w.isOlder(i) {
		w.newStates[w.allocs[i].Requested]++
	}
}
