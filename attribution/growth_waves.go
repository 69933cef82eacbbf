package attribution

import (
	"math"
	"slices"
)

// Growth beneath waves: memory that goes up and down within an epoch or with the
// inputs, and each time comes back to a little more.

// surer widens a 95 % interval to one of 99.9 %: many curves are judged, and noise
// that happens to rise must not pass for a leak.
const surer = (3.29 / 1.96) * (3.29 / 1.96)

// wavy judges a curve that goes up and down.
func (f *fitter) wavy(t *Trend) {
	n := len(f.x)
	depend := dependence(f.x, f.y, t.BytesPerStep)
	wide, sure := senSlopeOf(f.x, f.y, depend), senSlopeOf(f.x, f.y, depend*surer)
	chance := senSlopeOf(f.x, f.y, surer).low // as if points were independent
	t.Low, t.High = wide.low, wide.high
	t.Rises = len((&fitter{x: f.x, y: f.floor(), tolerance: f.tolerance}).corners())
	third := max(1, n/3)
	first, last := f.y[:third], f.y[n-third:]
	rises := t.BytesPerStep*(t.Last-t.First) > 2*t.Noise && f.lowRises(first, last)
	wave := f.period(t.BytesPerStep)
	switch {
	case n < fewest && f.exact && f.y[n-1] <= f.y[0]+f.tolerance:
		t.Course = Level // nothing stayed above the start
	case n < fewest:
		t.Course = TooShort
	case wave > 0 && f.perWave(t, wave):
	case !t.uncertain() && sure.low > 0 && rises && (depend < loose || slices.Min(last) > medianOf(first)+f.tolerance):
		t.Shape = Monotonic
		t.Course = f.halves()
	case t.High < 0 && slices.Max(last)+f.tolerance < medianOf(first):
		t.Course = Falling
	case chance > 0 && rises && !f.returns():
		t.Course = Restless
	default:
		t.Course = Level
		if height := quantile(0.95, f.y) - quantile(0.05, f.y); height > max(f.tolerance, 0.01*t.End) {
			t.Period = float64(wave) * f.spacing()
			if wave > 0 || f.returns() {
				t.Shape = Periodic
			}
		}
	}
}

// loose is how few points may count as one for the curve to be noise about a line,
// which needs no more than the interval of its slope. One that wanders must also
// have left where it was.
const loose = 3

// lowPart is the part of values that may be lower than what counts as the lowest:
// rare dips say nothing about what stays.
const lowPart = 0.1

// lowRises reports whether even the low values are higher at the end.
func (f *fitter) lowRises(first, last []float64) bool {
	return quantile(lowPart, last) > quantile(lowPart, first)+f.tolerance
}

// leastWaves is how many waves make a trend of their medians.
const leastWaves = 5

// perWave judges a curve by the medians of its waves of so many points, in which
// the waves cancel, and by their low values. It reports whether these have a trend.
func (f *fitter) perWave(t *Trend, points int) bool {
	waves := len(f.x) / points
	if waves < leastWaves {
		return false
	}
	var x, middle, low []float64
	for from := len(f.x) - waves*points; from < len(f.x); from += points {
		x = append(x, medianOf(f.x[from:from+points]))
		middle = append(middle, medianOf(f.y[from:from+points]))
		low = append(low, quantile(lowPart, f.y[from:from+points]))
	}
	m, l := f.trendOf(x, middle), f.trendOf(x, low)
	if m.Course != Climbing && m.Course != Slowing || l.Course != m.Course && l.Course != Climbing {
		return false
	}
	t.BytesPerStep, t.Low, t.High, t.Grown, t.Course = m.BytesPerStep, m.Low, m.High, m.Grown, m.Course
	t.Start, t.Noise = residuals(f.x, f.y, t.BytesPerStep)
	t.Shape, t.Period = Monotonic, float64(points)*f.spacing()
	return true
}

// trendOf is the trend of values that sum up points of the curve.
func (f *fitter) trendOf(x, y []float64) Trend {
	part := fitter{x: x, y: y, tolerance: f.tolerance, shortest: 2, before: &fitter{x: x[:1], y: y[:1], tolerance: f.tolerance}}
	return part.fit()
}

// spacing is how many steps lie between two points.
func (f *fitter) spacing() float64 {
	n := len(f.x)
	return (f.x[n-1] - f.x[0]) / float64(n-1)
}

// returns reports whether the curve is one wave: it rises most of the time and is
// down again at the end.
func (f *fitter) returns() bool {
	n := len(f.y)
	low, high := slices.Min(f.y), slices.Max(f.y)
	near := low + 0.1*(high-low)
	return f.y[0] <= near && f.y[n-1] <= near && len(f.corners()) > n/2
}

// period returns after how many points the curve repeats itself, but for a slope:
// the shortest shift with an autocorrelation near the highest one, after one
// without. 0 when there is none, or less than two periods were seen.
func (f *fitter) period(slope float64) int {
	n := len(f.y)
	rest, mean := make([]float64, n), 0.0
	for i, v := range f.y {
		rest[i] = v - slope*(f.x[i]-f.x[0])
		mean += rest[i] / float64(n)
	}
	best, correlations := 0.0, make([]float64, n/2+1)
	apart := false // past the likeness of neighbours, which any slow curve has
	for lag := 1; lag <= n/2; lag++ {
		var sum, left, right float64
		for i := 0; i+lag < n; i++ {
			a, b := rest[i]-mean, rest[i+lag]-mean
			sum, left, right = sum+a*b, left+a*a, right+b*b
		}
		likeness := 0.0
		if left > 0 && right > 0 {
			likeness = sum / math.Sqrt(left*right)
		}
		if apart = apart || likeness < 0.5; apart && lag >= f.shortest {
			correlations[lag] = likeness
			best = max(best, likeness)
		}
	}
	if best < 0.7 {
		return 0
	}
	for lag := f.shortest; lag <= n/2; lag++ {
		if correlations[lag] > best-0.05 {
			return lag
		}
	}
	return 0
}
