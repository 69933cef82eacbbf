package budget

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/snapview/snapview/internal/units"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Defaults of what is uncertain where the plan does not say it.
const (
	// estimateError is half of the 95 % interval of estimated reserved memory: no more
	// than 1 in 20 of the points of testdata/sweep.jsonl is off by more (a test).
	estimateError = 0.10
	// overheadLow and overheadHigh are the span of memory outside of PyTorch around a
	// typical value that nobody measured: contexts with their kernels differ between
	// cards, drivers and loaded libraries.
	overheadLow, overheadHigh = 0.6, 1.2
	// fragmentationLow and fragmentationHigh are reserved over allocated memory where the points of a
	// model do not have reserved memory: 1 to 1.7 holds 95 % of testdata/sweep.jsonl.
	fragmentationLow, fragmentationHigh = 1, 1.7
)

// Quantiles of the interval that is told.
const (
	lowQuantile  = 0.025
	highQuantile = 0.975
)

// A Risk is the distribution of the memory that a card must have.
type Risk struct {
	Draws     int
	Exceed    float64 // probability to need more than the card has
	ExceedMax float64 // what it is below with 95 % confidence, as draws are finite
	Need      Spread  // reserved memory and what is outside of PyTorch
	Reserved  Spread  // by PyTorch alone

	Inputs []RiskInput
	Bins   []Bin
	Notes  []string
	// Surrogate says how memory between worked-out configurations was interpolated,
	// and how far off that was; "" when every draw was worked out.
	Surrogate string
}

// A Spread is a distribution in short.
type Spread struct{ Low, Median, High int64 } // the 95 % interval

// A Bin is a bar of a histogram.
type Bin struct {
	From, To int64
	Draws    int
}

// A RiskInput is what varies, and what it alone does to the memory needed.
type RiskInput struct {
	Name      string
	Text      string // its distribution
	Low, High string // its values at both ends
	NeedLow   int64
	NeedHigh  int64
}

// Swing is how far the input alone moves the need.
func (i *RiskInput) Swing() int64 { return max(i.NeedLow-i.NeedHigh, i.NeedHigh-i.NeedLow) }

// A draw is one value of every input.
type draw struct {
	variation
	ratio    float64 // reserved over allocated; 0 for what is predicted
	err      float64 // of the prediction, as a part of it
	overhead float64 // bytes
}

// An unsure is one uncertain quantity.
type unsure struct {
	name, text string
	set        func(d *draw, u float64) string // takes the value at a quantile, and says it
}

// A riskStudy works out distributions of one configuration.
type riskStudy struct {
	p        *Plan
	place    planPlace
	base     planMemory
	overhead int64
	measured bool // the overhead
	inputs   []unsure
	notes    []string
}

func (s *riskStudy) setUp() error {
	v := &s.p.Vary
	s.number("sequence length", keySeq, v.Seq, s.place.seqStep(), func(d *draw, n int64) { d.Seq = n })
	s.number("width (hidden)", keyHidden, v.Hidden, s.place.hiddenStep(), func(d *draw, n int64) { d.Hidden = n })
	var err error
	if len(v.Batch) > 0 {
		err = s.chances("batch", v.Batch, strconv.FormatInt(s.place.number(keyBatch), 10), func(d *draw, value string) error {
			n, err := ParseCount(value)
			if err == nil && n < 1 {
				err = fmt.Errorf("%s: must be 1 or more", quote(value))
			}
			d.Batch = n
			return err
		})
	}
	if err == nil && len(v.Precision) > 0 {
		err = s.chances("precision", v.Precision, s.place.word(keyPrecision), func(d *draw, value string) error {
			d.Precision = value
			return nil
		})
	}
	if err != nil {
		return err
	}
	s.fragmentation()
	s.outside()
	s.modelError()
	return nil
}

// number adds an input whose values are whole multiples of a step.
func (s *riskStudy) number(name, key string, span *Span, step int64, set func(*draw, int64)) {
	base := s.place.number(key)
	if span == nil || base == 0 {
		return
	}
	low, high := span.Low, span.High
	if span.Relative {
		low, high = low*float64(base), high*float64(base)
	}
	first, last := int64(math.Ceil(low/float64(step)-1e-9)), int64(math.Floor(high/float64(step)+1e-9))
	if most := s.place.most(key); most > 0 && last*step > most {
		last = most / step
		s.notes = append(s.notes, fmt.Sprintf("%s ends at %s, the positions that the model has", name, units.Count(most)))
	}
	first = max(1, first)
	if last < first { // no multiple in the range
		first, last = max(1, base/step), max(1, base/step)
	}
	text := fmt.Sprintf("%s to %s", units.Count(first*step), units.Count(last*step))
	if step > 1 {
		text += fmt.Sprintf(", in steps of %s", units.Count(step))
	}
	uniform := distuv.Uniform{Min: float64(first) - 0.5, Max: float64(last) + 0.5}
	s.inputs = append(s.inputs, unsure{name, text + ", all as likely", func(d *draw, u float64) string {
		n := min(max(int64(math.Round(uniform.Quantile(u))), first), last) * step
		set(d, n)
		return units.Count(n)
	}})
}

