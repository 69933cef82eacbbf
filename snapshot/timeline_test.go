package snapshot

import (
	"errors"
	"math"
	"testing"
)

// life is what tests compare of an allocation.
type life struct {
	addr                     uint64
	requested, size          int64
	born, freeRequest, freed int32
	stack                    StackID
	block                    int32
}

func lives(tl *Timeline) []life {
	var out []life
	for _, a := range tl.Allocations {
		out = append(out, life{a.Addr, a.Requested, a.Size, a.Born, a.FreeRequested, a.Freed, a.Stack, a.Block})
	}
	return out
}

func TestTimeline(t *testing.T) {
	const never = AliveAtEnd
	type want struct {
		history                     HistoryState
		lives                       []life
		baseRequested, baseReserved int64
		unreconciled                int64
		peak, peakReserved          int64
		peakEvent                   int
		openEnd                     bool
	}
	tests := []struct {
		name  string
		build func(h *handmade)
		want  want
	}{
		{"nothing at all", func(*handmade) {}, want{peakEvent: -1}},
		{"complete", func(h *handmade) {
			s := h.py(1)
			h.event(SegmentAlloc, 0x1000, 1024, s)
			h.event(Alloc, 0x1000, 500, s)
			h.event(Alloc, 0x1200, 100, s)
			h.event(FreeRequested, 0x1000, 500, s)
			h.event(FreeCompleted, 0x1000, 500, s)
			h.segment(0x1000, false, Block{Size: 512}, Block{Size: 512, Requested: 100, State: Allocated, Stack: s})
		}, want{history: HistoryComplete, peak: 600, peakReserved: 1024, peakEvent: 2, lives: []life{
			{0x1000, 500, 0, 1, 3, 4, 1, -1}, {0x1200, 100, 512, 2, never, never, 1, 1}}}},
		{"peak is the first event that reaches it", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 1024, 0)
			for range 3 {
				h.event(Alloc, 0x1000, 500, 0)
				h.event(FreeCompleted, 0x1000, 500, 0)
			}
			h.segment(0x1000, false, Block{Size: 1024})
		}, want{history: HistoryComplete, peak: 500, peakReserved: 1024, peakEvent: 1, lives: []life{
			{0x1000, 500, 0, 1, never, 2, 0, -1}, {0x1000, 500, 0, 3, never, 4, 0, -1}, {0x1000, 500, 0, 5, never, 6, 0, -1}}}},
		{"free of unknown memory is older, its stack unknown", func(h *handmade) {
			h.event(FreeRequested, 0x1000, 500, h.py(1))
			h.event(FreeCompleted, 0x1000, 500, h.py(1))
			h.event(Alloc, 0x1000, 100, h.py(2))
			h.segment(0x1000, false, Block{Size: 512, Requested: 100, State: Allocated})
		}, want{history: HistoryTruncated, baseRequested: 500, baseReserved: 512, peak: 500, peakReserved: 512, peakEvent: -1, lives: []life{
			{0x1000, 500, 0, -1, 0, 1, NoStack, -1}, {0x1000, 100, 512, 2, never, never, 3, 0}}}},
		{"block without an alloc event is older, with the block's stack", func(h *handmade) {
			s := h.py(1)
			h.event(Alloc, 0x2000, 10, s)
			h.event(FreeCompleted, 0x2000, 10, s)
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated, Stack: s}, Block{Size: 4096})
		}, want{history: HistoryTruncated, baseRequested: 300, baseReserved: 4608, peak: 310, peakReserved: 4608, lives: []life{
			{0x1000, 300, 512, -1, never, never, 1, 0}, {0x2000, 10, 0, 0, never, 1, 1, -1}}}},
		{"pending free is live", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.event(FreeRequested, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: PendingFree, Stack: h.py(4)})
		}, want{history: HistoryComplete, peak: 300, peakReserved: 512, peakEvent: 1, lives: []life{{0x1000, 300, 512, 1, 2, never, 1, 0}}}},
		{"free of older memory requested only", func(h *handmade) {
			h.event(FreeRequested, 0x1000, 300, h.py(9))
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: PendingFree, Stack: h.py(4)})
		}, want{history: HistoryStateOnly, baseRequested: 300, baseReserved: 512, peak: 300, peakReserved: 512, peakEvent: -1,
			lives: []life{{0x1000, 300, 512, -1, 0, never, 2, 0}}}},
		{"lost free", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.event(Alloc, 0x1000, 200, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 200, State: Allocated})
		}, want{history: HistoryInconsistent, unreconciled: 300, peak: 300, peakReserved: 512, peakEvent: 1,
			lives: []life{{0x1000, 300, 0, 1, never, 2, 0, -1}, {0x1000, 200, 512, 2, never, never, 0, 0}}}},
		{"allocation without a block ends at the last event", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.event(SnapshotMark, 0, 0, 0)
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryInconsistent, unreconciled: 300, peak: 300, peakReserved: 512, peakEvent: 1,
			lives: []life{{0x1000, 300, 0, 1, never, 2, 0, -1}}}},
		{"a peak that does not reconcile is none", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryInconsistent, unreconciled: 300, peakReserved: 512, peakEvent: -1,
			lives: []life{{0x1000, 300, 0, 1, never, 1, 0, -1}}}},
		{"block at an address that the history freed is born at the last event", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.event(FreeCompleted, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 400, State: Allocated})
		}, want{history: HistoryInconsistent, unreconciled: 400, peak: 400, peakReserved: 512, peakEvent: 2,
			lives: []life{{0x1000, 300, 0, 1, never, 2, 0, -1}, {0x1000, 400, 512, 2, never, never, 0, 0}}}},
		{"request of another size", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 310, State: Allocated})
		}, want{history: HistoryInconsistent, unreconciled: 10, peak: 310, peakReserved: 512, peakEvent: 1,
			lives: []life{{0x1000, 310, 512, 1, never, never, 0, 0}}}},
		{"overflowed ring is truncated although nothing older lives", func(h *handmade) {
			h.dev.Overflowed = true
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.event(FreeCompleted, 0x1000, 300, 0)
			h.event(SegmentFree, 0x1000, 512, 0)
		}, want{history: HistoryTruncated, peak: 300, peakReserved: 512, peakEvent: 1, lives: []life{{0x1000, 300, 0, 1, never, 2, 0, -1}}}},
		{"more requested than reserved", func(h *handmade) {
			h.event(Alloc, 0x1000, 300, 0)
			h.event(FreeCompleted, 0x1000, 300, 0)
		}, want{history: HistoryInconsistent, unreconciled: 300, peak: 300, lives: []life{{0x1000, 300, 0, 0, never, 1, 0, -1}}}},
		{"freed twice in a segment of the history", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			for range 2 {
				h.event(FreeRequested, 0x1000, 300, 0)
				h.event(FreeCompleted, 0x1000, 300, 0)
			}
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryInconsistent, unreconciled: 300, peak: 300, peakReserved: 512, peakEvent: 1,
			lives: []life{{0x1000, 300, 0, 1, 2, 3, 0, -1}}}},
		{"a spurious request to free is forgotten by the next alloc", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(FreeRequested, 0x1000, 70, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated})
		}, want{history: HistoryInconsistent, unreconciled: 70, peak: 300, peakReserved: 512, peakEvent: 2,
			lives: []life{{0x1000, 300, 512, 2, never, never, 0, 0}}}},
		{"a spurious request to free beside a block", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(FreeRequested, 0x1000, 70, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: PendingFree})
		}, want{history: HistoryInconsistent, unreconciled: 370, peak: 300, peakReserved: 512, peakEvent: 1,
			lives: []life{{0x1000, 300, 512, 1, never, never, 0, 0}}}},
		{"freed twice in an older segment", func(h *handmade) {
			h.event(Alloc, 0x1000, 300, 0)
			for range 2 {
				h.event(FreeCompleted, 0x1000, 300, 0)
			}
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryInconsistent, baseRequested: 300, baseReserved: 512, unreconciled: 388, peak: 600, peakReserved: 512, peakEvent: 0,
			lives: []life{{0x1000, 300, 0, -1, never, 2, 0, -1}, {0x1000, 300, 0, 0, never, 1, 0, -1}}}},
		{"older memory freed twice", func(h *handmade) {
			for range 2 {
				h.event(FreeCompleted, 0x1000, 200, 0)
			}
			h.event(Alloc, 0x1000, 1, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 1, State: Allocated})
		}, want{history: HistoryInconsistent, baseRequested: 400, baseReserved: 512, unreconciled: 200, peak: 400, peakReserved: 512, peakEvent: -1,
			lives: []life{{0x1000, 200, 0, -1, never, 0, 0, -1}, {0x1000, 200, 0, -1, never, 1, 0, -1}, {0x1000, 1, 512, 2, never, never, 0, 0}}}},
		{"block without an alloc in a segment of the history", func(h *handmade) {
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated})
		}, want{history: HistoryInconsistent, unreconciled: 300, peak: 300, peakReserved: 512, peakEvent: 0,
			lives: []life{{0x1000, 300, 512, 0, never, never, 0, 0}}}},
		{"older cache alone makes it truncated", func(h *handmade) {
			h.event(SnapshotMark, 0, 0, 0)
			h.event(SegmentFree, 0x9000, 2048, h.py(1))
			h.event(Alloc, 0x1000, 1, 0)
			h.event(FreeCompleted, 0x1000, 1, 0)
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryTruncated, baseReserved: 2560, peak: 1, peakReserved: 2560, peakEvent: 2, lives: []life{{0x1000, 1, 0, 2, never, 3, 0, -1}}}},
		{"expandable pages", func(h *handmade) {
			h.event(SegmentMap, 0x1000, 2048, 0)
			h.event(SegmentMap, 0x1800, 2048, 0)
			h.event(SegmentUnmap, 0x1000, 2048, 0)
			h.segment(0x1800, true, Block{Size: 2048})
		}, want{history: HistoryComplete, peakReserved: 4096, peakEvent: -1}},
		{"no history, no stacks", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated})
		}, want{history: HistoryNone, baseRequested: 300, baseReserved: 512, peak: 300, peakReserved: 512, peakEvent: -1,
			lives: []life{{0x1000, 300, 512, -1, never, never, 0, 0}}}},
		{"state only", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated, Stack: h.py(1)})
		}, want{history: HistoryStateOnly, baseRequested: 300, baseReserved: 512, peak: 300, peakReserved: 512, peakEvent: -1,
			lives: []life{{0x1000, 300, 512, -1, never, never, 1, 0}}}},
		{"marks only, no memory", func(h *handmade) { h.event(SnapshotMark, 0, 0, 0) }, want{history: HistoryComplete, peakEvent: -1}},
		{"marks only, with memory", func(h *handmade) {
			h.event(SnapshotMark, 0, 0, 0)
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryNone, baseReserved: 512, peakReserved: 512, peakEvent: -1}},
		{"end missing: blocks are no anchor", func(h *handmade) {
			h.Partial = errors.New("unexpected end of file")
			h.event(SegmentAlloc, 0x1000, 1024, 0)
			h.event(Alloc, 0x1000, 500, 0)
			h.segment(0x1000, false, Block{Size: 512}, Block{Size: 512, Requested: 400, State: Allocated})
			h.segment(0x9000, false, Block{Size: 4096, Requested: 4000, State: Allocated})
		}, want{history: HistoryTruncated, openEnd: true, peak: 500, peakReserved: 1024, peakEvent: 1,
			lives: []life{{0x1000, 500, 0, 1, never, never, 0, -1}}}},
		{"end missing, beginning too", func(h *handmade) {
			h.Partial = errors.New("unexpected end of file")
			h.event(SegmentFree, 0x9000, 64, 0)
			h.event(FreeCompleted, 0x1000, 300, 0)
			h.event(Alloc, 0x1000, 500, 0)
		}, want{history: HistoryTruncated, openEnd: true, baseRequested: 300, baseReserved: 564, peak: 500, peakReserved: 564, peakEvent: 2,
			lives: []life{{0x1000, 300, 0, -1, never, 1, 0, -1}, {0x1000, 500, 0, 2, never, never, 0, -1}}}},
		{"broken after the events", func(h *handmade) {
			h.Partial, h.Settings.Present = errors.New("unexpected end of file"), true
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated})
		}, want{history: HistoryTruncated, peak: 300, peakReserved: 512, peakEvent: 1, lives: []life{{0x1000, 300, 512, 1, never, never, 0, 0}}}},
		{"seems broken after the events, but does not reconcile", func(h *handmade) {
			h.Partial, h.Settings.Present = errors.New("unexpected end of file"), true
			h.event(SegmentAlloc, 0x1000, 512, 0)
			h.event(Alloc, 0x1000, 300, 0)
			h.segment(0x1000, false, Block{Size: 512})
		}, want{history: HistoryTruncated, openEnd: true, peak: 300, peakReserved: 512, peakEvent: 1, lives: []life{{0x1000, 300, 0, 1, never, never, 0, -1}}}},
		{"broken before the events", func(h *handmade) {
			h.Partial = errors.New("unexpected end of file")
			h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated})
		}, want{history: HistoryNone, baseRequested: 300, baseReserved: 512, peak: 300, peakReserved: 512, peakEvent: -1,
			lives: []life{{0x1000, 300, 512, -1, never, never, 0, 0}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandmade()
			tt.build(h)
			tl := h.timeline()
			checkTimeline(t, tl)
			w := tt.want
			if tl.History != w.history || tl.OpenEnd != w.openEnd {
				t.Errorf("history %v, open end %v; want %v, %v", tl.History, tl.OpenEnd, w.history, w.openEnd)
			}
			if got := lives(tl); !equalLives(got, w.lives) {
				t.Errorf("allocations\n got %+v\nwant %+v", got, w.lives)
			}
			if tl.BaselineRequested != w.baseRequested || tl.BaselineReserved != w.baseReserved || tl.Unreconciled != w.unreconciled {
				t.Errorf("baselines %d, %d, unreconciled %d; want %d, %d, %d", tl.BaselineRequested, tl.BaselineReserved, tl.Unreconciled,
					w.baseRequested, w.baseReserved, w.unreconciled)
			}
			if tl.Peak.Bytes != w.peak || tl.PeakReserved.Bytes != w.peakReserved || tl.Peak.Event != w.peakEvent {
				t.Errorf("peaks %+v, %+v; want %d at %d, %d", tl.Peak, tl.PeakReserved, w.peak, w.peakEvent, w.peakReserved)
			}
			stats := h.dev.Stats()
			if tl.EndRequested != stats.Requested || tl.EndReserved != stats.Reserved {
				t.Errorf("ends %d, %d differ from the accounts", tl.EndRequested, tl.EndReserved)
			}
			if end := liveBytes(tl, tl.lastEvent()); !tl.OpenEnd && end != tl.EndRequested {
				t.Errorf("live at the end %d, want %d", end, tl.EndRequested)
			}
		})
	}
}

