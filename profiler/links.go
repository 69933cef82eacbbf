package profiler

import (
	"math"
	"strings"
)

// evaluatePrefix starts the name of the span in which autograd's engine runs
// one backward node; the name of the node follows.
const evaluatePrefix = "autograd::engine::evaluate_function: "

// launchers returns, for every device event, the host event that launched it:
// the operator, or a runtime call outside of all operators, or none. Spans of
// annotations have none.
//
// The link goes from the device event to the runtime call by correlation id,
// and from there to the operator by External id if an operator has it, else by
// thread and time: many kernels carry no External id.
func (t *Trace) launchers(all *nest, position []int32) []int32 {
	byExternal := newIDIndex(len(t.Host), func(i int) (int64, bool) {
		e := &t.Host[i]
		return external(e.External), e.External >= 0 && (e.Kind == Operator || e.Kind == Annotation)
	})
	byCorrelation := newIDIndex(len(t.Host), func(i int) (int64, bool) {
		e := &t.Host[i]
		return e.Correlation, e.Correlation > 0 && e.Kind == Runtime
	})
	out := make([]int32, len(t.Device))
	for i := range t.Device {
		d := &t.Device[i]
		out[i] = none
		if d.Kind == DeviceAnnotation {
			continue
		}
		call := byCorrelation.find(d.Correlation)
		if call >= 0 {
			out[i] = byExternal.find(external(t.Host[call].External))
		}
		if out[i] < 0 {
			out[i] = byExternal.find(external(d.External))
		}
		if out[i] < 0 && call >= 0 {
			out[i] = t.around(all, position[call])
		}
	}
	return out
}

// external brings an External id to the 32 bits that some versions write.
func external(id int64) int64 {
	if id <= 0 {
		return -1
	}
	return id & math.MaxUint32
}

// around returns the innermost operator or annotation around a runtime call, or
// the call itself.
func (t *Trace) around(all *nest, call int32) int32 {
	for at := all.parent[call]; at >= 0; at = all.parent[at] {
		if id := all.spans[at].id; t.Host[id].Kind != Runtime {
			return id
		}
	}
	return all.spans[call].id
}

// An idIndex finds the first entry of a column with an id. Ids are mostly
// dense, so that a slice holds them; others are in a map.
type idIndex struct {
	dense []int32 // entry+1
	rest  map[int64]int32
}

func newIDIndex(n int, id func(i int) (int64, bool)) *idIndex {
	x := &idIndex{dense: make([]int32, 4*n)}
	for i := range n {
		k, ok := id(i)
		switch {
		case !ok || k < 0:
		case k < int64(len(x.dense)):
			if x.dense[k] == 0 {
				x.dense[k] = int32(i) + 1
			}
		default:
			if x.rest == nil {
				x.rest = make(map[int64]int32)
			}
			if _, known := x.rest[k]; !known {
				x.rest[k] = int32(i)
			}
		}
	}
	return x
}

// find returns the first entry with an id, or none.
func (x *idIndex) find(id int64) int32 {
	if id < 0 {
		return none
	}
	if id < int64(len(x.dense)) {
		return x.dense[id] - 1
	}
	if i, ok := x.rest[id]; ok {
		return i
	}
	return none
}

// A backwardLink says which operator made the node of autograd that a host
// event is a part of.
type backwardLink struct {
	forward int32 // host index, or none
	since   int64 // when the backward node began to run
}

// backwardLinks returns the link of every operator, by position in ops. What a
// backward operator calls, and the engine's span around it, share its link.
func (t *Trace) backwardLinks(ops *nest) []backwardLink {
	links := make([]backwardLink, len(ops.spans))
	for i := range links {
		links[i].forward = none
	}
	if len(t.Arrows) > 0 {
		t.linkArrows(ops, links)
	} else {
		t.linkSequences(ops, links)
	}
	for i, l := range links {
		if p := ops.parent[i]; l.forward >= 0 && p >= 0 && links[p].forward < 0 && t.isEvaluate(&t.Host[ops.spans[p].id]) {
			links[p] = backwardLink{l.forward, ops.spans[p].start}
		}
	}
	for i := range links {
		if p := ops.parent[i]; p >= 0 && links[i].forward < 0 {
			links[i] = links[p]
		}
	}
	return links
}

func (t *Trace) isEvaluate(e *HostEvent) bool {
	return strings.HasPrefix(t.Names[e.Name], evaluatePrefix)
}

// linkArrows follows the fwdbwd arrows. The operator at the start of one is the
// last of its sequence number, the one that really made the node; the
// table of torch takes the first.
func (t *Trace) linkArrows(ops *nest, links []backwardLink) {
	at := newInstants(len(t.Arrows), len(t.Threads), func(i int) (int64, ThreadID, bool) {
		return t.Arrows[i].Time, t.Arrows[i].Thread, true
	})
	ends := ops.locate(&at, len(t.Arrows))
	starts := newIDIndex(len(t.Arrows), func(i int) (int64, bool) { return t.Arrows[i].ID, t.Arrows[i].Start })
	for i := range t.Arrows {
		a := &t.Arrows[i]
		if a.Start || ends[i] < 0 {
			continue
		}
		start := starts.find(a.ID)
		if start < 0 || ends[start] < 0 {
			continue
		}
		node := t.backwardNode(ops, ends[i], a.Time)
		links[node] = backwardLink{ops.spans[ends[start]].id, ops.spans[node].start}
	}
}

// backwardNode returns the operator at which an arrow ends: of those that start
// with the arrow the outermost that has a sequence number, since files with
// whole µs let its children start at the same time.
func (t *Trace) backwardNode(ops *nest, innermost int32, time int64) int32 {
	node := innermost
	for at := innermost; at >= 0 && ops.spans[at].start == time; at = ops.parent[at] {
		if e := &t.Host[ops.spans[at].id]; e.Sequence != NoSequence && !t.isEvaluate(e) {
			node = at
		}
	}
	return node
}

// linkSequences links by sequence number where a file has no arrows. Fwd thread
// id is torch's own number of a thread, not a tid, so a number that several
// threads used is left alone. The last operator with the number made the node.
func (t *Trace) linkSequences(ops *nest, links []backwardLink) {
	type maker struct {
		host   int32
		thread ThreadID
		unsure bool
	}
	makers := make(map[int64]maker)
	for i := range ops.spans {
		e := &t.Host[ops.spans[i].id]
		if e.Sequence == NoSequence || e.FwdThread != 0 {
			continue
		}
		m, known := makers[e.Sequence]
		makers[e.Sequence] = maker{ops.spans[i].id, e.Thread, known && (m.unsure || m.thread != e.Thread)}
	}
	for i := range ops.spans {
		e := &t.Host[ops.spans[i].id]
		if e.Sequence == NoSequence || e.FwdThread == 0 {
			continue
		}
		if m, ok := makers[e.Sequence]; ok && !m.unsure && t.Host[m.host].Start <= e.Start {
			links[i] = backwardLink{m.host, ops.spans[i].start}
		}
	}
}
