package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naive is the allocator without limits and expandable segments, written for
// plainness: one list of blocks by address, searched from end to end.
type naive struct {
	set    Settings
	blocks []naiveBlock
}

type naiveBlock struct {
	addr, segment uint64
	size          int64
	used, small   bool
}

// malloc returns where the request goes and how large its block is; a new
// segment, if one is needed, is put at fresh.
func (n *naive) malloc(requested int64, fresh uint64) (addr uint64, size int64) {
	want := n.set.Round(requested)
	small := want <= smallSize
	best := -1
	for i, b := range n.blocks {
		if !b.used && b.small == small && b.size >= want && (best < 0 || b.size < n.blocks[best].size) {
			best = i
		}
	}
	if best >= 0 {
		have, limit := n.blocks[best].size, n.set.maxSplit()
		if want < limit && have >= limit || want >= limit && have >= want+n.set.MaxNonSplitRounding {
			best = -1
		}
	}
	if best < 0 {
		best, _ = slices.BinarySearchFunc(n.blocks, fresh, func(b naiveBlock, at uint64) int {
			if b.addr < at {
				return -1
			}
			return 1
		})
		n.blocks = slices.Insert(n.blocks, best, naiveBlock{fresh, fresh, n.set.SegmentSize(want), false, small})
	}
	b := &n.blocks[best]
	if rest := b.size - want; n.set.splits(want, rest, small) {
		tail := naiveBlock{b.addr + uint64(want), b.segment, rest, false, small}
		b.size = want
		n.blocks = slices.Insert(n.blocks, best+1, tail)
	}
	n.blocks[best].used = true
	return n.blocks[best].addr, n.blocks[best].size
}

func (n *naive) free(addr uint64) {
	i := slices.IndexFunc(n.blocks, func(b naiveBlock) bool { return b.addr == addr })
	n.blocks[i].used = false
	for _, lo := range []int{i, i - 1} {
		if lo >= 0 && lo+1 < len(n.blocks) && !n.blocks[lo].used && !n.blocks[lo+1].used && n.blocks[lo].segment == n.blocks[lo+1].segment {
			n.blocks[lo].size += n.blocks[lo+1].size
			n.blocks = slices.Delete(n.blocks, lo+1, lo+2)
		}
	}
}

func (n *naive) empty() {
	count := map[uint64]int{}
	for _, b := range n.blocks {
		count[b.segment]++
	}
	n.blocks = slices.DeleteFunc(n.blocks, func(b naiveBlock) bool { return !b.used && count[b.segment] == 1 })
}

func (n *naive) reserved() (sum int64) {
	for _, b := range n.blocks {
		sum += b.size
	}
	return sum
}

// TestAgainstNaive runs both models side by side.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, _ := ParseConf(rapid.SampledFrom([]string{"", "max_split_size_mb:24", "roundup_power2_divisions:2"}).Draw(t, "conf"))
		m, n := NewModel(set, Limits{}), &naive{set: set}
		var live []int32
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch kind := rapid.IntRange(0, 20).Draw(t, "kind"); {
			case kind == 0:
				m.EmptyCache()
				n.empty()
			case kind < 10 && len(live) > 0:
				i := rapid.IntRange(0, len(live)-1).Draw(t, "i")
				n.free(m.blocks[live[i]].addr)
				m.FreeCompleted(live[i])
				live = slices.Delete(live, i, i+1)
			default:
				size := rapid.OneOf(rapid.Int64Range(1, 3*mib), rapid.Int64Range(1, 60*mib)).Draw(t, "size")
				b := m.Malloc(m.Lane(0, 0), size)
				addr, got := n.malloc(size, m.segments[m.blocks[b].segment].base)
				if addr != m.blocks[b].addr || got != m.blocks[b].size {
					t.Fatalf("%d bytes: the model has %d at %#x, the plain one %d at %#x", size, m.blocks[b].size, m.blocks[b].addr, got, addr)
				}
				live = append(live, b)
			}
			if m.Reserved != n.reserved() {
				t.Fatalf("reserved %d, the plain model %d", m.Reserved, n.reserved())
			}
		}
	})
}
