package budget

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// FitOptions say how to fit. The zero value is fine.
type FitOptions struct {
	Confidence float64 // of intervals, between 0.5 and 0.99; 0 for 0.95
	Quick      bool    // leave the cross-validation out: Check is nil
}

// DefaultConfidence is that of intervals unless another is asked for.
const DefaultConfidence = 0.95

// A MemoryModel predicts the peak of a training step from measured points.
//
// The peak is the highest of a few moments of the step (the loss, the gradient of
// the loss, the last layer's backward, the end of the backward, the optimizer), and
// at each of them memory is a sum of terms: bytes per parameter for weights,
// gradients and optimizer state, per token and layer for activations, per pair of
// tokens for attention scores, per logit for the loss. Words such as attention=eager
// switch terms on. Every coefficient is at or above zero and starts from a textbook
// figure, from which the points move it as far as they say something about it: what
// no point shows, such as a combination of words that was not measured, rests on the
// textbook, and the interval is the wider for it.
//
// Errors are relative to the peak. Intervals come from the errors at points that
// were left out of the fit in turn (a jackknife), scaled by how well the
// coefficients that matter for the prediction are known: they make no assumption
// about the form of the errors but that new points are like the measured ones.
type MemoryModel struct {
	Points     []Point
	Confidence float64
	Terms      []FittedTerm
	Reserved   *ReservedModel // nil when no point has it
	Check      *FitCheck      // nil unless cross-validated

	schema    schema
	sys       *system
	sol       solution
	known     *posterior
	held      []heldOut // by point
	quantile  float64   // of the held-out scores
	farther   float64   // likewise for combinations of words that were left out whole
	fewPoints bool      // the quantile rests on normal errors

	stored   *CheckJSON // of the file that the model was read from
	keys     []ModelKey
	paramsOf func(map[string]float64) float64 // how params follows from other keys; nil when not known
}

// A FittedTerm is a term with its coefficient.
type FittedTerm struct {
	Name    string
	Class   string   // as in the ledger
	Unit    string   // "b·s·h·L"; "1" for bytes
	When    []string // "attention=eager"
	Moments []string // at which it exists

	Bytes      float64 // per unit
	Textbook   float64 // what it started from
	FromPoints float64 // 0 to 1: how far the points rather than the textbook decide it
	Used       bool    // some point has it
	Zero       bool    // the points say that there is none
}

// A heldOut is what the other points predict for a point.
type heldOut struct {
	predicted  float64 // bytes
	difficulty float64
	moment     moment
}

// score is the error of a held-out point in the unit that intervals are made of.
func (h heldOut) score(measured int64) float64 {
	return math.Abs(float64(measured)/h.predicted-1) / h.difficulty
}

// leastPoints is how many points a fit takes: with two, nothing is left to judge by.
const leastPoints = 3

// Fit fits a model to measured points, which have the same keys (see ReadPoints).
func Fit(points []Point, o FitOptions) (*MemoryModel, error) {
	if len(points) < leastPoints {
		return nil, fmt.Errorf("%d points: a fit needs %d at least, and 20 for intervals that can be checked", len(points), leastPoints)
	}
	if err := checkPoints(points); err != nil {
		return nil, err
	}
	confidence := cmp.Or(o.Confidence, DefaultConfidence)
	if !(confidence >= 0.5 && confidence <= 0.99) {
		return nil, fmt.Errorf("confidence %g: must be between 0.5 and 0.99", confidence)
	}
	m := &MemoryModel{Points: points, Confidence: confidence, schema: schemaOf(points)}
	if n := len(m.schema.terms()); n > maxTerms {
		return nil, fmt.Errorf("%d coefficients: at most %d; leave out words or keys that do not matter", n, maxTerms)
	}
	m.sys = newSystem(m.schema, points)
	if err := m.fit(); err != nil {
		return nil, err
	}
	m.Reserved = m.fitReserved(m.all())
	m.Terms = m.fittedTerms()
	m.paramsOf = m.paramRule()
	m.keys = m.findKeys()
	if !o.Quick {
		m.Check = m.check()
	}
	return m, nil
}

// maxTerms bounds the size of the problem; its cost grows with the third power.
const maxTerms = 150

func (m *MemoryModel) fit() error {
	all := m.all()
	m.sol = m.sys.solve(observations(m.Points, all))
	m.known = m.sys.posterior(m.sol)
	m.held = m.leaveOut(all, m.sol)
	for _, h := range m.held {
		if !(h.predicted > 0) || math.IsInf(h.predicted, 0) || math.IsInf(h.difficulty, 0) || math.IsNaN(h.difficulty) {
			return fmt.Errorf("the points do not give a model: predictions are not sizes; check the values of the keys")
		}
	}
	m.quantile, m.fewPoints = m.scoreQuantile(all, m.held)
	m.farther = max(m.quantile, m.combinationQuantile())
	return nil
}

func (m *MemoryModel) all() []int {
	all := make([]int, len(m.Points))
	for i := range all {
		all[i] = i
	}
	return all
}

// others are all points but some.
func (m *MemoryModel) others(left []int) []int {
	gone := make([]bool, len(m.Points))
	for _, i := range left {
		gone[i] = true
	}
	return slices.DeleteFunc(m.all(), func(i int) bool { return gone[i] })
}

// predict is what a fit says about a point.
func (m *MemoryModel) predict(sol solution, known *posterior, point int) heldOut {
	row := m.sys.rows[point]
	top, v := m.sys.highest(sol.coefficients, row, inStep)
	v = max(v, 1)
	return heldOut{v, m.sys.difficulty(known, row, top, v), top}
}

