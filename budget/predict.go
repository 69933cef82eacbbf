package budget

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"gonum.org/v1/gonum/mat"
)

// A Prediction is what a model says about a configuration. Sizes are bytes.
type Prediction struct {
	Peak       int64 // of allocated memory; the sum of Parts
	Low, High  int64 // the interval
	Confidence float64
	Phase      string // where the peak is: "forward", "backward" or "step"; "forward or backward" when the points do not tell
	Moment     string // more exactly
	Phases     []PhaseBytes
	Reserved   *ReservedRange // nil when the points do not have it
	Parts      []PredictedPart

	// Extrapolated: the configuration lies outside of what was measured, or mixes
	// words that were not measured together. Notes say how, and the interval is wider.
	Extrapolated bool
	Notes        []string
}

// PhaseBytes is the peak of one phase.
type PhaseBytes struct {
	Phase string
	Bytes int64
}

// A ReservedRange is reserved memory with its interval.
type ReservedRange struct{ Bytes, Low, High int64 }

// A PredictedPart is what a term holds at the peak.
type PredictedPart struct {
	Name    string
	Class   string
	Formula string // "8.15 B × P"
	Numbers string // "8.15 B × 69,484,032"
	Bytes   int64
	Basis   Basis
}

// A Basis is what a coefficient rests on.
type Basis string

const (
	FromPoints   Basis = "points"
	FromBoth     Basis = "points and textbook"
	FromTextbook Basis = "textbook"
	// NotTold: the points cannot tell the term from others that go along with it;
	// only their sum is known.
	NotTold Basis = "not told apart"
)

// Parts of the variance that the points have taken away from a coefficient.
const (
	mostlyPoints = 0.9
	partlyPoints = 0.3
)

// Basis returns what the coefficient rests on.
func (t *FittedTerm) Basis() Basis {
	switch {
	case t.Zero || t.FromPoints >= mostlyPoints:
		return FromPoints
	case t.Textbook == 0 && t.Used:
		return NotTold
	case t.FromPoints >= partlyPoints:
		return FromBoth
	}
	return FromTextbook
}

// A ModelKey is a key that a prediction takes.
type ModelKey struct {
	Name      string
	Words     []string // allowed; nil for a number
	Low, High float64  // of a number, in the points
	Optional  bool     // the points say what it is when it is not given
}

// String is the key with what it may be: "batch (1 to 32)".
func (k ModelKey) String() string {
	name := units.Safe(k.Name)
	switch {
	case k.Words != nil:
		words := make([]string, len(k.Words))
		for i, w := range k.Words {
			words[i] = units.Safe(w)
		}
		return name + " (" + strings.Join(words, ", ") + ")"
	}
	return name + " (" + spanText(k.Low, k.High) + ")"
}

// number is a value of a key as text.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return units.Count(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// Keys returns the keys of the points, known ones first.
func (m *MemoryModel) Keys() []ModelKey { return slices.Clone(m.keys) }

func (m *MemoryModel) findKeys() []ModelKey {
	first := &m.Points[0]
	var out []ModelKey
	for _, name := range inOrder(first.Numbers, numberKeys) {
		k := ModelKey{Name: name, Low: math.Inf(1), High: math.Inf(-1)}
		for i := range m.Points {
			k.Low, k.High = min(k.Low, m.Points[i].Numbers[name]), max(k.High, m.Points[i].Numbers[name])
		}
		k.Optional = k.Low == k.High || name == keyParams && m.paramsOf != nil
		out = append(out, k)
	}
	for _, name := range inOrder(first.Words, wordKeys) {
		words := m.schema.Words[name]
		out = append(out, ModelKey{Name: name, Words: words, Optional: len(words) == 1})
	}
	return out
}

