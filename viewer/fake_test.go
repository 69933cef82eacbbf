package viewer

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
)

// fakeStacks resolves ids to stacks made for tests: innermost frame first.
type fakeStacks map[uint32][]Frame

func (f fakeStacks) Stack(id uint32) []Frame { return f[id] }

func (f fakeStacks) Line(id uint32) Frame {
	if len(f[id]) == 0 {
		return Frame{Function: "(no stack)", Kind: SpecialFrame}
	}
	return f[id][0]
}

var (
	forward = Frame{File: "/home/ml/train/example/model.py", Function: "forward", Line: 41}
	linear  = Frame{File: "/home/ml/train/example/model.py", Function: "linear", Line: 12}
	call    = Frame{File: "/opt/venv/lib/python3.12/site-packages/torch/nn/module.py", Function: "_call_impl", Line: 1790, Kind: LibraryFrame}
	train   = Frame{File: "/home/ml/train/example/train.py", Function: "main", Line: 7}
	native  = Frame{Function: "at::empty", Kind: NativeFrame}
)

// fakeSnapshot is a small report with every part in it: three devices, one
// with a history and one with nothing, marks, two pools, all block states, settings and annotations.
func fakeSnapshot() Snapshot {
	return Snapshot{
		Name: "runs/rank0.pickle.zst", Format: "pickle protocol 4, zstd", Bytes: 123456, Version: "v0.0.0-test",
		HasSettings: true, Conf: "max_split_size_mb:64",
		Settings:    []Setting{{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64"}, {"expandable_segments", "false"}},
		Annotations: []Annotation{{Name: "## forward ##", Device: 0, Start: 10, End: 500}, {Name: "open", Device: -1, Start: 700, Open: true}},
		Warnings:    []string{"device 0: one block has no address"},
		Stacks:      fakeStacks{1: {native, linear, call, forward, train}, 2: {call, forward, train}},
		Devices:     []Device{fakeDevice(), {Name: "Device 1", Short: "Device 1", Stats: Stats{Reserved: 4096, Allocated: 4096, Segments: 1, Blocks: 1}, History: History{State: "none"}, Verdict: Verdict{"note", "Nothing to say."}}, {Name: "Device 2", Short: "Device 2", History: History{State: "none"}}},
	}
}

func fakeDevice() Device {
	const mib = 1 << 20
	d := Device{
		Name: "Device 0", Short: "Device 0", HasTime: true, Duration: 9000,
		Stats: Stats{
			Reserved: 64 * mib, Allocated: 30 * mib, Active: 32 * mib, Requested: 31 * mib, InactiveSplit: 10 * mib, Releasable: 20 * mib,
			ExpandableFree: 2 * mib, PendingFree: 2 * mib, RoundingWaste: 4096, LargestFree: 20 * mib, Segments: 4, Blocks: 7, Events: 10,
		},
		History: History{
			State: "truncated", Peak: Point{6, 6000, 60 * mib}, PeakReserved: Point{5, 5000, 64 * mib},
			End: 31 * mib, EndReserved: 64 * mib, Baseline: 4 * mib, BaselineReserved: 8 * mib, RingSize: 10, Overflowed: true,
		},
		Marks: []Mark{
			{Kind: "oom", Label: "Out of memory at event 8: 2.00 GiB were requested", Event: 8, Time: 8000},
			{Kind: "range", Label: "## forward ##", Event: 1, End: 5, Time: 1000, Till: 5000},
			{Kind: "snapshot", Label: "snapshot", Event: 3, Time: 3000},
		},
	}
	for i, v := range []int64{4, 10, 20, 20, 35, 50, 60, 42, 40, 35, 31} {
		d.Curve = append(d.Curve, CurvePoint{Event: i - 1, Time: int64(max(0, i-1)) * 1000, Requested: v * mib, Reserved: 64 * mib})
	}
	d.Curve[0].Reserved = 8 * mib
	d.Curve[7].Requested = 60 * mib
	d.Curve[6].Requested = 55 * mib
	d.Moments = []Moment{
		{
			Name: "peak", Title: "At the peak", Point: Point{6, 6000, 60 * mib}, Total: 60 * mib,
			Rows: []Row{
				{Frame: forward, Bytes: 40 * mib, Count: 4, Stack: 2},
				{Frame: linear, Bytes: 16*mib + 1, Count: 12, Stack: 1},
				{Frame: Frame{Function: "(before the history)", Kind: SpecialFrame}, Bytes: 4*mib - 1, Count: 1},
			},
			Flame: &Flame{Frame: Frame{Function: "(all)", Kind: SpecialFrame}, Bytes: 60 * mib, Count: 17, Children: []*Flame{
				{Frame: train, Bytes: 56*mib + 1, Count: 16, Children: []*Flame{
					{Frame: forward, Bytes: 56*mib + 1, Count: 16, Children: []*Flame{{Frame: call, Bytes: 16*mib + 1, Count: 12, Children: []*Flame{{Frame: linear, Bytes: 16*mib + 1, Count: 12, Children: []*Flame{{Frame: native, Bytes: 16*mib + 1, Count: 12}}}}}}},
				}},
				{Frame: Frame{Function: "(before the history)", Kind: SpecialFrame}, Bytes: 4*mib - 1, Count: 1},
			}},
		},
		{Name: "end", Title: "At the end", Point: Point{9, 9000, 31 * mib}, Total: 31 * mib, Rows: []Row{{Frame: forward, Bytes: 31 * mib, Count: 3, Stack: 2}}},
	}
	d.Segments = []Segment{
		{Addr: 0x7f0000000000, Bytes: 30 * mib, Blocks: []Block{{Size: 20 * mib, Requested: 20 * mib, Stack: 1, State: Allocated}, {Size: 10 * mib, Requested: 0, Stack: 0, State: InactiveSplit}}},
		{Addr: 0x7f0010000000, Bytes: 20 * mib, Blocks: []Block{{Size: 20 * mib, Requested: 0, Stack: 0, State: Releasable}}},
		{Addr: 0x7f0020000000, Bytes: 2 * mib, Small: true, Blocks: []Block{{Size: 2 * mib, Requested: 1 * mib, Stack: 2, State: PendingFree}}},
		{Addr: 0xff00000000000000, Bytes: 12 * mib, Pool: "(0, 1)", Stream: "0x5", Expandable: true, Blocks: []Block{{Size: 10 * mib, Requested: 10 * mib, Stack: 2, State: Allocated}, {Size: 2 * mib, Requested: 0, Stack: 0, State: ExpandableFree}}},
	}
	d.Failure = &Failure{Event: 8, Of: 2, Asked: 2 << 30, Reserved: 64 * mib, Requested: 35 * mib, DeviceFree: 1 << 30}
	d.Moments = append(d.Moments, Moment{Name: "oom", Title: "At the out-of-memory", Point: Point{8, 8000, 35 * mib}, Total: 35 * mib, Rows: []Row{{Frame: native, Bytes: 35 * mib, Count: 5, Stack: 1}}})
	fakePurpose(&d)
	d.Verdict = summarize(&d)
	return d
}

// fakePurpose says what the memory of a fake device is for: parameters of 4 MiB,
// a little that is unknown, and activations.
func fakePurpose(d *Device) {
	const mib = 1 << 20
	d.Categories = []string{"parameter", "activation", "unknown"}
	d.CategoryNote = "Categories are inferred."
	d.PeakPhase = "backward of step 2"
	for i := range d.Curve {
		p := &d.Curve[i]
		p.Categories = []int64{4 * mib, max(0, p.Requested-5*mib), min(mib, p.Requested-4*mib)}
	}
	split := func(m *Moment) {
		m.Parts = []Part{{Category: "parameter", Bytes: 4 * mib}, {Category: "activation", Bytes: m.Total - 5*mib}, {Category: "unknown", Bytes: mib}}
	}
	split(&d.Moments[0])
	split(&d.Moments[1])
	d.Moments[0].Rows[0].Parts = []Part{{"activation", 39 * mib, "made by a forward & kept", .93}, {"unknown", mib, "nothing tells", .2}}
	d.Moments[0].Rows[2].Parts = []Part{{"parameter", 4*mib - 1, "older <than> the history", .8}}
	d.Segments[0].Blocks[0].Category = "activation"
	d.Segments[3].Blocks[0].Category = "parameter"
	d.Marks = append(d.Marks, Mark{Kind: MarkPhase, Label: "backward of step 2", Event: 5, End: 9, Time: 5000, Till: 9000})
	d.Findings = []Advice{
		{Frame: forward, Title: "Scores are written out", Why: "They are large.", Do: "Call <another> function.", Evidence: "3 tensors are alive.", Bytes: 20 * mib, UpperBound: true, Confidence: .9},
		{Frame: Frame{Function: "(autograd thread)", Kind: SpecialFrame}, Title: "Gaps", Why: "They are free.", Do: "Close them.", Evidence: "gaps of 10 MiB.", Bytes: 10 * mib, Reserved: true, Confidence: 1},
		{Frame: linear, Title: "A copy", Why: "It is one.", Do: "Nothing.", Evidence: "1 copy.", Bytes: mib, Info: true, Confidence: .5},
		{Frame: linear, Title: "A fourth", Why: "It is small.", Do: "Nothing.", Evidence: "1 block.", Bytes: mib / 2, Confidence: .5},
	}
}

// hugeSnapshot is larger than anything that must fit: a million points, long
// and different names full of characters that escaping makes longer.
func hugeSnapshot(devices int) Snapshot {
	s := Snapshot{Name: "huge", HasSettings: true}
	stacks := fakeStacks{}
	name := func(i int) string { return fmt.Sprintf("<%0300d>&\"'<<<<<<<<", i) }
	for i := range uint32(3000) {
		var st []Frame
		for j := range 40 {
			st = append(st, Frame{File: name(int(i)*40 + j), Function: name(j), Line: int32(j)})
		}
		stacks[i+1] = st
	}
	s.Stacks = stacks
	for i := range 1000 {
		s.Settings = append(s.Settings, Setting{name(i), name(i) + name(i+1)})
		s.Annotations = append(s.Annotations, Annotation{Name: name(i)})
		s.Warnings = append(s.Warnings, name(i))
	}
	for n := range devices {
		s.Devices = append(s.Devices, hugeDevice(n, name))
	}
	return s
}

func hugeDevice(n int, name func(int) string) Device {
	d := Device{Name: name(n), Short: name(n), HasTime: true, Stats: Stats{Events: 1 << 20, Reserved: 1 << 40}}
	d.History = History{State: "complete", Peak: Point{777, 777, 1 << 40}}
	for _, k := range layerOrder {
		d.Categories = append(d.Categories, k.String())
	}
	for i := range 1 << 20 {
		p := CurvePoint{Event: i, Time: int64(i) * 1e6, Requested: int64(i*7919%1000003) << 20, Reserved: 1 << 40}
		for range layerOrder {
			p.Categories = append(p.Categories, p.Requested/int64(len(layerOrder)))
		}
		d.Curve = append(d.Curve, p)
	}
	for i := range 1000 {
		d.Findings = append(d.Findings, Advice{Frame: Frame{File: name(i), Function: name(i)}, Title: name(i), Why: name(i), Do: name(i), Evidence: name(i), Bytes: 1 << 30})
	}
	root := &Flame{Bytes: 1 << 40, Count: 1 << 20}
	m := Moment{Name: "peak", Title: "At the peak", Total: 1 << 40, Flame: root}
	for i := range 20000 {
		m.Rows = append(m.Rows, Row{Frame: Frame{File: name(i), Function: name(i + 1), Line: int32(i)}, Bytes: 1 << 20, Count: 1, Stack: uint32(i + 1), Parts: []Part{{name(i), 1 << 19, name(i), 1}, {name(i), 1 << 19, name(i), 1}}})
		root.Children = append(root.Children, &Flame{Frame: Frame{File: name(i), Function: name(i), Line: 1}, Bytes: 1 << 20, Count: 1})
	}
	end := m
	end.Name = "end"
	oom := m
	oom.Name = "oom"
	d.Moments = []Moment{m, end, oom}
	for i := range 20000 {
		seg := Segment{Addr: uint64(i) << 30, Bytes: 1 << 30, Pool: name(i % 100), Stream: units.Exact(int64(i % 7))}
		for j := range 8 {
			seg.Blocks = append(seg.Blocks, Block{Size: 1 << 27, Requested: 1 << 27, Stack: uint32(i%3000 + 1), State: BlockState(j % int(numStates)), Category: layerOrder[i%len(layerOrder)].String()})
		}
		d.Segments = append(d.Segments, seg)
	}
	for i := range 1000 {
		d.Marks = append(d.Marks, Mark{Kind: "range", Label: name(i), Event: i, End: i + 10}, Mark{Kind: MarkPhase, Label: name(i), Event: i, End: i + 10})
	}
	return d
}
