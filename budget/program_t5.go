package budget

// t5Forward is an encoder and a decoder as transformers writes T5: RMSNorm, no
// biases, and attention written out, with a bias by relative position that the
// blocks of a stack share.
func (p *program) t5Forward() *tensor {
	p.where = "embedding"
	data := p.input("tokens", p.tokens, I64)
	targets := p.input("target tokens", shape{p.b, p.target}, I64)
	source := p.t5Stack(data, p.x, nil)
	result := p.t5Stack(targets, shape{p.b, p.target, p.d.h}, source)
	p.where = "loss"
	head := p.leaf("head.weight")
	input := result
	if head == nil {
		head = p.leaf("tokens.weight")
		input = p.scaled(result, "hidden states scaled")
		p.free(result)
	}
	logits := p.linear(input, head, p.leaf("head.bias"), "logits", p.d.v)
	loss := p.lossOf(logits, targets)
	p.free(input, source)
	return loss
}

// t5Stack runs the encoder, or the decoder when it is given the encoder's result.
func (p *program) t5Stack(tokens *buffer, s shape, source *tensor) *tensor {
	m := p.m
	embedded := p.embedding(tokens, p.leaf("tokens.weight"), "token embeddings", s)
	x := p.dropout(embedded, m.Dropout, "hidden states after dropout")
	first, n, final := int64(0), m.Layers, "encoder.final_norm.weight"
	if source != nil {
		first, n, final = m.Layers, m.decoderLayers(), "final_norm.weight"
	}
	own := p.positionBias(blockName(first)+"attention.relative_bias", s[1])
	var cross *tensor
	var mask *buffer
	if source != nil {
		cross = p.make("position bias", shape{{"1", 1}, p.d.a, s[1], source.shape[1]}, x.dtype)
		mask = p.temp("attention mask", shape{p.b, s[1], s[1]}, x.dtype)
	}
	x = p.blocks(x, first, n, func(i int64, x *tensor) *tensor { return p.t5Block(i, x, own, source, cross) }, own, source, cross)
	normed := p.rmsNorm(x, p.leaf(final), "final norm")
	p.free(x)
	out := p.dropout(normed, m.Dropout, "hidden states after dropout")
	p.free(normed, own, cross, embedded)
	p.drop(mask)
	return out
}

// positionBias looks the bias of each pair of positions up.
func (p *program) positionBias(name string, tokens dim) *tensor {
	index := p.temp("relative positions", shape{tokens, tokens}, I64)
	bias := p.embedding(index, p.leaf(name), "position bias", shape{{"1", 1}, p.d.a, tokens, tokens})
	p.drop(index)
	return bias
}

func (p *program) t5Block(i int64, x *tensor, own, source, cross *tensor) *tensor {
	name := blockName(i)
	y := p.t5Attention(x, x.shape, name+"attention", own, nil, source != nil)
	if source != nil {
		z := p.t5Attention(y, x.shape, name+"cross", cross, source, false)
		p.free(y)
		y = z
	}
	normed := p.rmsNorm(y, p.leaf(name+"mlp_norm.weight"), "norm before MLP")
	out := p.gatedMLP(name+"mlp", normed, p.d.f)
	p.free(normed)
	dropped := p.dropout(out, p.m.Dropout, "hidden states after dropout")
	p.free(out)
	z := p.add(y, dropped, "residual after MLP")
	p.free(dropped, y)
	return z
}

// t5Attention is norm, attention and residual; keys and values come from source
// when it is given.
func (p *program) t5Attention(x *tensor, s shape, name string, bias, source *tensor, masked bool) *tensor {
	d := p.d
	normed := p.rmsNorm(x, p.leaf(name+"_norm.weight"), "norm before attention")
	from := normed
	if source != nil {
		from = source
	}
	query, key := shape{p.b, d.a, s[1], d.d}, shape{p.b, d.a, from.shape[1], d.d}
	q := p.turned(p.dense(normed, name+".query", "queries", d.q), query, true)
	k := p.turned(p.dense(from, name+".key", "keys", d.kv), key, false)
	v := p.turned(p.dense(from, name+".value", "values", d.kv), key, true)
	merged := p.t5Core(q, k, v, bias, masked)
	y := p.dense(merged, name+".out", "attention output projection", d.h)
	p.free(q, k, v, merged, normed)
	dropped := p.dropout(y, p.m.Dropout, "hidden states after dropout")
	z := p.add(x, dropped, "residual after attention")
	p.free(dropped, y)
	return z
}

// t5Core adds the bias, and in the decoder the mask, to the scores.
func (p *program) t5Core(q, k, v, bias *tensor, masked bool) *tensor {
	scores := shape{q.shape[0], q.shape[1], q.shape[2], k.shape[2]}
	d := p.computes(q)
	qc, kc := p.copied(q, "queries copied for the product", q.shape), p.copied(k, "keys copied for the product", k.shape)
	raw := p.matmul(qc, kc, "scores", scores)
	p.free(qc, kc)
	x := p.scaled(raw, "scaled scores")
	p.free(raw)
	biased := p.plusBias(x, bias)
	p.free(x)
	if masked {
		x = p.scaled(biased, "masked scores")
		x.from.passes()
		p.free(biased)
		biased = x
	}
	chances := p.softmax(biased, "attention probabilities", biased.dtype)
	p.free(biased)
	kept := p.dropout(chances, p.m.AttentionDropout, "attention probabilities after dropout")
	product := p.cast(kept, "inputs cast by autocast", d)
	vc := p.copied(v, "values copied for the product", v.shape)
	y := p.matmul(product, vc, "attention results by head", q.shape)
	p.free(vc, product)
	y = p.turned(y, q.shape, true)
	merged := p.copied(y, "attention results", shape{p.b, q.shape[2], p.d.q})
	p.free(y, kept, chances)
	return merged
}

// plusBias adds a bias that is the same for each sequence.
func (p *program) plusBias(x, bias *tensor) *tensor {
	y := p.make("scores with position bias", x.shape, promote(x.dtype, bias.dtype))
	n := p.record("add", []*tensor{x, bias}, nil, passBoth)
	if n != nil {
		n.reduce = func(g []*buffer) {
			p.fit(g[:1], y.dtype, x)
			if !wants(bias) {
				return
			}
			old := g[1]
			g[1] = p.gradOf(bias.shape, bias.dtype)
			p.drop(old)
		}
	}
	return y.out(n)
}
