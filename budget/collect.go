package budget

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// A Collected is a point read from a snapshot.
type Collected struct {
	Point
	Notes []string
}

// CollectPoint measures a snapshot's run: the peak of allocated and of reserved
// memory, and the peaks of the phases of the step that the peak is in. Block sizes,
// which allocated memory is in, come from a replay of the allocator. keys are those
// of the configuration that ran, as text.
func CollectPoint(s *snapshot.Snapshot, t *snapshot.Timeline, keys map[string]string) (Collected, error) {
	var out Collected
	p, err := pointOf(keys)
	if err != nil {
		return out, err
	}
	out.Point = p
	if t.History == snapshot.HistoryNone || t.History == snapshot.HistoryStateOnly || len(t.Allocations) == 0 {
		return out, fmt.Errorf("no history, so no peak: call torch.cuda.memory._record_memory_history() before the model is built")
	}
	if t.OpenEnd {
		return out, fmt.Errorf("the end of the history is missing, and with it perhaps the peak")
	}
	r := allocator.Exact(s, t)
	if !r.Check.Exact {
		out.Notes = append(out.Notes, "the replay of the allocator is not exact ("+r.Check.Reason+"): block sizes may be off")
	}
	if t.History != snapshot.HistoryComplete {
		out.Notes = append(out.Notes, "the history is "+t.History.String()+": the peak may lie before it")
	}
	out.Peak, out.Reserved = r.PeakAllocated, t.PeakReserved.Bytes
	curve := allocatedCurve(r)
	out.phases(attribution.Classify(s, t), curve)
	if err := out.complete(); err != nil {
		return out, err
	}
	return out, nil
}

// pointOf is a point without measurements.
func pointOf(keys map[string]string) (Point, error) {
	p := Point{Numbers: map[string]float64{}, Words: map[string]string{}}
	for _, name := range inOrder(keys, nil) {
		if _, ok := measured[name]; ok || measuredNames[name] != "" || slices.Contains(remarks, name) {
			return p, fmt.Errorf("%s: is what a snapshot says; it cannot be set", units.Safe(name))
		}
		key, text := keyName(name), keys[name]
		_, number := p.Numbers[key]
		_, word := p.Words[key]
		if number || word {
			return p, fmt.Errorf("%s: given twice", units.Safe(name))
		}
		if err := p.setText(key, text); err != nil {
			return p, fmt.Errorf("%s: %w", units.Safe(name), err)
		}
	}
	if len(p.Numbers) == 0 {
		return p, fmt.Errorf("no number to predict from: give --set batch=8 --set seq=512, or what else your runs differ in")
	}
	return p, nil
}

// allocatedCurve is allocated memory after each event, in bytes of blocks. What is
// older than the history is there from the start.
func allocatedCurve(r *allocator.Replay) []int64 {
	t := r.Timeline
	change := make([]int64, len(t.Device.Events))
	base := int64(0)
	for i := range t.Allocations {
		a := &t.Allocations[i]
		if a.Born == snapshot.BeforeHistory {
			base += r.Sizes[i]
		} else if int(a.Born) < len(change) {
			change[a.Born] += r.Sizes[i]
		}
		if freed := a.FreeRequested; freed >= 0 && int(freed) < len(change) {
			change[freed] -= r.Sizes[i]
		}
	}
	for i, c := range change {
		base += c
		change[i] = base
	}
	return change
}

// phases fills in what was measured around the step that holds the most.
func (c *Collected) phases(of *attribution.Classification, curve []int64) {
	step, ok := fullestStep(of, curve)
	if !ok {
		c.Notes = append(c.Notes, "no training step with a forward, a backward and an optimizer: only the peak is collected")
		return
	}
	if step.Number == 1 && len(of.Steps) < 2 {
		c.Notes = append(c.Notes, "only the first step is recorded, in which the optimizer makes its state: record two steps")
	}
	var p PhasePeaks
	for _, ph := range of.Phases {
		if ph.Kind == attribution.Setup && ph.Step == 0 && len(curve) > ph.Last && ph.Last >= 0 {
			p.Init = curve[ph.Last]
		}
		if ph.Step != step.Number {
			continue
		}
		highest, end := slices.Max(curve[ph.First:ph.Last+1]), curve[ph.Last]
		switch ph.Kind {
		case attribution.Forward:
			p.Forward, p.AfterForward = max(p.Forward, highest), end
		case attribution.Backward:
			p.Backward, p.AfterBackward = max(p.Backward, highest), end
		case attribution.Optimizer:
			p.Step, p.AfterStep = max(p.Step, highest), end
		}
	}
	if top := max(p.Forward, p.Backward, p.Step); top < c.Peak {
		c.Notes = append(c.Notes, fmt.Sprintf("the peak, %s, is outside of the training steps, which reach %s: the peak of the steps is collected",
			units.Bytes(c.Peak), units.Bytes(top)))
		c.Peak = top
	}
	c.Phases = p
}

