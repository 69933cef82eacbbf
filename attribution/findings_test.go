package attribution

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// findingsOf classifies the first device with data of a capture.
func findingsOf(t *testing.T, name string) (*Classification, []Finding) {
	t.Helper()
	s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Devices {
		if len(d.Segments) > 0 || len(d.Events) > 0 {
			c := Classify(s, s.Timeline(d))
			return c, Findings(c)
		}
	}
	t.Fatalf("%s: no device with data", name)
	return nil, nil
}

// Every rule finds what a real capture has, and is silent about one that has
// it not.
func TestFindings(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		id, has  string
		line     int32 // of the finding; 0 for none
		from, to int64 // bytes
		lacks    string
	}{
		// Six layers of softmax results of 16 MiB; the other model calls SDPA.
		{"attention_scores", "gpt_adamw/1_step", 19, 96 * mib, 96 * mib, "gpt_sdpa_fused/1_step"},
		// Under autocast softmax results are float32, and cast for the product.
		{"attention_scores", "gpt_amp/2_step", 19, 144 * mib, 144 * mib, "bert/2_step"},
		{"logits", "gpt_adamw/1_step", 59, 192 * mib, 192 * mib, "extra_gan/2_dstep"},
		{"logits", "gpt_adamw_cpp/0_step", 59, 128 * mib, 192 * mib, "streams/end"},
		{"autocast_weights", "gpt_amp/2_step", 32, 36 * mib, 36 * mib, "gpt_adamw/1_step"},
		{"autocast_weights", "bert/2_step", 182, 100 * mib, 130 * mib, "gpt_adamw_cpp/0_step"},
		{"no_checkpointing", "gpt_adamw/1_step", 32, 500 * mib, 600 * mib, "gpt_ckpt/1_forward"},
		{"foreach_temporaries", "extra_devctx/0_step", 177, 25 * mib, 26 * mib, "extra_foreach_off/0_step"},
		{"kept_gradients", "extra_zero_keep/2_step", 0, 39 * mib, 40 * mib, "gpt_adamw/9_end"},
		{"kept_gradients", "extra_gan/2_dstep", 0, 16 * mib, 17 * mib, "extra_accum/2_backward"},
		{"retained_graph", "extra_leak_loss/7", 19, 130 * mib, 150 * mib, "extra_gan/2_dstep"},
		{"retained_graph", "extra_leak_loss/7", 19, 130 * mib, 150 * mib, "extra_accum/2_backward"},
		{"validation_graph", "extra_val_no_nograd/9_end", 19, 500 * mib, 550 * mib, "gpt_adamw/1_forward"},
		{"validation_graph", "extra_val_no_nograd/9_end", 19, 500 * mib, 550 * mib, "extra_leak_loss/7"},
		{"copied_parameters", "extra_ema/9_end", 167, 25 * mib, 26 * mib, "gpt_adamw/9_end"},
		{"workspaces", "gpt_adamw/1_step", 13, 47 * mib, 48 * mib, "frag/after_oom"},
		{"private_pools", "graphs/end", 139, 14 * mib, 15 * mib, "gpt_adamw/1_step"},
		{"pending_frees", "streams/busy", 122, 4 * mib, 4 * mib, "gpt_adamw/1_step"},
		{"rounding", "roundup/1_step", 46, 8 * mib, 9 * mib, "gpt_adamw/1_step"},
		{"split_gaps", "frag/after_oom", 109, 90 * mib, 90 * mib, "expandable_frag/after_oom"},
	} {
		t.Run(c.id+" of "+c.has, func(t *testing.T) {
			_, all := findingsOf(t, c.has)
			i := slices.IndexFunc(all, func(f Finding) bool { return f.ID == c.id })
			if i < 0 {
				t.Fatalf("not found; there are %s", ids(all))
			}
			f := all[i]
			if f.Bytes < c.from || f.Bytes > c.to {
				t.Errorf("%d bytes, want %d to %d", f.Bytes, c.from, c.to)
			}
			if f.Line != c.line {
				t.Errorf("line %s:%d %s, want %d", f.File, f.Line, f.Function, c.line)
			}
			if _, other := findingsOf(t, c.lacks); slices.ContainsFunc(other, func(f Finding) bool { return f.ID == c.id }) {
				t.Errorf("%s does not have it, but there are %s", c.lacks, ids(other))
			}
		})
	}
}

