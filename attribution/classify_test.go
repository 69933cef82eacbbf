package attribution

import (
	"testing"

	"github.com/snapview/snapview/snapshot"
)

func TestTrainingStep(t *testing.T) {
	s := newScene()
	s.model()
	s.step("1", true)
	s.step("2", false)
	c := s.finish()
	for name, category := range map[string]Category{
		"weight": Parameter, "bias": Parameter, "buffer": Buffer, "momentW": OptimizerState, "momentB": OptimizerState,
		"batch1": Input, "saved1": Activation, "brief1": Temporary, "loss1": Temporary, "scratch1": Temporary,
		"gradW1": Gradient, "gradB2": Gradient, "foreach1": Temporary, "saved2": Activation,
	} {
		s.want(t, c, name, category)
	}
	checkSound(t, c)
}

// The engine's thread has no Python frames of the main program, but may run
// Python: a recomputed forward is not a new one.
func TestCheckpointRecomputation(t *testing.T) {
	s := newScene()
	s.model()
	s.alloc("input", saved, linear, moduleRun, main)
	s.alloc("again", saved, linear, moduleRun, recompute)
	s.alloc("gradW", weight)
	s.free("again")
	s.free("input")
	s.alloc("next", 512, main)
	c := s.finish()
	s.want(t, c, "again", Activation)
	s.want(t, c, "gradW", Gradient)
	s.want(t, c, "input", Activation)
	checkSound(t, c)
}

// Two activations of a workspace's size are none, and neither is the gradient of
// a parameter that has it.
func TestWorkspaceIsNotStolen(t *testing.T) {
	s := newScene()
	s.alloc("weight", workspaceHopper, convert, applyLow, main)
	s.alloc("out", 4096, linear, moduleRun, main)
	s.alloc("workspace", workspaceEarlier, linear, moduleRun, main)
	relu := frame(library+"nn/functional.py", "relu", 1)
	s.alloc("saved1", workspaceHopper, relu, moduleRun, main)
	s.alloc("saved2", workspaceHopper, relu, moduleRun, main)
	s.alloc("gradW", workspaceHopper)
	s.alloc("engine", workspaceEarlier)
	s.free("out")
	s.alloc("next", 512, main)
	c := s.finish()
	for name, category := range map[string]Category{
		"workspace": Workspace, "engine": Workspace, "saved1": Activation, "saved2": Activation, "gradW": Gradient, "weight": Parameter,
	} {
		s.want(t, c, name, category)
	}
}

// Without any stack nothing says which thread ran, and nothing may be claimed.
func TestNoStacksNoClaims(t *testing.T) {
	s := newScene()
	s.alloc("a", weight)
	s.alloc("b", weight)
	s.free("a")
	c := s.finish()
	s.want(t, c, "a", Unknown)
	s.want(t, c, "b", Unknown)
	checkSound(t, c)
}

func TestUserOptimizer(t *testing.T) {
	s := newScene()
	s.model()
	own := frame("/home/me/lion.py", "step", 30)
	s.alloc("saved", saved, linear, moduleRun, main)
	s.alloc("gradW", weight)
	s.free("saved")
	s.alloc("moment", weight, own, stepWrap, main)
	s.alloc("update", weight, own, stepWrap, main)
	s.free("update", own, stepWrap, main)
	s.alloc("saved2", saved, linear, moduleRun, main)
	c := s.finish()
	s.want(t, c, "moment", OptimizerState)
	s.want(t, c, "update", Temporary)
}

// A closure that an optimizer's step calls runs a forward, not the optimizer.
func TestClosure(t *testing.T) {
	s := newScene()
	s.model()
	s.alloc("saved", saved, linear, moduleRun, frame(library+"optim/lbfgs.py", "step", 3), stepWrap, main)
	s.alloc("gradW", weight)
	s.free("saved")
	c := s.finish()
	s.want(t, c, "saved", Activation)
	s.want(t, c, "gradW", Gradient)
}

func TestCategoryNames(t *testing.T) {
	for _, c := range Categories() {
		if got, err := ParseCategory(c.String()); err != nil || got != c {
			t.Errorf("%v parses as %v, %v", c, got, err)
		}
	}
	if _, err := ParseCategory("weights"); err == nil {
		t.Error("weights is accepted")
	}
	if got := Category(200).String(); got != "unknown" {
		t.Errorf("category 200 is %s", got)
	}
}

func TestEmptySnapshot(t *testing.T) {
	s := &snapshot.Snapshot{Devices: []*snapshot.Device{{}}}
	c := Classify(s, s.Timeline(s.Devices[0]))
	if len(c.Labels) != 0 || len(c.Phases) != 0 || c.At(snapshot.Moment{Event: -1}).Sum() != 0 {
		t.Errorf("an empty snapshot gives %+v", c)
	}
}

// A history that contradicts the dump is not to be relied on.
func TestInconsistentHistory(t *testing.T) {
	s := newScene()
	s.model()
	s.event(snapshot.Alloc, 1<<40, 4096, nil) // has no block and is never freed
	c := s.finish()
	if c.Timeline.History != snapshot.HistoryInconsistent {
		t.Fatalf("history %v", c.Timeline.History)
	}
	for i, l := range c.Labels {
		if l.Confidence > fair {
			t.Errorf("allocation %d has %+v", i, l)
		}
	}
	checkSound(t, c)
}

// Everything older than the history: parameters and Adam's states by layout,
// and a hostile number of equal blocks in reasonable time.
func TestManyOlderBlocks(t *testing.T) {
	s := newScene()
	for i := range 20_000 {
		addr := uint64(i) << 21
		s.dev.Segments = append(s.dev.Segments, snapshot.Segment{Addr: addr, Total: 4096, FirstBlock: int32(len(s.dev.Blocks)), NumBlocks: 4})
		for k := range uint64(4) {
			s.dev.Blocks = append(s.dev.Blocks, snapshot.Block{
				Addr: addr + k*1024, Size: 1024, Requested: 1000 + int64(k&1) + int64(i%50), Segment: int32(i), State: snapshot.Allocated,
			})
		}
	}
	checkSound(t, Classify(s.Snapshot, s.Timeline(s.dev)))
}
