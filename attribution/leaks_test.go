package attribution

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
	"pgregory.net/rapid"
)

// A program is a scene of training steps, or of iterations that only run forwards.
type program struct{ *scene }

func newProgram() *program {
	r := &program{newScene()}
	r.model()
	return r
}

// at is a line of the program's loop.
func at(line int32) snapshot.Frame { return frame("/home/me/train.py", "train", line) }

var entry = frame("/home/me/train.py", "<module>", 90)

func name(what string, step int) string { return fmt.Sprintf("%s %d", what, step) }

// train runs a step with inputs of a size: the forward saves six activations,
// which the backward frees unless keep says so.
func (r *program) train(step int, input int64, keep bool) {
	if step > 0 {
		r.free(name("batch", step-1), at(10), entry)
	}
	r.alloc(name("batch", step), input, at(10), entry)
	for k := range int32(6) {
		r.alloc(name("saved", 10*step+int(k)), 8*input+int64(k), frame("/home/me/model.py", "forward", 20+k), moduleRun, at(11), entry)
	}
	r.alloc(name("grad", step), weight)
	for k := range 6 {
		if !keep {
			r.free(name("saved", 10*step+k))
		}
	}
	if step == 0 {
		r.alloc("moment", weight, initGroup, stepWrap, at(13), entry)
	}
	r.alloc(name("foreach", step), weight, multi, stepWrap, at(13), entry)
	r.free(name("foreach", step), multi, stepWrap, at(13), entry)
	r.free(name("grad", step), zeroGrad, at(14), entry)
}

// infer runs a forward that saves nothing.
func (r *program) infer(step int) {
	r.alloc(name("in", step), 500, at(30), entry)
	for k := range int32(4) {
		r.alloc(name("act", 10*step+int(k)), 3000, frame("/home/me/model.py", "forward", 20+k), moduleRun, at(31), entry)
		r.free(name("act", 10*step+int(k)), frame("/home/me/model.py", "forward", 21+k), moduleRun, at(31), entry)
	}
	r.free(name("in", step), at(32), entry)
}

func (r *program) keepOne(step int, size int64) { r.alloc(name("kept", step), size, at(12), entry) }

func (r *program) judge() LeakReport {
	events := r.dev.Events
	for i := range events {
		events[i].Time *= 100
	}
	return Leaks(r.finish())
}

type leakCase struct {
	name    string
	make    func(*program)
	verdict GrowthVerdict
	shape   Shape
	slope   float64 // NaN: whatever
	line    int32   // of the first suspect, 0: none
	hint    string  // ID of the first, "": none
}

