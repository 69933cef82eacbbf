package attribution

import (
	"math"
	"testing"
)

// TestGrowthSentences: the sentence says what the curve does, and each number in
// it is one of the curve.
func TestGrowthSentences(t *testing.T) {
	const mib = 1 << 20
	at := func(n int, mibAt func(i int) float64) Series {
		return curve(n, func(i int) float64 { return mib * mibAt(i) })
	}
	inputs := at(40, func(i int) float64 { return 100 + float64(i/4)/1024 }) // the batch itself
	for _, c := range []struct {
		name string
		in   GrowthInput
		want string
	}{
		{"level", GrowthInput{Allocated: at(30, func(int) float64 { return 100 })}, "what tensors hold stays at 100 MiB over 30 steps"},
		{"climbs from step 20 on", GrowthInput{Allocated: at(40, func(i int) float64 { return 100 + float64(max(0, i-19)) })},
			"what tensors hold climbs by 1.00 MiB a step (95 %: 1.00 MiB) since step 19: 20.0 MiB, and still does at the end"},
		{"wave of five", GrowthInput{Allocated: at(40, func(i int) float64 { return 100 + float64(i%5) })},
			"what tensors hold goes up and down between 100 MiB and 104 MiB every 5 steps"},
		{"long plateaus", GrowthInput{Allocated: at(60, func(i int) float64 { return 100 + 50*float64(i/20%2) })},
			"what tensors hold goes up and down between 100 MiB and 150 MiB over 60 steps, without a trend"},
		{"restless", GrowthInput{Allocated: at(60, func(i int) float64 { return 100 + float64(i*i*i%61) })},
			"what tensors hold goes up and down between 100 MiB and 160 MiB over 60 steps, without a trend"},
		{"piles up and is given back", GrowthInput{Allocated: at(30, func(i int) float64 { return 100 + float64(i%29) })},
			"what tensors hold rises from 100 MiB to 128 MiB over 30 steps and returns"},
		{"three points, back at the first", GrowthInput{Allocated: at(3, func(i int) float64 { return 100 + float64(i%2)/64 })},
			"what tensors hold stays at 100 MiB over 3 steps"},
		{"inputs grow", GrowthInput{Allocated: inputs, Peak: at(40, func(i int) float64 { return 120 + 4*float64(i/4) })},
			"what tensors hold rises by no more than 9.00 KiB over 40 steps, when peak rises by 36.0 MiB: inputs grow, and the cache follows the largest so far"},
		{"inputs grow, the highest peak is at first another's", GrowthInput{Allocated: inputs, Peak: at(40, func(i int) float64 { return max(128, 120+4*float64(i/4)) })},
			"what tensors hold rises by no more than 9.00 KiB over 40 steps, when peak rises by 28.0 MiB: inputs grow, and the cache follows the largest so far"},
		{"a small leak beside inputs that grow now and then", GrowthInput{
			Allocated: at(40, func(i int) float64 { return 100 + float64(i)/1024 }), Peak: at(40, func(i int) float64 { return 120 + 20*float64(i/10) })},
			"what tensors hold climbs by 1.00 KiB a step (95 %: 1.00 KiB): 39.0 KiB over 40 steps, and still does at the end"},
		{"the peak climbs, reserved does not", GrowthInput{Reserved: at(30, func(int) float64 { return 300 }), Peak: at(30, func(i int) float64 { return 100 + float64(i) })},
			"peak grows by 1.00 MiB a step, which may be a leak or inputs that grow"},
		{"both climb", GrowthInput{Reserved: at(30, func(i int) float64 { return 300 + 2*float64(i) }), Peak: at(30, func(i int) float64 { return 100 + float64(i) })},
			"reserved grows by 2.00 MiB a step, which may be a leak or the cache of the allocator"},
		{"a peak that settled, reserved too", GrowthInput{Reserved: at(30, func(int) float64 { return 300 }), Peak: at(30, func(i int) float64 { return 100 + float64(min(i, 2)) })},
			"reserved stays at 300 MiB over 30 steps"},
		{"reserved, too few", GrowthInput{Reserved: at(2, func(i int) float64 { return 100 + float64(i) })}, "2 steps of reserved memory, too few for a trend"},
		{"used, too few", GrowthInput{Reserved: Series{Name: "memory in use", Steps: []float64{1}, Bytes: []float64{1}}}, "1 step of memory in use, too few for a trend"},
	} {
		if g := Judge(c.in); g.Why != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, g.Why, c.want)
		}
	}
}

// TestNoPeriodInSlowWaves: neighbours are alike in any curve that changes slowly;
// that is no period.
func TestNoPeriodInSlowWaves(t *testing.T) {
	for name, s := range map[string]Series{
		"one rise and fall": curve(80, func(i int) float64 { return 1e9 * math.Sin(math.Pi*float64(i)/79) }),
		"a block":           curve(80, func(i int) float64 { return 1e9 * float64(b2i(i > 20 && i < 70)) }),
	} {
		if f := Fit(s); f.Period != 0 {
			t.Errorf("%s: a period of %.0f", name, f.Period)
		}
	}
	s := curve(80, func(i int) float64 { return 1e9 * (2 + math.Sin(2*math.Pi*float64(i)/16)) })
	if f := Fit(s); f.Shape != Periodic || f.Period != 16 {
		t.Errorf("a sine of 16 steps: %v, %.0f", f.Shape, f.Period)
	}
}
