package attribution

import (
	"cmp"
	"math"
	"slices"
)

// fewest is the number of points from which on a trend can be told from chance:
// four in rising order happen once in 24.
const fewest = 4

// Fit finds the trend of a series. It leaves out a warm-up: leading points that
// are off the line of the rest, such as the first step, before the optimizer has
// state. It takes O(n log n) time; a series of more than some hundred points is
// thinned to medians of equal stretches.
func Fit(s Series) Trend {
	x, y := usable(s)
	perPoint := max(1, len(x)/mostPairs)
	x, y = thin(x, y, mostPairs)
	if len(x) == 0 {
		return Trend{}
	}
	f := fitter{x: x, y: y, tolerance: tolerance(y, s.Resolution)}
	skip := f.warmUp()
	f.x, f.y = x[skip:], y[skip:]
	t := f.fit()
	t.WarmUp, t.Points = skip*perPoint, len(s.Steps)-skip*perPoint
	return t
}

// usable returns the finite points in order of their steps.
func usable(s Series) (x, y []float64) {
	n := min(len(s.Steps), len(s.Bytes))
	order := make([]int, 0, n)
	for i := range n {
		if v := s.Steps[i] + s.Bytes[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Steps[a], s.Steps[b]) })
	x, y = make([]float64, len(order)), make([]float64, len(order))
	for i, from := range order {
		x[i], y[i] = s.Steps[from], s.Bytes[from]
	}
	return x, y
}

// tolerance is by how much two values may differ and be the same.
func tolerance(y []float64, resolution float64) float64 {
	return 2*resolution*(1+1e-9) + 1e-9*max(math.Abs(slices.Max(y)), math.Abs(slices.Min(y)))
}

// A fitter holds the points that a trend is found of.
type fitter struct {
	x, y      []float64
	tolerance float64 // differences up to this are none
}

// warmUp returns how many leading points are off the line that the second half
// of the points lies on.
func (f *fitter) warmUp() int {
	n := len(f.x)
	if n <= fewest {
		return 0
	}
	half := n - max(n/2, fewest)
	x, y := f.x[half:], f.y[half:]
	s := senSlope(x, y).median
	base, noise := residuals(x, y, s)
	width := 0.0 // of one stretch between points: the corners of a staircase lie that far off its line
	for i := 1; i < len(y); i++ {
		width = max(width, math.Abs(y[i]-y[i-1]))
	}
	near := max(f.tolerance, 5*noise, width)
	skip := 0
	for skip < half && math.Abs(f.y[skip]-base-s*(f.x[skip]-x[0])) > near {
		skip++
	}
	return skip
}

// residuals returns where the line of a slope is at the first point, and the
// median distance of the points from it.
func residuals(x, y []float64, slope float64) (start, noise float64) {
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = y[i] - slope*(x[i]-x[0])
	}
	start = medianOf(rest)
	for i := range rest {
		rest[i] = math.Abs(rest[i] - start)
	}
	return start, medianOf(rest)
}

func (f *fitter) fit() Trend {
	n := len(f.x)
	t := Trend{First: f.x[0], Last: f.x[n-1], End: medianOf(f.y[n-min(n, 3):])}
	s := senSlope(f.x, f.y)
	t.Start, t.Noise = residuals(f.x, f.y, s.median)
	t.BytesPerStep, t.Low, t.High = s.median, s.low, s.high
	low := f.floor()
	t.Grown = low[n-1] - low[0]
	if f.drops() {
		f.wavy(&t)
	} else {
		f.rising(&t)
	}
	return t
}

// floor is the least that is reached again later: what stays.
func (f *fitter) floor() []float64 {
	low := slices.Clone(f.y)
	for i := len(low) - 2; i >= 0; i-- {
		low[i] = min(low[i], low[i+1])
	}
	return low
}

// drops reports whether the curve falls back noticeably.
func (f *fitter) drops() bool {
	high, fallen := f.y[0], 0.0
	for _, v := range f.y {
		high = max(high, v)
		fallen = max(fallen, high-v)
	}
	return fallen > max(f.tolerance, 0.02*(slices.Max(f.y)-slices.Min(f.y)))
}

// rising judges a curve that does not fall.
func (f *fitter) rising(t *Trend) {
	corners := f.corners()
	t.Rises = len(corners)
	n := len(f.x)
	if t.Rises == 0 {
		if n >= fewest {
			t.Course = Level
		}
		return
	}
	t.Shape = Monotonic
	if f.isStaircase(corners) {
		t.Shape = Staircase
		f.fitCorners(t, corners)
	}
	t.Course = f.risingCourse(t, corners)
}

// corners are the points at which the curve has risen above the level before.
func (f *fitter) corners() (list []int) {
	level := f.y[0]
	for i, v := range f.y {
		if v > level+f.tolerance {
			list = append(list, i)
			level = v
		}
	}
	return list
}

