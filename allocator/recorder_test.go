package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snapview/snapview/snapshot"
)

// A recorder drives a model and writes down what PyTorch would have recorded.
type recorder struct {
	m      *Model
	device *snapshot.Device
	live   []int32
	conf   snapshot.Settings
	stacks snapshot.Stacks

	request, release snapshot.StackID // of malloc; of free and empty
}

func newRecorder(set Settings) *recorder {
	r := &recorder{m: NewModel(set, Limits{}), device: &snapshot.Device{},
		conf: snapshot.Settings{Present: true, Conf: set.String(), MaxSplitSize: set.MaxSplitSize}}
	r.request, r.release = r.stacks.Add([]snapshot.FrameID{0}), r.stacks.Add([]snapshot.FrameID{1})
	return r
}

func (r *recorder) event(action snapshot.Action, addr uint64, size int64, stack snapshot.StackID) {
	r.device.Events = append(r.device.Events, snapshot.Event{Action: action, Addr: addr, Size: size, Stack: stack})
}

func (r *recorder) malloc(size int64) {
	calls := r.m.DeviceAllocs
	b := r.m.Malloc(r.m.Lane(0, 0), size)
	if r.m.DeviceAllocs > calls {
		s := &r.m.segments[r.m.blocks[b].segment]
		r.event(snapshot.SegmentAlloc, s.base, s.size, r.request)
	}
	r.event(snapshot.Alloc, r.m.blocks[b].addr, size, r.request)
	r.live = append(r.live, b)
}

func (r *recorder) free(i int) {
	b := r.live[i]
	r.event(snapshot.FreeRequested, r.m.blocks[b].addr, r.m.blocks[b].requested, r.release)
	r.event(snapshot.FreeCompleted, r.m.blocks[b].addr, r.m.blocks[b].requested, r.release)
	r.m.FreeCompleted(b)
	r.live = slices.Delete(r.live, i, i+1)
}

func (r *recorder) empty() {
	sizes := map[uint64]int64{}
	for i := range r.m.segments {
		sizes[r.m.segments[i].base] = r.m.segments[i].size
	}
	r.m.EmptyCache()
	for i := range r.m.segments {
		delete(sizes, r.m.segments[i].base)
	}
	for base, size := range sizes {
		if base != 0 {
			r.event(snapshot.SegmentFree, base, size, r.release)
		}
	}
}

// snapshot dumps the state.
func (r *recorder) snapshot() (*snapshot.Snapshot, *snapshot.Timeline) {
	d := r.device
	for i := range r.m.segments {
		seg := &r.m.segments[i]
		if seg.head == 0 {
			continue
		}
		out := snapshot.Segment{Addr: seg.base, Total: seg.size, FirstBlock: int32(len(d.Blocks)), Small: r.m.arenas[seg.arena].small}
		for b := seg.head; b != 0; b = r.m.blocks[b].next {
			k := &r.m.blocks[b]
			d.Blocks = append(d.Blocks, snapshot.Block{Addr: k.addr, Size: k.size, Requested: k.requested,
				State: stateOf(k.state), Segment: int32(len(d.Segments))})
			out.NumBlocks++
		}
		d.Segments = append(d.Segments, out)
	}
	s := &snapshot.Snapshot{Devices: []*snapshot.Device{d}, Settings: r.conf,
		Frames: make([]snapshot.Frame, 2), Stacks: r.stacks, Streams: make([]uint64, 1), Pools: make([]snapshot.PoolID, 1), Labels: make([]snapshot.Label, 1)}
	return s, s.Timeline(d)
}

// TestRecorded replays made-up runs: the replay is exact, knows the peaks, and
// under the recorded settings what-if reaches the same ones.
func TestRecorded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, err := ParseConf(rapid.SampledFrom([]string{"", "max_split_size_mb:24", "max_non_split_rounding_mb:40"}).Draw(t, "conf"))
		if err != nil {
			t.Fatal(err)
		}
		rec := newRecorder(set)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			switch kind := rapid.IntRange(0, 20).Draw(t, "kind"); {
			case kind == 0:
				rec.empty()
			case kind < 10 && len(rec.live) > 0:
				rec.free(rapid.IntRange(0, len(rec.live)-1).Draw(t, "i"))
			default:
				rec.malloc(rapid.OneOf(rapid.Int64Range(1, 3*mib), rapid.Int64Range(1, 60*mib)).Draw(t, "size"))
			}
		}
		r := Exact(rec.snapshot())
		if !r.Check.Exact || r.Stats != rec.m.Stats {
			t.Fatalf("%+v\nreplayed %+v\nrecorded %+v", r.Check, r.Stats, rec.m.Stats)
		}
		again := r.WhatIf(set, Options{})
		if again.PeakReserved != rec.m.PeakReserved || again.PeakAllocated != rec.m.PeakAllocated {
			t.Fatalf("what-if under the recorded settings: %+v, recorded %+v", again.Stats, rec.m.Stats)
		}
	})
}
