package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// A MemoryCurve is memory against one number, the rest fixed.
type MemoryCurve struct {
	Over   string
	Values []CurveValue
	Pieces []CurvePiece
	Notes  []string
}

// A CurveValue is the prediction at one value.
type CurveValue struct {
	Value int
	Prediction
}

// A CurvePiece is a stretch of values over which the peak is at the same moment.
// Between two pieces the curve has a knee.
type CurvePiece struct {
	First, Last int // values, as far as they were computed
	Phase       string
	Moment      string
	Slope       int64 // bytes per unit of the key, from first to last
	SlopeFirst  int64 // at the first value, and at the last: they differ where the curve bends
	SlopeLast   int64
	Kind        PieceKind
	Straight    bool
}

// A PieceKind says what a stretch of the curve is made of.
type PieceKind string

const (
	// SteepPiece: memory grows with the key, as activations do.
	SteepPiece PieceKind = "activations"
	// FlatPiece: it does not, as states do: weights, gradients and the optimizer.
	FlatPiece PieceKind = "states"
)

// maxCurve bounds how many values are computed.
const maxCurve = 64

// flatShare is the growth over a piece, as a part of the peak, below which it is flat.
const flatShare = 0.02

// ParseRange reads "batch=1..64" or "seq=512..8192".
func ParseRange(text string) (key string, first, last int, err error) {
	key, span, ok := strings.Cut(text, "=")
	a, b, too := strings.Cut(span, "..")
	first, e1 := strconv.Atoi(strings.TrimSpace(a))
	last, e2 := strconv.Atoi(strings.TrimSpace(b))
	if !ok || !too || e1 != nil || e2 != nil || key == "" {
		return "", 0, 0, fmt.Errorf("%q is not a range; write it like batch=1..64", units.Safe(units.Ellipsis(text, 40)))
	}
	if first < 1 || last <= first || last > maxSearch {
		return "", 0, 0, fmt.Errorf("%q: a range goes up, from 1 at least to %s at most", units.Safe(units.Ellipsis(text, 40)), units.Count(maxSearch))
	}
	return strings.TrimSpace(key), first, last, nil
}

// Curve predicts memory for the values of a key from first to last.
func (m *MemoryModel) Curve(over string, first, last int, set map[string]string) (*MemoryCurve, error) {
	key := keyName(over)
	place, err := m.placeOver(key, set)
	if err != nil {
		return nil, err
	}
	s := &batchSearch{m: m, key: key, step: 1, place: place, tried: map[int]*Prediction{}}
	c := &MemoryCurve{Over: key}
	for _, v := range curveValues(first, last) {
		p, err := s.at(v)
		if err != nil {
			return nil, err
		}
		c.Values = append(c.Values, CurveValue{v, *p})
	}
	if c.Pieces, err = s.pieces(c.Values); err != nil {
		return nil, err
	}
	c.Notes = c.commonNotes()
	return c, nil
}

// curveValues are the values to compute: all of a short range, else evenly spaced
// ones, rounded to what people choose.
func curveValues(first, last int) []int {
	n := last - first
	if n < maxCurve {
		out := make([]int, n+1)
		for i := range out {
			out[i] = first + i
		}
		return out
	}
	step := niceStep(n / (maxCurve / 2))
	out := []int{first}
	for v := first/step*step + step; v < last; v += step {
		out = append(out, v)
	}
	return append(out, last)
}

// niceStep is the power of two from n up.
func niceStep(n int) int {
	step := 1
	for step < n {
		step *= 2
	}
	return step
}

// pieces divides the curve where the moment of the peak changes; each knee is looked
// for between the two values that it lies between.
func (s *batchSearch) pieces(values []CurveValue) ([]CurvePiece, error) {
	var out []CurvePiece
	first := values[0].Value
	for i := 1; i < len(values); i++ {
		if values[i].Moment == values[i-1].Moment {
			continue
		}
		last, err := s.knee(values[i-1].Value, values[i].Value)
		if err != nil {
			return nil, err
		}
		piece, err := s.piece(first, last)
		if err != nil {
			return nil, err
		}
		out, first = append(out, piece), last+1
	}
	piece, err := s.piece(first, values[len(values)-1].Value)
	return append(out, piece), err
}

// knee is the last value with the moment of low, which high does not have.
func (s *batchSearch) knee(low, high int) (int, error) {
	from, err := s.at(low)
	if err != nil {
		return 0, err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		p, err := s.at(middle)
		if err != nil {
			return 0, err
		}
		if p.Moment == from.Moment {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// piece describes the values from first to last.
func (s *batchSearch) piece(first, last int) (CurvePiece, error) {
	a, err := s.at(first)
	if err != nil {
		return CurvePiece{}, err
	}
	z, err := s.at(last)
	if err != nil {
		return CurvePiece{}, err
	}
	p := CurvePiece{First: first, Last: last, Phase: a.Phase, Moment: a.Moment}
	p.SlopeFirst, p.SlopeLast = s.slope(first), s.slope(last)
	p.Slope = p.SlopeFirst
	if last > first {
		p.Slope = (z.Peak - a.Peak) / int64(last-first)
	}
	p.Kind = SteepPiece
	if float64(p.Slope)*float64(last) < flatShare*float64(z.Peak) {
		p.Kind = FlatPiece
	}
	p.Straight = math.Abs(float64(p.SlopeLast-p.SlopeFirst)) <= 0.01*float64(p.SlopeLast)+1
	return p, nil
}

// slope is what one more unit adds at the moment that the peak is at.
func (s *batchSearch) slope(v int) int64 {
	row := func(v int) []float64 {
		p := s.place.with(s.m, s.key, float64(v))
		return s.m.schema.row(s.m.sys.terms, p.Numbers, p.Words)
	}
	here, next := row(v), row(v+1)
	top, _ := s.m.sys.highest(s.m.sol.coefficients, here, inStep)
	d := s.m.sys.value(s.m.sol.coefficients, next, top) - s.m.sys.value(s.m.sol.coefficients, here, top)
	return int64(math.Round(d))
}

// commonNotes are the notes that every value has, and from where on the curve is
// extrapolated.
func (c *MemoryCurve) commonNotes() []string {
	var out []string
	for _, n := range c.Values[0].Notes {
		if !slices.ContainsFunc(c.Values, func(v CurveValue) bool { return !slices.Contains(v.Notes, n) }) {
			out = append(out, n)
		}
	}
	far := slices.IndexFunc(c.Values, func(v CurveValue) bool { return v.Extrapolated })
	switch {
	case far < 0:
	case far == 0 && c.Values[len(c.Values)-1].Extrapolated:
		out = append(out, "all of the curve lies outside of the points: extrapolated")
	default:
		out = append(out, "values marked with * lie outside of the points: extrapolated")
	}
	return out
}
