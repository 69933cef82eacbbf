package budget

// llamaForward is a decoder as transformers writes Llama and its kin: RMSNorm,
// rotary positions, separate projections, a gated MLP or experts.
func (p *program) llamaForward() *tensor {
	data := p.input("tokens", p.tokens, I64)
	p.where = "embedding"
	x := p.received()
	embedded := x
	if x == nil {
		embedded = p.tokenEmbedding(data)
		x = embedded.view(p.x)
	} else {
		embedded = nil
	}
	mask := p.eagerMask(x.dtype)
	rotation := p.rotation(x.dtype)
	x = p.blocks(x, 0, p.m.Layers, func(i int64, x *tensor) *tensor { return p.llamaBlock(i, x, rotation) }, rotation...)
	p.free(rotation...)
	if !p.at.ends() {
		p.free(embedded)
		p.drop(mask)
		return x
	}
	p.where = "loss"
	normed := p.outNorm(x, "final_norm", "final norm")
	p.free(embedded)
	p.drop(mask)
	return p.loss(normed, data)
}

// eagerMask is the additive mask that eager attention shares among the blocks;
// nil for kernels that mask by themselves.
func (p *program) eagerMask(d DType) *buffer {
	if p.c.Attention != Eager {
		return nil
	}
	return p.temp("attention mask", shape{p.b, p.s, p.s}, d)
}

// rotation makes the sines and cosines of rotary positions.
func (p *program) rotation(d DType) []*tensor {
	s := shape{p.s, p.d.d}
	s[1] = p.rotaryWidth()
	angles := p.temp("rotary angles", s, F32)
	cos, sin := p.make("rotary sines and cosines", s, d), p.make("rotary sines and cosines", s, d)
	p.drop(angles)
	return []*tensor{cos, sin}
}

func (p *program) llamaBlock(i int64, x *tensor, rotation []*tensor) *tensor {
	name := blockName(i)
	normed := p.rmsNorm(x, p.leaf(name+"attention_norm.weight"), "norm before attention")
	attended := p.llamaAttention(name+"attention", normed, rotation)
	p.free(normed)
	attended = p.outNorm(attended, name+"attention_out_norm", "norm after attention")
	y := p.add(x, attended, "residual after attention")
	p.free(attended)

	normed = p.rmsNorm(y, p.leaf(name+"mlp_norm.weight"), "norm before MLP")
	var out *tensor
	if p.leaf(name+"router.weight") != nil {
		out = p.experts(name, normed)
	} else {
		out = p.gatedMLP(name+"mlp", normed, p.d.f)
	}
	p.free(normed)
	out = p.outNorm(out, name+"mlp_out_norm", "norm after MLP")
	z := p.add(y, out, "residual after MLP")
	p.free(out, y)
	return z
}

// droppedMLP is the dropout that T5 has inside of its MLP. It takes over x.
func (p *program) droppedMLP(x *tensor) *tensor {
	if p.m.Arch != T5 {
		return x
	}
	y := p.dropout(x, p.m.Dropout, "MLP activation after dropout")
	p.free(x)
	return y
}

// gatedMLP is down(act(gate(x)) · up(x)), or down(act(up(x))) without a gate.
func (p *program) gatedMLP(name string, x *tensor, width dim) *tensor {
	if !p.m.Gated {
		up := p.dense(x, name+".up", "MLP up projection", width)
		active := p.activation(up)
		p.free(up)
		active = p.droppedMLP(active)
		down := p.dense(active, name+".down", "MLP down projection", p.d.h)
		p.free(active)
		return down
	}
	gate := p.dense(x, name+".gate", "MLP gate projection", width)
	active := p.activation(gate)
	p.free(gate)
	up := p.dense(x, name+".up", "MLP up projection", width)
	both := p.product(active, up, "MLP gated")
	p.free(active, up)
	both = p.droppedMLP(both)
	down := p.dense(both, name+".down", "MLP down projection", p.d.h)
	p.free(both)
	return down
}