var leakCases = []leakCase{
	{"steady", func(r *program) {
		for i := range 20 {
			r.train(i, 1000, false)
		}
	}, Steady, Flat, 0, 0, ""},
	{"kept every step", func(r *program) {
		for i := range 30 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000)
		}
	}, Leak, Monotonic, 5000, 12, "outputs_kept"},
	{"kept every seventh step", func(r *program) {
		for i := range 60 {
			r.train(i, 1000, false)
			if i%7 == 3 {
				r.keepOne(i, 7000)
			}
		}
	}, Leak, Staircase, 1000, 12, "outputs_kept"},
	{"starts late", func(r *program) {
		for i := range 80 {
			r.train(i, 1000, false)
			if i >= 50 {
				r.keepOne(i, 5000)
			}
		}
	}, Leak, Monotonic, 5000, 12, "outputs_kept"},
	{"kept under restless inputs", func(r *program) {
		for i := range 60 {
			r.train(i, 1000+int64(i*7919%13)*3000, false)
			r.keepOne(i, 600)
		}
	}, Leak, Monotonic, 600, 12, "outputs_kept"},
	{"bounded list", func(r *program) {
		for i := range 100 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000)
			if i >= 20 {
				r.free(name("kept", i-20), at(12), entry)
			}
		}
	}, Steady, Flat, 0, 0, "cache_filled"},
	{"inputs grow", func(r *program) {
		for i := range 40 {
			r.train(i, 1000+int64(i)*100, false)
		}
	}, Steady, Monotonic, math.NaN(), 0, "growing_inputs"},
	{"a tensor grows", func(r *program) {
		for i := range 40 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000*int64(i+1))
			if i > 0 {
				r.free(name("kept", i-1), at(12), entry)
			}
		}
	}, Leak, Monotonic, 5000, 12, "growing_tensor"},
	{"a scalar a step", func(r *program) {
		r.alloc("table", 40<<20, main)
		for i := range 40 {
			r.train(i, 1000, false)
			r.keepOne(i, 4)
		}
	}, Steady, Monotonic, 4, 0, "scalars_kept"},
	{"loss kept with its graph", func(r *program) {
		for i := range 12 {
			r.train(i, 1000, true)
		}
	}, Leak, Monotonic, 48015, 25, "loss_graph_kept"},
	{"list emptied each epoch", func(r *program) {
		for i := range 60 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000)
			if i%20 == 19 {
				for k := i - 19; k <= i; k++ {
					r.free(name("kept", k), at(15), entry)
				}
			}
		}
	}, Steady, Periodic, 0, 0, ""},
	{"list emptied at the end", func(r *program) {
		for i := range 30 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000)
		}
		for i := range 30 {
			r.free(name("kept", i), at(15), entry)
		}
	}, Steady, Periodic, 0, 0, ""},
	{"ring", func(r *program) {
		for i := range 60 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000)
		}
		r.dev.Events = r.dev.Events[len(r.dev.Events)/2:]
	}, Leak, Monotonic, 5000, 12, "outputs_kept"},
	{"two steps", func(r *program) {
		r.train(0, 1000, false)
		r.train(1, 1000, false)
	}, Steady, Flat, 0, 0, ""},
	{"three steps that keep", func(r *program) {
		for i := range 3 {
			r.train(i, 1000, false)
			r.keepOne(i, 5000)
		}
	}, Inconclusive, Monotonic, 5000, 12, ""},
	{"model only", func(*program) {}, Inconclusive, Flat, 0, 0, ""},
	{"inference", func(r *program) {
		for i := range 20 {
			r.infer(i)
		}
	}, Steady, Flat, 0, 0, ""},
	{"inference keeps", func(r *program) {
		for i := range 20 {
			r.infer(i)
			r.alloc(name("kept", i), 2000, at(33), entry)
		}
	}, Leak, Monotonic, 2000, 33, "outputs_kept"},
	{"validation keeps graphs", func(r *program) {
		for i := range 3 {
			r.train(i, 1000, false)
		}
		for i := range 10 {
			r.alloc(name("in", i), 500, at(30), entry)
			for k := range int32(6) {
				r.alloc(name("valid", 10*i+int(k)), 4000, frame("/home/me/model.py", "forward", 20+k), moduleRun, at(31), entry)
			}
			r.free(name("in", i), at(32), entry)
		}
	}, Leak, Monotonic, 24000, 20, "forward_without_no_grad"},
	{"one generation, its end not seen", func(r *program) { r.generate(0, 30, false) }, Inconclusive, Monotonic, 1000, 0, "generation_cache"},
	{"one generation", func(r *program) { r.generate(0, 30, true) }, Steady, Periodic, 0, 0, ""},
	{"generations", func(r *program) {
		for g := range 5 {
			r.generate(g, 12, true)
		}
	}, Steady, Periodic, 0, 0, ""},
	{"layers of one forward", func(r *program) {
		r.alloc("in", 500, at(30), entry)
		for k := range 12 {
			r.alloc(name("layer", k), 4000, linear, moduleRun, frame("/home/me/model.py", "forward", 20), moduleRun, at(31), entry)
		}
	}, Inconclusive, Flat, 0, 0, ""},
}

// generate makes tokens with a cache that each one replaces by a larger one.
func (r *program) generate(number, tokens int, end bool) {
	cache := func(i int) string { return name("cache", 1000*number+i) }
	for i := range tokens {
		r.infer(1000*number + i)
		r.alloc(cache(i), 1000*int64(i+1), at(33), entry)
		if i > 0 {
			r.free(cache(i-1), at(33), entry)
		}
	}
	if end {
		r.free(cache(tokens-1), at(40), entry)
		r.alloc(name("text", number), 64, at(41), entry)
		r.free(name("text", number), at(41), entry)
	}
}

