package budget

import "github.com/snapview/snapview/attribution"

// An optimizer acts out what a step of one allocates: states when it first runs,
// and temporaries. The rules are those of torch.optim in PyTorch 2.11, of
// bitsandbytes for 8 bits, and of the authors' code for Lion.
type optimizer struct {
	made bool
}

// A state is a tensor that an optimizer keeps for a parameter.
type state struct {
	name  string
	shape shape
	dtype DType
}

// states lists what the optimizer keeps for a parameter. Adam's count of steps
// is on the host unless the step is PyTorch's fused kernel.
func (p *program) states(l *leaf) []state {
	own, d := p.stateShape(l), p.stateType(l)
	moment := state{"momentum", own, d}
	switch p.c.Optimizer {
	case SGD:
		if !p.c.Momentum {
			return nil
		}
		return []state{moment}
	case Lion:
		return []state{moment}
	case Muon:
		if l.matrix() {
			return []state{moment}
		}
	case Adam8:
		if own.elements() >= least8bit {
			blocks := shape{{own.symbols() + "/256", ceilDiv(own.elements(), 256)}}
			return []state{{"first moments, 8 bits", own, I8}, {"second moments, 8 bits", own, I8}, {"scales of blocks", blocks, F32}, {"scales of blocks", blocks, F32}}
		}
	case Adafactor:
		return factored(own, l, d)
	}
	all := []state{{"first moments", own, d}, {"second moments", own, d}}
	if p.c.Kernel == Fused && p.p.master == "" {
		all = append(all, state{"steps", nil, F32})
	}
	return all
}

// least8bit is the elements below which bitsandbytes keeps 32 bits.
const least8bit = 4096

// factored is Adafactor's second moment: a row and a column of a matrix.
func factored(own shape, l *leaf, d DType) []state {
	if len(l.whole) < 2 || len(own) < 2 {
		return []state{{"second moments", own, d}}
	}
	last := len(own) - 1
	column := append(append(shape(nil), own[:last-1]...), own[last])
	return []state{{"second moments of rows", own[:last], d}, {"second moments of columns", column, d}}
}

// matrix reports whether Muon takes a parameter: matrices of the blocks. The
// rest is AdamW's.
func (l *leaf) matrix() bool { return l.param.Layer >= 0 && len(l.whole) == 2 }

// stateType is the type of moments: of the master weights, or of the weights.
func (p *program) stateType(l *leaf) DType {
	if p.p.master != "" {
		return p.p.master
	}
	return l.dtype
}

// kernel is how the step runs: beside master weights it is the fused kernel of
// Apex or DeepSpeed.
func (p *program) kernel() Kernel {
	switch {
	case p.c.Kernel != "":
		return p.c.Kernel
	case p.p.master != "":
		return Fused
	}
	return Foreach
}

// step acts one step out.
func (o *optimizer) step(p *program) {
	if p.c.Offload != NoOffload {
		return // on the host
	}
	if !o.made {
		o.made = true
		p.makeStates()
	}
	p.convertGradients()
	switch p.c.Optimizer {
	case AdamW, Adam:
		p.adamStep(p.kernel(), p.trained())
	case Muon:
		p.muonStep()
	case Lion:
		p.eachStep(p.trained(), 2, "temporaries of Lion")
	case Adafactor:
		p.adafactorStep()
	}
}

func (p *program) trained() (list []*leaf) {
	for _, l := range p.order {
		if l.trained {
			list = append(list, l)
		}
	}
	return list
}

func (p *program) makeStates() {
	for _, l := range p.trained() {
		for _, s := range p.states(l) {
			p.alloc(OptimizerClass, attribution.OptimizerState, s.name, s.shape, s.dtype)
		}
	}
}

// convertGradients makes fp32 copies of 16-bit gradients for an fp32 step.
func (p *program) convertGradients() {
	if p.p.master == "" || p.p.grad == p.p.master {
		return
	}
	var copies []*buffer
	for _, l := range p.trained() {
		copies = append(copies, p.scratch("gradients in fp32 for the step", p.stateShape(l), p.p.master))
	}
	p.drop(copies...)
}

// rootsName is the line of what fused kernels do without.
const rootsName = "roots of second moments, foreach"

// adamStep: all tensors at once need the root of every second moment
// (_multi_tensor_adam), one after the other two of the largest.
func (p *program) adamStep(k Kernel, list []*leaf) {
	switch k {
	case Foreach:
		var roots []*buffer
		for _, l := range list {
			roots = append(roots, p.scratch(rootsName, p.stateShape(l), p.stateType(l)))
		}
		for i := len(roots) - 1; i >= 0; i-- {
			p.drop(roots[i])
		}
	case ForLoop:
		p.eachStep(list, 2, "roots of second moments")
	}
}

// eachStep works on one tensor after the other, with n temporaries of its size.
func (p *program) eachStep(list []*leaf, n int, name string) {
	for _, l := range list {
		var temp []*buffer
		for range n {
			temp = append(temp, p.scratch(name, p.stateShape(l), p.stateType(l)))
		}
		p.drop(temp...)
	}
}

// adafactorStep: the estimate of a matrix from its row and column, while the one
// before is still there when the column's norm is summed (torch.optim.Adafactor).
func (p *program) adafactorStep() {
	var before *buffer
	for _, l := range p.trained() {
		if n := len(l.shape); n >= 2 {
			columns := l.shape[n-1].n
			p.reduction(l.shape.elements()/columns, columns)
		}
		update := p.scratch("updates of Adafactor", p.stateShape(l), p.stateType(l))
		p.drop(before)
		before = update
	}
	p.drop(before)
}

// muonStep: the update of a matrix, and in bf16 its Newton–Schulz iteration with
// the products of the short side (torch.optim.Muon).
func (p *program) muonStep() {
	var rest []*leaf
	for _, l := range p.trained() {
		if !l.matrix() {
			rest = append(rest, l)
			continue
		}
		s := l.shape
		short := s[0]
		if s[1].n < short.n {
			short = s[1]
		}
		update := p.scratch("update of Muon", s, p.stateType(l))
		held := []*buffer{update, p.scratch("iteration of Muon", s, B16), p.scratch("iteration of Muon", s, B16)}
		for range 3 {
			held = append(held, p.scratch("products of Muon", shape{short, short}, B16))
		}
		p.drop(held...)
	}
	p.adamStep(p.kernel(), rest)
}
