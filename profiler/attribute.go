package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// attribute builds the tables of operators, lines and modules.
//
// Memory goes to the innermost operator of the same thread with start <= time <
// end; annotations and calls into the device's library own none. Allocations
// and frees are charged where they happen: a free to the operator that frees,
// not to the one that allocated. Times are those of key_averages, in exact ns,
// but that a span inside another one of its row counts once. Device time goes
// to the operator that launched.
//
// What a backward operator does is charged to the stack of the forward operator
// that made it, in a row marked Backward, except for forward code that runs
// again inside of it, as with checkpoints, whose own stack is known. Gradient
// accumulation and the optimizer have no forward operator.
//
// Tables by line and by module also charge what happens outside of operators
// while the stack is known, such as frees by Python itself.
func (t *Trace) attribute(o TableOptions) Table {
	a := t.newAttribution(o)
	if o.By == ByLine || o.By == ByModule {
		a.byCode()
	} else {
		a.byOperator()
	}
	a.finish()
	return a.table
}

// An attribution is a table in the making.
type attribution struct {
	*derived
	o TableOptions
	*basis
	table   Table
	rows    map[rowKey]int32
	example []exampleStack // by row
}

// A basis is what all tables of a trace start from; they only read it.
type basis struct {
	mainCPU               bool     // the trace has no device memory: gross columns are of CPU memory
	own                   []charge // by position in ops
	opAt                  []int32  // by host event: its position in ops, or none
	selfCPU               []int64  // by host event, ns
	selfDevice, allDevice []int64  // by host event, ns
	kernels               []int32  // by host event
	lost                  int      // device events whose launch is not in the trace

	onceFrames sync.Once
	frames     []charge // by position in the frames of stacks
}

// rowKey tells rows apart; what its members are depends on the table.
type rowKey struct {
	a, b  uint32
	kind  uint8
	again bool // backward
}

// Kinds of rows that are no line, module or operator.
const (
	rowPlain uint8 = iota
	rowAnnotation
	rowOutside  // stack without a module
	rowNoStack  // no stack at all
	rowAutograd // no stack, on a thread of autograd
	rowBetween  // annotations and the profiler's overhead, outside of operators
)

// specialNames are the names of such rows.
var specialNames = [...]string{
	rowOutside:  "(outside of modules)",
	rowNoStack:  "(no stack)",
	rowAutograd: "(autograd thread)",
	rowBetween:  flameOutside,
}

// exampleStack is the stack of the event of a row with the most memory, or of its first.
type exampleStack struct {
	node  int32
	bytes int64
}

func (t *Trace) newAttribution(o TableOptions) *attribution {
	if o.StackDepth <= 0 {
		o.StackDepth = DefaultStackDepth
	}
	d := t.derived()
	a := &attribution{derived: d, o: o, basis: d.basisOfTables(), rows: make(map[rowKey]int32)}
	a.table.By = o.By
	if a.lost > 0 {
		a.note("the launch of %d of %d device events is not in the trace: their time is in no row", a.lost, len(t.Device))
	}
	return a
}

func (d *derived) basisOfTables() *basis {
	d.owners()
	d.onceBasis.Do(d.findBasis)
	return &d.basis
}

func (d *derived) findBasis() {
	a, t := &d.basis, d.t
	a.mainCPU = t.onlyCPUMemory()
	a.own = d.charges(&d.ops, a.mainCPU)
	a.opAt = make([]int32, len(t.Host))
	for i := range a.opAt {
		a.opAt[i] = none
	}
	for i := range d.ops.spans {
		a.opAt[d.ops.spans[i].id] = int32(i)
	}
	a.times(d)
}

// onlyCPUMemory reports whether there is no memory of a device.
func (t *Trace) onlyCPUMemory() bool {
	for i := range t.Memory {
		if e := &t.Memory[i]; !e.OOM && !e.Type.onCPU() {
			return false
		}
	}
	return true
}

