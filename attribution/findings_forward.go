package attribution

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// scoreKey is a size of tensors made in one function.
type scoreKey struct {
	function int32
	size     int64
}

// minScores leaves out softmax over classes, experts and the like.
const minScores = 64 << 10

// attentionScores finds attention scores that are written out in full, as
// [batch, heads, length, length]; scaled_dot_product_attention never stores
// them. What tells them is softmax in a function that makes further tensors of
// the same size, or a chain of such tensors over a square mask.
func attentionScores(l *look) []Finding {
	sizes, confidence, seen := l.softmaxSizes(), float32(.9), "softmax"
	if len(sizes) == 0 {
		sizes, confidence, seen = l.maskedSizes(), .7, "a chain of tensors of one size over a square mask"
	}
	if len(sizes) == 0 {
		return nil
	}
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		x := l.stack(a.Stack)
		return passing(l.category(i)) && x.traits&traitLayer == 0 && sizes[scoreKey{x.function, a.Requested}]
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "attention_scores", Title: "Attention scores are written out in full", UpperBound: true, Confidence: confidence,
		Why: "Their size grows with the square of the sequence length, and autograd keeps them until the backward. A fused kernel keeps one number a row instead.",
		Do:  "Call torch.nn.functional.scaled_dot_product_attention (in transformers: attn_implementation=\"sdpa\") instead of matmul, softmax and matmul.",
	}, held)
	var largest int64
	for _, i := range held {
		largest = max(largest, l.allocation(i).Requested)
	}
	f.Evidence = fmt.Sprintf("%s of up to %s are alive in %s that come from %s.", count(len(held), "tensor"), units.Bytes(largest), f.Function, seen)
	return []Finding{f}
}

// softmaxSizes are the sizes of softmax results, by function. A function
// attends when it makes other tensors of the same size (the scores before
// softmax), or says so by its name.
func (l *look) softmaxSizes() map[scoreKey]bool {
	softmax, other := map[scoreKey]int{}, map[scoreKey]int{}
	for i := range l.Timeline.Allocations {
		a := &l.Timeline.Allocations[i]
		if a.Requested < minScores || !passing(l.Labels[i].Category) {
			continue
		}
		x := l.stack(a.Stack)
		key := scoreKey{x.function, a.Requested}
		switch {
		case x.function == 0 || x.traits&traitLayer != 0:
		case x.traits&(traitSoftmax|traitLoss) == traitSoftmax:
			softmax[key]++
		case l.all&traitSoftmax != 0:
			other[key]++
		}
	}
	sizes := map[scoreKey]bool{}
	for key, n := range softmax {
		half := scoreKey{key.function, key.size / 2} // autocast runs softmax in float32, the products around it not
		switch {
		case other[half] >= n:
			sizes[key], sizes[half] = true, true
		case other[key] >= n || l.attends(key.function):
			sizes[key] = true
		}
	}
	return sizes
}

func (l *look) attends(number int32) bool {
	for f, n := range l.functions {
		if name := strings.ToLower(f.name); n == number {
			return strings.Contains(name, "attention") || strings.Contains(name, "attn")
		}
	}
	return false
}

// count prints "3 tensors".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return units.Count(n) + " " + noun + "s"
}
