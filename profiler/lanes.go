package profiler

import (
	"cmp"
	"slices"
	"sort"
)

// lanes are the operators, annotations and runtime calls of each thread, nested
// by time.
type lanes struct {
	t        *Trace
	byThread [][]int32 // host indices by start, the longest first
	parent   []int32   // host index of the span around each host event, -1 at the top
}

func newLanes(t *Trace) *lanes {
	l := &lanes{t: t, byThread: make([][]int32, len(t.Threads)), parent: make([]int32, len(t.Host))}
	for i := range t.Host {
		l.parent[i] = -1
		if e := &t.Host[i]; e.Kind != Overhead {
			l.byThread[e.Thread] = append(l.byThread[e.Thread], int32(i))
		}
	}
	for _, events := range l.byThread {
		slices.SortStableFunc(events, func(a, b int32) int {
			x, y := &t.Host[a], &t.Host[b]
			return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End(), x.End()))
		})
		l.nest(events)
	}
	return l
}

// nest finds the parents of sorted events. A span that crosses its neighbour
// goes below the nearest span that holds all of it.
func (l *lanes) nest(events []int32) {
	var open []int32
	for _, i := range events {
		e := &l.t.Host[i]
		for len(open) > 0 && l.t.Host[open[len(open)-1]].End() <= e.Start && !(e.Dur == 0 && l.t.Host[open[len(open)-1]].End() == e.Start) {
			open = open[:len(open)-1]
		}
		for k := len(open) - 1; k >= 0; k-- {
			if l.t.Host[open[k]].End() >= e.End() {
				l.parent[i] = open[k]
				break
			}
		}
		open = append(open, i)
	}
}

// innermost returns the shortest span on a thread that holds a time, -1 for none.
func (l *lanes) innermost(thread ThreadID, time int64) int32 {
	events := l.byThread[thread]
	n := sort.Search(len(events), func(k int) bool { return l.t.Host[events[k]].Start > time })
	if n == 0 {
		return -1
	}
	i := events[n-1]
	for i >= 0 && l.t.Host[i].End() < time {
		i = l.parent[i]
	}
	return i
}

// from returns the position of the first event of a thread that starts at a
// time or later.
func (l *lanes) from(thread ThreadID, time int64) int {
	events := l.byThread[thread]
	return sort.Search(len(events), func(k int) bool { return l.t.Host[events[k]].Start >= time })
}
