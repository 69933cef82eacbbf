package budget

import "github.com/snapview/snapview/attribution"

// An attention has the shapes of its core: from queries, keys and values to what
// the output projection is given.
type attention struct {
	query shape // b·a·s·d
	key   shape // b·g·s·d, of keys and values
	out   shape // b·s·(a·d)

	efficient bool // the memory-efficient kernel, also for 16 bits
}

// parts hands out the thirds of one matrix as views (SplitBackward): their
// gradients are put together again in the backward.
func (t *tape) parts(x *tensor, widths ...dim) []*tensor {
	n := t.record("split", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{t.gradOf(x.shape, x.dtype)}
	})
	var out []*tensor
	for i, w := range widths {
		p := x.view(x.shape.of(w))
		p.from, p.slot = n, i
		out = append(out, p)
	}
	return out
}

// turned is a view in another order of dimensions, which takes over x. Its
// gradient is copied where the order it comes in cannot be viewed as the first.
func (t *tape) turned(x *tensor, s shape, copied bool) *tensor {
	back := func(g []*buffer) []*buffer { return []*buffer{g[0].hold()} }
	if copied {
		back = func(g []*buffer) []*buffer { return []*buffer{t.gradOf(x.shape, x.dtype)} }
	}
	y := *x
	y.shape, y.slot = s, 0
	return y.out(t.record("view", []*tensor{x}, nil, back))
}

// copied is the same in memory of its own, as reshape makes where a view cannot.
func (t *tape) copied(x *tensor, name string, s shape) *tensor {
	y := t.make(name, s, x.dtype)
	return y.out(t.record("copy", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{g[0].hold()}
	}))
}

// matmul is a batched product (bmm); it saves both factors. Factors whose heads
// lie apart are copied first.
func (t *tape) matmul(x, y *tensor, name string, s shape) *tensor {
	z := t.make(name, s, t.computes(x))
	t.library(false)
	saved := make([]*buffer, 2)
	if wants(x) {
		saved[0] = y.buffer
	}
	if wants(y) {
		saved[1] = x.buffer
	}
	return z.out(t.record(name, []*tensor{x, y}, saved, func(g []*buffer) []*buffer {
		grads := make([]*buffer, 2)
		if wants(y) {
			grads[1] = t.gradOf(y.shape, y.dtype)
		}
		if wants(x) {
			grads[0] = t.gradOf(x.shape, x.dtype)
		}
		return grads
	}))
}

// softmax saves its result, which has type d, or fp32 under autocast. Scores in
// fp16 are converted on the way, those in bf16 have an fp32 copy first
// (aten/src/ATen/native/SoftMax.cpp). The backward has a product as large as the
// result beside the gradient.
func (t *tape) softmax(x *tensor, name string, d DType) *tensor {
	if t.casts != nil {
		d = F32
	}
	input := x.view(x.shape)
	if x.dtype != F16 {
		t.free(input)
		input = t.cast(x, "scores in fp32", d)
	}
	y := t.make(name, x.shape, d)
	y.out(t.record("softmax", []*tensor{input}, []*buffer{y.buffer}, func(g []*buffer) []*buffer {
		grad := t.gradOf(x.shape, input.dtype)
		t.drop(t.scratch("product in the softmax's backward", x.shape, d))
		return []*buffer{grad}
	}))
	t.free(input)
	return y
}

// masked replaces the scores that the mask hides (masked_fill); it saves the mask.
func (t *tape) masked(x *tensor, mask *buffer) *tensor {
	y := t.make("masked scores", x.shape, x.dtype)
	return y.out(t.record("masked_fill", []*tensor{x}, []*buffer{mask}, func(g []*buffer) []*buffer {
		return []*buffer{t.gradOf(x.shape, x.dtype)}
	}))
}