func TestLeaksInMadeUpRuns(t *testing.T) {
	for _, c := range leakCases {
		t.Run(c.name, func(t *testing.T) {
			r := newProgram()
			c.make(r)
			got := r.judge()
			g := got.Growth
			if g.Verdict != c.verdict || g.Shape != c.shape {
				t.Errorf("%v, %v: %s; want %v, %v", g.Verdict, g.Shape, g.Why, c.verdict, c.shape)
			}
			if !math.IsNaN(c.slope) && math.Abs(g.BytesPerStep-c.slope) > 0.02*c.slope {
				t.Errorf("%.0f bytes a %s, want %.0f", g.BytesPerStep, g.Unit, c.slope)
			}
			line, hint := int32(0), ""
			if len(got.Suspects) > 0 {
				line = got.Suspects[0].Line
			}
			if len(got.Hints) > 0 {
				hint = got.Hints[0].ID
			}
			if line != c.line || hint != c.hint {
				t.Errorf("first suspect is line %d, first hint %q; want %d, %q; %+v", line, hint, c.line, c.hint, got.Hints)
			}
			if (g.Need == "") == (g.Verdict == Inconclusive) {
				t.Errorf("%v needs %q", g.Verdict, g.Need)
			}
			if !slices.IsSortedFunc(got.Suspects, func(a, b Suspect) int { return int(math.Round(b.BytesPerStep) - math.Round(a.BytesPerStep)) }) {
				t.Errorf("suspects are not in order")
			}
		})
	}
}

// TestEpochs finds what happens after every ten steps of a leak.
func TestEpochs(t *testing.T) {
	const steps, each = 50, 5000
	cases := []struct {
		name, evidence string
		after          func(r *program, i int) // step i ended an epoch
	}{
		{"none", "", func(*program, int) {}},
		{"validation", "as a validation does", func(r *program, i int) {
			for k := range 3 {
				r.infer(1000*i + k)
			}
		}},
		{"pause", "instead of", func(r *program, i int) {
			for k := range r.dev.Events {
				r.dev.Events[k].Time -= 5000 // all that came before, so that later events are late
			}
		}},
		{"snapshot", "a snapshot was taken after every 10 steps", func(r *program, i int) { r.event(snapshot.SnapshotMark, 0, 0, nil) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newProgram()
			for i := range steps {
				r.train(i, 1000, false)
				r.keepOne(i, each)
				if i%10 == 9 {
					c.after(r, i)
				}
			}
			got := r.judge().Epoch
			if c.evidence == "" {
				if got != nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if got == nil || got.Steps != 10 || got.Bytes != 10*each || !strings.Contains(got.Evidence, c.evidence) {
				t.Errorf("%+v, want 10 steps with %d bytes, %s", got, 10*each, c.evidence)
			}
		})
	}
}

// TestLeaksOfAnything: whatever a program does, the report holds together.
func TestLeaksOfAnything(t *testing.T) {
	places := [][]snapshot.Frame{{at(1), entry}, {at(2), entry}, {linear, moduleRun, at(3), entry}, {multi, stepWrap, at(4), entry}, {zeroGrad, at(5), entry}, {backCall, at(6), entry}, nil}
	rapid.Check(t, func(t *rapid.T) {
		r := newProgram()
		var live []string
		for i := range rapid.IntRange(0, 300).Draw(t, "events") {
			place := places[rapid.IntRange(0, len(places)-1).Draw(t, "place")]
			if k := rapid.IntRange(0, 2*len(live)+1).Draw(t, "free"); k < len(live) {
				r.free(live[k], place...)
				live = slices.Delete(live, k, k+1)
				continue
			}
			live = append(live, name("any", i))
			r.alloc(live[len(live)-1], rapid.Int64Range(1, 1<<20).Draw(t, "size"), place...)
		}
		r.dev.Events = r.dev.Events[rapid.IntRange(0, len(r.dev.Events)).Draw(t, "lost"):]
		got := r.judge()
		if (got.Growth.Need == "") == (got.Growth.Verdict == Inconclusive) || got.Growth.Why == "" {
			t.Fatalf("%v: %q, needs %q", got.Growth.Verdict, got.Growth.Why, got.Growth.Need)
		}
		for _, s := range got.Suspects {
			if s.Live < 0 || s.Count < 0 || s.Low > s.BytesPerStep || s.High < s.BytesPerStep || s.Every < 1 {
				t.Fatalf("%+v", s)
			}
		}
	})
}
