package attribution

import (
	"fmt"

	"github.com/snapview/snapview/snapshot"
)

// clipTemporaries finds what gradient clipping holds at the peak.
func clipTemporaries(l *look) []Finding {
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		return l.stack(a.Stack).traits&traitClip != 0 && l.category(i) == Temporary
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "clip_temporaries", Title: "Gradient clipping makes large temporaries", Confidence: .95,
		Why: "The foreach implementation works on all gradients at once and so needs scratch for all of them.",
		Do:  "Pass foreach=False to clip_grad_norm_.",
	}, held)
	f.Evidence = fmt.Sprintf("%s allocated inside torch/nn/utils/clip_grad.py are alive at the peak.", count(len(held), "tensor"))
	return []Finding{f}
}

// foreachTemporaries finds the scratch of foreach optimizers.
func foreachTemporaries(l *look) []Finding {
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		return l.stack(a.Stack).traits&traitForeach != 0 && l.category(i) == Temporary
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "foreach_temporaries", Title: "The optimizer's foreach implementation makes large temporaries", UpperBound: true, Confidence: .95,
		Why: "It updates all parameters at once, with scratch for all of them. One parameter at a time needs the scratch of the largest.",
		Do:  "Construct the optimizer with fused=True, or with foreach=False.",
	}, held)
	f.Evidence = fmt.Sprintf("%s allocated inside a _multi_tensor function of torch.optim are alive at the peak.", count(len(held), "temporary tensor"))
	return []Finding{f}
}

// keptGradients finds gradients that outlive a step and the whole backward
// after it: zero_grad(set_to_none=False) fills them with zeros. Sharded
// gradients are left out, since FSDP keeps its flat ones by itself.
func keptGradients(l *look) []Finding {
	steps, backwards := l.phasesOf[Optimizer], l.phasesOf[Backward]
	if len(steps) == 0 || len(backwards) < 2 || l.all&traitSharded != 0 {
		return nil
	}
	// A gradient is kept when an optimizer phase and after it a whole backward
	// lie between its birth and its end.
	kept := func(a *snapshot.Allocation) bool {
		for _, s := range steps {
			if s.First <= int(a.Born) || s.First >= l.moment.Event {
				continue
			}
			for _, b := range backwards {
				if b.First > s.Last {
					return b.Last < int(a.FreeRequested)
				}
			}
		}
		return false
	}
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		return l.category(i) == Gradient && a.Born >= 0 && kept(a)
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "kept_gradients", Title: "Gradients are kept over the step", UpperBound: true, Confidence: .85,
		Why: "Gradients that stay allocated add to the activations of the next forward. When they are freed, the backward makes each only when activations are already going.",
		Do:  "Call optimizer.zero_grad(set_to_none=True), the default since PyTorch 2.0, right after the step.",
	}, held)
	f.Evidence = fmt.Sprintf("%s alive at the peak were made before an earlier optimizer step and outlive the next backward.", count(len(held), "gradient"))
	return []Finding{f}
}

// copiedParameters tells of copies of parameters made by copy.deepcopy: a
// moving average, a reference model, a target network.
func copiedParameters(l *look) []Finding {
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		return l.category(i) == Parameter && l.stack(a.Stack).traits&traitCopy != 0
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "copied_parameters", Title: "A second copy of the parameters", Info: true, Confidence: .9,
		Why: "A copied model (moving average, reference or target network) costs as much as its original.",
		Do:  "If it is used rarely, keep it on the CPU or in half precision.",
	}, held)
	f.Evidence = fmt.Sprintf("%s were made by copy.deepcopy.", count(len(held), "parameter"))
	return []Finding{f}
}
