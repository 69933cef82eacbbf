package budget

import (
	"strconv"

	"github.com/snapview/snapview/attribution"
)

// A program runs a model on a tape, as its published implementation does.
type program struct {
	*tape
	c *Config
	m *Model
	p policy
	d modelDims

	leaves map[string]*leaf
	order  []*leaf

	b, s dim       // sequences and tokens
	kept []*tensor // by the caller until the backward has ended

	tokens shape // b·s
	x      shape // b·s·h
}

func newProgram(c *Config, card Card) *program {
	p := &program{tape: newTape(card), c: c, m: &c.Model, p: c.policy(), d: c.Model.dims(), leaves: map[string]*leaf{}}
	p.b, p.s = dim{"b", c.Batch}, dim{"s", c.Seq}
	p.tokens = shape{p.b, p.s}
	p.x = shape{p.b, p.s, p.d.h}
	p.step = "setup"
	p.parameters()
	return p
}

// parameters allocates the weights, each tensor by itself.
func (p *program) parameters() {
	list := p.m.ParamList()
	for i := range list {
		param := &list[i]
		weight := p.p.weight
		if p.c.Quant != "" && p.c.Frozen && param.Layer >= 0 && len(param.Shape) > 1 {
			weight = p.c.Quant
		}
		p.addLeafOf(param, "weights", weight, p.p.grad, !p.c.Frozen)
	}
	if p.c.LoRARank > 0 {
		p.adapters(list)
	}
}

// addLeafOf allocates a parameter.
func (p *program) addLeafOf(param *Param, line string, weight, grad DType, trained bool) {
	l := &leaf{param: param, trained: trained, gradType: grad}
	l.shape, l.dtype = param.Shape, weight
	l.label = p.name(GradientClass, attribution.Gradient, "gradients", l.shape, l.gradType)
	l.buffer = p.alloc(ParameterClass, attribution.Parameter, line, l.shape, l.dtype)
	if trained {
		l.from = p.leafNode(l)
	}
	p.leaves[param.Name] = l
	p.order = append(p.order, l)
}

// leaf returns a parameter by its name, nil when the model does not have it.
func (p *program) leaf(name string) *leaf { return p.leaves[name] }

// norm is LayerNorm or RMSNorm, as the model has it.
func (p *program) norm(x *tensor, name, line string) *tensor {
	return p.layerNorm(x, p.leaf(name+".weight"), p.leaf(name+".bias"), line)
}

// dense is a linear layer of the model.
func (p *program) dense(x *tensor, name, line string, out dim) *tensor {
	y := p.linear(x, p.leaf(name+".weight"), p.leaf(name+".bias"), line, out)
	return p.lora(x, y, name, out)
}

func blockName(i int64) string { return "blocks." + strconv.FormatInt(i, 10) + "." }

// blocks runs the blocks, each under a checkpoint if the configuration says so.
// It takes over x.
func (p *program) blocks(x *tensor, n int64, block func(i int64, x *tensor) *tensor) *tensor {
	for i := range n {
		p.where = "block " + strconv.FormatInt(i+1, 10)
		call := func(in []*tensor) *tensor { return block(i, in[0]) }
		var y *tensor
		if p.c.Checkpoint == FullCheckpoint {
			y = p.checkpoint(call, x)
		} else {
			y = call([]*tensor{x})
		}
		p.free(x)
		x = y
	}
	return x
}

// trainStep runs forward, backward and optimizer step once.
func (p *program) trainStep(forward func() *tensor, o *optimizer) {
	p.enter("between")
	for _, l := range p.order {
		p.drop(l.grad)
		l.grad = nil
	}
	for range min(p.c.Accumulation, 2) {
		p.enter(ForwardStep)
		var loss *tensor
		if p.p.autocast {
			p.autocast(p.p.compute, func() { loss = forward() })
		} else {
			loss = forward()
		}
		p.enter(BackwardStep)
		p.backward(loss.from)
		p.free(loss)
		p.free(p.kept...)
		p.kept = nil
	}
	p.enter(OptimizerStep)
	p.where = "optimizer step"
	o.step(p)
}
