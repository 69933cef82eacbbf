package attribution

import (
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snapview/snapview/snapshot"
)

// A reporter is a *testing.T or a *rapid.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkSound checks what holds for every classification, whatever the file.
func checkSound(t reporter, c *Classification) {
	t.Helper()
	if len(c.Labels) != len(c.Timeline.Allocations) {
		t.Errorf("%d labels for %d allocations", len(c.Labels), len(c.Timeline.Allocations))
	}
	for i, l := range c.Labels {
		if l.Evidence == "" || l.Confidence <= 0 || l.Confidence > 1 || int(l.Category) >= NumCategories {
			t.Errorf("allocation %d has label %+v", i, l)
		}
	}
	checkTotals(t, c)
	checkPhases(t, c)
}

func checkTotals(t reporter, c *Classification) {
	t.Helper()
	events := len(c.Timeline.Device.Events)
	for _, e := range []int{-1, events / 3, events / 2, events - 1, c.Timeline.Peak.Event} {
		m := snapshot.Moment{Event: min(e, events-1)}
		if got, want := c.At(m).Sum(), c.Snapshot.Fold(c.Timeline, m, snapshot.ByLine).Total; got != want {
			t.Errorf("after event %d the categories sum to %d, the lines to %d", e, got, want)
		}
	}
	for _, n := range []int{1, 40, 0} {
		curve := c.Timeline.Curve(n)
		points := c.Curve(n)
		if len(points) != len(curve) {
			t.Errorf("%d points, want %d", len(points), len(curve))
		}
		for i := range points {
			if points[i].Event != curve[i].Event || points[i].Totals.Sum() != curve[i].Requested {
				t.Errorf("after event %d the categories sum to %d, want %d", points[i].Event, points[i].Totals.Sum(), curve[i].Requested)
				return
			}
			if k := len(points); (i < 20 || i+20 > k) && points[i].Totals != c.At(snapshot.Moment{Event: points[i].Event}) {
				t.Errorf("after event %d the curve says %v", points[i].Event, points[i].Totals)
			}
		}
	}
}

func checkPhases(t reporter, c *Classification) {
	t.Helper()
	next, highest := 0, int64(-1)
	for _, p := range c.Phases {
		if p.First != next || p.Last < p.First || p.Peak.Event < p.First || p.Peak.Event > p.Last {
			t.Errorf("phase %+v, want it to begin at %d", p, next)
		}
		next = p.Last + 1
		highest = max(highest, p.Peak.Bytes)
	}
	if events := len(c.Timeline.Device.Events); next != events {
		t.Errorf("the phases cover %d of %d events", next, events)
	}
	if peak := c.Timeline.Peak; peak.Event >= 0 && highest != peak.Bytes {
		t.Errorf("highest phase reaches %d, the peak is %d", highest, peak.Bytes)
	}
	for i, s := range c.Steps {
		if s.Number != i+1 || s.Last < s.First {
			t.Errorf("step %d is %+v", i, s)
		}
	}
}