// inOrder lists the keys of a map: known ones in their order, then the others.
func inOrder[V any](keys map[string]V, known []string) []string {
	var out []string
	for _, k := range known {
		if _, ok := keys[k]; ok {
			out = append(out, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, k) {
			out = append(out, k)
		}
	}
	return out
}

// A Place is a configuration to predict: a value for every key of the points.
type Place struct {
	Numbers map[string]float64
	Words   map[string]string
	Assumed []string // what was not given and taken from the points, a sentence each
	derived bool     // params was not given and follows from the other keys
}

// Place reads a configuration given as text. What is the same in every point may be
// left out, and so may params where the points show how it follows from the rest.
func (m *MemoryModel) Place(set map[string]string) (Place, error) {
	p := Place{Numbers: map[string]float64{}, Words: map[string]string{}}
	keys := m.keys
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		key := keyName(name)
		if _, twice := given[key]; twice {
			return p, fmt.Errorf("%s: given twice", units.Safe(name))
		}
		if !slices.ContainsFunc(keys, func(k ModelKey) bool { return k.Name == key }) {
			return p, fmt.Errorf("%s: the points have no such key; their keys are %s", units.Safe(name), keyList(keys))
		}
		given[key] = set[name]
	}
	var missing []ModelKey
	for _, k := range keys {
		text, ok := given[k.Name]
		if !ok && !k.Optional {
			missing = append(missing, k)
			continue
		}
		if !ok {
			continue
		}
		if err := p.set(k, text); err != nil {
			return p, fmt.Errorf("%s: %w", units.Safe(k.Name), err)
		}
	}
	if len(missing) > 0 {
		return p, fmt.Errorf("missing: %s; give each as KEY=VALUE", keyList(missing))
	}
	m.assume(&p, keys)
	return p, nil
}

func keyList(keys []ModelKey) string {
	var parts []string
	for _, k := range keys {
		parts = append(parts, k.String())
	}
	return strings.Join(parts, ", ")
}

func (p *Place) set(k ModelKey, text string) error {
	text = strings.TrimSpace(text)
	if k.Words != nil {
		i := slices.IndexFunc(k.Words, func(w string) bool { return strings.EqualFold(w, text) })
		if i < 0 {
			i = slices.IndexFunc(k.Words, func(w string) bool { return sameFlag(w, text) })
		}
		if i < 0 {
			return fmt.Errorf("%q is not in the points, which have %s", units.Safe(units.Ellipsis(text, 40)), strings.Join(k.Words, ", "))
		}
		p.Words[k.Name] = k.Words[i]
		return nil
	}
	point := Point{Numbers: p.Numbers}
	return point.setNumber(k.Name, text)
}

// sameFlag reports whether two words mean the same truth value.
func sameFlag(a, b string) bool {
	x, ok := flagWord(a)
	y, too := flagWord(b)
	return ok && too && x == y
}

