package attribution

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A leak is found beneath waves of every kind, with its slope, and waves alone are
// none.
func TestJudgeWaves(t *testing.T) {
	const base, wave, mib = 8 << 30, 500 << 20, 1 << 20
	random := func(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
	uniform, irregular := random(1), random(2)
	tooth, top := 0, 10
	every := func(n int, v float64) func(int) float64 {
		return func(i int) float64 {
			if i%n == 0 {
				return v
			}
			return 0
		}
	}
	for _, c := range []struct {
		name    string
		n       int
		wave    func(i int) float64
		slope   float64
		verdict GrowthVerdict
		within  float64 // of the slope
	}{
		{"teeth", 100, func(i int) float64 { return wave * float64(i%10) / 10 }, 2 * mib, Leak, 0.001},
		{"teeth, a slow leak", 400, func(i int) float64 { return wave * float64(i%10) / 10 }, 0.02 * mib, Leak, 0.001},
		{"teeth alone", 100, func(i int) float64 { return wave * float64(i%10) / 10 }, 0, Steady, 0},
		{"two teeth alone", 20, func(i int) float64 { return wave * float64(i%10) / 10 }, 0, Steady, 0},
		{"irregular teeth alone", 20, func(i int) float64 {
			if tooth++; tooth >= top {
				tooth, top = 0, 5+irregular.IntN(20)
			}
			return wave * float64(tooth) / 15
		}, 0, Steady, 0},
		{"waves", 300, func(i int) float64 { return wave * math.Sin(float64(i)/8) }, mib, Leak, 0.05},
		{"waves alone", 300, func(i int) float64 { return wave * math.Sin(float64(i)/8) }, 0, Steady, 0},
		{"two waves", 100, func(i int) float64 { return wave * math.Sin(float64(i)/8) }, 20 * mib, Inconclusive, math.Inf(1)},
		{"sizes of batches", 200, func(int) float64 { return wave * uniform.Float64() }, 2 * mib, Leak, 0.2},
		{"spikes", 200, every(25, 6*wave), 3 * mib, Leak, 0.001},
		{"dips", 200, every(25, -6*wave), 3 * mib, Leak, 0.001},
		{"zeros in between", 100, func(i int) float64 { return every(13, -base)(i) * (1 + 5*mib*float64(i)/base) }, 5 * mib, Leak, 0.001},
	} {
		g := Judge(GrowthInput{Allocated: curve(c.n, func(i int) float64 { return base + c.wave(i) + c.slope*float64(i) })})
		if g.Verdict != c.verdict {
			t.Errorf("%s: %v, want %v: %s", c.name, g.Verdict, c.verdict, g.Why)
		}
		if g.Verdict == Leak && math.Abs(g.BytesPerStep-c.slope) > c.within*c.slope {
			t.Errorf("%s: %.0f bytes a step, want %.0f", c.name, g.BytesPerStep, c.slope)
		}
		if (g.Need == "") == (g.Verdict == Inconclusive) {
			t.Errorf("%s: %v needs %q", c.name, g.Verdict, g.Need)
		}
	}
}

// Memory that wanders is seldom called a leak, however its values depend on those
// before.
func TestNoLeakByChance(t *testing.T) {
	const base, width, runs = 8e9, 5e8, 25
	for _, memory := range []float64{0, 0.5, 0.9, 1} {
		for _, n := range []int{20, 50, 200} {
			leaks := 0
			for k := range uint64(runs) {
				r := rand.New(rand.NewPCG(k, 7))
				at := 0.0
				if Judge(GrowthInput{Allocated: curve(n, func(int) float64 {
					at = memory*at + width/10*r.NormFloat64()
					return base + at
				})}).Verdict == Leak {
					leaks++
				}
			}
			if most := 2; leaks > most {
				t.Errorf("%d points, each %.1f of the one before: %d leaks of %d", n, memory, leaks, runs)
			}
		}
	}
}

// The numbers of a long curve are those of all its points, though its slope is
// found of medians.
func TestLongCurve(t *testing.T) {
	const n, base, slope = 30_001, 1 << 30, 4096
	s := curve(n, func(i int) float64 { return base + slope*float64(i) })
	f := Fit(s)
	if f.First != 0 || f.Last != n-1 || f.Points != n || f.Grown != slope*(n-1) || f.BytesPerStep != slope || f.At(0) != base || f.End != base+slope*(n-2) {
		t.Errorf("%+v", f)
	}
	s.Steps, s.Bytes, s.Values = s.Steps[:n/2], s.Bytes[:n/2], 10*n
	if f := Fit(s); f.Points != 10*n {
		t.Errorf("%d of %d values", f.Points, s.Values)
	}
}

// What is next to nothing at each of many steps is not nothing once it has added up.
func TestSlowLeakOfALongRun(t *testing.T) {
	s := Series{}
	for i := range 1000 {
		s.Steps, s.Bytes = append(s.Steps, 1e4*float64(i)), append(s.Bytes, 10<<30+1024*1e4*float64(i))
	}
	if g := Judge(GrowthInput{Allocated: s}); g.Verdict != Leak {
		t.Errorf("%v: %s", g.Verdict, g.Why)
	}
}
