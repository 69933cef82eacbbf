package budget

// What styles share at both ends of a model.

// tokenEmbedding looks the tokens up, and widens them where their embedding is
// narrower than the model.
func (p *program) tokenEmbedding(data *buffer) *tensor {
	x := p.embedding(data, p.leaf("tokens.weight"), "token embeddings", p.x.of(p.d.e))
	return p.projected(x, "project_in", "token embeddings projected", p.d.h)
}

// projected is x through a layer without bias, if the model has it. It takes over x.
func (p *program) projected(x *tensor, name, line string, out dim) *tensor {
	w := p.leaf(name + ".weight")
	if w == nil {
		return x
	}
	y := p.linear(x, w, nil, line, out)
	p.free(x)
	return y
}

// outNorm is a norm, if the model has it there. It takes over x.
func (p *program) outNorm(x *tensor, name, line string) *tensor {
	if p.leaf(name+".weight") == nil {
		return x
	}
	y := p.norm(x, name, line)
	p.free(x)
	return y
}

// logits is the output layer.
func (p *program) logits(x *tensor, w *leaf) *tensor {
	narrow := p.projected(x.view(x.shape), "project_out", "hidden states projected", p.d.e)
	full := p.gatherSequence(narrow, "head")
	y := p.linear(full, w, p.leaf("head.bias"), "logits", p.d.v)
	p.free(full, narrow)
	return y
}

// outputWeights are the weights of the output layer.
func (p *program) outputWeights() *leaf {
	if w := p.leaf("head.weight"); w != nil {
		return w
	}
	return p.leaf("tokens.weight")
}

// loss is what follows the last norm, and the loss of it. It takes over x.
func (p *program) loss(x *tensor, labels *buffer) *tensor {
	p.where = "loss"
	switch {
	case p.m.Head != LMHead:
		return p.encoderHead(x, labels)
	case p.m.Style == HFStyle:
		return p.hfLoss(x, labels)
	}
	logits := p.capped(p.logits(x, p.outputWeights()), "logits")
	p.free(x)
	return p.lossOf(logits, labels)
}

// lossOf is the cross-entropy of logits, as they are or in fp32. It takes over
// the logits.
func (p *program) lossOf(logits *tensor, labels *buffer) *tensor {
	input := logits.view(logits.shape)
	if p.c.FP32Logits && logits.dtype != F32 {
		p.free(input)
		input = p.castLogits(logits, "logits in fp32")
	}
	loss := p.crossEntropy(input, labels)
	p.free(input)
	p.giveUp(logits)
	return loss
}

// giveUp gives logits up, or keeps them for a caller that holds them.
func (p *program) giveUp(logits *tensor) {
	if p.c.KeepLogits {
		p.kept = append(p.kept, logits)
		return
	}
	p.free(logits)
}
