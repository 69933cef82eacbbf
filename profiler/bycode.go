package profiler

import "fmt"

// A codeSum is what is charged to one stack itself.
type codeSum struct{ cpu, device, cpuMemory, deviceMemory int64 }

func (s *codeSum) add(o codeSum) {
	s.cpu += o.cpu
	s.device += o.device
	s.cpuMemory += o.cpuMemory
	s.deviceMemory += o.deviceMemory
}

func (s codeSum) addTo(r *Row) {
	r.CPU += s.cpu
	r.DeviceTime += s.device
	r.CPUMemory += s.cpuMemory
	r.DeviceMemory += s.deviceMemory
}

// byCode fills the rows by line or by module.
//
// A row has the operators whose stack it is the innermost line or module of.
// Columns with what it calls (CPU, DeviceTime, CPUMemory, DeviceMemory) add all
// stacks that go through it, each once. Peak and Kept are those of the calls of
// the function or module on its thread, where the trace has them as Python
// frames, else of single operators. Count is the number of operators that it
// calls. The time of annotations that no operator inside of them has, and the
// profiler's overhead, are in one row, so that SelfCPU adds up as in a table by
// operator; other time outside of operators and runtime calls is Python's and
// in no row.
func (a *attribution) byCode() {
	x := a.stacks()
	c := code{attribution: a, x: x, paths: make(map[string]uint32), sums: make([]codeSum, 2*len(x.tree.nodes)), byNode: make([]int32, 2*len(x.tree.nodes))}
	c.operators()
	c.others()
	c.rollUp()
	c.calls()
}

// code is the work of byCode.
type code struct {
	*attribution
	x      *stackIndex
	sums   []codeSum // by stack, twice: forward and backward
	byNode []int32   // by stack, likewise: its row + 1
	paths  map[string]uint32
}

func twice(node int32, backward bool) int32 {
	if backward {
		return 2*node + 1
	}
	return 2 * node
}

// rowAt returns the row that a stack belongs to.
func (c *code) rowAt(node int32, backward bool, thread ThreadID) int32 {
	if node == 0 {
		return c.special(c.without(thread), backward)
	}
	slot := &c.byNode[twice(node, backward)]
	if *slot == 0 {
		*slot = c.rowOfStack(node, backward) + 1
	}
	return *slot - 1
}

func (c *code) rowOfStack(node int32, backward bool) int32 {
	tree := c.x.tree
	if c.o.By == ByModule {
		if m := tree.nodes[node].module; m != 0 {
			return c.moduleRow(m, backward)
		}
		return c.special(rowOutside, backward)
	}
	if l := tree.line(node); l != 0 {
		return c.lineRow(tree.nodes[l].text, backward)
	}
	return c.special(rowNoStack, backward)
}

func (c *code) special(kind uint8, backward bool) int32 {
	return c.row(rowKey{kind: kind, again: backward}, func() Row {
		name := specialNames[kind]
		return Row{Name: name, Function: name, Backward: backward}
	})
}

func (c *code) lineRow(text int32, backward bool) int32 {
	return c.row(rowKey{a: uint32(text), again: backward}, func() Row {
		f := &c.x.tree.texts[text]
		return Row{Name: fmt.Sprintf("%s:%d %s", f.file, f.line, f.function), File: f.file, Line: f.line,
			Function: f.function, Backward: backward}
	})
}

// moduleRow returns the row of the path of a module; calls of it from other
// places are in the same row.
func (c *code) moduleRow(node int32, backward bool) int32 {
	text := c.x.tree.modulePath(node)
	id, known := c.paths[text]
	if !known {
		id = uint32(len(c.paths))
		c.paths[text] = id
	}
	return c.row(rowKey{a: id, again: backward}, func() Row {
		return Row{Name: text, Module: text, Backward: backward}
	})
}

// operators charges every operator, and the runtime calls, to its stack.
func (c *code) operators() {
	t := c.t
	charged := c.chargedStacks()
	rowOf := make([]int32, len(c.all.spans))
	for i := range c.all.spans {
		rowOf[i] = none
		host := c.all.spans[i].id
		e := &t.Host[host]
		if e.Kind == Annotation {
			c.between(c.selfCPU[host])
			if c.kernels[host] == 0 && c.selfDevice[host] == 0 {
				continue
			}
		}
		node, backward := charged(host)
		row := c.rowAt(node, backward, e.Thread)
		sum := codeSum{cpu: c.selfCPU[host], device: c.selfDevice[host]}
		r := &c.table.Rows[row]
		if e.Kind == Annotation {
			r.SelfDevice += sum.device
			r.Kernels += int(c.kernels[host])
			sum.cpu = 0
		} else {
			c.addSelf(r, host)
		}
		if at := c.opAt[host]; at >= 0 {
			rowOf[i] = row
			sum.cpuMemory, sum.deviceMemory = c.own[at].selfCPU, c.own[at].selfDevice
			c.remember(row, host, node)
		}
		c.sum(node, backward, row, sum)
	}
	for i := range t.Host {
		if e := &t.Host[i]; e.Kind == Overhead {
			c.between(e.Dur)
		}
	}
	flops := newFlopCounter(t)
	for i, outer := range c.all.outermost(rowOf, len(c.table.Rows)) {
		if rowOf[i] < 0 {
			continue
		}
		host := c.all.spans[i].id
		r := &c.table.Rows[rowOf[i]]
		r.Flops += flops.of(&t.Host[host])
		if outer {
			m := &c.own[c.opAt[host]]
			r.Count++
			r.Peak = max(r.Peak, m.peak)
			r.Kept += m.kept(c.mainCPU)
		}
	}
}

