package viewer

import "fmt"

// fakeTrace is a small report with every part in it.
func fakeTrace() Trace {
	const mib, ms = 1 << 20, 1_000_000
	tr := Trace{
		Name: "runs/rank0.json.zst", Format: "profiler trace, zstd", Bytes: 123456, Version: "v0.0.0-test",
		Facts: []string{"9,876 events", "1 × Some GPU"}, Repaired: 2, Repairs: []string{"control character"},
		Settings: []Setting{{"profile_memory", "on"}, {"with_stack", "on"}}, Wall: 90 * ms,
		Verdict: Verdict{"note", "Memory of CUDA 0 peaks at 60.0 MiB."},
		Stacks:  fakeStacks{1: {linear, call, forward, train}},
	}
	cuda := TraceMemory{
		Name: "CUDA 0", Baseline: 4 * mib, Peak: 60 * mib, ReservedPeak: 64 * mib, End: 31 * mib, Allocated: 90 * mib, Freed: 63 * mib,
		PeakTime: 60 * ms, Events: 4000, HasTotals: true, Categories: []string{"parameter", "activation", "temporary"},
		AtPeak: []int64{4 * mib, 50 * mib, 6 * mib}, CategoryNote: "By evidence in the trace.",
		Marks: []Mark{
			{Kind: MarkRange, Label: "ProfilerStep#1", Event: 10000, End: 50000, Time: 10000, Till: 50000},
			{Kind: MarkAnnotate, Label: "Optimizer.step#SGD.step", Event: 40000, Time: 40000},
		},
	}
	for i, v := range []int64{4, 10, 20, 20, 35, 50, 60, 42, 40, 31} {
		cuda.Curve = append(cuda.Curve, TracePoint{Time: int64(i) * 10 * ms, Allocated: v * mib, Reserved: 64 * mib, Categories: []int64{4 * mib, (v - 4) * mib, 0}})
	}
	cuda.Curve[6].Categories = cuda.AtPeak
	cpu := TraceMemory{Name: "CPU", Peak: mib, End: 0, Allocated: mib, Freed: mib, Events: 2, Curve: []TracePoint{{0, mib, 0, nil}, {ms, 0, 0, nil}}}
	tr.Memory = []TraceMemory{cuda, cpu}
	columns := []Column{{"Allocated", "sum of allocations", InBytes}, {"Kept", "still live after return", InBytes}, {"Peak", "while running", InBytes}, {"GPU time", "of its kernels", InTime}, {"Calls", "how often", InCount}}
	lines := TraceTable{Name: "line", Title: "Lines", Intro: "Lines of your code.", Noun: "line", Columns: columns, Total: 90 * mib, Functions: true}
	lines.Rows = []TraceRow{
		{Frame: forward, Values: []int64{60 * mib, 20 * mib, 40 * mib, 5 * ms, 4}, Stack: 1},
		{Frame: forward, Backward: true, Values: []int64{20 * mib, -mib, 10 * mib, 7 * ms, 4}},
		{Frame: Frame{Function: "(no stack)", Kind: SpecialFrame}, Values: []int64{10 * mib, 0, 0, 1200, 1}},
	}
	ops := TraceTable{Name: "op", Title: "Operators", Intro: "By operator.", Noun: "operator", Columns: columns, Total: 90 * mib}
	ops.Rows = []TraceRow{{Frame: Frame{Function: "aten::empty"}, Values: []int64{80 * mib, 0, 0, 0, 9}, Stack: 1}, {Frame: Frame{Function: "aten::add_"}, Backward: true, Values: []int64{10 * mib, 0, 0, 999, 2}}}
	kernels := TraceTable{Name: "kernel", Title: "Kernels", Intro: "By kernel.", Noun: "kernel", Total: 12 * ms, Columns: []Column{{"GPU time", "sum", InTime}, {"Calls", "launches", InCount}}}
	kernels.Rows = []TraceRow{{Frame: Frame{Function: "void gemm<float, 128>(int)"}, Values: []int64{12 * ms, 3}}}
	tr.Tables = []TraceTable{lines, ops, kernels}
	root := fakeDevice().Moments[0].Flame
	tr.Flames = []TraceFlame{{Name: "bytes", Title: "Bytes by stack", Intro: "All allocations.", Root: root}, {Name: "time", Title: "GPU time by stack", Intro: "All kernels.", Unit: InTime, Root: root}}
	tr.Kernels = []TraceDevice{{
		Name: "GPU 0", Span: 80 * ms, Busy: 60 * ms, Idle: 20 * ms, Count: 300,
		Parts:   []TracePart{{"p0", "compute", 50 * ms}, {"p1", "communication alone", 10 * ms}, {"p3", "idle", 20 * ms}},
		Streams: []TraceStream{{"stream 7", 300, 60 * ms, 50 * ms, 10 * ms, 0}},
	}}
	tr.Gaps = []TraceGap{{"GPU 0", 5 * ms, ms, "kernel a", "kernel b", "cudaMalloc"}}
	tr.Steps = []TraceStep{{Name: "ProfilerStep#1", Start: 10 * ms, Dur: 40 * ms, Peak: 60 * mib, Allocated: 80 * mib, Device: 30 * ms, Busy: 29 * ms, Idle: 11 * ms, HasMemory: true, HasDevice: true}, {Name: "bare", Start: 1, Dur: 2}}
	tr.Findings = []Finding{{"bad", "No kernels.", "The trace has none.", "Profile with ProfilerActivity.CUDA."}, {"note", "Stacks are missing.", "", ""}}
	tr.Notes = []TraceNote{{"ok", "The ledger reconciles."}}
	return tr
}