// Tensor.softmax leaves no frame: the chain over the mask tells, 16 × 3 MiB.
// As the whole graph is kept for nothing, only that is a finding.
func TestFindingsExplainedByAGraph(t *testing.T) {
	c, all := findingsOf(t, "extra_val_no_nograd/9_end")
	if f := attentionScores(newLook(c)); len(f) != 1 || f[0].Bytes != 48<<20 || f[0].Line != 13 {
		t.Errorf("attention is found as %+v", f)
	}
	if slices.ContainsFunc(all, func(f Finding) bool { return f.ID == "attention_scores" || f.ID == "logits" }) {
		t.Errorf("parts of a kept graph are findings of their own: %s", ids(all))
	}
}

// Findings about the same bytes say so.
func TestFindingsTellOverlaps(t *testing.T) {
	_, all := findingsOf(t, "gpt_adamw/1_step")
	i := slices.IndexFunc(all, func(f Finding) bool { return f.ID == "attention_scores" })
	if i < 1 || !strings.Contains(all[i].Evidence, "of \""+all[0].Title+"\".") {
		t.Errorf("attention scores are activations, but the findings are %+v", all)
	}
}

// A size alone does not make a workspace worth a headline.
func TestWorkspacesWithoutHistory(t *testing.T) {
	_, all := findingsOf(t, "nohistory/end")
	for _, f := range all {
		if f.ID == "workspaces" && (!f.Info || strings.Contains(f.Evidence, "not freed")) {
			t.Errorf("nothing shows how long it lived: %+v", f)
		}
	}
}

func ids(all []Finding) string {
	var names []string
	for _, f := range all {
		names = append(names, f.ID)
	}
	return strings.Join(names, ", ")
}

// A finding can never be about more than there is, and says all it must.
func TestFindingsAreBounded(t *testing.T) {
	for _, name := range []string{"gpt_adamw/1_step", "gpt_amp/2_step", "bert/2_step", "extra_leak_loss/7", "extra_val_no_nograd/9_end",
		"extra_late/9_end", "extra_ring/9_end", "ring/end", "nohistory/end", "stateonly/end", "graphs/end", "streams/busy", "sim_kvcache/default_lim1"} {
		c, all := findingsOf(t, name)
		stats := c.Timeline.Device.Stats()
		for i, f := range all {
			whole := max(c.Timeline.Peak.Bytes, stats.Requested)
			if f.Reserved {
				whole = stats.Reserved
			}
			if f.Bytes <= 0 || f.Bytes > whole {
				t.Errorf("%s: %s is about %d of %d bytes", name, f.ID, f.Bytes, whole)
			}
			if f.Title == "" || f.Why == "" || f.Do == "" || f.Evidence == "" || f.Function == "" || f.Confidence <= 0 || f.Confidence > 1 {
				t.Errorf("%s: something is missing in %+v", name, f)
			}
			if i > 0 && !f.Info && f.ID != "workspaces" && all[i-1].Bytes < f.Bytes {
				t.Errorf("%s: %s comes before a larger %s", name, all[i-1].ID, f.ID)
			}
		}
	}
}

