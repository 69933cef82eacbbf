package snapshot

import (
	"math/bits"
	"math/rand/v2"
)

// addrTable maps device addresses to small non-zero numbers: an open-addressing
// hash table with linear probing, whose deletions close the gap so that it
// never fills up with tombstones. The live set of a replay is small and turns
// over all the time, which is what this does faster than a map.
//
// The hash is seeded at random, so a crafted file cannot make every address
// collide.
type addrTable struct {
	slots []addrSlot // length is a power of two
	used  int
	seed  uint64
}

type addrSlot struct {
	addr uint64
	val  int32 // 0: empty
}

const minAddrSlots = 1 << 10

func newAddrTable() addrTable {
	return addrTable{slots: make([]addrSlot, minAddrSlots), seed: rand.Uint64()}
}

func (t *addrTable) home(addr uint64) uint64 {
	hi, lo := bits.Mul64(addr^t.seed, 0x9E3779B97F4A7C15)
	return (hi ^ lo) & uint64(len(t.slots)-1)
}

// get returns the value of addr, or 0.
func (t *addrTable) get(addr uint64) int32 {
	mask := uint64(len(t.slots) - 1)
	for i := t.home(addr); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.val == 0 || s.addr == addr {
			return s.val
		}
	}
}

// put sets the value of addr, which must not be 0, and returns the one it had.
func (t *addrTable) put(addr uint64, val int32) int32 {
	mask := uint64(len(t.slots) - 1)
	for i := t.home(addr); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.val == 0 {
			*s = addrSlot{addr, val}
			if t.used++; t.used > len(t.slots)/2 {
				t.grow()
			}
			return 0
		}
		if s.addr == addr {
			old := s.val
			s.val = val
			return old
		}
	}
}

// remove deletes addr and returns the value it had, or 0.
func (t *addrTable) remove(addr uint64) int32 {
	mask := uint64(len(t.slots) - 1)
	i := t.home(addr)
	for ; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.val == 0 {
			return 0
		}
		if s.addr == addr {
			break
		}
	}
	val := t.slots[i].val
	t.used--
	// Move later entries of the run into the gap unless that would put them
	// before their home slot.
	for j := i; ; {
		j = (j + 1) & mask
		if t.slots[j].val == 0 {
			break
		}
		if h := t.home(t.slots[j].addr); (j-h)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = addrSlot{}
	return val
}

func (t *addrTable) grow() {
	old := t.slots
	t.slots = make([]addrSlot, 2*len(old))
	t.used = 0
	for _, s := range old {
		if s.val != 0 {
			t.put(s.addr, s.val)
		}
	}
}
