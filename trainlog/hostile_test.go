package trainlog

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// A loop that counts its own steps beside the training makes no runs, however
// often it comes by, and costs no time by how often it did.
func TestLoopsBesideTraining(t *testing.T) {
	var b strings.Builder
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&b, "step %d loss 1\nstep 1 loss 3\n", 1000+i)
	}
	b.WriteString("step 200000 loss 1\nstep 0 allocated 1.0 GiB\nstep 1 allocated 1.0 GiB\nCUDA out of memory. Tried to allocate 20.00 MiB\n")
	l := readText(t, b.String())
	if len(l.Series) != 1 || l.Series[0].Run != 1 || l.Series[0].Count != 2 || l.Failures[0].Run != 1 {
		t.Errorf("%d curves, %+v, failure of run %d", len(l.Series), l.Series[0].Source, l.Failures[0].Run)
	}
}

// What happened in such a loop belongs to the run that it is part of.
func TestFailuresAndCountersOfLoops(t *testing.T) {
	l := readText(t, "step 10 allocated 1.0 GiB\nstep 20 allocated 1.0 GiB\n"+
		"step 1 allocated 1.5 GiB\nCUDA out of memory. Tried to allocate 20.00 MiB\n"+
		"{\"num_ooms\": 1, \"num_alloc_retries\": 2}\n"+
		"step 30 allocated 1.0 GiB\n{\"num_ooms\": 3, \"num_alloc_retries\": 4}\n"+
		"step 2 allocated 1.0 GiB\nstep 3 allocated 1.0 GiB\nstep 4 allocated 1.0 GiB\n"+
		"CUDA out of memory. Tried to allocate 20.00 MiB\n{\"num_ooms\": 9}\n")
	if len(l.Failures) != 2 || l.Failures[0].Run != 0 || l.Failures[1].Run != 1 {
		t.Errorf("failures: %+v", l.Failures)
	}
	want := []Counters{
		{Source: Source{Unknown, Unknown, "", 0}, Retries: 4, FirstRetries: 2, OOMs: 3, FirstOOMs: 1},
		{Source: Source{Unknown, Unknown, "", 1}, OOMs: 9, FirstOOMs: 9},
	}
	if !slices.Equal(l.Counters, want) {
		t.Errorf("counters: %+v, want %+v", l.Counters, want)
	}
	for _, s := range l.Series {
		if s.Run > 1 {
			t.Errorf("a curve of run %d", s.Run)
		}
	}
}

// A file of progress bars is one line of any length, of which each bar counts.
func TestBarsOfAnyLength(t *testing.T) {
	var b strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&b, "\r%3d%%|███▎      | %d/%d [00:10<00:30, 3.1it/s, alloc=%.4fGiB, reserved=22.5GiB]", 100*i/n, i, n, 10+float64(i)/2000)
	}
	l := readText(t, b.String()+"\n")
	if l.Unreadable.Count != 0 || len(l.Series) != 2 || l.Series[0].Count != n || l.Series[0].Len() != n {
		t.Errorf("%+v, %d curves, the first of %d values at %d steps", l.Unreadable, len(l.Series), l.Series[0].Count, l.Series[0].Len())
	}
}

// Of a line that is too long the start counts, and no piece of it is taken for a
// line of its own.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	for what, text := range map[string]string{
		"between lines":           "step 1 allocated 1.0 GiB\nstep 2 allocated 2.0 GiB " + long + " step 9 allocated 9.0 GiB\nstep 3 allocated 3.0 GiB\n",
		"between bars":            "\rstep 1 allocated 1.0 GiB\rstep 2 allocated 2.0 GiB " + long + " step 9 allocated 9.0 GiB\rstep 3 allocated 3.0 GiB",
		"without a line's end":    "step 1 allocated 1.0 GiB\nstep 2 allocated 2.0 GiB\nstep 3 allocated 3.0 GiB " + long,
		"with Windows' line ends": "step 1 allocated 1.0 GiB\r\nstep 2 allocated 2.0 GiB " + long + "\r\nstep 3 allocated 3.0 GiB\r\n",
	} {
		l := readText(t, text)
		if s := l.Series[0]; len(l.Series) != 1 || s.Count != 3 || s.Last() != (Point{3, 3 << 30, s.Last().Time}) && !math.IsNaN(s.Last().Time) {
			t.Errorf("%s: %d curves, the first of %d values up to %+v", what, len(l.Series), s.Count, s.Last())
		}
	}
}

