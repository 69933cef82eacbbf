package allocator

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A release is a moment at which the program gave cached memory back
// (torch.cuda.empty_cache).
type release struct {
	event int32
	pools []uint16 // private pools that were given back too
}

// A burst is a run of segment_free and segment_unmap events.
type burst struct {
	before int64 // reserved bytes before it
	bytes  int64 // given back
	pools  []uint16

	servable bool // the cache could serve the request behind it

	stack snapshot.StackID // of its events
	mixed bool             // they have different ones
}

func (b *burst) add(reserved int64, e *snapshot.Event) {
	if b.bytes == 0 {
		b.before, b.stack = reserved, e.Stack
	}
	b.mixed = b.mixed || e.Stack != b.stack
	b.bytes += max(e.Size, 1)
}

func (b *burst) pool(lane int32, m *Model) {
	if p := m.lanes[lane].pool; p != 0 && !slices.Contains(b.pools, p) {
		b.pools = append(b.pools, p)
	}
}

// endBurst decides, at the event after a burst, who gave the memory back: the
// allocator within a request, or the program by empty_cache, which a what-if
// replay has to repeat. The request then either was short of memory or, with a
// threshold set, had old blocks collected.
func (x *exact) endBurst(i int) {
	b := x.burst
	x.burst = burst{}
	switch {
	case b.bytes == 0:
	case !x.withinRequest(b, i):
		x.releases = append(x.releases, release{int32(i - 1), b.pools})
	case x.Settings.GCThreshold == 0 && x.wanted(i) > 0:
		x.press(b.before + x.wanted(i))
	}
}

// withinRequest reports whether a burst is part of the request at event i. Such a
// burst is followed by memory from the device or by an OOM, shares the call stack
// of the request (malloc passes its context on to release_block), and the cache
// could not serve the request before it. Unless a threshold is set, the request
// must have been short of memory, which one that would not have raised the
// reserved bytes above the peak of the history cannot have been.
func (x *exact) withinRequest(b burst, i int) bool {
	if i >= len(x.events) || b.servable {
		return false
	}
	e := &x.events[i]
	if e.Stack != snapshot.NoStack && b.stack != snapshot.NoStack && (b.mixed || !x.sameStack(e.Stack, b.stack)) {
		return false
	}
	want := x.wanted(i)
	return e.Action == snapshot.OOM || want > 0 && (x.Settings.GCThreshold > 0 || b.before+want > x.Timeline.PeakReserved.Bytes)
}

func (x *exact) sameStack(a, b snapshot.StackID) bool {
	return a == b || slices.Equal(x.snap.Stacks.Frames(a), x.snap.Stacks.Frames(b))
}

// servable reports, at the first event of a burst, whether the request after the
// burst could be served without it.
func (x *exact) servable(i int) bool {
	for ; i < len(x.events) && x.m.walk(); i++ {
		switch e := &x.events[i]; e.Action {
		case snapshot.SegmentFree, snapshot.SegmentUnmap, snapshot.SegmentAlloc, snapshot.SegmentMap:
		case snapshot.Alloc:
			size := x.Settings.Round(e.Size)
			b, _ := x.m.bestFit(x.m.arenaFor(x.laneFor(e.Pool, e.Stream), size), size)
			return b != 0
		default:
			return false
		}
	}
	return false
}

// wanted is what the device was asked for right after a burst, 0 for nothing.
func (x *exact) wanted(i int) int64 {
	if i >= len(x.events) {
		return 0
	}
	if e := &x.events[i]; e.Action == snapshot.SegmentAlloc || e.Action == snapshot.SegmentMap {
		return e.Size
	}
	return 0
}

// press notes that a request which needed the given reserved bytes in all was
// short of memory.
func (x *exact) press(needed int64) {
	if x.Pressure.High == 0 || needed < x.Pressure.High {
		x.Pressure.High = needed
	}
}
