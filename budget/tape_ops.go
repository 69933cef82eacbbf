package budget

import "github.com/snapview/snapview/attribution"

// The operations of PyTorch by what they allocate: their result, what they save
// for the backward (tools/autograd/derivatives.yaml), and what their backward
// allocates in which order. The backward of an operation computes the gradients
// of its inputs in the alphabetical order of their names, since that is the
// order in which the code is generated.

// make allocates a result that the caller holds.
func (t *tape) make(name string, s shape, d DType) *tensor {
	return &tensor{buffer: t.alloc(ActivationClass, attribution.Activation, name, s, d), shape: s, dtype: d}
}

// temp allocates what does not outlive an operation or a few.
func (t *tape) temp(name string, s shape, d DType) *buffer {
	return t.alloc(ActivationClass, attribution.Temporary, name, s, d)
}

// gradOf allocates the gradient of an activation.
func (t *tape) gradOf(s shape, d DType) *buffer {
	return t.alloc(ActivationClass, attribution.AutogradDetail, "gradient of activations", s, d)
}

func (t *tape) scratch(name string, s shape, d DType) *buffer {
	return t.alloc(WorkspaceClass, attribution.Temporary, name, s, d)
}

// from makes n the node of x and returns x.
func (x *tensor) out(n *gradNode) *tensor {
	x.from = n
	return x
}

// view is the same memory, held once more; its gradient needs no memory either.
func (x *tensor) view(s shape) *tensor {
	v := *x
	v.buffer.hold()
	v.shape = s
	return &v
}

// free gives up tensors.
func (t *tape) free(tensors ...*tensor) {
	for _, x := range tensors {
		if x != nil {
			t.drop(x.buffer)
		}
	}
}

// wants reports whether an input gets a gradient.
func wants(x *tensor) bool { return x != nil && x.from != nil }

// cast converts a tensor (ToCopyBackward): the gradient is converted back.
func (t *tape) cast(x *tensor, name string, d DType) *tensor {
	if x.dtype == d {
		return x.view(x.shape)
	}
	from := x.dtype
	y := t.make(name, x.shape, d)
	return y.out(t.record("cast", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{t.gradOf(y.shape, from)}
	}))
}

// A castCache holds the casts of parameters until autocast ends: each is made
// once (at::autocast::cached_cast).
type castCache struct {
	dtype DType
	order []*tensor
	of    map[*leaf]*tensor
}

// autocast runs f under torch.autocast.
func (t *tape) autocast(d DType, f func()) {
	outer := t.casts
	t.casts = &castCache{dtype: d, of: map[*leaf]*tensor{}}
	f()
	t.free(t.casts.order...)
	t.casts = outer
}

// packed reports whether weights of the type must be unpacked to multiply.
func (d DType) packed() bool { return d == NF4 || d == I8 }

// active is the type of what is computed with weights of the type.
func (d DType) active() DType {
	if d == F8 || d.packed() {
		return B16
	}
	return d
}

// computes is the type of matrix products of x.
func (t *tape) computes(x *tensor) DType {
	if t.casts != nil {
		return t.casts.dtype
	}
	return x.dtype
}

// weight returns a parameter in the type of matrix products, held by the caller.
func (t *tape) weight(l *leaf) *tensor {
	if l == nil {
		return nil
	}
	if t.casts == nil || t.casts.dtype == l.dtype || l.dtype.packed() {
		return l.view(l.shape)
	}
	if y := t.casts.of[l]; y != nil {
		return y.view(y.shape)
	}
	d := t.casts.dtype
	y := &tensor{buffer: t.alloc(ActivationClass, attribution.Activation, "weights cast by autocast", l.shape, d), shape: l.shape, dtype: d}
	y.out(t.record("cast of a weight", []*tensor{&l.tensor}, nil, func(g []*buffer) []*buffer {
		return []*buffer{t.leafGrad(l)}
	}))
	if !wants(&l.tensor) || t.noGrad {
		return y // only casts of leaves that want a gradient are cached
	}
	t.casts.of[l] = y
	t.casts.order = append(t.casts.order, y)
	return y.view(y.shape)
}

// weightGrad allocates the gradient of a matrix in the type it was used in.
func (t *tape) weightGrad(w *tensor, l *leaf) *buffer {
	if w.dtype == l.dtype {
		return t.leafGrad(l)
	}
	return t.alloc(ActivationClass, attribution.AutogradDetail, "gradients of cast weights", l.shape, w.dtype)
}