func (p *program) llamaAttention(name string, x *tensor, rotation []*tensor) *tensor {
	d := p.d
	if p.m.KVRank != 0 {
		return p.latentAttention(name, x, rotation)
	}
	query, key := shape{p.b, d.a, p.s, d.d}, shape{p.b, d.g, p.s, d.d}
	eager := p.c.Attention == Eager
	q := p.headed(x, name, "query", "queries", d.q, query, false)
	k := p.headed(x, name, "key", "keys", d.kv, key, false)
	v := p.turned(p.dense(x, name+".value", "values", d.kv), key, eager && d.g.n > 1)
	turnedQ, turnedK := p.rotated(q, rotation, "queries rotated"), p.rotated(k, rotation, "keys rotated")
	p.free(q, k)
	merged := p.core(p.hfAttention, turnedQ, turnedK, v)
	y := p.dense(merged, name+".out", "attention output projection", d.h)
	p.free(merged, turnedQ, turnedK, v)
	return y
}

// headed projects queries or keys and normalises them where the model does.
func (p *program) headed(x *tensor, attention, name, line string, width dim, heads shape, copied bool) *tensor {
	y := p.dense(x, attention+"."+name, line, width)
	norm := attention + "." + name + "_norm"
	if p.leaf(norm+".weight") == nil {
		return p.turned(y, heads, copied)
	}
	if p.m.QKNorm == HeadQKNorm {
		y = p.turned(y, shape{heads[0], heads[2], heads[1], heads[3]}, false)
	}
	normed := p.norm(y, norm, line+" normalised")
	p.free(y)
	return p.turned(normed, heads, copied)
}

// hfAttention is the core of attention as transformers dispatches it; it returns
// the heads of each token side by side.
func (p *program) hfAttention(in []*tensor) *tensor {
	q, k, v := in[0], in[1], in[2]
	out := p.merged(q, v)
	if p.keepsNoScores(q, k) {
		return p.fused(q, k, v, attention{query: q.shape, key: k.shape, out: out, efficient: p.c.Attention == Efficient})
	}
	scores := shape{q.shape[0], q.shape[1], q.shape[2], p.s}
	d := p.computes(q)
	qd, kd := p.cast(q, "inputs cast by autocast", d), p.cast(k, "inputs cast by autocast", d)
	qc := p.copied(qd, "queries copied for the product", q.shape)
	kc := p.perQuery(kd, q.shape, "keys copied for the product")
	p.free(qd, kd)
	raw := p.matmul(qc, kc, "scores", scores)
	p.free(qc, kc)
	scaled := p.scaled(raw, "scaled scores")
	p.free(raw)
	scaled = p.capped(scaled, "scores")
	masked := p.make("masked scores", scores, promote(scaled.dtype, p.p.weight))
	if n := p.record("add", []*tensor{scaled}, nil, func(g []*buffer) []*buffer { return []*buffer{g[0].hold()} }); n != nil {
		n.reduce = func(g []*buffer) { p.fit(g, masked.dtype, scaled) }
		masked.out(n)
	}
	p.free(scaled)
	d = masked.dtype
	if p.m.Arch == Llama || p.m.Arch == ViT { // which ask for it
		d = F32
	}
	probabilities := p.softmax(masked, "attention probabilities", d)
	narrow := p.cast(probabilities, "attention probabilities in 16 bits", p.computes(v))
	p.free(probabilities, masked)
	kept := p.dropout(narrow, p.m.AttentionDropout, "attention probabilities after dropout")
	p.free(narrow)
	vc := p.perQuery(v, q.shape, "values copied for the product")
	y := p.matmul(kept, vc, "attention results by head", q.shape)
	p.free(vc)
	y = p.turned(y, q.shape, true)
	merged := p.copied(y, "attention results", out)
	p.free(y, kept)
	return merged
}

