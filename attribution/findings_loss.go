package attribution

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// logits finds the scores over a vocabulary and their copies: what the loss
// makes of them, their float32 copy, and their gradients, which have the same
// size or half of it.
func logits(l *look) []Finding {
	var size int64
	functions := map[int32]bool{}
	for i := range l.Timeline.Allocations {
		a := &l.Timeline.Allocations[i]
		if x := l.stack(a.Stack); passing(l.Labels[i].Category) && x.traits&traitLoss != 0 {
			size = max(size, a.Requested)
			functions[x.function] = true
		}
	}
	if size == 0 {
		return nil
	}
	fromLoss, copies, grads := 0, 0, 0
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		if !passing(l.category(i)) || a.Requested != size && 2*a.Requested != size {
			return false
		}
		switch x := l.stack(a.Stack); {
		case !x.python && l.hasStacks() && a.Born >= 0:
			grads++
		case x.traits&traitLoss != 0:
			fromLoss++
		case functions[x.function] && x.function != 0, x.traits&traitLayer != 0 && a.Requested >= l.largestOf(a.Stack):
			copies++
		default:
			return false
		}
		return true
	})
	if fromLoss+copies == 0 || fromLoss+copies+grads < 2 {
		return nil
	}
	f := l.charge(Finding{
		ID: "logits", Title: "Logits and their copies", UpperBound: true, Confidence: .85,
		Why: "Scores over all classes for every position are among the largest tensors of a step; the loss makes further ones of the same size, in float32. Computed in chunks, only one chunk's worth would remain.",
		Do:  "Compute the loss in chunks of positions (or with a fused linear cross-entropy such as Liger or cut-cross-entropy); leave out .float() before cross_entropy, and drop padded positions first.",
	}, held)
	f.Evidence = fmt.Sprintf("the loss (cross_entropy) makes tensors of %s; of that size or half of it are alive: %s.", units.Bytes(size), list(
		part(fromLoss, "from the loss"), part(copies, "logits or copies"), part(grads, "on the autograd thread (gradients)")))
	return []Finding{f}
}

// largestOf is the largest request of a stack.
func (l *look) largestOf(id snapshot.StackID) int64 {
	if l.largest == nil {
		l.largest = map[snapshot.StackID]int64{}
		for i := range l.Timeline.Allocations {
			a := &l.Timeline.Allocations[i]
			if n := l.largest[a.Stack]; a.Requested > n && passing(l.Labels[i].Category) {
				l.largest[a.Stack] = a.Requested
			}
		}
	}
	return l.largest[id]
}

func part(n int, what string) string {
	if n == 0 {
		return ""
	}
	return units.Count(n) + " " + what
}

// list joins what is not empty.
func list(parts ...string) (s string) {
	for _, p := range parts {
		if p == "" {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += p
	}
	return s
}