// Clipping needs little in today's PyTorch, so that no capture has it at its
// peak; older versions made a copy of every gradient.
func TestClipTemporaries(t *testing.T) {
	clip := snapshot.Frame{File: "/opt/venv/lib/python3.12/site-packages/torch/nn/utils/clip_grad.py", Function: "clip_grad_norm_", Line: 55}
	train := snapshot.Frame{File: "/home/ml/train.py", Function: "main", Line: 7}
	c := byHand(t, []snapshot.Frame{clip, train}, []Label{{Category: Temporary, Confidence: .9}})
	if all := Findings(c); len(all) != 1 || all[0].ID != "clip_temporaries" || all[0].Line != 7 || all[0].Bytes != 1<<20 {
		t.Errorf("the findings are %+v", all)
	}
	c.Labels[0].Category = Activation
	if all := Findings(c); len(all) != 0 {
		t.Errorf("kept memory is not scratch: %+v", all)
	}
}

// byHand classifies one allocation of 1 MiB that is alive.
func byHand(t *testing.T, frames []snapshot.Frame, labels []Label) *Classification {
	t.Helper()
	s := &snapshot.Snapshot{Frames: frames}
	id := s.Stacks.Add([]snapshot.FrameID{0, 1})
	d := &snapshot.Device{
		Segments: []snapshot.Segment{{Addr: 1 << 30, Total: 1 << 20, NumBlocks: 1}},
		Blocks:   []snapshot.Block{{Addr: 1 << 30, Size: 1 << 20, Requested: 1 << 20, Stack: id, State: snapshot.Allocated}},
		Events: []snapshot.Event{
			{Action: snapshot.SegmentAlloc, Addr: 1 << 30, Size: 1 << 20, Stack: id},
			{Action: snapshot.Alloc, Addr: 1 << 30, Size: 1 << 20, Stack: id},
		},
	}
	s.Devices = []*snapshot.Device{d}
	return &Classification{Snapshot: s, Timeline: s.Timeline(d), Labels: labels}
}

// Frames tell what they are by PyTorch's own file and function names only.
func TestFrameTraits(t *testing.T) {
	const torch = "/opt/venv/lib/python3.12/site-packages/torch/"
	for _, c := range []struct {
		file, function string
		want           trait
	}{
		{torch + "nn/functional.py", "softmax", traitSoftmax},
		{torch + "nn/functional.py", "log_softmax", traitLoss},
		{torch + "nn/functional.py", "relu", 0},
		{"/home/ml/nn/functional.py", "softmax", 0},
		{`C:\venv\Lib\site-packages\torch\utils\checkpoint.py`, "checkpoint", traitCheckpoint},
		{torch + "optim/adam.py", "_multi_tensor_adam", traitForeach},
		{torch + "optim/adam.py", "_single_tensor_adam", 0},
		{"/usr/lib/python3.12/copy.py", "deepcopy", traitCopy},
		{"/home/ml/copy.py", "deepcopy", 0},
		{"", "at::_ops::_softmax::call(at::Tensor const&, long, bool)", traitSoftmax},
		{"", "at::_ops::_log_softmax::call(at::Tensor const&, long, bool)", traitLoss},
		{"", "at::autocast::cached_cast(c10::ScalarType, at::Tensor const&)", traitAutocast},
		{"", "at::empty", 0},
	} {
		if got := frameTraits(&snapshot.Frame{File: c.file, Function: c.function}); got != c.want {
			t.Errorf("%s %s: traits %b, want %b", c.file, c.function, got, c.want)
		}
	}
}

// Rows split by category close, whatever they are folded by.
func TestPartsClose(t *testing.T) {
	for _, name := range []string{"gpt_adamw/1_step", "gpt_adamw_cpp/0_step", "extra_late/9_end", "nohistory/end", "stateonly/end", "ring/end"} {
		c, _ := findingsOf(t, name)
		for _, at := range []string{"peak", "end"} {
			m, err := c.Timeline.Moment(at)
			if err != nil {
				continue
			}
			lines := c.Snapshot.Fold(c.Timeline, m, snapshot.ByLine)
			for i, parts := range c.Parts(lines) {
				var sum int64
				count := 0
				for _, p := range parts {
					sum += p.Bytes
					count += p.Count
				}
				if r := lines.Rows[i]; sum != r.Bytes || count != r.Count {
					t.Errorf("%s at %s: %s:%d %s holds %d bytes in %d, its parts %d in %d", name, at, r.File, r.Line, r.Function, r.Bytes, r.Count, sum, count)
				}
			}
			totals := c.Along([]int{m.Event})[0]
			if totals != c.At(m) {
				t.Errorf("%s at %s: along the history %v, at the moment %v", name, at, totals, c.At(m))
			}
			for _, table := range []snapshot.Table{c.FoldCategories(m), FoldModules(c.Snapshot, c.Timeline, m)} {
				var sum int64
				for _, r := range table.Rows {
					sum += r.Bytes
				}
				if sum != lines.Total || table.Total != lines.Total {
					t.Errorf("%s at %s: rows come to %d, their total says %d, and lines come to %d", name, at, sum, table.Total, lines.Total)
				}
			}
		}
	}
}

