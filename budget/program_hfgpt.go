package budget

// hfGPTForward is a decoder with LayerNorm as transformers writes GPT-2, OPT,
// GPT-NeoX and Phi.
func (p *program) hfGPTForward() *tensor {
	p.where = "embedding"
	data := p.input("tokens", p.tokens, I64)
	x := p.received()
	var tokens, positions *tensor
	if x == nil {
		x, tokens, positions = p.hfEmbedding(data)
	}
	mask := p.eagerMask(x.dtype)
	var rotation []*tensor
	if p.m.Rotary {
		rotation = p.rotation(x.dtype)
	}
	if p.at.embeds() {
		dropped := p.dropout(x, p.m.Dropout, "hidden states after dropout")
		p.free(x)
		x = dropped
	}
	x = p.blocks(x, 0, p.m.Layers, func(i int64, x *tensor) *tensor { return p.hfGPTBlock(i, x, rotation) }, rotation...)
	if !p.at.ends() {
		p.drop(mask)
		p.free(tokens, positions)
		p.free(rotation...)
		return x
	}
	normed := p.outNorm(x, "final_norm", "final norm")
	p.drop(mask)
	p.free(tokens, positions)
	p.free(rotation...)
	return p.loss(normed, data)
}

// hfEmbedding returns the embedded tokens, and the parts, which the caller holds
// until the blocks have run.
func (p *program) hfEmbedding(data *buffer) (x, tokens, positions *tensor) {
	tokens = p.tokenEmbedding(data)
	w := p.leaf("positions.weight")
	if w == nil {
		return p.outNorm(tokens.view(p.x), "embedding_norm", "norm of the embeddings"), tokens, nil
	}
	positions = p.embedding(data, w, "position embeddings", shape{p.local, p.d.h})
	return p.outNorm(p.addRows(tokens, positions, "embeddings"), "embedding_norm", "norm of the embeddings"), tokens, positions
}

func (p *program) hfGPTBlock(i int64, x *tensor, rotation []*tensor) *tensor {
	name := blockName(i)
	if p.m.PostNorm {
		return p.hfPostNormBlock(name, x, rotation)
	}
	normed := p.norm(x, name+"attention_norm", "norm before attention")
	attended := p.hfGPTAttention(name+"attention", normed, rotation)
	dropped := p.dropout(attended, p.m.Dropout, "hidden states after dropout")
	p.free(attended)
	if p.m.Parallel {
		return p.parallelBlock(name, x, normed, dropped, p.hfGPTMLP)
	}
	y := p.add(dropped, x, "residual after attention")
	p.free(normed)
	normed = p.norm(y, name+"mlp_norm", "norm before MLP")
	out := p.hfGPTMLP(name, normed)
	p.free(normed)
	z := p.add(y, out, "residual after MLP")
	p.free(dropped, out, y)
	return z
}

// hfPostNormBlock has its norms behind the residuals, as one size of OPT.
func (p *program) hfPostNormBlock(name string, x *tensor, rotation []*tensor) *tensor {
	attended := p.hfGPTAttention(name+"attention", x, rotation)
	y := p.residualNorm(x, attended, name+"attention_norm", "attention")
	out := p.hfGPTMLP(name, y)
	sum := p.add(y, out, "residual after MLP")
	z := p.norm(sum, name+"mlp_norm", "norm after MLP")
	p.free(attended, out, sum, y)
	return z
}

// parallelBlock adds attention and MLP to the residual at once. It takes over the
// norm and what attention returned.
func (p *program) parallelBlock(name string, x, normed, attended *tensor, mlp func(string, *tensor) *tensor) *tensor {
	if p.leaf(name+"mlp_norm.weight") != nil {
		p.free(normed)
		normed = p.norm(x, name+"mlp_norm", "norm before MLP")
	}
	out := mlp(name, normed)
	p.free(normed)
	both := p.add(out, attended, "attention and MLP")
	z := p.add(both, x, "residual after MLP")
	p.free(both, out, attended)
	return z
}

func (p *program) hfGPTMLP(name string, x *tensor) *tensor {
	up := p.dense(x, name+"mlp.up", "MLP up projection", p.d.f)
	active := p.activation(up)
	p.free(up)
	down := p.dense(active, name+"mlp.down", "MLP down projection", p.d.h)
	p.free(active)
	dropped := p.dropout(down, p.m.Dropout, "hidden states after dropout")
	p.free(down)
	return dropped
}

func (p *program) hfGPTAttention(name string, x *tensor, rotation []*tensor) *tensor {
	q, k, v := p.heads(name, x, rotation)
	merged := p.core(p.hfAttention, q, k, v)
	y := p.dense(merged, name+".out", "attention output projection", p.d.h)
	p.free(q, k, v, merged)
	return y
}

// heads projects queries, keys and values, by one matrix or by three, and
// normalises and rotates them where the model does.
func (p *program) heads(name string, x *tensor, rotation []*tensor) (q, k, v *tensor) {
	d := p.d
	query, key := shape{p.b, d.a, p.s, d.d}, shape{p.b, d.g, p.s, d.d}
	// The gradients of what a product was given come by head; that of the keys comes
	// transposed, so that its heads can be viewed together, unless those of a group
	// were added up.
	eager, grouped := p.c.Attention == Eager, d.g.n > 1 && d.g.n < d.a.n
	if p.m.FusedQKV {
		qkv := p.dense(x, name+".qkv", "queries, keys and values", d.qkv)
		parts := p.parts(qkv, d.q, d.kv, d.kv)
		p.free(qkv)
		q, k, v = p.turned(parts[0], query, eager), p.turned(parts[1], key, grouped), p.turned(parts[2], key, eager || grouped)
	} else {
		q = p.headed(x, name, "query", "queries", d.q, query, eager && rotation == nil)
		k = p.headed(x, name, "key", "keys", d.kv, key, grouped)
		v = p.turned(p.dense(x, name+".value", "values", d.kv), key, eager || grouped)
	}
	if rotation != nil {
		rq, rk := p.rotated(q, rotation, "queries rotated"), p.rotated(k, rotation, "keys rotated")
		p.free(q, k)
		q, k = rq, rk
	}
	return q, k, v
}
