package attribution

import (
	"math"

	"github.com/snapview/snapview/snapshot"
)

// levels are the curves of a device at the ends of its rounds.
type levels struct {
	requested, reserved []float64
	peak, least         []float64 // of requested bytes, within each round
	time                []int64   // µs since the epoch; 0 when not recorded
}

// levelsAt follows the history once.
func levelsAt(t *snapshot.Timeline, r *rounds) (l levels) {
	events := eventsOf(t)
	changes := requestedChanges(t, len(events))
	requested, reserved := t.BaselineRequested, t.BaselineReserved
	highest, lowest := int64(math.MinInt64), int64(math.MaxInt64)
	next := 0
	for i := range events {
		if next == len(r.events) {
			break
		}
		requested += changes[i]
		reserved += reservedChange(&events[i])
		highest, lowest = max(highest, requested), min(lowest, requested)
		if i == r.events[next] {
			l.requested = append(l.requested, float64(requested))
			l.reserved = append(l.reserved, float64(reserved))
			l.peak, l.least = append(l.peak, float64(highest)), append(l.least, float64(lowest))
			l.time = append(l.time, events[i].Time)
			highest, lowest = math.MinInt64, math.MaxInt64
			next++
		}
	}
	return l
}

// requestedChanges is by how much each event changes the requested bytes.
func requestedChanges(t *snapshot.Timeline, events int) []int64 {
	changes := make([]int64, events)
	for i := range t.Allocations {
		a := &t.Allocations[i]
		if a.Born >= 0 && int(a.Born) < events {
			changes[a.Born] += a.Requested
		}
		if int(a.Freed) < events {
			changes[a.Freed] -= a.Requested
		}
	}
	return changes
}

func reservedChange(e *snapshot.Event) int64 {
	switch e.Action {
	case snapshot.SegmentAlloc, snapshot.SegmentMap:
		return e.Size
	case snapshot.SegmentFree, snapshot.SegmentUnmap:
		return -e.Size
	}
	return 0
}

// series makes a Series of a curve over the rounds. The first peak is that of
// all that came before and is left out.
func (r *rounds) series(name string, bytes []float64) Series {
	return Series{Name: name, Steps: r.numbers, Bytes: bytes}
}
