package attribution

import (
	"fmt"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A Category is what memory is for. The names are those of PyTorch's memory
// profiler (torch.profiler._memory_profiler.Category), plus buffer, workspace
// and communication.
type Category uint8

const (
	Parameter      Category = iota // weights of the model, trained or frozen
	Buffer                         // tensors of the model that are no parameters, such as running statistics
	Gradient                       // what a backward leaves in .grad
	OptimizerState                 // moments, master weights and the like
	Input                          // batches and other tensors that a forward starts from
	Activation                     // made by a forward and kept, normally for the backward
	Temporary                      // made and freed within one forward, backward or step
	AutogradDetail                 // made by a backward, neither scratch nor a gradient
	Workspace                      // scratch that cuBLAS and the like keep
	Communication                  // buffers of collectives: all-gather, reduce, buckets
	Unknown                        // nothing tells

	NumCategories = int(Unknown) + 1
)

var categoryNames = [NumCategories]string{"parameter", "buffer", "gradient", "optimizer_state", "input", "activation",
	"temporary", "autograd_detail", "workspace", "communication", "unknown"}

// String returns the name as in JSON: "optimizer_state".
func (c Category) String() string {
	if int(c) < NumCategories {
		return categoryNames[c]
	}
	return categoryNames[Unknown]
}

// ParseCategory is the inverse of String.
func ParseCategory(name string) (Category, error) {
	if i := slices.Index(categoryNames[:], name); i >= 0 {
		return Category(i), nil
	}
	return Unknown, fmt.Errorf("category %q is not known: use one of %v", name, categoryNames)
}

// Categories returns all categories in their order.
func Categories() []Category {
	all := make([]Category, NumCategories)
	for i := range all {
		all[i] = Category(i)
	}
	return all
}

// A Label is the category of one allocation.
type Label struct {
	Evidence   string  // a short phrase, one of few
	Confidence float32 // 0–1: the share of such labels that is right, see TestCalibration
	Category   Category
}

// A Classification labels every allocation of a timeline and divides its
// history into phases and steps.
type Classification struct {
	Snapshot *snapshot.Snapshot
	Timeline *snapshot.Timeline
	Labels   []Label // index as in Timeline.Allocations
	Phases   []Phase // in order; together they cover every event once
	Steps    []Step  // in order
}

// Totals are bytes by category.
type Totals [NumCategories]int64

// Sum returns the bytes of all categories.
func (t Totals) Sum() (sum int64) {
	for _, n := range t {
		sum += n
	}
	return sum
}

// A CategoryPoint is the state after an event.
type CategoryPoint struct {
	Event  int   // −1: before the first event
	Time   int64 // µs since the epoch; 0 when not recorded
	Totals Totals
}

// PhaseKind is a part of a training step.
type PhaseKind uint8

const (
	Setup     PhaseKind = iota // before the first forward, backward or optimizer step
	Forward                    // modules run
	Backward                   // the autograd engine runs
	Optimizer                  // an optimizer step runs
	Between                    // none of these: data loading, zero_grad, logging
)

var phaseNames = [...]string{"setup", "forward", "backward", "optimizer", "between"}

func (k PhaseKind) String() string {
	if int(k) < len(phaseNames) {
		return phaseNames[k]
	}
	return "unknown"
}

// A Phase is a stretch of the history.
type Phase struct {
	Kind        PhaseKind
	Step        int            // Step.Number of the step it belongs to; 0: before the first
	First, Last int            // its events, both included
	Peak        snapshot.Point // first event of the phase at which requested bytes are highest
	Name        string         // "backward of step 2"
}

// A Step is a training step: from the end of the step before to the end of its
// optimizer step. Without any optimizer step in the history it ends with a
// backward instead.
type Step struct {
	Number      int // from 1, counted from where the history begins
	First, Last int // its events, both included
	Peak        snapshot.Point
	PeakPhase   PhaseKind
}
