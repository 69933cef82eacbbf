package budget

// gptForward is a decoder in the manner of GPT-2 written plainly in PyTorch: one
// matrix for queries, keys and values, LayerNorm before attention and MLP.
func (p *program) gptForward() *tensor {
	data := p.input("tokens and targets", shape{p.b, dim{"(" + p.s.symbol + "+1)", p.s.n + 1}}, I64)
	x := p.received()
	if x == nil {
		x = p.gptEmbedding(data)
	}
	x = p.blocks(x, 0, p.m.Layers, p.gptBlock)
	if !p.at.ends() {
		return x
	}
	return p.lmLoss(x, data)
}

func (p *program) gptEmbedding(data *buffer) *tensor {
	p.where = "embedding"
	index := p.temp("positions", shape{p.s}, I64)
	tokens := p.embedding(data, p.leaf("tokens.weight"), "token embeddings", p.x)
	x := tokens
	if w := p.leaf("positions.weight"); w != nil {
		positions := p.embedding(index, w, "position embeddings", shape{p.local, p.d.h})
		x = p.addRows(tokens, positions, "embeddings")
		p.free(tokens, positions)
	}
	p.drop(index)
	return p.dropped(x)
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

func (p *program) gptBlock(i int64, x *tensor) *tensor {
	name := blockName(i)
	normed := p.norm(x, name+"attention_norm", "norm before attention")
	attended := p.gptAttention(name+"attention", normed)
	p.free(normed)
	y := p.add(x, attended, "residual after attention")
	p.free(attended)

	normed = p.norm(y, name+"mlp_norm", "norm before MLP")
	out := p.gptMLP(name+"mlp", normed)
	p.free(normed)
	z := p.add(y, out, "residual after MLP")
	p.free(out, y)
	return z
}

func (p *program) gptMLP(name string, x *tensor) *tensor {
	up := p.dense(x, name+".up", "MLP up projection", p.d.f)
	activated := p.pointwise(up, "MLP activation", p.m.Activation == "relu")
	p.free(up)
	down := p.dense(activated, name+".down", "MLP down projection", p.d.h)
	p.free(activated)
	return p.dropped(down)
}

func (p *program) gptAttention(name string, x *tensor) *tensor {
	d := p.d
	qkv := p.dense(x, name+".qkv", "queries, keys and values", d.qkv)
	parts := p.parts(qkv, d.q, d.kv, d.kv)
	p.free(qkv)
	heads := shape{p.b, d.a, p.s, d.d}
	out := shape{p.b, p.s, d.q}
	eager := p.c.Attention == Eager
	// The keys' gradient comes transposed, so that its heads can be viewed together.
	q, k, v := p.turned(parts[0], heads, eager), p.turned(parts[1], heads, false), p.turned(parts[2], heads, eager)
	merged := p.core(func(in []*tensor) *tensor {
		if eager {
			return p.eagerAttention(in[0], in[1], in[2], heads, out)
		}
		return p.fused(in[0], in[1], in[2], attention{query: heads, key: heads, out: out, efficient: p.c.Attention == Efficient})
	}, q, k, v)
	y := p.dense(merged, name+".out", "attention output projection", d.h)
	p.free(q, k, v, merged)
	return p.dropped(y)
}

// dropped is dropout of hidden states. It takes over x.
func (p *program) dropped(x *tensor) *tensor {
	y := p.dropout(x, p.m.Dropout, "hidden states after dropout")
	p.free(x)
	return y
}

// eagerAttention writes attention out: scores, mask, softmax, and the product
// with the values. It returns the heads of each token side by side.
func (p *program) eagerAttention(q, k, v *tensor, heads, out shape) *tensor {
	scores := shape{heads[0], heads[1], p.s, p.s}
	qc, kc := p.copied(q, "queries copied for the product", heads), p.copied(k, "keys copied for the product", heads)
	raw := p.matmul(qc, kc, "scores", scores)
	p.free(kc, qc)
	scaled := p.scaled(raw, "scaled scores")
	p.free(raw)
	keep, hide := p.maskOf(p.s)
	masked := p.masked(scaled, hide)
	p.drop(hide)
	p.free(scaled)
	weights := p.softmax(masked, "attention probabilities")
	chosen := p.dropout(weights, p.m.AttentionDropout, "attention probabilities after dropout")
	product := p.cast(chosen, "inputs cast by autocast", p.computes(v))
	p.free(chosen)
	vc := p.copied(v, "values copied for the product", heads)
	y := p.matmul(product, vc, "attention results by head", heads)
	p.free(vc, product)
	y = p.turned(y, heads, true)
	merged := p.copied(y, "attention results", out)
	p.free(masked)
	p.drop(keep)
	p.free(weights, y)
	return merged
}

// logits is the output layer.
func (p *program) logits(x *tensor, w *leaf) *tensor {
	full := p.gatherSequence(x, "head")
	y := p.linear(full, w, p.leaf("head.bias"), "logits", p.d.v)
	p.free(full)
	return y
}

// outputWeights are the weights of the output layer.
func (p *program) outputWeights() *leaf {
	if w := p.leaf("head.weight"); w != nil {
		return w
	}
	return p.leaf("tokens.weight")
}

// lmLoss is the final norm, the output layer and the loss. It takes over x.
func (p *program) lmLoss(x *tensor, targets *buffer) *tensor {
	p.where = "loss"
	normed := p.norm(x, "final_norm", "final norm")
	p.free(x)
	logits := p.logits(normed, p.outputWeights())
	p.free(normed)
	loss := p.crossEntropy(logits, targets)
	p.free(logits)
	return loss
}
