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
	allX, allY := usable(s)
	given := len(allX)
	x, y := thin(allX, allY, mostPairs)
	if len(x) == 0 {
		return Trend{}
	}
	f := fitter{x: x, y: y, tolerance: tolerance(y, s.Resolution), exact: s.Resolution == 0, shortest: 2}
	if len(x) < given {
		f.shortest = 8 // waves about as long as what each point stands for would look like longer ones
	}
	skip := f.warmUp()
	if skip > 0 {
		skip += (&fitter{x: x[skip:], y: y[skip:], tolerance: f.tolerance}).flatStart()
	}
	f.before = &fitter{x: x[:skip+1], y: y[:skip+1], tolerance: f.tolerance}
	f.x, f.y = x[skip:], y[skip:]
	t := f.fit()
	if from := skip * given / len(x); len(x) < given {
		t.unthin(allX[from:], allY[from:], !f.drops())
	}
	values := max(given, s.Values)
	t.WarmUp = skip * values / len(x)
	t.Points = values - t.WarmUp
	return t
}

// unthin makes the ends of a trend those of all points that were used, and of a
// curve that does not fall also by how much it grew: medians of stretches lie half
// a stretch within.
func (t *Trend) unthin(x, y []float64, rising bool) {
	n := len(x)
	t.Start -= t.BytesPerStep * (t.First - x[0])
	t.First, t.Last = x[0], x[n-1]
	if rising {
		t.Grown, t.End = y[n-1]-y[0], medianOf(y[n-min(n, 3):])
	}
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
	exact     bool    // values are not rounded
	shortest  int     // period that can be told, in points
	before    *fitter // the warm-up, up to the first point used
}

// warmUp returns how many leading points are off the line that the later points
// lie on.
func (f *fitter) warmUp() int {
	n := len(f.x)
	if n <= fewest {
		return 0
	}
	from, s := f.later()
	x, y := f.x[from:], f.y[from:]
	base, noise := residuals(x, y, s)
	height := 0.0 // of the highest stair: the corners of a staircase lie that far off its line
	for i := 1; i < len(y); i++ {
		height = max(height, math.Abs(y[i]-y[i-1]))
	}
	near := max(f.tolerance, 5*noise, height)
	low, high := slices.Min(y), slices.Max(y)
	returns := max(fallen(y), crest(f.y)) > (high-low)/2 // waves: levels come back, and a line says little
	skip := 0
	for skip < from && math.Abs(f.y[skip]-base-s*(f.x[skip]-x[0])) > near && !(returns && f.y[skip] >= low && f.y[skip] <= high) {
		skip++
	}
	return skip
}

// flatStart is how many points lie before the one from which a curve rises at
// about every point: a leak that begins late begins there.
func (f *fitter) flatStart() int {
	corners := f.corners()
	if len(corners) < fewest || f.drops() {
		return 0
	}
	rest := float64(len(f.x) - corners[0])
	if float64(len(corners)) < 0.9*rest {
		return 0
	}
	return corners[0] - 1
}

// later returns where the later points begin and their slope: the second half,
// or less of it when the curve starts to rise only there.
func (f *fitter) later() (from int, s float64) {
	n := len(f.x)
	count := max(n/2, fewest)
	line := senSlope(f.x[n-count:], f.y[n-count:])
	for count/2 >= 2*fewest {
		next := senSlope(f.x[n-count/2:], f.y[n-count/2:])
		if next.low <= 1.5*line.high || next.low <= 0 || medianOf(f.y[n-count/2:]) < quantile(0.95, f.y[:n-count/2]) {
			break // no steeper, or reached before
		}
		count, line = count/2, next
	}
	return n - count, line.median
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
	t := Trend{Points: n, First: f.x[0], Last: f.x[n-1], End: medianOf(f.y[n-min(n, 3):]), Lowest: slices.Min(f.y), Highest: slices.Max(f.y)}
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
	return fallen(f.y) > max(f.tolerance, 0.02*(slices.Max(f.y)-slices.Min(f.y)))
}

// fallen is the deepest fall from a value to a later one.
func fallen(y []float64) (deepest float64) {
	high := y[0]
	for _, v := range y {
		high = max(high, v)
		deepest = max(deepest, high-v)
	}
	return deepest
}

// crest is the highest wave: by how much the curve rose and fell again.
func crest(y []float64) (highest float64) {
	low, high, rise := y[0], y[0], 0.0
	for _, v := range y {
		highest = max(highest, min(rise, high-v))
		switch {
		case v > high:
			high, rise = v, v-low
		case v < low:
			low, high, rise = v, v, 0
		}
	}
	return highest
}