// fused is scaled_dot_product_attention by a kernel that keeps no scores. It
// saves queries, keys, values, its result, and a log-sum-exp of each row.
func (t *tape) fused(q, k, v *tensor, a attention) *tensor {
	d := t.computes(q)
	q, k, v = t.cast(q, "inputs cast by autocast", d), t.cast(k, "inputs cast by autocast", d), t.cast(v, "inputs cast by autocast", d)
	rows := a.query[:len(a.query)-1]
	y := t.make("attention results", a.out, d)
	sums := t.make("log-sum-exp of attention", rows, F32)
	saved := []*buffer{k.buffer, q.buffer, v.buffer, sums.buffer, y.buffer}
	y.out(t.record("attention", []*tensor{q, k, v}, saved, func(g []*buffer) []*buffer {
		grads := []*buffer{t.gradOf(q.shape, d), t.gradOf(k.shape, d), t.gradOf(v.shape, d)}
		if d == F32 || a.efficient {
			t.efficientScratch(a, rows)
		} else {
			t.flashScratch(a)
		}
		return grads
	}))
	t.free(sums, q, k, v)
	return y
}

// efficientScratch is that of _efficient_attention_backward: the row sums of
// gradient times result, and gradients of queries that blocks add up
// (mem_eff_attention/kernel_backward.h, workspace_size).
func (t *tape) efficientScratch(a attention, rows shape) {
	product := t.scratch("products in the attention's backward", a.query, F32)
	sums := t.scratch("row sums in the attention's backward", rows, F32)
	delta := t.scratch("row sums in the attention's backward", rows, F32)
	t.drop(sums, product)
	s, d := a.query[2].n, a.query[3].n
	columns := int64(64)
	if d > 64 {
		columns = 128
	}
	tile := ceilDiv(s, 64) * ceilDiv(d, columns) * (64*columns*4 + 16)
	grads := t.scratch("gradients in the attention's backward", append(rows[:2:2], dim{"tiles", tile / 4}), F32)
	t.drop(delta, grads)
}

// flashScratch is that of the flash kernel: fp32 gradients of the queries, which
// blocks add up, and row sums.
func (t *tape) flashScratch(a attention) {
	width := dim{"(d+1)", a.query[3].n + 1}
	if a.key.elements() != a.query.elements() { // and 16-bit gradients for each query head, before groups are summed
		width = dim{"(2d+1)", 2*a.query[3].n + 1}
	}
	t.drop(t.scratch("gradients in the attention's backward", a.query.of(width), F32))
}

// maskOf makes the mask that hides what comes later, as torch.tril(torch.ones())
// and its negation do; the caller holds both.
func (t *tape) maskOf(s dim) (keep, hide *buffer) {
	square := shape{s, s}
	ones := t.temp("causal mask", square, Bool)
	keep = t.temp("causal mask", square, Bool)
	t.drop(ones)
	return keep, t.temp("causal mask", square, Bool)
}

// loss of logits against targets (cross_entropy): log_softmax, which saves its
// result, and nll_loss, which saves its input. Under autocast the latter runs in
// fp32 and so has a copy.
func (t *tape) crossEntropy(logits *tensor, targets *buffer) *tensor {
	s := logits.shape
	probabilities := t.make("log-probabilities", s, logits.dtype)
	probabilities.out(t.record("log_softmax", []*tensor{logits}, []*buffer{probabilities.buffer}, func([]*buffer) []*buffer {
		return []*buffer{t.alloc(ActivationClass, attribution.AutogradDetail, "gradient of the logits", s, logits.dtype)}
	}))
	input := probabilities.view(s)
	if t.casts != nil && logits.dtype != F32 {
		t.free(input)
		input = t.castLogits(probabilities, "log-probabilities in fp32")
	}
	loss := t.make("loss", nil, input.dtype)
	weight := t.make("loss", nil, input.dtype)
	loss.out(t.record("nll_loss", []*tensor{input}, []*buffer{input.buffer, targets, weight.buffer}, func([]*buffer) []*buffer {
		return []*buffer{t.alloc(ActivationClass, attribution.AutogradDetail, "gradient of the log-probabilities", s, input.dtype)}
	}))
	t.free(weight, input, probabilities)
	return loss
}

// castLogits converts logits, whose gradient has a line of its own.
func (t *tape) castLogits(x *tensor, name string) *tensor {
	y := t.make(name, x.shape, F32)
	return y.out(t.record("cast", []*tensor{x}, nil, func([]*buffer) []*buffer {
		return []*buffer{t.alloc(ActivationClass, attribution.AutogradDetail, "gradient of the logits", x.shape, x.dtype)}
	}))
}
