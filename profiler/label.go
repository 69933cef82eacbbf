package profiler

import "strings"

// A labeller gives allocations their categories. It follows how PyTorch trains:
// what autograd makes and outlives the backward pass is a gradient; what an
// operator with a backward makes depends on a parameter; what the optimizer
// makes and keeps is its state.
type labeller struct {
	t              *Trace
	p              *pairing
	differentiable map[int32]bool // outermost operators that a backward operator leads back to
	hasArrows      bool
	lastBackward   int64 // start of the last backward pass
}

func (t *Trace) newLabeller(p *pairing) *labeller {
	l := &labeller{t: t, p: p, differentiable: make(map[int32]bool), lastBackward: -1 << 62}
	for i := range t.Arrows {
		a := &t.Arrows[i]
		if !a.Start {
			continue
		}
		l.hasArrows = true
		if leaf, _ := p.leaf(p.innermost(a.Thread, a.Time)); leaf >= 0 {
			l.differentiable[leaf] = true
		}
	}
	for _, s := range p.phases {
		if s.kind == PhaseBackward {
			l.lastBackward = s.start
		}
	}
	return l
}

func (a *Allocation) set(c Category, confidence float64, evidence string) {
	a.Category, a.Confidence, a.Evidence = c, confidence, evidence
}

// label decides one allocation.
func (l *labeller) label(a *Allocation) {
	switch {
	case a.Older:
		l.older(a)
	case a.Leaf >= 0 && a.Leaf == a.FreeLeaf:
		a.set(CategoryTemporary, 1, "allocated and freed inside one operator")
	case l.workspace(a):
		a.set(CategoryWorkspace, 0.7, "second allocation of a matrix product, of a size cuBLAS asks for, kept")
	case l.communication(a):
		a.set(CategoryCommunication, 0.8, "allocated by a collective")
	case l.bucket(a):
		a.set(CategoryCommunication, 0.7, "made by DistributedDataParallel itself and kept: a bucket of gradients")
	case a.inBackward:
		l.backward(a)
	case a.Phase == PhaseOptimizer:
		l.optimizer(a)
	default:
		l.forward(a)
	}
}

// older is memory from before the trace that was freed in it: when says what it was.
func (l *labeller) older(a *Allocation) {
	switch a.FreePhase {
	case PhaseZeroGrad:
		a.set(CategoryGradient, 0.8, "older than the trace, freed by zero_grad")
	case PhaseBackward:
		a.set(CategoryActivation, 0.6, "older than the trace, freed by a backward pass")
	default:
		a.set(CategoryUnknown, 0.3, "older than the trace")
	}
}

// passEnd is the end of the backward pass that allocated something.
func (l *labeller) passEnd(a *Allocation) int64 {
	if a.phase >= 0 {
		return l.p.phases[a.phase].end
	}
	return a.Time
}

// backward is what autograd's engine allocated. AccumulateGrad moves what it is
// given into .grad when that is empty, so most gradients come from other nodes.
func (l *labeller) backward(a *Allocation) {
	switch {
	case a.End <= l.passEnd(a):
		a.set(CategoryAutogradDetail, 0.9, "allocated and freed within one backward pass")
	case a.FreePhase == PhaseZeroGrad:
		a.set(CategoryGradient, 0.95, "allocated by a backward pass, freed by zero_grad")
	case l.accumulates(a.Leaf):
		a.set(CategoryGradient, 0.95, "allocated by AccumulateGrad")
	case a.FreePhase == PhaseBackward || a.FreePhase == PhaseForward:
		a.set(CategoryGradient, 0.6, "allocated by a backward pass, freed in a later one")
	default:
		a.set(CategoryGradient, 0.85, "allocated by a backward pass and kept after it")
	}
}

func (l *labeller) accumulates(leaf int32) bool {
	return leaf >= 0 && strings.HasSuffix(l.t.Names[l.t.Host[leaf].Name], "AccumulateGrad")
}

