package attribution

import (
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// keepsLate keeps something every step from step 20 on.
func keepsLate(r *program, i int) {
	r.train(i, 1000, false)
	if i >= 20 {
		r.keepOne(i, 5000)
	}
	if i%10 == 9 {
		r.event(snapshot.SnapshotMark, 0, 0, nil)
	}
}

// TestLeakThatStartsLate: what is said of an epoch and of a training step is what
// the slope says, although snapshots lie before the start.
func TestLeakThatStartsLate(t *testing.T) {
	var files []*LeakFile
	for _, n := range []int{10, 20, 30, 40} {
		files = append(files, dump("a", n, keepsLate, nil))
	}
	r := LeaksAcross(files)
	if r.BytesPerStep != 5000 || r.StepsPerSnapshot != 10 || !strings.Contains(r.Growth.Why, "over 4 snapshots") {
		t.Errorf("%.0f bytes a training step, %d steps a snapshot: %s", r.BytesPerStep, r.StepsPerSnapshot, r.Growth.Why)
	}
	c := CompareLeaks(&r, &files[3].Report)
	if len(c.Lines) != 1 || c.Lines[0].Before != 5000 || c.Before != 5000 || c.Outcome != LeakSame {
		t.Errorf("files against one history: %v, %.0f, %+v; want the same, 5000 a step", c.Outcome, c.Before, c.Lines)
	}
	if e := files[3].Report.Epoch; e == nil || e.Steps != 10 || e.Bytes != 50000 {
		t.Errorf("epoch %+v, want 10 steps with 50000 bytes", e)
	}
}

// TestUnevenSnapshots: a rise every eight steps, looked at every ten.
func TestUnevenSnapshots(t *testing.T) {
	step := func(r *program, i int) {
		r.train(i, 1000, false)
		if i%8 == 7 {
			r.keepOne(i, 8000)
		}
	}
	r := LeaksAcross([]*LeakFile{dump("a", 30, step, nil), dump("b", 40, step, nil)})
	if r.Growth.Verdict != Leak || r.BytesPerStep != 1000 {
		t.Errorf("%v with %.0f bytes a training step, want a leak with 1000: %s", r.Growth.Verdict, r.BytesPerStep, r.Growth.Why)
	}
}

// TestFilledListHoldsAll: a list of 20 that drops its oldest holds 20, not the 19
// that were there a step before.
func TestFilledListHoldsAll(t *testing.T) {
	r := newProgram()
	for i := range 100 {
		r.train(i, 1000, false)
		r.keepOne(i, 5120)
		if i >= 20 {
			r.free(name("kept", i-20), at(12), entry)
		}
	}
	hints := r.judge().Hints
	if len(hints) != 1 || !strings.Contains(hints[0].Evidence, "rose to 100 KiB") {
		t.Errorf("%+v, want a list that rose to 100 KiB", hints)
	}
}

// TestKeptLeavesOutOlder: memory that the line that leaks took once, at the
// start, is not part of what each iteration leaves.
func TestKeptLeavesOutOlder(t *testing.T) {
	r := newProgram()
	for i := range 40 {
		r.infer(i)
		if i == 1 {
			r.alloc("workspace", 1<<20, at(33), entry)
		}
		if i%4 == 3 {
			r.alloc(name("kept", i), 4096, at(33), entry)
		}
	}
	got := r.judge()
	if len(got.Hints) == 0 || !strings.Contains(got.Hints[0].Evidence, "1 allocation (4.00 KiB)") {
		t.Errorf("%v: %s; %+v, want 4.00 KiB each time", got.Growth.Verdict, got.Growth.Why, got.Hints)
	}
}

// TestSuspectsStackIsWhatLeaks: where a training and a validation run through the
// same line, files show the stack of the one that keeps memory.
func TestSuspectsStackIsWhatLeaks(t *testing.T) {
	step := func(r *program, i int) {
		r.alloc(name("saved model", i), 90000, frame("/home/me/model.py", "forward", 20), moduleRun, at(11), entry)
		if i > 0 {
			r.free(name("saved model", i-1), at(11), entry)
		}
		r.train(i, 1000, false)
		r.alloc(name("valid", i), 700, frame("/home/me/model.py", "forward", 20), moduleRun, at(31), entry)
	}
	r := LeaksAcross([]*LeakFile{dump("a", 10, step, nil), dump("b", 20, step, nil)})
	if len(r.Suspects) == 0 {
		t.Fatalf("no suspect: %s", r.Growth.Why)
	}
	lines := func(f snapshot.Frame) bool { return f.Function == "train" && f.Line == 31 }
	if s := r.Suspects[0]; s.Line != 20 || !slices.ContainsFunc(s.Frames, lines) {
		t.Errorf("line %d through %v, want line 20 through line 31", s.Line, s.Frames)
	}
}

// TestLeaksAcrossRunsThatEndEmpty: whole histories that begin at different times
// are of different runs, also when nothing is alive at their ends.
func TestLeaksAcrossRunsThatEndEmpty(t *testing.T) {
	from := func(us int64) func(*program) {
		return func(r *program) {
			whole := snapshot.Event{Action: snapshot.SegmentAlloc, Addr: 1 << 30, Size: int64(r.next - 1<<30)}
			r.dev.Events = slices.Insert(r.dev.Events, 0, whole)
			for i := range r.dev.Events {
				r.dev.Events[i].Time += us
			}
		}
	}
	empty := func(r *program, i int) {
		r.infer(i)
		if i == 0 {
			r.free("weight")
			r.free("bias")
			r.free("buffer")
		}
	}
	r := LeaksAcross([]*LeakFile{dump("a", 10, empty, from(1e6)), dump("b", 20, empty, from(1e12))})
	if r.Growth.Verdict != Inconclusive || !strings.Contains(strings.Join(r.Notes, ";"), "begin at different times") {
		t.Errorf("%v: %s; %q", r.Growth.Verdict, r.Growth.Why, r.Notes)
	}
	r = LeaksAcross([]*LeakFile{dump("a", 10, empty, from(1e6)), dump("b", 20, empty, from(1e6))})
	if r.Growth.Verdict != Steady {
		t.Errorf("one run: %v: %s; %q", r.Growth.Verdict, r.Growth.Why, r.Notes)
	}
}
