package budget

// A frame is one call under torch.utils.checkpoint (use_reentrant=False): what
// its operations save is thrown away in the forward, and computed again when the
// backward first asks for any of it. The recomputation stops as soon as it has
// everything (early stop), so the last operations are not run again.
type frame struct {
	call   func([]*tensor) *tensor
	inputs []*tensor // held until the backward has passed
	casts  *castCache

	nodes  []*gradNode // that save something
	allocs int         // made by the call
	enough int         // allocations after which everything is saved

	replays int // nodes that the recomputation has passed
	made    int // allocations that it has made
	ran     bool
	left    int // nodes that the backward has yet to pass
}

// checkpoint runs f and keeps its inputs only.
func (t *tape) checkpoint(f func([]*tensor) *tensor, inputs ...*tensor) *tensor {
	if t.noGrad || t.frame != nil || t.replayed != nil {
		return f(inputs)
	}
	call := &frame{call: f, casts: t.casts}
	for _, x := range inputs {
		if x != nil {
			call.inputs = append(call.inputs, x.view(x.shape))
		}
	}
	t.frame = call
	y := f(inputs)
	t.frame = nil
	call.left = len(call.nodes)
	if call.left == 0 {
		t.free(call.inputs...)
	}
	return y
}

// pack notes a node and does not hold what it saves. Inputs are saved before an
// operation runs and results after it, which decides how far a recomputation
// must go.
func (f *frame) pack(n *gradNode, saved []*buffer, last *buffer) {
	n.frame = f
	result := false
	for _, b := range saved {
		n.saves = n.saves || b != nil
	}
	if !n.saves {
		return
	}
	f.nodes = append(f.nodes, n)
	f.enough = f.allocs
	for _, b := range saved {
		result = result || b != nil && b == last
	}
	if !result {
		f.enough--
	}
}

// recompute runs the call again, once.
func (t *tape) recompute(f *frame) {
	if f.ran {
		return
	}
	f.ran = true
	casts, step := t.casts, t.where
	t.replayed, t.casts = f, nil
	run := func() { t.free(f.call(f.inputs)) }
	if f.casts != nil {
		t.autocast(f.casts.dtype, run)
	} else {
		run()
	}
	t.replayed, t.casts, t.muted, t.where = nil, casts, false, step
}

// replay hands what is saved again to the node that wants it.
func (f *frame) replay(saved []*buffer) *gradNode {
	any := false
	for _, b := range saved {
		any = any || b != nil
	}
	if !any || f.replays == len(f.nodes) {
		return &gradNode{}
	}
	n := f.nodes[f.replays]
	f.replays++
	n.keep(saved)
	return n
}

// stop counts an allocation and reports whether it is beyond what is needed.
func (f *frame) stop() bool {
	f.made++
	return f.made > f.enough
}

// done notes that the backward has passed a node.
func (f *frame) done(t *tape, n *gradNode) {
	if !n.saves {
		return
	}
	if f.left--; f.left == 0 {
		t.free(f.inputs...)
	}
}