func flagWord(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// assume fills in what was not given.
func (m *MemoryModel) assume(p *Place, keys []ModelKey) {
	var same []string
	for _, k := range keys {
		_, given := p.Numbers[k.Name]
		_, word := p.Words[k.Name]
		switch {
		case given || word || k.Name == keyParams && k.Low != k.High:
		case k.Words != nil:
			p.Words[k.Name] = k.Words[0]
			same = append(same, units.Safe(k.Name)+" "+units.Safe(k.Words[0]))
		default:
			p.Numbers[k.Name] = k.Low
			same = append(same, units.Safe(k.Name)+" "+number(k.Low))
		}
	}
	if len(same) > 0 {
		p.Assumed = append(p.Assumed, "as in every point: "+strings.Join(same, ", "))
	}
	if _, ok := p.Numbers[keyParams]; !ok && slices.ContainsFunc(keys, func(k ModelKey) bool { return k.Name == keyParams }) {
		p.Numbers[keyParams], p.derived = m.paramsOf(p.Numbers), true
	}
}

// paramShape are what parameters of a transformer count in: matrices of a layer, the
// embedding and the head, positions, and vectors.
func paramShape(n map[string]float64) []float64 {
	l, h := n[keyLayers], n[keyHidden]
	return []float64{l * h * h, n[keyVocab] * h, n[keySeq] * h, l * h, h}
}

// paramError is how well the rule has to reproduce the parameters of the points.
const paramError = 1e-3

// paramRule returns how params follows from the other keys, nil when the points do
// not show that.
func (m *MemoryModel) paramRule() func(map[string]float64) float64 {
	if !m.schema.has(keyLayers) || !m.schema.has(keyHidden) || !m.schema.has(keyParams) || m.schema.derivedParams {
		return nil
	}
	n := len(paramShape(m.Points[0].Numbers))
	g, h := mat.NewSymDense(n, nil), make([]float64, n)
	scale := make([]float64, n)
	for i := range m.Points {
		for j, x := range paramShape(m.Points[i].Numbers) {
			scale[j] = max(scale[j], x/m.Points[i].Numbers[keyParams])
		}
	}
	for i := range m.Points {
		row := paramShape(m.Points[i].Numbers)
		for a := range n {
			row[a] /= m.Points[i].Numbers[keyParams] * max(scale[a], math.SmallestNonzeroFloat32)
		}
		for a := range n {
			h[a] += row[a]
			for b := a; b < n; b++ {
				g.SetSym(a, b, g.At(a, b)+row[a]*row[b])
			}
		}
	}
	for a := range n {
		g.SetSym(a, a, g.At(a, a)+1e-9)
	}
	z, _ := nnls(g, h, nil)
	rule := func(numbers map[string]float64) float64 {
		sum := 0.0
		for j, x := range paramShape(numbers) {
			if scale[j] > 0 {
				sum += z[j] * x / scale[j]
			}
		}
		return math.Round(sum)
	}
	for i := range m.Points {
		want := m.Points[i].Numbers[keyParams]
		if math.Abs(rule(m.Points[i].Numbers)/want-1) > paramError {
			return nil
		}
	}
	return rule
}

// Predict predicts the configuration given as text. Errors name the keys of the
// points and the words that they have.
func (m *MemoryModel) Predict(set map[string]string) (Prediction, error) {
	p, err := m.Place(set)
	if err != nil {
		return Prediction{}, err
	}
	return m.At(p)
}

var errNoSize = errors.New("the model gives no size for this configuration; check the values of the keys")

// At predicts a configuration.
func (m *MemoryModel) At(p Place) (Prediction, error) {
	row := m.schema.row(m.sys.terms, p.Numbers, p.Words)
	top, v := m.sys.highest(m.sol.coefficients, row, inStep)
	if !(v >= 1 && v < 1<<60) {
		return Prediction{}, errNoSize
	}
	out := Prediction{Confidence: m.Confidence, Phase: m.schema.phase(top), Moment: m.schema.moment(top), Notes: slices.Clone(p.Assumed)}
	if out.Parts, out.Peak = m.parts(row, top); out.Peak <= 0 {
		return Prediction{}, errNoSize
	}
	out.Phases = m.phases(row)
	if p.derived {
		out.Notes = append(out.Notes, fmt.Sprintf("params %s, as follows from the points", number(p.Numbers[keyParams])))
	}
	stretch := m.farAway(p, v, &out)
	half := m.sys.difficulty(m.known, row, top, v) * stretch
	if m.measuredTogether(p.Words) {
		half *= m.quantile
	} else {
		half *= m.farther
		out.Extrapolated = true
		out.Notes = append(out.Notes, "no point has these words together: "+units.Safe(combination(p.Words))+"; put together from others")
	}
	if m.fewPoints {
		out.Notes = append(out.Notes, fmt.Sprintf("the interval rests on %d points and on normal errors; 20 points would show them", len(m.Points)))
	}
	out.Low, out.High = interval(out.Peak, half)
	if r := m.Reserved; r != nil {
		v := int64(math.Round(r.of(m.reservedRow(p.Numbers, float64(out.Peak)))))
		out.Reserved = &ReservedRange{Bytes: v}
		out.Reserved.Low, out.Reserved.High = interval(v, math.Hypot(r.Half*stretch, half))
		out.Reserved.Low = max(out.Reserved.Low, out.Low)
	}
	return out, nil
}

// interval is a value with half of the interval as a part of it on both sides.
func interval(v int64, half float64) (low, high int64) {
	f := float64(v)
	return int64(max(0, f*(1-half))), int64(min(f*(1+half), 1<<60))
}

// parts are the terms at a moment, most bytes first, and their sum.
func (m *MemoryModel) parts(row []float64, at moment) (parts []PredictedPart, sum int64) {
	for j, x := range row {
		bytes := int64(math.Round(m.sol.coefficients[j] * x))
		if bytes == 0 || !m.sys.terms[j].moments.has(at) {
			continue
		}
		t := &m.Terms[j]
		p := PredictedPart{Name: t.Name, Class: t.Class, Bytes: bytes, Basis: t.Basis()}
		if t.Unit == "1" {
			p.Formula, p.Numbers = units.Bytes(bytes), units.Bytes(bytes)
		} else {
			p.Formula = fmt.Sprintf("%s B × %s", CoefficientText(t.Bytes), t.Unit)
			p.Numbers = fmt.Sprintf("%s B × %s", CoefficientText(t.Bytes), number(math.Round(x)))
		}
		parts = append(parts, p)
		sum += bytes
	}
	slices.SortStableFunc(parts, func(a, b PredictedPart) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return parts, sum
}

// CoefficientText is bytes per unit with four significant digits.
func CoefficientText(v float64) string {
	switch {
	case v >= 1000:
		return number(math.Round(v))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// phases are the peaks of the phases, in their order.
func (m *MemoryModel) phases(row []float64) []PhaseBytes {
	var out []PhaseBytes
	for k := range moment(numMoments) {
		if !inStep.has(k) {
			continue
		}
		v := int64(math.Round(m.sys.value(m.sol.coefficients, row, k)))
		phase := m.schema.phase(k)
		if n := len(out); n > 0 && out[n-1].Phase == phase {
			out[n-1].Bytes = max(out[n-1].Bytes, v)
		} else {
			out = append(out, PhaseBytes{phase, v})
		}
	}
	return out
}

func (m *MemoryModel) measuredTogether(words map[string]string) bool {
	return slices.ContainsFunc(m.Points, func(p Point) bool { return maps.Equal(p.Words, words) })
}

// farAway is by how much the interval is stretched because the configuration lies
// outside of the points: by itself again for each doubling beyond the largest (or
// halving below the smallest) value of a key, of the tokens of a step, or of the peak.
func (m *MemoryModel) farAway(p Place, peak float64, out *Prediction) float64 {
	most := 1.0
	far := func(name, span string, v, least, largest float64) {
		ratio := beyond(v, least, largest)
		if ratio == 1 {
			return
		}
		if !out.Extrapolated { // the keys come first, and the rest follows from them
			out.Notes = append(out.Notes, fmt.Sprintf("%s is outside of the points (%s): extrapolated", name, span))
		}
		most = max(most, ratio)
	}
	for _, k := range m.keys {
		if k.Words == nil && k.Name != keyParams {
			v := p.Numbers[k.Name]
			far(units.Safe(k.Name)+" "+number(v), spanText(k.Low, k.High), v, k.Low, k.High)
		}
	}
	out.Extrapolated = most > 1
	if m.schema.has(keyBatch) && m.schema.has(keySeq) {
		least, largest := m.span(func(q *Point) float64 { return q.Numbers[keyBatch] * q.Numbers[keySeq] })
		v := p.Numbers[keyBatch] * p.Numbers[keySeq]
		far("batch × seq = "+number(v), spanText(least, largest), v, least, largest)
		out.Extrapolated = most > 1
	}
	_, largest := m.span(func(q *Point) float64 { return float64(q.Peak) })
	largest *= 1.05 // the largest point itself is not beyond the points
	far("a peak of "+units.Bytes(int64(peak)), "at most "+units.Bytes(int64(largest/1.05)), peak, 0, largest)
	out.Extrapolated = most > 1
	return 1 + math.Log2(most)
}

// beyond is how many times a value is above the largest or below the least, 1 when it
// is neither.
func beyond(v, least, largest float64) float64 {
	switch {
	case v > largest*(1+1e-9):
		return v / max(largest, v/maxBeyond)
	case v < least*(1-1e-9):
		return least / max(v, least/maxBeyond)
	}
	return 1
}

// maxBeyond is as far as it counts; a value of 0 is no number of times another.
const maxBeyond = 1024

func spanText(low, high float64) string {
	if low == high {
		return number(low)
	}
	return number(low) + " to " + number(high)
}

// span is the range of a number over the points.
func (m *MemoryModel) span(of func(*Point) float64) (least, largest float64) {
	least, largest = math.Inf(1), math.Inf(-1)
	for i := range m.Points {
		v := of(&m.Points[i])
		least, largest = min(least, v), max(largest, v)
	}
	return least, largest
}
