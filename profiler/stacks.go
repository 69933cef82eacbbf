package profiler

import (
	"strings"
)

// maxStackDepth bounds the stacks that are kept. Python's own limit is 1000;
// what is further inside is left out.
const maxStackDepth = 1024

// A stackTree holds every stack of a trace once. A stack is a node, the chain of
// its parents the frames outside of it; node 0 is the stack without frames.
type stackTree struct {
	nodes  []stackNode
	texts  []frameText
	byName []int32 // by Name of a frame: index of texts + 1
	byText map[string]int32
	child  map[uint64]int32 // by parent and text
	stacks []int32          // by Name of a Call stack: node + 1
}

type stackNode struct {
	parent int32
	text   int32 // index of texts
	depth  int32
	main   int32 // text of the outermost frame if it is the program's main module, else none
	user   int32 // innermost node up to here that is the user's code; 0 for none
	python int32 // innermost node up to here that has a file; 0 for none
	module int32 // innermost node up to here that is an nn.Module; 0 for none
}

func newStackTree(names int) *stackTree {
	return &stackTree{
		nodes:  []stackNode{{main: none}},
		texts:  []frameText{{}},
		byName: make([]int32, names),
		byText: make(map[string]int32),
		child:  make(map[uint64]int32),
		stacks: make([]int32, names),
	}
}

func (s *stackTree) text(frame string) int32 {
	id, known := s.byText[frame]
	if known {
		return id
	}
	f := parseFrame(frame)
	if f.text != frame {
		id = s.text(f.text)
	} else {
		id = int32(len(s.texts))
		s.texts = append(s.texts, f)
	}
	s.byText[frame] = id
	return id
}

// push returns the stack with one more frame inside.
func (s *stackTree) push(parent, text int32) int32 {
	key := uint64(parent)<<32 | uint64(uint32(text))
	if id, known := s.child[key]; known {
		return id
	}
	p := s.nodes[parent]
	if p.depth >= maxStackDepth {
		return parent
	}
	id := int32(len(s.nodes))
	f := &s.texts[text]
	n := stackNode{parent: parent, text: text, depth: p.depth + 1, main: p.main, user: p.user, python: p.python, module: p.module}
	if parent == 0 && f.mainFile() != "" {
		n.main = text
	}
	var main string
	if n.main >= 0 {
		main = s.texts[n.main].file
	}
	if f.isUser(main) {
		n.user = id
	}
	if f.file != "" {
		n.python = id
	}
	if f.module != "" {
		n.module = id
	}
	s.nodes = append(s.nodes, n)
	s.child[key] = id
	return id
}

// parse returns the stack that a Call stack writes: frames joined by ";",
// innermost first, some versions with one more at the end.
func (s *stackTree) parse(t *Trace, stack Name) int32 {
	if id := s.stacks[stack]; id > 0 {
		return id - 1
	}
	node := int32(0)
	for rest := t.Names[stack]; rest != ""; {
		at := strings.LastIndexByte(rest, ';')
		frame := rest[at+1:]
		rest = rest[:max(at, 0)]
		if frame != "" {
			node = s.push(node, s.text(frame))
		}
	}
	s.stacks[stack] = node + 1
	return node
}

// list returns the frames of a stack, innermost first, at most depth of them; 0
// for all.
func (s *stackTree) list(node int32, depth int) []string {
	if node == 0 {
		return nil
	}
	n := int(s.nodes[node].depth)
	if depth > 0 {
		n = min(n, depth)
	}
	out := make([]string, 0, n)
	for ; node != 0 && len(out) < n; node = s.nodes[node].parent {
		out = append(out, s.texts[s.nodes[node].text].text)
	}
	return out
}

// line returns the node that the line of a stack is taken from, see LineOf; 0
// for none.
func (s *stackTree) line(node int32) int32 {
	n := &s.nodes[node]
	if n.user != 0 {
		return n.user
	}
	return n.python
}