// times computes the time of host events without what they call, and the device
// time that they launched.
func (a *basis) times(d *derived) {
	t := d.t
	a.selfCPU, a.selfDevice = make([]int64, len(t.Host)), make([]int64, len(t.Host))
	a.kernels = make([]int32, len(t.Host))
	for i := range t.Host {
		a.selfCPU[i] = t.Host[i].Dur
	}
	for i, host := range d.launchers() {
		if host >= 0 {
			a.selfDevice[host] += t.Device[i].Dur
			if t.Device[i].Kind.isKernel() {
				a.kernels[host]++
			}
		} else if t.Device[i].Kind != DeviceAnnotation {
			a.lost++
		}
	}
	a.allDevice = slices.Clone(a.selfDevice)
	for i := len(d.all.spans) - 1; i >= 0; i-- {
		if p := d.all.parent[i]; p >= 0 {
			id, outer := d.all.spans[i].id, d.all.spans[p].id
			a.selfCPU[outer] -= t.Host[id].Dur
			a.allDevice[outer] += a.allDevice[id]
		}
	}
}

func (a *attribution) note(format string, args ...any) {
	a.table.Notes = append(a.table.Notes, fmt.Sprintf(format, args...))
}

// row returns the index of a row, which make makes when it is new.
func (a *attribution) row(k rowKey, make func() Row) int32 {
	if r, known := a.rows[k]; known {
		return r
	}
	r := int32(len(a.table.Rows))
	a.table.Rows = append(a.table.Rows, make())
	a.example = append(a.example, exampleStack{bytes: -1})
	a.rows[k] = r
	return r
}

// addSelf adds what an operator, or another host event, does itself.
func (a *attribution) addSelf(r *Row, host int32) {
	r.SelfCPU += a.selfCPU[host]
	r.SelfDevice += a.selfDevice[host]
	r.Kernels += int(a.kernels[host])
	if at := a.opAt[host]; at >= 0 {
		r.addMemory(&a.own[at])
	}
}

func (r *Row) addMemory(c *charge) {
	r.SelfCPUMemory += c.selfCPU
	r.SelfDeviceMemory += c.selfDevice
	r.Allocated += c.allocated
	r.Freed += c.freed
	r.Allocs += int(c.allocs)
	r.Frees += int(c.frees)
}

// remember keeps the stack of the heaviest event of a row as its example.
func (a *attribution) remember(row, host, node int32) {
	var bytes int64
	if at := a.opAt[host]; at >= 0 {
		bytes = a.own[at].allocated
	}
	if e := &a.example[row]; node != 0 && (bytes > e.bytes || e.node == 0) {
		*e = exampleStack{node, bytes}
	}
}

// byOperator fills the rows by operator, by shape and by stack: those of
// operators and also of annotations, runtime calls and overhead.
func (a *attribution) byOperator() {
	t := a.t
	rowOf := make([]int32, len(a.all.spans))
	key := a.operatorKeys()
	for i := range a.all.spans {
		rowOf[i] = a.operatorRow(key, a.all.spans[i].id)
	}
	outermost := a.all.outermost(rowOf, len(a.table.Rows))
	spans := a.charges(&a.all, a.mainCPU)
	flops := newFlopCounter(t)
	for i := range a.all.spans {
		host := a.all.spans[i].id
		e, r := &t.Host[host], &a.table.Rows[rowOf[i]]
		a.addSelf(r, host)
		r.Count++
		r.Flops += flops.of(e)
		c := &spans[i]
		if at := a.opAt[host]; at >= 0 {
			c = &a.own[at]
		}
		r.Peak = max(r.Peak, c.peak)
		if outermost[i] {
			r.CPU += e.Dur
			r.DeviceTime += a.allDevice[host]
			r.CPUMemory += c.cpu
			r.DeviceMemory += c.device
			r.Kept += c.kept(a.mainCPU)
		}
	}
	for i := range t.Host {
		if e := &t.Host[i]; e.Kind == Overhead {
			r := &a.table.Rows[a.operatorRow(key, int32(i))]
			r.Count++
			r.SelfCPU += e.Dur
			r.CPU += e.Dur
		}
	}
	for i := range t.Memory {
		if a.owner[i] < 0 {
			a.unattributed(&t.Memory[i])
		}
	}
}

