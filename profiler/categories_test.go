package profiler

import (
	"slices"
	"strings"
	"testing"
)

// corpus opens one of the real traces of the project's test data.
func corpus(t *testing.T, name string) *Trace {
	t.Helper()
	tr, err := Open("../testdata/traces/" + name + ".trace.json.zst")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// The shares are what was measured, less a little: rules may get better, not
// worse. PyTorch's own timeline of tr_gpt leaves half of the bytes at the peak
// unknown, so what it names is what can be compared.
func TestCompareTimeline(t *testing.T) {
	for _, c := range []struct {
		name         string
		share, named float64
	}{{"tr_cpu", 0.61, 0.61}, {"tr_gpt", 0.50, 0.999}} {
		tl, err := ReadTimeline("../testdata/traces/" + c.name + ".timeline.raw.json.gz")
		if err != nil {
			t.Fatal(err)
		}
		a := CompareTimeline(corpus(t, c.name).Categorize(), tl)
		if a.Share() < c.share || a.NamedShare() < c.named {
			t.Errorf("%s: %.3f of all bytes and %.3f of the named ones agree, want %.3f and %.3f; ours %v theirs %v",
				c.name, a.Share(), a.NamedShare(), c.share, c.named, a.Ours, a.Theirs)
		}
	}
}

// The curve by category adds up to the ledger, at every point.
func TestCategoriesReconcile(t *testing.T) {
	for _, name := range []string{"tr_cpu", "tr_gpt", "tv_cpu"} {
		tr := corpus(t, name)
		c := tr.Categorize()
		var ledger Ledger
		for _, l := range tr.Ledgers() {
			if l.Type == c.Type && l.Device == c.Device {
				ledger = l
			}
		}
		if c.Peak.Total() != ledger.Peak || c.Baseline != ledger.Baseline || c.Peak.Time != ledger.PeakTime {
			t.Errorf("%s: peak %d at %d, baseline %d; the ledger has %d at %d, %d", name, c.Peak.Total(), c.Peak.Time, c.Baseline,
				ledger.Peak, ledger.PeakTime, ledger.Baseline)
		}
		curve := c.Curve(0)
		if end := curve[len(curve)-1].Total(); end != ledger.End {
			t.Errorf("%s: end %d, the ledger has %d", name, end, ledger.End)
		}
		reduced := c.Curve(50)
		if len(reduced) > 52 || !slices.ContainsFunc(reduced, func(p CategoryPoint) bool { return p == c.Peak }) {
			t.Errorf("%s: %d points, or without the peak", name, len(reduced))
		}
		for i := range c.Allocations {
			if a := &c.Allocations[i]; a.Evidence == "" || a.Confidence <= 0 || a.Confidence > 1 || a.Time > a.End {
				t.Fatalf("%s: %+v", name, a)
			}
		}
		table := tr.categoryTable(TableOptions{By: ByCategory})
		var peak, kept int64
		for _, r := range table.Rows {
			peak += r.Peak
			kept += r.Kept
		}
		if peak != ledger.Peak || kept != ledger.End {
			t.Errorf("%s: the table has %d at the peak and %d at the end, want %d and %d", name, peak, kept, ledger.Peak, ledger.End)
		}
	}
}

// A trainer of one step, built by hand: operators at multiples of 100 ns.
type trainer struct {
	tr    *Trace
	names map[string]Name
	total int64
}

func newTrainer() *trainer {
	return &trainer{tr: &Trace{Names: []string{""}, Threads: []Thread{{PID: "1", TID: "1"}, {PID: "1", TID: "2"}}}, names: map[string]Name{}, total: 1000}
}

func (b *trainer) name(s string) Name {
	n, ok := b.names[s]
	if !ok {
		n = Name(len(b.tr.Names))
		b.tr.Names = append(b.tr.Names, s)
		b.names[s] = n
	}
	return n
}

func (b *trainer) op(kind HostKind, name string, thread ThreadID, start, dur int64) {
	fwd := uint32(0)
	if strings.HasSuffix(name, "Backward0") {
		fwd = 1
	}
	b.tr.Host = append(b.tr.Host, HostEvent{Kind: kind, Name: b.name(name), Thread: thread, Start: start, Dur: dur, FwdThread: fwd, Correlation: -1})
}

func (b *trainer) memory(time int64, thread ThreadID, addr uint64, bytes int64) {
	b.total += bytes
	b.tr.Memory = append(b.tr.Memory, MemoryEvent{Time: time, Thread: thread, Addr: addr, Bytes: bytes, Allocated: b.total, Reserved: 4096, Type: 1})
}

func trainOneStep() *trainer {
	b := newTrainer()
	b.op(Operator, "aten::randint", 0, 50, 40)
	b.memory(60, 0, 1, 64) // input
	b.op(Operator, "aten::linear", 0, 100, 90)
	b.op(Operator, "aten::mm", 0, 110, 70)
	b.memory(120, 0, 2, 100) // activation
	b.memory(130, 0, 3, 7)   // temporary
	b.memory(140, 0, 3, -7)
	b.op(Operator, "aten::tril", 0, 200, 50)
	b.memory(210, 0, 4, 16) // mask: no backward
	b.tr.Arrows = []Arrow{{ID: 1, Time: 110, Start: true}, {ID: 1, Time: 320, Thread: 1}}
	b.op(Operator, evaluateFunction+"MmBackward0", 1, 300, 90)
	b.op(Operator, "MmBackward0", 1, 310, 60)
	b.memory(320, 1, 5, 200) // gradient
	b.memory(330, 1, 6, 30)  // autograd detail: freed by the next node
	b.memory(380, 1, 2, -100)
	b.op(Operator, evaluateFunction+"torch::autograd::AccumulateGrad", 1, 400, 50)
	b.op(Operator, "torch::autograd::AccumulateGrad", 1, 410, 30)
	b.memory(420, 1, 6, -30)
	b.op(Annotation, "Optimizer.step#AdamW.step", 0, 500, 100)
	b.op(Operator, "aten::zeros_like", 0, 510, 20)
	b.memory(515, 0, 7, 400) // optimizer state
	b.op(Operator, "aten::div", 0, 540, 10)
	b.memory(545, 0, 8, 50) // temporary of the step
	b.op(Operator, "aten::addcdiv_", 0, 560, 10)
	b.memory(565, 0, 8, -50)
	b.op(Annotation, "Optimizer.zero_grad#AdamW.zero_grad", 0, 620, 30)
	b.memory(630, 0, 5, -200)
	b.memory(640, 0, 99, -80) // a gradient from before the trace
	b.memory(700, 0, 1, -64)
	return b
}

func TestCategorize(t *testing.T) {
	c := trainOneStep().tr.Categorize()
	want := map[uint64]Category{1: CategoryInput, 2: CategoryActivation, 3: CategoryTemporary, 4: CategoryInput, 5: CategoryGradient,
		6: CategoryAutogradDetail, 7: CategoryOptimizerState, 8: CategoryTemporary, 99: CategoryGradient}
	for i := range c.Allocations {
		a := &c.Allocations[i]
		if a.Addr != 0 && a.Category != want[a.Addr] {
			t.Errorf("memory %d is %s (%s), want %s", a.Addr, a.Category, a.Evidence, want[a.Addr])
		}
		if a.Addr == 3 && a.Confidence != 1 {
			t.Errorf("temporary is exact, not %v", a.Confidence)
		}
		delete(want, a.Addr)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if c.Baseline != 1000 || c.Peak.Bytes[CategoryParameter] != 920 || c.Peak.Bytes[CategoryGradient] != 280 || c.Peak.Total() != 1730 {
		t.Errorf("baseline %d, peak %+v", c.Baseline, c.Peak)
	}
}

func TestPhases(t *testing.T) {
	var got []string
	for _, p := range trainOneStep().tr.phases() {
		got = append(got, p.kind.String())
	}
	if want := "forward backward optimizer zero_grad"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestSteps(t *testing.T) {
	tr := trainOneStep().tr
	steps := tr.Steps()
	if len(steps) != 1 {
		t.Fatalf("%+v", steps)
	}
	s := steps[0]
	if s.Start != 50 || s.End != 650 || s.Before != 1000 || s.Peak != 1730 || s.Allocated != 867 || s.Freed != 467 || s.Kept != 400 || s.HasDeviceEvents {
		t.Errorf("%+v", s)
	}
	if len(s.Phases) != 4 || s.Phases[1].Kind != PhaseBackward || s.Phases[1].Allocated != 230 || s.Phases[1].Freed != 130 || s.Phases[2].Kept != 400 {
		t.Errorf("%+v", s.Phases)
	}
	tr.Host = append(tr.Host, HostEvent{Kind: Annotation, Name: Name(len(tr.Names)), Start: 90, Dur: 300})
	tr.Names = append(tr.Names, "ProfilerStep#5")
	steps = tr.Steps()
	if len(steps) != 1 || steps[0].Number != 5 || steps[0].Start != 90 || len(steps[0].Phases) != 2 {
		t.Errorf("with ProfilerStep: %+v", steps)
	}
	if none := new(Trace).Steps(); none != nil {
		t.Errorf("%+v", none)
	}
}

func TestStepsOfRealTrace(t *testing.T) {
	steps := corpus(t, "tr_gpt").Steps()
	if len(steps) != 2 {
		t.Fatalf("%d steps", len(steps))
	}
	for i, s := range steps {
		if len(s.Phases) < 3 || s.Phases[0].Name != "## forward ##" || s.Phases[1].Kind != PhaseBackward || s.Phases[2].Kind != PhaseOptimizer {
			t.Errorf("step %d has the phases %+v", i, s.Phases)
		}
		if s.Peak < s.Before || s.Kernels == 0 || s.KernelTime == 0 || s.DeviceIdle <= 0 || s.DeviceIdle >= s.End-s.Start {
			t.Errorf("step %d: %+v", i, s.Span)
		}
	}
	if steps[1].Peak != 626420736 {
		t.Errorf("peak of the second step is %d", steps[1].Peak)
	}
}

// Events of the same time are put in the order of their totals.
func TestOrderMemory(t *testing.T) {
	tr := &Trace{Memory: []MemoryEvent{
		{Time: 1, Addr: 1, Bytes: 10, Allocated: 10, Type: 1}, {Time: 2, Addr: 2, Bytes: 5, Allocated: 8, Type: 1},
		{Time: 2, Addr: 1, Bytes: -10, Allocated: 0, Type: 1}, {Time: 2, Addr: 3, Bytes: 3, Allocated: 3, Type: 1},
	}}
	g := tr.allocationsByDevice()
	if want := []int32{0, 2, 3, 1}; !slices.Equal(g[0].events, want) {
		t.Errorf("%v, want %v", g[0].events, want)
	}
}

// Files before PyTorch 1.10 have neither addresses nor totals.
func TestCategorizeWithoutAddresses(t *testing.T) {
	tr := &Trace{Threads: []Thread{{}}, Memory: []MemoryEvent{
		{Time: 1, Bytes: 10, Allocated: NoTotal, Type: 1}, {Time: 2, Bytes: 10, Allocated: NoTotal, Type: 1},
		{Time: 3, Bytes: -10, Allocated: NoTotal, Type: 1}, {Time: 4, Bytes: -20, Allocated: NoTotal, Type: 1}}}
	c := tr.Categorize()
	if c.Baseline != 10 {
		t.Errorf("baseline %d", c.Baseline)
	}
	curve := c.Curve(0)
	if len(c.Allocations) != 3 || curve[len(curve)-1].Total() != 10 {
		t.Errorf("%+v, curve %+v", c.Allocations, curve)
	}
}

// DistributedDataParallel makes its buckets with plain operators in its forward.
func TestCategorizeBuckets(t *testing.T) {
	b := trainOneStep()
	b.op(Annotation, "DistributedDataParallel.forward", 0, 95, 200)
	b.op(Operator, "aten::empty", 0, 96, 3)
	b.memory(97, 0, 50, 1000)
	b.op(Operator, "c10d::allreduce_", 1, 455, 10)
	b.memory(457, 1, 51, 8)
	b.tr.Memory[0].Allocated = NoTotal // totals no longer follow
	c := b.tr.Categorize()
	found := 0
	for i := range c.Allocations {
		if a := &c.Allocations[i]; a.Addr == 50 || a.Addr == 51 {
			found++
			if a.Category != CategoryCommunication {
				t.Errorf("memory %d is %s (%s)", a.Addr, a.Category, a.Evidence)
			}
		}
	}
	if found != 2 {
		t.Errorf("found %d", found)
	}
}
