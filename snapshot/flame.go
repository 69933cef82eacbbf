package snapshot

import (
	"cmp"
	"container/heap"
	"slices"
)

// A FlameNode is one frame of a flame graph of live memory; Bytes and Count
// include the children. What the children leave is memory allocated by the
// frame itself.
type FlameNode struct {
	Name, File string // function and file; the root is "(all)", merged nodes are "(other)"
	Line       int32
	Bytes      int64 // requested bytes
	Count      int   // allocations
	Children   []*FlameNode
}

// Names of the nodes of a flame graph that are no frame.
const (
	FlameRoot  = "(all)"
	FlameOther = "(other)" // the small nodes of a parent, merged
)

// maxFlameDepth bounds the levels below the root. Deeper frames, of which only
// runaway recursion has any, count as part of the frame at that depth.
const maxFlameDepth = 128

// Flame returns what is live at m as a tree of frames, outermost below the root.
// Equal frames are merged, children are sorted by bytes, largest first and
// "(other)" last. It keeps the heaviest nodes so that the tree has at most
// maxNodes nodes, root included (0 or less: no limit).
func (s *Snapshot) Flame(t *Timeline, m Moment, maxNodes int) *FlameNode {
	b := flameBuilder{snap: s, budget: maxNodes, paths: s.flamePaths(s.liveByStack(t, m))}
	root := &flameItem{to: len(b.paths), node: &FlameNode{Name: FlameRoot}}
	for _, p := range b.paths {
		root.node.Bytes += p.bytes
		root.node.Count += p.count
	}
	b.grow(root)
	return root.node
}

// flamePath is the memory of one stack with its frames outermost first.
type flamePath struct {
	frames []FrameID
	name   string // for a stack without usable frames
	bytes  int64
	count  int
}

// flamePaths returns the paths sorted so that those with a common beginning are
// neighbours: every node of the tree is then a range of them.
func (s *Snapshot) flamePaths(live []liveStack) []flamePath {
	x := s.frameIndex()
	paths := make([]flamePath, 0, len(live))
	for _, l := range live {
		p := flamePath{frames: x.path(s.Stacks.Frames(l.stack)), bytes: l.bytes, count: l.count}
		if len(p.frames) == 0 {
			p.name = l.empty
		}
		paths = append(paths, p)
	}
	slices.SortStableFunc(paths, func(a, b flamePath) int {
		return cmp.Or(cmp.Compare(a.name, b.name), slices.Compare(a.frames, b.frames))
	})
	return paths
}

// path returns a trimmed stack outermost first.
func (x *frameIndex) path(frames []FrameID) []FrameID {
	frames = x.trim(frames)
	path := make([]FrameID, min(len(frames), maxFlameDepth))
	for i := range path {
		path[i] = x.canon[frames[len(frames)-1-i]]
	}
	return path
}

// flameItem is a node of the tree that may or may not be kept: the paths in
// [from, to), which agree in their first depth frames.
type flameItem struct {
	from, to, depth int
	node            *FlameNode
	parent          *flameItem
	left            int // children not kept so far
}

type flameBuilder struct {
	snap   *Snapshot
	paths  []flamePath
	budget int
}

// grow keeps nodes from the heaviest to the lightest, a parent always before its
// children. Every kept node that has children left over costs one node more,
// for their sum, so the total never falls as nodes are kept and the first one
// that does not fit ends the search.
func (b *flameBuilder) grow(root *flameItem) {
	var open flameHeap
	total := 1
	kept := []*flameItem{root}
	expand := func(item *flameItem, children []*flameItem) {
		item.left = len(children)
		for _, c := range children {
			heap.Push(&open, c)
		}
	}
	children := b.children(root)
	if len(children) > 0 {
		total++
	}
	if b.budget > 0 && total > b.budget {
		return // only the root fits, and says the total
	}
	expand(root, children)
	for open.Len() > 0 {
		item := open[0]
		children := b.children(item)
		cost := 1
		if len(children) > 0 {
			cost++
		}
		if item.parent.left == 1 {
			cost--
		}
		if b.budget > 0 && total+cost > b.budget {
			break
		}
		heap.Pop(&open)
		total += cost
		item.parent.left--
		item.parent.node.Children = append(item.parent.node.Children, item.node)
		expand(item, children)
		kept = append(kept, item)
	}
	b.mergeRest(kept, open)
}

// mergeRest gives every kept node with children left over their sum as one
// more child.
func (b *flameBuilder) mergeRest(kept []*flameItem, open flameHeap) {
	rest := map[*flameItem]*FlameNode{}
	for _, item := range open {
		other := rest[item.parent]
		if other == nil {
			other = &FlameNode{Name: FlameOther}
			rest[item.parent] = other
		}
		other.Bytes += item.node.Bytes
		other.Count += item.node.Count
	}
	for _, item := range kept {
		slices.SortFunc(item.node.Children, compareFlameNodes)
		if other := rest[item]; other != nil {
			item.node.Children = append(item.node.Children, other)
		}
	}
}

func compareFlameNodes(a, b *FlameNode) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line))
}

// children splits an item by the next frame of its paths. Paths that end at the
// item are its own memory.
func (b *flameBuilder) children(item *flameItem) []*flameItem {
	var children []*flameItem
	for i := item.from; i < item.to; i++ {
		p := &b.paths[i]
		if item.depth >= max(len(p.frames), 1) {
			continue
		}
		var child *flameItem
		if len(children) > 0 && b.same(i-1, i, item.depth) {
			child = children[len(children)-1]
		} else {
			child = &flameItem{from: i, depth: item.depth + 1, node: b.node(p, item.depth), parent: item}
			children = append(children, child)
		}
		child.to = i + 1
		child.node.Bytes += p.bytes
		child.node.Count += p.count
	}
	return children
}

// same reports whether two paths that agree so far also agree at a depth.
func (b *flameBuilder) same(i, j, depth int) bool {
	p, q := &b.paths[i], &b.paths[j]
	if p.name != "" || q.name != "" {
		return p.name == q.name
	}
	return depth < len(p.frames) && depth < len(q.frames) && p.frames[depth] == q.frames[depth]
}

func (b *flameBuilder) node(p *flamePath, depth int) *FlameNode {
	if p.name != "" {
		return &FlameNode{Name: p.name}
	}
	f := &b.snap.Frames[p.frames[depth]]
	return &FlameNode{Name: f.Function, File: f.File, Line: f.Line}
}

// flameHeap yields the heaviest item first, of equal ones the first in the order
// of the paths.
type flameHeap []*flameItem

func (h flameHeap) Len() int { return len(h) }
func (h flameHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].node.Bytes, h[i].node.Bytes), cmp.Compare(h[i].from, h[j].from)) < 0
}
func (h flameHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *flameHeap) Push(v any)   { *h = append(*h, v.(*flameItem)) }
func (h *flameHeap) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	*h = (*h)[:last]
	return item
}