// fullestStep is the step with all three phases whose peak is highest.
func fullestStep(of *attribution.Classification, curve []int64) (best attribution.Step, found bool) {
	highest := int64(-1)
	for _, step := range of.Steps {
		if step.First < 0 || step.Last >= len(curve) || step.First > step.Last || !wholeStep(of, step) {
			continue
		}
		if top := slices.Max(curve[step.First : step.Last+1]); top >= highest {
			best, found, highest = step, true, top
		}
	}
	return best, found
}

// wholeStep reports whether a step has a forward, a backward and an optimizer phase.
func wholeStep(of *attribution.Classification, step attribution.Step) bool {
	var seen [3]bool
	for _, ph := range of.Phases {
		if ph.Step != step.Number {
			continue
		}
		switch ph.Kind {
		case attribution.Forward:
			seen[0] = true
		case attribution.Backward:
			seen[1] = true
		case attribution.Optimizer:
			seen[2] = true
		}
	}
	return seen == [3]bool{true, true, true}
}

// A PointTable is a project's file of points, one a line, in which lines that were
// there stay as they are.
type PointTable struct {
	lines [][]byte
	ids   []string // of the file and the keys of a line
	first *Point
}

// ReadTable reads a table; an empty one has no points yet.
func ReadTable(data []byte, name string) (*PointTable, error) {
	t := &PointTable{}
	if len(data) > maxPointsFile {
		return nil, fmt.Errorf("%s: over %s: not a table of points", name, units.Bytes(maxPointsFile))
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		points, err := parsePoints(line)
		if err == nil && len(points) != 1 {
			err = fmt.Errorf("not one point")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n+1, withoutLine(err))
		}
		p := points[0]
		p.Line = n + 1
		if t.first == nil {
			t.first = &p
		} else if err := p.sameKeys(t.first); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n+1, err)
		}
		t.lines, t.ids = append(t.lines, line), append(t.ids, p.id())
	}
	return t, nil
}

// withoutLine takes "line 1: " off: the line of a line.
func withoutLine(err error) error {
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "line 1: "))
}

// id tells whether two points are the same run under the same keys.
func (p *Point) id() string {
	o := Point{Numbers: p.Numbers, Words: p.Words}
	return p.SHA256 + string(o.object().json())
}

// Add appends a point, or puts it in place of the one of the same file and keys.
// Its keys must be those of the table.
func (t *PointTable) Add(p Point) (replaced bool, err error) {
	if t.first != nil {
		if err := p.sameKeys(t.first); err != nil {
			return false, fmt.Errorf("%w; every point of a table has the same keys", err)
		}
	} else {
		p.Line = 1
		t.first = &p
	}
	line := p.object()
	line = append(line, member{"file", p.File}, member{"sha256", p.SHA256})
	at := slices.Index(t.ids, p.id())
	if at >= 0 && p.SHA256 != "" {
		t.lines[at] = line.json()
		return true, nil
	}
	t.lines, t.ids = append(t.lines, line.json()), append(t.ids, p.id())
	return false, nil
}

// Len is how many points there are.
func (t *PointTable) Len() int { return len(t.lines) }

// Write writes the table.
func (t *PointTable) Write(w io.Writer) error {
	for _, line := range t.lines {
		if _, err := w.Write(append(bytes.Clone(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes points as comma-separated values with a header, sizes in bytes.
func WriteCSV(w io.Writer, points []Point) error {
	if len(points) == 0 {
		return nil
	}
	numbers, words := inOrder(points[0].Numbers, numberKeys), inOrder(points[0].Words, wordKeys)
	out := csv.NewWriter(w)
	_ = out.Write(slices.Concat(numbers, words, measuredOrder, []string{"file"}))
	for i := range points {
		p := &points[i]
		var cells []string
		for _, k := range numbers {
			cells = append(cells, strconv.FormatFloat(p.Numbers[k], 'f', -1, 64))
		}
		for _, k := range words {
			cells = append(cells, p.Words[k])
		}
		for _, name := range measuredOrder {
			cell := ""
			if v := *measured[name](p); v > 0 {
				cell = strconv.FormatInt(v, 10)
			}
			cells = append(cells, cell)
		}
		_ = out.Write(append(cells, p.File))
	}
	out.Flush()
	return out.Error()
}
