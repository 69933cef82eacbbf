package main

import (
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/snapshot"
)

// blockPeaks are peaks in block sizes, which the history does not record: they
// are those of a replay that came out as recorded.
type blockPeaks struct{ allocated, active int64 }

// findBlockPeaks replays the history; nil when that does not reproduce it, or
// when there is not enough of it to tell.
func findBlockPeaks(s *snapshot.Snapshot, t *snapshot.Timeline) *blockPeaks {
	if !hasHistory(t) || t.OpenEnd || t.Unreconciled != 0 || t.UnreconciledReserved != 0 {
		return nil
	}
	r := allocator.Exact(s, t)
	if !r.Check.Exact {
		return nil
	}
	return &blockPeaks{r.PeakAllocated, r.PeakActive}
}