// What is said of rounding is the cause that applies.
func TestRoundingCause(t *testing.T) {
	for _, c := range []struct {
		name            string
		size, requested int64
		settings        snapshot.Settings
		do              string
	}{
		{"small tensors", 1024, 600, snapshot.Settings{}, "Batch many small"},
		{"divisions", 16 << 20, 12 << 20, snapshot.Settings{RoundupPower2Divisions: []snapshot.RoundupDivision{{MiB: 1, Divisions: 2}}}, "Choose more divisions"},
		{"unsplit", 20 << 20, 19 << 20, snapshot.Settings{RoundupPower2Divisions: []snapshot.RoundupDivision{{MiB: 1}}}, "Set PYTORCH_CUDA_ALLOC_CONF=expandable"},
		{"unsplit", 20 << 20, 19 << 20, snapshot.Settings{ExpandableSegments: true}, "Batch tensors of 1"},
	} {
		d := &snapshot.Device{Blocks: []snapshot.Block{{Size: c.size, Requested: c.requested, State: snapshot.Allocated}}}
		l := &look{Classification: &Classification{Snapshot: &snapshot.Snapshot{Settings: c.settings}, Timeline: &snapshot.Timeline{Device: d}}}
		if _, do := l.roundingCause(); !strings.HasPrefix(do, c.do) {
			t.Errorf("%s: the advice is %q, want %q", c.name, do, c.do)
		}
	}
}

// Scratch that only the first backward makes is told where convolutions run.
func TestOneOffScratch(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := newScene()
		conv := frame(library+"nn/modules/conv.py", "_conv_forward", 543)
		s.model()
		for _, n := range []string{"1", "2", "3"} {
			s.alloc("out"+n, saved, conv, moduleRun, main)
			s.alloc("seed"+n, 4, backCall, main)
			if n == "1" || again {
				s.alloc("search"+n, 16<<20)
				s.free("search" + n)
			}
			s.alloc("grad"+n, weight)
			s.free("out" + n)
			s.free("seed"+n, main)
			s.alloc("foreach"+n, weight, multi, stepWrap, main)
			s.free("foreach"+n, multi, stepWrap, main)
			s.free("grad"+n, zeroGrad, main)
		}
		all := Findings(s.finish())
		if got := slices.ContainsFunc(all, func(f Finding) bool { return f.ID == "one_off_scratch" && f.Bytes == 16<<20 }); got == again {
			t.Errorf("made again: %v, but the findings are %+v", again, all)
		}
	}
}

// Where the file breaks off within a first step, what is alive then may be
// scratch whose free was not read.
func TestStepCutOff(t *testing.T) {
	for _, partial := range []error{nil, errors.New("truncated")} {
		s := newScene()
		s.Partial = partial
		s.model()
		s.alloc("saved", saved, linear, moduleRun, main)
		s.alloc("seed", 4, backCall, main)
		s.alloc("grad", weight)
		s.free("saved")
		s.free("seed", main)
		s.alloc("cut", weight, frame(library+"optim/adamw.py", "update", 1), stepWrap, main)
		want := OptimizerState
		if partial != nil {
			want = Unknown
		}
		s.want(t, s.finish(), "cut", want)
	}
}
