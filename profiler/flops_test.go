package profiler

import "testing"

func TestFlops(t *testing.T) {
	conv := func(stride, groups string) string {
		return `["", "", "", "` + stride + `", "[1, 1]", "[1, 1]", "` + groups + `"]`
	}
	const convShapes = "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], []]"
	for _, c := range []struct {
		op, shapes, concrete string
		want                 int64
	}{
		{"aten::mm", "[[2, 3], [3, 5]]", "", 60},
		{"aten::mm", "[[2, 3]]", "", 0},
		{"aten::mm", "[[2, 0], [0, 5]]", "", 0},
		{"aten::mm", "[[], [3, 5]]", "", 0},
		{"aten::mm", "not a list", "", 0},
		{"aten::mm", "[[[1], [2]], [3, 5]]", "", 0},
		{"aten::addmm", "[[5], [2, 3], [3, 5], [], []]", "", 60},
		{"aten::bmm", "[[4, 2, 3], [4, 3, 5]]", "", 240},
		{"aten::bmm", "[[0, 2, 3], [0, 3, 5]]", "", 0},
		{"aten::baddbmm", "[[4, 2, 5], [4, 2, 3], [4, 3, 5]]", "", 240},
		{"aten::mul", "[[7, 3], []]", "", 21},
		{"aten::add", "[[], [7]]", "", 1},
		{"aten::mul_", "[[7, 3], []]", "", 0},
		{"aten::linear", "[[2, 3], [5, 3]]", "", 0},
		{"aten::conv2d", convShapes, conv("[1, 1]", "1"), 2 * 2 * 8 * 8 * 3 * 3 * 3 * 4},
		{"aten::conv2d", convShapes, conv("[2, 2]", "1"), 2 * 2 * 4 * 4 * 3 * 3 * 3 * 4},
		{"aten::conv2d", convShapes, conv("[0, 1]", "1"), 0},
		{"aten::conv2d", convShapes, conv("[1, 1]", "0"), 0},
		{"aten::conv2d", convShapes, conv("[1]", "1"), 0},
		{"aten::conv2d", convShapes, "", 0},
		{"aten::mm", "[[9223372036854775807, 2], [9223372036854775807, -1]]", "", -2}, // wraps and does not fail
	} {
		tr := &Trace{Names: []string{"", c.op, c.shapes, c.concrete}, Meta: Meta{WithFlops: true}}
		f := newFlopCounter(tr)
		h := HostEvent{Name: 1, Shapes: 2, Concrete: 3}
		if got := f.of(&h); got != c.want {
			t.Errorf("%s %s %s: %d, want %d", c.op, c.shapes, c.concrete, got, c.want)
		}
		tr.Meta.WithFlops = false
		if got := f.of(&h); got != 0 {
			t.Errorf("%s: %d without with_flops", c.op, got)
		}
	}
}
