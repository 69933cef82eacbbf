package allocator

import (
	"fmt"

	"github.com/snapview/snapview/snapshot"
)

// A Replay is the history of a device run through the model under the settings
// it was recorded with. The embedded Stats are those of the recorded run; the
// calls count what the history covers.
type Replay struct {
	Timeline *snapshot.Timeline
	Settings Settings
	Stats
	Check    SelfCheck
	Pressure Pressure

	// Sizes holds the block size of each of Timeline.Allocations.
	Sizes []int64

	snap     *snapshot.Snapshot
	of       []int32   // allocation + 1 of each event, 0 for none
	lane     []laneKey // of each allocation
	releases []release // in order
}

// SelfCheck says whether the model did what the record says.
type SelfCheck struct {
	Exact       bool
	Difference  int64  // bytes of the dump's blocks that the model has otherwise, and of the reserved peak
	Divergences int    // events at which model and record parted ways; the replay went on from the record each time
	Event       int    // the first of them, −1 for none
	Reason      string // why, one sentence; also when only the end state differs
	Rebuilt     bool   // the history is not complete: the start was rebuilt backwards from the dump
}

// Pressure is what the history says about the memory that was to be had: it
// lies between the two. High is 0 when no request was short of memory.
type Pressure struct{ Low, High int64 }

// An exact replay follows the record: segment events say what the device gave
// and took, and the model must choose the recorded block for every request.
type exact struct {
	*Replay
	m      *Model
	events []snapshot.Event
	device *snapshot.Device

	blockOf []int32  // block of each live allocation
	laneOf  []int32  // lane of each allocation
	bases   freeList // segments by address
	opened  []int32  // segment_alloc and segment_map events that no alloc event has used yet
	pools   poolHints
	burst   burst
}

// Exact replays the history of t, which must be of s, under the settings it was
// recorded with. It never fails: where the record contradicts the model, the
// record is followed and Check says so.
func Exact(s *snapshot.Snapshot, t *snapshot.Timeline) *Replay {
	x := newExact(s, t)
	x.run(len(x.events), nil)
	x.endBurst(len(x.events))
	x.finish()
	return x.Replay
}

func newExact(s *snapshot.Snapshot, t *snapshot.Timeline) *exact {
	set := FromSnapshot(s.Settings)
	r := &Replay{Timeline: t, Settings: set, Check: SelfCheck{Event: -1}, snap: s}
	x := &exact{Replay: r, m: NewModel(set, Limits{}), device: t.Device, events: t.Device.Events}
	x.m.space = nil
	x.index()
	x.pools = newPoolHints(s, t.Device)
	x.start()
	return x
}

// run replays the events before end; what the device gave by then is taken in.
func (x *exact) run(end int, each func(event int)) {
	for i := range end {
		x.event(i)
		if each != nil {
			each(i)
		}
	}
	x.adopt(end)
}

// index finds the allocation of each event.
func (x *exact) index() {
	all := x.Timeline.Allocations
	x.of = make([]int32, len(x.events))
	x.blockOf = make([]int32, len(all))
	x.laneOf = make([]int32, len(all))
	x.Sizes = make([]int64, len(all))
	for a := range all {
		x.tie(a, all[a].Born, snapshot.Alloc)
		x.tie(a, all[a].FreeRequested, snapshot.FreeRequested)
		x.tie(a, all[a].Freed, snapshot.FreeCompleted)
	}
}

func (x *exact) tie(a int, event int32, action snapshot.Action) {
	if event < 0 || int(event) >= len(x.events) || x.events[event].Action != action {
		return
	}
	if x.events[event].Addr == x.Timeline.Allocations[a].Addr {
		x.of[event] = int32(a + 1)
	}
}

