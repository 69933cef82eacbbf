package attribution

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// leakFile reads the first device of a capture.
func leakFile(t *testing.T, name string) *LeakFile {
	t.Helper()
	s, err := snapshot.Open(captures + "/" + name + ".pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	return NewLeakFile(name, Classify(s, s.Timeline(s.Devices[0])))
}

// TestLeaksOfCaptures holds what the recorded programs did.
func TestLeaksOfCaptures(t *testing.T) {
	cases := []struct {
		files   string
		verdict GrowthVerdict
		shape   Shape
		slope   float64 // bytes per round
		line    int32   // of the first suspect
		hint    string
	}{
		{"leak_embeddings/epoch0", Leak, Monotonic, 393216, 63, "outputs_kept"},
		{"leak_embeddings/epoch3", Leak, Monotonic, 393216, 63, "outputs_kept"},
		{"leak_embeddings/epoch0 leak_embeddings/epoch1 leak_embeddings/epoch2 leak_embeddings/epoch3", Leak, Monotonic, 19660800, 63, "outputs_kept"},
		{"leak_embeddings/epoch2 leak_embeddings/epoch3", Leak, Monotonic, 19660800, 63, "outputs_kept"},
		{"noleak_cache/epoch1", CacheGrowth, Staircase, 0, 0, ""},
		{"noleak_cache/epoch0 noleak_cache/epoch1", CacheGrowth, Staircase, 0, 0, ""},
		{"gpt_adamw/9_end", Steady, Flat, 0, 0, ""},
		{"gpt_adamw/0_step gpt_adamw/1_step", Steady, Flat, 0, 0, ""},
		{"gpt_adamw/0_forward gpt_adamw/0_backward gpt_adamw/0_step gpt_adamw/1_forward", Inconclusive, Flat, math.NaN(), 0, ""},
		{"gpt_adamw/0_init", Inconclusive, Flat, 0, 0, ""},
		{"extra_leak_loss/11", Leak, Monotonic, 18373128, 19, "loss_graph_kept"},
		{"extra_leak_loss/3 extra_leak_loss/7 extra_leak_loss/11", Leak, Monotonic, 73492512, 19, "loss_graph_kept"},
		{"extra_leak_periodic/9", Inconclusive, Staircase, 0, 155, ""},
		{"extra_leak_periodic/19", Leak, Staircase, 209715, 155, "outputs_kept"},
		{"extra_leak_periodic/39", Leak, Staircase, 209715, 155, "outputs_kept"},
		{"extra_leak_periodic/9 extra_leak_periodic/19 extra_leak_periodic/39", Leak, Staircase, 3 << 20, 155, "outputs_kept"},
		{"extra_val_no_nograd/9_end", Leak, Monotonic, 133325832, 19, "forward_without_no_grad"},
		{"extra_infer/9_end", Leak, Monotonic, 131104, 136, "outputs_kept"},
		{"extra_gan/2_dstep", Steady, Flat, 0, 0, ""},
		{"extra_ema/9_end", Steady, Flat, 0, 0, ""},
		{"streams/end", Leak, Staircase, 1 << 20, 124, "outputs_kept"},                      // 4 MiB every four iterations
		{"ranks_dp/memory_snapshot-rank5", Leak, Monotonic, math.NaN(), 17, "outputs_kept"}, // a tensor a step
		{"generate/end", Steady, Periodic, 0, 0, ""},
		{"sim_varlen/default", CacheGrowth, Staircase, 0, 0, ""},
		{"sim_kvcache/default", CacheGrowth, Staircase, 0, 0, ""},
		{"frag/after_oom", Inconclusive, Flat, 0, 0, ""},
		{"ring/end", Steady, Flat, 0, 0, ""},
		{"stateonly/end", Inconclusive, Flat, 0, 0, ""},
		{"nohistory/end", Inconclusive, Flat, 0, 0, ""},
		{"gpt_adamw/9_end bert/2_step", Inconclusive, Staircase, math.NaN(), 0, ""},
	}
	for _, c := range cases {
		t.Run(c.files, func(t *testing.T) {
			var files []*LeakFile
			for name := range strings.FieldsSeq(c.files) {
				files = append(files, leakFile(t, name))
			}
			r := LeaksAcross(files)
			g := &r.Growth
			if g.Verdict != c.verdict || g.Shape != c.shape {
				t.Errorf("%v, %v: %s; want %v, %v", g.Verdict, g.Shape, g.Why, c.verdict, c.shape)
			}
			if !math.IsNaN(c.slope) && math.Abs(g.BytesPerStep-c.slope) > 0.02*c.slope {
				t.Errorf("%.0f bytes a %s, want %.0f", g.BytesPerStep, g.Unit, c.slope)
			}
			line, hint := int32(0), ""
			if len(r.Suspects) > 0 {
				line = r.Suspects[0].Line
			}
			if len(r.Hints) > 0 {
				hint = r.Hints[0].ID
			}
			if line != c.line || hint != c.hint {
				t.Errorf("line %d, hint %q; want %d, %q", line, hint, c.line, c.hint)
			}
		})
	}
}

// TestLeakOfEmbeddings holds the figures of leak_embeddings, which keeps 50 × 2
// embeddings of 64 × 768 floats an epoch: nothing else is suspected of even a
// twentieth of that, and the four files and the last alone agree.
func TestLeakOfEmbeddings(t *testing.T) {
	const epoch = 50 * 2 * 64 * 768 * 4
	var files []*LeakFile
	for _, name := range []string{"epoch0", "epoch1", "epoch2", "epoch3"} {
		files = append(files, leakFile(t, "leak_embeddings/"+name))
	}
	all, alone := LeaksAcross(files), files[3].Report
	if all.Growth.BytesPerStep != epoch || all.StepsPerSnapshot != 50 || all.Growth.Low != epoch || all.Growth.High != epoch {
		t.Errorf("%.0f a snapshot of %d steps, want %d of 50", all.Growth.BytesPerStep, all.StepsPerSnapshot, epoch)
	}
	if e := alone.Epoch; e == nil || e.Steps != 50 || e.Bytes != epoch || alone.Growth.BytesPerStep*50 != epoch {
		t.Errorf("alone: %+v, %.0f a step; want epochs of 50 steps with %d", e, alone.Growth.BytesPerStep, epoch)
	}
	for _, r := range []LeakReport{all, alone} {
		for i, s := range r.Suspects {
			if i > 0 && s.BytesPerStep > 0.05*r.Growth.BytesPerStep {
				t.Errorf("%s:%d is suspected of %.0f", s.File, s.Line, s.BytesPerStep)
			}
		}
		s := r.Suspects[0]
		if s.Live != 4*epoch+4 || s.Count != 401 || !strings.HasSuffix(s.File, "example/scenarios.py") || s.Function != "leak_embeddings" {
			t.Errorf("suspect %s:%d %s holds %d in %d", s.File, s.Line, s.Function, s.Live, s.Count)
		}
	}
	if s := alone.Suspects[0]; s.AtATime != 2 || s.Every != 1 || len(s.Frames) == 0 || s.Frames[0].Line != 63 {
		t.Errorf("%v allocations every %v steps at %v, want 2 every step", s.AtATime, s.Every, s.Frames)
	}
	for i, f := range all.Files[1:] {
		if f.Steps != 50 || f.Kept < epoch || f.Requested-all.Files[i].Requested != epoch {
			t.Errorf("%+v", f)
		}
	}
}

// TestNoLeakWithoutOne: no capture is called a leak, but for those of programs
// that keep something.
func TestNoLeakWithoutOne(t *testing.T) {
	leaking := []string{"leak_embeddings", "extra_leak_loss", "extra_leak_periodic", "extra_val_no_nograd", "extra_infer",
		"streams"} // keeps 4 MiB every four iterations
	files, err := filepath.Glob(captures + "/*/*.pickle.zst")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d captures: %v", len(files), err)
	}
	for _, name := range files {
		if slices.Contains(leaking, filepath.Base(filepath.Dir(name))) || strings.Contains(name, "ranks_dp/memory_snapshot-rank5.") {
			continue
		}
		s, err := snapshot.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range s.Devices {
			if r := Leaks(Classify(s, s.Timeline(d))); r.Growth.Verdict == Leak {
				t.Errorf("%s: %s; %+v", name, r.Growth.Why, r.Rounds)
			}
		}
	}
}

