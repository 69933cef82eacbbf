package attribution

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// kinds spells the phases: "setup forward:1 backward:1".
func kinds(c *Classification) string {
	var words []string
	for _, p := range c.Phases {
		words = append(words, fmt.Sprintf("%v:%d", p.Kind, p.Step))
	}
	return strings.Join(words, " ")
}

func TestPhases(t *testing.T) {
	s := newScene()
	s.model()
	s.step("1", true)
	s.step("2", false)
	c := s.finish()
	want := "setup:0 forward:1 backward:1 between:1 optimizer:1 between:2 forward:2 backward:2 between:2 optimizer:2 between:2"
	if got := kinds(c); got != want {
		t.Errorf("phases %s\nwant   %s", got, want)
	}
	if len(c.Steps) != 2 {
		t.Fatalf("steps %+v", c.Steps)
	}
	for _, step := range c.Steps {
		if step.PeakPhase != Backward {
			t.Errorf("step %d has its peak in %v", step.Number, step.PeakPhase)
		}
	}
	if p, ok := c.PhaseAt(c.Timeline.Peak.Event); !ok || p.Name != "backward of step 2" {
		t.Errorf("the peak is in %+v", p)
	}
	if _, ok := c.PhaseAt(-1); ok {
		t.Error("there is a phase before the first event")
	}
}

// An optimizer whose state exists allocates nothing in its step: only its
// annotation shows it.
func TestAnnotatedStep(t *testing.T) {
	s := newScene()
	s.model()
	s.alloc("saved", saved, linear, moduleRun, main)
	s.alloc("gradW", weight)
	s.free("saved")
	begin := int64(1000 + len(s.dev.Events))
	for range 3 {
		s.event(snapshot.SegmentAlloc, 1<<50, 0, nil) // time goes on
	}
	s.alloc("next", saved, linear, moduleRun, main)
	for i, start := range []bool{true, false} {
		s.Annotations = append(s.Annotations, snapshot.Annotation{Name: "Optimizer.step#SGD.step", Start: start, Time: begin + int64(i), Device: -1})
	}
	c := s.finish()
	if !slices.ContainsFunc(c.Phases, func(p Phase) bool { return p.Kind == Optimizer }) || len(c.Steps) != 2 {
		t.Errorf("phases %s, %d steps", kinds(c), len(c.Steps))
	}
}

// The phases of real captures end in their names.
func TestCapturedPhases(t *testing.T) {
	for name, want := range map[string]string{
		"gpt_adamw/1_backward": "backward:2", "gpt_adamw/9_end": "between:2", "extra_accum/2_backward": "backward:3",
	} {
		s, err := snapshot.Open(captures + "/" + name + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(Classify(s, s.Timeline(s.Devices[0]))); !strings.Contains(got, want) {
			t.Errorf("%s: phases %s, want %s", name, got, want)
		}
	}
}

// Accumulated gradients: several forwards and backwards in one step.
func TestAccumulation(t *testing.T) {
	s := newScene()
	s.model()
	s.alloc("x1", saved, linear, moduleRun, main)
	s.alloc("gradW", weight)
	s.free("x1")
	s.alloc("x2", saved, linear, moduleRun, main)
	s.alloc("again", weight)
	s.free("again")
	s.free("x2")
	s.alloc("momentW", weight, initGroup, stepWrap, main)
	s.alloc("after", 512, main)
	s.free("after", main)
	c := s.finish()
	s.want(t, c, "gradW", Gradient)
	s.want(t, c, "again", Temporary)
	if got, want := kinds(c), "setup:0 forward:1 backward:1 forward:1 backward:1 optimizer:1 between:1"; got != want {
		t.Errorf("phases %s\nwant   %s", got, want)
	}
}
