package budget

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// noise is how well a model of this kind can know a peak: the caching allocator
// rounds blocks and leaves up to 1 MiB of a segment unsplit, which moves allocated
// bytes by about this part of the peak. It only weighs the textbook against the
// points: with ten points on a coefficient the textbook has no say any more.
const noise = 0.01

// An observation is one measured number: the highest of its moments.
type observation struct {
	point   int
	moments momentSet
	bytes   float64
}

// observations lists what a point says about the moments.
func observations(points []Point, use []int) []observation {
	var out []observation
	for _, i := range use {
		p := &points[i]
		add := func(bytes int64, moments ...moment) {
			if bytes > 0 {
				out = append(out, observation{i, at(moments...), float64(bytes)})
			}
		}
		add(p.Phases.Init, builtMoment)
		add(p.Phases.Forward, lossMoment)
		add(p.Phases.AfterBackward, gradMoment)
		add(p.Phases.Backward, lossGradMoment, layerMoment, gradMoment)
		add(p.Phases.Step, stepMoment)
		if p.Phases.Forward == 0 || p.Phases.Backward == 0 || p.Phases.Step == 0 {
			add(p.Peak, lossMoment, lossGradMoment, layerMoment, gradMoment, stepMoment)
		}
	}
	return out
}

// A system is the least-squares problem of some points.
type system struct {
	terms []term
	rows  [][]float64 // by point: the value of each term
	peaks []float64
	scale []float64 // spread of each coefficient: the unit in which it is solved for
	start []float64 // textbook, in that unit
	// taught: the textbook knows the sizes of most terms.
	taught bool
}

func newSystem(sc schema, points []Point) *system {
	s := &system{terms: sc.terms(), taught: sc.transformer()}
	use := make([]int, len(points))
	for i := range points {
		s.rows = append(s.rows, sc.row(s.terms, points[i].Numbers, points[i].Words))
		s.peaks = append(s.peaks, float64(points[i].Peak))
		use[i] = i
	}
	return s.scaledBy(use)
}

// scaledBy is the system with the spread of what the textbook does not know taken
// from some of the points.
func (s *system) scaledBy(use []int) *system {
	out := *s
	out.scale, out.start = make([]float64, len(s.terms)), make([]float64, len(s.terms))
	for j := range s.terms {
		t := &s.terms[j]
		switch {
		case t.spread > 0:
			out.scale[j] = t.spread
		case t.textbook > 0:
			out.scale[j] = textbookSpread * t.textbook
		default:
			out.scale[j] = s.freeScale(j, use)
		}
		out.start[j] = t.textbook / out.scale[j]
	}
	return &out
}

// textbookSpread is how far off a figure of the textbook may be, as a part of it and as
// a standard deviation: dropout, other activation functions, gated and grouped layers.
const textbookSpread = 0.5