func equalLives(a, b []life) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// What an event leaves out is taken from the block and its segment.
func TestTimelineTakesFromBlock(t *testing.T) {
	h := newHandmade()
	h.event(Alloc, 0x1000, 300, NoStack)
	h.segment(0x1000, false, Block{Size: 512, Requested: 300, State: Allocated, Stack: h.py(3), Label: 7})
	h.dev.Segments[0].Pool = 5
	h.dev.Segments[0].Stream = 2
	h.segment(0x8000, false, Block{Size: 64, Requested: 60, State: Allocated})
	h.dev.Segments[1].Pool, h.dev.Segments[1].Stream = 1, 3
	a := h.timeline().Allocations
	if old := a[0]; old.Pool != 1 || old.Stream != 3 {
		t.Errorf("older memory is in pool %d, stream %d", old.Pool, old.Stream)
	}
	if b := a[1]; b.Stack != 1 || b.Label != 7 || b.Pool != 5 || b.Stream != 0 {
		t.Errorf("got stack %d label %d pool %d stream %d", b.Stack, b.Label, b.Pool, b.Stream)
	}
}

func TestTimelineKeepsLabelOfFree(t *testing.T) {
	h := newHandmade()
	h.event(FreeCompleted, 0x1000, 300, h.py(1))
	h.dev.Events[0].Label = 3
	if a := h.timeline().Allocations[0]; a.Label != 3 || a.Stack != NoStack {
		t.Errorf("got label %d, stack %d", a.Label, a.Stack)
	}
}

