package snapshot

import (
	"math"
	"testing"
)

func TestStats(t *testing.T) {
	const big = math.MaxInt64 - 5
	tests := []struct {
		name  string
		build func(*handmade)
		want  Stats
	}{
		{"nothing", func(*handmade) {}, Stats{}},
		{"split segment; an inactive block's request is stale", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 512, Requested: 500, State: Allocated}, Block{Size: 1024, Requested: 7})
		}, Stats{Reserved: 1536, Allocated: 512, Active: 512, Requested: 500, InactiveSplit: 1024, RoundingWaste: 12, LargestFreeBlock: 1024, Segments: 1, Blocks: 2}},
		{"wholly free segment is releasable", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 2048})
		}, Stats{Reserved: 2048, Releasable: 2048, LargestFreeBlock: 2048, Segments: 1, Blocks: 1}},
		{"two free neighbours are split all the same", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 2048}, Block{Size: 512})
		}, Stats{Reserved: 2560, InactiveSplit: 2560, LargestFreeBlock: 2048, Segments: 1, Blocks: 2}},
		{"expandable free is its own class, alone or not", func(h *handmade) {
			h.segment(0x1000, true, Block{Size: 2048})
			h.segment(0x9000, true, Block{Size: 512, Requested: 512, State: Allocated}, Block{Size: 4096})
		}, Stats{Reserved: 6656, Allocated: 512, Active: 512, Requested: 512, ExpandableFree: 6144, LargestFreeBlock: 4096, Segments: 2, Blocks: 3}},
		{"pending free is active but not allocated", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 1024, Requested: 1000, State: PendingFree}, Block{Size: 512, Requested: 1, State: Allocated})
		}, Stats{Reserved: 1536, Allocated: 512, Active: 1536, Requested: 1001, PendingFree: 1024, RoundingWaste: 511, Segments: 1, Blocks: 2}},
		{"unknown request is no waste", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: 1024, State: Allocated})
		}, Stats{Reserved: 1024, Allocated: 1024, Active: 1024, Segments: 1, Blocks: 1}},
		{"overflow stays at the maximum", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: big, Requested: big, State: Allocated})
			h.segment(0x2000, false, Block{Size: big, Requested: big, State: Allocated})
		}, Stats{Reserved: math.MaxInt64, Allocated: math.MaxInt64, Active: math.MaxInt64, Requested: math.MaxInt64, Segments: 2, Blocks: 2}},
		{"negative sizes count as nothing", func(h *handmade) {
			h.segment(0x1000, false, Block{Size: -8, Requested: -9, State: Allocated})
			h.segment(0x2000, false, Block{Size: -8})
		}, Stats{Segments: 2, Blocks: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandmade()
			tt.build(h)
			if got := h.dev.Stats(); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
