package budget

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sweepModel is the model of the sweep, which many tests look at.
var sweepModel = sync.OnceValues(func() (*MemoryModel, error) {
	t := &testing.T{}
	return Fit(sweep(t), FitOptions{})
})

func fitted(t testing.TB) *MemoryModel {
	t.Helper()
	m, err := sweepModel()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSweepCrossValidation holds the numbers that the model was built for: the median
// error at left-out points up to 3 %, the worst up to 12 %, and intervals of 95 % that
// cover 90 to 99 %.
func TestSweepCrossValidation(t *testing.T) {
	c := fitted(t).Check
	if c.Median > 0.005 || c.Worst > 0.08 || c.OtherMedians[1] > 0.005 || c.OtherWorst > 0.08 {
		t.Errorf("median %.4f, worst %.4f; other divisions: median up to %.4f, worst %.4f", c.Median, c.Worst, c.OtherMedians[1], c.OtherWorst)
	}
	if part := float64(c.Covered) / 72; part < 0.90 || part > 0.99 {
		t.Errorf("intervals cover %d of 72", c.Covered)
	}
	if c.OtherCoverage[1] < 0.92 || c.OtherCoverage[1] > 0.98 {
		t.Errorf("intervals cover %.3f on average under other divisions", c.OtherCoverage[1])
	}
	if c.ReservedMedian > 0.06 || c.ReservedWorst > 0.20 || c.ReservedCovered < 65 {
		t.Errorf("reserved: median %.4f, worst %.4f, covered %d", c.ReservedMedian, c.ReservedWorst, c.ReservedCovered)
	}
	if len(c.Misfits) > 0 {
		t.Errorf("misfits: %+v", c.Misfits)
	}
}

// TestSweepDivisions repeats the cross-validation with other folds than the model's
// own.
func TestSweepDivisions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m := fitted(t)
	covered := 0
	const divisions = 8
	for seed := range uint64(divisions) {
		d := m.divide(checkFolds, 1000+seed)
		median, worst, at := summary(d.errors)
		if median > 0.03 || worst > 0.12 {
			t.Errorf("division %d: median %.4f, worst %.4f at %v", seed, median, worst, m.Points[at].Keys())
		}
		covered += trues(d.inside)
	}
	if part := float64(covered) / (72 * divisions); part < 0.92 || part > 0.98 {
		t.Errorf("intervals cover %.3f of left-out points", part)
	}
}

// TestUnseenCombination leaves every combination of words out: the other words and
// the textbook have to do.
func TestUnseenCombination(t *testing.T) {
	for _, c := range fitted(t).Check.Combinations {
		if c.AloneMedian > 0.03 || c.AloneWorst > 0.12 {
			t.Errorf("%v: median %.4f, worst %.4f", c.Words, c.AloneMedian, c.AloneWorst)
		}
	}
}

// TestCoefficients holds coefficients against what PyTorch does: bytes of weights,
// gradients and optimizer state, and the softmax.
func TestCoefficients(t *testing.T) {
	want := []struct {
		name, when string
		low, high  float64
	}{
		{"weights", "precision=fp32", 3.9, 4.1},
		{"gradients", "precision=fp32", 3.8, 4.2},
		{"optimizer state", "optimizer=adamw", 7.8, 8.3},
		{"optimizer state", "optimizer=sgd", 3.8, 4.2},
		{"temporaries of the step", "optimizer=adamw", 3.8, 4.2},
		{"16-bit copies of the weights", "precision=bf16-amp checkpoint=false", 1.8, 2.3},
		{"attention scores", "attention=eager precision=fp32 checkpoint=false", 3.9, 4.2},
		{"attention scores", "attention=sdpa precision=fp32 checkpoint=false", 0, 0.05},
		{"gradient of the logits", "precision=fp32", 3.9, 4.1},
	}
	m := fitted(t)
	for _, w := range want {
		i := slices.IndexFunc(m.Terms, func(f FittedTerm) bool { return f.Name == w.name && strings.Join(f.When, " ") == w.when })
		if i < 0 {
			t.Errorf("no term %s (%s)", w.name, w.when)
			continue
		}
		if f := m.Terms[i]; f.Bytes < w.low || f.Bytes > w.high || !f.Used {
			t.Errorf("%s (%s): %.3f bytes, want %.1f to %.1f", w.name, w.when, f.Bytes, w.low, w.high)
		}
	}
}

