package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A traceMaker builds a trace by hand. Times are ns.
type traceMaker struct {
	*Trace
	names map[string]Name
}

func newTraceMaker(threads int) *traceMaker {
	m := &traceMaker{Trace: &Trace{Names: []string{""}}, names: map[string]Name{"": 0}}
	for i := range threads {
		m.Threads = append(m.Threads, Thread{PID: "1", TID: fmt.Sprint(i)})
	}
	return m
}

func (m *traceMaker) name(s string) Name {
	n, known := m.names[s]
	if !known {
		n = Name(len(m.Names))
		m.Names = append(m.Names, s)
		m.names[s] = n
	}
	return n
}

// span adds a host event and returns its index.
func (m *traceMaker) span(kind HostKind, thread ThreadID, name string, start, end int64) int {
	m.Host = append(m.Host, HostEvent{Start: start, Dur: end - start, Sequence: NoSequence, External: -1, Correlation: -1,
		Name: m.name(name), Thread: thread, Index: -1, Kind: kind})
	return len(m.Host) - 1
}

func (m *traceMaker) op(thread ThreadID, name string, start, end int64) int {
	return m.span(Operator, thread, name, start, end)
}

func (m *traceMaker) frame(thread ThreadID, id, parent int32, name string, start, end int64) {
	m.Frames = append(m.Frames, Frame{Start: start, Dur: end - start, ID: id, Parent: parent, Module: -1,
		Name: m.name(name), Thread: thread, Index: -1})
}

func (m *traceMaker) memory(thread ThreadID, time, bytes int64) {
	m.Memory = append(m.Memory, MemoryEvent{Time: time, Bytes: bytes, Allocated: NoTotal, Reserved: NoTotal, Thread: thread,
		Index: -1, Type: 1})
}

func (m *traceMaker) arrow(id int64, from ThreadID, start int64, to ThreadID, end int64) {
	m.Arrows = append(m.Arrows, Arrow{id, start, from, true}, Arrow{id, end, to, false})
}

func (m *traceMaker) kernel(correlation, external, dur int64) {
	m.Device = append(m.Device, DeviceEvent{Dur: dur, Correlation: correlation, External: external, Name: m.name("kernel")})
}

func findRow(t *testing.T, table Table, name string, backward bool) Row {
	t.Helper()
	for _, r := range table.Rows {
		if r.Name == name && r.Backward == backward {
			return r
		}
	}
	t.Fatalf("no row %q (backward %v) among %d", name, backward, len(table.Rows))
	return Row{}
}

