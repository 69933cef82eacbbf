package viewer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// handmade is a small snapshot with a history: two allocations, the second of
// which runs out of memory at first.
func handmade() *snapshot.Snapshot {
	const mib = 1 << 20
	s := &snapshot.Snapshot{
		Frames: []snapshot.Frame{
			{File: "/home/ml/train.py", Function: "main", Line: 3},
			{File: "/opt/venv/lib/python3.12/site-packages/torch/nn/module.py", Function: "_call_impl", Line: 9},
			{File: "??", Function: "at::empty"},
		},
		Streams: []uint64{0, 0x55}, Pools: []snapshot.PoolID{{}, {0, 1}}, Labels: []snapshot.Label{{}, {UserMetadata: "epoch 2"}},
		Source:   snapshot.Source{Name: "hand.pickle", Format: "pickle protocol 4", Compression: []string{"zstd"}, Bytes: 99},
		Settings: snapshot.Settings{Present: true, Conf: "x:1", All: []snapshot.KeyValue{{Key: "k", Value: "v"}}},
		Annotations: []snapshot.Annotation{
			{Name: "step", Start: true, Device: 0, Time: 1_000_100}, {Name: "step", Start: true, Device: 0, Time: 1_000_150},
			{Name: "step", Device: 0, Time: 1_000_200}, {Name: "step", Device: 0, Time: 1_000_400},
		},
	}
	stack := s.Stacks.Add([]snapshot.FrameID{2, 1, 0})
	s.Devices = []*snapshot.Device{{
		Segments: []snapshot.Segment{
			{Addr: 0x1000, Total: 20 * mib, FirstBlock: 0, NumBlocks: 2},
			{Addr: 0x9000000, Total: 4 * mib, FirstBlock: 2, NumBlocks: 1, Expandable: true, Pool: 1, Stream: 1},
		},
		Blocks: []snapshot.Block{
			{Addr: 0x1000, Size: 8 * mib, Requested: 8 * mib, Stack: stack, State: snapshot.Allocated},
			{Addr: 0x1000 + 8*mib, Size: 12 * mib, Segment: 0},
			{Addr: 0x9000000, Size: 4 * mib, Segment: 1},
		},
		Events: []snapshot.Event{
			{Action: snapshot.SegmentAlloc, Addr: 0x1000, Size: 20 * mib, Time: 1_000_000},
			{Action: snapshot.Alloc, Addr: 0x1000, Size: 8 * mib, Stack: stack, Time: 1_000_100},
			{Action: snapshot.Alloc, Addr: 0x1000 + 8*mib, Size: 12 * mib, Stack: stack, Time: 1_000_200},
			{Action: snapshot.AnnotateMark, Label: 1, Time: 1_000_250},
			{Action: snapshot.OOM, Addr: mib, Size: 30 * mib, Time: 1_000_300},
			{Action: snapshot.FreeRequested, Addr: 0x1000 + 8*mib, Size: 12 * mib, Time: 1_000_400},
			{Action: snapshot.FreeCompleted, Addr: 0x1000 + 8*mib, Size: 12 * mib, Time: 1_000_400},
			{Action: snapshot.SegmentMap, Addr: 0x9000000, Size: 4 * mib, Pool: 1, Stream: 1, Time: 1_000_500},
		},
	}}
	return s
}

