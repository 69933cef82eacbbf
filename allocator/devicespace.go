package allocator

import (
	"cmp"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A deviceSpace hands out addresses as the driver does. They matter because of
// two free blocks of one size the lower one is taken. What real histories show
// (the driver documents nothing): address space is taken in aligned units of
// 32 MiB, each new one below the last; a segment goes to the lowest gap of a unit
// that it fits into. Other libraries take units as well, of which a history shows
// only the gaps that segments went into: such a gap counts as there from the
// event on at which the recorded run used it.
type deviceSpace struct {
	gaps    []gap           // seen in the history, by event
	now     int32           // event that the replay is at
	opened  int             // gaps that are part of free
	free    []span          // by address
	low     uint64          // below the last unit
	units   map[uint64]bool // starts of units, across which free ranges do not merge
	foreign []span          // units in which gaps lie, by address
}

type gap struct {
	span
	event int32
}

const (
	deviceUnit = 32 * mib
	maxGaps    = 1 << 12 // how many gaps are kept and searched
)

func newDeviceSpace(events []snapshot.Event) *deviceSpace {
	s := &deviceSpace{low: 1 << 46, units: map[uint64]bool{}}
	var known freeList // ranges seen, by address; the block is an index into ranges
	var ranges []span
	lowest := uint64(0) // of the units that the record opened, 0 for none
	for i := range events {
		e := &events[i]
		if e.Action != snapshot.SegmentAlloc || e.Size <= 0 || e.Size > sizeLimit || e.Addr > 1<<62 {
			continue
		}
		end := unitEnd(e.Addr + uint64(e.Size))
		if k := known.before(known.seek(0, e.Addr+1)); k != 0 && e.Addr-ranges[k-1].addr < uint64(ranges[k-1].size) {
			continue
		}
		if k := known.at(known.seek(0, e.Addr)); k != 0 {
			end = min(end, ranges[k-1].addr)
		}
		ranges = append(ranges, span{e.Addr, int64(end - e.Addr)})
		known.insert(freeKey{0, e.Addr, int32(len(ranges))})
		switch {
		case e.Addr%uint64(deviceUnit) != 0 || lowest != 0 && e.Addr > lowest:
			s.addGap(span{e.Addr, int64(end - e.Addr)}, int32(i))
		case lowest == 0:
			s.low, lowest = end, e.Addr
		default:
			lowest = e.Addr
		}
	}
	slices.SortFunc(s.foreign, func(a, b span) int { return cmp.Compare(a.addr, b.addr) })
	return s
}

func (s *deviceSpace) addGap(g span, event int32) {
	if len(s.gaps) == maxGaps {
		return
	}
	s.gaps = append(s.gaps, gap{g, event})
	base := g.addr / uint64(deviceUnit) * uint64(deviceUnit)
	s.foreign = append(s.foreign, span{base, int64(unitEnd(g.addr+uint64(g.size)) - base)})
}

func unitEnd(addr uint64) uint64 {
	return (addr + uint64(deviceUnit) - 1) / uint64(deviceUnit) * uint64(deviceUnit)
}

// take returns the address of a new segment.
func (s *deviceSpace) take(size int64) uint64 {
	for s.opened < len(s.gaps) && s.gaps[s.opened].event <= s.now {
		s.give(s.gaps[s.opened].span)
		s.opened++
	}
	for i := range s.free {
		if f := s.free[i]; f.size >= size {
			s.free[i] = span{f.addr + uint64(size), f.size - size}
			if f.size == size {
				s.free = slices.Delete(s.free, i, i+1)
			}
			return f.addr
		}
	}
	return s.unit(size)
}

// unit opens new units for a segment, below all others and beside those that
// belong to somebody else.
func (s *deviceSpace) unit(size int64) uint64 {
	need := roundUp(size, deviceUnit)
	base := s.low - uint64(need)
	for i := len(s.foreign) - 1; i >= 0; i-- {
		if f := s.foreign[i]; f.addr < base+uint64(need) && base < f.addr+uint64(f.size) {
			base = f.addr - uint64(need)
		}
	}
	s.low = base
	s.units[base] = true
	if rest := need - size; rest > 0 {
		s.give(span{base + uint64(size), rest})
	}
	return base
}

// give makes a range free again.
func (s *deviceSpace) give(r span) {
	i, _ := slices.BinarySearchFunc(s.free, r.addr, func(f span, addr uint64) int { return cmp.Compare(f.addr, addr) })
	if end := r.addr + uint64(r.size); i < len(s.free) && s.free[i].addr == end && !s.units[end] {
		r.size += s.free[i].size
		s.free = slices.Delete(s.free, i, i+1)
	}
	if i > 0 && s.free[i-1].addr+uint64(s.free[i-1].size) == r.addr && !s.units[r.addr] {
		s.free[i-1].size += r.size
		return
	}
	if len(s.free) < maxGaps {
		s.free = slices.Insert(s.free, i, r)
	}
}
