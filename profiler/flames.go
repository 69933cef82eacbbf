package profiler

import (
	"cmp"
	"slices"
)

// A FlameNode is a node of a flame graph: a frame and all that it calls.
type FlameNode struct {
	Name     string
	Value    int64 // bytes or ns, with the children
	Count    int   // allocations or device events, with the children
	Children []*FlameNode
}

// Names of nodes that are no frames.
const (
	flameAll      = "all"
	flameBackward = "(backward)"
	flameOther    = "(other)"
	flameOutside  = "(outside of operators)"
	flameNoLaunch = "(launch not in the trace)"
)

// FlameBytes returns the bytes that were allocated, gross, by stack, outermost
// frame first and the operator last: memory of devices, or of the CPU in traces
// without any. What the backward allocates is under "(backward)" at the stack of
// its forward operator. The root has what the ledgers have as Allocated.
//
// Small nodes are put together as "(other)" so that there are at most maxNodes
// nodes; 0 is for all.
func (t *Trace) FlameBytes(maxNodes int) *FlameNode {
	b := t.newFlame()
	mainCPU := t.onlyCPUMemory()
	for i := range t.Memory {
		e := &t.Memory[i]
		if e.OOM || e.Bytes <= 0 || e.Type.onCPU() != mainCPU {
			continue
		}
		if at := b.owner[i]; at >= 0 {
			b.add(b.host(b.ops.spans[at].id), e.Bytes)
		} else if node := b.memoryNode[i]; node != 0 {
			b.add(node, e.Bytes)
		} else {
			b.add(b.leaf(0, flameOutside), e.Bytes)
		}
	}
	return b.build(maxNodes)
}

// FlameTime is FlameBytes of device time in ns: kernels, copies and fills by the
// stack of the operator that launched them. Streams that run at once add up.
func (t *Trace) FlameTime(maxNodes int) *FlameNode {
	b := t.newFlame()
	for i, host := range b.launchers() {
		switch {
		case host >= 0:
			b.add(b.host(host), t.Device[i].Dur)
		case t.Device[i].Kind != DeviceAnnotation:
			b.add(b.leaf(0, flameNoLaunch), t.Device[i].Dur)
		}
	}
	return b.build(maxNodes)
}

// A flame is a flame graph in the making. Its first nodes are those of the tree
// of stacks; parents come before their children.
type flame struct {
	*derived
	nodes   []flameNode
	child   map[flameKey]int32
	charged func(host int32) (node int32, backward bool)
}

type flameNode struct {
	parent int32
	name   string
	value  int64
	count  int
}

type flameKey struct {
	parent int32
	name   string
}

func (t *Trace) newFlame() *flame {
	b := &flame{derived: t.derived(), child: make(map[flameKey]int32)}
	tree := b.stacks().tree
	b.nodes = make([]flameNode, len(tree.nodes))
	for i, n := range tree.nodes {
		b.nodes[i] = flameNode{parent: n.parent, name: tree.texts[n.text].text}
	}
	b.nodes[0] = flameNode{parent: none, name: flameAll}
	b.charged = b.chargedStacks()
	return b
}

func (b *flame) leaf(parent int32, name string) int32 {
	k := flameKey{parent, name}
	id, known := b.child[k]
	if !known {
		id = int32(len(b.nodes))
		b.nodes = append(b.nodes, flameNode{parent: parent, name: name})
		b.child[k] = id
	}
	return id
}

// host returns the node of a host event: its stack, then its name.
func (b *flame) host(host int32) int32 {
	e := &b.t.Host[host]
	node, backward := b.charged(host)
	if node == 0 {
		node = b.leaf(0, specialNames[b.without(e.Thread)])
	}
	if backward {
		node = b.leaf(node, flameBackward)
	}
	return b.leaf(node, b.t.Names[e.Name])
}

func (b *flame) add(node int32, value int64) {
	b.nodes[node].value += value
	b.nodes[node].count++
}

// build adds up the nodes and keeps the largest ones.
func (b *flame) build(maxNodes int) *FlameNode {
	for i := len(b.nodes) - 1; i > 0; i-- {
		n := &b.nodes[i]
		b.nodes[n.parent].value += n.value
		b.nodes[n.parent].count += n.count
	}
	least := b.least(maxNodes)
	made := make([]*FlameNode, len(b.nodes))
	other := make(map[int32]*FlameNode)
	for i := range b.nodes {
		n := &b.nodes[i]
		switch {
		case i == 0 || n.value >= least:
			made[i] = &FlameNode{Name: n.name, Value: n.value, Count: n.count}
			if i > 0 {
				made[n.parent].Children = append(made[n.parent].Children, made[i])
			}
		case n.value > 0 && made[n.parent] != nil && maxNodes != 1:
			o := other[n.parent]
			if o == nil {
				o = &FlameNode{Name: flameOther}
				other[n.parent] = o
				made[n.parent].Children = append(made[n.parent].Children, o)
			}
			o.Value += n.value
			o.Count += n.count
		}
	}
	for _, n := range made {
		if n != nil {
			slices.SortStableFunc(n.Children, func(x, y *FlameNode) int {
				return cmp.Or(-cmp.Compare(x.Value, y.Value), cmp.Compare(x.Name, y.Name))
			})
		}
	}
	return made[0]
}

// least returns the smallest value of the nodes to keep: the lower it is the
// more nodes there are.
func (b *flame) least(maxNodes int) int64 {
	if maxNodes <= 0 {
		return 1
	}
	values := make([]int64, 0, len(b.nodes))
	for i := range b.nodes {
		values = append(values, max(1, b.nodes[i].value))
	}
	slices.Sort(values)
	values = slices.Compact(values)
	at, _ := slices.BinarySearchFunc(values, maxNodes, func(v int64, most int) int {
		if b.size(v) > most {
			return -1
		}
		return 1
	})
	if at == len(values) {
		return values[at-1] + 1 // the root alone, and what is below it as one
	}
	return values[at]
}

// size returns the number of nodes if those of at least a value are kept.
func (b *flame) size(least int64) int {
	kept := 1
	cut := make([]bool, len(b.nodes))
	for i := 1; i < len(b.nodes); i++ {
		n := &b.nodes[i]
		switch {
		case n.value >= least:
			kept++
		case n.value > 0 && (n.parent == 0 || b.nodes[n.parent].value >= least) && !cut[n.parent]:
			cut[n.parent] = true
			kept++
		}
	}
	return kept
}
