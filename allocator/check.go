package allocator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// finish compares the end of the replay with the dump and closes the accounts.
func (x *exact) finish() {
	x.Stats = x.m.Stats
	x.Pressure.Low = x.m.PeakReserved
	x.lane = make([]laneKey, len(x.laneOf))
	for a, lane := range x.laneOf {
		if len(x.m.lanes) > 0 {
			x.lane[a] = x.m.lanes[lane].laneKey
		}
	}
	x.Check.Difference = distance(x.PeakReserved, x.Timeline.PeakReserved.Bytes)
	if !x.Timeline.OpenEnd {
		x.compareEnd()
	}
	x.Check.Exact = x.Check.Divergences == 0 && x.Check.Difference == 0 && !x.Timeline.OpenEnd
	if x.Timeline.OpenEnd && x.Check.Reason == "" {
		x.Check.Reason = "later events are missing"
	}
	if !x.Check.Exact && x.Check.Reason == "" {
		x.Check.Reason = "the peak of reserved bytes differs from that of the segment events"
	}
}

// An endBlock is a block as the dump shows it.
type endBlock struct {
	addr  uint64
	size  int64
	state snapshot.BlockState
	first bool // of a contiguous range
}

// compareEnd adds the blocks that differ to the difference.
func (x *exact) compareEnd() {
	have, want := x.modelBlocks(), x.dumpBlocks()
	i, j := 0, 0
	for i < len(have) || j < len(want) {
		switch {
		case j == len(want) || i < len(have) && have[i].addr < want[j].addr:
			x.differs("the model ends with a block of %d bytes at %#x that the dump does not have", have[i])
			i++
		case i == len(have) || want[j].addr < have[i].addr:
			x.differs("the dump has a block of %d bytes at %#x that the model does not have", want[j])
			j++
		default:
			if have[i] != want[j] {
				x.differs("the dump has a block of %d bytes at %#x that ends otherwise in the model", want[j])
			}
			i, j = i+1, j+1
		}
	}
}

func (x *exact) differs(format string, b endBlock) {
	x.Check.Difference += b.size
	if x.Check.Reason == "" {
		x.Check.Reason = fmt.Sprintf(format, b.size, b.addr)
	}
}

func (x *exact) dumpBlocks() []endBlock {
	var out []endBlock
	for i := range x.device.Segments {
		for n, b := range x.device.SegmentBlocks(i) {
			out = append(out, endBlock{b.Addr, b.Size, b.State, n == 0})
		}
	}
	slices.SortFunc(out, byAddress)
	return out
}

func (x *exact) modelBlocks() []endBlock {
	var out []endBlock
	for s := range x.m.segments {
		gap := true
		for b := x.m.segments[s].head; b != 0; b = x.m.blocks[b].next {
			k := &x.m.blocks[b]
			if !k.unmapped {
				out = append(out, endBlock{k.addr, k.size, stateOf(k.state), gap})
			}
			gap = k.unmapped
		}
	}
	slices.SortFunc(out, byAddress)
	return out
}

func byAddress(a, b endBlock) int { return cmp.Compare(a.addr, b.addr) }

func stateOf(s blockState) snapshot.BlockState {
	switch s {
	case held:
		return snapshot.Allocated
	case pending:
		return snapshot.PendingFree
	}
	return snapshot.Inactive
}

func distance(a, b int64) int64 { return max(a, b) - min(a, b) }
