package budget

import "github.com/snapview/snapview/attribution"

// rmsNorm is RMSNorm as the models of transformers write it out: the variance in
// fp32, then a product with the inverse root and one with the weights. Each
// product saves its factors, so that 16-bit inputs keep an fp32 copy.
func (p *program) rmsNorm(x *tensor, w *leaf, name string) *tensor {
	s, rows := x.shape, x.shape[:len(x.shape)-1]
	wide := p.cast(x, "norm inputs in fp32", F32)
	scale := p.inverseRoot(wide, rows)
	factor := wide
	if p.m.Arch == T5 { // which multiplies what it was given, not the fp32 copy
		factor = x
	}
	normal := p.timesRows(factor, scale, s)
	p.free(scale)
	if p.m.NormOffset {
		y := p.timesOffset(normal, w, x.dtype, name)
		p.free(normal, wide)
		return y
	}
	narrow := p.cast(normal, "normalised, before the norm's weights", x.dtype)
	y := p.timesWeight(narrow, w, name)
	p.free(narrow, normal, wide)
	return y
}

// inverseRoot is rsqrt(mean(x²) + ε) of each row.
func (p *program) inverseRoot(x *tensor, rows shape) *tensor {
	square := p.make("squares in norms", x.shape, F32)
	square.out(p.record("pow", []*tensor{x}, []*buffer{x.buffer}, func(g []*buffer) []*buffer {
		a, b := p.gradOf(x.shape, F32), p.gradOf(x.shape, F32)
		out := p.gradOf(x.shape, F32)
		p.drop(b, a)
		return []*buffer{out}
	}))
	mean := p.make("mean squares of norms", rows, F32)
	mean.out(p.record("mean", []*tensor{square}, nil, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, F32)}
	}))
	p.free(square)
	shifted := p.scaled(mean, "mean squares of norms")
	shifted.from.passes()
	root := p.make("inverse roots of norms", rows, F32)
	root.out(p.record("rsqrt", []*tensor{shifted}, []*buffer{root.buffer}, func(g []*buffer) []*buffer {
		a, b := p.gradOf(rows, F32), p.gradOf(rows, F32)
		out := p.gradOf(rows, F32)
		p.drop(b, a)
		return []*buffer{out}
	}))
	p.free(shifted, mean)
	return root
}

// passes makes a node hand its gradient on as it is.
func (n *gradNode) passes() {
	if n != nil {
		n.back = func(g []*buffer) []*buffer { return []*buffer{g[0].hold()} }
	}
}

// timesRows is x times one number a row.
func (p *program) timesRows(x, scale *tensor, s shape) *tensor {
	y := p.make("normalised rows in fp32", s, F32)
	n := p.record("mul", []*tensor{x, scale}, []*buffer{x.buffer, scale.buffer}, func(g []*buffer) []*buffer {
		other, self := p.gradOf(s, F32), (*buffer)(nil)
		if wants(x) {
			self = p.gradOf(s, F32)
		}
		return []*buffer{self, other}
	})
	if n != nil {
		n.reduce = func(g []*buffer) {
			p.fit(g[:1], F32, x)
			old := g[1]
			g[1] = p.gradOf(scale.shape, F32)
			p.drop(old)
		}
	}
	return y.out(n)
}

// timesWeight is x times a weight for each column.
func (p *program) timesWeight(x *tensor, w *leaf, name string) *tensor {
	d := promote(x.dtype, w.dtype.active())
	y := p.make(name, x.shape, d)
	var saved []*buffer
	if wants(&w.tensor) {
		saved = append(saved, x.buffer)
	}
	n := p.record(name, []*tensor{x, &w.tensor}, saved, func(g []*buffer) []*buffer {
		grads := make([]*buffer, 2)
		if wants(x) {
			grads[0] = p.gradOf(x.shape, d)
		}
		if wants(&w.tensor) {
			grads[1] = p.gradOf(x.shape, d)
		}
		return grads
	})
	if n != nil {
		n.reduce = func(g []*buffer) {
			p.fit(g[:1], d, x)
			if g[1] != nil {
				old := g[1]
				g[1] = p.leafGrad(w)
				p.reduction(x.shape.elements()/w.shape.elements(), w.shape.elements())
				p.drop(old)
			}
		}
	}
	return y.out(n)
}

// timesOffset is x·(1 + w) in fp32, converted afterwards, as Gemma has it.
func (p *program) timesOffset(x *tensor, w *leaf, d DType, name string) *tensor {
	wide := &tensor{buffer: p.alloc(ActivationClass, attribution.Activation, "norm weights in fp32", w.shape, F32), shape: w.shape, dtype: F32, from: w.from}
	product := p.make(name+", in fp32", x.shape, F32)
	n := p.record(name, []*tensor{x, &w.tensor}, []*buffer{x.buffer, wide.buffer}, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, F32), p.gradOf(x.shape, F32)}
	})
	if n != nil {
		n.reduce = func(g []*buffer) {
			old := g[1]
			g[1] = p.leafGrad(w)
			p.reduction(x.shape.elements()/w.shape.elements(), w.shape.elements())
			p.drop(old)
		}
	}
	product.out(n)
	y := p.cast(product, name, d)
	p.free(wide, product)
	return y
}
