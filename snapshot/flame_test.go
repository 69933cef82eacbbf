package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

// outline renders a tree, one node a line.
func outline(n *FlameNode) string {
	var b strings.Builder
	var walk func(*FlameNode, int)
	walk = func(n *FlameNode, depth int) {
		fmt.Fprintf(&b, "%s%s:%d %d/%d\n", strings.Repeat(" ", depth), n.Name, n.Line, n.Bytes, n.Count)
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(n, 0)
	return b.String()
}

// checkFlame tests what holds for every tree and returns its number of nodes
// and levels.
func checkFlame(t interface {
	Helper()
	Errorf(string, ...any)
}, n *FlameNode) (nodes, levels int) {
	t.Helper()
	var bytes int64
	count := 0
	for i, c := range n.Children {
		bytes += c.Bytes
		count += c.Count
		if i > 0 && c.Name != FlameOther && c.Bytes > n.Children[i-1].Bytes {
			t.Errorf("children of %s are not sorted", n.Name)
		}
		if c.Name == FlameOther && (i != len(n.Children)-1 || len(c.Children) > 0) {
			t.Errorf("%s of %s is not a last leaf", c.Name, n.Name)
		}
		below, deep := checkFlame(t, c)
		nodes += below
		levels = max(levels, deep)
	}
	if bytes > n.Bytes || count > n.Count {
		t.Errorf("%s holds %d bytes, its children %d", n.Name, n.Bytes, bytes)
	}
	return nodes + 1, levels + 1
}

func flameSample() *handmade {
	h := newHandmade()
	main := Frame{File: "m.py", Line: 1, Function: "main"}
	a, b, c := Frame{File: "m.py", Line: 2, Function: "a"}, Frame{File: "m.py", Line: 3, Function: "b"}, Frame{File: "m.py", Line: 4, Function: "c"}
	for i, x := range []struct {
		size  int64
		stack StackID
	}{
		{100, h.stack(unwind, malloc, a, main)}, {40, h.stack(b, a, main)}, {30, h.stack(c, main)}, {8, h.stack(main)},
		{5, NoStack}, {2, h.stack(unwind, malloc)}, {1, h.stack(b, main)},
	} {
		h.event(Alloc, uint64(i+1), x.size, x.stack)
		h.segment(uint64(i+1), false, Block{Size: 1, Requested: x.size, State: Allocated})
	}
	return h
}

func TestFlame(t *testing.T) {
	const full = `(all):0 186/7
 main:1 179/5
  a:2 140/2
   b:3 40/1
  c:4 30/1
  b:3 1/1
 (autograd thread):0 5/1
 c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long):0 2/1
  torch::unwind::unwind():0 2/1
`
	for limit, want := range map[int]string{
		0: full, 9: full, 100: full,
		1: "(all):0 186/7\n",
		2: "(all):0 186/7\n (other):0 186/7\n",
		3: "(all):0 186/7\n (other):0 186/7\n",
		4: "(all):0 186/7\n main:1 179/5\n  (other):0 171/4\n (other):0 7/2\n",
		6: "(all):0 186/7\n main:1 179/5\n  a:2 140/2\n   b:3 40/1\n  (other):0 31/2\n (other):0 7/2\n",
		7: "(all):0 186/7\n main:1 179/5\n  a:2 140/2\n   b:3 40/1\n  c:4 30/1\n  (other):0 1/1\n (other):0 7/2\n",
	} {
		h := flameSample()
		tl := h.timeline()
		root := h.Flame(tl, mustMoment(t, tl, "end"), limit)
		if got := outline(root); got != want {
			t.Errorf("limit %d:\n%s\nwant\n%s", limit, got, want)
		}
		if nodes, _ := checkFlame(t, root); limit > 0 && nodes > limit {
			t.Errorf("limit %d: %d nodes", limit, nodes)
		}
	}
}

func TestFlameDepth(t *testing.T) {
	h := newHandmade()
	frames := make([]Frame, 10_000)
	for i := range frames {
		frames[i] = Frame{File: "r.py", Line: int32(i % 3), Function: "recurse"}
	}
	h.event(Alloc, 1, 5, h.stack(frames...))
	h.segment(1, false, Block{Size: 5, Requested: 5, State: Allocated})
	tl := h.timeline()
	if _, levels := checkFlame(t, h.Flame(tl, mustMoment(t, tl, "end"), 0)); levels != maxFlameDepth+1 {
		t.Errorf("%d levels", levels)
	}
}