// linear is x·wᵀ + b. With a bias it is addmm, whose backward computes the
// gradients of x, of w and of b in this order; without it is mm, whose backward
// begins with w.
func (t *tape) linear(x *tensor, w, b *leaf, name string, out dim) *tensor {
	d := t.computes(x)
	bias := t.weight(b)
	weight := t.weight(w)
	input := t.cast(x, "inputs cast by autocast", d)
	var unpacked *buffer
	if w.dtype.packed() {
		unpacked = t.dequantised(w, d)
	}
	y := t.make(name, x.shape.of(out), d)
	t.library(b != nil)
	t.drop(unpacked)
	saved := make([]*buffer, 2)
	if wants(weight) {
		saved[0] = input.buffer
		if input.part != nil {
			saved[0] = input.part
		}
	}
	if wants(input) {
		saved[1] = weight.buffer
	}
	if b == nil {
		saved[0], saved[1] = saved[1], saved[0]
	}
	inputGrad := func() *buffer {
		if !wants(input) {
			return nil
		}
		var unpacked *buffer
		if w.dtype.packed() {
			unpacked = t.dequantised(w, d)
		}
		g := t.gradOf(x.shape, d)
		g.viewed = true
		t.drop(unpacked)
		return g
	}
	n := t.record(name, []*tensor{input, weight, bias}, saved, func(g []*buffer) []*buffer {
		grads := make([]*buffer, 3)
		if b != nil {
			grads[0] = inputGrad()
		}
		if wants(weight) {
			var gathered *buffer
			if input.part != nil {
				gathered = t.alloc(CommunicationClass, attribution.Communication, "gathered sequence", x.shape, d)
			}
			grads[1] = t.weightGrad(weight, w)
			grads[1].viewed = true // it comes transposed
			t.drop(gathered)
		}
		t.library(false)
		if b == nil {
			grads[0] = inputGrad()
		}
		return grads
	})
	if n != nil && wants(bias) {
		n.reduce = func(g []*buffer) { g[2] = t.columnSum(bias, b, y.shape) }
	}
	y.out(n)
	t.free(input, weight, bias)
	return y
}

// columnSum allocates the gradient of a vector that was added to each row.
func (t *tape) columnSum(x *tensor, l *leaf, rows shape) *buffer {
	g := t.weightGrad(x, l)
	t.reduction(rows.elements()/l.shape.elements(), l.shape[len(l.shape)-1].n)
	return g
}

// add is x + y of one shape.
func (t *tape) add(x, y *tensor, name string) *tensor {
	z := t.make(name, x.shape, promote(x.dtype, y.dtype))
	n := t.record("add", []*tensor{x, y}, nil, passBoth)
	if n != nil {
		n.reduce = func(g []*buffer) { t.fit(g, z.dtype, x, y) }
	}
	return z.out(n)
}

// passBoth hands one gradient to two inputs.
func passBoth(g []*buffer) []*buffer { return []*buffer{g[0].hold(), g[0].hold()} }

// fit converts gradients to the types of their inputs.
func (t *tape) fit(g []*buffer, d DType, inputs ...*tensor) {
	for i, x := range inputs {
		if x.dtype != d && wants(x) && g[i] != nil {
			old := g[i]
			g[i] = t.gradOf(x.shape, x.dtype)
			t.drop(old)
		}
	}
}

// promote is the type of a result of two types.
func promote(a, b DType) DType {
	if a == b {
		return a
	}
	return F32
}

// layerNorm saves its input, and mean and inverse deviation of each row. Under
// autocast it runs in fp32.
func (t *tape) layerNorm(x *tensor, w, b *leaf, name string) *tensor {
	input := x.view(x.shape)
	if t.casts != nil && x.dtype != F32 {
		t.free(input)
		input = t.cast(x, "inputs cast by autocast", F32)
	}
	rows := x.shape[:len(x.shape)-1]
	y := t.make(name, x.shape, input.dtype)
	mean := t.make("mean and deviation of norms", rows, F32)
	deviation := t.make("mean and deviation of norms", rows, F32)
	inputs := []*tensor{input, &w.tensor}
	if b != nil {
		inputs = append(inputs, &b.tensor)
	}
	y.out(t.record(name, inputs, []*buffer{input.buffer, mean.buffer, deviation.buffer}, func(g []*buffer) []*buffer {
		grads := make([]*buffer, len(inputs))
		if wants(input) {
			grads[0] = t.gradOf(x.shape, input.dtype)
		}
		for i, l := range []*leaf{w, b} {
			if l != nil && wants(&l.tensor) {
				grads[i+1] = t.leafGrad(l)
			}
		}
		return grads
	}))
	t.free(mean, deviation, input)
	return y
}