// TestLessKnown fits the sweep with keys or measurements taken away.
func TestLessKnown(t *testing.T) {
	noPhases := func(p *Point) { p.Phases = PhasePeaks{} }
	for _, c := range []struct {
		name          string
		take          func(*Point)
		median, worst float64
	}{
		{"only the peak", noPhases, 0.01, 0.08},
		{"no params", func(p *Point) { delete(p.Numbers, keyParams) }, 0.01, 0.08},
		{"no heads", func(p *Point) { delete(p.Numbers, keyHeads) }, 0.01, 0.08},
		{"no heads, no params, only the peak", func(p *Point) {
			noPhases(p)
			delete(p.Numbers, keyHeads)
			delete(p.Numbers, keyParams)
		}, 0.02, 0.15},
	} {
		points := sweep(t)
		for i := range points {
			c.take(&points[i])
		}
		m, err := Fit(points, FitOptions{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		d := m.divide(checkFolds, 0)
		if median, worst, _ := summary(d.errors); median > c.median || worst > c.worst {
			t.Errorf("%s: median %.4f, worst %.4f", c.name, median, worst)
		}
		if covered := trues(d.inside); covered < 63 {
			t.Errorf("%s: intervals cover %d of 72", c.name, covered)
		}
	}
}

// A run is a made-up program with one model: states, activations and scores.
type madeRun struct{ params, perToken, perPair, lossPerToken float64 }

func (m madeRun) measure(batch, seq, noise float64, phases bool) Point {
	tokens := batch * seq
	forward := 12*m.params + m.perToken*tokens + m.perPair*tokens*seq
	end := 16 * m.params
	size := func(v float64) int64 { return int64(v * (1 + noise)) }
	p := Point{Numbers: map[string]float64{keyBatch: batch, keySeq: seq}, Words: map[string]string{}}
	p.Phases = PhasePeaks{Init: size(4 * m.params), Forward: size(forward), Backward: size(max(end, forward+m.lossPerToken*tokens)),
		AfterBackward: size(end), Step: size(20 * m.params)}
	p.Peak = max(p.Phases.Forward, p.Phases.Backward, p.Phases.Step)
	if !phases {
		p.Phases = PhasePeaks{}
	}
	return p
}

// TestOneModel is the usual case of users: batch, seq and the peak of one model. The
// peak bends where the optimizer's step takes over from the backward.
func TestOneModel(t *testing.T) {
	run := madeRun{params: 1e9, perToken: 2e6, perPair: 40, lossPerToken: 3e5}
	for _, phases := range []bool{false, true} {
		r := rand.New(rand.NewPCG(1, 2))
		var points []Point
		for _, batch := range []float64{1, 2, 4, 8, 16, 32} {
			for _, seq := range []float64{128, 512, 1024, 2048} {
				points = append(points, run.measure(batch, seq, 0.003*r.NormFloat64(), phases))
			}
		}
		m, err := Fit(points, FitOptions{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		for _, batch := range []float64{1, 3, 6, 12, 24, 30} {
			for _, seq := range []float64{200, 700, 1500} {
				want := run.measure(batch, seq, 0, false).Peak
				got, err := m.At(Place{Numbers: map[string]float64{keyBatch: batch, keySeq: seq}, Words: map[string]string{}})
				if err != nil {
					t.Fatal(err)
				}
				if e := float64(got.Peak)/float64(want) - 1; math.Abs(e) > 0.02 || got.Extrapolated {
					t.Errorf("phases %t, batch %g, seq %g: error %.4f, extrapolated %t", phases, batch, seq, e, got.Extrapolated)
				}
				if got.Phase == "step" {
					steps++
				}
			}
		}
		if steps == 0 {
			t.Errorf("phases %t: no peak in the step", phases)
		}
	}
}

// TestCoverageOfNewPoints counts how often intervals hold for runs made at random:
// about as often as they say.
func TestCoverageOfNewPoints(t *testing.T) {
	for _, c := range []struct {
		points int
		phases bool
	}{{10, false}, {24, false}, {24, true}} {
		held, all := 0, 0
		for seed := range uint64(25) {
			r := rand.New(rand.NewPCG(seed, 3))
			run := madeRun{math.Exp(3*r.Float64()) * 1e9, math.Exp(3*r.Float64()) * 1e5, 50 * r.Float64() * float64(seed%2), 1e5 * r.Float64()}
			draw := func() Point {
				return run.measure(float64(int(1)<<r.IntN(6)), float64(int(128)<<r.IntN(5)), 0.01*r.NormFloat64(), c.phases)
			}
			var points []Point
			for range c.points {
				points = append(points, draw())
			}
			m, err := Fit(points, FitOptions{Quick: true})
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				p := draw()
				got, err := m.At(Place{Numbers: p.Numbers, Words: p.Words})
				if err != nil {
					t.Fatal(err)
				}
				all++
				if got.Low <= p.Peak && p.Peak <= got.High {
					held++
				}
			}
		}
		if part := float64(held) / float64(all); part < 0.90 || part > 0.99 {
			t.Errorf("%+v: intervals hold %.3f", c, part)
		}
	}
}

// TestWrongMeasurement adds peaks that are half too high: they are named, and the
// others are predicted as before.
func TestWrongMeasurement(t *testing.T) {
	points := sweep(t)
	wrong := []int{5, 22}
	for _, i := range wrong {
		points[i].Peak = points[i].Peak * 3 / 2
		points[i].Phases, points[i].Reserved = PhasePeaks{}, 0
	}
	m, err := Fit(points, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, x := range m.Check.Misfits {
		found = append(found, x.Point)
	}
	slices.Sort(found)
	if !slices.Equal(found, wrong) {
		t.Errorf("misfits %v, want %v", found, wrong)
	}
	for i := range points {
		if e := m.held[i].predicted/float64(sweep(t)[i].Peak) - 1; math.Abs(e) > 0.05 {
			t.Errorf("point %d: error %.4f", i, e)
		}
	}
}

// TestUserKeys fits a number and a word that the model has never heard of.
func TestUserKeys(t *testing.T) {
	var points []Point
	r := rand.New(rand.NewPCG(4, 4))
	measure := func(batch, rank float64, server string) Point {
		p := Point{Numbers: map[string]float64{"batch": batch, "rank": rank}, Words: map[string]string{"server": server}}
		v := 2e9 + 1e8*batch + 3e7*rank
		if server == "b" {
			v += 5e8
		}
		p.Peak = int64(v * (1 + 0.002*r.NormFloat64()))
		return p
	}
	for _, batch := range []float64{1, 4, 16, 64} {
		for _, rank := range []float64{8, 16, 64} {
			for _, server := range []string{"a", "b"} {
				points = append(points, measure(batch, rank, server))
			}
		}
	}
	m, err := Fit(points, FitOptions{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	want := measure(32, 32, "b").Peak
	got, err := m.Predict(map[string]string{"batch": "32", "rank": "32", "server": "B"})
	if err != nil || math.Abs(float64(got.Peak)/float64(want)-1) > 0.02 {
		t.Errorf("predicted %d, want %d (%v)", got.Peak, want, err)
	}
}

func TestFitErrors(t *testing.T) {
	points := sweep(t)
	if _, err := Fit(points[:2], FitOptions{}); err == nil || !strings.Contains(err.Error(), "2 points: a fit needs 3") {
		t.Errorf("two points: %v", err)
	}
	if _, err := Fit(points, FitOptions{Confidence: 1}); err == nil || !strings.Contains(err.Error(), "confidence 1") {
		t.Errorf("confidence 1: %v", err)
	}
}