// chances adds an input with few values; what is left of the probability is the
// configuration's own value.
func (s *riskStudy) chances(name string, list []Chance, base string, set func(*draw, string) error) error {
	left := 1.0
	text := ""
	all := slices.Clone(list)
	for _, c := range list {
		var d draw
		if err := set(&d, c.Value); err != nil {
			return s.p.errorAt(c.Line, "%s: %w", name, err)
		}
		if _, err := s.place.memory(d.variation); err != nil { // which names the setting
			return s.p.errorAt(c.Line, "%w", err)
		}
		left -= c.Part
		text += fmt.Sprintf("%s %s, ", units.Safe(c.Value), percentOf(c.Part))
	}
	if left > 1e-9 {
		all = append([]Chance{{Value: base, Part: left}}, all...)
		text += fmt.Sprintf("else %s (%s)", units.Safe(base), percentOf(left))
	} else {
		text = text[:len(text)-2]
	}
	s.inputs = append(s.inputs, unsure{name, text, func(d *draw, u float64) string {
		for _, c := range all {
			if u -= c.Part; u < 1e-12 {
				_ = set(d, c.Value) // tried above
				return units.Safe(c.Value)
			}
		}
		last := all[len(all)-1].Value
		_ = set(d, last)
		return units.Safe(last)
	}})
	return nil
}

func (s *riskStudy) fragmentation() {
	span := s.p.Vary.Fragmentation
	if span == nil {
		if s.base.fragmentationKnown() {
			return
		}
		span = &Span{Low: fragmentationLow, High: fragmentationHigh}
		s.notes = append(s.notes, "the points of the model do not have reserved memory: it is taken to be 1 to 1.7 times the allocated, a default that held 95% of a sweep on an H200; give sensitivity: {fragmentation: LOW..HIGH} when it is known")
	}
	uniform := distuv.Uniform{Min: span.Low, Max: span.High}
	s.inputs = append(s.inputs, unsure{"reserved / allocated", fmt.Sprintf("%s to %s, all as likely", decimalText(span.Low), decimalText(span.High)), func(d *draw, u float64) string {
		d.ratio = uniform.Quantile(u)
		if span.Low == span.High {
			d.ratio = span.Low
		}
		return decimalText(d.ratio)
	}})
}

func (s *riskStudy) outside() {
	span := s.p.Vary.Overhead
	if span == nil {
		if s.measured {
			return
		}
		span = &Span{overheadLow, overheadHigh, true}
	}
	low, high := span.Low, span.High
	if span.Relative {
		low, high = low*float64(s.overhead), high*float64(s.overhead)
	}
	if low == high {
		return
	}
	uniform := distuv.Uniform{Min: low, Max: high}
	text := fmt.Sprintf("%s to %s, all as likely", units.Bytes(int64(low)), units.Bytes(int64(high)))
	s.inputs = append(s.inputs, unsure{"outside of PyTorch", text, func(d *draw, u float64) string {
		d.overhead = uniform.Quantile(u)
		return units.Bytes(int64(d.overhead))
	}})
}

// modelError adds the error of the prediction: a normal distribution whose 95 %
// interval is the model's own.
func (s *riskStudy) modelError() {
	half, from := s.p.Vary.ModelError, "as the plan says"
	switch {
	case half == 0:
		return
	case half < 0 && s.base.Half > 0:
		half, from = s.base.Half, "the interval of the fitted model"
	case half < 0:
		half, from = estimateError, "a default: 95% of a sweep on an H200 was within it"
	}
	normal := distuv.Normal{Sigma: half / distuv.UnitNormal.Quantile(highQuantile)}
	s.inputs = append(s.inputs, unsure{"error of the prediction", fmt.Sprintf("± %s in 95%% of cases, normal; %s", percentOf(half), from), func(d *draw, u float64) string {
		d.err = max(-0.9, normal.Quantile(u))
		return fmt.Sprintf("%+.1f%%", 100*d.err)
	}})
}

// need is what a draw needs of the card, and of it what PyTorch reserves.
func (s *riskStudy) need(d *draw, peak, reserved float64) (need, held float64) {
	held = reserved
	if d.ratio > 0 {
		held = peak * d.ratio
	}
	held *= 1 + d.err
	return held + d.overhead, held
}

