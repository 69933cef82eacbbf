package allocator

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// startRanges finds the memory that existed before the history: an address did
// when the first event about it gives it back, or when there is none and the
// dump has it. Each stretch between two ends of ranges is settled once, by the
// first that covers it.
func (x *exact) startRanges() []startRange {
	items := x.reserveItems()
	var cuts []uint64
	for _, it := range items {
		cuts = append(cuts, it.lo, it.hi)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	settled := make([]int32, len(cuts)) // item + 1 of each stretch
	skip := newSkipper(len(cuts))
	for n := range items {
		lo, _ := slices.BinarySearch(cuts, items[n].lo)
		hi, _ := slices.BinarySearch(cuts, items[n].hi)
		for i := skip.from(lo); i < hi; i = skip.from(i) {
			settled[i] = int32(n + 1)
			skip.take(i)
		}
	}
	return x.collectRanges(items, cuts, settled)
}

// A reserveItem is a segment event or a segment of the dump.
type reserveItem struct {
	startRange
	existed bool // it tells that the memory was there before it
}

func (x *exact) reserveItems() []reserveItem {
	var items []reserveItem
	add := func(it reserveItem, addr uint64, size int64) {
		it.lo, it.hi, it.origin = addr, addr+uint64(min(max(size, 0), sizeLimit)), len(items)
		if it.lo < it.hi {
			items = append(items, it)
		}
	}
	for i := range x.events {
		switch e := &x.events[i]; e.Action {
		case snapshot.SegmentAlloc, snapshot.SegmentMap:
			add(reserveItem{}, e.Addr, e.Size)
		case snapshot.SegmentFree:
			add(reserveItem{startRange{arena: x.arenaBySize(i, e)}, true}, e.Addr, e.Size)
		case snapshot.SegmentUnmap:
			add(reserveItem{startRange{arena: x.arenaBySize(i, e), expandable: true}, true}, e.Addr, e.Size)
		}
	}
	for i := range x.device.Segments {
		s := &x.device.Segments[i]
		lane := x.m.lanes[x.laneFor(s.Pool, s.Stream)]
		arena := lane.large
		if s.Small {
			arena = lane.small
		}
		add(reserveItem{startRange{arena: arena, expandable: s.Expandable}, true}, s.Addr, s.Total)
	}
	return items
}

// collectRanges joins neighbouring stretches: those of one origin, and mapped
// ranges of one arena. Ranges of an arena end up together only when they follow
// each other by address, as reservations do.
func (x *exact) collectRanges(items []reserveItem, cuts []uint64, settled []int32) []startRange {
	var out []startRange
	for i, n := range settled {
		if n == 0 || !items[n-1].existed {
			continue
		}
		r := items[n-1].startRange
		r.lo, r.hi = cuts[i], cuts[i+1]
		if last := len(out) - 1; last >= 0 && out[last].hi == r.lo && out[last].arena == r.arena &&
			(out[last].origin == r.origin || out[last].expandable && r.expandable) {
			out[last].hi = r.hi
			continue
		}
		out = append(out, r)
	}
	return out
}

// A skipper finds the next of a row of places that is not taken.
type skipper []int32

func newSkipper(n int) skipper {
	s := make(skipper, n+1)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

func (s skipper) from(i int) int {
	for int(s[i]) != i {
		s[i] = s[s[i]]
		i = int(s[i])
	}
	return i
}

func (s skipper) take(i int) { s[i] = int32(i + 1) }
