package snapshot

import (
	"math"
	"slices"
)

// replay runs the events of a device through a live set. Memory that the events
// free without having allocated it is older than the history.
//
// All sums stay within ±4·replayLimit whatever the file says, so nothing
// overflows: requests that would exceed the limit are cut, and counted as lost.
type replay struct {
	events []Event
	born   []Allocation // allocated in the history, in order
	older  []Allocation // older than the history, in order of discovery

	// live maps an address to a position: n > 0 is born[n−1], n < 0 is
	// older[−n−1] (memory older than the history whose free is requested).
	live addrTable

	reserve reserve
	ghost   Allocation // what position ghost means, see addFreed

	liveBytes, olderBytes int64 // Σ requested of live born ones; of all older ones
	requested, reserved   meter
	gap                   int64 // the most by which net requested exceeds net reserved
	unmatched             int
	lost                  int64 // bytes that do not reconcile, see Timeline.Unreconciled
	births, moves         int   // events that bring memory into being; that move memory either way
}

// ghost is the position of memory whose free is requested and that cannot have
// existed. It holds no bytes.
const ghost int32 = math.MinInt32

// replayLimit bounds each sum of a replay: 2^60 bytes, a million TiB.
const replayLimit = 1 << 60

// meter follows a curve that starts at 0.
type meter struct {
	net, low, high int64
	highAt         int32 // first event that reaches high, −1: the start
}

func (m *meter) move(delta int64, at int32) {
	m.net = min(max(m.net+delta, -replayLimit), replayLimit)
	if m.net > m.high {
		m.high, m.highAt = m.net, at
	}
	m.low = min(m.low, m.net)
}

func newReplay(d *Device) *replay {
	events := d.Events[:min(len(d.Events), maxEvents)]
	allocs := 0
	for i := range events {
		if events[i].Action == Alloc {
			allocs++
		}
	}
	spare := min(len(d.Blocks), allocs/8) // room for a few older ones, see allocations
	r := &replay{events: events, live: newAddrTable(), born: make([]Allocation, 0, allocs+spare)}
	r.requested.highAt, r.reserved.highAt = -1, -1
	return r
}

func (r *replay) run() {
	for i := range r.events {
		e := &r.events[i]
		switch e.Action {
		case Alloc:
			r.births++
			r.alloc(e, int32(i))
		case FreeRequested:
			r.freeRequested(e, int32(i))
		case FreeCompleted:
			r.freeCompleted(e, int32(i))
		case SegmentAlloc, SegmentMap:
			r.births++
			r.reserve.gain(e)
			r.reserved.move(segmentDelta(e), int32(i))
		case SegmentFree, SegmentUnmap:
			r.reserve.drop(e)
			r.reserved.move(segmentDelta(e), int32(i))
		default:
			continue
		}
		r.moves++
		r.gap = max(r.gap, r.requested.net-r.reserved.net)
	}
}

// segmentDelta is the change of the reserved bytes at an event.
func segmentDelta(e *Event) int64 {
	size := min(max(e.Size, 0), replayLimit)
	switch e.Action {
	case SegmentAlloc, SegmentMap:
		return size
	case SegmentFree, SegmentUnmap:
		return -size
	}
	return 0
}

// cut returns size, made to fit beside what is already counted.
func (r *replay) cut(size, counted int64) int64 {
	fits := min(max(size, 0), replayLimit-counted)
	if size > fits {
		r.lost = addBytes(r.lost, size-fits)
	}
	return fits
}

func (r *replay) alloc(e *Event, i int32) {
	if old := r.live.put(e.Addr, int32(len(r.born)+1)); old != 0 && old != ghost {
		r.lost = addBytes(r.lost, r.at(old).Requested)
		r.end(old, i)
	}
	size := r.cut(e.Size, r.liveBytes)
	r.liveBytes += size
	r.requested.move(size, i)
	r.born = append(r.born, Allocation{
		Addr: e.Addr, Requested: size, Born: i, FreeRequested: AliveAtEnd, Freed: AliveAtEnd,
		Stack: e.Stack, Label: e.Label, Block: -1, Stream: e.Stream, Pool: e.Pool,
	})
}

