package budget

import "github.com/snapview/snapview/attribution"

// A Class is what a line of a ledger is counted under.
type Class string

// Classes, in the order of the table.
const (
	ParameterClass     Class = "parameter"
	MasterClass        Class = "master_parameter"
	GradientClass      Class = "gradient"
	OptimizerClass     Class = "optimizer_state"
	ActivationClass    Class = "activation" // saved for the backward, temporary, and gradients of them; inputs too
	WorkspaceClass     Class = "workspace"  // scratch of kernels and of the optimizer's step
	CommunicationClass Class = "communication"
)

// Classes lists the classes in their order.
func Classes() []Class {
	return []Class{ParameterClass, MasterClass, GradientClass, OptimizerClass, ActivationClass, WorkspaceClass, CommunicationClass}
}

// A Step is a part of a training step.
type Step string

// Parts of a training step.
const (
	ForwardStep   Step = "forward"
	BackwardStep  Step = "backward"
	OptimizerStep Step = "step"
)

// Steps lists the parts in their order.
func Steps() []Step { return []Step{ForwardStep, BackwardStep, OptimizerStep} }

// bit is the place of a part in a set; none for what is not a part.
func (s Step) bit() uint8 {
	for i, x := range Steps() {
		if s == x {
			return 1 << i
		}
	}
	return 0
}

// A Line is the tensors of one kind in a ledger.
type Line struct {
	Class    Class
	Category attribution.Category // what it is called in a measured snapshot
	Name     string
	Formula  string // "12 × b·s·f × 2 B"
	Numbers  string // the same with figures

	Bytes  int64 // the most that is live at once
	AtPeak int64 // live at the peak
	Count  int64 // tensors that are live at once
	Steps  []Step
}

// A StepPeak is the highest point of a part of the step.
type StepPeak struct {
	Step      Step
	Bytes     int64 // of the tensors, as requested
	Allocated int64 // of the blocks that hold them, as max_memory_allocated reports
	At        string
	Totals    Totals // of Bytes
}

// Totals are bytes by class.
type Totals map[Class]int64

// Sum returns the bytes of all classes.
func (t Totals) Sum() (sum int64) {
	for _, n := range t {
		sum += n
	}
	return sum
}

// A Ledger is what a training step takes on one GPU, the most loaded one of the
// job: in the steady state, from the second step on.
type Ledger struct {
	Config    Config
	Params    int64 // of the whole model, adapters included
	Trained   int64 // what the optimizer updates of what this GPU computes with
	Stage     int64 // of a pipeline, from 0: the most loaded one
	largest   int64 // bytes of a tensor
	Simulated bool  // the step was acted out; otherwise only the model's states are known

	Lines  []Line
	Totals Totals // at the peak; they sum to PerGPU
	Full   Totals // the most of each class, whenever that is

	PerGPU int64  // the peak of one GPU
	Total  int64  // the same for the whole model on one GPU, nothing divided
	Whole  Totals // of Total

	Peak  StepPeak   // where PerGPU is reached
	Peaks []StepPeak // of each part of the step

	Reserved int64 // the most that PyTorch's caching allocator holds; 0 when not simulated

	Overhead    []Line // outside of Totals: what a card needs beyond the tensors
	NotIncluded []string
	Notes       []string
}
