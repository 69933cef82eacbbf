package budget

import (
	"container/heap"
	"math"

	"github.com/snapview/snapview/attribution"
)

// A tensor is a buffer and where its gradient flows.
type tensor struct {
	*buffer
	shape shape
	dtype DType
	from  *gradNode // nil: no gradient
	slot  int       // of from's outputs
	part  *buffer   // what is saved in its place, where this is gathered from it
	whole bool      // its heads lie one behind the other
}

// A leaf is a parameter.
type leaf struct {
	tensor
	param    *Param
	line     string // of the ledger, for its weights
	whole    shape  // before ZeRO divides it
	grad     *buffer
	main     *buffer // gradients that outlive a step; nil for those that autograd makes
	kept     *buffer // this GPU's part of a gradient that ZeRO divides
	label    int32   // of its gradient
	trained  bool
	tied     bool // the output layer has the same weights
	gradType DType
}

// A gradNode is one operation of the graph that the backward walks
// (torch::autograd::Node).
type gradNode struct {
	name     string
	sequence int64
	next     []edge
	saved    []*buffer
	// back returns a gradient for each edge, held by the caller; nil for none.
	// It holds the gradients that it is given, one of each output.
	back func(grads []*buffer) []*buffer
	// reduce then fits gradients to their inputs, as validate_outputs does.
	reduce func(grads []*buffer)

	frame *frame // that recomputes what this saves; nil outside of checkpoints
	saves bool   // it saved something, before a checkpoint threw that away

	grads   []*buffer // arrived, by output
	waiting int
	seen    bool
}

// An edge leads a gradient to an output of another node. A nil to wants none.
type edge struct {
	to   *gradNode
	slot int
}

func (x *tensor) edge() edge {
	if x == nil {
		return edge{}
	}
	return edge{x.from, x.slot}
}

// needs reports whether a gradient flows through any of the inputs.
func (t *tape) needs(inputs ...*tensor) bool {
	if t.noGrad {
		return false
	}
	for _, x := range inputs {
		if x != nil && x.from != nil {
			return true
		}
	}
	return false
}

// record adds an operation to the graph, or nothing when no gradient is wanted.
// It holds what it saves.
func (t *tape) record(name string, inputs []*tensor, saved []*buffer, back func([]*buffer) []*buffer) *gradNode {
	if !t.needs(inputs...) {
		return nil
	}
	if t.replayed != nil {
		return t.replayed.replay(saved)
	}
	t.sequence++
	n := &gradNode{name: name, sequence: t.sequence, back: back}
	for _, x := range inputs {
		n.next = append(n.next, x.edge())
	}
	if t.frame != nil {
		t.frame.pack(n, saved, t.last)
		return n
	}
	n.keep(saved)
	return n
}

// keep holds what the node saves.
func (n *gradNode) keep(saved []*buffer) {
	for _, b := range saved {
		if b != nil {
			n.saved = append(n.saved, b.hold())
		}
	}
}

// backward runs the graph from what the forward ended with
// (torch::autograd::Engine), which it takes over. Nodes that were recorded last
// run first.
func (t *tape) backward(end *tensor) {
	root, grad := end.from, end.buffer
	if root != nil {
		t.prepare(root)
		g := t.alloc(ActivationClass, attribution.AutogradDetail, gradOfEnd(end.shape), end.shape, end.dtype)
		t.run(root, g)
	}
	t.drop(grad)
}

func gradOfEnd(s shape) string {
	if len(s) == 0 {
		return "gradient of the loss"
	}
	return "gradient from the next stage"
}

// run walks from a node that is given its gradient, which it takes over.
func (t *tape) run(root *gradNode, grad *buffer) {
	root.grads = append(root.grads, grad)
	ready := nodeQueue{root}
	for len(ready) > 0 {
		n := heap.Pop(&ready).(*gradNode)
		t.where = n.name
		for i, g := range t.apply(n) {
			e := n.next[i]
			if e.to == nil {
				t.drop(g)
				continue
			}
			t.arrive(e, g)
			if e.to.waiting--; e.to.waiting == 0 {
				heap.Push(&ready, e.to)
			}
		}
	}
}

// prepare counts for each node how many gradients it waits for.
func (t *tape) prepare(n *gradNode) {
	stack := []*gradNode{n}
	n.seen = true
	for len(stack) > 0 {
		n, stack = stack[len(stack)-1], stack[:len(stack)-1]
		for _, e := range n.next {
			if e.to == nil {
				continue
			}
			e.to.waiting++
			if !e.to.seen {
				e.to.seen = true
				stack = append(stack, e.to)
			}
		}
	}
}

// apply runs one node (Engine::evaluate_function): its results are fitted to the
// inputs, then the gradients it was given go, then what it saved.
func (t *tape) apply(n *gradNode) []*buffer {
	grads := n.grads
	n.grads, n.seen = nil, false
	if n.frame != nil && n.saves {
		t.recompute(n.frame)
	}
	out := n.back(grads)
	if n.frame != nil { // saved-tensor hooks own what was saved until it is unpacked
		t.drop(n.saved...)
	}
	if n.reduce != nil {
		n.reduce(out)
	}
	t.drop(grads...)
	if n.frame == nil {
		t.drop(n.saved...)
	} else {
		n.frame.done(t, n)
	}
	n.saved = nil
	return out
}

// arrive adds a gradient to those that a node was given (InputBuffer::add). The
// sum takes the place of the first when nobody else holds that.
func (t *tape) arrive(e edge, g *buffer) {
	for len(e.to.grads) <= e.slot {
		e.to.grads = append(e.to.grads, nil)
	}
	at := &e.to.grads[e.slot]
	switch {
	case g == nil:
	case *at == nil:
		*at = g
	case (*at).refs == 1 && !(*at).viewed:
		t.drop(g)
	default:
		sum := t.allocAs((*at).label, (*at).bytes)
		t.drop(*at, g)
		*at = sum
	}
}

// leafNode is the end of a parameter's gradient (AccumulateGrad). It runs before
// anything else that is ready. The first gradient is taken over when nobody else
// holds it, a later one is added.
func (t *tape) leafNode(l *leaf) *gradNode {
	n := &gradNode{name: "accumulate", sequence: math.MaxInt64}
	n.back = func(g []*buffer) []*buffer {
		switch {
		case g[0] == nil:
		case t.arrived != nil && t.arrived(l):
		case l.grad != nil:
		case g[0].refs == 1:
			l.grad = g[0].hold()
			t.relabel(l.grad, t.gradLabel(l, l.grad.bytes))
		default:
			l.grad = t.allocAs(t.gradLabel(l, g[0].bytes), g[0].bytes)
		}
		return nil
	}
	return n
}

// gradLabel is the label of a gradient, which comes in the type of its weights
// where it is kept in another.
func (t *tape) gradLabel(l *leaf, bytes int64) int32 {
	own := &t.labels[l.label]
	if bytes == own.dtype.bytesOf(own.shape.elements()) {
		return l.label
	}
	return t.name(own.class, own.category, own.name, own.shape, l.dtype.active())
}

// nodeQueue is a heap whose first is the node that was recorded last.
type nodeQueue []*gradNode

func (q nodeQueue) Len() int           { return len(q) }
func (q nodeQueue) Less(i, j int) bool { return q[i].sequence > q[j].sequence }
func (q nodeQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *nodeQueue) Push(x any)        { *q = append(*q, x.(*gradNode)) }
func (q *nodeQueue) Pop() any {
	old := *q
	n := old[len(old)-1]
	*q = old[:len(old)-1]
	return n
}