// A program may print its settings before the first step, and Python writes
// numbers into JSON that are none.
func TestTextThatBeginsLikeJSON(t *testing.T) {
	lines := "step 1 allocated 1.0 GiB\nstep 2 allocated 2.0 GiB\n"
	for what, text := range map[string]string{
		"a dict, then lines":      "{\n  \"lr\": 0.1,\n  \"a\": {\"b\": 1}\n}\n" + lines,
		"a list, then lines":      "[\n  1,\n  2\n]\n" + lines,
		"a printed list":          "[\n 'a',\n 'b'\n]\n" + lines,
		"a dict, then ranks":      "{\n  \"lr\": 0.1\n}\n[rank0]: step 1 allocated 1.0 GiB\n[rank0]: step 2 allocated 2.0 GiB\n",
		"a dict, then JSON lines": "{\n  \"lr\": 0.1\n}\n{\"step\": 1, \"allocated_bytes.all.current\": 1024}\n{\"step\": 2, \"allocated_bytes.all.current\": 2048}\n",
		"no numbers, laid out":    "{\"log_history\": [\n {\"step\": 1, \"loss\": NaN, \"gpu_mem_gb\": 1.5},\n {\"step\": 2, \"norm\": -Infinity, \"lr\": Infinity, \"gpu_mem_gb\": 2.5}]}",
		"no numbers, in lines":    "{\"step\": 1, \"loss\": NaN, \"gpu_mem_gb\": 1.5}\n{\"step\": 2, \"norm\": -Infinity, \"lr\": Infinity, \"gpu_mem_gb\": 2.5}\n",
	} {
		l, err := Read(strings.NewReader(text), Options{Name: "x"})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if len(l.Series) != 1 || l.Series[0].Count != 2 || l.Series[0].StepBy != ByStep || l.Unreadable.Count != 0 {
			t.Errorf("%s: %d curves, the first of %d values by %s, %d unreadable", what, len(l.Series), l.Series[0].Count, l.Series[0].StepBy, l.Unreadable.Count)
		}
	}
}

// endless is text without an end.
type endless byte