// optimizer is what an optimizer step allocated outside of any one operator.
func (l *labeller) optimizer(a *Allocation) {
	end := l.p.phases[a.phase].end
	switch {
	case a.End == AliveAtEnd:
		a.set(CategoryOptimizerState, 0.95, "allocated by an optimizer step and kept")
	case a.End > end:
		a.set(CategoryOptimizerState, 0.6, "allocated by an optimizer step, freed after it")
	default:
		a.set(CategoryTemporary, 0.6, "allocated and freed within one optimizer step")
	}
}

// forward is the rest. An operator without a backward depends on no parameter:
// what it makes is input in PyTorch's sense.
func (l *labeller) forward(a *Allocation) {
	switch {
	case !l.hasArrows:
		l.inference(a)
	case l.differentiable[a.Leaf] && a.FreePhase == PhaseBackward:
		a.set(CategoryActivation, 0.95, "made by an operator with a backward, freed in the backward pass")
	case l.differentiable[a.Leaf]:
		a.set(CategoryActivation, 0.85, "made by an operator with a backward")
	case a.Time > l.lastBackward:
		a.set(CategoryUnknown, 0.3, "allocated behind the last backward pass")
	case l.makesInput(a.Leaf):
		a.set(CategoryInput, 0.75, "made or copied by an operator without a backward")
	case a.Leaf >= 0:
		a.set(CategoryInput, 0.5, "made by an operator without a backward")
	case a.FreePhase == PhaseBackward:
		a.set(CategoryActivation, 0.5, "allocated in the forward pass, freed in the backward pass")
	default:
		a.set(CategoryUnknown, 0.2, "allocated outside of every operator")
	}
}

// inference labels memory of a trace without a backward pass.
func (l *labeller) inference(a *Allocation) {
	switch {
	case a.Leaf < 0:
		a.set(CategoryUnknown, 0.2, "allocated outside of every operator")
	case l.makesInput(a.Leaf):
		a.set(CategoryInput, 0.5, "made or copied by an operator that takes no part in the model")
	default:
		a.set(CategoryActivation, 0.5, "made by an operator, in a trace without a backward pass")
	}
}

// sources are operators that make tensors from no other, or copy one in.
var sources = map[string]bool{"arange": true, "empty": true, "empty_like": true, "empty_strided": true, "eye": true, "full": true,
	"full_like": true, "linspace": true, "normal": true, "ones": true, "ones_like": true, "rand": true, "rand_like": true,
	"randint": true, "randn": true, "randn_like": true, "randperm": true, "scalar_tensor": true, "to": true, "_to_copy": true,
	"zeros": true, "zeros_like": true, "pin_memory": true, "tensor": true, "lift_fresh": true, "stack": true, "copy_": true}

func (l *labeller) makesInput(leaf int32) bool {
	if leaf < 0 {
		return false
	}
	name, ok := strings.CutPrefix(l.t.Names[l.t.Host[leaf].Name], "aten::")
	return ok && sources[name]
}

// workspaceSizes are what cuBLAS asks for by default, in bytes: :4096:2:16:8,
// :4096:8 on Hopper and later, and 1 MiB and 32 MiB of cuBLASLt
// (aten/src/ATen/cuda/CUDABlas.cpp, CublasHandlePool.cpp).
var workspaceSizes = map[int64]bool{8320 << 10: true, 32 << 20: true, 1 << 20: true}

// workspace reports scratch that a library keeps: the operator allocates its
// output first, then the library what it keeps for each handle and stream.
func (l *labeller) workspace(a *Allocation) bool {
	if a.Op < 0 || a.End != AliveAtEnd || !workspaceSizes[a.Bytes] || a.nth == 0 {
		return false
	}
	name := l.t.Names[l.t.Host[a.Op].Name]
	for _, product := range []string{"mm", "linear", "bmm", "matmul", "gemm"} {
		if strings.HasSuffix(strings.TrimSuffix(name, "_"), product) {
			return true
		}
	}
	return false
}

