package budget

import (
	"strconv"

	"github.com/snapview/snapview/attribution"
)

// A program runs a model on a tape, as its published implementation does, on one
// GPU of the job.
type program struct {
	*tape
	c  *Config
	m  *Model
	p  policy
	d  modelDims
	at ownPart

	leaves map[string]*leaf
	order  []*leaf
	units  []*zeroUnit // that ZeRO 3 gathers, one a block

	b, s   dim       // sequences and tokens, of attention
	local  dim       // tokens between attention and MLP
	target dim       // tokens of a target sequence
	kept   []*tensor // by the caller until the next forward or the step has ended
	inputs []*buffer // by the caller too

	tokens shape // b·s
	x      shape // b·s·h between the layers
}

// newProgram sets the model up on a card.
func newProgram(c *Config, card Card, stage int64) *program {
	p := &program{tape: newTape(card), c: c, m: &c.Model, p: c.policy(), at: c.part(stage), leaves: map[string]*leaf{}}
	p.d = p.at.dims(c.Model.dims())
	p.b = dim{"b", c.Batch}
	p.s, p.target = p.at.tokens("s", c.seq()), p.at.tokens("st", or(c.TargetSeq, c.seq()))
	p.local = p.s
	if c.SeqPar {
		p.local = divided(p.s, "t", c.Tensor)
	}
	p.tokens = shape{p.b, p.s}
	p.x = shape{p.b, p.local, p.d.h}
	p.step = setupStep
	p.arrived = p.gradientArrives
	p.parameters()
	p.buckets()
	return p
}

// Parts of a step that a ledger does not list.
const (
	setupStep   Step = "setup"
	betweenStep Step = "between steps"
)

// parameters allocates the weights of this GPU, each tensor by itself.
func (p *program) parameters() {
	list := p.m.ParamList()
	for i := range list {
		param := &list[i]
		if !p.at.holds(param, p.m) {
			continue
		}
		weight := p.p.weight
		if p.c.Quant != "" && p.c.Frozen && param.Layer >= 0 && len(param.Shape) > 1 {
			weight = p.c.Quant
		}
		p.addLeaf(param, groupOf(param), weight, p.p.grad, !p.c.Frozen)
	}
	if p.c.LoRARank > 0 {
		p.adapters(list)
	}
	for _, l := range p.order {
		p.hold(l)
	}
}

// addLeaf makes a parameter of this GPU known.
func (p *program) addLeaf(param *Param, line string, weight, grad DType, trained bool) *leaf {
	l := &leaf{param: param, line: line, trained: trained, gradType: grad}
	l.whole = p.at.shape(param)
	l.shape, l.dtype = l.whole, weight
	l.tied = param.Name == "tokens.weight" && p.m.Tied && p.m.Head != NoHead && p.m.Head != ClassHead && p.c.Pipeline == 1
	if trained {
		l.from = p.leafNode(l)
	}
	p.leaves[param.Name] = l
	p.order = append(p.order, l)
	return l
}

// hold allocates what this GPU holds of a parameter: weights, master weights and
// gradients that outlive a step.
func (p *program) hold(l *leaf) {
	own := l.shape
	if p.c.ZeRO >= 3 {
		own = p.sharded(l)
	}
	gradients := "gradients"
	if p.c.ZeRO >= 2 && p.c.shards() > 1 {
		gradients = "gradients, before they are divided"
	}
	l.label = p.name(GradientClass, attribution.Gradient, gradients, l.shape, l.gradType)
	if p.c.Offload != OffloadAll {
		l.buffer = p.alloc(ParameterClass, attribution.Parameter, l.line, own, l.dtype)
	} else {
		l.buffer = &buffer{refs: 1, label: p.name(ParameterClass, attribution.Parameter, l.line, own, l.dtype)}
	}
	if p.c.ZeRO >= 3 {
		p.unitOf(l).add(l)
	}
	if !l.trained {
		return
	}
	if p.p.master != "" && p.c.Offload == NoOffload {
		p.alloc(MasterClass, attribution.OptimizerState, "master weights", p.stateShape(l), p.p.master)
	}
	if p.accumulates() {
		shape := l.shape
		if p.c.ZeRO >= 2 {
			shape = p.sharded(l)
		}
		l.main = p.alloc(GradientClass, attribution.Gradient, "gradients", shape, l.gradType)
	}
}