// between adds time that no operator and no runtime call has.
func (c *code) between(ns int64) {
	if ns != 0 {
		r := &c.table.Rows[c.special(rowBetween, false)]
		r.SelfCPU += ns
		r.CPU += ns
	}
}

// sum adds to a stack, or to the row where there is none.
func (c *code) sum(node int32, backward bool, row int32, s codeSum) {
	if node == 0 {
		s.addTo(&c.table.Rows[row])
		return
	}
	c.sums[twice(node, backward)].add(s)
}

// others charges memory events outside of operators that have a stack.
func (c *code) others() {
	for i := range c.t.Memory {
		e := &c.t.Memory[i]
		if e.OOM || c.owner[i] >= 0 {
			continue
		}
		node := c.memoryNode[i]
		if node == 0 {
			c.unattributed(e)
			continue
		}
		var m charge
		m.add(e, c.mainCPU)
		row := c.rowAt(node, false, e.Thread)
		c.table.Rows[row].addMemory(&m)
		c.sum(node, false, row, codeSum{cpuMemory: m.selfCPU, deviceMemory: m.selfDevice})
	}
}

// rollUp adds to every row what is charged to the stacks through it.
func (c *code) rollUp() {
	nodes := c.x.tree.nodes
	inside := make([]codeSum, len(c.sums))
	copy(inside, c.sums)
	for i := len(nodes) - 1; i > 0; i-- { // what is inside comes after its parent
		p := nodes[i].parent
		inside[2*p].add(inside[2*i])
		inside[2*p+1].add(inside[2*i+1])
	}
	for i := int32(1); int(i) < len(nodes); i++ {
		for _, backward := range [...]bool{false, true} {
			at := twice(i, backward)
			switch {
			case inside[at] == codeSum{}:
			case !c.isRow(i):
				if !c.underRow(i) && c.sums[at] != (codeSum{}) {
					c.sums[at].addTo(&c.table.Rows[c.rowAt(i, backward, 0)])
				}
			case !c.recurs(i):
				inside[at].addTo(&c.table.Rows[c.rowAt(i, backward, 0)])
			}
		}
	}
}

// isRow reports whether the innermost frame of a stack is what its row is called by.
func (c *code) isRow(node int32) bool { return c.around(node) == node }

// underRow reports whether a frame of the stack is.
func (c *code) underRow(node int32) bool { return c.around(node) != 0 }

// around returns the innermost line of the user or module of a stack, 0 for none.
func (c *code) around(node int32) int32 {
	if c.o.By == ByModule {
		return c.x.tree.nodes[node].module
	}
	return c.x.tree.nodes[node].user
}

// recurs reports whether the line of the innermost frame is further out too.
func (c *code) recurs(node int32) bool {
	if c.o.By == ByModule {
		return false // a module inside itself has another path
	}
	nodes := c.x.tree.nodes
	for at := c.around(nodes[node].parent); at != 0; at = c.around(nodes[at].parent) {
		if nodes[at].text == nodes[node].text {
			return true
		}
	}
	return false
}

// calls sets Peak and Kept from the calls of functions and modules.
func (c *code) calls() {
	n := &c.x.frames
	rowOf := make([]int32, len(n.spans))
	hit := make([]bool, len(c.table.Rows))
	for i := range n.spans {
		rowOf[i] = none
		node := c.x.node[n.spans[i].id]
		if node == 0 || !c.isRow(node) {
			continue
		}
		if slot := c.byNode[twice(node, false)]; slot > 0 {
			rowOf[i] = slot - 1
			hit[slot-1] = true
		}
	}
	for row, is := range hit {
		if is {
			c.table.Rows[row].Kept, c.table.Rows[row].Peak = 0, 0
		}
	}
	c.onceFrames.Do(func() { c.frames = c.charges(n, c.mainCPU) })
	spans := c.frames
	for i, outer := range n.outermost(rowOf, len(c.table.Rows)) {
		if outer {
			r := &c.table.Rows[rowOf[i]]
			r.Peak = max(r.Peak, spans[i].peak)
			r.Kept += spans[i].kept(c.mainCPU)
		}
	}
}
