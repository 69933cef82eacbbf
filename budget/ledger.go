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

// A Line is one class of tensors in a ledger.
type Line struct {
	Class    Class
	Category attribution.Category // what it is called in a measured snapshot
	Name     string
	Formula  string // "L·b·s·h × 4 B"
	Numbers  string // the same with figures
	Why      string // when it is not plain: the rule it follows

	Bytes  int64 // the most that is live at once, on one GPU
	AtPeak int64 // live at the peak
	Count  int64 // tensors that are live at once
	Steps  []Step
}

// A StepPeak is the highest point of a part of the step.
type StepPeak struct {
	Step      Step
	Bytes     int64 // requested
	Allocated int64 // blocks of the allocator
	At        string
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

// A Ledger is what a training step takes on one GPU. All bytes are on the most
// loaded GPU.
type Ledger struct {
	Config Config
	Params int64 // of the whole model

	Lines  []Line
	Totals Totals // at the peak; they sum to PerGPU

	PerGPU int64 // the peak
	Total  int64 // the same step of the whole model on one GPU, nothing divided

	Peak  StepPeak   // where PerGPU is reached
	Peaks []StepPeak // of each part

	Reserved int64 // peak of what the caching allocator asks from the device; 0 when not simulated

	Overhead    []Line // outside of Totals: what a GPU needs beyond the tensors
	NotIncluded []string
	Notes       []string
}
