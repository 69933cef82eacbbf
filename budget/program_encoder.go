package budget

import "github.com/snapview/snapview/attribution"

// bertForward is an encoder as transformers writes BERT and RoBERTa.
func (p *program) bertForward() *tensor {
	p.where = "embedding"
	data := p.input("tokens", p.tokens, I64)
	x := p.received()
	if x == nil {
		x = p.bertEmbedding(data)
	}
	x = p.blocks(x, 0, p.m.Layers, p.bertBlock)
	if !p.at.ends() {
		return x
	}
	return p.loss(x, data)
}

func (p *program) bertEmbedding(data *buffer) *tensor {
	words := p.tokenEmbedding(data)
	sum := words.view(p.x)
	if w := p.leaf("token_types.weight"); w != nil {
		types := p.embedding(data, w, "token type embeddings", p.x)
		p.free(sum)
		sum = p.add(words, types, "embeddings")
		defer p.free(types)
	}
	if w := p.leaf("positions.weight"); w != nil {
		positions := p.embedding(data, w, "position embeddings", shape{p.local, p.d.h})
		both := p.addRows(sum, positions, "embeddings")
		p.free(sum, positions)
		sum = both
	}
	normed := p.norm(sum, "embedding_norm", "norm of the embeddings")
	p.free(sum)
	x := p.dropout(normed, p.m.Dropout, "hidden states after dropout")
	p.free(normed, words)
	return x
}

// bertBlock has its norms behind the residuals.
func (p *program) bertBlock(i int64, x *tensor) *tensor {
	name := blockName(i)
	attended := p.encoderAttention(name+"attention", x)
	y := p.residualNorm(x, attended, name+"attention_norm", "attention")
	p.free(attended)
	up := p.dense(y, name+"mlp.up", "MLP up projection", p.d.f)
	active := p.activation(up)
	p.free(up)
	down := p.dense(active, name+"mlp.down", "MLP down projection", p.d.h)
	z := p.residualNorm(y, down, name+"mlp_norm", "MLP")
	p.free(down, active, y)
	return z
}

// residualNorm is norm(dropout(y) + x).
func (p *program) residualNorm(x, y *tensor, name, line string) *tensor {
	dropped := p.dropout(y, p.m.Dropout, "hidden states after dropout")
	sum := p.add(dropped, x, "residual after "+line)
	normed := p.norm(sum, name, "norm after "+line)
	p.free(sum, dropped)
	return normed
}

// encoderAttention has separate projections with biases and sees all tokens.
func (p *program) encoderAttention(name string, x *tensor) *tensor {
	d := p.d
	heads := shape{p.b, d.a, p.s, d.d}
	eager := p.c.Attention == Eager
	q := p.turned(p.dense(x, name+".query", "queries", d.q), heads, eager)
	k := p.turned(p.dense(x, name+".key", "keys", d.kv), heads, false)
	v := p.turned(p.dense(x, name+".value", "values", d.kv), heads, eager)
	merged := p.core(p.hfAttention, q, k, v)
	p.free(q, k, v)
	y := p.dense(merged, name+".out", "attention output projection", d.h)
	p.free(merged)
	return y
}

// activation is the function of the MLP.
func (p *program) activation(x *tensor) *tensor {
	if p.m.Activation == "gelu_new" && p.m.Style == HFStyle {
		return p.geluNew(x)
	}
	return p.pointwise(x, "MLP activation", p.m.Activation == "relu")
}

// geluNew is ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) written out, as GPT-2 in
// transformers has it. It saves four tensors where the built-in function saves one.
func (p *program) geluNew(x *tensor) *tensor {
	s, d := x.shape, x.dtype
	half := p.scaled(x, "halves in GELU")
	cube := p.make("steps of GELU", s, promoteUnder(p.casts, d))
	base := x
	if cube.dtype != d { // pow runs in fp32 under autocast
		p.free(cube)
		base = p.cast(x, "inputs of GELU in fp32", F32)
		cube = p.make("steps of GELU", s, F32)
	}
	cube.out(p.record("pow", []*tensor{base}, []*buffer{base.buffer}, func(g []*buffer) []*buffer {
		a, b := p.gradOf(s, base.dtype), p.gradOf(s, base.dtype)
		out := p.gradOf(s, base.dtype)
		p.drop(b, a)
		return []*buffer{out}
	}))
	if base != x {
		p.free(base)
	}
	part := p.scaled(cube, "steps of GELU")
	p.free(cube)
	inner := p.add(x, part, "steps of GELU")
	p.free(part)
	scaled := p.scaled(inner, "steps of GELU")
	p.free(inner)
	tanh := p.pointwise(scaled, "tanh in GELU", true)
	p.free(scaled)
	shifted := p.scaled(tanh, "1 + tanh in GELU")
	shifted.from.passes()
	p.free(tanh)
	y := p.product(half, shifted, "MLP activation")
	p.free(half, shifted)
	return y
}

// promoteUnder is the type of what autocast runs in fp32.
func promoteUnder(casts *castCache, d DType) DType {
	if casts != nil {
		return F32
	}
	return d
}

// encoderHead is what follows the last block of an encoder, and the loss. It
// takes over x.
func (p *program) encoderHead(x *tensor, labels *buffer) *tensor {
	p.where = "loss"
	switch p.m.Head {
	case MLMHead:
		dense := p.dense(x, "head.dense", "head projection", p.d.h)
		active := p.pointwise(dense, "head activation", false)
		p.free(dense)
		normed := p.norm(active, "head.norm", "norm of the head")
		p.free(active)
		logits := p.logits(normed, p.outputWeights())
		p.free(normed)
		loss := p.lossOf(logits, labels)
		p.free(x)
		return loss
	}
	return p.classLoss(x)
}