// unattributed adds an event to what no row has.
func (a *attribution) unattributed(e *MemoryEvent) {
	var c charge
	if !e.OOM {
		c.add(e, a.mainCPU)
		a.table.Unattributed += c.allocated
		a.table.UnattributedFreed += c.freed
		a.table.UnattributedCPU += c.selfCPU
		a.table.UnattributedDevice += c.selfDevice
	}
}

// operatorKeys returns what tells host events apart in a table by operator.
func (a *attribution) operatorKeys() func(host int32) (key rowKey, node int32) {
	t := a.t
	key := func(host int32) rowKey {
		k := rowKey{a: uint32(t.Host[host].Name)}
		if t.Host[host].Kind == Annotation {
			k.kind = rowAnnotation
			if strings.HasPrefix(t.Names[k.a], "ProfilerStep#") {
				k.a = 0
			}
		}
		return k
	}
	switch a.o.By {
	case ByShape:
		return func(host int32) (rowKey, int32) {
			k := key(host)
			k.b = uint32(t.Host[host].Shapes)
			return k, 0
		}
	case ByStack:
		short := a.shortStacks()
		charged := a.chargedStacks()
		return func(host int32) (rowKey, int32) {
			k := key(host)
			node, again := charged(host)
			k.b, k.again = short(node), again
			return k, node
		}
	}
	return func(host int32) (rowKey, int32) { return key(host), 0 }
}

func (a *attribution) operatorRow(key func(int32) (rowKey, int32), host int32) int32 {
	k, node := key(host)
	r := a.row(k, func() Row {
		row := Row{Name: a.t.Names[k.a], Backward: k.again}
		switch {
		case k.a == 0 && k.kind == rowAnnotation:
			row.Name = "ProfilerStep*"
		case a.o.By == ByShape:
			row.Shapes = a.t.Names[k.b]
		}
		if a.o.By == ByStack {
			row.Stack = a.stacks().tree.list(node, a.o.StackDepth)
		}
		return row
	})
	return r
}

// shortStacks numbers stacks by their innermost frames.
func (a *attribution) shortStacks() func(node int32) uint32 {
	tree := a.stacks().tree
	ids := make(map[string]uint32)
	byNode := make([]uint32, len(tree.nodes))
	return func(node int32) uint32 {
		if byNode[node] == 0 {
			text := strings.Join(tree.list(node, a.o.StackDepth), "\x00")
			id, known := ids[text]
			if !known {
				id = uint32(len(ids)) + 1
				ids[text] = id
			}
			byNode[node] = id
		}
		return byNode[node]
	}
}

// finish sorts the rows and gives them their example stacks.
func (a *attribution) finish() {
	for i := range a.table.Rows {
		if r := &a.table.Rows[i]; r.Stack == nil && a.example[i].node != 0 {
			r.Stack = a.stacks().tree.list(a.example[i].node, 0)
		}
	}
	slices.SortStableFunc(a.table.Rows, func(x, y Row) int {
		return cmp.Or(-cmp.Compare(x.Allocated, y.Allocated), -cmp.Compare(x.Freed, y.Freed),
			-cmp.Compare(x.SelfDevice, y.SelfDevice), -cmp.Compare(x.SelfCPU, y.SelfCPU), -cmp.Compare(x.CPU, y.CPU),
			cmp.Compare(x.Name, y.Name), cmp.Compare(x.Shapes, y.Shapes))
	})
	t := a.t
	if len(t.Memory) == 0 {
		a.note("the trace has no memory events: record it with profile_memory=True")
	}
	if a.o.By == ByOp || a.o.By == ByShape {
		return
	}
	switch {
	case len(a.stacks().tree.nodes) == 1:
		a.note("the trace has no stacks: record it with with_stack=True")
	case len(t.Arrows) == 0 && slices.ContainsFunc(t.Host, func(e HostEvent) bool { return t.isEvaluate(&e) }):
		a.note("the trace has no arrows from forward to backward operators: they are linked by sequence number")
	}
}
