package allocator

import (
	"testing"

	"pgregory.net/rapid"
)

// verify checks what must hold of a model at any time: blocks tile their
// segments, no two free neighbours could merge, every free block is listed
// once, and the accounts are the sums of the blocks.
func verify(t interface {
	Helper()
	Fatalf(string, ...any)
}, m *Model) {
	t.Helper()
	sums := structure(t, m)
	if sums.Reserved != m.Reserved || sums.Allocated != m.Allocated || sums.Active != m.Active ||
		sums.Requested != m.Requested || sums.InactiveSplit != m.InactiveSplit {
		t.Fatalf("the blocks sum to %+v, the accounts say %+v", sums, m.Stats)
	}
}

// structure checks all but the accounts and returns the sums of the blocks.
func structure(t interface {
	Helper()
	Fatalf(string, ...any)
}, m *Model) Stats {
	t.Helper()
	var sums Stats
	listed := map[int32]int{}
	for a := range m.arenas {
		for _, l := range []*freeList{&m.arenas[a].free, &m.arenas[a].unmapped} {
			for _, b := range l.blocks() {
				listed[b]++
				if m.segments[m.blocks[b].segment].arena != int32(a) {
					t.Fatalf("block %d is listed in another arena", b)
				}
			}
		}
	}
	for s := range m.segments {
		seg, prev := &m.segments[s], int32(0)
		at := seg.base
		for b := seg.head; b != 0; b = m.blocks[b].next {
			k := &m.blocks[b]
			if k.addr != at || k.prev != prev || k.size <= 0 || k.segment != int32(s) {
				t.Fatalf("segment %d: block %d is %+v, expected at %#x after %d", s, b, *k, at, prev)
			}
			if prev != 0 && k.state == free && m.merges(b, prev) {
				t.Fatalf("blocks %d and %d could merge", prev, b)
			}
			if k.state == free && listed[b] != 1 || k.state != free && listed[b] != 0 {
				t.Fatalf("block %d in state %d is listed %d times", b, k.state, listed[b])
			}
			add(&sums, m, b)
			at, prev = at+uint64(k.size), b
		}
		if seg.head != 0 && at != seg.base+uint64(seg.size) {
			t.Fatalf("segment %d ends at %#x", s, at)
		}
	}
	return sums
}

func add(sums *Stats, m *Model, b int32) {
	k := &m.blocks[b]
	if k.unmapped {
		return
	}
	sums.Reserved += k.size
	if k.state == held {
		sums.Allocated += k.size
	}
	if k.state != free {
		sums.Active += k.size
		sums.Requested += k.requested
	} else if !m.isExpandable(b) && !m.whole(b) {
		sums.InactiveSplit += k.size
	}
}

// TestModelHolds drives a model with random requests under random settings.
func TestModelHolds(t *testing.T) {
	confs := []string{"", "expandable_segments:True", "max_split_size_mb:32", "garbage_collection_threshold:0.5",
		"roundup_power2_divisions:4", "max_split_size_mb:20,garbage_collection_threshold:0.3", "expandable_segments:True,max_split_size_mb:32"}
	rapid.Check(t, func(t *rapid.T) {
		set, _ := ParseConf(rapid.SampledFrom(confs).Draw(t, "conf"))
		limit := rapid.SampledFrom([]int64{0, 200 * mib, 600 * mib}).Draw(t, "limit")
		m := NewModel(set, Limits{Fraction: limit, Device: rapid.SampledFrom([]int64{0, 300 * mib}).Draw(t, "device")})
		var live []int32
		t.Repeat(map[string]func(*rapid.T){
			"small": func(t *rapid.T) { live = request(t, m, live, rapid.Int64Range(1, 2*mib).Draw(t, "n")) },
			"large": func(t *rapid.T) { live = request(t, m, live, rapid.Int64Range(mib, 80*mib).Draw(t, "n")) },
			"free": func(t *rapid.T) {
				if len(live) > 0 {
					i := rapid.IntRange(0, len(live)-1).Draw(t, "i")
					m.FreeCompleted(live[i])
					live = append(live[:i], live[i+1:]...)
				}
			},
			"leave": func(t *rapid.T) {
				if len(live) > 0 {
					m.FreeRequested(live[rapid.IntRange(0, len(live)-1).Draw(t, "i")])
				}
			},
			"empty": func(*rapid.T) { m.EmptyCache() },
			"":      func(t *rapid.T) { verify(t, m) },
		})
	})
}

func request(t *rapid.T, m *Model, live []int32, n int64) []int32 {
	if b := m.Malloc(m.Lane(0, rapid.Uint16Range(0, 1).Draw(t, "stream")), n); b != 0 {
		return append(live, b)
	}
	return live
}