// Impossible reserved histories end away from the segments rather than below
// zero.
func TestReservedNeverNegative(t *testing.T) {
	h := newHandmade()
	h.event(SegmentFree, 0x1000, 100, 0)
	h.event(SegmentAlloc, 0x1000, 700, 0)
	h.segment(0x1000, false, Block{Size: 200})
	tl := h.timeline()
	checkTimeline(t, tl)
	if tl.BaselineReserved != 100 || tl.UnreconciledReserved != 500 {
		t.Errorf("baseline %d, unreconciled %d", tl.BaselineReserved, tl.UnreconciledReserved)
	}
}

func TestReservedByAddress(t *testing.T) {
	type step struct {
		action Action
		addr   uint64
		size   int64
	}
	const kib = 1024
	tests := []struct {
		name       string
		steps      []step
		segments   [][2]int64 // address, size
		expandable bool
		want       int64
	}{
		{"sound", []step{{SegmentAlloc, kib, kib}, {SegmentFree, kib, kib}, {SegmentAlloc, kib, 2 * kib}}, [][2]int64{{kib, 2 * kib}}, false, 0},
		{"older than the history", []step{{SegmentFree, kib, kib}, {SegmentAlloc, 9 * kib, kib}}, [][2]int64{{5 * kib, kib}, {9 * kib, kib}}, false, 0},
		{"pages", []step{{SegmentMap, kib, 4 * kib}, {SegmentUnmap, 2 * kib, kib}, {SegmentMap, 5 * kib, kib}},
			[][2]int64{{kib, kib}, {3 * kib, 3 * kib}}, true, 0},
		{"pages of which some are older", []step{{SegmentMap, 2 * kib, kib}, {SegmentUnmap, kib, 3 * kib}}, nil, true, 0},
		{"mapped twice", []step{{SegmentAlloc, kib, kib}, {SegmentAlloc, kib, kib}}, [][2]int64{{kib, kib}}, false, kib},
		{"overlapping", []step{{SegmentMap, kib, 2 * kib}, {SegmentMap, 2 * kib, 2 * kib}}, [][2]int64{{kib, 3 * kib}}, true, kib},
		{"freed twice", []step{{SegmentAlloc, kib, kib}, {SegmentFree, kib, kib}, {SegmentFree, kib, kib}}, nil, false, kib},
		{"freed too much", []step{{SegmentAlloc, kib, kib}, {SegmentFree, kib, kib}, {SegmentAlloc, 2 * kib, kib}, {SegmentFree, kib, 2 * kib}}, nil, false, kib},
		{"too large", []step{{SegmentAlloc, kib, 1 << 40}}, [][2]int64{{kib, kib}}, false, 1<<40 - kib},
		{"a size that ends nowhere", []step{{SegmentAlloc, 0, math.MaxInt64}}, [][2]int64{{0, kib}}, false, 1<<60 - kib},
		{"gone without an event", []step{{SegmentAlloc, kib, kib}}, nil, false, kib},
		{"back without an event", []step{{SegmentAlloc, kib, kib}, {SegmentFree, kib, kib}}, [][2]int64{{kib, kib}}, false, kib},
		{"elsewhere", []step{{SegmentAlloc, kib, kib}}, [][2]int64{{5 * kib, kib}}, false, kib},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandmade()
			for _, s := range tt.steps {
				h.event(s.action, s.addr, s.size, 0)
			}
			for _, s := range tt.segments {
				h.segment(uint64(s[0]), tt.expandable, Block{Size: s[1]})
			}
			tl := h.timeline()
			checkTimeline(t, tl)
			if tl.UnreconciledReserved != tt.want || tl.Unreconciled != 0 {
				t.Errorf("unreconciled %d reserved, %d requested; want %d, 0", tl.UnreconciledReserved, tl.Unreconciled, tt.want)
			}
			if (tl.History == HistoryInconsistent) != (tt.want != 0) {
				t.Errorf("history %v", tl.History)
			}
		})
	}
}