// rising judges a curve that does not fall.
func (f *fitter) rising(t *Trend) {
	corners := f.corners()
	t.Rises = len(corners)
	n := len(f.x)
	if t.Rises == 0 {
		if n >= fewest || n >= 2 && f.exact {
			t.Course = f.levelCourse(t)
		}
		return
	}
	t.Shape = Monotonic
	if f.isStaircase(corners) {
		t.Shape = Staircase
		f.fitCorners(t, corners)
	}
	t.Course = f.risingCourse(corners)
	if t.Course == Climbing && t.uncertain() {
		t.Course = TooShort
	}
}

// uncertain reports whether the few points of a trend may have risen by chance.
func (t *Trend) uncertain() bool {
	return t.Low <= 0 || t.Points < 2*fewest && 2*t.Low < t.BytesPerStep
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

// isStaircase reports whether the curve is mostly flat between its rises, and
// not only because levels are printed with few digits.
func (f *fitter) isStaircase(corners []int) bool {
	heights, gaps := make([]float64, len(corners)), make([]float64, 0, len(corners))
	for i, c := range corners {
		heights[i] = f.y[c] - f.y[c-1]
		if i > 0 {
			gaps = append(gaps, float64(c-corners[i-1]))
		}
	}
	return (len(gaps) == 0 || medianOf(gaps) >= 2) && medianOf(heights) > 1.5*f.tolerance
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

// levelCourse judges a curve that is flat after its warm-up. When that rose
// after a flat stretch, the next rise may be as far away again.
func (f *fitter) levelCourse(t *Trend) Course {
	corners := f.before.corners()
	if len(corners) == 0 {
		return Level
	}
	if longest := f.before.longestFlat(corners); f.x[len(f.x)-1]-f.x[0] < 1.5*longest {
		t.Rises, t.Grown, t.Shape = len(corners), f.before.rise(), Staircase
		return TooShort
	}
	return Level
}

// longestFlat is the longest stretch without a rise, before the last one.
func (f *fitter) longestFlat(corners []int) (longest float64) {
	from := 0
	for _, c := range corners {
		longest = max(longest, f.x[c-1]-f.x[from])
		from = c
	}
	return longest
}

// risingCourse says where a curve that never falls is heading. A curve whose
// last flat stretch is much longer than those between its rises has stopped.
func (f *fitter) risingCourse(corners []int) Course {
	n := len(f.x)
	longest := f.longestFlat(corners)
	span, tail := f.x[n-1]-f.x[0], f.x[n-1]-f.x[corners[len(corners)-1]]
	for i := 1; i < len(corners); i++ {
		longest = max(longest, f.x[corners[i]]-f.x[corners[i-1]])
	}
	switch {
	case tail > 2*longest && tail > span/4:
		return Settled
	case len(corners) < 3 || n < fewest:
		return TooShort
	case tail > 2*longest:
		return Slowing
	}
	return f.halves()
}

// halves compares the growth of the second half with that of the first, and
// both with that of a warm-up that was no single jump: something that fills
// rises less and less.
func (f *fitter) halves() Course {
	first, second := f.grownInHalves()
	ratio := second / first
	switch pace := f.warmUpPace(); {
	case second <= 0.1*first:
		return Settled
	case pace > 0 && ratio < 0.9 && first+second < 0.1*f.before.rise():
		return Settled
	case ratio < 0.5, ratio < 0.9 && pace > 2*(first+second)/(f.x[len(f.x)-1]-f.x[0]):
		return Slowing
	}
	return Climbing
}

// grownInHalves compares medians of some points each, so that noise does not
// decide.
func (f *fitter) grownInHalves() (first, second float64) {
	n := len(f.x)
	at, _ := slices.BinarySearch(f.x, (f.x[0]+f.x[n-1])/2)
	k := max(1, n/8)
	low, high := medianOf(f.y[:k]), medianOf(f.y[n-k:])
	middle := medianOf(f.y[max(0, at-k/2):min(n, at+k/2+1)])
	return middle - low, high - middle
}

// rise is from the first to the last point.
func (f *fitter) rise() float64 { return f.y[len(f.y)-1] - f.y[0] }

// warmUpPace is the slope of a warm-up that rose step by step over a good part
// of the points, 0 for another: one jump is the model or its optimizer.
func (f *fitter) warmUpPace() float64 {
	w := f.before
	n := len(w.x)
	if n < fewest || n < len(f.x)/8 || 2*len(w.corners()) < n-1 {
		return 0
	}
	for i := 1; i < n; i++ {
		if 2*(w.y[i]-w.y[i-1]) > w.rise() {
			return 0
		}
	}
	return max(0, w.rise()/(w.x[n-1]-w.x[0]))
}
