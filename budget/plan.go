package budget

// A Plan is what a plan file says: configurations, the GPUs they may run on, what
// those cost, and what is uncertain. ParsePlan reads it, Run works it out.
type Plan struct {
	File     string
	Title    string
	Currency string // behind prices; "" when not said

	// Where memory is known from: a fitted model, or the settings of Base, on top of
	// a file of settings. Paths are relative to the plan.
	ModelFile, ConfigFile string

	Base           []PlanSetting
	Configurations []PlanConfiguration
	GPUs           []PlanGPU
	Work           PlanWork
	Runs           []PlanRun

	Utilisation    float64 // part of the paid time in which the job proceeds at its speed; 0 when not said
	Overhead       int64   // bytes of a card outside of PyTorch's allocator; −1 when not said
	OverheadSource string  // how that is known
	Margin         float64 // part of the card to be left free

	Vary    PlanVary
	Ladder  []PlanStep // what to try in which order; empty for the usual steps
	Promise PlanPromise
}

// A PlanSetting is a setting of a configuration, or a key of the measured points.
type PlanSetting struct {
	Key, Value string
	Line       int
}

// A PlanConfiguration is a named variant of the base.
type PlanConfiguration struct {
	Name string
	Line int
	Set  []PlanSetting
}

// A PlanGPU is a card that may be rented.
type PlanGPU struct {
	Name    string
	Line    int
	Card    Card    // whose workspaces of cuBLAS count
	Like    string  // the card that stands in for one that is not known; "" for a known one
	Bytes   int64   // of memory
	Count   int64   // GPUs of the job; 0 for what the configuration says
	Price   float64 // of one GPU for an hour
	Priced  bool
	Percent float64 // utilisation on this card; 0 for that of the plan
}

// PlanWork is how much is to be done.
type PlanWork struct {
	Tokens int64
	Steps  int64
}

// A PlanRun is how long the work takes. Empty names stand for all.
type PlanRun struct {
	Configuration, GPU string
	Line               int
	Hours              float64 // 0 when it follows from one of the two
	TokensPerSecond    float64 // of the whole job
	StepSeconds        float64
	Source             string // "measured", "estimated" or what the file says
}

// PlanVary is what is uncertain.
type PlanVary struct {
	Draws int
	Seed  uint64

	Seq, Hidden, Overhead, Fragmentation *Span
	Batch, Precision                     []Chance
	ModelError                           float64 // half of the 95 % interval as a part of the prediction; −1 when not said
}

// A Span is a range, every value in it as likely as the others.
type Span struct {
	Low, High float64
	Relative  bool // to the value of the configuration: 0.8 to 1.2
}

// A Chance is a value that a setting takes with a probability. What is left to 1 is
// the value of the configuration.
type Chance struct {
	Value string
	Part  float64
	Line  int
}

// A PlanStep is a change that may free memory.
type PlanStep struct {
	Name string
	Line int
	Set  []PlanSetting
}

// PlanPromise is what the commitment holds to.
type PlanPromise struct {
	Line               int
	Configuration, GPU string  // the pair that is promised; "" for the one that the plan finds
	Memory             int64   // of reserved memory, 0 for what is predicted
	Tolerance          float64 // part above the promise at which the fallback begins
	MaxProbability     float64 // of exceeding the card
	MaxCost, MaxHours  float64 // 0 for no limit
	Owner              string
}

// Defaults of a plan.
const (
	planMargin      = 0.05
	planTolerance   = 0.05
	planProbability = 0.05
	planDraws       = 10_000
	planSeed        = 1
	mostDraws       = 1_000_000
	mostPairs       = 200     // configurations × GPUs
	mostWork        = 1 << 50 // tokens, steps, GPUs
)