// TestLeaksInRings cuts off the beginnings of captures, as a ring of events
// does: no cut makes a leak, or changes the slope of one.
func TestLeaksInRings(t *testing.T) {
	slopes := map[string]float64{
		"leak_embeddings/epoch1": 393216, "extra_leak_loss/11": 18373128, "extra_leak_periodic/39": 209715, "extra_val_no_nograd/9_end": 133325832, "extra_infer/9_end": 131104,
		"noleak_cache/epoch1": 0, "sim_varlen/default": 0, "sim_kvcache/default": 0, "generate/end": 0, "gpt_adamw/9_end": 0,
	}
	const cuts = 12
	for name, slope := range slopes {
		s, err := snapshot.Open(captures + "/" + name + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		d := s.Devices[0]
		all, leaks := d.Events, 0
		for i := range cuts {
			d.Events = all[len(all)*i/cuts+7*i%13:]
			g := Leaks(Classify(s, s.Timeline(d))).Growth
			if g.Verdict != Leak {
				continue
			}
			leaks++
			if math.Abs(g.BytesPerStep-slope) > 0.02*slope {
				t.Errorf("%s without its first %d events: %s", name, len(all)-len(d.Events), g.Why)
			}
		}
		if slope > 0 && leaks < cuts/3 {
			t.Errorf("%s: a leak is seen in %d of %d cuts", name, leaks, cuts)
		}
	}
}

// A history that contradicts the segments shows no growth of the cache.
func TestLeaksOfContradictoryReserved(t *testing.T) {
	s, err := snapshot.Open(captures + "/noleak_cache/epoch1.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	d := s.Devices[0]
	var events []snapshot.Event
	for _, e := range d.Events {
		events = append(events, e)
		if e.Action == snapshot.SegmentAlloc {
			events = append(events, e, e)
		}
	}
	if r := Leaks(Classify(s, s.Timeline(d))); r.Growth.Verdict != CacheGrowth {
		t.Fatalf("before: %v", r.Growth.Verdict)
	}
	d.Events = events
	r := Leaks(Classify(s, s.Timeline(d)))
	if r.Growth.Reserved.Points > 0 || !strings.Contains(strings.Join(r.Notes, " "), "do not count in the verdict") {
		t.Errorf("%v: %s; %q", r.Growth.Verdict, r.Growth.Why, r.Notes)
	}
}
