package budget

// The plain style is a transformer as people write it themselves: PyTorch's
// built-in functions, separate or joined projections, norms before or behind the
// residual, LayerNorm or RMSNorm, a learned position or a rotation, a gated MLP or
// not. Each part of a Model has its place here.

// plainForward is a decoder, or for arch bert an encoder, and its loss.
func (p *program) plainForward() *tensor {
	data := p.input("tokens and targets", shape{p.b, dim{"(" + p.s.symbol + "+1)", p.s.n + 1}}, I64)
	x := p.received()
	if x == nil {
		x = p.plainEmbedding(data)
	}
	var rotation []*tensor
	if p.m.Rotary || p.m.KVRank != 0 {
		rotation = p.rotation(x.dtype)
	}
	x = p.blocks(x, 0, p.m.Layers, func(i int64, x *tensor) *tensor { return p.plainBlock(i, x, rotation) }, rotation...)
	p.free(rotation...)
	if !p.at.ends() {
		return x
	}
	p.where = "loss"
	return p.loss(p.outNorm(x, "final_norm", "final norm"), data)
}

func (p *program) plainEmbedding(data *buffer) *tensor {
	p.where = "embedding"
	index := p.temp("positions", shape{p.s}, I64)
	tokens := p.tokenEmbedding(data)
	x := tokens.view(p.x)
	if w := p.leaf("positions.weight"); w != nil {
		positions := p.embedding(index, w, "position embeddings", shape{p.local, p.d.h})
		p.free(x)
		x = p.addRows(tokens, positions, "embeddings")
		p.free(positions)
	}
	p.free(tokens)
	if w := p.leaf("token_types.weight"); w != nil {
		types := p.embedding(data, w, "token type embeddings", p.x)
		sum := p.add(x, types, "embeddings")
		p.free(x, types)
		x = sum
	}
	p.drop(index)
	return p.dropped(p.outNorm(x, "embedding_norm", "norm of the embeddings"))
}

// addRows is x + y where y is the same for each sequence, so that its gradient
// is a sum.
func (p *program) addRows(x, y *tensor, name string) *tensor {
	z := p.make(name, x.shape, promote(x.dtype, y.dtype))
	n := p.record("add", []*tensor{x, y}, nil, passBoth)
	if n != nil {
		n.reduce = func(g []*buffer) {
			old := g[1]
			g[1] = p.gradOf(y.shape, y.dtype)
			p.drop(old)
		}
	}
	return z.out(n)
}

func (p *program) plainBlock(i int64, x *tensor, rotation []*tensor) *tensor {
	name := blockName(i)
	if p.m.PostNorm {
		return p.plainPostNormBlock(name, x, rotation)
	}
	normed := p.norm(x, name+"attention_norm", "norm before attention")
	attended := p.plainAttention(name+"attention", normed, rotation)
	if p.m.Parallel {
		return p.parallelBlock(name, x, normed, attended, p.plainMLP)
	}
	p.free(normed)
	attended = p.outNorm(attended, name+"attention_out_norm", "norm after attention")
	y := p.add(x, attended, "residual after attention")
	p.free(attended)

	normed = p.norm(y, name+"mlp_norm", "norm before MLP")
	out := p.plainMLP(name, normed)
	p.free(normed)
	out = p.outNorm(out, name+"mlp_out_norm", "norm after MLP")
	z := p.add(y, out, "residual after MLP")
	p.free(out, y)
	return z
}

// plainPostNormBlock has its norms behind the residuals, as the first transformer.
func (p *program) plainPostNormBlock(name string, x *tensor, rotation []*tensor) *tensor {
	attended := p.plainAttention(name+"attention", x, rotation)
	sum := p.add(x, attended, "residual after attention")
	p.free(attended)
	y := p.norm(sum, name+"attention_norm", "norm after attention")
	p.free(sum)
	out := p.plainMLP(name, y)
	sum = p.add(y, out, "residual after MLP")
	p.free(out, y)
	z := p.norm(sum, name+"mlp_norm", "norm after MLP")
	p.free(sum)
	return z
}

