package allocator

import (
	"cmp"
	"slices"
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// poolHints tell which pool a segment belongs to. Events say it from PyTorch 2.12
// on; before, only the segments of the dump do, and a segment of a private pool
// that was freed earlier counts as one of the default pool.
type poolHints struct {
	private []privateSegment
	byEvent bool               // events name pools
	streams map[uint16][]int32 // lanes of each stream, the default pool's first
}

type privateSegment struct {
	addr, end uint64
	pool      uint16
	opened    int // event of its segment_alloc, −1 when not in the history
}

func newPoolHints(s *snapshot.Snapshot, d *snapshot.Device) poolHints {
	h := poolHints{streams: map[uint16][]int32{}}
	if len(s.Pools) < 2 {
		return h
	}
	for i := range d.Segments {
		if seg := &d.Segments[i]; seg.Pool != 0 {
			h.private = append(h.private, privateSegment{seg.Addr, seg.Addr + uint64(seg.Total), seg.Pool, -1})
		}
	}
	slices.SortFunc(h.private, func(a, b privateSegment) int { return cmp.Compare(a.addr, b.addr) })
	for i := range d.Events {
		e := &d.Events[i]
		h.byEvent = h.byEvent || e.Pool != 0
		if e.Action != snapshot.SegmentAlloc {
			continue
		}
		if p := h.at(e.Addr); p != nil && p.addr == e.Addr {
			p.opened = i
		}
	}
	return h
}

// at returns the private segment of the dump that holds an address.
func (h *poolHints) at(addr uint64) *privateSegment {
	i := sort.Search(len(h.private), func(i int) bool { return h.private[i].end > addr })
	if i < len(h.private) && h.private[i].addr <= addr {
		return &h.private[i]
	}
	return nil
}

// of returns the pool of a segment event.
func (h *poolHints) of(event int, e *snapshot.Event) uint16 {
	if h.byEvent || len(h.private) == 0 {
		return e.Pool
	}
	if p := h.at(e.Addr); p != nil && event >= p.opened {
		return p.pool
	}
	return 0
}

func (h *poolHints) add(stream uint16, lane int32) {
	h.streams[stream] = append(h.streams[stream], lane)
}

// others returns the lanes besides its own that may serve a request on a stream.
func (h *poolHints) others(stream uint16) []int32 {
	if h.byEvent || len(h.private) == 0 {
		return nil
	}
	return h.streams[stream]
}
