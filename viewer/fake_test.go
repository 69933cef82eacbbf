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
	d.Verdict = summarize(&d)
	return d
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
	for i := range 1 << 20 {
		d.Curve = append(d.Curve, CurvePoint{i, int64(i) * 1e6, int64(i*7919%1000003) << 20, 1 << 40})
	}
	root := &Flame{Bytes: 1 << 40, Count: 1 << 20}
	m := Moment{Name: "peak", Title: "At the peak", Total: 1 << 40, Flame: root}
	for i := range 20000 {
		m.Rows = append(m.Rows, Row{Frame: Frame{File: name(i), Function: name(i + 1), Line: int32(i)}, Bytes: 1 << 20, Count: 1, Stack: uint32(i + 1)})
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
			seg.Blocks = append(seg.Blocks, Block{Size: 1 << 27, Requested: 1 << 27, Stack: uint32(i%3000 + 1), State: BlockState(j % int(numStates))})
		}
		d.Segments = append(d.Segments, seg)
	}
	for i := range 1000 {
		d.Marks = append(d.Marks, Mark{Kind: "range", Label: name(i), Event: i, End: i + 10})
	}
	return d
}
