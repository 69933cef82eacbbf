package viewer

import (
	"math/rand/v2"
	"testing"
)

func TestReduceCurveKeepsWhatMatters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 10, 500, 501, 40000} {
		pts := make([]CurvePoint, n)
		for i := range pts {
			pts[i] = CurvePoint{Event: i, Requested: rng.Int64N(1 << 30), Reserved: rng.Int64N(1 << 31)}
		}
		got := reduceCurve(pts, 500)
		if len(got) > 500 {
			t.Errorf("%d points were reduced to %d, not 500", n, len(got))
		}
		if got[0].Event != 0 || got[len(got)-1].Event != n-1 {
			t.Errorf("%d points: the first or the last is lost", n)
		}
		if high(got, requestedOf) != high(pts, requestedOf) || high(got, reservedOf) != high(pts, reservedOf) {
			t.Errorf("%d points: a peak is lost", n)
		}
		for i := 1; i < len(got); i++ {
			if got[i].Event <= got[i-1].Event {
				t.Fatalf("%d points: out of order", n)
			}
		}
	}
}

func requestedOf(p CurvePoint) int64 { return p.Requested }
func reservedOf(p CurvePoint) int64  { return p.Reserved }

func high(pts []CurvePoint, v func(CurvePoint) int64) (top int64) {
	for _, p := range pts {
		top = max(top, v(p))
	}
	return top
}

func TestSegmentMapKeepsSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var segs []Segment
	var want [numStates]int64
	for i := range 3000 {
		s := Segment{Addr: uint64(i) << 32, Small: i%3 == 0, Expandable: i%5 == 0}
		for range 1 + rng.IntN(12) {
			b := Block{Size: 512 << rng.IntN(18), State: BlockState(rng.IntN(int(numStates)))}
			s.Bytes += b.Size
			want[b.State] += b.Size
			s.Blocks = append(s.Blocks, b)
		}
		segs = append(segs, s)
	}
	for _, limit := range []int{1 << 20, 8000, 1000, 100} {
		groups, merged := buildSegmentMap(segs, limit)
		var got [numStates]int64
		drawn := 0
		for _, g := range groups {
			for _, s := range g.Segments {
				drawn += len(s.Blocks)
				for _, b := range s.Blocks {
					got[b.State] += b.Size
				}
			}
		}
		if got != want {
			t.Errorf("limit %d: bytes by state are %v, want %v", limit, got, want)
		}
		if drawn > limit {
			t.Errorf("limit %d: %d blocks are drawn (merged below %d)", limit, drawn, merged)
		}
		if limit == 1<<20 && merged != 0 {
			t.Errorf("nothing had to be merged, but blocks below %d were", merged)
		}
		if raw := groupSegments(segs); countMerged(raw, merged) != drawn {
			t.Errorf("limit %d: countMerged says %d, %d are drawn", limit, countMerged(raw, merged), drawn)
		}
	}
}

// Segments without blocks occur in damaged files only; they must not escape
// the bound.
func TestSegmentMapBoundsEmptySegments(t *testing.T) {
	segs := make([]Segment, 5000)
	for i := range segs {
		segs[i] = Segment{Addr: uint64(i) << 32, Bytes: 1 << 30}
	}
	groups, _ := buildSegmentMap(segs, 100)
	if n := len(groups[0].Segments); n > 100 || groups[0].Stats.Bytes != 5000<<30 {
		t.Errorf("%d segments are drawn for %d bytes", n, groups[0].Stats.Bytes)
	}
}

func TestSegmentGroups(t *testing.T) {
	var segs []Segment
	for i := range 40 {
		segs = append(segs, Segment{Addr: uint64(i), Bytes: int64(i + 1), Pool: string(rune('a' + i))})
	}
	segs = append(segs, Segment{Addr: 99, Bytes: 1}, Segment{Addr: 98, Bytes: 1})
	groups, _ := buildSegmentMap(segs, 1000)
	if len(groups) != maxGroups {
		t.Fatalf("%d groups, want %d", len(groups), maxGroups)
	}
	if groups[0].Pool != "" || groups[0].Segments[0].Addr != 98 {
		t.Errorf("the default pool comes first and in address order, got %+v", groups[0])
	}
	last := groups[maxGroups-1]
	if last.Others != 17 || last.Stats.Segments != 18 {
		t.Errorf("the last group holds %d others and %d segments, want 17 and 18", last.Others, last.Stats.Segments)
	}
}

func TestReduceFlameStaysClosed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var grow func(depth int) *Flame
	grow = func(depth int) *Flame {
		n := &Flame{Frame: Frame{Function: "f"}, Bytes: rng.Int64N(1000), Count: 1}
		if depth < 6 {
			for range rng.IntN(6) {
				c := grow(depth + 1)
				n.Bytes += c.Bytes
				n.Count += c.Count
				n.Children = append(n.Children, c)
			}
		}
		return n
	}
	root := &Flame{}
	for range 200 {
		c := grow(0)
		root.Bytes, root.Count = root.Bytes+c.Bytes, root.Count+c.Count
		root.Children = append(root.Children, c)
	}
	got := reduceFlame(root, 300)
	if n := countFlame(got, 0); n > 300 {
		t.Errorf("%d nodes, want at most 300", n)
	}
	var closed func(n *Flame)
	closed = func(n *Flame) {
		if self(n) < 0 {
			t.Fatalf("the children of a node hold %d bytes more than the node", -self(n))
		}
		for _, c := range n.Children {
			closed(c)
		}
	}
	closed(got)
	if got.Bytes != root.Bytes || got.Count != root.Count || self(got) != self(root) {
		t.Errorf("the root changed: %d bytes (%d its own), was %d (%d)", got.Bytes, self(got), root.Bytes, self(root))
	}
	if reduceFlame(nil, 5) != nil {
		t.Error("no tree stays no tree")
	}
}

// self is what a node holds itself.
func self(n *Flame) int64 {
	own := n.Bytes
	for _, c := range n.Children {
		own -= c.Bytes
	}
	return own
}

func TestByteScale(t *testing.T) {
	for _, c := range []struct{ top, step, end int64 }{
		{0, 1, 1}, {1 << 30, 1 << 28, 5 << 28}, {5 << 30, 1 << 30, 6 << 30}, {3<<30 - 1, 1 << 29, 7 << 29},
	} {
		step, end := byteScale(c.top)
		if step != c.step || end != c.end {
			t.Errorf("byteScale(%d) = %d, %d, want %d, %d", c.top, step, end, c.step, c.end)
		}
	}
	if step, end := byteScale(1<<63 - 1); step <= 0 || end <= 0 {
		t.Errorf("the scale of the largest size overflows: %d, %d", step, end)
	}
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"schön 漢字", "schön 漢字"},
		{"\x1b[31m", `\x1b[31m`},
		{"0123456789abcdefghijk", "01234567…[5 B left out]…defghijk"},
		{"ééééééééééé", "éééé…[6 B left out]…éééé"},
	} {
		if got := clean(c.in, 16); got != c.want {
			t.Errorf("clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTextBudget(t *testing.T) {
	b := texts{left: 100}
	long := string(make([]byte, 200))
	if got := b.name(long); len(got) < 200 {
		t.Errorf("within the budget a name of 200 bytes is kept, got %d", len(got))
	}
	if got := b.name(long); len(got) > 200 {
		t.Errorf("beyond the budget names are cut, got %d bytes", len(got))
	}
}
