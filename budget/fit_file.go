package budget

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/snapview/snapview/internal/units"
)

// The file of a model holds the points and, for reading, what follows from them. A
// model is read by fitting its points again, and a file whose coefficients are not
// those is refused, so that no number in it can be anything but what was measured.
const (
	modelKind    = "memory_model"
	modelVersion = 1
)

// ModelFile is the JSON of a fitted model. Sizes are bytes, errors parts of the
// measured peak.
type ModelFile struct {
	Kind       string            `json:"kind"`
	Version    int               `json:"version"`
	Confidence float64           `json:"confidence"`
	Check      *CheckJSON        `json:"check,omitempty"`
	Terms      []TermJSON        `json:"terms"`
	Reserved   *ReservedJSON     `json:"reserved,omitempty"`
	Points     []json.RawMessage `json:"points"`
}

// TermJSON is one coefficient.
type TermJSON struct {
	Name     string   `json:"name"`
	Class    string   `json:"class"`
	Unit     string   `json:"unit"`
	When     []string `json:"when,omitempty"`
	Moments  []string `json:"moments"`
	Bytes    float64  `json:"bytes_per_unit"`
	Textbook float64  `json:"textbook"`
	Basis    Basis    `json:"basis"`
	Share    float64  `json:"from_points"`
}

// ReservedJSON is the model of reserved memory.
type ReservedJSON struct {
	Factor   float64 `json:"factor"`
	Fixed    int64   `json:"fixed_bytes"`
	PerParam float64 `json:"bytes_per_parameter"`
	PerLogit float64 `json:"bytes_per_logit"`
	Half     float64 `json:"half_interval"`
	Median   float64 `json:"median_error"`
	Worst    float64 `json:"worst_error"`
	Points   int     `json:"measured_points"`
}

// CheckJSON is the cross-validation.
type CheckJSON struct {
	Folds         int               `json:"folds"`
	Median        float64           `json:"median_error"`
	Worst         float64           `json:"worst_error"`
	WorstPoint    int               `json:"worst_point"`
	Covered       int               `json:"covered"`
	Of            int               `json:"measured_points"`
	Coverage      float64           `json:"coverage"`
	Width         float64           `json:"mean_half_interval"`
	Divisions     int               `json:"other_divisions"`
	OtherMedians  [2]float64        `json:"other_median_errors"`
	OtherWorst    float64           `json:"other_worst_error"`
	OtherCoverage [3]float64        `json:"other_coverage"`
	Combinations  []CombinationJSON `json:"combinations"`
	Misfits       []MisfitJSON      `json:"misfits"`
	Reserved      *ReservedCheck    `json:"reserved,omitempty"`
}

// ReservedCheck is the cross-validation of reserved memory.
type ReservedCheck struct {
	Median  float64 `json:"median_error"`
	Worst   float64 `json:"worst_error"`
	Covered int     `json:"covered"`
	Of      int     `json:"measured_points"`
}

// CombinationJSON is the errors of points with the same words.
type CombinationJSON struct {
	Words       []string `json:"words"`
	Points      int      `json:"measured_points"`
	Median      float64  `json:"median_error"`
	Worst       float64  `json:"worst_error"`
	Bias        float64  `json:"bias"`
	AloneMedian *float64 `json:"left_out_median_error,omitempty"`
	AloneWorst  *float64 `json:"left_out_worst_error,omitempty"`
}

// MisfitJSON is a point that does not fit.
type MisfitJSON struct {
	Point     int     `json:"point"`
	Predicted int64   `json:"predicted_bytes"`
	Error     float64 `json:"error"`
}

// File returns the JSON form of a model.
func (m *MemoryModel) File() ModelFile {
	f := ModelFile{Kind: modelKind, Version: modelVersion, Confidence: m.Confidence}
	for i := range m.Terms {
		t := &m.Terms[i]
		f.Terms = append(f.Terms, TermJSON{t.Name, t.Class, t.Unit, t.When, t.Moments, rounded(t.Bytes), t.Textbook, t.Basis(), rounded(t.FromPoints)})
	}
	if r := m.Reserved; r != nil {
		f.Reserved = &ReservedJSON{rounded(r.Factor), int64(r.Fixed), rounded(r.PerParam), rounded(r.PerLogit), rounded(r.Half), rounded(r.Median), rounded(r.Worst), r.Points}
	}
	for i := range m.Points {
		f.Points = append(f.Points, m.pointJSON(i))
	}
	f.Check = m.Check.json(len(m.Points))
	return f
}

// rounded is v with six significant digits: machines differ in the last ones.
func rounded(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return short
}

func (c *FitCheck) json(points int) *CheckJSON {
	if c == nil {
		return nil
	}
	out := &CheckJSON{Folds: c.Folds, Median: rounded(c.Median), Worst: rounded(c.Worst), WorstPoint: c.WorstPoint, Covered: c.Covered, Of: points,
		Coverage: rounded(float64(c.Covered) / float64(points)), Width: rounded(c.Width), Divisions: c.Divisions, OtherWorst: rounded(c.OtherWorst),
		Combinations: []CombinationJSON{}, Misfits: []MisfitJSON{}}
	for i, v := range c.OtherMedians {
		out.OtherMedians[i] = rounded(v)
	}
	for i, v := range c.OtherCoverage {
		out.OtherCoverage[i] = rounded(v)
	}
	for _, b := range c.Combinations {
		j := CombinationJSON{Words: b.Words, Points: b.Points, Median: rounded(b.Median), Worst: rounded(b.Worst), Bias: rounded(b.Bias)}
		if b.HasAlone() {
			median, worst := rounded(b.AloneMedian), rounded(b.AloneWorst)
			j.AloneMedian, j.AloneWorst = &median, &worst
		}
		out.Combinations = append(out.Combinations, j)
	}
	for _, b := range c.Misfits {
		out.Misfits = append(out.Misfits, MisfitJSON{b.Point, b.Predicted, rounded(b.Error)})
	}
	if c.ReservedOf > 0 {
		out.Reserved = &ReservedCheck{rounded(c.ReservedMedian), rounded(c.ReservedWorst), c.ReservedCovered, c.ReservedOf}
	}
	return out
}

