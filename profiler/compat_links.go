package profiler

import (
	"cmp"
	"slices"
)

// idWork is the operator of an External id and the device work it launched.
type idWork struct {
	op      int32 // event, none when no operator has the id
	kernels int32
	time    int64 // ns
}

// idTable finds operators by External id. Ids are mostly consecutive, so that a
// list serves; it is a map when they are not.
type idTable struct {
	base   uint32
	list   []idWork
	sparse map[uint32]*idWork
}

// newIDTable makes a table for n ids between low and high.
func newIDTable(n int, low, high uint32) idTable {
	if width := int64(high) - int64(low) + 1; width <= 4*int64(n)+1024 {
		t := idTable{base: low, list: make([]idWork, max(0, width))}
		for i := range t.list {
			t.list[i].op = none
		}
		return t
	}
	return idTable{sparse: make(map[uint32]*idWork, n)}
}

// at returns the operator of an id, nil when there is none.
func (t *idTable) at(id uint32) *idWork {
	if t.sparse != nil {
		return t.sparse[id]
	}
	if i := id - t.base; uint64(i) < uint64(len(t.list)) && t.list[i].op != none {
		return &t.list[i]
	}
	return nil
}

func (t *idTable) set(id uint32, op int32) {
	if t.sparse != nil {
		t.sparse[id] = &idWork{op: op}
		return
	}
	t.list[id-t.base].op = op
}

// link joins events to the operator that launched them by External id. Only the
// GPU span of an annotation has an id of the user's own in its place. A call
// that is linked counts to the thread of its operator, work without an operator
// to the one that stopped the profiler (TransferEvents in
// torch/csrc/profiler/collection.cpp).
func (c *compat) link() {
	c.indexOps()
	c.main = c.mainThread()
	for i := range c.events {
		e := &c.events[i]
		if e.kind == compatOp {
			continue
		}
		e.thread = c.main
		w := c.ids.at(c.externalOf(e))
		if w == nil {
			continue
		}
		e.linked = true
		e.thread = c.events[w.op].thread
		if e.kind == compatDevice {
			if c.t.Device[e.source].Kind.isKernel() {
				w.kernels++
			}
			w.time = addBytes(w.time, e.end-e.start)
		}
	}
}

func (c *compat) indexOps() {
	n, low, high := 0, ^uint32(0), uint32(0)
	for i := range c.events[:c.device] {
		if e := &c.events[i]; e.kind == compatOp && e.id != 0 {
			n++
			low, high = min(low, e.id), max(high, e.id)
		}
	}
	if n == 0 {
		low, high = 1, 0
	}
	c.ids = newIDTable(n, low, high)
	for i := range c.events[:c.device] {
		if e := &c.events[i]; e.kind == compatOp && e.id != 0 {
			c.ids.set(e.id, int32(i))
		}
	}
}

// externalOf is the id of the operator that an event says it comes from, 0 for none.
func (c *compat) externalOf(e *compatEvent) uint32 {
	if e.kind != compatDevice {
		return id32(c.t.Host[e.source].External)
	}
	if e.annotation {
		return 0
	}
	return id32(c.t.Device[e.source].External)
}

// chargeKernels gives operators the device time of what they launched. Torch
// looks the kernels up by the id of the event, so a call without an operator
// gets those of the operator that happens to have its id: each overhead event
// has a second copy of the kernels of the operator it interrupts.
func (c *compat) chargeKernels() {
	for i := range c.events[:c.device] {
		e := &c.events[i]
		if e.linked || e.id == 0 {
			continue
		}
		if w := c.ids.at(e.id); w != nil {
			e.kernels, e.deviceTime = w.kernels, w.time
		}
	}
}

// A span is an operator or Python function of the main thread.
type span struct {
	start, end int64
	index      int32 // order of recording
	op, frame  int32 // one of them is none
}

// placeUnlinked finds, for events that no operator launched, what was open on
// the main thread when they began. Overhead takes the External id of the
// innermost operator there, although it may have happened on another thread;
// where stacks are asked for, all take the stack of the innermost span.
func (c *compat) placeUnlinked() {
	lost := c.unlinked()
	if len(lost) == 0 {
		return
	}
	spans := c.mainSpans()
	var open []span
	for _, event := range lost {
		e := &c.events[event]
		for len(spans) > 0 && spans[0].start <= e.start {
			open = append(closeBefore(open, spans[0].start), spans[0])
			spans = spans[1:]
		}
		open = closeBefore(open, e.start)
		c.place(e, open)
	}
}

// unlinked lists the events to place, by start.
func (c *compat) unlinked() []int32 {
	var list []int32
	for i := range c.events {
		e := &c.events[i]
		if e.kind != compatOp && !e.linked && (c.stacks != nil || c.isOverhead(e)) {
			list = append(list, int32(i))
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(c.events[a].start, c.events[b].start) })
	return list
}

func (c *compat) isOverhead(e *compatEvent) bool {
	return e.kind == compatCall && c.t.Host[e.source].Kind == Overhead
}

// mainSpans lists what can be open on the main thread, in order of start.
func (c *compat) mainSpans() []span {
	var spans []span
	for i := range c.events[:c.device] {
		if e := &c.events[i]; e.kind == compatOp && e.thread == c.main {
			spans = append(spans, span{e.start, e.end, indexOrLast(c.t.Host[e.source].Index), int32(i), none})
		}
	}
	for i := range c.t.Frames {
		if f := &c.t.Frames[i]; c.stacks != nil && f.Thread == c.main {
			spans = append(spans, span{f.Start, f.Start + f.Dur, indexOrLast(f.Index), none, int32(i)})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.index, b.index))
	})
	return spans
}

// closeBefore drops the innermost spans that ended before a time. One that ends
// just then still counts as open, as in build_tree of collection.cpp.
func closeBefore(open []span, time int64) []span {
	for len(open) > 0 && open[len(open)-1].end < time {
		open = open[:len(open)-1]
	}
	return open
}

func (c *compat) place(e *compatEvent, open []span) {
	if c.isOverhead(e) {
		e.id = c.innermostID(open)
	}
	if c.stacks == nil || len(open) == 0 {
		return
	}
	if top := open[len(open)-1]; top.op != none {
		e.stack = c.events[top.op].stack
	} else {
		e.stack = c.stacks.ofFrame(top.frame)
	}
}

func (c *compat) innermostID(open []span) uint32 {
	for i := len(open) - 1; i >= 0; i-- {
		if op := open[i].op; op != none && c.events[op].id != 0 {
			return c.events[op].id
		}
	}
	return 0
}
