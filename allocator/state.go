package allocator

import "github.com/snapview/snapview/snapshot"

// A State is the allocator at a moment of the recorded run.
type State struct {
	Event int // the moment is after this event
	Stats
	Blocks []StateBlock // by address, without address space that is not mapped
}

// A StateBlock is one block at that moment.
type StateBlock struct {
	Addr            uint64
	Size, Requested int64
	State           snapshot.BlockState
	First           bool // starts a segment: a contiguous range of device memory
	Small           bool
	Expandable      bool
	Stream, Pool    uint16
	Allocation      int32 // index into Timeline.Allocations, −1 when free
}

// At replays the recorded run up to and including an event; −1 for the start.
func (r *Replay) At(event int) *State {
	x := newExact(r.snap, r.Timeline)
	x.run(min(max(event+1, 0), len(x.events)), nil)
	return x.state(event)
}

func (m *Model) stateBlock(b int32, first bool, owner map[int32]int32) StateBlock {
	k, a := &m.blocks[b], m.arenaOf(b)
	out := StateBlock{Addr: k.addr, Size: k.size, Requested: k.requested, State: stateOf(k.state), First: first, Small: a.small,
		Expandable: m.isExpandable(b), Stream: m.lanes[a.lane].stream, Pool: m.lanes[a.lane].pool, Allocation: -1}
	if n, ok := owner[b]; ok {
		out.Allocation = n
	}
	return out
}

// Curve samples the recorded run at most n times.
func (r *Replay) Curve(n int) []FragPoint {
	x := newExact(r.snap, r.Timeline)
	s := newSampler(len(x.events), n)
	x.run(len(x.events), func(event int) { s.take(event, x.m) })
	return s.points
}
