package snapshot

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRangeSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set rangeSet
		var naive [64]bool
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			lo := rapid.IntRange(0, 63).Draw(t, "from")
			hi := rapid.IntRange(0, 64).Draw(t, "to")
			op := rapid.IntRange(0, 2).Draw(t, "op")
			var want uint64
			for i := lo; i < hi; i++ {
				if naive[i] {
					want++
				}
				if op < 2 {
					naive[i] = op == 0
				}
			}
			got := [](func(lo, hi uint64) uint64){set.add, set.remove, set.count}[op](uint64(lo), uint64(hi))
			if got != want {
				t.Fatalf("operation %d on [%d, %d): %d, want %d", op, lo, hi, got, want)
			}
			var all uint64
			for i, held := range naive {
				if set.has(uint64(i)) != held {
					t.Fatalf("%d is in the set: %v", i, !held)
				}
				if held {
					all++
				}
			}
			if set.bytes() != all {
				t.Fatalf("%d bytes, want %d", set.bytes(), all)
			}
		}
		if len(set.nodes) > 200 {
			t.Fatalf("%d nodes for at most 32 ranges", len(set.nodes))
		}
	})
}

func TestAddrRange(t *testing.T) {
	for _, test := range []struct {
		addr uint64
		size int64
		hi   uint64
	}{{5, 7, 12}, {5, -1, 5}, {math.MaxUint64, 9, math.MaxUint64}, {1 << 62, math.MaxInt64, 5 << 60}} {
		if lo, hi := addrRange(test.addr, test.size); lo != test.addr || hi != test.hi {
			t.Errorf("%d and %d bytes: %d to %d, want %d", test.addr, test.size, lo, hi, test.hi)
		}
	}
}

// Addresses in order must not make the tree a list.
func TestRangeSetInOrder(t *testing.T) {
	began := time.Now()
	var set rangeSet
	const n = 200_000
	for i := uint64(n); i > 0; i-- {
		set.add(2*i, 2*i+1)
	}
	if set.bytes() != n {
		t.Errorf("%d bytes", set.bytes())
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("%d ranges took %v", n, d)
	}
}
