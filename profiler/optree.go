package profiler

import (
	"cmp"
	"slices"
)

// none is the index of nothing.
const none = -1

// A nest is the spans of some column, nested by thread and time.
//
// Within a thread spans are in order of start, longest first, then as recorded:
// whatever contains a span comes before it. A span that another one crosses,
// because it ends inside of it, is left for good when the other starts: from
// then on the other is inside it, and lasts longer. So what is open at any time
// is a chain of parents, and the innermost is the one that started last.
type nest struct {
	spans  []nestSpan
	parent []int32 // by position in spans: the position of what contains it, or none
	first  []int32 // by thread: its first position; one more entry at the end
}

type nestSpan struct {
	start, end int64
	id         int32 // index into the column
	index      int32 // Ev Idx
}

// newNest nests spans 0 to n-1. of returns a span and its thread, and false for
// one to leave out.
func newNest(n, threads int, of func(id int) (s nestSpan, thread ThreadID, ok bool)) nest {
	t := nest{first: make([]int32, threads+1)}
	for id := range n {
		if _, thread, ok := of(id); ok {
			t.first[thread+1]++
		}
	}
	for i := range threads {
		t.first[i+1] += t.first[i]
	}
	t.spans = make([]nestSpan, t.first[threads])
	next := slices.Clone(t.first)
	for id := range n {
		if s, thread, ok := of(id); ok {
			t.spans[next[thread]] = s
			next[thread]++
		}
	}
	t.parent = make([]int32, len(t.spans))
	for thread := range threads {
		from, to := t.first[thread], t.first[thread+1]
		if spans := t.spans[from:to]; !slices.IsSortedFunc(spans, compareSpans) {
			slices.SortFunc(spans, compareSpans)
		}
		t.link(from, to)
	}
	return t
}

func compareSpans(a, b nestSpan) int {
	switch {
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	case a.end != b.end:
		return cmp.Compare(b.end, a.end)
	case a.index != b.index:
		return cmp.Compare(a.index, b.index)
	}
	return cmp.Compare(a.id, b.id)
}

// link finds the parents of the sorted spans of a thread.
func (t *nest) link(from, to int32) {
	top := int32(none)
	for i := from; i < to; i++ {
		s := &t.spans[i]
		for top >= 0 && (t.spans[top].end <= s.start || t.spans[top].end < s.end) {
			top = t.parent[top]
		}
		t.parent[i] = top
		top = i
	}
}

// A cursor finds the innermost span at times that do not go back.
type cursor struct {
	t         *nest
	next, end int32
	top       int32
}

func (t *nest) cursor(thread ThreadID) cursor {
	return cursor{t: t, next: t.first[thread], end: t.first[thread+1], top: none}
}

// at returns the position of the innermost span with start <= time < end, or none.
func (c *cursor) at(time int64) int32 {
	for c.next < c.end && c.t.spans[c.next].start <= time {
		c.top = c.next
		c.next++
	}
	for c.top >= 0 && c.t.spans[c.top].end <= time {
		c.top = c.t.parent[c.top]
	}
	return c.top
}

// innermost is cursor.at for a single time.
func (t *nest) innermost(thread ThreadID, time int64) int32 {
	at := t.after(thread, time) - 1
	if at < t.first[thread] {
		return none
	}
	for at >= 0 && t.spans[at].end <= time {
		at = t.parent[at]
	}
	return at
}

// after returns the position of the first span of a thread that starts after a
// time: the end of the thread's when there is none.
func (t *nest) after(thread ThreadID, time int64) int32 {
	from, to := t.first[thread], t.first[thread+1]
	n, _ := slices.BinarySearchFunc(t.spans[from:to], time, func(s nestSpan, time int64) int {
		if s.start <= time {
			return -1
		}
		return 1
	})
	return from + int32(n)
}

// An instant is a point in time of some column.
type instant struct {
	time int64
	id   int32 // index into the column
}

// instants are sorted by thread and time, in file order where times are equal.
type instants struct {
	list  []instant
	first []int32 // by thread; one more entry at the end
}

func newInstants(n, threads int, of func(id int) (time int64, thread ThreadID, ok bool)) instants {
	x := instants{first: make([]int32, threads+1)}
	for id := range n {
		if _, thread, ok := of(id); ok {
			x.first[thread+1]++
		}
	}
	for i := range threads {
		x.first[i+1] += x.first[i]
	}
	x.list = make([]instant, x.first[threads])
	next := slices.Clone(x.first)
	for id := range n {
		if time, thread, ok := of(id); ok {
			x.list[next[thread]] = instant{time, int32(id)}
			next[thread]++
		}
	}
	compare := func(a, b instant) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id)) }
	for thread := range threads {
		if list := x.of(ThreadID(thread)); !slices.IsSortedFunc(list, compare) {
			slices.SortFunc(list, compare)
		}
	}
	return x
}

func (x *instants) of(thread ThreadID) []instant { return x.list[x.first[thread]:x.first[thread+1]] }

// locate returns the position of the innermost span at each instant, by the id
// of the instant; none for the ids of size that are not among them.
func (t *nest) locate(x *instants, size int) []int32 {
	at := make([]int32, size)
	for i := range at {
		at[i] = none
	}
	for thread := range len(x.first) - 1 {
		c := t.cursor(ThreadID(thread))
		for _, p := range x.of(ThreadID(thread)) {
			at[p.id] = c.at(p.time)
		}
	}
	return at
}

// outermost reports, for every position, whether no span around it is in the
// same row, so that what runs inside itself counts once. Spans of row none are not.
func (t *nest) outermost(row []int32, rows int) []bool {
	out := make([]bool, len(t.spans))
	open := make([]int32, rows)
	top := int32(none)
	for i := range t.spans {
		for ; top != t.parent[i]; top = t.parent[top] {
			if row[top] >= 0 {
				open[row[top]]--
			}
		}
		if r := row[i]; r >= 0 {
			out[i] = open[r] == 0
			open[r]++
		}
		top = int32(i)
	}
	return out
}

// operators nests the operators of every thread; what does not own memory,
// annotations and calls into the device's library, is left out.
func (t *Trace) operators() nest {
	return newNest(len(t.Host), len(t.Threads), func(i int) (nestSpan, ThreadID, bool) {
		e := &t.Host[i]
		return nestSpan{e.Start, e.End(), int32(i), e.Index}, e.Thread, e.Kind == Operator
	})
}

// hostSpans nests all that runs on the threads of the process, but for the
// overhead of the profiler, whose thread the file does not give.
func (t *Trace) hostSpans() nest {
	return newNest(len(t.Host), len(t.Threads), func(i int) (nestSpan, ThreadID, bool) {
		e := &t.Host[i]
		return nestSpan{e.Start, e.End(), int32(i), e.Index}, e.Thread, e.Kind != Overhead
	})
}

// frameSpans nests the Python frames of every thread.
func (t *Trace) frameSpans() nest {
	return newNest(len(t.Frames), len(t.Threads), func(i int) (nestSpan, ThreadID, bool) {
		f := &t.Frames[i]
		return nestSpan{f.Start, f.Start + f.Dur, int32(i), f.Index}, f.Thread, true
	})
}

// memoryInstants sorts the allocations and frees by thread and time.
func (t *Trace) memoryInstants() instants {
	return newInstants(len(t.Memory), len(t.Threads), func(i int) (int64, ThreadID, bool) {
		e := &t.Memory[i]
		return e.Time, e.Thread, !e.OOM
	})
}