// A stream gives each input numbers of its own, so that one input more or less does
// not change the others.
const streamBase = 0x736e6170

// run draws, and judges against a card. offset is added to the memory of every
// configuration: what this card needs more than that the surrogate was made for.
func (s *riskStudy) run(g *surrogate, card int64, offset float64) (*Risk, error) {
	n := s.p.Vary.Draws
	r := &Risk{Draws: n, Notes: slices.Clone(s.notes), Surrogate: g.note}
	sources := make([]*rand.Rand, len(s.inputs))
	for i := range s.inputs {
		sources[i] = rand.New(rand.NewPCG(s.p.Vary.Seed, streamBase+uint64(nameNumber(s.inputs[i].name))))
	}
	needs, held := make([]float64, n), make([]float64, n)
	over := 0
	for k := range n {
		d := draw{overhead: float64(s.overhead)}
		for i := range s.inputs {
			s.inputs[i].set(&d, sources[i].Float64())
		}
		peak, reserved := g.at(&d.variation)
		needs[k], held[k] = s.need(&d, peak+offset, reserved+offset)
		if needs[k] > float64(card) {
			over++
		}
	}
	slices.Sort(needs)
	slices.Sort(held)
	r.Exceed = float64(over) / float64(n)
	// Clopper and Pearson: the probability at which so few draws would exceed in 5 %.
	r.ExceedMax = 1
	if over < n {
		r.ExceedMax = distuv.Beta{Alpha: float64(over + 1), Beta: float64(n - over)}.Quantile(0.95)
	}
	r.Need, r.Reserved = spread(needs), spread(held)
	r.Bins = histogram(needs)
	return r, s.tornado(r, offset)
}

// nameNumber tells inputs apart by their names.
func nameNumber(name string) (h uint32) {
	for _, b := range []byte(name) {
		h = h*31 + uint32(b)
	}
	return h
}

func spread(sorted []float64) Spread {
	at := func(p float64) int64 { return int64(math.Round(stat.Quantile(p, stat.LinInterp, sorted, nil))) }
	return Spread{at(lowQuantile), at(0.5), at(highQuantile)}
}

// histogramBins is how many bars a histogram has.
const histogramBins = 40

func histogram(sorted []float64) []Bin {
	low, high := sorted[0], sorted[len(sorted)-1]
	if high <= low {
		return []Bin{{int64(low), int64(high), len(sorted)}}
	}
	edges := make([]float64, histogramBins+1)
	for i := range edges {
		edges[i] = low + (high-low)*float64(i)/histogramBins
	}
	edges[histogramBins] = math.Nextafter(high, math.Inf(1))
	var out []Bin
	for i, c := range stat.Histogram(nil, edges, sorted, nil) {
		out = append(out, Bin{int64(edges[i]), int64(edges[i+1]), int(c)})
	}
	return out
}

// tornado moves one input at a time to both ends of its 95 % interval, worked out in
// full, the rest staying as configured.
func (s *riskStudy) tornado(r *Risk, offset float64) error {
	for i := range s.inputs {
		in := RiskInput{Name: s.inputs[i].name, Text: s.inputs[i].text}
		best, worst := math.Inf(1), math.Inf(-1)
		for k := range tornadoPoints {
			d := draw{overhead: float64(s.overhead)}
			if s.p.Vary.Fragmentation != nil || !s.base.fragmentationKnown() {
				s.middleRatio(&d)
			}
			value := s.inputs[i].set(&d, lowQuantile+(highQuantile-lowQuantile)*float64(k)/(tornadoPoints-1))
			m := s.base
			if d.variation != (variation{}) {
				var err error
				if m, err = s.place.memory(d.variation); err != nil {
					return fmt.Errorf("%s %s: %w", in.Name, value, err)
				}
			}
			need, _ := s.need(&d, float64(m.Peak)+offset, float64(m.Reserved)+offset)
			if need < best {
				best, in.Low, in.NeedLow = need, value, int64(need)
			}
			if need > worst {
				worst, in.High, in.NeedHigh = need, value, int64(need)
			}
		}
		r.Inputs = append(r.Inputs, in)
	}
	slices.SortStableFunc(r.Inputs, func(a, b RiskInput) int { return cmp.Compare(b.Swing(), a.Swing()) })
	return nil
}

// tornadoPoints are where an input is tried: memory need not be highest at an end.
const tornadoPoints = 5

// middleRatio is the ratio of a draw in which something else varies.
func (s *riskStudy) middleRatio(d *draw) {
	for i := range s.inputs {
		if s.inputs[i].name == "reserved / allocated" {
			s.inputs[i].set(d, 0.5)
		}
	}
}