func (r *replay) freeRequested(e *Event, i int32) {
	n := r.live.get(e.Addr)
	if n == 0 {
		n = r.addFreed(e)
		r.live.put(e.Addr, n)
	}
	if a := r.at(n); a.FreeRequested == AliveAtEnd {
		a.FreeRequested = i
	}
}

func (r *replay) freeCompleted(e *Event, i int32) {
	n := r.live.remove(e.Addr)
	if n == 0 {
		n = r.addFreed(e)
	}
	if n != ghost {
		r.end(n, i)
	}
}

// end closes the allocation at position n.
func (r *replay) end(n, i int32) {
	a := r.at(n)
	a.Freed = i
	if n > 0 {
		r.liveBytes -= a.Requested
	}
	r.requested.move(-a.Requested, i)
}

func (r *replay) at(n int32) *Allocation {
	switch {
	case n == ghost:
		return &r.ghost
	case n > 0:
		return &r.born[n-1]
	}
	return &r.older[-n-1]
}

// addFreed adds memory that is known only by an event that frees it. It is older
// than the history unless an event mapped or unmapped its address before: then
// the free is spurious, or the alloc is missing, and nothing is made up for it.
func (r *replay) addFreed(e *Event) int32 {
	if r.reserve.touched.has(e.Addr) {
		r.lost = addBytes(r.lost, e.Size)
		return ghost
	}
	r.unmatched++
	return r.addOlder(Allocation{Addr: e.Addr, Requested: e.Size, Label: e.Label, Block: -1, Stream: e.Stream, Pool: e.Pool})
}

func (r *replay) addOlder(a Allocation) int32 {
	a.Born, a.FreeRequested, a.Freed = BeforeHistory, AliveAtEnd, AliveAtEnd
	a.Requested = r.cut(a.Requested, r.olderBytes)
	r.olderBytes += a.Requested
	r.older = append(r.older, a)
	return int32(-len(r.older))
}

// settle brings the live set in line with the blocks of the dump: it ties
// allocations to their blocks and adds the blocks older than the history. It
// reports whether the end needed correction, that is, whether a block or an
// allocation was left over or of another size.
func (r *replay) settle(d *Device) (corrected bool) {
	r.reserve.settle(d.Segments)
	r.checkOlder()
	var unexplained []int32
	for i := range d.Blocks {
		b := &d.Blocks[i]
		if b.State == Inactive {
			continue
		}
		if n := r.live.remove(b.Addr); n != 0 && n != ghost {
			r.tie(r.at(n), d, int32(i))
			if b.Requested != r.at(n).Requested {
				r.resize(n, b.Requested)
				corrected = true
			}
		} else {
			unexplained = append(unexplained, int32(i))
		}
	}
	missing := r.explain(d, unexplained)
	extra := r.closeExtra()
	return corrected || missing || extra
}

// resize gives an allocation the size that its block says.
func (r *replay) resize(n int32, requested int64) {
	a, counted := r.at(n), &r.liveBytes
	if n < 0 {
		counted = &r.olderBytes
	}
	r.lost = addBytes(r.lost, distance(a.Requested, max(requested, 0)))
	*counted -= a.Requested
	a.Requested = r.cut(requested, *counted)
	*counted += a.Requested
}

// tie completes an allocation that is alive at the end from its block.
func (r *replay) tie(a *Allocation, d *Device, block int32) {
	b, seg := &d.Blocks[block], &d.Segments[d.Blocks[block].Segment]
	a.Block, a.Size = block, b.Size
	if a.Stack == NoStack {
		a.Stack = b.Stack
	}
	if a.Label == 0 {
		a.Label = b.Label
	}
	if a.Pool == 0 {
		a.Pool = seg.Pool
	}
}

