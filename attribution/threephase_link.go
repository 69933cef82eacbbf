package attribution

import (
	"github.com/snapview/snapview/snapshot"
)

// A view is one device of a snapshot with its history replayed and classified.
type view struct {
	snap     *snapshot.Snapshot
	timeline *snapshot.Timeline
	classes  *Classification
	alive    []int32 // indices of the allocations alive at the dump
	places   *placer
}

func newView(s *snapshot.Snapshot, d *snapshot.Device) *view {
	t := s.Timeline(d)
	v := &view{snap: s, timeline: t, classes: Classify(s, t), places: newPlacer(s, t, DiffByLine)}
	for i := range t.Allocations {
		if t.Allocations[i].Freed == snapshot.AliveAtEnd {
			v.alive = append(v.alive, int32(i))
		}
	}
	return v
}

func (v *view) complete() bool { return v.timeline.History == snapshot.HistoryComplete }

func (v *view) lastEvent() int { return len(v.timeline.Device.Events) - 1 }

func (v *view) place(a *snapshot.Allocation) placeKey { return v.places.of(a) }

// A link leads from the allocations alive in one snapshot to the same ones in
// the history of a later snapshot.
type link struct {
	aligned bool            // the later history holds the moment of the earlier dump
	end     int             // that moment: an event of the later history, −1 for its start
	to      map[int32]int32 // absent: freed since, or never found
}

// newLink follows allocations from a into b. Where both histories hold the
// same events they tell which birth is which. Otherwise address and size must
// do, and only memory older than b's history qualifies when b has one.
func newLink(a, b *view) link {
	l := link{to: map[int32]int32{}}
	shift, ok := alignEvents(a.timeline.Device.Events, b.timeline.Device.Events)
	if ok {
		l.aligned, l.end = true, a.lastEvent()+shift
	} else if len(a.alive) == 0 && a.lastEvent() < 0 {
		l.aligned, l.end = true, -1 // nothing has happened in a yet
		return l
	}
	there := map[uint64]int32{}
	for i := range b.timeline.Allocations {
		x := &b.timeline.Allocations[i]
		if ok && (int(x.Born) > l.end || int(x.Freed) <= l.end) {
			continue
		}
		if !ok && x.Born >= 0 && len(a.timeline.Device.Events) > 0 {
			continue // born in b's history, which began after a's dump
		}
		there[x.Addr] = int32(i)
	}
	for _, i := range a.alive {
		x := &a.timeline.Allocations[i]
		j, found := there[x.Addr]
		if !found {
			continue
		}
		y := &b.timeline.Allocations[j]
		known := ok && x.Born >= 0 && y.Born >= 0
		if y.Requested == x.Requested && (!known || int(y.Born) == int(x.Born)+shift) {
			l.to[i] = j
		}
	}
	return l
}

// leastOverlap is how many equal events in a row prove that two histories are
// one: address, size and action agree, and the times nearly.
const leastOverlap = 4

// clockDrift is by how many µs the time of one event may differ between two
// dumps: each converts the clock of the processor to the time of day anew.
const clockDrift = 1000

// alignEvents finds the event of b that is the last one of a and returns how
// much later in the list an event of a lies in b. Steps of a training look
// alike, so of several places the one nearest in time is taken.
func alignEvents(a, b []snapshot.Event) (shift int, ok bool) {
	last := len(a) - 1
	if last < 0 {
		return 0, false
	}
	nearest := int64(clockDrift)
	try := func(j int) {
		off := abs(a[last].Time - b[j].Time)
		if off <= nearest && (!ok || off < nearest) && sameRun(a, b, last, j) {
			nearest, shift, ok = off, j-last, true
		}
	}
	// Histories that begin together are the usual case: try it first.
	if last < len(b) {
		try(last)
	}
	for j := range b {
		if ok && nearest == 0 {
			break
		}
		try(j)
	}
	return shift, ok
}

// sameRun reports whether the events up to a[i] and b[j] are the same, as far
// back as both reach but no further than 64.
func sameRun(a, b []snapshot.Event, i, j int) bool {
	n := min(i, j, 63) + 1
	if n < leastOverlap && n < len(a) {
		return false
	}
	for k := range n {
		if !sameEvent(&a[i-k], &b[j-k]) {
			return false
		}
	}
	return true
}

func sameEvent(x, y *snapshot.Event) bool {
	return x.Addr == y.Addr && x.Size == y.Size && x.Action == y.Action && abs(x.Time-y.Time) <= clockDrift
}