func TestSoundCaptures(t *testing.T) {
	err := filepath.WalkDir(captures, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pickle.zst") {
			return err
		}
		s, err := snapshot.Open(path)
		if err != nil {
			return err
		}
		for _, d := range s.Devices {
			t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) { checkSound(t, Classify(s, s.Timeline(d))) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Frames that rules know, and some that they do not.
var knownFrames = []snapshot.Frame{
	{File: "/t/lib/python3.12/site-packages/torch/optim/adamw.py", Function: "_init_group", Line: 1},
	{File: "/t/lib/python3.12/site-packages/torch/optim/adamw.py", Function: "_multi_tensor_adamw", Line: 2},
	{File: "/t/lib/python3.12/site-packages/torch/optim/optimizer.py", Function: "wrapper", Line: 3},
	{File: "/t/lib/python3.12/site-packages/torch/optim/optimizer.py", Function: "zero_grad", Line: 4},
	{File: "/t/lib/python3.12/site-packages/torch/optim/optimizer.py", Function: "load_state_dict", Line: 4},
	{File: "/t/lib/python3.12/site-packages/torch/nn/modules/module.py", Function: "_call_impl", Line: 5},
	{File: "/t/lib/python3.12/site-packages/torch/nn/modules/module.py", Function: "_apply", Line: 6},
	{File: "/t/lib/python3.12/site-packages/torch/nn/modules/module.py", Function: "convert", Line: 7},
	{File: "/t/lib/python3.12/site-packages/torch/nn/modules/linear.py", Function: "__init__", Line: 8},
	{File: "/t/lib/python3.12/site-packages/torch/nn/init.py", Function: "normal_", Line: 9},
	{File: "/t/lib/python3.12/site-packages/torch/utils/checkpoint.py", Function: "recompute_fn", Line: 10},
	{File: "/t/lib/python3.12/site-packages/torch/_tensor.py", Function: "backward", Line: 11},
	{File: "/t/lib/python3.12/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py", Function: "foreach_reduce", Line: 12},
	{File: "/t/lib/python3.12/site-packages/torch/nn/parallel/distributed.py", Function: "_rebuild_buckets", Line: 13},
	{File: "/t/lib/python3.12/site-packages/torch/serialization.py", Function: "load", Line: 14},
	{File: "/home/me/train.py", Function: "<module>", Line: 15},
	{File: "/home/me/train.py", Function: "__init__", Line: 16},
	{File: "/home/me/train.py", Function: "loop", Line: 17},
	{File: "", Function: "torch::autograd::Engine::thread_main", Line: 0},
	{File: "", Function: "at::cuda::getCUDABlasLtWorkspace", Line: 0},
	{File: "??", Function: "", Line: -5},
}

// drawSnapshot makes a snapshot whose events need not make sense.
func drawSnapshot(t *rapid.T) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Frames: knownFrames, Streams: []uint64{0, 7}, Pools: []snapshot.PoolID{{}, {1, 0}}, Labels: []snapshot.Label{{}, {UserMetadata: "optimizer"}}}
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for range rapid.IntRange(0, 8).Draw(t, "stacks") {
		var frames []snapshot.FrameID
		for range rng.IntN(5) {
			frames = append(frames, snapshot.FrameID(rng.IntN(len(knownFrames))))
		}
		s.Stacks.Add(frames)
	}
	drawn := []int64{0, 4, 512, 1 << 20, 8_519_680, 32 << 20, 11 << 20, 1 << 62}
	d := &snapshot.Device{}
	addresses := 1 + rng.IntN(30)
	for range rapid.IntRange(0, 300).Draw(t, "events") {
		d.Events = append(d.Events, snapshot.Event{
			Addr: uint64(rng.IntN(addresses)) << 25, Size: drawn[rng.IntN(len(drawn))], Time: int64(len(d.Events) * rng.IntN(3)),
			Stack: snapshot.StackID(rng.IntN(s.Stacks.Len())), Label: snapshot.LabelID(rng.IntN(2)), Stream: uint16(rng.IntN(2)), Pool: uint16(rng.IntN(2)),
			Action: []snapshot.Action{snapshot.Alloc, snapshot.Alloc, snapshot.FreeRequested, snapshot.FreeCompleted, snapshot.SegmentAlloc, snapshot.OOM}[rng.IntN(6)],
		})
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "segments") {
		addSegment(d, uint64(i)<<26, rng, drawn, s.Stacks.Len())
	}
	for i, name := range []string{"Optimizer.step#AdamW.step", "Optimizer.zero_grad#AdamW.zero_grad", "forward"} {
		for range rng.IntN(4) {
			s.Annotations = append(s.Annotations, snapshot.Annotation{Name: name, Start: rng.IntN(2) == 0, Device: i - 1, Time: int64(rng.IntN(600))})
		}
	}
	s.Devices = []*snapshot.Device{d}
	return s
}

func addSegment(d *snapshot.Device, addr uint64, rng *rand.Rand, drawn []int64, stacks int) {
	segment := snapshot.Segment{Addr: addr, FirstBlock: int32(len(d.Blocks))}
	for range rng.IntN(6) {
		b := snapshot.Block{Addr: addr + uint64(segment.Total), Requested: drawn[rng.IntN(len(drawn))], Segment: int32(len(d.Segments)), State: snapshot.BlockState(rng.IntN(3))}
		b.Size = (max(b.Requested, 1) + 511) / 512 * 512
		if rng.IntN(3) == 0 {
			b.Stack = snapshot.StackID(rng.IntN(stacks))
		}
		segment.Total = min(segment.Total+b.Size, 1<<61)
		d.Blocks = append(d.Blocks, b)
		segment.NumBlocks++
	}
	d.Segments = append(d.Segments, segment)
}

func TestSoundOnAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		checkSound(t, Classify(s, s.Timeline(s.Devices[0])))
	})
}

func FuzzClassify(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s := drawSnapshot(t)
		checkSound(t, Classify(s, s.Timeline(s.Devices[0])))
	}))
}