func TestMemoryGoesToTheInnermostOperatorOfItsThread(t *testing.T) {
	m := newTraceMaker(2)
	m.op(0, "outer", 0, 100)
	m.op(0, "inner", 10, 20)
	m.op(0, "next", 20, 30)
	m.span(Runtime, 0, "cudaMalloc", 11, 15)
	m.span(Annotation, 0, "step", 5, 200)
	m.op(1, "other", 0, 100)
	m.memory(0, 10, 1)    // at the start of inner
	m.memory(0, 12, 2)    // inside of a runtime call, which owns none
	m.memory(0, 20, 4)    // at the end of inner, which is the start of next
	m.memory(0, 50, 8)    // outer
	m.memory(0, 60, -7)   // outer frees
	m.memory(1, 15, 16)   // on another thread
	m.memory(0, 150, 32)  // only inside of the annotation
	m.memory(0, 300, -64) // outside of all
	table := m.attribute(TableOptions{By: ByOp})
	for _, want := range []Row{
		{Name: "outer", Allocated: 8, Freed: 7, SelfDeviceMemory: 1, DeviceMemory: 8, Peak: 15, Kept: 8},
		{Name: "inner", Allocated: 3, SelfDeviceMemory: 3, DeviceMemory: 3, Peak: 3, Kept: 3},
		{Name: "next", Allocated: 4, SelfDeviceMemory: 4, DeviceMemory: 4, Peak: 4, Kept: 4},
		{Name: "other", Allocated: 16, SelfDeviceMemory: 16, DeviceMemory: 16, Peak: 16, Kept: 16},
		{Name: "cudaMalloc", DeviceMemory: 2, Peak: 2, Kept: 2},
	} {
		r := findRow(t, table, want.Name, false)
		got := Row{Name: r.Name, Allocated: r.Allocated, Freed: r.Freed, SelfDeviceMemory: r.SelfDeviceMemory,
			DeviceMemory: r.DeviceMemory, Peak: r.Peak, Kept: r.Kept}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if table.Unattributed != 32 || table.UnattributedFreed != 64 {
		t.Errorf("outside of operators %d and %d, want 32 and 64", table.Unattributed, table.UnattributedFreed)
	}
	if step := findRow(t, table, "step", false); step.Allocated != 0 {
		t.Errorf("an annotation owns %d bytes", step.Allocated)
	}
}

func TestFreesOnOtherThreadsCountForThePeak(t *testing.T) {
	m := newTraceMaker(2)
	m.frame(0, 1, -1, "train.py(1): run", 0, 100)
	m.frame(0, 2, 1, "train.py(5): step", 5, 90)
	m.op(0, "a", 10, 20)
	m.op(0, "b", 50, 60)
	m.op(1, "free", 30, 35)
	at := func(thread ThreadID, time, bytes int64, addr uint64) {
		m.memory(thread, time, bytes)
		m.Memory[len(m.Memory)-1].Addr = addr
	}
	at(0, 2, 7, 3) // allocated before step, freed while it runs
	at(0, 12, 100, 1)
	at(1, 31, -100, 1)
	at(1, 32, -7, 3)
	at(0, 52, 60, 2)
	table := m.Table(TableOptions{By: ByLine})
	if r := findRow(t, table, "train.py:1 run", false); r.Peak != 107 || r.Kept != 60 {
		t.Errorf("run: peak %d, kept %d, want 107 and 60", r.Peak, r.Kept)
	}
	if r := findRow(t, table, "train.py:5 step", false); r.Peak != 100 || r.Kept != 60 {
		t.Errorf("step: peak %d, kept %d, want 100 and 60", r.Peak, r.Kept)
	}
}

func TestASpanInsideOfItsOwnRowCountsOnce(t *testing.T) {
	m := newTraceMaker(1)
	m.op(0, "f", 0, 100)
	m.op(0, "g", 10, 60)
	m.op(0, "f", 20, 40)
	m.memory(0, 30, 5)
	r := findRow(t, m.attribute(TableOptions{By: ByOp}), "f", false)
	if r.Count != 2 || r.CPU != 100 || r.SelfCPU != 70 || r.DeviceMemory != 5 || r.Kept != 5 {
		t.Errorf("got %+v", r)
	}
}

func TestBackwardIsChargedToTheForwardLine(t *testing.T) {
	build := func() *traceMaker {
		m := newTraceMaker(2)
		m.frame(0, 1, -1, "train.py(3): <module>", 0, 1000)
		m.frame(0, 2, 1, "nn.Module: Net_0", 10, 400)
		m.frame(0, 3, 2, "net.py(7): forward", 20, 390)
		m.frame(0, 4, 3, "nn.Module: Linear_0", 30, 380)
		m.frame(0, 5, 4, "torch/nn/modules/linear.py(130): forward", 40, 370)
		m.Host[m.op(0, "aten::linear", 50, 200)].Sequence = 4 // not the last with its number
		m.Host[m.op(0, "aten::addmm", 60, 150)].Sequence = 4
		m.memory(0, 70, 100)
		m.op(1, evaluatePrefix+"AddmmBackward0", 500, 600)
		node := m.op(1, "AddmmBackward0", 510, 590)
		m.Host[node].Sequence, m.Host[node].FwdThread = 4, 1
		m.op(1, "aten::mm", 510, 560) // starts with the node, as whole µs make it
		m.memory(1, 520, 30)
		m.memory(1, 595, -100)
		m.op(1, evaluatePrefix+"torch::autograd::AccumulateGrad", 700, 800)
		m.memory(1, 750, 9)
		return m
	}
	check := func(t *testing.T, m *traceMaker) {
		lines := m.attribute(TableOptions{By: ByLine})
		if r := findRow(t, lines, "net.py:7 forward", false); r.Allocated != 100 || r.File != "net.py" || r.Line != 7 || r.Function != "forward" {
			t.Errorf("forward line %+v", r)
		}
		if r := findRow(t, lines, "net.py:7 forward", true); r.Allocated != 30 || r.Freed != 100 || r.Count != 1 {
			t.Errorf("backward line %+v", r)
		}
		if r := findRow(t, lines, "(autograd thread)", false); r.Allocated != 9 {
			t.Errorf("gradient accumulation %+v", r)
		}
		if r := findRow(t, lines, "train.py:3 <module>", false); r.Allocated != 0 || r.DeviceMemory != 100 {
			t.Errorf("main module %+v", r)
		}
		modules := m.attribute(TableOptions{By: ByModule})
		if r := findRow(t, modules, "Net_0/Linear_0", true); r.Allocated != 30 || r.Module != "Net_0/Linear_0" {
			t.Errorf("backward of the module %+v", r)
		}
		if r := findRow(t, modules, "Net_0", false); r.Allocated != 0 || r.DeviceMemory != 100 || r.Peak != 100 || r.Kept != 100 {
			t.Errorf("enclosing module %+v", r)
		}
		byStack := m.attribute(TableOptions{By: ByStack, StackDepth: 2})
		r := findRow(t, byStack, "aten::mm", true)
		if want := []string{"torch/nn/modules/linear.py(130): forward", "nn.Module: Linear_0"}; !slices.Equal(r.Stack, want) {
			t.Errorf("stack %q, want %q", r.Stack, want)
		}
	}
	t.Run("by arrow", func(t *testing.T) {
		m := build()
		m.arrow(1, 0, 60, 1, 510)
		check(t, m)
		links := m.derived().backwardLinks()
		for i, l := range links {
			if name := m.Names[m.Host[m.derived().ops.spans[i].id].Name]; name == "aten::mm" && m.Names[m.Host[l.forward].Name] != "aten::addmm" {
				t.Errorf("the forward of %s is %s", name, m.Names[m.Host[l.forward].Name])
			}
		}
	})
	t.Run("by sequence number", func(t *testing.T) { check(t, build()) })
}

func TestForwardCodeRunAgainInTheBackwardKeepsItsOwnLine(t *testing.T) {
	m := newTraceMaker(2)
	m.frame(0, 1, -1, "train.py(3): <module>", 0, 100)
	m.op(0, "CheckpointFunction", 10, 50)
	m.op(1, evaluatePrefix+"CheckpointFunctionBackward", 200, 400)
	m.op(1, "CheckpointFunctionBackward", 210, 390)
	m.frame(1, 2, -1, "block.py(9): forward", 220, 300)
	m.op(1, "aten::mm", 230, 250)
	m.memory(1, 240, 7)
	m.memory(1, 350, 5)
	m.arrow(1, 0, 10, 1, 210)
	table := m.attribute(TableOptions{By: ByLine})
	if r := findRow(t, table, "block.py:9 forward", true); r.Allocated != 7 {
		t.Errorf("run again: %+v", r)
	}
	if r := findRow(t, table, "train.py:3 <module>", true); r.Allocated != 5 {
		t.Errorf("backward: %+v", r)
	}
}

func TestKernelsAreLinked(t *testing.T) {
	m := newTraceMaker(1)
	m.Host[m.op(0, "by id", 0, 100)].External = 5
	m.op(0, "by time", 100, 200)
	call := func(start, correlation, external int64) {
		i := m.span(Runtime, 0, "cudaLaunchKernel", start, start+10)
		m.Host[i].Correlation, m.Host[i].External = correlation, external
	}
	call(50, 7, 5)
	call(150, 8, -1)
	call(500, 9, -1)
	m.kernel(7, -1, 1) // through the External id of its call
	m.kernel(8, -1, 2) // through the time of its call
	m.kernel(0, 5, 4)  // through its own External id
	m.kernel(9, -1, 8) // launched outside of operators
	m.kernel(77, -1, 16)
	m.Device = append(m.Device, DeviceEvent{Dur: 1000, Correlation: -1, External: 5, Kind: DeviceAnnotation})
	table := m.attribute(TableOptions{By: ByOp})
	for name, want := range map[string]int64{"by id": 5, "by time": 2, "cudaLaunchKernel": 8} {
		if r := findRow(t, table, name, false); r.SelfDevice != want || r.DeviceTime != want {
			t.Errorf("%s: device time %d, %d in all, want %d", name, r.SelfDevice, r.DeviceTime, want)
		}
	}
	if len(table.Notes) == 0 {
		t.Error("nothing said of the kernel without a launch")
	}
	if f := m.FlameTime(0); f.Value != 31 || f.Count != 5 {
		t.Errorf("flame graph of %d ns, %d kernels", f.Value, f.Count)
	}
}

// naive computes a table by operator from the definitions.
func naive(t *Trace) map[string]Row {
	before := func(a, b int) int {
		x, y := &t.Host[a], &t.Host[b]
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End(), x.End()), cmp.Compare(x.Index, y.Index), cmp.Compare(a, b))
	}
	innermost := func(thread ThreadID, time int64, in func(*HostEvent) bool) int {
		best := -1
		for i := range t.Host {
			e := &t.Host[i]
			if e.Thread == thread && in(e) && e.Start <= time && time < e.End() && (best < 0 || before(best, i) < 0) {
				best = i
			}
		}
		return best
	}
	parent := func(of int, in func(*HostEvent) bool) int {
		c, best := &t.Host[of], -1
		for i := range t.Host {
			e := &t.Host[i]
			if i != of && e.Thread == c.Thread && in(e) && before(i, of) < 0 && e.End() > c.Start && e.End() >= c.End() &&
				(best < 0 || before(best, i) < 0) {
				best = i
			}
		}
		return best
	}
	isOp := func(e *HostEvent) bool { return e.Kind == Operator }
	any := func(e *HostEvent) bool { return true }
	events := make([]int, len(t.Memory))
	for i := range events {
		events[i] = i
	}
	slices.SortStableFunc(events, func(a, b int) int { return cmp.Compare(t.Memory[a].Time, t.Memory[b].Time) })
	rows := make(map[string]Row)
	for i := range t.Host {
		e := &t.Host[i]
		in := any
		if isOp(e) {
			in = isOp
		}
		r := rows[t.Names[e.Name]]
		r.Count++
		r.SelfCPU += e.Dur
		outermost := true
		for p := parent(i, any); p >= 0; p = parent(p, any) {
			outermost = outermost && t.Host[p].Name != e.Name
		}
		for c := range t.Host {
			if c != i && parent(c, any) == i {
				r.SelfCPU -= t.Host[c].Dur
			}
		}
		var net, peak int64
		for _, k := range events {
			m := &t.Memory[k]
			owner := innermost(m.Thread, m.Time, in)
			if owner == i && isOp(e) {
				r.SelfDeviceMemory += m.Bytes
				if m.Bytes > 0 {
					r.Allocated += m.Bytes
				} else {
					r.Freed -= m.Bytes
				}
			}
			for at := owner; at >= 0; at = parent(at, in) {
				if at == i {
					net += m.Bytes
					peak = max(peak, net)
				}
			}
		}
		r.Peak = max(r.Peak, peak)
		if outermost {
			r.CPU += e.Dur
			r.DeviceMemory += net
			r.Kept += net
		}
		rows[t.Names[e.Name]] = r
	}
	return rows
}

func TestTableByOperatorAgreesWithItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newTraceMaker(2)
		times := rapid.Int64Range(0, 12)
		threads := rapid.Uint32Range(0, 1)
		for range rapid.IntRange(0, 10).Draw(t, "spans") {
			start, dur := times.Draw(t, "start"), times.Draw(t, "dur")
			kind := rapid.SampledFrom([]HostKind{Operator, Operator, Annotation}).Draw(t, "kind")
			name := rapid.SampledFrom([]string{"f", "g", "h"}).Draw(t, "name")
			if kind == Annotation {
				name = "@" + name
			}
			m.span(kind, ThreadID(threads.Draw(t, "thread")), name, start, start+dur)
		}
		for range rapid.IntRange(1, 10).Draw(t, "events") {
			m.memory(ThreadID(threads.Draw(t, "thread")), times.Draw(t, "time"), rapid.Int64Range(-5, 5).Draw(t, "bytes"))
		}
		want := naive(m.Trace)
		table := m.attribute(TableOptions{By: ByOp})
		if len(table.Rows) != len(want) {
			t.Fatalf("%d rows, want %d", len(table.Rows), len(want))
		}
		for _, r := range table.Rows {
			w := want[r.Name]
			got := Row{Count: r.Count, SelfCPU: r.SelfCPU, CPU: r.CPU, SelfDeviceMemory: r.SelfDeviceMemory, DeviceMemory: r.DeviceMemory,
				Allocated: r.Allocated, Freed: r.Freed, Peak: r.Peak, Kept: r.Kept}
			if fmt.Sprint(got) != fmt.Sprint(w) {
				t.Fatalf("%s\n got %+v\nwant %+v", r.Name, got, w)
			}
		}
	})
}