// pointwise is an operation of one input that saves it, such as GELU; with
// saveResult it saves its result instead, such as ReLU.
func (t *tape) pointwise(x *tensor, name string, saveResult bool) *tensor {
	y := t.make(name, x.shape, x.dtype)
	saved := x.buffer
	if saveResult {
		saved = y.buffer
	}
	return y.out(t.record(name, []*tensor{x}, []*buffer{saved}, func(g []*buffer) []*buffer {
		return []*buffer{t.gradOf(x.shape, x.dtype)}
	}))
}

// scaled is x times a number, or anything else that saves nothing.
func (t *tape) scaled(x *tensor, name string) *tensor {
	y := t.make(name, x.shape, x.dtype)
	return y.out(t.record(name, []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{t.gradOf(x.shape, x.dtype)}
	}))
}

// product is x·y element by element; each is saved for the gradient of the other.
func (t *tape) product(x, y *tensor, name string) *tensor {
	z := t.make(name, x.shape, promote(x.dtype, y.dtype))
	var saved []*buffer
	if wants(y) {
		saved = append(saved, x.buffer)
	}
	if wants(x) {
		saved = append(saved, y.buffer)
	}
	n := t.record(name, []*tensor{x, y}, saved, func(g []*buffer) []*buffer {
		grads := make([]*buffer, 2)
		for i, in := range []*tensor{y, x} { // other, self
			if wants(in) {
				grads[1-i] = t.gradOf(z.shape, z.dtype)
			}
		}
		return grads
	})
	if n != nil {
		n.reduce = func(g []*buffer) { t.fit(g, z.dtype, x, y) }
	}
	return z.out(n)
}

// dropout keeps a mask of one byte an element (native_dropout). Without a
// probability it is nothing at all.
func (t *tape) dropout(x *tensor, p float64, name string) *tensor {
	if p == 0 {
		return x.view(x.shape)
	}
	y := t.make(name, x.shape, x.dtype)
	mask := t.make("masks of dropout", x.shape, Bool)
	y.out(t.record("dropout", []*tensor{x}, []*buffer{mask.buffer}, func(g []*buffer) []*buffer {
		return []*buffer{t.gradOf(x.shape, x.dtype)}
	}))
	t.free(mask)
	return y
}

// embedding looks rows up. It saves the indices, which somebody holds anyway.
func (t *tape) embedding(index *buffer, w *leaf, name string, s shape) *tensor {
	y := t.make(name, s, w.dtype.active())
	return y.out(t.record(name, []*tensor{&w.tensor}, []*buffer{index}, func(g []*buffer) []*buffer {
		grad := t.leafGrad(w)
		t.sortIndices(s)
		return []*buffer{grad}
	}))
}

// leafGrad allocates the gradient of a parameter, all rows of it. It is only to be
// added where there is one from an earlier micro-batch, and where embedding and
// output layer share their weights.
func (t *tape) leafGrad(w *leaf) *buffer {
	if w.tied || w.grad != nil || w.main != nil {
		d := w.gradType
		if w.main != nil {
			d = w.dtype.active()
		}
		return t.alloc(ActivationClass, attribution.AutogradDetail, "gradients to be added", w.shape, d)
	}
	return t.allocAs(w.label, w.gradType.bytesOf(w.shape.elements()))
}

// sortIndices is the scratch of embedding_dense_backward, which sorts the
// indices when there are more than 3072 and sums runs of equal ones in parts.
func (t *tape) sortIndices(s shape) {
	n := s[:len(s)-1].elements()
	if n <= 3072 {
		return
	}
	var held []*buffer
	for range 4 {
		held = append(held, t.scratch("sorted indices of the embedding", s[:len(s)-1], I64))
	}
	t.drop(held...)
}
