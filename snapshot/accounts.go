package snapshot

import "math"

// Stats are the accounts of a device at the moment of the dump, in bytes,
// worked out from segments and blocks alone: they need no history. Reserved,
// Allocated, Active, Requested and InactiveSplit equal the *.all.current
// numbers of torch.cuda.memory_stats().
type Stats struct {
	Reserved  int64 // held from the device: Σ total size of the segments
	Allocated int64 // held by tensors, rounded: Σ size of the Allocated blocks
	Active    int64 // Allocated plus PendingFree
	Requested int64 // what the program asked for: Σ requested size of the blocks not Inactive

	// Free memory by what can be done with it; the three add up to all
	// inactive bytes. The allocator leaves expandable segments out of its own
	// inactive_split statistic because their free pages can be unmapped.
	InactiveSplit  int64 // free parts of ordinary segments that are also in use elsewhere: empty_cache cannot return them
	Releasable     int64 // ordinary segments that are wholly free: empty_cache returns them
	ExpandableFree int64 // free parts of expandable segments

	PendingFree      int64 // freed by the program, still in use by a stream; part of Active
	RoundingWaste    int64 // size − requested of the Allocated blocks that say what was requested
	LargestFreeBlock int64 // the largest Inactive block

	Segments, Blocks, Events int // how many the snapshot holds
}

// Stats sums the segments and blocks. Sums that would exceed an int64 stay at
// its maximum and negative sizes count as 0: both occur only in damaged files.
func (d *Device) Stats() Stats {
	s := Stats{Segments: len(d.Segments), Blocks: len(d.Blocks), Events: len(d.Events)}
	for i := range d.Segments {
		seg := &d.Segments[i]
		s.Reserved = addBytes(s.Reserved, seg.Total)
		blocks := d.SegmentBlocks(i)
		for j := range blocks {
			if b := &blocks[j]; b.State == Inactive {
				s.addFree(b.Size, seg.Expandable, len(blocks) > 1)
			} else {
				s.addActive(b)
			}
		}
	}
	return s
}

func (s *Stats) addActive(b *Block) {
	s.Active = addBytes(s.Active, b.Size)
	s.Requested = addBytes(s.Requested, b.Requested)
	if b.State == PendingFree {
		s.PendingFree = addBytes(s.PendingFree, b.Size)
		return
	}
	s.Allocated = addBytes(s.Allocated, b.Size)
	// The allocator never makes a block for a request of 0 bytes, so 0 means
	// that the file is older than requested_size; all of it would look wasted.
	if b.Requested > 0 && b.Size > b.Requested {
		s.RoundingWaste = addBytes(s.RoundingWaste, b.Size-b.Requested)
	}
}

func (s *Stats) addFree(size int64, expandable, split bool) {
	s.LargestFreeBlock = max(s.LargestFreeBlock, size)
	switch {
	case expandable:
		s.ExpandableFree = addBytes(s.ExpandableFree, size)
	case split:
		s.InactiveSplit = addBytes(s.InactiveSplit, size)
	default:
		s.Releasable = addBytes(s.Releasable, size)
	}
}

// addBytes returns sum + n, taking a negative n as 0 and stopping at the
// largest int64. sum must not be negative.
func addBytes(sum, n int64) int64 {
	if n <= 0 {
		return sum
	}
	if sum > math.MaxInt64-n {
		return math.MaxInt64
	}
	return sum + n
}
