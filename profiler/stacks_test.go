package profiler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLineOf(t *testing.T) {
	for _, c := range []struct {
		stack string // innermost first, joined by ";"
		want  string
	}{
		{"<built-in function linear>;torch/nn/modules/linear.py(130): forward;nn.Module: Linear_0;model.py(11): forward;train.py(3): <module>", "model.py 11 forward"},
		{"/home/u/run/train.py(12): step;torch/x.py(1): f", "/home/u/run/train.py 12 step"},
		{"/usr/lib/python3.12/typing.py(4): f;pkg/train.py(12): step", "pkg/train.py 12 step"},
		{"/opt/venv/lib/python3.12/site-packages/foo/a.py(4): f;pkg/train.py(12): step", "pkg/train.py 12 step"},
		{"C:/Users/u/miniconda3/Lib/typing.py(4): f;C:/Users/u/train.py(12): step", "C:/Users/u/train.py 12 step"},
		{"typing.py(392): inner;<frozen os>(779): getenv;<string>(1): __new__;a/b.py(5): g", "a/b.py 5 g"},
		{"transformers/models/gpt2/modeling_gpt2.py(40): forward;torch/x.py(1): f", "transformers/models/gpt2/modeling_gpt2.py 40 forward"},
		{"torch/x.py(1): f;statistics.py(7): <module>", "statistics.py 7 <module>"}, // the user's, as the main module
		{"<stdin>(1): <module>", "<stdin> 1 <module>"},
		{"odd (name).py(3): f(x): g", "odd (name).py 3 f(x): g"},
		{"<built-in method x>;nn.Module: A_0", ""},
		{"file.py(99999999999): f", ""},
		{"", ""},
	} {
		file, line, function, ok := LineOf(strings.Split(c.stack, ";"))
		got := fmt.Sprint(file, " ", line, " ", function)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.stack, got, c.want)
		}
	}
}

func TestStackOf(t *testing.T) {
	m := newTraceMaker(3)
	m.Threads[2] = Thread{PID: "0", TID: "0"}
	m.frame(2, 1, -1, "main.py(90): <module>", 0, 1000) // open before the profiler started
	m.frame(2, 2, 1, "main.py(50): run", 0, 900)
	m.frame(0, 3, 2, "main.py(10): step", 100, 200)
	m.frame(0, 4, 3, "<built-in method mm of type object at 0x7f00aa>", 110, 120)
	m.frame(0, 5, 2, "main.py(20): save", 300, 400)
	inBuiltin := m.op(0, "a", 111, 115)
	inStep := m.op(0, "b", 150, 160)
	between := m.op(0, "c", 250, 260)
	first := m.op(0, "d", 50, 60)
	late := m.op(0, "e", 950, 960)
	other := m.op(1, "f", 150, 160)
	text := m.op(0, "g", 150, 155)
	m.Host[text].Stack = m.name("x.py(1): f;y.py(2): g;")
	for _, c := range []struct {
		host int
		want string
	}{
		{inBuiltin, "<built-in method mm of type object>|main.py(10): step|main.py(50): run|main.py(90): <module>"},
		{inStep, "main.py(10): step|main.py(50): run|main.py(90): <module>"},
		{between, "main.py(50): run|main.py(90): <module>"},
		{first, "main.py(50): run|main.py(90): <module>"},
		{late, "main.py(90): <module>"},
		{other, ""},
		{text, "x.py(1): f|y.py(2): g"},
	} {
		if got := strings.Join(m.StackOf(c.host), "|"); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", m.Names[m.Host[c.host].Name], got, c.want)
		}
	}
}

// TestDamagedFrames checks that parents in a circle, repeated ids and endless
// stacks end.
func TestDamagedFrames(t *testing.T) {
	m := newTraceMaker(1)
	m.frame(0, 1, 2, "a.py(1): a", 0, 100)
	m.frame(0, 2, 1, "b.py(1): b", 10, 90)
	m.frame(0, 3, 3, "c.py(1): c", 20, 80)
	m.frame(0, 4, 77, "d.py(1): d", 30, 70) // its parent is lost: by time
	op := m.op(0, "op", 40, 50)
	m.op(0, "outside", 500, 600)
	if got := m.StackOf(op); !slices.Equal(got[:2], []string{"d.py(1): d", "c.py(1): c"}) {
		t.Errorf("got %q", got)
	}
	deep := newTraceMaker(1)
	op = deep.op(0, "op", 0, 1)
	deep.Host[op].Stack = deep.name(strings.Repeat("a.py(1): f;", 100_000))
	if n := len(deep.StackOf(op)); n != maxStackDepth {
		t.Errorf("%d frames", n)
	}
	deep.attribute(TableOptions{By: ByLine})
}
