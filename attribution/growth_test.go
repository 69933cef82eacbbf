package attribution

import (
	"math"
	"math/rand/v2"
	"testing"
)

// curve makes a series of n points.
func curve(n int, at func(step int) float64) Series {
	s := Series{}
	for i := range n {
		s.Steps = append(s.Steps, float64(i))
		s.Bytes = append(s.Bytes, at(i))
	}
	return s
}

func TestJudgeShapes(t *testing.T) {
	const base = 100 << 20
	noise := rand.New(rand.NewPCG(1, 2))
	cases := []struct {
		name    string
		series  Series
		verdict GrowthVerdict
		shape   Shape
		slope   float64
	}{
		{"flat", curve(50, func(i int) float64 { return base }), Steady, Flat, 0},
		{"flat with noise", curve(200, func(i int) float64 { return base + noise.Float64()*1e6 }), Steady, Flat, math.NaN()},
		{"linear", curve(50, func(i int) float64 { return base + float64(i)*1e6 }), Leak, Monotonic, 1e6},
		{"linear, four points", curve(4, func(i int) float64 { return base + float64(i)*1e6 }), Leak, Monotonic, 1e6},
		{"three points", curve(3, func(i int) float64 { return base + float64(i)*1e6 }), Inconclusive, Monotonic, 1e6},
		{"linear with noise", curve(300, func(i int) float64 { return base + float64(i)*1e5 + noise.Float64()*3e6 }), Leak, Monotonic, 1e5},
		{"linear after a warm-up", curve(50, func(i int) float64 { return base + float64(i)*1e6 - float64(max(0, 2-i))*5e7 }), Leak, Monotonic, 1e6},
		{"linear with many points", curve(30000, func(i int) float64 { return base + float64(i)*1e4 }), Leak, Monotonic, 1e4},
		{"warm-up only", curve(50, func(i int) float64 { return base + float64(min(i, 3))*1e7 }), Steady, Flat, 0},
		{"every fifth step", curve(40, func(i int) float64 { return base + float64((i+1)/5)*1e6 }), Leak, Staircase, 2e5},
		{"every twentieth step", curve(90, func(i int) float64 { return base + float64((i+1)/20)*1e6 }), Leak, Staircase, 5e4},
		{"bounded list", curve(100, func(i int) float64 { return base + float64(min(i, 40))*1e6 }), Steady, Flat, 0},
		{"starts late", curve(100, func(i int) float64 { return base + float64(max(0, i-40))*1e6 }), Leak, Monotonic, 1e6},
		{"sawtooth", curve(100, func(i int) float64 { return base + float64(i%20)*1e6 }), Steady, Periodic, math.NaN()},
		{"sawtooth and leak", curve(100, func(i int) float64 { return base + float64(i%10)*1e6 + float64(i)*5e5 }), Leak, Monotonic, 5e5},
		{"alternating", curve(100, func(i int) float64 { return base + float64(i%2)*1e7 }), Steady, Periodic, math.NaN()},
		{"falls", curve(50, func(i int) float64 { return base - float64(i)*1e6 }), Steady, Flat, math.NaN()},
		{"a scalar a step", curve(50, func(i int) float64 { return base + float64(i)*4 }), Steady, Monotonic, 4},
		{"one rise", curve(50, func(i int) float64 { return base + float64(i/20)*1e7 }), Inconclusive, Staircase, math.NaN()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := Judge(GrowthInput{Allocated: c.series})
			if g.Verdict != c.verdict || g.Shape != c.shape {
				t.Errorf("%v, %v; want %v, %v: %s; %+v", g.Verdict, g.Shape, c.verdict, c.shape, g.Why, g.Allocated)
			}
			if !math.IsNaN(c.slope) && math.Abs(g.BytesPerStep-c.slope) > 0.02*c.slope+1e-6 {
				t.Errorf("%.0f bytes a step, want %.0f", g.BytesPerStep, c.slope)
			}
			if g.Low > g.BytesPerStep || g.High < g.BytesPerStep {
				t.Errorf("interval %v to %v does not hold %v", g.Low, g.High, g.BytesPerStep)
			}
		})
	}
}
