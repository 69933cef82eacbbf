package allocator

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// adopt takes in segment events that no alloc event has used: memory that the
// device gave and that then lies free.
func (x *exact) adopt(i int) {
	if len(x.opened) == 0 {
		return
	}
	for _, n := range x.opened {
		e := &x.events[n]
		arena := x.arenaBySize(int(n), e)
		if e.Action == snapshot.SegmentMap {
			x.mapSpan(i, arena, span{e.Addr, e.Size})
		} else if b := x.open(arena, e.Addr, e.Size); b != 0 {
			x.m.list(b)
		}
	}
	x.opened = x.opened[:0]
}

// arenaBySize is the arena of a segment event by its size alone: only the small
// class has segments and mappings of 2 MiB.
func (x *exact) arenaBySize(n int, e *snapshot.Event) int32 {
	lane := x.laneFor(x.pools.of(n, e), e.Stream)
	if e.Size == smallSegment {
		return x.m.lanes[lane].small
	}
	return x.m.lanes[lane].large
}

// grown serves a request from an expandable segment to which the segment_map
// events before it added pages.
func (x *exact) grown(i int, e *snapshot.Event, size int64) int32 {
	var spans []span
	first := int(x.opened[0])
	for _, n := range x.opened {
		spans = append(spans, span{x.events[n].Addr, x.events[n].Size})
	}
	x.opened = x.opened[:0]
	arena := x.m.arenaFor(x.laneFor(x.pools.of(first, &x.events[first]), e.Stream), size)
	x.expectMiss(i, arena, size)
	b := x.m.expandableStart(arena, size)
	if b == 0 && x.segmentAt(spans[0].addr) == 0 {
		b = x.m.reserveSpace(arena, spans[0].addr)
		x.register(b)
	}
	if want := x.m.plan(b, size); !slices.Equal(want, spans) || !x.Settings.Expandable {
		x.diverge(i, "pages were mapped as %v where the model maps %v", spans, want)
		b = 0
	}
	for _, s := range spans {
		x.mapSpan(i, arena, s)
	}
	if b == 0 || x.m.blocks[b].addr != e.Addr {
		if b != 0 {
			x.diverge(i, "the model serves %d bytes from %#x, the record from %#x", size, x.m.blocks[b].addr, e.Addr)
		}
		return x.place(e, size)
	}
	x.m.unlist(b)
	x.m.hand(b, size, requested(e))
	return b
}

// plan lists the ranges that expand maps from block b on.
func (m *Model) plan(b int32, size int64) []span {
	var spans []span
	for ; b != 0 && size > 0; b = m.blocks[b].next {
		k := &m.blocks[b]
		if !k.unmapped {
			size -= k.size
			continue
		}
		n := min(roundUp(min(size, k.size), m.set.page(m.arenaOf(b).small)), k.size)
		spans = append(spans, span{k.addr, n})
		size -= n
	}
	return spans
}

// mapSpan maps a recorded range. A range outside the known address space is the
// start of a new reservation.
func (x *exact) mapSpan(i int, arena int32, s span) {
	if s.size <= 0 || s.size > sizeLimit {
		x.diverge(i, "%d bytes were mapped at %#x, which no allocator does", s.size, s.addr)
		return
	}
	list := &x.m.arenas[arena].unmapped
	b := list.before(list.seek(0, s.addr+1))
	if b == 0 || s.addr-x.m.blocks[b].addr >= uint64(x.m.blocks[b].size) {
		if x.segmentAt(s.addr) != 0 {
			x.diverge(i, "%d bytes were mapped at %#x, where the model has memory", s.size, s.addr)
			return
		}
		b = x.m.reserveSpace(arena, s.addr)
		x.register(b)
	}
	x.m.unlistUnmapped(b)
	if before := int64(s.addr - x.m.blocks[b].addr); before > 0 {
		rest := x.m.cut(b, before)
		x.m.listUnmapped(b)
		b = rest
	}
	if s.size < x.m.blocks[b].size {
		x.m.listUnmapped(x.m.cut(b, s.size))
	}
	x.m.mapped(b)
}

// segmentFree follows a segment_free event: the segment must be wholly free.
func (x *exact) segmentFree(i int, e *snapshot.Event) {
	s := x.segmentAt(e.Addr)
	if s == 0 {
		x.diverge(i, "a segment at %#x was freed that the model does not have", e.Addr)
		return
	}
	seg := &x.m.segments[s]
	x.burst.pool(x.m.arenas[seg.arena].lane, x.m)
	x.bases.remove(freeKey{0, e.Addr, s})
	b := seg.head
	if k := &x.m.blocks[b]; k.state == free && x.m.whole(b) && k.size == e.Size && !seg.expandable {
		x.m.releaseSegment(b)
		return
	}
	x.diverge(i, "the segment at %#x was freed; in the model it is in use or of another size", e.Addr)
	x.drop(s)
}

// drop removes a segment that the record no longer has, with all that the model
// thinks is in it; live blocks become phantoms.
func (x *exact) drop(s int32) {
	next := int32(0)
	for b := x.m.segments[s].head; b != 0; b = next {
		next = x.m.blocks[b].next
		switch {
		case x.m.blocks[b].state != free:
		case x.m.blocks[b].unmapped:
			x.m.unlistUnmapped(b)
		default:
			x.m.unlist(b)
		}
	}
	for b := x.m.segments[s].head; b != 0; b = next {
		k := &x.m.blocks[b]
		next = k.next
		if !k.unmapped {
			x.m.reserve(-k.size)
		}
		k.segment, k.prev, k.next = 0, 0, 0
		if k.state == free {
			x.m.unused = append(x.m.unused, b)
		}
	}
	if !x.m.segments[s].expandable {
		x.m.Segments--
	}
	x.m.DeviceFrees++
	x.m.segments[s] = segment{}
	x.m.retired = append(x.m.retired, s)
}

// segmentUnmap follows a segment_unmap event: the pages must be free.
func (x *exact) segmentUnmap(i int, e *snapshot.Event) {
	b := x.find(e.Addr)
	if b == 0 || x.m.blocks[b].state != free || x.m.blocks[b].unmapped || e.Size <= 0 ||
		uint64(e.Size) > uint64(x.m.blocks[b].size)-(e.Addr-x.m.blocks[b].addr) || !x.m.isExpandable(b) {
		x.diverge(i, "%d bytes at %#x were unmapped that are not free in the model", e.Size, e.Addr)
		return
	}
	s := x.m.blocks[b].segment
	base := x.m.segments[s].base
	x.burst.pool(x.m.arenas[x.m.segments[s].arena].lane, x.m)
	x.m.unmap(b, e.Addr, e.Size)
	if x.m.segments[s].head == 0 {
		x.bases.remove(freeKey{0, base, s})
	}
}