// accumulates reports whether gradients are added to buffers that are there all
// the time, as beside master weights, rather than kept as autograd makes them.
func (p *program) accumulates() bool { return p.p.master != "" && p.c.Offload == NoOffload }

// input allocates a part of the batch, which the training loop holds until the
// backward has ended.
func (p *program) input(name string, s shape, d DType) *buffer {
	b := p.alloc(ActivationClass, attribution.Input, name, s, d)
	p.inputs = append(p.inputs, b)
	return b
}

// leaf returns a parameter by its name, nil when the model does not have it.
func (p *program) leaf(name string) *leaf { return p.leaves[name] }

// norm is LayerNorm or RMSNorm, as the model has it.
func (p *program) norm(x *tensor, name, line string) *tensor {
	if p.m.RMSNorm {
		return p.rmsNorm(x, p.leaf(name+".weight"), line)
	}
	return p.layerNorm(x, p.leaf(name+".weight"), p.leaf(name+".bias"), line)
}

// dense is a linear layer of a block, with its adapter.
func (p *program) dense(x *tensor, name, line string, out dim) *tensor {
	full := p.gatherSequence(x, name)
	y := p.linear(full, p.leaf(name+".weight"), p.leaf(name+".bias"), line, out)
	y = p.lora(full, y, name, out)
	p.free(full)
	return p.scatterSequence(y, name)
}

func blockName(i int64) string { return "blocks." + strconv.FormatInt(i, 10) + "." }

// blocks runs the blocks of this GPU from the first on, each under a checkpoint
// if the configuration says so, which holds what they share. It takes over x.
func (p *program) blocks(x *tensor, first, n int64, block func(i int64, x *tensor) *tensor, shared ...*tensor) *tensor {
	for i := first; i < first+n; i++ {
		if i < p.at.first || i >= p.at.last {
			continue
		}
		p.where = "block " + strconv.FormatInt(i+1, 10)
		call := func(in []*tensor) *tensor { return block(i, in[0]) }
		u := p.enterUnit(i, x)
		var y *tensor
		if p.c.Checkpoint == FullCheckpoint {
			y = p.checkpoint(call, append([]*tensor{x}, shared...)...)
		} else {
			y = call([]*tensor{x})
		}
		p.leaveUnit(u, y)
		p.free(x)
		x = y
	}
	return x
}

// core runs the core of an attention, under a checkpoint of its own with
// selective recomputation.
func (p *program) core(f func([]*tensor) *tensor, inputs ...*tensor) *tensor {
	if p.c.Checkpoint == SelectiveCheckpoint {
		return p.checkpoint(f, inputs...)
	}
	return f(inputs)
}

// trainStep runs forward, backward and optimizer step once.
func (p *program) trainStep(o *optimizer) {
	p.enter(betweenStep)
	for _, l := range p.order {
		if !p.c.KeepGrads {
			p.drop(l.grad, l.kept)
			l.grad, l.kept = nil, nil
		}
	}
	inFlight := p.at.inFlight
	for range min(p.c.Accumulation, 2) {
		var ends []*tensor
		held, inputs := p.kept, p.inputs // until the caller has the next ones
		p.kept, p.inputs = nil, nil
		for range inFlight {
			p.enter(ForwardStep)
			ends = append(ends, p.forwardPass())
		}
		p.free(held...)
		p.drop(inputs...)
		for _, end := range ends {
			p.enter(BackwardStep)
			p.backward(end)
			if p.units != nil {
				p.scatter(p.root())
				p.divide(p.root())
			}
		}
	}
	p.where = "optimizer step"
	p.enter(OptimizerStep)
	o.step(p)
	p.settle()
	p.enter(betweenStep)
	p.free(p.kept...)
	p.drop(p.inputs...)
	p.kept, p.inputs = nil, nil
}

// forwardPass runs the model under autocast or not, and returns the loss or what
// the next stage is sent.
func (p *program) forwardPass() (end *tensor) {
	run := func() { end = p.forward() }
	if p.p.autocast {
		p.autocast(p.p.compute, run)
	} else {
		run()
	}
	return end
}

// forward is the model's own code.
func (p *program) forward() *tensor {
	if p.m.Style == PlainStyle {
		return p.plainForward()
	}
	switch p.m.Arch {
	case Llama:
		return p.llamaForward()
	case BERT:
		return p.bertForward()
	case T5:
		return p.t5Forward()
	case ViT:
		return p.vitForward()
	}
	return p.hfGPTForward()
}
