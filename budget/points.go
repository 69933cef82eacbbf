package budget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/snapview/snapview/internal/units"
)

// A Point is one measured training configuration. Sizes are bytes of allocated
// memory (blocks held by tensors), 0 where not measured.
type Point struct {
	Line    int                // in its file, 0 for none
	Numbers map[string]float64 // batch, seq, hidden and whatever else the user calls a number
	Words   map[string]string  // attention, optimizer and whatever else; true and false are words
	Peak    int64              // over the step
	Phases  PhasePeaks
	// Reserved is the peak of what the allocator held, which nvidia-smi shows.
	Reserved int64

	File, SHA256 string // the snapshot that it was collected from, "" when not known
}

// PhasePeaks are what a training loop measured around one step that is not the
// first: the peak of each phase, and what was allocated at its end.
type PhasePeaks struct {
	Init                        int64 // with the model built
	Forward, Backward, Step     int64 // peaks
	AfterForward, AfterBackward int64
	AfterStep                   int64
}

// add takes over the larger of two measurements.
func (p *PhasePeaks) add(q PhasePeaks) {
	p.Init, p.Forward, p.Backward, p.Step = max(p.Init, q.Init), max(p.Forward, q.Forward), max(p.Backward, q.Backward), max(p.Step, q.Step)
	p.AfterForward, p.AfterBackward, p.AfterStep = max(p.AfterForward, q.AfterForward), max(p.AfterBackward, q.AfterBackward), max(p.AfterStep, q.AfterStep)
}

// measured are the names of measurements in a file of points, with where they go.
var measured = map[string]func(*Point) *int64{
	"peak":           func(p *Point) *int64 { return &p.Peak },
	"reserved":       func(p *Point) *int64 { return &p.Reserved },
	"init":           func(p *Point) *int64 { return &p.Phases.Init },
	"peak_forward":   func(p *Point) *int64 { return &p.Phases.Forward },
	"peak_backward":  func(p *Point) *int64 { return &p.Phases.Backward },
	"peak_step":      func(p *Point) *int64 { return &p.Phases.Step },
	"after_forward":  func(p *Point) *int64 { return &p.Phases.AfterForward },
	"after_backward": func(p *Point) *int64 { return &p.Phases.AfterBackward },
	"after_step":     func(p *Point) *int64 { return &p.Phases.AfterStep },
}

// measuredOrder is the order in which a point's measurements are written.
var measuredOrder = []string{"init", "after_forward", "peak_forward", "after_backward", "peak_backward", "after_step", "peak_step", "peak", "reserved"}

// measuredNames are what else measurements are called.
var measuredNames = map[string]string{
	"peak_bytes": "peak", "peak_allocated": "peak", "peak_allocated_bytes": "peak", "max_memory_allocated": "peak", "allocated": "peak",
	"reserved_bytes": "reserved", "peak_reserved": "reserved", "peak_reserved_bytes": "reserved", "max_memory_reserved": "reserved",
}

// remarks are keys that say where a point comes from; a model does not look at them.
var remarks = []string{"file", "files", "sha256", "name", "run", "note", "time", "date", "id", "fitted_bytes", "held_out_bytes"}

// Limits of a file of points.
const (
	maxPoints     = 5_000
	maxKeys       = 48
	maxLevels     = 24 // different words of one key
	maxWord       = 100
	maxPointsFile = 64 << 20
)

// ReadPoints reads measured points: JSON objects, one a line or in an array. Errors
// name the line and the key. Every point has the same keys.
func ReadPoints(r io.Reader, name string) ([]Point, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPointsFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxPointsFile {
		return nil, fmt.Errorf("%s: over %s: not a table of points", name, units.Bytes(maxPointsFile))
	}
	points, err := parsePoints(data)
	if err == nil {
		err = checkPoints(points)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return points, nil
}

// A lineError is an error on a line of the file.
func lineError(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
}

func parsePoints(data []byte) ([]Point, error) {
	p := &pointParser{data: data, dec: jsontext.NewDecoder(bytes.NewReader(data))}
	var points []Point
	for {
		switch kind := p.dec.PeekKind(); {
		case kind == '{':
			if len(points) == maxPoints {
				return nil, lineError(p.line(), "more than %s points", units.Count(maxPoints))
			}
			point, err := p.point()
			if err != nil {
				return nil, err
			}
			points = append(points, point)
		case kind == '[' && p.dec.StackDepth() == 0, kind == ']':
			if _, err := p.dec.ReadToken(); err != nil {
				return nil, p.syntax(err)
			}
		default:
			line := p.line()
			_, err := p.dec.ReadToken()
			if errors.Is(err, io.EOF) {
				return points, nil
			}
			if err != nil {
				return nil, p.syntax(err)
			}
			return nil, lineError(line, "not a point: a point is a JSON object such as {\"batch\": 8, \"seq\": 512, \"peak\": \"40 GiB\"}")
		}
	}
}

type pointParser struct {
	data []byte
	dec  *jsontext.Decoder
	// counted is how far the lines before have been counted.
	counted, lines int
}

// line is the line of the token that comes next.
func (p *pointParser) line() int {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return p.lineAt(at)
}

func (p *pointParser) lineAt(offset int) int {
	if offset < p.counted {
		p.counted, p.lines = 0, 0
	}
	p.lines += bytes.Count(p.data[p.counted:offset], []byte{'\n'})
	p.counted = offset
	return p.lines + 1
}

// syntax puts an error of the JSON decoder on its line.
func (p *pointParser) syntax(err error) error {
	at := int(p.dec.InputOffset())
	text := err.Error()
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, text = int(e.ByteOffset), e.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		text = "the file ends inside a point"
	}
	return lineError(p.lineAt(min(at, len(p.data))), "%s", strings.TrimPrefix(text, "jsontext: "))
}