func (c endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

// A text without an end within JSON is refused before it fills memory.
func TestLongTextInJSON(t *testing.T) {
	for what, in := range map[string]io.Reader{
		"text":   io.MultiReader(strings.NewReader("{\"allocated_bytes.all.current\": 1024,\n \"a\": \""), io.LimitReader(endless('a'), 1<<32)),
		"number": io.MultiReader(strings.NewReader("{\"allocated_bytes.all.current\": 1024,\n \"a\": "), io.LimitReader(endless('7'), 1<<32)),
		"space":  io.MultiReader(strings.NewReader("{\"allocated_bytes.all.current\": 1024,\n \"a\": "), io.LimitReader(endless(' '), 1<<32)),
		"name":   io.MultiReader(strings.NewReader("{\"allocated_bytes.all.current\": 1024,\n \"a\": "), io.LimitReader(endless('N'), 1<<22)),
	} {
		if _, err := Read(in, Options{Name: "x"}); err == nil {
			t.Errorf("%s: %.300v", what, err)
		}
	}
}

// No GPU has 1 EiB, and nothing holds less than nothing.
func TestImpossibleAmounts(t *testing.T) {
	for _, v := range []string{"1e308", "1e10", "-5.0", strings.Repeat("9", 400), strings.Repeat("9", 300)} {
		l := readText(t, "step 1 allocated 1.0 GiB\nstep 2 allocated "+v+" GiB\nstep 3 allocated 2.0 GiB\n")
		if s := l.Series[0]; s.Count != 2 || l.Unreadable.Count != 1 {
			t.Errorf("%.10s: %d values, %d unreadable", v, s.Count, l.Unreadable.Count)
		}
	}
	for _, v := range []string{"inf", "1e308", strings.Repeat("9", 400), "nan", "-5", "0", "1e15"} {
		l := readText(t, "timestamp, memory.used [MiB], memory.total [MiB]\n2026/01/02 03:04:05.000, 12 MiB, "+v+" MiB\n"+
			"CUDA out of memory. Tried to allocate "+v+" GiB (GPU 0; "+v+" GiB total capacity; "+v+" GiB already allocated; "+v+" GiB free; "+v+" GiB reserved in total by PyTorch)\n"+
			"| N/A   45C    P0    98W / 400W |   12MiB / "+v+"MiB |     98%      Default |\n")
		f := l.Failures[0]
		for _, x := range []float64{f.Asked, f.Free, f.Total, f.Allocated, f.Reserved} {
			if x < 0 || x >= 1<<60 {
				t.Errorf("%.10s: %+v", v, f)
			}
		}
		for _, total := range l.Totals {
			if !(total.Bytes > 0 && total.Bytes < 1<<60) {
				t.Errorf("%.10s: a GPU of %g bytes", v, total.Bytes)
			}
		}
	}
	l := readText(t, "timestamp, memory.used [MiB]\n2026/01/02 03:04:05.000, 12 MiB\n2026/01/02 03:04:06.000, -12 MiB\n2026/01/02 03:04:07.000, 1e300 MiB\n")
	if s := l.Series[0]; s.Count != 1 || l.Unreadable.Count != 2 {
		t.Errorf("%d values, %d unreadable", s.Count, l.Unreadable.Count)
	}
}

// A step is a count, whatever the file says.
func TestImpossibleSteps(t *testing.T) {
	for what, text := range map[string]string{
		"CSV":        "step,gpu_mem_gb\n%s,1.5\n",
		"JSON":       "{\"step\": %s, \"allocated_bytes.all.current\": 1024}\n",
		"JSON epoch": "{\"epoch\": %s, \"allocated_bytes.all.current\": 1024}\n",
		"CSV epoch":  "epoch,gpu_mem_gb\n%s,1.5\n",
	} {
		for _, v := range []string{"-1e308", "1e308", "1e12", strings.Repeat("9", 300), "-3"} {
			if l := readText(t, fmt.Sprintf(text, v)); l.Series[0].StepBy == ByStep || l.Series[0].StepBy == ByEpoch {
				t.Errorf("%s: %.10s is taken for a step: %v", what, v, l.Series[0].Points())
			}
		}
		if l := readText(t, fmt.Sprintf(text, "3")); l.Series[0].First().Step != 3 {
			t.Errorf("%s: 3 is no step", what)
		}
	}
}

// Notes do not pile up with the lines.
func TestNotesAreBounded(t *testing.T) {
	l := readText(t, strings.Repeat("memory used, other words\nnothing, here\n12 MiB, 100 MiB\n", 1000))
	if len(l.Notes) > 2 {
		t.Errorf("%d notes, as %q", len(l.Notes), l.Notes[0])
	}
}

// Each source has its own failures, of which the first and the last are kept.
func TestManyFailures(t *testing.T) {
	var b strings.Builder
	for k := range 40 {
		for rank := range 3 {
			if k < 2 || rank == 1 {
				fmt.Fprintf(&b, "[rank%d]: CUDA out of memory. Tried to allocate %d.00 MiB\n", rank, k+1)
			}
		}
	}
	l := readText(t, b.String())
	counts := map[int]int{}
	for _, c := range l.FailedOf {
		counts[c.Rank] = c.Count
	}
	if l.Failed != 44 || counts[0] != 2 || counts[1] != 40 || counts[2] != 2 {
		t.Errorf("%d failures, %v", l.Failed, counts)
	}
	last, kept := map[int]Failure{}, map[int]int{}
	for _, f := range l.Failures {
		last[f.Rank] = f
		kept[f.Rank]++
	}
	if kept[0] != 2 || kept[1] != MaxFailures || last[1].Asked != 40<<20 || last[1].Line != l.Lines || last[2].Asked != 2<<20 {
		t.Errorf("kept %v, the last %+v", kept, last)
	}
}

// The figure of a JSON member is its value, whatever its name holds.
func TestNumbersInNames(t *testing.T) {
	l := readText(t, "{\"step\": 1, \"gpu 80GB memory allocated_gb\": 1.5}\n{\"step\": 2, \"gpu 80GB memory allocated_gb\": 2.5}\n")
	if len(l.Series) != 1 || l.Series[0].First().Bytes != 1.5*(1<<30) || l.Series[0].Last().Bytes != 2.5*(1<<30) {
		t.Errorf("%s", describe(l))
	}
}

// Zero bytes are holes in a log and no part of its lines.
func TestHoles(t *testing.T) {
	hole := strings.Repeat("\x00", 5000)
	for _, text := range []string{
		hole + "step 1 allocated 1.0 GiB\nstep 2 allocated 2.0 GiB\n",
		"step 1 allocated 1.0 GiB\n" + hole + "\nstep 2 allocated 2.0 GiB\n" + hole,
		hole + "{\"step\": 1, \"allocated_bytes.all.current\": 1073741824}\n" + hole + "{\"step\": 2, \"allocated_bytes.all.current\": 2147483648}\n",
	} {
		l, err := Read(strings.NewReader(text), Options{Name: "x"})
		if err != nil || len(l.Series) != 1 || l.Series[0].Count != 2 || l.Series[0].StepBy != ByStep || l.Unreadable.Count != 0 {
			t.Errorf("%.10q…: %v, %+v", text, err, l)
		}
	}
}