// hugeTrace is larger than anything that must fit.
func hugeTrace() Trace {
	name := func(i int) string { return fmt.Sprintf("<%0300d>&\"'<<<<<<<<", i) }
	tr := fakeTrace()
	tr.Name = name(0)
	stacks := fakeStacks{}
	for i := range uint32(3000) {
		var st []Frame
		for j := range 40 {
			st = append(st, Frame{File: name(int(i)*40 + j), Function: name(j), Line: int32(j)})
		}
		stacks[i+1] = st
	}
	tr.Stacks = stacks
	m := &tr.Memory[0]
	m.Curve, m.Categories = nil, nil
	for c := range 20 {
		m.Categories = append(m.Categories, name(c))
	}
	for i := range 200_000 {
		p := TracePoint{Time: int64(i) * 1_000_003_000, Allocated: int64(i*7919) % (1 << 50), Reserved: 1 << 50}
		for c := range 20 {
			p.Categories = append(p.Categories, int64(i*c)+1<<45)
		}
		m.Curve = append(m.Curve, p)
	}
	for i := range 2000 {
		m.Marks = append(m.Marks, Mark{Kind: MarkRange, Label: name(i), Event: i, End: i + 1, Time: int64(i), Till: int64(i + 1)})
		tr.Steps = append(tr.Steps, TraceStep{Name: name(i)})
		tr.Findings = append(tr.Findings, Finding{"bad", name(i), name(i) + name(i+1), name(i)})
		tr.Gaps = append(tr.Gaps, TraceGap{name(1), 1, 2, name(i), name(i), name(i)})
		tr.Settings = append(tr.Settings, Setting{name(i), name(i)})
		tr.Kernels = append(tr.Kernels, tr.Kernels[0])
	}
	for range 40 {
		tr.Memory = append(tr.Memory, *m)
	}
	for t := range tr.Tables {
		for i := range 5000 {
			f := Frame{File: name(i), Function: name(i + 1), Line: 1}
			tr.Tables[t].Rows = append(tr.Tables[t].Rows, TraceRow{Frame: f, Values: []int64{1 << 50, 1 << 50, 1 << 50, 1 << 50, 1 << 50}, Stack: uint32(i%3000 + 1)})
		}
	}
	wide := &Flame{Frame: Frame{Function: "(all)", Kind: SpecialFrame}, Bytes: 50000, Count: 50000}
	for i := range 50000 {
		wide.Children = append(wide.Children, &Flame{Frame: Frame{Function: name(i), File: name(i)}, Bytes: 1, Count: 1})
	}
	for i := range tr.Flames {
		tr.Flames[i].Root = wide
	}
	return tr
}

// poisonedTrace puts a name everywhere where text from a file goes.
func poisonedTrace(name string) Trace {
	tr := fakeTrace()
	tr.Name, tr.Format, tr.Version, tr.Partial = "a/"+name, name, name, name
	tr.Facts, tr.Repairs = []string{name, name}, []string{name}
	tr.Settings = []Setting{{name, name}}
	tr.Verdict.Text = name
	evil := Frame{File: "/" + name, Function: name, Line: 1}
	tr.Stacks = fakeStacks{1: {evil, evil, evil, evil}}
	for i := range tr.Memory {
		m := &tr.Memory[i]
		m.Name, m.CategoryNote = name, name
		for j := range m.Categories {
			m.Categories[j] = name
		}
		for j := range m.Marks {
			m.Marks[j].Label = name
		}
	}
	for i := range tr.Tables {
		t := &tr.Tables[i]
		t.Intro = name
		for j := range t.Rows {
			if r := &t.Rows[j]; r.Kind != SpecialFrame && t.Functions {
				r.File, r.Function = evil.File, name
			} else if r.Kind != SpecialFrame {
				r.Function = name
			}
		}
	}
	var poison func(f *Flame)
	poison = func(f *Flame) {
		f.File, f.Function = name, name
		for _, c := range f.Children {
			poison(c)
		}
	}
	for i := range tr.Flames {
		poison(tr.Flames[i].Root)
		tr.Flames[i].Intro = name
	}
	tr.Kernels[0].Name, tr.Kernels[0].Streams[0].Name = name, name
	tr.Gaps[0] = TraceGap{name, 1, 2, name, name, name}
	tr.Steps[0].Name = name
	for i := range tr.Findings {
		tr.Findings[i] = Finding{tr.Findings[i].Severity, name, name, name}
	}
	tr.Notes[0].Text = name
	return tr
}