// classLoss classifies by one token. A model without a head is trained by some
// loss of its pooled output, which costs as little. A decoder computes the classes
// of all tokens and picks those of the last.
func (p *program) classLoss(x *tensor) *tensor {
	if p.m.Head == ClassHead && p.m.decodes() {
		all := p.dense(x, "classifier", "logits", dim{"labels", p.m.Labels})
		one := p.firstToken(all)
		loss := p.crossEntropy(one, p.input("labels", shape{p.b}, I64))
		p.giveUp(all)
		p.free(one, x)
		return loss
	}
	first := p.firstToken(x)
	if p.m.Pooler {
		pooled := p.dense(first, "pooler", "pooled output", p.d.h)
		p.free(first)
		first = p.pointwise(pooled, "pooled output", true)
		p.free(pooled)
	}
	labels := p.input("labels", shape{p.b}, I64)
	logits := first
	if p.m.Head == ClassHead {
		logits = p.dense(first, "classifier", "logits", dim{"labels", p.m.Labels})
		p.free(first)
	}
	loss := p.crossEntropy(logits, labels)
	p.giveUp(logits)
	p.free(x)
	return loss
}

// firstToken is a view of the first token, whose gradient is zero elsewhere
// (SliceBackward).
func (p *program) firstToken(x *tensor) *tensor {
	y := x.view(shape{p.b, x.shape[len(x.shape)-1]})
	return y.out(p.record("slice", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, x.dtype)}
	}))
}

// vitForward is an encoder over image patches, as transformers writes ViT.
func (p *program) vitForward() *tensor {
	x := p.received()
	if x == nil {
		x = p.vitEmbedding()
	}
	x = p.blocks(x, 0, p.m.Layers, p.vitBlock)
	if !p.at.ends() {
		return x
	}
	normed := p.norm(x, "final_norm", "final norm")
	p.free(x)
	return p.encoderHead(normed, nil)
}

func (p *program) vitEmbedding() *tensor {
	m := p.m
	p.where = "embedding"
	image := dim{"i", m.Image}
	data := p.input("images", shape{p.b, {"c", m.Channels}, image, image}, F32)
	patches := shape{p.b, {"n", m.patches()}, p.d.h}
	w, bias := p.leaf("patches.weight"), p.leaf("patches.bias")
	cells := p.convolution(data, w, bias, patches)
	row := p.leaf("class_token")
	joined := p.make("patches with class token", p.x, promote(cells.dtype, row.dtype.active()))
	joined.out(p.record("cat", []*tensor{cells, &row.tensor}, nil, func(g []*buffer) []*buffer {
		return []*buffer{g[0].hold(), p.leafGrad(row)}
	}))
	p.free(cells)
	x := p.addParameter(joined, p.leaf("positions"), "embeddings")
	p.free(joined)
	dropped := p.dropout(x, m.Dropout, "hidden states after dropout")
	p.free(x)
	return dropped
}

// convolution cuts an image into patches; it saves the image and its weights.
func (p *program) convolution(data *buffer, w, bias *leaf, s shape) *tensor {
	image := &tensor{buffer: data.hold(), dtype: F32}
	d := p.computes(&w.tensor)
	cast := image
	if d != F32 { // by autocast, or by the model to the type of its weights
		cast = &tensor{buffer: p.alloc(ActivationClass, attribution.Activation, "images in 16 bits", shape{{"images", data.bytes / 4}}, d), dtype: d}
	}
	b, weight := p.weight(bias), p.weight(w)
	y := p.make("patches", s, d)
	y.out(p.record("convolution", []*tensor{weight, b}, []*buffer{cast.buffer, weight.buffer}, func(g []*buffer) []*buffer {
		return []*buffer{p.weightGrad(weight, w), p.weightGrad(b, bias)}
	}))
	if cast != image {
		p.free(cast)
	}
	p.free(image, weight, b)
	return y
}

// addParameter is x plus a parameter that is the same for each of a batch.
func (p *program) addParameter(x *tensor, w *leaf, name string) *tensor {
	y := p.make(name, x.shape, promote(x.dtype, w.dtype.active()))
	n := p.record("add", []*tensor{x, &w.tensor}, nil, passBoth)
	if n != nil {
		n.reduce = func(g []*buffer) {
			p.drop(g[1])
			g[1] = p.leafGrad(w)
		}
	}
	return y.out(n)
}

func (p *program) vitBlock(i int64, x *tensor) *tensor {
	name := blockName(i)
	normed := p.norm(x, name+"attention_norm", "norm before attention")
	attended := p.encoderAttention(name+"attention", normed)
	p.free(normed)
	dropped := p.dropout(attended, p.m.Dropout, "hidden states after dropout")
	p.free(attended)
	y := p.add(dropped, x, "residual after attention")
	p.free(dropped)
	normed = p.norm(y, name+"mlp_norm", "norm before MLP")
	up := p.dense(normed, name+"mlp.up", "MLP up projection", p.d.f)
	p.free(normed)
	active := p.activation(up)
	p.free(up)
	down := p.dense(active, name+"mlp.down", "MLP down projection", p.d.h)
	p.free(active)
	dropped = p.dropout(down, p.m.Dropout, "hidden states after dropout")
	p.free(down)
	z := p.add(dropped, y, "residual after MLP")
	p.free(dropped, y)
	return z
}
