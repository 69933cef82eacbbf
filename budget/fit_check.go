package budget

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A FitCheck is how well a model does on points that it was not fitted to. Errors
// are parts of the measured peak.
type FitCheck struct {
	Folds      int
	Median     float64 // of absolute errors, each point predicted from the other folds
	Worst      float64
	WorstPoint int     // index into MemoryModel.Points
	Covered    int     // points inside of the interval that the other folds gave
	Width      float64 // mean half of that interval as a part of the prediction

	// The same under other divisions into folds.
	Divisions     int
	OtherMedians  [2]float64 // lowest and highest
	OtherWorst    float64
	OtherCoverage [3]float64 // lowest, mean, highest

	Combinations []CombinationCheck

	// Misfits are the points, worst first, whose error is far beyond that of the
	// others: wrong measurements, or something that the keys do not tell.
	Misfits []Misfit

	ReservedMedian, ReservedWorst float64 // 0 when not measured
	ReservedCovered, ReservedOf   int
}

// A CombinationCheck is the errors of the points with the same words.
type CombinationCheck struct {
	Words         []string // "attention=eager", "precision=fp32"; empty when there are none
	Points        int
	Median, Worst float64 // in the cross-validation
	Bias          float64 // mean of predicted/measured − 1
	// Alone: predicted from the other combinations only; NaN when there are too few.
	AloneMedian, AloneWorst float64
}

// HasAlone reports whether the combination was also left out whole.
func (c *CombinationCheck) HasAlone() bool { return !math.IsNaN(c.AloneMedian) }

// A Misfit is a point that does not fit.
type Misfit struct {
	Point     int
	Predicted int64
	Error     float64 // predicted/measured − 1
}

const (
	checkFolds     = 5
	otherDivisions = 6
	manyPoints     = 500 // from here on the divisions differ little, and each takes long
)

// A division is a cross-validation under one division of the points into folds.
type division struct {
	errors  []float64 // signed, by point
	inside  []bool
	halves  []float64
	rErrors []float64 // of reserved memory; NaN where not measured
	rInside []bool
}

// check cross-validates the model. The folds depend on the number of points only.
func (m *MemoryModel) check() *FitCheck {
	folds := min(checkFolds, len(m.Points))
	divisions := make([]division, 1+otherDivisions)
	if len(m.Points) > manyPoints {
		divisions = divisions[:2]
	}
	inParallel(len(divisions), func(k int) { divisions[k] = m.divide(folds, uint64(k)) })
	c := &FitCheck{Folds: folds, Divisions: len(divisions) - 1, OtherMedians: [2]float64{math.Inf(1), 0}, OtherCoverage: [3]float64{1, 0, 0}}
	first := divisions[0]
	c.Median, c.Worst, c.WorstPoint = summary(first.errors)
	c.Covered = trues(first.inside)
	c.Width = mean(first.halves)
	for _, d := range divisions[1:] {
		median, worst, _ := summary(d.errors)
		c.OtherMedians[0], c.OtherMedians[1] = min(c.OtherMedians[0], median), max(c.OtherMedians[1], median)
		c.OtherWorst = max(c.OtherWorst, worst)
		covered := float64(trues(d.inside)) / float64(len(m.Points))
		c.OtherCoverage[0], c.OtherCoverage[2] = min(c.OtherCoverage[0], covered), max(c.OtherCoverage[2], covered)
		c.OtherCoverage[1] += covered / float64(c.Divisions)
	}
	m.checkReserved(c, first)
	c.Combinations = m.checkCombinations(first.errors)
	c.Misfits = m.misfits(first.errors)
	return c
}

// folds divides points at random, the same way each time.
func foldsOf(n, folds int, seed uint64) [][]int {
	out := make([][]int, folds)
	for r, i := range rand.New(rand.NewPCG(seed, 7)).Perm(n) {
		out[r%folds] = append(out[r%folds], i)
	}
	return out
}

