package budget

// experts is a layer of experts as transformers runs them: the tokens are sorted
// by expert, each chosen expert's matrices multiply its tokens (grouped_mm), and
// the results are weighted and summed. No token is dropped.
func (p *program) experts(name string, x *tensor) *tensor {
	m, d := p.m, p.d
	choices := dim{"k·s", p.m.ActiveExperts * p.s.n}
	sorted := shape{p.b, choices, d.h}
	scores := p.linear(x, p.leaf(name+"router.weight"), nil, "router scores", d.experts)
	chances := p.softmax(scores, "router probabilities", F32)
	p.free(scores)
	weights := p.chosen(chances, shape{p.b, choices})
	p.free(chances)

	tokens := p.gathered(x, sorted, "tokens sorted by expert")
	width := d.fe
	up := width
	if m.Gated {
		up = dim{"2" + width.symbol, 2 * width.n}
	}
	both := p.grouped(tokens, p.leaf(name+"experts.up"), "expert up projections", up)
	p.free(tokens)
	masked := p.scaled(both, "expert up projections, padding zeroed")
	p.free(both)
	active := p.expertActivation(masked, width)
	p.free(masked)
	down := p.grouped(active, p.leaf(name+"experts.down"), "expert down projections", d.h)
	p.free(active)
	out := p.scaled(down, "expert down projections, padding zeroed")
	p.free(down)
	weighted := p.weighted(out, weights)
	p.free(out, weights)
	ordered := p.gathered(weighted, sorted, "expert results in order")
	p.free(weighted)
	sum := p.summed(ordered, p.x)
	p.free(ordered)
	y := p.cast(sum, "expert results", x.dtype)
	p.free(sum)
	if m.SharedFFN == 0 {
		return y
	}
	shared := p.gatedMLP(name+"shared", x, dim{"fs", m.SharedFFN})
	if w := p.leaf(name + "shared_gate.weight"); w != nil {
		shared = p.sharedGate(x, shared, w)
	}
	total := p.add(y, shared, "shared and routed experts")
	p.free(y, shared)
	return total
}

// sharedGate weighs what the shared expert returns by one number a token. It takes
// over that.
func (p *program) sharedGate(x, shared *tensor, w *leaf) *tensor {
	score := p.linear(x, w, nil, "gate of the shared expert", dim{"1", 1})
	gate := p.pointwise(score, "gate of the shared expert", true)
	y := p.timesRows(shared, gate, shared.shape)
	p.free(score, gate, shared)
	return y
}

// expertActivation is act(gate)·up of one matrix that holds both.
func (p *program) expertActivation(x *tensor, width dim) *tensor {
	if !p.m.Gated {
		return p.activation(x)
	}
	halves := p.parts(x, width, width)
	active := p.pointwise(halves[0], "expert activation", false)
	y := p.product(active, halves[1], "expert gated")
	p.free(active, halves[0], halves[1])
	return y
}

// chosen picks the probabilities of the experts that serve a token.
func (p *program) chosen(x *tensor, s shape) *tensor {
	y := p.make("weights of chosen experts", s, x.dtype)
	return y.out(p.record("topk", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, x.dtype)}
	}))
}

// gathered copies rows by an index.
func (p *program) gathered(x *tensor, s shape, name string) *tensor {
	y := p.make(name, s, x.dtype)
	return y.out(p.record("index", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, x.dtype)}
	}))
}

// grouped multiplies each expert's tokens with its matrix (torch.nn.functional.
// grouped_mm).
func (p *program) grouped(x *tensor, w *leaf, name string, out dim) *tensor {
	d := w.dtype // autocast does not know grouped_mm
	weight, input := w.view(w.shape), p.cast(x, "inputs cast for experts", d)
	y := p.make(name, x.shape.of(out), d)
	p.library(false)
	var saved [2]*buffer
	if wants(weight) {
		saved[0] = input.buffer
	}
	if wants(input) {
		saved[1] = weight.buffer
	}
	y.out(p.record(name, []*tensor{input, weight}, saved[:], func(g []*buffer) []*buffer {
		grads := make([]*buffer, 2)
		if wants(weight) {
			grads[1] = p.weightGrad(weight, w)
		}
		if wants(input) {
			grads[0] = p.gradOf(x.shape, d)
		}
		return grads
	}))
	p.free(input, weight)
	return y
}

// weighted multiplies each row of x with its weight in fp32.
func (p *program) weighted(x, weights *tensor) *tensor {
	d := promote(x.dtype, weights.dtype)
	y := p.make("expert results weighted", x.shape, d)
	n := p.record("mul", []*tensor{x, weights}, []*buffer{x.buffer, weights.buffer}, func(g []*buffer) []*buffer {
		other := p.gradOf(x.shape, d)
		return []*buffer{p.gradOf(x.shape, d), other}
	})
	if n != nil {
		n.reduce = func(g []*buffer) {
			p.fit(g[:1], d, x)
			old := g[1]
			g[1] = p.gradOf(weights.shape, weights.dtype)
			p.drop(old)
		}
	}
	return y.out(n)
}

// summed adds what several experts return for a token.
func (p *program) summed(x *tensor, s shape) *tensor {
	y := p.make("expert results summed", s, x.dtype)
	return y.out(p.record("sum", []*tensor{x}, nil, func(g []*buffer) []*buffer { return []*buffer{g[0].hold()} }))
}