func (x *exact) event(i int) {
	e := &x.events[i]
	if x.burst.bytes > 0 && e.Action != snapshot.SegmentFree && e.Action != snapshot.SegmentUnmap {
		x.endBurst(i)
	}
	switch e.Action {
	case snapshot.SegmentAlloc, snapshot.SegmentMap:
		x.opened = append(x.opened, int32(i))
	case snapshot.Alloc:
		x.alloc(i, e)
	case snapshot.FreeRequested, snapshot.FreeCompleted:
		x.adopt(i)
		x.release(e.Action, int(x.of[i])-1)
	case snapshot.SegmentFree, snapshot.SegmentUnmap:
		x.adopt(i)
		if x.burst.bytes == 0 {
			x.burst.servable = x.servable(i)
		}
		x.burst.add(x.m.Reserved, e)
		if e.Action == snapshot.SegmentFree {
			x.segmentFree(i, e)
		} else {
			x.segmentUnmap(i, e)
		}
	case snapshot.OOM:
		x.adopt(i)
		x.press(x.m.Reserved + x.Settings.SegmentSize(x.Settings.Round(e.Size)))
	}
}

// diverge notes that model and record part ways at an event.
func (x *exact) diverge(i int, format string, args ...any) {
	x.Check.Divergences++
	if x.Check.Event < 0 {
		x.Check.Event = i
		x.Check.Reason = fmt.Sprintf(format, args...)
	}
}

// laneFor returns the lane of a pool and stream.
func (x *exact) laneFor(pool, stream uint16) int32 {
	n := len(x.m.lanes)
	lane := x.m.Lane(pool, stream)
	if len(x.m.lanes) > n {
		x.pools.add(stream, lane)
	}
	return lane
}

// alloc serves an alloc event from the segment events just before it, or else
// from the cache.
func (x *exact) alloc(i int, e *snapshot.Event) {
	a := int(x.of[i]) - 1
	if a < 0 {
		return // a contradiction that the timeline has already counted
	}
	size := x.Settings.Round(e.Size)
	var b int32
	switch {
	case x.opensFor(e):
		b = x.fresh(i, e, size)
	case len(x.opened) > 0 && x.events[x.opened[0]].Action == snapshot.SegmentMap:
		b = x.grown(i, e, size)
	default:
		x.adopt(i)
		b = x.cached(i, e, size)
	}
	if b == 0 {
		b = x.phantom(e.Addr, size, requested(e))
	}
	x.blockOf[a], x.Sizes[a] = b, x.m.blocks[b].size
	if s := x.m.blocks[b].segment; s != 0 {
		x.laneOf[a] = x.m.arenas[x.m.segments[s].arena].lane
	} else {
		x.laneOf[a] = x.laneFor(e.Pool, e.Stream)
	}
}

// opensFor reports whether the last segment event is the cudaMalloc for e.
func (x *exact) opensFor(e *snapshot.Event) bool {
	if len(x.opened) == 0 {
		return false
	}
	last := &x.events[x.opened[len(x.opened)-1]]
	return last.Action == snapshot.SegmentAlloc && last.Addr == e.Addr
}

// fresh serves a request from a segment that the device has just given.
func (x *exact) fresh(i int, e *snapshot.Event, size int64) int32 {
	last := x.opened[len(x.opened)-1]
	x.opened = x.opened[:len(x.opened)-1]
	x.adopt(i)
	seg := &x.events[last]
	arena := x.m.arenaFor(x.laneFor(x.pools.of(int(last), seg), seg.Stream), size)
	x.expectMiss(i, arena, size)
	if want := x.Settings.SegmentSize(size); x.Settings.Expandable {
		x.diverge(i, "a segment of %d bytes was allocated although expandable_segments was on at the end", seg.Size)
	} else if want != seg.Size {
		x.diverge(i, "a segment of %d bytes was allocated where the model asks for %d", seg.Size, want)
	}
	b := x.open(arena, seg.Addr, seg.Size)
	if b != 0 {
		x.m.hand(b, size, requested(e))
	}
	return b
}

func (x *exact) expectMiss(i int, arena int32, size int64) {
	if f, _ := x.m.bestFit(arena, size); f != 0 {
		x.diverge(i, "memory came from the device for %d bytes although a free block of %d bytes at %#x fits",
			size, x.m.blocks[f].size, x.m.blocks[f].addr)
	}
}

