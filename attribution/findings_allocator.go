package attribution

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// workspaces finds scratch of cuBLAS that is larger than what the advised
// setting leaves, which is what PyTorch takes by itself before Hopper.
func workspaces(l *look) []Finding {
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		return l.category(i) == Workspace && a.Requested > workspaceEarlier
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "workspaces", Title: "cuBLAS workspaces", Confidence: l.confidence(held),
		Why: "PyTorch gives each cuBLAS handle one workspace per stream and keeps it: one for the main thread, one for the autograd thread. Smaller ones may make matrix products slower.",
		Do:  "Set CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8 (8.1 MiB each; :0:0 for none), or call torch._C._cuda_clearCublasWorkspaces() before the peak.",
	}, held)
	all := f.Bytes
	f.Bytes -= int64(len(held)) * workspaceEarlier
	f.Info = f.Confidence < leastSure
	f.Evidence = fmt.Sprintf("%s of %s, %s; the setting leaves %s of them.", count(len(held), "allocation"), units.Bytes(all), l.workspaceSigns(held), units.Bytes(all-f.Bytes))
	return []Finding{f}
}

// leastSure is the confidence below which a workspace is only worth knowing:
// its size alone speaks for it, and tensors can have that too.
const leastSure = .7

// workspaceSigns tells what speaks for workspaces.
func (l *look) workspaceSigns(held []int32) string {
	for _, i := range held {
		if l.allocation(i).Born < 0 {
			return "of the size of a cuBLAS workspace, made before the history"
		}
	}
	return "of the size and at the place of a cuBLAS workspace, made once and not freed"
}

// confidence is the lowest of the labels that a finding rests on.
func (l *look) confidence(held []int32) float32 {
	lowest := float32(1)
	for _, i := range held {
		lowest = min(lowest, l.Labels[i].Confidence)
	}
	return lowest
}

// graphPools finds memory of private pools that only CUDA graphs can use.
func graphPools(l *look) []Finding {
	var reserved, free int64
	pools := map[uint16]bool{}
	f := Finding{
		ID: "private_pools", Title: "Private pools hold memory that nothing else can use", Reserved: true, UpperBound: true, Confidence: .95,
		Why: "A CUDA graph replays into fixed addresses, so its pool keeps all it ever needed, and other allocations cannot use what is free there.",
		Do:  "Capture the largest graph first and let the others share its pool (pool=graph.pool()); drop graphs that are no longer replayed.",
	}
	d := l.Timeline.Device
	var most int64
	for i := range d.Segments {
		s := &d.Segments[i]
		if s.Pool == 0 {
			continue
		}
		reserved += s.Total
		pools[s.Pool] = true
		for _, b := range d.SegmentBlocks(i) {
			if b.State == snapshot.Inactive {
				free += b.Size
			}
		}
		if s.Total > most {
			most = s.Total
			l.at(&f, s.Stack)
		}
	}
	if reserved == 0 {
		return nil
	}
	f.Bytes = free
	f.Evidence = fmt.Sprintf("Segments of %s come to %s when dumped, and %s of that is free.", count(len(pools), "private pool"), units.Bytes(reserved), units.Bytes(free))
	return []Finding{f}
}

// pendingFrees finds memory that the program gave back and a stream still uses.
func pendingFrees(l *look) []Finding {
	held := l.where(func(_ int32, a *snapshot.Allocation) bool {
		return int(a.FreeRequested) <= l.moment.Event
	})
	atEnd := len(held) == 0
	if atEnd {
		for i := range l.Timeline.Allocations {
			if b := l.Timeline.Allocations[i].Block; b >= 0 && l.Timeline.Device.Blocks[b].State == snapshot.PendingFree {
				held = append(held, int32(i))
			}
		}
	}
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "pending_frees", Reserved: atEnd, Title: "Freed memory waits for a stream", UpperBound: true, Confidence: .95,
		Why: "A tensor marked with record_stream can be reused only when the work queued on that stream is done.",
		Do:  "Let the consuming stream wait (event.wait) and free the tensor there, or limit how far that stream runs ahead, instead of record_stream.",
	}, held)
	when := "at the peak"
	if atEnd {
		when = "when dumped"
	}
	f.Evidence = fmt.Sprintf("%s had been given back by the program and could not be used again %s.", count(len(held), "block"), when)
	return []Finding{f}
}