// freeScale is the spread of a coefficient that no textbook knows: one that would
// make the term the whole of the peaks.
func (s *system) freeScale(j int, use []int) float64 {
	sum, n := 0.0, 0
	for _, i := range use {
		if x := s.rows[i][j]; x > 0 {
			sum += x / s.peaks[i]
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return float64(n) / sum
}

// value is what the model says about a row at a moment, in bytes.
func (s *system) value(c, row []float64, m moment) float64 {
	v := 0.0
	for j, x := range row {
		if x != 0 && s.terms[j].moments.has(m) {
			v += c[j] * x
		}
	}
	return v
}

// highest is the moment of a set with the highest value.
func (s *system) highest(c, row []float64, moments momentSet) (moment, float64) {
	best, at := math.Inf(-1), moment(0)
	for m := range moment(numMoments) {
		if moments.has(m) {
			if v := s.value(c, row, m); v > best {
				best, at = v, m
			}
		}
	}
	return at, best
}

// An equation says what memory is at a moment of a point.
type equation struct {
	point  int
	moment moment
	bytes  float64
	weight float64 // 1, or less where a point is far from what the others say
}

// gross is the error, in units of noise, from which on a point pulls with the same
// force however far off it is (Huber's loss): a wrong measurement must not bend the
// model for the others.
const gross = 5

// pull is the weight that gives an error Huber's loss.
func pull(e float64) float64 { return min(1, gross/math.Abs(e)) }

// equations turns observations into one equation each, at the moment that is
// highest now, and one more for each other moment that would exceed what was
// measured. At the start, errors say nothing about the points yet.
func (s *system) equations(obs []observation, c []float64, start bool) []equation {
	var out []equation
	for _, o := range obs {
		top, v := s.highest(c, s.rows[o.point], o.moments)
		weight := 1.0
		if !start {
			weight = pull(s.error(o, v))
		}
		out = append(out, equation{o.point, top, o.bytes, weight})
		for m := range moment(numMoments) {
			if m != top && o.moments.has(m) && s.value(c, s.rows[o.point], m) > o.bytes {
				out = append(out, equation{o.point, m, o.bytes, weight})
			}
		}
	}
	return out
}

// error is that of a value in units of noise.
func (s *system) error(o observation, v float64) float64 {
	return (v - o.bytes) / (s.peaks[o.point] * noise)
}

// normal is the matrix and the right side of the equations, weighted by 1/peak,
// with the textbook as one more equation per coefficient.
func (s *system) normal(eqs []equation) (*mat.SymDense, []float64) {
	n := len(s.terms)
	data, h := make([]float64, n*n), make([]float64, n)
	index, values := make([]int, 0, n), make([]float64, 0, n)
	for _, e := range eqs {
		index, values = index[:0], values[:0]
		w := 1 / (s.peaks[e.point] * noise)
		for j, x := range s.rows[e.point] {
			if x != 0 && s.terms[j].moments.has(e.moment) {
				index, values = append(index, j), append(values, x*s.scale[j]*w)
			}
		}
		for a, i := range index {
			h[i] += values[a] * e.bytes * w * e.weight
			for b := a; b < len(index); b++ {
				data[i*n+index[b]] += values[a] * values[b] * e.weight
			}
		}
	}
	for j := range n {
		data[j*n+j]++
		h[j] += s.start[j]
	}
	return mat.NewSymDense(n, data), h
}

// solution is a fit to some points.
type solution struct {
	coefficients []float64
	free         []bool
	loss         float64
	eqs          []equation
}

// solve fits the coefficients from several starts and returns the best fit. Which
// moment a peak belongs to is not a convex question, so where the start matters, it
// is tried: the textbook, and every division of the points into small ones that
// peak in the step and large ones that peak in the backward.
func (s *system) solve(obs []observation) solution {
	best := s.improve(obs, s.textbook(), nil)
	for _, start := range s.splits(obs) {
		if other := s.improve(obs, start, nil); other.loss < best.loss {
			best = other
		}
	}
	return best
}

// improve fits from one start: equations at the highest moments, non-negative least
// squares, and again until the moments stay the same.
func (s *system) improve(obs []observation, c []float64, guess []bool) solution {
	best := solution{loss: math.Inf(1)}
	if guess == nil {
		guess = slices.Repeat([]bool{true}, len(s.terms))
	}
	for round := range 30 {
		eqs := s.equations(obs, c, round == 0)
		next := s.leastSquares(obs, eqs, guess)
		if next.loss >= best.loss*(1-1e-6) {
			break
		}
		best = next
		c, guess = next.coefficients, next.free
	}
	return best
}

func (s *system) leastSquares(obs []observation, eqs []equation, guess []bool) solution {
	g, h := s.normal(eqs)
	z, free := nnls(g, h, guess)
	c := make([]float64, len(z))
	for j := range z {
		c[j] = z[j] * s.scale[j]
	}
	return solution{c, free, s.loss(obs, c, z), eqs}
}

// maxSplits bounds how many divisions of the points are tried.
const maxSplits = 12

// splits are starts for points of which only the peak is known: each takes the
// points below some peak as of the step. None where the textbook is a good start.
func (s *system) splits(obs []observation) [][]float64 {
	if s.taught {
		return nil
	}
	var open []int
	for i, o := range obs {
		if o.moments == inStep {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(obs[a].bytes, obs[b].bytes) })
	var out [][]float64
	for _, k := range sampled(len(open), maxSplits) {
		eqs := make([]equation, len(obs))
		for i, o := range obs {
			m, _ := s.highest(s.textbook(), s.rows[o.point], o.moments)
			eqs[i] = equation{o.point, m, o.bytes, 1}
		}
		for r, i := range open {
			eqs[i].moment = lossGradMoment
			if r < k {
				eqs[i].moment = stepMoment
			}
		}
		out = append(out, s.leastSquares(obs, eqs, nil).coefficients)
	}
	return out
}

// sampled returns at most most of the numbers 0 to n, evenly.
func sampled(n, most int) []int {
	if n == 0 {
		return nil
	}
	var out []int
	step := max(1, float64(n)/float64(most-1))
	for k := 0.0; int(k+0.5) < n; k += step {
		out = append(out, int(k+0.5))
	}
	return out
}

// loss is the sum of squared errors over noise, gross ones less, and of the distance
// from the textbook.
func (s *system) loss(obs []observation, c, z []float64) float64 {
	sum := 0.0
	for _, o := range obs {
		_, v := s.highest(c, s.rows[o.point], o.moments)
		d := math.Abs(s.error(o, v))
		if d <= gross {
			sum += d * d
		} else {
			sum += gross * (2*d - gross)
		}
	}
	for j := range z {
		d := z[j] - s.start[j]
		sum += d * d
	}
	return sum
}

func (s *system) textbook() []float64 {
	c := make([]float64, len(s.terms))
	for j := range s.terms {
		c[j] = s.terms[j].textbook
	}
	return c
}

// A posterior is how well the coefficients of a fit are known.
type posterior struct {
	index []int // the coefficients off the bound
	chol  mat.Cholesky
	ok    bool // false when the equations are too badly conditioned to tell
}

func (s *system) posterior(sol solution) *posterior {
	g, _ := s.normal(sol.eqs)
	p := &posterior{}
	for j, f := range sol.free {
		if f {
			p.index = append(p.index, j)
		}
	}
	sub := mat.NewSymDense(max(1, len(p.index)), nil)
	sub.SetSym(0, 0, 1)
	for k, i := range p.index {
		for l := k; l < len(p.index); l++ {
			sub.SetSym(k, l, g.At(i, p.index[l]))
		}
	}
	p.ok = p.chol.Factorize(sub)
	return p
}

// difficulty is how uncertain a prediction is as a multiple of the noise: 1 where
// the coefficients are well known, more where the points say little about what the
// configuration needs.
func (s *system) difficulty(p *posterior, x []float64, m moment, peak float64) float64 {
	if !p.ok {
		return math.Inf(1)
	}
	a := mat.NewVecDense(max(1, len(p.index)), nil)
	for k, j := range p.index {
		if s.terms[j].moments.has(m) {
			a.SetVec(k, x[j]*s.scale[j]/(peak*noise))
		}
	}
	var y mat.VecDense
	if err := p.chol.SolveVecTo(&y, a); err != nil {
		return math.Inf(1)
	}
	return math.Sqrt(1 + mat.Dot(a, &y))
}

// variances are those of the coefficients, as parts of what they were before any
// point was seen; 1 for those on the bound.
func (p *posterior) variances(n int) []float64 {
	out := slices.Repeat([]float64{1}, n)
	var inverse mat.SymDense
	if !p.ok || len(p.index) == 0 || p.chol.InverseTo(&inverse) != nil {
		return out
	}
	for k, j := range p.index {
		out[j] = inverse.At(k, k)
	}
	return out
}