// isStaircase reports whether most points have the level of the point before,
// and not because levels are printed with few digits.
func (f *fitter) isStaircase(corners []int) bool {
	if len(corners)*2 > len(f.x) {
		return false
	}
	heights := make([]float64, len(corners))
	for i, c := range corners {
		heights[i] = f.y[c] - f.y[c-1]
	}
	return medianOf(heights) > 1.5*f.tolerance
}

// fitCorners replaces the slope by that of the corners, which depends neither on
// where in a stair the points begin nor on where they end.
func (f *fitter) fitCorners(t *Trend, corners []int) {
	if len(corners) < 2 {
		return
	}
	x, y, gaps := make([]float64, len(corners)), make([]float64, len(corners)), make([]float64, len(corners)-1)
	for i, c := range corners {
		x[i], y[i] = f.x[c], f.y[c]
		if i > 0 {
			gaps[i-1] = x[i] - x[i-1]
		}
	}
	s := senSlope(x, y)
	t.BytesPerStep, t.Low, t.High = s.median, s.low, s.high
	t.Start, _ = residuals(f.x, f.y, s.median)
	if typical := medianOf(gaps); slices.Max(gaps) <= 1.5*typical && slices.Min(gaps) >= 0.5*typical {
		t.Period = typical
	}
}

// risingCourse says where a curve that never falls is heading.
func (f *fitter) risingCourse(t *Trend, corners []int) Course {
	n := len(f.x)
	last := f.x[n-1]
	tail := last - f.x[corners[len(corners)-1]]
	if len(corners) == 1 {
		if n-corners[0] > max(fewest, n/3) {
			return Settled
		}
		return TooShort
	}
	longest := 0.0
	for i := 1; i < len(corners); i++ {
		longest = max(longest, f.x[corners[i]]-f.x[corners[i-1]])
	}
	switch span := last - f.x[0]; {
	case tail > 2*longest && tail > span/4:
		return Settled
	case len(corners) < 3 || n < fewest:
		return TooShort
	case tail > 2*longest:
		return Slowing
	}
	return f.halves()
}

// halves compares the second half's growth to the first's.
func (f *fitter) halves() Course {
	n := len(f.x)
	middle := (f.x[0] + f.x[n-1]) / 2
	at, _ := slices.BinarySearch(f.x, middle)
	k := max(1, n/8) // medians of some points, so that noise does not decide
	low := medianOf(f.y[:k])
	mid := medianOf(f.y[max(0, at-k/2):min(n, at+k/2+1)])
	high := medianOf(f.y[n-k:])
	switch first, second := mid-low, high-mid; {
	case second < 0.1*first:
		return Settled
	case second < 0.5*first:
		return Slowing
	}
	return Climbing
}

// wavy judges a curve that goes up and down.
func (f *fitter) wavy(t *Trend) {
	n := len(f.x)
	t.Rises = len((&fitter{x: f.x, y: f.floor(), tolerance: f.tolerance}).corners())
	third := max(1, n/3)
	apart := slices.Min(f.y[n-third:]) > medianOf(f.y[:third])+f.tolerance
	switch {
	case n < fewest:
		t.Course = TooShort
		return
	case t.Low > 0 && apart && (t.BytesPerStep*(t.Last-t.First) > 2*t.Noise):
		t.Shape = Monotonic
		t.Course = f.halves()
		return
	case t.High < 0 && slices.Max(f.y[n-third:])+f.tolerance < medianOf(f.y[:third]):
		t.Course = Falling
		return
	}
	t.Course = Level
	if wave := quantile(0.95, f.y) - quantile(0.05, f.y); wave > max(f.tolerance, 0.01*t.End) {
		t.Period = f.period()
		if t.Period > 0 {
			t.Shape = Periodic
		}
	}
}

// period returns the steps after which the curve repeats itself: the shortest
// shift with an autocorrelation near the highest one. 0 when there is none, or
// less than two periods were seen.
func (f *fitter) period() float64 {
	n := len(f.y)
	mean := 0.0
	for _, v := range f.y {
		mean += v / float64(n)
	}
	best, correlations := 0.0, make([]float64, n/2+1)
	for lag := 2; lag <= n/2; lag++ {
		var sum, left, right float64
		for i := 0; i+lag < n; i++ {
			a, b := f.y[i]-mean, f.y[i+lag]-mean
			sum, left, right = sum+a*b, left+a*a, right+b*b
		}
		if left > 0 && right > 0 {
			correlations[lag] = sum / math.Sqrt(left*right)
		}
		best = max(best, correlations[lag])
	}
	if best < 0.7 {
		return 0
	}
	for lag := 2; lag <= n/2; lag++ {
		if correlations[lag] > best-0.05 {
			return float64(lag) * (f.x[n-1] - f.x[0]) / float64(n-1)
		}
	}
	return 0
}