// pointJSON is a point on one line, with what the model and the other points say.
func (m *MemoryModel) pointJSON(i int) json.RawMessage {
	_, fitted := m.sys.highest(m.sol.coefficients, m.sys.rows[i], inStep)
	line := m.Points[i].object()
	line = append(line, member{"fitted_bytes", int64(math.Round(fitted))}, member{"held_out_bytes", int64(math.Round(m.held[i].predicted))})
	return line.json()
}

// A member is one key of an object with its value.
type member struct {
	key   string
	value any
}

type object []member

// json is the object on one line, its keys in their order.
func (o object) json() json.RawMessage {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteString([]string{"{", ", "}[min(i, 1)])
		key, _ := json.Marshal(m.key)
		value, _ := json.Marshal(m.value) // strings, numbers and booleans only
		b.Write(key)
		b.WriteString(": ")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// object is a point as it stands in a file: keys in their order, then measurements.
func (p *Point) object() object {
	var o object
	for _, k := range inOrder(p.Numbers, numberKeys) {
		o = append(o, member{k, p.Numbers[k]})
	}
	for _, k := range inOrder(p.Words, wordKeys) {
		switch w := p.Words[k]; w {
		case "true", "false":
			o = append(o, member{k, w == "true"})
		default:
			o = append(o, member{k, w})
		}
	}
	for _, name := range measuredOrder {
		if v := *measured[name](p); v > 0 {
			o = append(o, member{name, v})
		}
	}
	return o
}

// Write writes the model, one point a line.
func (m *MemoryModel) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(m.File())
}

// IsModel reports whether the beginning of a file is that of a fitted model.
func IsModel(head []byte) bool { return bytes.Contains(head, []byte(`"`+modelKind+`"`)) }

// ErrNotModel is what the error of ReadModel wraps when a file is something else.
var ErrNotModel = errors.New("not a fitted model; snapview budget fit POINTS -o model.json makes one")

// ReadModel reads what Write wrote. A file of points is fitted.
func ReadModel(r io.Reader, name string) (*MemoryModel, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPointsFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxPointsFile {
		return nil, fmt.Errorf("%s: over %s: %w", name, units.Bytes(maxPointsFile), ErrNotModel)
	}
	m, err := readModel(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func readModel(data []byte) (*MemoryModel, error) {
	var f ModelFile
	err := unmarshalModel(data, &f)
	if errors.Is(err, ErrNotModel) {
		return fitPoints(data, err)
	}
	if err != nil {
		return nil, err
	}
	points, err := parsePoints(bytes.Join(rawLines(f.Points), []byte("\n")))
	if err != nil {
		return nil, fmt.Errorf("points, %w", err)
	}
	m, err := Fit(points, FitOptions{Confidence: f.Confidence, Quick: true})
	if err != nil {
		return nil, fmt.Errorf("points: %w", err)
	}
	if !m.sameTerms(f.Terms) {
		return nil, fmt.Errorf("its coefficients are not those of its points: edited, or fitted by another version; run snapview budget fit again")
	}
	m.stored = f.Check
	return m, nil
}

// fitPoints fits a file that is no model if it is a table of points.
func fitPoints(data []byte, notModel error) (*MemoryModel, error) {
	points, err := parsePoints(data)
	if err != nil || len(points) == 0 {
		return nil, notModel
	}
	return Fit(points, FitOptions{Quick: true})
}

func unmarshalModel(data []byte, f *ModelFile) error {
	if kind := jsontext.NewDecoder(bytes.NewReader(data)).PeekKind(); kind != '{' {
		return ErrNotModel
	}
	if err := json.Unmarshal(data, f); err != nil {
		if f.Kind == "" {
			return fmt.Errorf("%w (%v)", ErrNotModel, err)
		}
		return err
	}
	switch {
	case f.Kind != modelKind:
		return ErrNotModel
	case f.Version != modelVersion:
		return fmt.Errorf("version %d of a fitted model; this snapview reads version %d: run snapview budget fit again", f.Version, modelVersion)
	case f.Confidence == 0:
		return fmt.Errorf("confidence: missing")
	}
	return nil
}

func rawLines(raw []json.RawMessage) [][]byte {
	out := make([][]byte, len(raw))
	for i, r := range raw {
		var line bytes.Buffer
		if json.Compact(&line, r) != nil {
			line.Write(r) // the parser says what is wrong
		}
		out[i] = line.Bytes()
	}
	return out
}

// sameCoefficient is how far two fits of the same points may be apart on machines
// that round differently.
const sameCoefficient = 1e-3

func (m *MemoryModel) sameTerms(terms []TermJSON) bool {
	if len(terms) != len(m.Terms) {
		return false
	}
	for i := range terms {
		a, b := terms[i], &m.Terms[i]
		if a.Name != b.Name || a.Unit != b.Unit || !slices.Equal(a.When, b.When) {
			return false
		}
		if !(math.Abs(a.Bytes-b.Bytes) <= sameCoefficient*max(b.Bytes, m.sys.scale[i])) {
			return false
		}
	}
	return true
}

// Checked returns the cross-validation, also that in the file that a model was read
// from; nil when there was none.
func (m *MemoryModel) Checked() *CheckJSON {
	if m.Check == nil {
		return m.stored
	}
	return m.Check.json(len(m.Points))
}
