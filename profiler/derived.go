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

	onceMemory sync.Once
	memory     instants
	owner      []int32 // by memory event: position in ops of its operator, or none

	onceLinks sync.Once
	launcher  []int32 // by device event, see launchers

	onceBackward sync.Once
	backward     []backwardLink // by position in ops

	onceStacks sync.Once
	index      *stackIndex
	hostNode   []int32 // by host event: its own stack
	hostFrame  []int32 // by host event: the innermost frame around its start, or none
	memoryNode []int32 // by memory event: its own stack
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
	d.onceTrees.Do(func() { d.all, d.ops = d.t.hostSpans(), d.t.operators() })
}

func (d *derived) owners() {
	d.trees()
	d.onceMemory.Do(func() {
		d.memory = d.t.memoryInstants()
		d.owner = d.ops.locate(&d.memory, len(d.t.Memory))
	})
}

func (d *derived) launchers() []int32 {
	d.trees()
	d.onceLinks.Do(func() { d.launcher = d.t.launchers(&d.all) })
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
		d.index = d.t.newStackIndex()
		d.hostNode, d.hostFrame = d.index.hostStacks()
		d.memoryNode = d.index.framesAt(&d.memory, len(d.t.Memory))
		for i, frame := range d.memoryNode {
			d.memoryNode[i] = d.index.own(d.t.Memory[i].Stack, frame)
		}
	})
	return d.index
}