// plainMLP is the MLP of a block, or its experts, with dropout.
func (p *program) plainMLP(name string, x *tensor) *tensor {
	if p.leaf(name+"router.weight") != nil {
		return p.dropped(p.experts(name, x))
	}
	return p.dropped(p.gatedMLP(name+"mlp", x, p.d.f))
}

func (p *program) plainAttention(name string, x *tensor, rotation []*tensor) *tensor {
	if p.m.KVRank != 0 {
		return p.dropped(p.latentAttention(name, x, rotation))
	}
	q, k, v := p.heads(name, x, rotation)
	if rotation != nil { // in fp32 under autocast, and converted back
		q, k = p.converted(q, v.dtype), p.converted(k, v.dtype)
	}
	k, v = p.repeated(k, q.shape, "keys repeated for their group"), p.repeated(v, q.shape, "values repeated for their group")
	merged := p.core(p.plainCore, q, k, v)
	y := p.dense(merged, name+".out", "attention output projection", p.d.h)
	p.free(q, k, v, merged)
	return p.dropped(y)
}

// repeated has a head of keys or values for each query head of its group
// (repeat_interleave). It takes over x.
func (p *program) repeated(x *tensor, query shape, name string) *tensor {
	if x.shape[1].n == query[1].n {
		return x
	}
	y := p.perQuery(x, x.shape.with(1, query[1]), name)
	p.free(x)
	return y
}

// converted is x in another type. It takes over x.
func (p *program) converted(x *tensor, d DType) *tensor {
	y := p.cast(x, "queries and keys converted", d)
	p.free(x)
	return y
}

// plainCore is attention itself, written out or by a fused kernel. It returns the
// heads of each token side by side.
func (p *program) plainCore(in []*tensor) *tensor {
	q, k, v := in[0], in[1], in[2]
	if p.c.Attention != Eager {
		return p.fused(q, k, v, attention{query: q.shape, key: k.shape, out: p.merged(q, v), efficient: p.c.Attention == Efficient})
	}
	return p.eagerAttention(q, k, v)
}

// dropped is dropout of hidden states. It takes over x.
func (p *program) dropped(x *tensor) *tensor {
	y := p.dropout(x, p.m.Dropout, "hidden states after dropout")
	p.free(x)
	return y
}

// eagerAttention writes attention out: scores, mask, softmax, and the product
// with the values.
func (p *program) eagerAttention(q, k, v *tensor) *tensor {
	scores := shape{q.shape[0], q.shape[1], q.shape[2], p.s}
	d := p.computes(q)
	qd, kd := p.cast(q, "inputs cast by autocast", d), p.cast(k, "inputs cast by autocast", d)
	qc, kc := p.flat(qd, "queries copied for the product"), p.flat(kd, "keys copied for the product")
	p.free(qd, kd)
	raw := p.matmul(qc, kc, "scores", scores)
	p.free(kc, qc)
	scaled := p.scaled(raw, "scaled scores")
	p.free(raw)
	masked, keep := p.causal(p.capped(scaled, "scores"))
	weights := p.softmax(masked, "attention probabilities", masked.dtype)
	chosen := p.dropout(weights, p.m.AttentionDropout, "attention probabilities after dropout")
	product := p.cast(chosen, "inputs cast by autocast", p.computes(v))
	p.free(chosen)
	vc := p.flat(v, "values copied for the product")
	y := p.matmul(product, vc, "attention results by head", v.shape.with(2, q.shape[2]))
	p.free(vc, product)
	y = p.turned(y, y.shape, true)
	merged := p.copied(y, "attention results", p.merged(q, v))
	p.free(masked)
	p.drop(keep)
	p.free(weights, y)
	return merged
}

// flat is what a batched product is given: a copy, where heads lie apart.
func (p *program) flat(x *tensor, name string) *tensor {
	if x.whole {
		return x.view(x.shape)
	}
	return p.copied(x, name, x.shape)
}

// causal hides what comes later; an encoder sees all tokens. It takes over x.
func (p *program) causal(x *tensor) (masked *tensor, keep *buffer) {
	if p.m.Arch == BERT {
		return x, nil
	}
	keep, hide := p.maskOf(p.s)
	masked = p.masked(x, hide)
	p.drop(hide)
	p.free(x)
	return masked, keep
}
