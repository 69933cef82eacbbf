package allocator

import "math/bits"

// Sizes that the allocator works with, in bytes (constants at the top of
// CUDACachingAllocator.cpp, from 2.10 in c10/core/AllocatorConfig.h).
const (
	kib = int64(1) << 10
	mib = int64(1) << 20

	minBlock     = 512     // kMinBlockSize: every block is a multiple of it
	smallSize    = mib     // kSmallSize: largest rounded size served by the small pool
	smallSegment = 2 * mib // kSmallBuffer
	largeSegment = 20 * mib
	roundLarge   = 2 * mib // kRoundLarge
)

// sizeLimit bounds requests, so that sums of a hostile file cannot overflow.
const sizeLimit = int64(1) << 52

// roundupSlots is kRoundUpPowerOfTwoIntervals: one slot per power of two from
// 1 MiB up.
const roundupSlots = 16

// Round returns the size of the block that a request of n bytes asks for
// (round_size).
func (s *Settings) Round(n int64) int64 {
	n = min(n, sizeLimit)
	if n < minBlock {
		return minBlock
	}
	if d := s.Roundup[roundupSlot(n)]; d > 1 && n > minBlock*d {
		return roundToDivision(n, d)
	}
	return roundUp(n, minBlock)
}

// roundupSlot is the slot of a size (AllocatorConfig::roundup_power2_divisions).
func roundupSlot(n int64) int {
	return min(max(bits.Len64(uint64(n))-bits.Len64(uint64(mib)), 0), roundupSlots-1)
}

// roundToDivision divides the space between two powers of two into d parts, d a
// power of two, and rounds up to the next (roundup_power2_next_division).
func roundToDivision(n, d int64) int64 {
	floor := int64(1) << (bits.Len64(uint64(n)) - 1)
	if n == floor {
		return n
	}
	step := floor >> (bits.Len64(uint64(d)) - 1)
	if step == 0 {
		return floor << 1
	}
	return roundUp(n, step)
}

// SegmentSize returns the size of the segment that is asked from the device for
// a block of the given rounded size (get_allocation_size).
func (s *Settings) SegmentSize(size int64) int64 {
	switch {
	case size <= smallSize:
		return smallSegment
	case size < s.LargeSegment/2:
		return s.LargeSegment
	}
	return roundUp(size, roundLarge)
}

// page returns the unit in which expandable segments are mapped
// (find_expandable_block).
func (s *Settings) page(small bool) int64 {
	if small {
		return smallSegment
	}
	return s.LargeSegment
}

// splits reports whether a block that is remainder bytes larger than the
// request of the given rounded size is cut (should_split).
func (s *Settings) splits(size, remainder int64, small bool) bool {
	if small || s.Expandable {
		return remainder >= minBlock
	}
	return size < s.maxSplit() && remainder > smallSize
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