// Up to maxJackknife points each is left out by itself; more are left out in groups.
const (
	maxJackknife    = 100
	jackknifeGroups = 20
)

// leaveOut predicts each of some points from the others of them. whole is the fit to
// all of them, from which the search for the fit to the others starts.
func (m *MemoryModel) leaveOut(use []int, whole solution) []heldOut {
	out := make([]heldOut, len(use))
	leaveGroups(use, func(rest []int, left []int) {
		sol := m.refit(rest, whole)
		known := m.sys.posterior(sol)
		for _, r := range left {
			out[r] = m.predict(sol, known, use[r])
		}
	})
	return out
}

// leaveGroups calls f, in parallel, for groups of points: with the other points, and
// with the places in use of those left out.
func leaveGroups(use []int, f func(rest, left []int)) {
	groups := len(use)
	if groups > maxJackknife {
		groups = jackknifeGroups
	}
	inParallel(groups, func(g int) {
		var rest, left []int
		for r, i := range use {
			if r%groups == g {
				left = append(left, r)
			} else {
				rest = append(rest, i)
			}
		}
		f(rest, left)
	})
}

// refit is the fit to fewer points than whole was.
func (m *MemoryModel) refit(use []int, whole solution) solution {
	obs := observations(m.Points, use)
	if !m.sys.taught {
		return m.sys.solve(obs)
	}
	return m.sys.improve(obs, whole.coefficients, whole.free)
}

// inParallel calls f(0) to f(n-1) on all processors.
func inParallel(n int, f func(int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// FewPoints is from how many points on intervals come from the errors themselves.
const FewPoints = 20

// scoreQuantile is the score that new points stay under with the confidence of the
// model: an order statistic of the held-out scores, which need not be normal. Of
// fewer than 20 points none is so rare, and Student's distribution extends them.
func (m *MemoryModel) scoreQuantile(use []int, held []heldOut) (q float64, few bool) {
	scores := make([]float64, len(use))
	for r, i := range use {
		scores[r] = held[r].score(m.Points[i].Peak)
	}
	if len(scores) < FewPoints {
		return studentQuantile(scores, m.Confidence), true
	}
	return orderQuantile(scores, m.Confidence), false
}

// orderQuantile is the value that one more number of the same kind stays at or under
// with probability p: the p(n+1)-th smallest, between two of them in proportion.
func orderQuantile(values []float64, p float64) float64 {
	v := slices.Sorted(slices.Values(values))
	rank := p*float64(len(v)+1) - 1
	low := int(rank)
	if rank < 0 {
		return v[0]
	}
	if low >= len(v)-1 {
		return v[len(v)-1]
	}
	return v[low] + (rank-float64(low))*(v[low+1]-v[low])
}

// studentQuantile is the same for few values, taken as the sizes of normal errors
// around 0.
func studentQuantile(values []float64, p float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	n := float64(len(values))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(1, n-1)}.Quantile((1 + p) / 2)
	return t * math.Sqrt(sum/n)
}

// wordList are the words of a point: "attention=eager".
func wordList(words map[string]string) []string {
	var out []string
	for _, key := range inOrder(words, wordKeys) {
		out = append(out, key+"="+words[key])
	}
	return out
}

// combination names the words of a point.
func combination(words map[string]string) string { return strings.Join(wordList(words), " ") }

// combinations are the points by their words, in the order of the first of each.
func (m *MemoryModel) combinations() (names []string, members map[string][]int) {
	members = map[string][]int{}
	for i := range m.Points {
		c := combination(m.Points[i].Words)
		if members[c] == nil {
			names = append(names, c)
		}
		members[c] = append(members[c], i)
	}
	return names, members
}

// maxLeftOut bounds how many combinations are left out in turn.
const maxLeftOut = 40

// combinationQuantile is the score that points of a combination of words that was
// not measured may reach: that of each combination when it alone is left out.
func (m *MemoryModel) combinationQuantile() float64 {
	names, members := m.combinations()
	if len(names) < 3 || len(names) > maxLeftOut {
		return 0
	}
	var scores []float64
	for _, name := range names {
		for r, h := range m.withoutCombination(members[name]) {
			scores = append(scores, h.score(m.Points[members[name][r]].Peak))
		}
	}
	return orderQuantile(scores, m.Confidence)
}

// withoutCombination predicts points from all others.
func (m *MemoryModel) withoutCombination(left []int) []heldOut {
	rest := m.others(left)
	sol := m.sys.solve(observations(m.Points, rest))
	known := m.sys.posterior(sol)
	out := make([]heldOut, len(left))
	for r, i := range left {
		out[r] = m.predict(sol, known, i)
	}
	return out
}

func (m *MemoryModel) fittedTerms() []FittedTerm {
	variance := m.known.variances(len(m.sys.terms))
	out := make([]FittedTerm, len(m.sys.terms))
	for j := range m.sys.terms {
		t := &m.sys.terms[j]
		f := FittedTerm{Name: t.Name, Class: t.Class, Unit: t.unit.String(), Bytes: m.sol.coefficients[j], Textbook: t.textbook}
		for _, c := range t.When {
			f.When = append(f.When, c.String())
		}
		for k := range moment(numMoments) {
			if t.moments.has(k) {
				f.Moments = append(f.Moments, k.String())
			}
		}
		f.Used = slices.ContainsFunc(m.sys.rows, func(r []float64) bool { return r[j] != 0 })
		f.Zero = f.Used && !m.sol.free[j]
		if f.Used && !f.Zero {
			f.FromPoints = min(1, max(0, 1-variance[j]))
		}
		out[j] = f
	}
	return out
}