// modulePath returns the modules of a stack, outermost first: "GPT_0/Block_3/Linear_1".
func (s *stackTree) modulePath(node int32) string {
	var path []string
	for at := s.nodes[node].module; at != 0; at = s.nodes[s.nodes[at].parent].module {
		path = append(path, s.texts[s.nodes[at].text].module)
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return strings.Join(path, "/")
}

// A stackIndex knows the stack of every event.
type stackIndex struct {
	t      *Trace
	tree   *stackTree
	frames nest
	byID   *idIndex
	node   []int32 // by frame; valid once resolved
	outer  []int32 // by position in frames: the frame of another thread that its outermost frame was called from, or none
}

func (t *Trace) newStackIndex() *stackIndex {
	x := &stackIndex{t: t, tree: newStackTree(len(t.Names)), frames: t.frameSpans()}
	x.byID = newIDIndex(len(t.Frames), func(i int) (int64, bool) { return int64(t.Frames[i].ID), t.Frames[i].ID >= 0 })
	x.resolve()
	x.outer = make([]int32, len(x.frames.spans))
	for i := range x.frames.spans {
		if p := x.frames.parent[i]; p >= 0 {
			x.outer[i] = x.outer[p]
			continue
		}
		f := &t.Frames[x.frames.spans[i].id]
		x.outer[i] = x.byID.find(int64(f.Parent))
		if q := x.outer[i]; q >= 0 && t.Frames[q].Thread == f.Thread {
			x.outer[i] = none
		}
	}
	return x
}

// resolve finds the stacks of all frames through their parent ids. Frames that
// have no ids, or whose parent the file does not hold, go by thread and time.
func (x *stackIndex) resolve() {
	t := x.t
	around := make([]int32, len(t.Frames))
	for i := range x.frames.spans {
		around[x.frames.spans[i].id] = none
		if p := x.frames.parent[i]; p >= 0 {
			around[x.frames.spans[i].id] = x.frames.spans[p].id
		}
	}
	const unknown, open = -1, -2
	x.node = make([]int32, len(t.Frames))
	for i := range x.node {
		x.node[i] = unknown
	}
	var chain []int32
	for i := range t.Frames {
		at := int32(i)
		for at >= 0 && x.node[at] == unknown {
			x.node[at] = open
			chain = append(chain, at)
			f := &t.Frames[at]
			switch p := x.byID.find(int64(f.Parent)); {
			case p >= 0:
				at = p
			case f.ID >= 0 && f.Parent < 0:
				at = none
			default:
				at = around[at]
			}
		}
		node := int32(0)
		if at >= 0 && x.node[at] != open { // an open one is its own parent: a damaged file
			node = x.node[at]
		}
		for k := len(chain) - 1; k >= 0; k-- {
			node = x.tree.push(node, x.frameText(t.Frames[chain[k]].Name))
			x.node[chain[k]] = node
		}
		chain = chain[:0]
	}
}

func (x *stackIndex) frameText(n Name) int32 {
	if id := x.tree.byName[n]; id > 0 {
		return id - 1
	}
	id := x.tree.text(x.t.Names[n])
	x.tree.byName[n] = id + 1
	return id
}

// framesAt returns, by the id of the instant, the innermost frame that is open
// on its thread, or none. Where none is open but the frames of the thread were
// called from frames of another, as those open before the profiler started
// are filed under pid 0, the innermost of these is.
func (x *stackIndex) framesAt(p *instants, size int) []int32 {
	at := make([]int32, size)
	for i := range at {
		at[i] = none
	}
	for thread := range x.t.Threads {
		c := x.frames.cursor(ThreadID(thread))
		first := c.next
		if first == c.end {
			continue
		}
		for _, e := range p.of(ThreadID(thread)) {
			if pos := c.at(e.time); pos >= 0 {
				at[e.id] = x.frames.spans[pos].id
				continue
			}
			at[e.id] = x.outside(x.outer[max(c.next-1, first)], e.time)
		}
	}
	return at
}

// outside returns the innermost frame, from one on outwards, that is open at a time.
func (x *stackIndex) outside(frame int32, time int64) int32 {
	for range maxStackDepth {
		if frame < 0 {
			break
		}
		f := &x.t.Frames[frame]
		if f.Start <= time && time < f.Start+f.Dur {
			return frame
		}
		frame = x.byID.find(int64(f.Parent))
	}
	return none
}

// hostStacks returns the own stack of every host event, and the innermost frame
// around its start.
func (x *stackIndex) hostStacks(host *nest) (node, frame []int32) {
	t := x.t
	starts := instants{list: make([]instant, len(host.spans)), first: host.first}
	for i := range host.spans {
		starts.list[i] = instant{host.spans[i].start, host.spans[i].id}
	}
	frame = x.framesAt(&starts, len(t.Host))
	node = make([]int32, len(t.Host))
	for i := range t.Host {
		e := &t.Host[i]
		node[i] = x.own(e.Stack, frame[i])
	}
	return node, frame
}

// own returns the stack of an event: its Call stack, else that of the frame
// around it.
func (x *stackIndex) own(stack Name, frame int32) int32 {
	if stack != 0 {
		if node := x.tree.parse(x.t, stack); node != 0 {
			return node
		}
	}
	if frame >= 0 {
		return x.node[frame]
	}
	return 0
}

// StackOf returns the Python stack of a host event, innermost frame first: its
// Call stack where the file has one, else the frames that run around its start
// on its thread. It is empty for an operator of the backward on a thread of
// autograd, where no Python runs.
func (t *Trace) StackOf(host int) []string {
	x := t.derived()
	return x.stacks().tree.list(x.hostNode[host], 0)
}