// open adds an ordinary segment where the record says; 0 when it overlaps another.
func (x *exact) open(arena int32, base uint64, size int64) int32 {
	if size <= 0 || size > sizeLimit || x.segmentAt(base) != 0 {
		return 0
	}
	b := x.m.addSegment(arena, base, size)
	x.register(b)
	return b
}

// register makes the segment of its first block known by address.
func (x *exact) register(b int32) {
	x.bases.insert(freeKey{0, x.m.blocks[b].addr, x.m.blocks[b].segment})
}

// segmentAt returns the segment with the given base, 0 for none.
func (x *exact) segmentAt(base uint64) int32 {
	if s := x.bases.at(x.bases.seek(0, base)); s != 0 && x.m.segments[s].base == base {
		return s
	}
	return 0
}

// cached serves a request from the free block that the model chooses, which must
// be the recorded one.
func (x *exact) cached(i int, e *snapshot.Event, size int64) int32 {
	own := x.laneFor(e.Pool, e.Stream)
	chosen, served := x.serve(own, e, size)
	if served {
		return chosen
	}
	for _, lane := range x.pools.others(e.Stream) {
		if !x.m.walk() {
			break
		}
		if lane == own {
			continue
		}
		if b, served := x.serve(lane, e, size); served {
			return b
		}
	}
	if chosen == 0 {
		x.diverge(i, "the model has no free block for %d bytes; the record reuses %#x", size, e.Addr)
	} else {
		x.diverge(i, "the model serves %d bytes from the block at %#x, the record from %#x", size, x.m.blocks[chosen].addr, e.Addr)
	}
	return x.place(e, size)
}

// serve hands out the free block that a lane chooses for a request, if that is the
// recorded one, and returns it.
func (x *exact) serve(lane int32, e *snapshot.Event, size int64) (b int32, served bool) {
	b, at := x.m.bestFit(x.m.arenaFor(lane, size), size)
	if b == 0 || x.m.blocks[b].addr != e.Addr {
		return b, false
	}
	x.m.unlistAt(b, at)
	x.m.hand(b, size, requested(e))
	return b, true
}

// place puts an allocation where the record says, as far as that is free.
func (x *exact) place(e *snapshot.Event, size int64) int32 {
	b := x.find(e.Addr)
	if b == 0 || x.m.blocks[b].state != free || x.m.blocks[b].unmapped {
		return 0
	}
	x.m.unlist(b)
	if before := int64(e.Addr - x.m.blocks[b].addr); before > 0 {
		rest := x.m.cut(b, before)
		x.m.list(b)
		b = rest
	}
	x.m.hand(b, size, requested(e))
	return b
}

// find returns the block that holds an address, 0 for none.
func (x *exact) find(addr uint64) int32 {
	s := x.bases.before(x.bases.seek(0, addr+1))
	if s == 0 {
		return 0
	}
	for b := x.m.segments[s].head; b != 0 && x.m.walk(); b = x.m.blocks[b].next {
		if addr-x.m.blocks[b].addr < uint64(x.m.blocks[b].size) {
			return b
		}
	}
	return 0
}

// phantom stands for an allocation that the model has no place for: it counts,
// but lies in no segment.
func (x *exact) phantom(addr uint64, size, requested int64) int32 {
	b := x.m.newBlock(block{addr: addr, size: size})
	x.m.occupy(b, requested)
	return b
}

// requested is the size of a request, without what only a damaged file says.
func requested(e *snapshot.Event) int64 { return requestedBytes(e.Size) }

func requestedBytes(n int64) int64 { return min(max(n, 0), sizeLimit) }

func (x *exact) release(action snapshot.Action, a int) {
	if a < 0 || x.blockOf[a] == 0 {
		return
	}
	b := x.blockOf[a]
	if action == snapshot.FreeRequested {
		x.m.FreeRequested(b)
		return
	}
	x.blockOf[a] = 0
	if x.m.blocks[b].segment == 0 {
		x.m.vacate(b)
		x.m.unused = append(x.m.unused, b)
		return
	}
	x.m.FreeCompleted(b)
}
