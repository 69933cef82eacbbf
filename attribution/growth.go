package attribution

// A GrowthVerdict says what becomes of memory over the steps of a run.
type GrowthVerdict uint8

const (
	Inconclusive GrowthVerdict = iota // too little to go by; Growth.Need says how much is needed
	Steady                            // what tensors hold does not grow, or stopped growing
	CacheGrowth                       // the allocator holds more and more, the tensors do not
	Leak                              // what tensors hold climbs, and still does at the end
)

var growthVerdictNames = [...]string{"inconclusive", "steady", "cache_growth", "leak"}

// String returns the name as in JSON.
func (v GrowthVerdict) String() string { return growthVerdictNames[v] }

// A Shape is what a curve looks like over the steps.
type Shape uint8

const (
	Flat      Shape = iota // neither trend nor waves
	Monotonic              // rises all the time
	Staircase              // rises now and then, flat in between
	Periodic               // goes up and down and returns
)

var shapeNames = [...]string{"flat", "monotonic", "staircase", "periodic"}

// String returns the name as in JSON.
func (s Shape) String() string { return shapeNames[s] }

// A Course is where a curve is heading.
type Course uint8

const (
	TooShort Course = iota // too few points, or too few rises
	Level                  // no trend
	Falling                // less and less
	Settled                // rose, and stopped
	Slowing                // rises, but less and less
	Climbing               // rises as much at the end as before
	Restless               // goes up and down too much to tell whether it rises
)

var courseNames = [...]string{"too short", "level", "falling", "settled", "slowing", "climbing", "restless"}

func (c Course) String() string { return courseNames[c] }

// A Series is a number of bytes over steps.
type Series struct {
	Name  string    // "allocated" or "requested", "reserved", "peak", …
	Steps []float64 // ascending; steps, snapshots or seconds
	Bytes []float64 // as many

	// Values is how many values the points stand for when a curve was reduced; at
	// most the number of points otherwise.
	Values int

	// Resolution is how far a value may be from the true one: half the last
	// printed digit, in bytes. 0: exact.
	Resolution float64
}

// A Trend is what a series does after its warm-up.
type Trend struct {
	// BytesPerStep is the Theil–Sen slope, the median of the slopes between all
	// pairs of points; for a staircase, of the pairs of its corners. Low and High
	// bound it with 95 % confidence (Sen's interval from the variance of
	// Kendall's S, which asks nothing of how noise is distributed). With fewer
	// points than make an interval they are the lowest and highest slope.
	BytesPerStep, Low, High float64

	Start       float64 // bytes on the line at First
	First, Last float64 // steps of the first and last point used
	End         float64 // median bytes of the last points

	Points int // used
	WarmUp int // left out at the start, of the points given
	Shape  Shape
	Course Course
	Period float64 // steps between the rises of a staircase or the waves of a periodic curve; 0: not regular
	Rises  int     // how often it rose to stay
	Noise  float64 // median distance of the points from the line, in bytes

	Lowest, Highest float64 // bytes of the used points

	// Grown is by how much the used points rose from first to last, on their
	// lower edge.
	Grown float64
}

// At returns the line of the trend at a step.
func (t *Trend) At(step float64) float64 { return t.Start + (step-t.First)*t.BytesPerStep }

// GrowthInput are the curves of one device. Any may be empty.
type GrowthInput struct {
	Allocated Series // what tensors hold, at the same moment of each step
	Reserved  Series // what the allocator holds
	Peak      Series // the most that tensors held within each step

	Unit string // what a step is: "step" when empty, "snapshot", "second"
}

// Growth is the verdict on the curves of one device.
type Growth struct {
	Verdict                   GrowthVerdict
	Shape                     Shape // of the curve that decided
	ByPeak                    bool  // that curve is the peak
	Allocated, Reserved, Peak Trend
	BytesPerStep, Low, High   float64 // of allocated bytes; BytesPerStep is 0 when there is no trend
	Unit                      string  // "step", "snapshot", "second"

	Why  string // one sentence with the numbers
	Need string // for Inconclusive: how much more would decide
}
