package attribution

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// mostPairs bounds the points whose pairs are compared. Longer series are
// thinned to medians of equal stretches first.
const mostPairs = 512

// A slope is a Theil–Sen slope with Sen's interval.
type slope struct{ median, low, high float64 }

// senSlope returns the median of the slopes between all pairs of points and its
// 95 % interval (P. K. Sen, 1968: the order statistics at (N ± z·√Var S)/2 of
// the N slopes, with Var S of Kendall's S corrected for ties). Steps must ascend;
// pairs of the same step do not count.
func senSlope(x, y []float64) slope { return senSlopeOf(x, y, 1) }

// senSlopeOf is senSlope for points that depend on those before: dependence is
// the factor by which that raises Var S.
func senSlopeOf(x, y []float64, dependence float64) slope {
	n := len(x)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if d := x[j] - x[i]; d > 0 {
				slopes = append(slopes, (y[j]-y[i])/d)
			}
		}
	}
	if len(slopes) == 0 {
		return slope{}
	}
	slices.Sort(slopes)
	half := distuv.UnitNormal.Quantile(0.975) * math.Sqrt(dependence*kendallVariance(y))
	count := float64(len(slopes))
	low := int(math.Floor((count - half) / 2))
	high := int(math.Ceil((count + half) / 2))
	return slope{
		median: median(slopes),
		low:    slopes[max(low-1, 0)],
		high:   slopes[min(high, len(slopes)-1)],
	}
}

// dependence is (1+ρ)/(1−ρ) with the correlation ρ of a point's distance from a
// line with that of the point before: how many points count as one (Yue and
// Wang, 2004). Memory that wanders looks like a trend without it.
func dependence(x, y []float64, slope float64) float64 {
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = y[i] - slope*(x[i]-x[0])
	}
	mean := stat.Mean(rest, nil)
	var all, lagged float64
	for i := range rest {
		rest[i] -= mean
		all += rest[i] * rest[i]
		if i > 0 {
			lagged += rest[i] * rest[i-1]
		}
	}
	rho, n := lagged/all, float64(len(x))
	if n >= 2*fewest {
		rho = (rho + 2/n) / (1 - 4/n) // what is lost, on average, to the line
	}
	rho = min(max(rho, 0), 0.95)
	if math.IsNaN(rho) {
		return 1 // every point on the line, or numbers too large to multiply
	}
	return (1 + rho) / (1 - rho)
}

// kendallVariance is the variance of Kendall's S when nothing is ordered.
func kendallVariance(y []float64) float64 {
	term := func(n float64) float64 { return n * (n - 1) * (2*n + 5) }
	v := term(float64(len(y)))
	sorted := slices.Sorted(slices.Values(y))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		v -= term(float64(j - i))
		i = j
	}
	return max(v, 0) / 18
}

// median of sorted values.
func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

func medianOf(values []float64) float64 { return median(slices.Sorted(slices.Values(values))) }

// quantile of values in any order.
func quantile(p float64, values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Quantile(p, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// thin reduces a series to at most n points: medians of equal stretches.
func thin(x, y []float64, n int) ([]float64, []float64) {
	if len(x) <= n {
		return x, y
	}
	tx, ty := make([]float64, n), make([]float64, n)
	for i := range n {
		first, last := i*len(x)/n, (i+1)*len(x)/n
		tx[i], ty[i] = medianOf(x[first:last]), medianOf(y[first:last])
	}
	return tx, ty
}