// roundingWaste tells what rounding costs at the end, from a fiftieth of what
// is allocated.
func roundingWaste(l *look) []Finding {
	if l.stats.RoundingWaste*50 < l.stats.Allocated {
		return nil
	}
	f := Finding{
		ID: "rounding", Title: "Rounding of block sizes", Reserved: true, UpperBound: true, Confidence: 1, Bytes: l.stats.RoundingWaste,
	}
	f.Why, f.Do = l.roundingCause()
	var most int64
	for i := range l.Timeline.Device.Blocks {
		if b := &l.Timeline.Device.Blocks[i]; b.State == snapshot.Allocated && b.Size-b.Requested > most {
			most = b.Size - b.Requested
			l.at(&f, b.Stack)
		}
	}
	f.Evidence = fmt.Sprintf("%s are allocated for %s requested, when dumped.", units.Bytes(l.stats.Allocated), units.Bytes(l.stats.Allocated-l.stats.RoundingWaste))
	return []Finding{f}
}

// roundingCause tells which of three ways to lose memory to block sizes applies
// most, and what to do about it. Without roundup_power2_divisions a tail of 512
// bytes or more is the rest of a block that was not split: the allocator keeps
// rests of up to 1 MiB with a block of more than 1 MiB, and larger ones above
// max_split_size.
func (l *look) roundingCause() (why, do string) {
	divisions := false
	for _, slot := range l.Snapshot.Settings.RoundupPower2Divisions {
		divisions = divisions || slot.Divisions > 1
	}
	var small, tails int64
	for i := range l.Timeline.Device.Blocks {
		switch b := &l.Timeline.Device.Blocks[i]; {
		case b.State != snapshot.Allocated || b.Size <= b.Requested:
		case b.Size-b.Requested < 512:
			small += b.Size - b.Requested
		default:
			tails += b.Size - b.Requested
		}
	}
	switch {
	case small >= tails:
		return "Every block is a multiple of 512 bytes, which many small tensors do not fill.", "Batch many small tensors into one."
	case divisions:
		return "roundup_power2_divisions rounds requests up to a part of a power of two.", "Choose more divisions for these sizes in roundup_power2_divisions, or leave it out."
	}
	do = "Batch tensors of 1 to 10 MiB into larger ones."
	if !l.Snapshot.Settings.ExpandableSegments {
		do = "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which splits off every rest of 512 bytes or more, or batch tensors of 1 to 10 MiB into larger ones."
	}
	return "The rest of a large block is not split off when it is no more than 1 MiB, or when the block is larger than max_split_size_mb.", do
}

// splitGaps finds fragmentation: free blocks between used ones. From a tenth of
// what is reserved it is something to change, below that, down to a fiftieth,
// worth knowing. Each is charged to the used blocks beside it, which keep
// its segment from being returned.
func splitGaps(l *look) []Finding {
	if l.stats.InactiveSplit*50 < l.stats.Reserved || l.stats.InactiveSplit == 0 {
		return nil
	}
	f := Finding{
		ID: "split_gaps", Title: "Free memory is stuck between used blocks", Reserved: true, UpperBound: true, Confidence: .95, Bytes: l.stats.InactiveSplit,
		Info: l.stats.InactiveSplit*10 < l.stats.Reserved,
		Why:  "Gaps serve only requests that fit them, and empty_cache() cannot return a segment while one block in it is used.",
		Do:   "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; where that is not possible, free what the named line keeps, or allocate it first.",
	}
	id, pinned := l.pinner()
	l.at(&f, id)
	whose := "this line"
	if f.File == "" {
		whose = "no known line"
		f.Do = "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
	}
	f.Evidence = fmt.Sprintf("%s of %s reserved are inactive split blocks when dumped; blocks of %s lie beside %s of them.",
		units.Bytes(l.stats.InactiveSplit), units.Bytes(l.stats.Reserved), whose, units.Bytes(pinned))
	return []Finding{f}
}

// pinner returns a stack of the line that has most free bytes beside its
// blocks, and these bytes. Memory without a line of Python counts only where no
// other lies beside a gap: nobody could act on it.
func (l *look) pinner() (snapshot.StackID, int64) {
	d := l.Timeline.Device
	beside := map[snapshot.FrameID]int64{}
	var best snapshot.StackID
	var most int64
	python := false // of best
	add := func(b *snapshot.Block, free int64) {
		p, x := ^snapshot.FrameID(0), l.stack(b.Stack) // memory without a line
		if x.place {
			p = x.line
		}
		beside[p] += free
		if x.python && !python || x.python == python && beside[p] > most {
			most, best, python = beside[p], b.Stack, x.python
		}
	}
	for i := range d.Segments {
		if d.Segments[i].Expandable {
			continue
		}
		blocks := d.SegmentBlocks(i)
		for j := range blocks {
			if blocks[j].State != snapshot.Inactive {
				continue
			}
			before, after := j > 0, j+1 < len(blocks)
			if before {
				add(&blocks[j-1], blocks[j].Size)
			}
			if after && !(before && *l.stack(blocks[j-1].Stack) == *l.stack(blocks[j+1].Stack)) {
				add(&blocks[j+1], blocks[j].Size)
			}
		}
	}
	return best, most
}
