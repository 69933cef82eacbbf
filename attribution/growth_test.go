package attribution

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
		{"bounded list, full late", curve(100, func(i int) float64 { return base + float64(min(i, 70))*1e6 }), Steady, Monotonic, math.NaN()},
		{"starts very late", curve(100, func(i int) float64 { return base + float64(max(0, i-75))*1e6 }), Leak, Monotonic, 1e6},
		{"a cache that fills", curve(200, func(i int) float64 { return base + 1e8*(1-math.Exp(-float64(i)/30)) }), Steady, Monotonic, math.NaN()},
		{"ever slower", curve(200, func(i int) float64 { return base + 1e8*math.Sqrt(float64(i)) }), Inconclusive, Monotonic, math.NaN()},
		{"two equal points", curve(2, func(i int) float64 { return base }), Steady, Flat, 0},
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
			if a := g.Allocated; a.Low > a.BytesPerStep || a.High < a.BytesPerStep {
				t.Errorf("interval %v to %v does not hold %v", a.Low, a.High, a.BytesPerStep)
			}
		})
	}
}

// TestJudgeCache holds curves of noleak_cache, sim_varlen and the first steps of
// gpt_adamw: reserved memory that follows the largest input, and one that only
// warms up.
func TestJudgeCache(t *testing.T) {
	flat := func(n int) Series { return curve(n, func(int) float64 { return 171e6 }) }
	values := func(v ...float64) Series { return curve(len(v), func(i int) float64 { return v[i] * 1e6 }) }
	long := func(n int, v ...float64) Series {
		for len(v) < n {
			v = append(v, v[len(v)-1])
		}
		return values(v...)
	}
	cases := []struct {
		name     string
		in       GrowthInput
		verdict  GrowthVerdict
		shape    Shape
		contains string
	}{
		{"early stairs", GrowthInput{Allocated: flat(40), Reserved: long(40, 209, 209, 228, 228, 335, 335, 537)}, CacheGrowth, Staircase, "3 stairs up to step 6"},
		{"second step", GrowthInput{Allocated: flat(40), Reserved: long(40, 904, 1160)}, Steady, Flat, "stays"},
		{"two steps", GrowthInput{Allocated: flat(2), Reserved: values(904, 1160)}, Steady, Flat, "over 2 steps"},
		{"late stairs", GrowthInput{Allocated: flat(8), Reserved: values(200, 200, 200, 250, 250, 300, 300, 350)}, CacheGrowth, Staircase, "rises by 143 MiB"},
		{"peaks alone", GrowthInput{Allocated: flat(8), Peak: values(200, 200, 200, 250, 250, 300, 300, 350)}, CacheGrowth, Staircase, ""},
		{"peaks alone, of a validation now and then", GrowthInput{Allocated: flat(9), Peak: values(200, 200, 200, 300, 200, 200, 300, 200, 200)}, Steady, Flat, "stays"},
		{"reserved follows allocated", GrowthInput{Allocated: long(30, 100, 110, 120, 130, 140, 150), Reserved: long(30, 110, 121, 132, 143, 154, 165)}, Steady, Flat, "stays"},
		{"a leak and its reserved", GrowthInput{Allocated: curve(30, func(i int) float64 { return 1e8 + 1e6*float64(i) }), Reserved: curve(30, func(i int) float64 { return 2e8 + 5e6*float64(i/5) })}, Leak, Monotonic, "977 KiB a step"},
		{"reserved alone, stops", GrowthInput{Reserved: long(30, 110, 121, 132, 143, 154, 165)}, Steady, Flat, ""},
		{"reserved alone, climbs", GrowthInput{Reserved: curve(30, func(i int) float64 { return 2e8 + 5e6*float64(i/5) })}, Inconclusive, Staircase, "may be a leak"},
		{"nothing", GrowthInput{}, Inconclusive, Flat, "no memory curve"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := Judge(c.in)
			if g.Verdict != c.verdict || g.Shape != c.shape || !strings.Contains(g.Why, c.contains) {
				t.Errorf("%v, %v: %s; want %v, %v, %q", g.Verdict, g.Shape, g.Why, c.verdict, c.shape, c.contains)
			}
			if (g.Need == "") == (g.Verdict == Inconclusive) {
				t.Errorf("%v needs %q", g.Verdict, g.Need)
			}
		})
	}
}

// TestFitProperties: whatever the noise, a climbing line with room above it is
// found with its slope, a level one is never called a leak, and no input breaks
// Fit or gives an interval without its slope.
func TestFitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(12, 900).Draw(t, "points")
		slope := float64(rapid.IntRange(1, 1000).Draw(t, "slope")) * 1e4
		climbs := rapid.Bool().Draw(t, "climbs")
		warm := rapid.IntRange(0, 3).Draw(t, "warm-up")
		noise := rapid.Float64Range(0, 0.1).Draw(t, "noise") * slope * float64(n)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := curve(n, func(i int) float64 {
			y := 1e9 + noise*random.Float64()
			if climbs {
				y += slope * float64(i)
			}
			if i < warm {
				y -= 5e8
			}
			return y
		})
		g := Judge(GrowthInput{Allocated: s})
		switch {
		case climbs && n >= 30 && (g.Verdict != Leak || math.Abs(g.BytesPerStep-slope) > 0.2*slope):
			t.Fatalf("%v with %.0f a step, want a leak with %.0f: %s", g.Verdict, g.BytesPerStep, slope, g.Why)
		case !climbs && g.Verdict == Leak:
			t.Fatalf("a level curve is a leak: %s", g.Why)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := Series{Resolution: rapid.Float64Range(0, 10).Draw(t, "resolution")}
		s.Steps = rapid.SliceOf(rapid.Float64Range(0, 1e6)).Draw(t, "steps")
		s.Bytes = rapid.SliceOfN(rapid.Float64(), len(s.Steps), len(s.Steps)).Draw(t, "bytes")
		if f := Fit(s); f.Low > f.BytesPerStep || f.High < f.BytesPerStep || f.Points < 0 || f.WarmUp < 0 {
			t.Fatalf("%+v", f)
		}
	})
}