// TestTablesOfCapturesClose checks that rows and what is in no row add up to
// the ledgers, by every kind of table, and flame graphs to both.
func TestTablesOfCapturesClose(t *testing.T) {
	for _, name := range captureNames(t) {
		t.Run(name, func(t *testing.T) {
			tr := openCapture(t, name)
			var allocated, freed, cpuNet, deviceNet, peak int64
			for _, l := range tr.Ledgers() {
				if l.Type.onCPU() {
					cpuNet += l.Allocated - l.Freed
				} else {
					deviceNet += l.Allocated - l.Freed
				}
				if l.Type.onCPU() == tr.onlyCPUMemory() {
					peak += l.Peak
				}
				if l.Type.onCPU() == tr.onlyCPUMemory() {
					allocated += l.Allocated
					freed += l.Freed
				}
			}
			kernels, _ := tr.KernelTotals()
			var selfCPU int64 // of the first table
			for _, by := range []By{ByOp, ByShape, ByStack, ByLine, ByModule} {
				table := tr.attribute(TableOptions{By: by})
				a, f := table.Unattributed, table.UnattributedFreed
				cpu, device, launched, time := table.UnattributedCPU, table.UnattributedDevice, 0, int64(0)
				for _, r := range table.Rows {
					a += r.Allocated
					f += r.Freed
					cpu += r.SelfCPUMemory
					device += r.SelfDeviceMemory
					launched += r.Kernels
					time += r.SelfCPU
					if r.Peak > peak {
						t.Errorf("by %v: %s has a peak of %d, the ledger one of %d", by, r.Name, r.Peak, peak)
					}
				}
				if cpu != cpuNet || device != deviceNet {
					t.Errorf("by %v: net %d on the CPU, %d on devices, want %d and %d", by, cpu, device, cpuNet, deviceNet)
				}
				if launched != kernels {
					t.Errorf("by %v: %d kernels, want %d", by, launched, kernels)
				}
				if by == ByOp {
					selfCPU = time
				}
				if time != selfCPU {
					t.Errorf("by %v: %d ns on the CPU, by operator %d", by, time, selfCPU)
				}
				if a != allocated || f != freed {
					t.Errorf("by %v: allocated %d, freed %d, want %d and %d", by, a, f, allocated, freed)
				}
			}
			for _, most := range []int{0, 1, 2, 40} {
				flame := tr.FlameBytes(most)
				if flame.Value != allocated {
					t.Errorf("flame graph of %d bytes, want %d", flame.Value, allocated)
				}
				if n := checkFlame(t, flame); most > 0 && n > most {
					t.Errorf("%d nodes, want at most %d", n, most)
				}
			}
			var device int64
			for i := range tr.Device {
				if tr.Device[i].Kind != DeviceAnnotation {
					device += tr.Device[i].Dur
				}
			}
			if f := tr.FlameTime(100); f.Value != device {
				t.Errorf("flame graph of %d ns, want %d", f.Value, device)
			}
		})
	}
}