// explain adds the blocks that no allocation of the history accounts for.
// Normally they are older than the history. A block at an address that the
// history used, or in a segment that it mapped, cannot be: its alloc event is
// missing, and all that is known is that it exists at the end.
func (r *replay) explain(d *Device, blocks []int32) (missing bool) {
	used := r.used(d, blocks)
	for _, i := range blocks {
		b, seg := &d.Blocks[i], &d.Segments[d.Blocks[i].Segment]
		a := Allocation{Addr: b.Addr, Requested: b.Requested, Size: b.Size, Stack: b.Stack, Label: b.Label,
			Block: i, Stream: seg.Stream, Pool: seg.Pool}
		if !used[b.Addr] && !r.reserve.touched.has(b.Addr) {
			r.addOlder(a)
			continue
		}
		missing = true
		r.lost = addBytes(r.lost, b.Requested)
		a.Requested = r.cut(b.Requested, r.liveBytes)
		r.liveBytes += a.Requested
		a.Born, a.FreeRequested, a.Freed = int32(len(r.events)-1), AliveAtEnd, AliveAtEnd
		r.born = append(r.born, a)
	}
	return missing
}

// used returns which addresses of the given blocks the history used.
func (r *replay) used(d *Device, blocks []int32) map[uint64]bool {
	if len(blocks) == 0 || len(r.events) == 0 {
		return nil
	}
	wanted := newAddrTable()
	for _, i := range blocks {
		wanted.put(d.Blocks[i].Addr, 1)
	}
	used := map[uint64]bool{}
	for _, list := range [][]Allocation{r.older, r.born} {
		for i := range list {
			if wanted.get(list[i].Addr) != 0 {
				used[list[i].Addr] = true
			}
		}
	}
	return used
}

// checkOlder counts as lost what is known only by its free and yet cannot be
// older than the history, because the history used its address before: memory
// freed twice. It must come before blocks join the older ones.
func (r *replay) checkOlder() {
	if len(r.older) == 0 {
		return
	}
	first := newAddrTable() // position of the first of each address
	for i := range r.older {
		a := &r.older[i]
		if first.get(a.Addr) != 0 {
			r.lost = addBytes(r.lost, a.Requested)
			continue
		}
		first.put(a.Addr, int32(i+1))
	}
	for i := range r.born {
		n := first.get(r.born[i].Addr)
		if n == 0 {
			continue
		}
		first.remove(r.born[i].Addr)
		if a := &r.older[n-1]; r.born[i].Born < min(a.FreeRequested, a.Freed) {
			r.lost = addBytes(r.lost, a.Requested)
		}
	}
}

// closeExtra frees, at the last event, what the replay holds and the dump does
// not.
func (r *replay) closeExtra() (extra bool) {
	for _, slot := range r.live.slots {
		if slot.val == 0 || slot.val == ghost {
			continue
		}
		a := r.at(slot.val)
		a.Freed = int32(len(r.events) - 1)
		r.lost = addBytes(r.lost, a.Requested)
		extra = true
	}
	return extra
}

func (r *replay) hasStacks() bool {
	stacked := func(a Allocation) bool { return a.Stack != NoStack }
	return slices.ContainsFunc(r.born, stacked) || slices.ContainsFunc(r.older, stacked)
}

// allocations returns everything in one list. It uses up the replay.
func (r *replay) allocations() []Allocation {
	if len(r.born) == 0 {
		return r.older
	}
	return slices.Insert(r.born, 0, r.older...)
}

// history judges what the events cover. A history of marks only, as on a device
// that did nothing while others were recorded, is complete when there is no
// memory it should have explained.
func (r *replay) history(d *Device, t *Timeline) HistoryState {
	state := r.coverage(d, t)
	if state >= HistoryTruncated && (t.Unreconciled != 0 || t.UnreconciledReserved != 0) {
		return HistoryInconsistent
	}
	return state
}

// coverage is what the events would cover if they were sound.
func (r *replay) coverage(d *Device, t *Timeline) HistoryState {
	switch {
	case len(r.events) > 0 && len(r.older) == 0 && t.BaselineReserved == 0 && !d.Overflowed:
		return HistoryComplete
	case r.births == 0 && (t.hasStacks || segmentHasStack(d)):
		return HistoryStateOnly
	case r.moves == 0:
		return HistoryNone
	}
	return HistoryTruncated
}

func segmentHasStack(d *Device) bool {
	return slices.ContainsFunc(d.Segments, func(s Segment) bool { return s.Stack != NoStack })
}
