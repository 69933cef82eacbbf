package allocator

import (
	"cmp"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A startRange is memory that existed before the history.
type startRange struct {
	lo, hi     uint64
	arena      int32
	expandable bool
	origin     int // what tells of it; ordinary ranges of one origin are one segment
}

// maxSpace is more than the address space of any expandable segment.
const maxSpace = 1 << 50

// start rebuilds the state before the first event: the segments of the dump, with
// the segment events taken back, and in them the allocations older than the
// history. Blocks whose size no longer exists get the size that the rules give.
func (x *exact) start() {
	if x.Timeline.History == snapshot.HistoryComplete || x.Timeline.OpenEnd {
		return
	}
	x.Check.Rebuilt = true
	older := x.older()
	x.learnSizes(older)
	ranges := x.startRanges()
	for i := 0; i < len(ranges); {
		j := i + 1
		for j < len(ranges) && ranges[i].expandable && ranges[j].expandable && ranges[i].arena == ranges[j].arena && ranges[j].hi-ranges[i].lo < maxSpace {
			j++
		}
		x.startSegment(ranges[i:j], older)
		i = j
	}
	for _, a := range older {
		if x.blockOf[a] == 0 {
			k := &x.Timeline.Allocations[a]
			x.occupyStart(x.m.newBlock(block{addr: k.Addr, size: x.startSize(a)}), a)
			x.laneOf[a] = x.laneFor(k.Pool, k.Stream)
		}
	}
	x.m.DeviceAllocs = 0
}

// older lists the allocations older than the history by address.
func (r *Replay) older() []int32 {
	all := r.Timeline.Allocations
	var list []int32
	for a := range all {
		if all[a].Born == snapshot.BeforeHistory {
			list = append(list, int32(a))
		}
	}
	slices.SortStableFunc(list, func(i, j int32) int { return cmp.Compare(all[i].Addr, all[j].Addr) })
	return list
}

// startSize is the block size of an allocation older than the history: what the
// dump or a later event says, else the least that its request takes.
func (x *exact) startSize(a int32) int64 {
	if x.Sizes[a] > 0 {
		return x.Sizes[a]
	}
	return x.Settings.Round(requestedBytes(x.Timeline.Allocations[a].Requested))
}

// learnSizes finds the sizes of blocks older than the history. The dump says
// those that are alive. Of others, the first request that is served from the
// free memory behind such a block tells where that begins, as requests get the
// low end of a free block; a block can be larger than its request by what is not
// worth a split.
func (x *exact) learnSizes(older []int32) {
	all := x.Timeline.Allocations
	for _, a := range older {
		x.Sizes[a] = all[a].Size
	}
	seen := make([]bool, len(older))
	for i := range x.events {
		e := &x.events[i]
		if e.Action != snapshot.Alloc {
			continue
		}
		n := x.olderFrom(older, e.Addr+1) - 1
		if n < 0 || seen[n] {
			continue
		}
		a := older[n]
		size := int64(e.Addr - all[a].Addr)
		least := x.startSize(a)
		if x.Sizes[a] > 0 || int(all[a].Freed) < i || size < least || x.Settings.splits(least, size-least, least <= smallSize) {
			continue
		}
		seen[n] = true
		x.Sizes[a] = size
	}
}

// olderFrom returns the position of the first of older at or above an address.
func (x *exact) olderFrom(older []int32, addr uint64) int {
	i, _ := slices.BinarySearchFunc(older, addr, func(a int32, addr uint64) int {
		return cmp.Compare(x.Timeline.Allocations[a].Addr, addr)
	})
	return i
}

// startSegment lays out one ordinary segment, or the mapped ranges of one
// expandable segment.
func (x *exact) startSegment(ranges []startRange, older []int32) {
	first := ranges[0]
	if !first.expandable {
		b := x.m.addSegment(first.arena, first.lo, int64(first.hi-first.lo))
		x.register(b)
		x.carve(b, older)
		return
	}
	end := ranges[len(ranges)-1].hi
	size := max(x.m.limits.reservation(), int64(end-first.lo)) + largeSegment
	b := x.m.openSegment(first.arena, first.lo, size, true)
	x.register(b)
	for _, r := range ranges {
		if gap := int64(r.lo - x.m.blocks[b].addr); gap > 0 {
			rest := x.m.cut(b, gap)
			x.m.listUnmapped(b)
			b = rest
		}
		rest := x.m.cut(b, int64(r.hi-r.lo))
		x.m.blocks[b].unmapped = false
		x.m.reserve(x.m.blocks[b].size)
		x.carve(b, older)
		b = rest
	}
	x.m.listUnmapped(b)
}

// carve cuts the allocations of older that lie in b out of it.
func (x *exact) carve(b int32, older []int32) {
	all, end := x.Timeline.Allocations, x.m.blocks[b].addr+uint64(x.m.blocks[b].size)
	for i := x.olderFrom(older, x.m.blocks[b].addr); i < len(older) && all[older[i]].Addr < end; i++ {
		a, next := older[i], end
		if i+1 < len(older) {
			next = min(next, all[older[i+1]].Addr)
		}
		if next == all[a].Addr {
			continue // twice the same address: a damaged history
		}
		if gap := int64(all[a].Addr - x.m.blocks[b].addr); gap > 0 {
			rest := x.m.cut(b, gap)
			x.m.list(b)
			b = rest
		}
		rest := x.carveOne(b, a, int64(next-all[a].Addr))
		if rest == 0 {
			return
		}
		b = rest
	}
	x.m.list(b)
}

// carveOne gives allocation a the start of b, of which room bytes are its own or
// free, and returns the rest of b, 0 when there is none.
func (x *exact) carveOne(b, a int32, room int64) (rest int32) {
	size := min(x.startSize(a), room)
	if x.Sizes[a] == 0 && !x.Settings.splits(size, room-size, x.m.arenaOf(b).small) {
		size = room
	}
	if size < x.m.blocks[b].size {
		rest = x.m.cut(b, size)
	}
	x.laneOf[a] = x.m.arenaOf(b).lane
	x.occupyStart(b, a)
	return rest
}

func (x *exact) occupyStart(b, a int32) {
	k := &x.Timeline.Allocations[a]
	x.m.occupy(b, k.Requested)
	x.blockOf[a], x.Sizes[a] = b, x.m.blocks[b].size
	if k.FreeRequested == snapshot.AliveAtEnd && (k.Freed != snapshot.AliveAtEnd || x.pendingAtEnd(k)) {
		x.m.FreeRequested(b)
	}
}

func (x *exact) pendingAtEnd(k *snapshot.Allocation) bool {
	return k.Block >= 0 && x.device.Blocks[k.Block].State == snapshot.PendingFree
}
