package budget

// latentAttention is multi-head latent attention as transformers writes that of
// DeepSeek: queries, and keys with values, come through a narrow layer, and a
// part of each head is rotated.
func (p *program) latentAttention(name string, x *tensor, rotation []*tensor) *tensor {
	m, d := p.m, p.d
	width := dim{"(dn+dr)", m.NopeDim + m.RopeDim}
	heads := shape{p.b, d.a, p.s, width}
	var q *tensor
	if m.QueryRank != 0 {
		low := p.dense(x, name+".query_down", "queries, low rank", dim{"rq", m.QueryRank})
		normed := p.rmsNorm(low, p.leaf(name+".query_norm.weight"), "queries, low rank, normalised")
		p.free(low)
		q = p.dense(normed, name+".query_up", "queries", dim{"a·(dn+dr)", d.a.n * width.n})
		p.free(normed)
	} else {
		q = p.dense(x, name+".query", "queries", dim{"a·(dn+dr)", d.a.n * width.n})
	}
	both := p.dense(x, name+".kv_down", "keys and values, low rank", dim{"(rkv+dr)", m.KVRank + m.RopeDim})
	low := p.parts(both, dim{"rkv", m.KVRank}, dim{"dr", m.RopeDim})
	p.free(both)
	normed := p.rmsNorm(low[0], p.leaf(name+".kv_norm.weight"), "keys and values, low rank, normalised")
	kv := p.dense(normed, name+".kv_up", "keys and values", dim{"a·(dn+dv)", d.a.n * (m.NopeDim + m.ValueDim)})
	p.free(normed, low[0])
	parts := p.parts(kv, dim{"a·dn", d.a.n * m.NopeDim}, dim{"a·dv", d.a.n * m.ValueDim})
	p.free(kv)

	part := shape{p.b, d.a, p.s, {"dr", m.RopeDim}}
	rq := p.rotated(q.as(part), rotation, "queries rotated")
	rk := p.rotated(low[1].as(shape{p.b, {"1", 1}, p.s, part[3]}), rotation, "keys rotated")
	joinedQ, joinedK := p.joined(heads, "queries with rotated part", q, rq), p.joined(heads, "keys with rotated part", parts[0], rk)
	p.free(q, rq, rk, low[1], parts[0])
	v := parts[1].as(shape{p.b, d.a, p.s, {"dv", m.ValueDim}})
	core := p.hfAttention
	if p.m.Style == PlainStyle {
		core = p.plainCore
	}
	merged := p.core(core, joinedQ, joinedK, v)
	p.free(joinedQ, joinedK, parts[1])
	y := p.dense(merged, name+".out", "attention output projection", d.h)
	p.free(merged)
	return y
}

// rotaryWidth is the part of a head that is rotated.
func (p *program) rotaryWidth() dim {
	if p.m.KVRank != 0 {
		return dim{"dr", p.m.RopeDim}
	}
	return p.d.d
}

// as is the same tensor under another shape, not held once more.
func (x *tensor) as(s shape) *tensor {
	v := *x
	v.shape = s
	return &v
}

// joined puts tensors side by side (cat).
func (p *program) joined(s shape, name string, parts ...*tensor) *tensor {
	y := p.make(name, s, parts[0].dtype)
	return y.out(p.record("cat", parts, nil, func(g []*buffer) []*buffer {
		grads := make([]*buffer, len(parts))
		for i := range grads {
			grads[i] = g[0].hold()
		}
		return grads
	}))
}