func TestHostileSizes(t *testing.T) {
	h := newHandmade()
	const huge = math.MaxInt64
	for i := range uint64(20) {
		h.event(SegmentAlloc, i, huge, 0)
		h.event(Alloc, i, huge, 0)
		h.event(FreeCompleted, 100+i, huge, 0)
		h.event(FreeRequested, 200+i, -5, 0)
		h.event(Alloc, 300+i, math.MinInt64, 0)
		h.event(SegmentUnmap, i, huge, 0)
		h.event(SegmentFree, i, math.MinInt64, 0)
		h.event(Action(200), i, huge, 0)
	}
	for range 4 {
		h.dev.Segments = append(h.dev.Segments, Segment{Addr: 1, Total: huge, FirstBlock: int32(len(h.dev.Blocks)), NumBlocks: 1})
		h.dev.Blocks = append(h.dev.Blocks, Block{Addr: 1, Size: huge, Requested: huge, State: Allocated, Segment: int32(len(h.dev.Segments) - 1)})
	}
	for _, partial := range []error{nil, errors.New("cut")} {
		h.Partial = partial
		tl := h.timeline()
		checkTimeline(t, tl)
		table := h.Fold(tl, mustMoment(t, tl, "peak"), ByLine)
		if table.Total != tl.Peak.Bytes {
			t.Errorf("fold %d, peak %d", table.Total, tl.Peak.Bytes)
		}
		if tl.Unreconciled <= 0 {
			t.Errorf("unreconciled %d", tl.Unreconciled)
		}
	}
}

func TestSeveralDevices(t *testing.T) {
	h := newHandmade()
	second := &Device{Index: 1}
	h.Devices = append(h.Devices, second)
	h.Host = &Device{}
	h.event(Alloc, 1, 10, 0)
	for _, d := range []*Device{second, h.Host} {
		tl := h.Timeline(d)
		checkTimeline(t, tl)
		if tl.History != HistoryNone || len(tl.Allocations) != 0 {
			t.Errorf("an idle device has %v history, %d allocations", tl.History, len(tl.Allocations))
		}
		if h.Fold(tl, mustMoment(t, tl, "start"), ByLine).Total != 0 || h.Flame(tl, mustMoment(t, tl, "end"), 10).Bytes != 0 {
			t.Error("an idle device holds memory")
		}
	}
}

func TestHistoryStateString(t *testing.T) {
	for s, want := range map[HistoryState]string{HistoryNone: "none", HistoryStateOnly: "state-only",
		HistoryTruncated: "truncated", HistoryInconsistent: "inconsistent", HistoryComplete: "complete"} {
		if s.String() != want {
			t.Errorf("%d is %q, want %q", s, s, want)
		}
	}
}