func TestNewSnapshot(t *testing.T) {
	const mib = 1 << 20
	in := NewSnapshot(handmade(), Options{Version: "v1"})
	if in.Name != "hand.pickle" || in.Format != "pickle protocol 4, zstd" || in.Conf != "x:1" || len(in.Settings) != 1 {
		t.Errorf("file facts are wrong: %+v", in)
	}
	d := in.Devices[0]
	if d.History.Peak != (Point{2, 200, 20 * mib}) || d.History.End != 8*mib {
		t.Errorf("peak %+v, end %d", d.History.Peak, d.History.End)
	}
	var states []BlockState
	for _, s := range d.Segments {
		for _, b := range s.Blocks {
			states = append(states, b.State)
		}
	}
	if !slices.Equal(states, []BlockState{Allocated, InactiveSplit, ExpandableFree}) {
		t.Errorf("block states are %v", states)
	}
	if s := d.Segments[1]; s.Pool != "(0, 1)" || s.Stream != "0x55" || !s.Expandable {
		t.Errorf("the private segment is %+v", s)
	}
	want := []Mark{
		{Kind: "oom", Label: "Out of memory at event 4: 30.0 MiB were asked for while the device had 1.00 MiB free", Event: 4, Time: 300},
		{Kind: MarkAnnotate, Label: "epoch 2", Event: 3, Time: 250},
		{Kind: "range", Label: "step", Event: 1, End: 5, Time: 100, Till: 400},
	}
	if !slices.Equal(d.Marks, want) {
		t.Errorf("marks are %+v", d.Marks)
	}
	if len(in.Annotations) != 2 || in.Annotations[0].End != 400 || in.Annotations[1].End != 200 {
		t.Errorf("annotations are %+v", in.Annotations)
	}
	if len(d.Moments) != 3 || d.Moments[0].Total != 20*mib || d.Moments[0].Rows[0].File != "/home/ml/train.py" || d.Moments[0].Rows[0].Kind != UserFrame {
		t.Errorf("moments are %+v", d.Moments)
	}
	st := in.Stacks.Stack(d.Moments[0].Rows[0].Stack)
	if len(st) != 3 || st[0] != (Frame{Function: "at::empty", Kind: NativeFrame}) || st[1].Kind != LibraryFrame || st[2].Kind != UserFrame {
		t.Errorf("the stack is %+v", st)
	}
	if !strings.HasPrefix(d.Verdict.Text, "Out of memory at event 4") || d.Verdict.Tone != "bad" {
		t.Errorf("the verdict is %+v", d.Verdict)
	}
	if page := render(t, in); !strings.Contains(page, "20.0 MiB") {
		t.Error("the page lacks the peak")
	}
}

func TestNewSnapshotKeepsChosenDevices(t *testing.T) {
	s := handmade()
	second := *s.Devices[0]
	second.Index = 1
	s.Devices = append(s.Devices, &second)
	s.Host = &snapshot.Device{}
	if in := NewSnapshot(s, Options{}); len(in.Devices) != 3 || in.Devices[2].Name != "Pinned host memory" {
		t.Errorf("all devices and the host should be shown, got %d", len(in.Devices))
	}
	if in := NewSnapshot(s, Options{Keep: func(i int) bool { return i == 1 }}); len(in.Devices) != 1 || in.Devices[0].Name != "Device 1" {
		t.Errorf("only device 1 should be shown, got %d", len(in.Devices))
	}
}

func TestPartialSnapshotNeverLooksComplete(t *testing.T) {
	s := handmade()
	s.Partial = errors.New("the file ends at byte 77")
	page := render(t, NewSnapshot(s, Options{}))
	if !strings.Contains(page, `<p class="alert" role="note"><b>Incomplete.</b>`) || !strings.Contains(page, "ends at byte 77") {
		t.Error("a partial snapshot must say so at the top")
	}
	if strings.Contains(page, "The history is complete") {
		t.Error("a partial snapshot claims a complete history")
	}
}

func TestVerdictAndNotesByHistory(t *testing.T) {
	for state, want := range map[string]string{
		"none":       "No history was recorded",
		"state-only": "Only the state was recorded",
		"truncated":  "The history is truncated",
		"complete":   "The history is complete",
	} {
		d := fakeDevice()
		d.History.State = state
		html, _ := parts(t, render(t, Snapshot{Devices: []Device{d}}))
		if !strings.Contains(html, want) {
			t.Errorf("history %s: the page lacks %q", state, want)
		}
		known := state == "complete" || state == "truncated"
		if strings.Contains(html, "<svg") != known || strings.Contains(html, "There is no curve") == known {
			t.Errorf("history %s: the curve is there when it should not be, or the reverse", state)
		}
		if v := summarize(&d); !known && !strings.Contains(v.Text, "the peak is not known") {
			t.Errorf("history %s: the verdict is %q", state, v.Text)
		}
	}
}