func (p *pointParser) point() (Point, error) {
	point := Point{Line: p.line(), Numbers: map[string]float64{}, Words: map[string]string{}}
	if _, err := p.dec.ReadToken(); err != nil {
		return point, p.syntax(err)
	}
	for p.dec.PeekKind() != '}' {
		line := p.line()
		token, err := p.dec.ReadToken()
		if err != nil {
			return point, p.syntax(err)
		}
		key := token.String()
		if kind := p.dec.PeekKind(); kind == '{' || kind == '[' {
			if slices.Contains(remarks, key) {
				if err := p.dec.SkipValue(); err != nil {
					return point, p.syntax(err)
				}
				continue
			}
			return point, lineError(line, "%s: a list or an object; a value is a number or a word", units.Safe(key))
		}
		value, err := p.dec.ReadToken()
		if err != nil {
			return point, p.syntax(err)
		}
		if err := point.set(key, value); err != nil {
			return point, lineError(line, "%s: %w", units.Safe(units.Ellipsis(key, maxWord)), err)
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return point, p.syntax(err)
	}
	if err := point.complete(); err != nil {
		return point, lineError(point.Line, "%w", err)
	}
	return point, nil
}

// set stores one member of a point.
func (p *Point) set(key string, value jsontext.Token) error {
	if value.Kind() == 'n' || slices.Contains(remarks, key) {
		switch text := value.String(); key {
		case "file":
			p.File = text
		case "sha256":
			p.SHA256 = text
		}
		return nil
	}
	name := strings.ToLower(key)
	if other, ok := measuredNames[name]; ok {
		name = other
	}
	if where, ok := measured[name]; ok {
		return setMeasured(where(p), value)
	}
	key = keyName(key)
	_, number := p.Numbers[key]
	_, word := p.Words[key]
	switch {
	case number || word:
		return fmt.Errorf("given twice")
	case key == "" || len(key) > maxWord || strings.ContainsAny(key, "=, "):
		return fmt.Errorf("not a name for a key: use letters, digits and _")
	case len(p.Numbers)+len(p.Words) == maxKeys:
		return fmt.Errorf("more than %d keys", maxKeys)
	}
	return p.setKey(key, value)
}

func (p *Point) setKey(key string, value jsontext.Token) error {
	switch text := value.String(); {
	case slices.Contains(wordKeys, key), value.Kind() == 't', value.Kind() == 'f':
		return p.setText(key, text)
	case value.Kind() == '0':
		return p.setNumber(key, text)
	default:
		return p.setText(key, text)
	}
}

// setText stores a value given as text: a number where the key takes one or where
// the text is one, else a word.
func (p *Point) setText(key, text string) error {
	text = strings.TrimSpace(text)
	if slices.Contains(wordKeys, key) {
		return p.setWord(key, text)
	}
	_, err := strconv.ParseFloat(text, 64)
	if err == nil || slices.Contains(numberKeys, key) {
		return p.setNumber(key, text)
	}
	return p.setWord(key, text)
}

func (p *Point) setWord(key, text string) error {
	if text == "" || len(text) > maxWord {
		return fmt.Errorf("not a word: it has %d characters, and may have 1 to %d", len(text), maxWord)
	}
	p.Words[key] = text
	return nil
}

func (p *Point) setNumber(key, text string) error {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > 1e15 {
		return fmt.Errorf("%q is not a number", units.Safe(units.Ellipsis(text, 40)))
	}
	if v < 0 || v == 0 && slices.Contains(numberKeys, key) {
		return fmt.Errorf("%s is not above 0", text)
	}
	p.Numbers[key] = v
	return nil
}

func setMeasured(to *int64, value jsontext.Token) error {
	if *to != 0 {
		return fmt.Errorf("given twice")
	}
	text := value.String()
	var n int64
	var err error
	switch value.Kind() {
	case '"':
		n, err = units.ParseBytes(text)
	case '0':
		var f float64
		if f, err = strconv.ParseFloat(text, 64); err == nil && (f != math.Trunc(f) || math.Abs(f) > 1<<60) {
			err = fmt.Errorf("not a whole number of bytes; write a unit, as in \"1.5 GiB\"")
		}
		n = int64(f)
	default:
		err = fmt.Errorf("%s is not a size; write bytes, or text such as \"40 GiB\"", text)
	}
	if err != nil {
		return err
	}
	if n <= 0 || n > 1<<60 {
		return fmt.Errorf("%s is not a size above 0", text)
	}
	*to = n
	return nil
}

// complete checks that the measurements agree and fills in the peak.
func (p *Point) complete() error {
	phases := max(p.Phases.Forward, p.Phases.Backward, p.Phases.Step, p.Phases.AfterForward, p.Phases.AfterBackward, p.Phases.AfterStep)
	switch {
	case p.Peak == 0 && phases == 0:
		return fmt.Errorf("peak: missing; give the peak of allocated memory in bytes or as \"40 GiB\"")
	case p.Peak == 0:
		p.Peak = phases
	case float64(phases) > 1.001*float64(p.Peak):
		return fmt.Errorf("peak: %s is less than the peak of a phase, %s", units.Exact(p.Peak), units.Exact(phases))
	}
	if p.Reserved > 0 && p.Reserved < p.Peak {
		return fmt.Errorf("reserved: %s is less than the peak of allocated memory, %s", units.Exact(p.Reserved), units.Exact(p.Peak))
	}
	return nil
}

// checkPoints checks that every point has the same keys, of the same kind.
func checkPoints(points []Point) error {
	if len(points) == 0 {
		return fmt.Errorf("no points: write one JSON object a line, such as {\"batch\": 8, \"seq\": 512, \"peak\": \"40 GiB\"}")
	}
	first := &points[0]
	if len(first.Numbers) == 0 {
		return lineError(first.Line, "no number to predict from, such as batch or seq")
	}
	for i := range points {
		if err := points[i].sameKeys(first); err != nil {
			return lineError(points[i].Line, "%w", err)
		}
	}
	for key := range first.Words {
		if n := len(levels(points, key)); n > maxLevels {
			return fmt.Errorf("%s: %d different words; at most %d can be told apart", units.Safe(key), n, maxLevels)
		}
	}
	return nil
}

func (p *Point) sameKeys(first *Point) error {
	for key := range first.Numbers {
		if _, word := p.Words[key]; word {
			return fmt.Errorf("%s: a word here and a number on line %d", units.Safe(key), first.Line)
		}
		if _, ok := p.Numbers[key]; !ok {
			return fmt.Errorf("%s: missing, and line %d has it", units.Safe(key), first.Line)
		}
	}
	for key := range first.Words {
		if _, number := p.Numbers[key]; number {
			return fmt.Errorf("%s: a number here and a word on line %d", units.Safe(key), first.Line)
		}
		if _, ok := p.Words[key]; !ok {
			return fmt.Errorf("%s: missing, and line %d has it", units.Safe(key), first.Line)
		}
	}
	for key := range p.Numbers {
		if _, ok := first.Numbers[key]; !ok {
			return fmt.Errorf("%s: line %d does not have it", units.Safe(key), first.Line)
		}
	}
	for key := range p.Words {
		if _, ok := first.Words[key]; !ok {
			return fmt.Errorf("%s: line %d does not have it", units.Safe(key), first.Line)
		}
	}
	return nil
}

// levels are the different words of a key, sorted.
func levels(points []Point, key string) []string {
	var out []string
	for i := range points {
		if w, ok := points[i].Words[key]; ok && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// Keys are the keys of a point with their values: "batch=8".
func (p *Point) Keys() []string {
	var out []string
	for _, k := range inOrder(p.Numbers, numberKeys) {
		out = append(out, k+"="+strconv.FormatFloat(p.Numbers[k], 'f', -1, 64))
	}
	for _, k := range inOrder(p.Words, wordKeys) {
		out = append(out, k+"="+p.Words[k])
	}
	return out
}
