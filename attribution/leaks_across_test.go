package attribution

import (
	"math"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// dump runs a program for some steps and returns what a snapshot then says. The
// same program gives the same events, so that dumps of different lengths are of
// one run; keep trims the history.
func dump(name string, steps int, step func(r *program, i int), keep func(*program)) *LeakFile {
	r := newProgram()
	for i := range steps {
		step(r, i)
	}
	for i := range r.dev.Events {
		r.dev.Events[i].Time *= 10_000
	}
	stacks := map[uint64]snapshot.StackID{}
	for _, e := range r.dev.Events {
		if e.Action == snapshot.Alloc {
			stacks[e.Addr] = e.Stack
		}
	}
	if keep != nil {
		keep(r)
	}
	r.finish()
	for i := range r.dev.Blocks {
		r.dev.Blocks[i].Stack = stacks[r.dev.Blocks[i].Addr]
	}
	return NewLeakFile(name, Classify(r.Snapshot, r.Timeline(r.dev)))
}

func keepsEveryStep(r *program, i int) {
	r.train(i, 1000, false)
	r.keepOne(i, 5000)
}

func keepsNothing(r *program, i int) { r.train(i, 1000, false) }

// keepsEachEpoch keeps something after every ten steps.
func keepsEachEpoch(r *program, i int) {
	r.train(i, 1000, false)
	if i%10 == 8 {
		r.keepOne(i, 50000)
	}
}

// ringOf keeps the last events.
func ringOf(n int) func(*program) {
	return func(r *program) { r.dev.Events = r.dev.Events[max(0, len(r.dev.Events)-n):] }
}

func noEvents(r *program) { r.dev.Events = nil }

func TestLeaksAcrossMadeUpRuns(t *testing.T) {
	cases := []struct {
		name    string
		step    func(*program, int)
		at      []int // steps at which snapshots are taken
		keep    func(*program)
		verdict GrowthVerdict
		slope   float64
		perFile int // steps per snapshot
		line    int32
		note    string
	}{
		{"four whole histories", keepsEveryStep, []int{10, 20, 30, 40}, nil, Leak, 50000, 10, 12, ""},
		{"two whole histories", keepsEveryStep, []int{10, 20}, nil, Leak, 50000, 10, 12, "a difference of"},
		{"rings that show a few steps", keepsEveryStep, []int{10, 20, 30, 40, 50}, ringOf(120), Leak, 50000, 0, 12, ""},
		{"rings that show nothing of it", keepsEachEpoch, []int{10, 20, 30, 40, 50}, ringOf(70), Leak, 50000, 0, 12, ""},
		{"two rings", keepsEachEpoch, []int{10, 20}, ringOf(70), Inconclusive, 50000, 0, 12, ""},
		{"segments alone", keepsEveryStep, []int{10, 20, 30, 40}, noEvents, Leak, 50000, 0, 12, ""},
		{"two segment lists", keepsEveryStep, []int{10, 20}, noEvents, Inconclusive, 50000, 0, 12, ""},
		{"nothing kept", keepsNothing, []int{10, 20, 30, 40}, nil, Steady, 0, 10, 0, ""},
		{"nothing kept, segments", keepsNothing, []int{10, 20, 30, 40}, noEvents, CacheGrowth, 0, 0, 0, ""}, // no address is used twice here
		{"not in order", keepsEveryStep, []int{30, 10, 40, 20}, nil, Leak, 50000, 10, 12, "in order of time"},
		{"one file", keepsEveryStep, []int{10}, nil, Leak, 5000, 0, 12, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var files []*LeakFile
			for _, n := range c.at {
				files = append(files, dump("a", n, c.step, c.keep))
			}
			r := LeaksAcross(files)
			line := int32(0)
			if len(r.Suspects) > 0 {
				line = r.Suspects[0].Line
			}
			if r.Growth.Verdict != c.verdict || math.Abs(r.Growth.BytesPerStep-c.slope) > 0.02*c.slope || r.StepsPerSnapshot != c.perFile || line != c.line {
				t.Errorf("%v with %.0f in %d steps at line %d; want %v with %.0f in %d at %d: %s", r.Growth.Verdict, r.Growth.BytesPerStep,
					r.StepsPerSnapshot, line, c.verdict, c.slope, c.perFile, c.line, r.Growth.Why)
			}
			if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, c.note) {
				t.Errorf("notes %q lack %q", notes, c.note)
			}
		})
	}
}