// checkFlame checks that no node is smaller than its children and returns how
// many there are.
func checkFlame(t *testing.T, n *FlameNode) int {
	t.Helper()
	nodes, sum := 1, int64(0)
	for _, c := range n.Children {
		nodes += checkFlame(t, c)
		sum += c.Value
	}
	if sum > n.Value {
		t.Errorf("%s: %d, its children %d", n.Name, n.Value, sum)
	}
	return nodes
}

// TestLinesOfACaptureWithoutVerboseStacks checks that the lines of the program
// are named where the profiler's own table has no stacks, and that nothing but
// gradient accumulation is without one.
func TestLinesOfACaptureWithoutVerboseStacks(t *testing.T) {
	tr := openCapture(t, "tr_gpt")
	table := tr.attribute(TableOptions{By: ByLine})
	for _, want := range []struct {
		name     string
		backward bool
	}{{"model.py:11 forward", false}, {"model.py:11 forward", true}, {"traces.py:28 step", false}} {
		if r := findRow(t, table, want.name, want.backward); r.Allocated == 0 {
			t.Errorf("%s has no memory", want.name)
		}
	}
	for _, r := range table.Rows {
		if r.File == "" && r.Allocated > 0 {
			t.Errorf("%s holds %d bytes", r.Name, r.Allocated)
		}
	}
	r := findRow(t, tr.attribute(TableOptions{By: ByModule}), "GPT_0/Block_1/MLP_1/Linear_6", true)
	if r.Allocated == 0 || r.SelfDevice == 0 {
		t.Errorf("backward of a module: %+v", r)
	}
}
