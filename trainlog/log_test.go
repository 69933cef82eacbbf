package trainlog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// open reads a capture of testdata/logs.
func open(t *testing.T, name string) *Log {
	t.Helper()
	l, err := Open(filepath.Join("../testdata/logs", name+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func seriesOf(t *testing.T, l *Log, m Metric) *Series {
	t.Helper()
	for _, s := range l.Series {
		if s.Metric == m {
			return s
		}
	}
	t.Fatalf("%s has no curve of %s", l.Name, m)
	return nil
}

// What a program printed with three decimals is what memory_stats() counted at
// the same steps, within half the last digit.
func TestCaptures(t *testing.T) {
	for _, run := range []string{"leak", "cache", "stair"} {
		printed, exact := open(t, run+".log"), open(t, run+".stats.jsonl")
		for _, m := range []Metric{Allocated, Reserved} {
			a, b := seriesOf(t, printed, m), seriesOf(t, exact, m)
			if a.Count != 40 || b.Count != 40 || a.StepBy != ByStep || b.Resolution() != 0 {
				t.Fatalf("%s: %d and %d values of %s", run, a.Count, b.Count, m)
			}
			pa, pb := a.Points(), b.Points()
			for i := range pa {
				if pa[i].Step != pb[i].Step || math.Abs(pa[i].Bytes-pb[i].Bytes) > a.Resolution()*1.0001 {
					t.Errorf("%s, %s: step %.0f printed %.0f, step %.0f counted %.0f", run, m, pa[i].Step, pa[i].Bytes, pb[i].Step, pb[i].Bytes)
				}
			}
		}
		smi := open(t, run+".smi.csv")
		if s := seriesOf(t, smi, DeviceUsed); s.StepBy != ByTime || s.Device != 0 || smi.Totals[0].Bytes != 143771*mib {
			t.Errorf("%s: %+v, %+v", run, s.Source, smi.Totals)
		}
		summary := open(t, run+".summary.txt")
		if s := seriesOf(t, summary, PeakAllocated); s.Device != 0 || s.Resolution() != 1024 || len(summary.Counters) != 1 {
			t.Errorf("%s: %+v, %v", run, s.Source, s.Resolution())
		}
		for _, l := range []*Log{printed, exact, smi, summary} {
			if l.Unreadable.Count != 0 || len(l.Notes) != 0 {
				t.Errorf("%s: %+v %q", l.Name, l.Unreadable, l.Notes)
			}
		}
	}
}

func TestUnreadable(t *testing.T) {
	l := readText(t, "allocated: 1.5\n"+
		`{"step": 1, "allocated_bytes.all.current": 12`+"\n"+
		"memory.used [MiB], memory.total [MiB]\n12 MiB, 100 MiB\n12 MiB\n[N/A], [N/A]\n13 MiB, 100 MiB, 3\n")
	want := []Example{
		{1, "allocated: 1.5", "memory without a unit"},
		{2, `{"step": 1, "allocated_bytes.all.current": 12`, "broken JSON"},
		{6, "[N/A], [N/A]", "no amount of memory in the row"},
	}
	if l.Unreadable.Count != 4 || fmt.Sprint(l.Unreadable.Examples) != fmt.Sprint(want) {
		t.Errorf("%d: %+v", l.Unreadable.Count, l.Unreadable.Examples)
	}
	if s := l.Series[0]; s.Count != 1 {
		t.Errorf("%d values", s.Count)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no figure", "hello\nworld\n", "x: no memory figures found in 2 lines; looked for lines with allocated"},
		{"no unit", "reserved: 1.5\n", "x: no memory figures found in 1 lines (1 could not be read, as line 1: memory without a unit); looked for"},
		{"a snapshot", "\x80\x04}.", "x: not a training log: it is a pickle"},
		{"cut JSON", "{\n \"log_history\": [\n {\"gpu_mem_gb\": 1.5, \"step\": 1},\n {\"gpu_mem", "x: the file ends within the JSON, at byte"},
	} {
		_, err := Read(strings.NewReader(c.text), Options{Name: "x"})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s…", c.name, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader("hello\n"), Options{}); !errors.Is(err, ErrNoFigures) {
		t.Error(err)
	}
}

// What was read before an error is there.
func TestErrorInStream(t *testing.T) {
	broken := errors.New("the disk is gone")
	l, err := Read(io.MultiReader(strings.NewReader("step 1 allocated 1 GiB\n"), errorReader{broken}), Options{Name: "x"})
	if !errors.Is(err, broken) || l == nil || len(l.Series) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"carriage returns", "step 1 mem 1 GiB\r\nstep 2 mem 2 GiB\r\n", "used 1–2 GiB 1024 stated, step 1–2"},
		{"no end", "step 1 mem 1 GiB", "used 1 GiB 1024 stated, step 1"},
		{"a long line", strings.Repeat("x", 3*maxLine) + "\nstep 2 mem 2 GiB", "used 2 GiB 1024 stated, step 2"},
		{"an endless bar", strings.Repeat("step 1 mem 1 GiB\r", maxLine/8) + "step 2 mem 2 GiB", "used 1–2 GiB 1024 stated, step 1–2"},
		{"zero bytes", "step 1 mem 1 GiB\x00\x00\n", "used 1 GiB 1024 stated, step 1"},
		{"colours", "\x1b[1;32mstep\x1b[0m 3 \x1b]0;title\x07mem 1 GiB\x1b[", "used 1 GiB 1024 stated, step 3"},
	} {
		if got := describe(readText(t, c.text)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"2022", "RuntimeError: CUDA out of memory. Tried to allocate 148.00 MiB (GPU 1; 2.00 GiB total capacity; 959.93 MiB already allocated; 96.16 MiB free; 1.03 GiB reserved in total by PyTorch)",
			"gpu 1 asked 148 free 96.16 total 2048 allocated 959.93 reserved 1054.72"},
		{"2024", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated.",
			"gpu 0 asked 2048 free 1280 total 81049.6 allocated 71680 reserved 76800"},
		{"HIP", "[rank3]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 3 has a total capacity of 64.00 GiB of which 8.00 MiB is free.",
			"rank 3 gpu 3 asked 20 free 8 total 65536 allocated NaN reserved NaN"},
	} {
		l := readText(t, "step 5 mem 1 GiB\n"+c.line+"\n")
		if l.Failed != 1 {
			t.Errorf("%s: %d failures", c.name, l.Failed)
			continue
		}
		f := l.Failures[0]
		m := func(v float64) float64 { return math.Round(v/mib*100) / 100 }
		got := strings.TrimSpace(sourceText(f.Source) + fmt.Sprintf(" asked %v free %v total %v allocated %v reserved %v", m(f.Asked), m(f.Free), m(f.Total), m(f.Allocated), m(f.Reserved)))
		if got != c.want || f.Line != 2 {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Steps ascend within a run, whatever a log's counters do.
func TestSteps(t *testing.T) {
	mem := func(format string, steps ...any) string {
		var b strings.Builder
		for _, s := range steps {
			fmt.Fprintf(&b, format+" mem 1 GiB\n", s)
		}
		return b.String()
	}
	for _, c := range []struct{ name, text, want string }{
		{"plain", mem("step %d", 0, 10, 20, 30), "step 0 10 20 30"},
		{"batches of epochs from 0", "Epoch: [0] [0/3] mem 1 GiB\nEpoch: [0] [2/3] mem 1 GiB\nEpoch: [1] [0/3] mem 1 GiB\nEpoch: [1] [2/3] mem 1 GiB\n", "step 0 2 3 5"},
		{"batches of epochs from 1", "Epoch [1][1/3] mem: 1 GiB\nEpoch [1][3/3] mem: 1 GiB\nEpoch [2][1/3] mem: 1 GiB\n", "step 1 3 4"},
		{"a counter that begins anew with each epoch", "epoch 0 step 0 mem 1 GiB\nepoch 0 step 9 mem 1 GiB\nepoch 1 step 0 mem 1 GiB\nepoch 1 step 9 mem 1 GiB\n", "step 0 9 10 19"},
		{"bars that begin anew", mem("|█| %d/100 [00:03<00:30, 3it/s],", 10, 90, 10, 90), "step 10 90 110 190"},
		{"a restart", mem("step %d", 0, 10, 20, 30, 10, 20, 30, 40), "step 0 10 20 30, run 1 step 10 20 30 40"},
		{"two restarts", mem("step %d", 0, 10, 20, 0, 10, 20, 0, 10, 20), "step 0 10 20, run 1 step 0 10 20, run 2 step 0 10 20"},
		{"another loop's counter", mem("step %d", 100, 110, 1, 2, 3, 120, 130), "step 100 110 120 130"},
		{"out of order", mem("step %d", 1, 2, 3, 2, 3, 4, 3, 4, 5), "step 1 2 3 4 5"},
		{"epochs only", mem("Epoch %d:", 1, 2, 3), "epoch 1 2 3"},
		{"epochs, then steps", mem("Epoch %d:", 0) + mem("step %d", 100, 200, 300), "step 100 200 300"},
		{"none", mem("iteration took %dms", 7, 7, 7), "line 0 1 2"},
		{"a plan", "Total optimization steps = 1,000\nStep 1 of 3: loading\n" + mem("loss %d.5", 1, 2, 3, 4, 5), "line 0 1 2 3 4"},
	} {
		var got []string
		for _, s := range readText(t, c.text).Series {
			text := s.StepBy.String()
			if s.Run > 0 {
				text = fmt.Sprintf("run %d %s", s.Run, text)
			}
			for _, p := range s.Points() {
				text += fmt.Sprintf(" %.0f", p.Step)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s; want %s", c.name, text, c.want)
		}
	}
}

// Of several values within one step, what stays counts: the lowest allocated and
// the highest reserved.
func TestValuesWithinAStep(t *testing.T) {
	l := readText(t, "step 1 allocated 3 GiB, reserved 5 GiB\nstep 1 allocated 1 GiB, reserved 6 GiB\nstep 2 allocated 2 GiB, reserved 5 GiB\n")
	for _, s := range l.Series {
		want := map[Metric]float64{Allocated: gib, Reserved: 6 * gib}[s.Metric]
		if s.First().Bytes != want || s.Merged != 1 || s.Len() != 2 || s.Count != 3 {
			t.Errorf("%s: %.0f, %d of %d", s.Metric, s.First().Bytes, s.Len(), s.Count)
		}
	}
}

// A reduced curve is bounded, ascending, and keeps its first, last and extremes.
func TestCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5*maxGroups).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		c := newCurve(false)
		low, high, first, last := math.Inf(1), math.Inf(-1), 0.0, 0.0
		for i := range n {
			seed = seed*6364136223846793005 + 1442695040888963407
			v := float64(seed >> 40)
			c.add(Point{Step: float64(i), Bytes: v})
			if low, high, last = min(low, v), max(high, v), v; i == 0 {
				first = v
			}
		}
		c.close()
		points := c.points()
		l, h := c.extremes()
		if len(points) > 4*maxGroups || c.count != n || c.first().Bytes != first || c.last().Bytes != last || l.Bytes != low || h.Bytes != high {
			t.Fatalf("%d points of %d: first %v last %v low %v high %v", len(points), c.count, c.first(), c.last(), l, h)
		}
		for i := 1; i < len(points); i++ {
			if points[i].Step < points[i-1].Step {
				t.Fatalf("point %d is at %v after %v", i, points[i].Step, points[i-1].Step)
			}
		}
	})
}

// Whole segments, printed in either unit, never prove the other one.
func TestPageEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]float64{1000, 1024}).Draw(t, "base")
		power := rapid.IntRange(2, 3).Draw(t, "power")
		digits := rapid.IntRange(0, 4).Draw(t, "digits")
		var values []float64
		for _, segments := range rapid.SliceOfNDistinct(rapid.IntRange(1, 40000), 1, 60, rapid.ID).Draw(t, "segments") {
			v := float64(segments) * segmentGrain / math.Pow(base, float64(power))
			values = append(values, math.Round(v*math.Pow10(digits))/math.Pow10(digits))
		}
		if got, ok := pageEvidence(values, power, digits, segmentGrain); ok && got != base {
			t.Fatalf("%v in units of %v^%d with %d digits are taken for %v", values, base, power, digits, got)
		}
	})
	if got, ok := pageEvidence([]float64{22, 24, 100, 5000, 5002, 5004, 5010, 5020, 5040, 5050, 5060, 5070}, 2, 0, segmentGrain); !ok || got != 1024 {
		t.Errorf("even MB: %v, %v", got, ok)
	}
	if _, ok := pageEvidence([]float64{0.25, 0.5}, 3, 2, segmentGrain); ok {
		t.Error("two values of two digits prove nothing")
	}
}

// Whatever the bytes, reading ends, and no curve holds what is no number.
func FuzzRead(f *testing.F) {
	for _, c := range spellings {
		f.Add([]byte(c.lines))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Read(strings.NewReader(string(data)), Options{Name: "x"})
		if l == nil {
			if err == nil {
				t.Fatal("neither a log nor an error")
			}
			return
		}
		for _, s := range l.Series {
			before := math.Inf(-1)
			for _, p := range s.Points() {
				if math.IsNaN(p.Bytes) || math.IsInf(p.Bytes, 0) || math.IsNaN(p.Step) || p.Step < before {
					t.Fatalf("%s: point %+v after %v", s.Metric, p, before)
				}
				before = p.Step
			}
		}
		if l.Unreadable.Count < len(l.Unreadable.Examples) || len(l.Unreadable.Examples) > MaxExamples {
			t.Fatal(l.Unreadable)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "2026-01-02 03:04:05,123 INFO loss 2.5 lr 1e-4\n[step %6d] allocated %.3f GB, reserved %.3f GB, peak %.3f GB\n", i, 1+float64(i)/1e5, 2.5, 2.25)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(strings.NewReader(text.String()), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