// TestLeaksAcrossRuns: memory of another run is no growth, and what each epoch
// gives back is no leak.
func TestLeaksAcrossRuns(t *testing.T) {
	other := func(r *program) {
		for i := range r.dev.Events {
			r.dev.Events[i].Time += 1e12
		}
	}
	r := LeaksAcross([]*LeakFile{dump("a", 10, keepsNothing, nil), dump("b", 20, keepsEveryStep, other)})
	if r.Growth.Verdict != Inconclusive || !strings.Contains(strings.Join(r.Notes, ";"), "different runs") {
		t.Errorf("two runs: %v: %s", r.Growth.Verdict, r.Growth.Why)
	}
	emptied := func(r *program, i int) {
		keepsEveryStep(r, i)
		if i%20 == 19 {
			for k := i - 19; k <= i; k++ {
				r.free(name("kept", k), at(15), entry)
			}
		}
	}
	r = LeaksAcross([]*LeakFile{dump("a", 10, emptied, nil), dump("b", 30, emptied, ringOf(250))})
	if r.Growth.Verdict != Steady || r.Growth.Shape != Periodic {
		t.Errorf("a list emptied each epoch: %v, %v: %s", r.Growth.Verdict, r.Growth.Shape, r.Growth.Why)
	}
}

func TestCompareLeaks(t *testing.T) {
	leak := dump("a", 30, keepsEveryStep, nil).Report
	fixed := dump("b", 30, keepsNothing, nil).Report
	half := dump("c", 30, func(r *program, i int) {
		r.train(i, 1000, false)
		r.keepOne(i, 2000)
	}, nil).Report
	short := dump("d", 1, keepsNothing, nil).Report
	across := LeaksAcross([]*LeakFile{dump("e", 10, keepsEveryStep, nil), dump("f", 20, keepsEveryStep, nil)})
	every := dump("g", 60, keepsEachEpoch, nil).Report
	few := dump("h", 6, keepsNothing, nil).Report
	cases := []struct {
		name          string
		before, after *LeakReport
		want          LeakOutcome
		a, b          float64
	}{
		{"fixed", &leak, &fixed, LeakGone, 5000, 0},
		{"smaller", &leak, &half, LeakSmaller, 5000, 2000},
		{"worse", &half, &leak, LeakWorse, 2000, 5000},
		{"same", &leak, &leak, LeakSame, 5000, 5000},
		{"too short", &leak, &short, LeakUnclear, 5000, 0},
		{"no leak before", &fixed, &fixed, LeakUnclear, 0, 0},
		{"a new leak", &fixed, &leak, LeakWorse, 0, 5000},
		{"a leak, and too little before", &short, &leak, LeakUnclear, 0, 5000},
		{"files, then one history", &across, &fixed, LeakGone, 5000, 0},
		{"files, then the same leak", &across, &leak, LeakSame, 5000, 5000},
		{"shorter than the time between rises", &every, &few, LeakUnclear, 5000, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := CompareLeaks(c.before, c.after)
			if got.Outcome != c.want || math.Abs(got.Before-c.a) > 50 || math.Abs(got.After-c.b) > 50 || got.Why == "" {
				t.Errorf("%v, %.0f to %.0f: %s; want %v, %.0f to %.0f", got.Outcome, got.Before, got.After, got.Why, c.want, c.a, c.b)
			}
		})
	}
	if lines := CompareLeaks(&leak, &fixed).Lines; len(lines) != 1 || lines[0].Line != 12 || lines[0].After != 0 || lines[0].Before != 5000 {
		t.Errorf("lines %+v", lines)
	}
}

// TestLeakFileForgets: what is kept of a file must not grow with its history.
func TestLeakFileForgets(t *testing.T) {
	f := dump("a", 50, keepsNothing, nil)
	if len(f.alive) > 10 || len(f.lines) > 10 {
		t.Errorf("%d allocations of %d lines are kept of 50 equal steps", len(f.alive), len(f.lines))
	}
	if len(f.stepEnds) != 50 {
		t.Errorf("%d steps", len(f.stepEnds))
	}
}
