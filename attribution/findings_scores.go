package attribution

import (
	"math"

	"github.com/snapview/snapview/snapshot"
)

// maskedSizes finds attention where Tensor.softmax was called, which leaves no
// Python frame: within one call of one function, three or more tensors of one
// size (product, masked, softmax), larger than all others of the call, and
// between them a square mask of length × length bytes that divides them.
func (l *look) maskedSizes() map[scoreKey]bool {
	sizes := map[scoreKey]bool{}
	var run []*snapshot.Allocation // what the user's own lines made within one call
	var in int32
	flush := func() {
		if size := scoresOf(run); size > 0 {
			sizes[scoreKey{in, size}] = true
		}
		run = run[:0]
	}
	for i := range l.Timeline.Allocations {
		a := &l.Timeline.Allocations[i]
		if a.Born < 0 || !passing(l.Labels[i].Category) {
			continue
		}
		x := l.stack(a.Stack)
		if x.function != in {
			flush()
			in = x.function
		}
		if x.function != 0 && x.own {
			run = append(run, a)
		}
	}
	flush()
	return sizes
}

// scoresOf returns the size of the attention scores among the allocations of
// one call, 0 when there are none.
func scoresOf(run []*snapshot.Allocation) int64 {
	var largest int64
	for _, a := range run {
		largest = max(largest, a.Requested)
	}
	if largest < minScores {
		return 0
	}
	n, first, last := 0, -1, -1
	for i, a := range run {
		if a.Requested == largest {
			n++
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if n < 3 {
		return 0
	}
	for _, a := range run[first:last] {
		side := int64(math.Sqrt(float64(a.Requested)))
		if side >= 16 && side*side == a.Requested && a.Requested*2 <= largest && largest%(2*a.Requested) == 0 {
			return largest
		}
	}
	return 0
}