// merged is the shape of the results with the heads of each token side by side.
func (p *program) merged(q, v *tensor) shape {
	if v.shape[3].n == p.d.d.n {
		return shape{q.shape[0], q.shape[2], p.d.q}
	}
	return shape{q.shape[0], q.shape[2], {v.shape[3].symbol + "·a", v.shape[3].n * q.shape[1].n}}
}

// capped is tanh(x/c)·c where the model caps, as Gemma 2 does. It takes over x.
func (p *program) capped(x *tensor, name string) *tensor {
	if !p.m.Softcap {
		return x
	}
	divided := p.scaled(x, name+" capped")
	p.free(x)
	tanh := p.pointwise(divided, "tanh of "+name, true)
	p.free(divided)
	y := p.scaled(tanh, name+" capped")
	p.free(tanh)
	return y
}

// keepsNoScores reports whether a fused kernel serves: the memory-efficient one,
// which fp32 takes, knows no groups of query heads, and then PyTorch falls back
// to plain products.
func (p *program) keepsNoScores(q, k *tensor) bool {
	grouped := k.shape[1].n != q.shape[1].n
	return p.c.Attention != Eager && (!grouped || p.computes(q) != F32)
}

// perQuery copies keys or values, once for each query head of their group.
func (p *program) perQuery(x *tensor, s shape, name string) *tensor {
	y := p.copied(x, name, s)
	y.whole = true
	if x.shape[1].n != s[1].n && y.from != nil {
		y.from.reduce = func(g []*buffer) {
			old := g[0]
			g[0] = p.gradOf(x.shape, x.dtype)
			p.drop(old)
		}
	}
	return y
}

// rotated is x·cos + rotate_half(x)·sin. Sines and cosines want no gradient, so
// that x is not saved.
func (p *program) rotated(x *tensor, rotation []*tensor, name string) *tensor {
	half := x.shape.of(dim{x.shape[len(x.shape)-1].symbol + "/2", x.shape[len(x.shape)-1].n / 2})
	direct := p.timesConstant(x, rotation[0], "rotation parts")
	negated := p.make("rotation parts", half, x.dtype)
	turned := p.make("rotation parts", x.shape, x.dtype)
	p.free(negated)
	turned.out(p.record("rotate_half", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		part := p.gradOf(half, x.dtype)
		a := p.gradOf(x.shape, x.dtype)
		p.drop(part)
		b := p.gradOf(x.shape, x.dtype)
		p.drop(b)
		return []*buffer{a}
	}))
	crossed := p.timesConstant(turned, rotation[1], "rotation parts")
	p.free(turned)
	y := p.add(direct, crossed, name)
	p.free(direct, crossed)
	return y
}

// timesConstant is x times something that wants no gradient.
func (p *program) timesConstant(x, constant *tensor, name string) *tensor {
	y := p.make(name, x.shape, promote(x.dtype, constant.dtype))
	n := p.record(name, []*tensor{x}, []*buffer{constant.buffer}, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, y.dtype)}
	})
	if n != nil {
		n.reduce = func(g []*buffer) { p.fit(g, y.dtype, x) }
	}
	return y.out(n)
}

// hfLoss is the output layer and the loss of transformers: logits in fp32,
// labels shifted. It takes over x.
func (p *program) hfLoss(x *tensor, labels *buffer) *tensor {
	logits := p.capped(p.logits(x, p.outputWeights()), "logits")
	wide := logits.view(logits.shape)
	if logits.dtype != F32 {
		p.free(wide)
		wide = p.castLogits(logits, "logits in fp32")
	}
	padded := p.temp("shifted labels", p.tokens, I64)
	shifted := p.temp("shifted labels", p.tokens, I64)
	loss := p.crossEntropy(wide, shifted)
	p.free(wide)
	p.drop(padded, shifted)
	p.giveUp(logits)
	p.free(x)
	return loss
}
