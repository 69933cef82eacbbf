package trainlog

import "math"

// Unknown is the rank or device of a curve that the log does not name.
const Unknown = -1

// StepBy is where the steps of a curve come from.
type StepBy uint8

const (
	ByStep   StepBy = iota // a step is printed with each value, or before it
	ByEpoch                // only epochs are
	ByTime                 // none are, and the values have times: seconds since the first
	ByOrder                // none are: the values are counted
	BySample               // the rows of a table without time
)

var stepUnits = [...]string{"step", "epoch", "second", "line", "sample"}

// String returns what one step is: "step", "epoch", "second", "line" or "sample".
func (b StepBy) String() string { return stepUnits[b] }

// A Point is one value of a curve.
type Point struct {
	Step  float64
	Bytes float64
	Time  float64 // seconds since 1970, in the log's own clock; NaN when unknown
}

// A Source is who a figure is about.
type Source struct {
	Rank    int    // Unknown when the log does not say
	Device  int    // GPU index; Unknown when the log does not say
	Process string // another mark of a process, such as its id; "" for none
	Run     int    // 0, and one more after each restart seen in the log
}

// A Series is one curve.
type Series struct {
	Metric Metric
	Source
	Spelling string // the words that the log prints before or after the number
	Unit     Unit   // as printed
	Basis    Basis  // how the size of the unit was decided
	Reason   string // that decision in a phrase
	StepBy   StepBy
	Zoned    bool // times are UTC; otherwise they are of the clock and time zone of the machine
	Count    int  // values read
	Merged   int  // values that fell into the step of another

	base   float64 // bytes of one kilo, 1000 or 1024
	digits int     // after the point
	grain  float64 // bytes by which values are off beyond their digits
	curve  *curve
}

// Points returns the curve in order of steps. A long one is reduced: each group
// of neighbours is left with its first, last, lowest and highest.
func (s *Series) Points() []Point {
	points := s.curve.points()
	scale := s.Scale()
	for i := range points {
		points[i].Bytes *= scale
	}
	return points
}

// First returns the first value.
func (s *Series) First() Point { return s.scaled(s.curve.first()) }

// Last returns the last value.
func (s *Series) Last() Point { return s.scaled(s.curve.last()) }

// Extremes returns the lowest and the highest value.
func (s *Series) Extremes() (low, high Point) {
	l, h := s.curve.extremes()
	return s.scaled(l), s.scaled(h)
}

// Len is how many values there are after those of one step became one.
func (s *Series) Len() int { return s.curve.count }

// Reduced reports whether Points leaves values out.
func (s *Series) Reduced() bool { return s.curve.stride > 1 }

func (s *Series) scaled(p Point) Point {
	p.Bytes *= s.Scale()
	return p
}

// Scale is how many bytes one of the printed unit is.
func (s *Series) Scale() float64 { return math.Pow(s.base, float64(s.Unit.Power)) }

// Resolution is half the last printed digit, in bytes; 0 when figures are exact.
func (s *Series) Resolution() float64 {
	if s.Unit.Power == 0 && s.digits == 0 || s.digits >= exactDigits {
		return s.grain
	}
	return s.Scale() * math.Pow10(-s.digits) / 2
}

// exactDigits is so many digits after the point that nothing was rounded.
const exactDigits = 9

// Ambiguous reports whether the unit has two sizes and nothing but a habit
// decided between them.
func (s *Series) Ambiguous() bool { return s.Basis == Assumed }

// SetBase decides the size of an ambiguous unit: 1000 or 1024 bytes to a kilo.
func (s *Series) SetBase(base float64, basis Basis, reason string) {
	s.base, s.Basis, s.Reason = base, basis, reason
}

// Base is how many bytes a kilo is taken for: 1000 or 1024.
func (s *Series) Base() float64 { return s.base }
