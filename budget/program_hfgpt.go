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
	normed := x.view(x.shape)
	if p.m.FinalNorm {
		p.free(normed)
		normed = p.norm(x, "final_norm", "final norm")
	}
	p.free(x)
	p.drop(mask)
	p.free(tokens, positions)
	p.free(rotation...)
	p.where = "loss"
	return p.hfLoss(normed, data)
}

// hfEmbedding returns the embedded tokens, and the parts, which the caller holds
// until the blocks have run.
func (p *program) hfEmbedding(data *buffer) (x, tokens, positions *tensor) {
	tokens = p.embedding(data, p.leaf("tokens.weight"), "token embeddings", p.x)
	w := p.leaf("positions.weight")
	if w == nil {
		return tokens.view(p.x), tokens, nil
	}
	positions = p.embedding(data, w, "position embeddings", shape{p.local, p.d.h})
	return p.addRows(tokens, positions, "embeddings"), tokens, positions
}

func (p *program) hfGPTBlock(i int64, x *tensor, rotation []*tensor) *tensor {
	name := blockName(i)
	normed := p.norm(x, name+"attention_norm", "norm before attention")
	attended := p.hfGPTAttention(name+"attention", normed, rotation)
	dropped := p.dropout(attended, p.m.Dropout, "hidden states after dropout")
	p.free(attended)
	if p.m.Parallel {
		return p.parallelBlock(name, x, normed, dropped)
	}
	y := p.add(dropped, x, "residual after attention")
	p.free(normed)
	normed = p.norm(y, name+"mlp_norm", "norm before MLP")
	out := p.hfGPTMLP(name+"mlp", normed)
	p.free(normed)
	z := p.add(y, out, "residual after MLP")
	p.free(dropped, out, y)
	return z
}

// parallelBlock adds attention and MLP to the residual at once.
func (p *program) parallelBlock(name string, x, normed, attended *tensor) *tensor {
	if p.leaf(name+"mlp_norm.weight") != nil {
		p.free(normed)
		normed = p.norm(x, name+"mlp_norm", "norm before MLP")
	}
	out := p.hfGPTMLP(name+"mlp", normed)
	p.free(normed)
	both := p.add(out, attended, "attention and MLP")
	z := p.add(both, x, "residual after MLP")
	p.free(both, out, attended)
	return z
}

func (p *program) hfGPTMLP(name string, x *tensor) *tensor {
	up := p.dense(x, name+".up", "MLP up projection", p.d.f)
	active := p.activation(up)
	p.free(up)
	down := p.dense(active, name+".down", "MLP down projection", p.d.h)
	p.free(active)
	dropped := p.dropout(down, p.m.Dropout, "hidden states after dropout")
	p.free(down)
	return dropped
}

func (p *program) hfGPTAttention(name string, x *tensor, rotation []*tensor) *tensor {
	d := p.d
	heads := shape{p.b, d.a, p.s, d.d}
	eager := p.c.Attention == Eager
	var q, k, v *tensor
	if p.m.FusedQKV {
		qkv := p.dense(x, name+".qkv", "queries, keys and values", d.qkv)
		parts := p.parts(qkv, d.q, d.kv, d.kv)
		p.free(qkv)
		q, k, v = p.turned(parts[0], heads, eager), p.turned(parts[1], heads, false), p.turned(parts[2], heads, eager)
	} else {
		q = p.turned(p.dense(x, name+".query", "queries", d.q), heads, eager)
		k = p.turned(p.dense(x, name+".key", "keys", d.kv), heads, false)
		v = p.turned(p.dense(x, name+".value", "values", d.kv), heads, eager)
	}
	if rotation != nil {
		rq, rk := p.rotated(q, rotation, "queries rotated"), p.rotated(k, rotation, "keys rotated")
		p.free(q, k)
		q, k = rq, rk
	}
	merged := p.core(p.hfAttention, q, k, v)
	y := p.dense(merged, name+".out", "attention output projection", d.h)
	p.free(q, k, v, merged)
	return y
}
