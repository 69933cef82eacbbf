package attribution

import (
	"fmt"

	"github.com/snapview/snapview/snapshot"
)

// autocastCopies finds half-precision copies of weights. Autocast casts bias,
// weight and input one after another at the call of a layer and caches the
// casts of weights until the region ends (at::autocast::cached_cast); autograd
// then keeps them for the backward.
func autocastCopies(l *look) []Finding {
	params := map[int64]int{}
	for i := range l.Timeline.Allocations {
		if l.Labels[i].Category == Parameter {
			params[l.Timeline.Allocations[i].Requested]++
		}
	}
	if len(params) == 0 {
		return nil
	}
	casts := l.weightCasts(params)
	if len(casts) == 0 {
		return nil
	}
	held := l.where(func(i int32, _ *snapshot.Allocation) bool { return casts[i] })
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "autocast_weights", Title: "Autocast keeps half-precision copies of weights", UpperBound: true, Confidence: .85,
		Why: "Each layer's weight is cast at its call, and the cast lives until the backward of the layer, beside the float32 weight. Layers without a bias are not counted.",
		Do:  "Keep the weights in bfloat16 (with an optimizer that has float32 states), or shard them with a mixed-precision policy, instead of casting them at each step.",
	}, held)
	f.Evidence = fmt.Sprintf("%s made inside linear or convolution layers have half the size of a parameter and follow a copy of the bias.", count(len(held), "live tensor"))
	return []Finding{f}
}

// weightCasts are the copies of weights: half the size of a parameter, made at
// the call of a layer right after half of a parameter that divides it (its
// bias), or by the cast itself where the stack says so.
func (l *look) weightCasts(params map[int64]int) map[int32]bool {
	casts := map[int32]bool{}
	var bias *snapshot.Allocation
	for i := range l.Timeline.Allocations {
		a := &l.Timeline.Allocations[i]
		if a.Born < 0 || params[2*a.Requested] == 0 || !passing(l.Labels[i].Category) {
			bias = nil
			continue
		}
		switch t := l.stack(a.Stack).traits; {
		case t&traitAutocast != 0:
			casts[int32(i)] = true
		case t&traitLayer == 0:
			bias = nil
		case bias != nil && bias.Stack == a.Stack && a.Requested >= leastFeatures*bias.Requested && a.Requested%bias.Requested == 0:
			casts[int32(i)] = true
			bias = nil
		default:
			bias = a
		}
	}
	return casts
}

// leastFeatures is how much larger a weight is than its bias, at least.
const leastFeatures = 16

// noCheckpointing tells that activations are most of the peak of a training
// step, and that nothing recomputes them.
func noCheckpointing(l *look) []Finding {
	if l.by[Activation]*2 <= l.total || l.all&traitCheckpoint != 0 || len(l.phasesOf[Backward]) == 0 {
		return nil
	}
	held := l.where(func(i int32, a *snapshot.Allocation) bool { return l.category(i) == Activation })
	f := l.charge(Finding{
		ID: "no_checkpointing", Title: "Activations dominate and are not checkpointed", UpperBound: true, Confidence: .9,
		Why: "Every layer's activations wait for the backward. With checkpointing only the inputs of the checkpointed blocks and one block's activations remain, for one more forward of compute.",
		Do:  "Wrap the repeated blocks in torch.utils.checkpoint.checkpoint(…, use_reentrant=False) (in transformers: model.gradient_checkpointing_enable()), or use a smaller micro-batch.",
	}, held)
	f.Evidence = fmt.Sprintf("%s are activations, %.0f %% of the peak, and no frame of torch.utils.checkpoint occurs in the file.", count(len(held), "allocation"), 100*float64(f.Bytes)/float64(max(1, l.total)))
	return []Finding{f}
}
