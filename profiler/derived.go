package profiler

import (
	"sync"
	"sync/atomic"
)

// derived is what tables need to know of a trace over and over. It is computed
// at first use and holds for the columns as they were then.
type derived struct {
	t *Trace

	onceTrees sync.Once
	all, ops  nest
	position  []int32 // by host event: position in all, or none

	onceMemory sync.Once
	memory     instants
	owner      []int32 // by memory event: position in ops of its operator, or none

	onceBasis sync.Once
	basis     basis

	onceGroups     sync.Once
	groups, allocs []deviceMemory // all memory events, and those but for OOM marks

	onceGone sync.Once
	gone     [2][][]gone // of devices and of the CPU, by thread

	onceLaunches sync.Once
	byLaunch     map[int64]int32

	oncePhases sync.Once
	phaseSpans []phaseSpan

	onceLinks sync.Once
	launcher  []int32 // by device event, see launchers

	onceBackward sync.Once
	backward     []backwardLink // by position in ops

	onceCharged sync.Once
	operator    []int32 // by host event: position in ops of the innermost operator, with the event itself, or none

	onceStacks sync.Once
	index      *stackIndex
	hostNode   []int32 // by host event: its own stack
	hostFrame  []int32 // by host event: the innermost frame around its start, or none
	memoryNode []int32 // by memory event: its own stack
	engine     []bool  // by thread: autograd's engine runs on it
}

// lazy is the place of derived in a Trace.
type lazy = atomic.Pointer[derived]

// derived returns what is known of the trace; parts of it are computed when
// they are asked for.
func (t *Trace) derived() *derived {
	if d := t.lazy.Load(); d != nil {
		return d
	}
	t.lazy.CompareAndSwap(nil, &derived{t: t})
	return t.lazy.Load()
}

func (d *derived) trees() {
	d.onceTrees.Do(func() {
		d.all, d.ops = d.t.hostSpans(), d.t.operators()
		d.position = make([]int32, len(d.t.Host))
		for i := range d.position {
			d.position[i] = none
		}
		for i := range d.all.spans {
			d.position[d.all.spans[i].id] = int32(i)
		}
	})
}

// innermost returns the innermost host event of a thread with start <= time <
// end, or none.
func (d *derived) innermost(thread ThreadID, time int64) int32 {
	if at := d.all.innermost(thread, time); at >= 0 {
		return d.all.spans[at].id
	}
	return none
}

// parentOf returns the host event around another, or none.
func (d *derived) parentOf(host int32) int32 {
	if at := d.position[host]; at >= 0 && d.all.parent[at] >= 0 {
		return d.all.spans[d.all.parent[at]].id
	}
	return none
}

func (d *derived) owners() {
	d.trees()
	d.onceMemory.Do(func() {
		d.memory = d.t.memoryInstants()
		d.owner = d.ops.locate(&d.memory, len(d.t.Memory))
	})
}

// allocations are the allocations and frees of each device in order.
func (d *derived) allocations() []deviceMemory {
	d.onceGroups.Do(func() { d.groups, d.allocs = d.t.groupMemory() })
	return d.allocs
}

func (d *derived) launchers() []int32 {
	d.trees()
	d.onceLinks.Do(func() { d.launcher = d.t.launchers(&d.all, d.position) })
	return d.launcher
}

func (d *derived) backwardLinks() []backwardLink {
	d.trees()
	d.onceBackward.Do(func() { d.backward = d.t.backwardLinks(&d.ops) })
	return d.backward
}

func (d *derived) stacks() *stackIndex {
	d.owners()
	d.onceStacks.Do(func() {
		d.engine = make([]bool, len(d.t.Threads))
		for i := range d.t.Host {
			if e := &d.t.Host[i]; e.Kind == Operator && (e.FwdThread != 0 || d.t.isEvaluate(e)) {
				d.engine[e.Thread] = true
			}
		}
		d.index = d.t.newStackIndex()
		d.hostNode, d.hostFrame = d.index.hostStacks(&d.all)
		d.memoryNode = d.index.framesAt(&d.memory, len(d.t.Memory))
		for i, frame := range d.memoryNode {
			d.memoryNode[i] = d.index.own(d.t.Memory[i].Stack, frame)
		}
	})
	return d.index
}

// chargedStacks returns the stack that a host event is charged to, and whether
// it is the backward of that stack.
func (d *derived) chargedStacks() func(host int32) (node int32, backward bool) {
	x := d.stacks()
	links := d.backwardLinks()
	d.onceCharged.Do(d.findOperators)
	return func(host int32) (int32, bool) {
		op := d.operator[host]
		if op < 0 || links[op].forward < 0 {
			return d.hostNode[host], false
		}
		if f := d.hostFrame[host]; f >= 0 && x.t.Frames[f].Start >= links[op].since {
			return d.hostNode[host], true
		}
		return d.hostNode[links[op].forward], true
	}
}

// findOperators finds the operator of every host event.
func (d *derived) findOperators() {
	at := make([]int32, len(d.t.Host))
	for i := range at {
		at[i] = none
	}
	for i := range d.ops.spans {
		at[d.ops.spans[i].id] = int32(i)
	}
	for i := range d.all.spans {
		if p, id := d.all.parent[i], d.all.spans[i].id; p >= 0 && at[id] < 0 {
			at[id] = at[d.all.spans[p].id]
		}
	}
	d.operator = at
}

// without says why an event of a thread has no stack.
func (d *derived) without(thread ThreadID) uint8 {
	if d.engine[thread] && len(d.index.tree.nodes) > 1 {
		return rowAutograd
	}
	return rowNoStack
}
