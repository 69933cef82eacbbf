package snapshot

import (
	"math"
	"math/rand/v2"
)

// A rangeSet is a set of address ranges with the bytes it holds: a treap of
// disjoint ranges, since expandable segments are mapped and unmapped piece by
// piece and a sorted list would take quadratic time on a crafted file. Random
// priorities keep it balanced whatever the order of addresses.
type rangeSet struct {
	nodes []rangeNode // nodes[0] is the empty tree
	free  []int32     // nodes no longer in use, whose children are not yet given back
	root  int32
}

type rangeNode struct {
	lo, hi      uint64 // [lo, hi), not empty
	sum         uint64 // bytes of the whole subtree
	left, right int32
	priority    uint32
}

// addrRange returns the range of a piece of memory, cut at replayLimit
// and at the end of the address space.
func addrRange(addr uint64, size int64) (lo, hi uint64) {
	n := uint64(min(max(size, 0), replayLimit))
	return addr, addr + min(n, math.MaxUint64-addr)
}

// add puts [lo, hi) into the set and returns how many bytes of it were there.
func (s *rangeSet) add(lo, hi uint64) (held uint64) {
	if lo >= hi {
		return 0
	}
	before, held, after := s.takeOut(lo, hi)
	s.root = s.merge(s.merge(before, s.node(lo, hi)), after)
	return held
}

// remove takes [lo, hi) out of the set and returns how many bytes of it were
// there.
func (s *rangeSet) remove(lo, hi uint64) (held uint64) {
	if lo >= hi {
		return 0
	}
	before, held, after := s.takeOut(lo, hi)
	s.root = s.merge(before, after)
	return held
}

// has reports whether the set holds the byte at addr.
func (s *rangeSet) has(addr uint64) bool {
	for n := s.root; n != 0; {
		switch at := &s.nodes[n]; {
		case addr < at.lo:
			n = at.left
		case addr >= at.hi:
			n = at.right
		default:
			return true
		}
	}
	return false
}

// bytes returns how many bytes the set holds.
func (s *rangeSet) bytes() uint64 {
	if s.root == 0 {
		return 0
	}
	return s.nodes[s.root].sum
}

// count returns how many bytes of [lo, hi) the set holds.
func (s *rangeSet) count(lo, hi uint64) (held uint64) {
	if lo >= hi {
		return 0
	}
	before, rest := s.split(s.root, lo)
	inside, after := s.split(rest, hi)
	if inside != 0 {
		held = s.nodes[inside].sum
	}
	s.root = s.merge(s.merge(before, inside), after)
	return held
}

// takeOut splits the set around [lo, hi) and forgets what lies in it.
func (s *rangeSet) takeOut(lo, hi uint64) (before int32, held uint64, after int32) {
	before, rest := s.split(s.root, lo)
	inside, after := s.split(rest, hi)
	if inside != 0 {
		held = s.nodes[inside].sum
		s.free = append(s.free, inside)
	}
	return before, held, after
}

// split parts a tree at an address; a range across it is cut in two.
func (s *rangeSet) split(n int32, at uint64) (left, right int32) {
	if n == 0 {
		return 0, 0
	}
	node := s.nodes[n]
	switch {
	case node.hi <= at:
		middle, right := s.split(node.right, at)
		s.nodes[n].right = middle
		s.update(n)
		return n, right
	case node.lo >= at:
		left, middle := s.split(node.left, at)
		s.nodes[n].left = middle
		s.update(n)
		return left, n
	}
	s.nodes[n].hi, s.nodes[n].right = at, 0
	s.update(n)
	return n, s.merge(s.node(at, node.hi), node.right)
}

// merge joins two trees, all of left before all of right.
func (s *rangeSet) merge(left, right int32) int32 {
	switch {
	case left == 0:
		return right
	case right == 0:
		return left
	case s.nodes[left].priority >= s.nodes[right].priority:
		joined := s.merge(s.nodes[left].right, right)
		s.nodes[left].right = joined
		s.update(left)
		return left
	}
	joined := s.merge(left, s.nodes[right].left)
	s.nodes[right].left = joined
	s.update(right)
	return right
}

func (s *rangeSet) update(n int32) {
	node := &s.nodes[n]
	node.sum = node.hi - node.lo + s.nodes[node.left].sum + s.nodes[node.right].sum
}

// node returns a tree of one range.
func (s *rangeSet) node(lo, hi uint64) int32 {
	node := rangeNode{lo: lo, hi: hi, sum: hi - lo, priority: rand.Uint32()}
	if last := len(s.free) - 1; last >= 0 {
		n := s.free[last]
		s.free = s.free[:last]
		for _, child := range [2]int32{s.nodes[n].left, s.nodes[n].right} {
			if child != 0 {
				s.free = append(s.free, child)
			}
		}
		s.nodes[n] = node
		return n
	}
	if len(s.nodes) == 0 {
		s.nodes = append(s.nodes, rangeNode{})
	}
	s.nodes = append(s.nodes, node)
	return int32(len(s.nodes) - 1)
}