// communication reports memory that an operator of a collective allocated.
func (l *labeller) communication(a *Allocation) bool {
	for i := a.Op; i >= 0; i = l.p.parentOf(i) {
		name := l.t.Names[l.t.Host[i].Name]
		if strings.HasPrefix(name, "c10d::") || strings.HasPrefix(name, "_c10d_functional::") ||
			strings.HasPrefix(name, "torch.distributed.ddp.reducer::") || l.t.Host[i].Kind == Annotation && isCommunication(name) {
			return true
		}
	}
	return false
}

// bucket reports memory that DistributedDataParallel allocated for itself: not
// inside the module it wraps, whose operators depend on parameters, and kept.
// It rebuilds its buckets in the order of gradients after the first step.
func (l *labeller) bucket(a *Allocation) bool {
	if a.End != AliveAtEnd || !l.makesInput(a.Leaf) {
		return false
	}
	parent := l.p.parentOf(a.Leaf)
	return parent >= 0 && strings.HasPrefix(l.t.Names[l.t.Host[parent].Name], "DistributedDataParallel.")
}

// olderMemory splits what is older than the trace and was never freed. Every
// parameter gets a gradient of its size, so a backward pass says how much of it
// are parameters; the state of Adam is twice that.
func (t *Trace) olderMemory(c *Categories, phases []phaseSpan) []Allocation {
	rest := c.Baseline
	var start, state int64
	gradients := make(map[int]int64) // by backward pass
	for i := range c.Allocations {
		a := &c.Allocations[i]
		if i == 0 {
			start = a.Time
		}
		switch {
		case a.Older:
			rest -= a.Bytes
			start = a.Time
		case a.Category == CategoryGradient:
			gradients[a.phase] += a.Bytes
		case a.Category == CategoryOptimizerState:
			state += a.Bytes
		}
	}
	if rest <= 0 {
		return nil
	}
	var out []Allocation
	add := func(bytes int64, category Category, confidence float64, evidence string) {
		bytes = min(bytes, rest)
		if bytes <= 0 {
			return
		}
		rest -= bytes
		out = append(out, Allocation{Bytes: bytes, Time: start, End: AliveAtEnd, Older: true, Op: -1, Leaf: -1, FreeOp: -1, FreeLeaf: -1,
			phase: -1, freePhase: -1, Category: category, Confidence: confidence, Evidence: evidence})
	}
	var parameters int64
	for _, n := range gradients {
		parameters = max(parameters, n)
	}
	steps, perParameter := t.optimizerStates()
	switch {
	case parameters == 0:
		add(rest, CategoryParameter, 0.4, "older than the trace and kept; no backward pass tells how much are parameters")
	case steps && state == 0 && perParameter > 0:
		add(parameters, CategoryParameter, 0.7, "older than the trace, as large as the gradients of a backward pass")
		add(perParameter*parameters, CategoryOptimizerState, 0.6, "older than the trace, of the size of this optimizer's state")
		add(rest, CategoryUnknown, 0.2, "older than the trace")
	default:
		add(parameters, CategoryParameter, 0.8, "older than the trace, as large as the gradients of a backward pass")
		add(rest, CategoryParameter, 0.4, "older than the trace and kept: parameters, buffers or other")
	}
	return out
}

// optimizerStates says whether the optimizer stepped and how many tensors of a
// parameter's size its state has, by its name; 0 when not known.
func (t *Trace) optimizerStates() (steps bool, perParameter int64) {
	for i := range t.Host {
		e := &t.Host[i]
		if e.Kind != Annotation {
			continue
		}
		name, ok := strings.CutPrefix(t.Names[e.Name], optimizerStep)
		if !ok {
			continue
		}
		steps = true
		switch strings.ToLower(strings.TrimSuffix(name, ".step")) {
		case "adam", "adamw", "nadam", "radam", "adamax", "adadelta":
			return true, 2
		case "lion", "adagrad", "rmsprop":
			return true, 1
		}
	}
	return steps, 0
}