// divide predicts each fold, with its intervals, from the other folds alone.
func (m *MemoryModel) divide(folds int, seed uint64) division {
	n := len(m.Points)
	d := division{make([]float64, n), make([]bool, n), make([]float64, n), make([]float64, n), make([]bool, n)}
	for _, left := range foldsOf(n, folds, seed) {
		part := m.part(m.others(left))
		for _, i := range left {
			h := part.predict(part.sol, part.known, i)
			measured := float64(m.Points[i].Peak)
			d.errors[i] = h.predicted/measured - 1
			d.halves[i] = part.quantile * h.difficulty
			d.inside[i] = math.Abs(measured/h.predicted-1) <= d.halves[i]
			d.rErrors[i] = math.NaN()
			if r := m.Points[i].Reserved; r > 0 && part.Reserved != nil {
				v := part.Reserved.of(m.reservedRow(m.Points[i].Numbers, h.predicted))
				d.rErrors[i] = v/float64(r) - 1
				d.rInside[i] = math.Abs(float64(r)/v-1) <= math.Hypot(part.Reserved.Half, d.halves[i])
			}
		}
	}
	return d
}

// part is the model of some of the points, with its intervals. It shares the terms:
// those that none of its points has rest on the textbook.
func (m *MemoryModel) part(use []int) *MemoryModel {
	p := &MemoryModel{Points: m.Points, Confidence: m.Confidence, schema: m.schema, sys: m.sys.scaledBy(use)}
	p.sol = p.sys.solve(observations(m.Points, use))
	p.known = p.sys.posterior(p.sol)
	held := p.leaveOut(use, p.sol)
	p.quantile, _ = p.scoreQuantile(use, held)
	p.Reserved = p.fitReserved(use)
	return p
}

func summary(errors []float64) (median, worst float64, at int) {
	sizes := make([]float64, len(errors))
	for i, e := range errors {
		sizes[i] = math.Abs(e)
		if sizes[i] > sizes[at] {
			at = i
		}
	}
	return orderQuantile(sizes, 0.5), sizes[at], at
}

func trues(flags []bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func (m *MemoryModel) checkReserved(c *FitCheck, d division) {
	var errors []float64
	for i, e := range d.rErrors {
		if math.IsNaN(e) {
			continue
		}
		errors = append(errors, e)
		c.ReservedOf++
		if d.rInside[i] {
			c.ReservedCovered++
		}
	}
	if len(errors) > 0 {
		c.ReservedMedian, c.ReservedWorst, _ = summary(errors)
	}
}

func (m *MemoryModel) checkCombinations(errors []float64) []CombinationCheck {
	names, members := m.combinations()
	slices.Sort(names)
	out := make([]CombinationCheck, len(names))
	inParallel(len(names), func(k int) {
		left := members[names[k]]
		these := make([]float64, len(left))
		for r, i := range left {
			these[r] = errors[i]
		}
		c := CombinationCheck{Words: wordList(m.Points[left[0]].Words), Points: len(left), Bias: mean(these), AloneMedian: math.NaN(), AloneWorst: math.NaN()}
		c.Median, c.Worst, _ = summary(these)
		if len(names) > 1 && len(names) <= maxLeftOut && len(m.Points)-len(left) >= leastPoints {
			for r, h := range m.withoutCombination(left) {
				these[r] = h.predicted/float64(m.Points[left[r]].Peak) - 1
			}
			c.AloneMedian, c.AloneWorst, _ = summary(these)
		}
		out[k] = c
	})
	return out
}

// A misfit is an error of over 5 % and beyond six times what the errors' median
// makes the usual size of one.
const (
	misfitError = 0.05
	misfitSize  = 6 * 1.4826
)

func (m *MemoryModel) misfits(errors []float64) []Misfit {
	median, _, _ := summary(errors)
	var out []Misfit
	for i, e := range errors {
		if math.Abs(e) > max(misfitError, misfitSize*median) {
			out = append(out, Misfit{i, int64(math.Round(float64(m.Points[i].Peak) * (1 + e))), e})
		}
	}
	slices.SortStableFunc(out, func(a, b Misfit) int {
		if math.Abs(a.Error) > math.Abs(b.Error) {
			return -1
		}
		return 1
	})
	return out
}
