package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// DiffBy is what two snapshots are compared by.
type DiffBy uint8

const (
	DiffByLine     DiffBy = iota // line of the user frame, see snapshot.UserFrame
	DiffByFrame                  // innermost frame, whoever's code it is
	DiffByFunction               // function of the user frame
	DiffByFile                   // file of the user frame
	DiffByModule                 // see ModuleOf
	DiffByCategory               // see Classify
)

var diffByNames = [...]string{"line", "frame", "function", "file", "module", "category"}

func (b DiffBy) String() string {
	if int(b) < len(diffByNames) {
		return diffByNames[b]
	}
	return fmt.Sprintf("by %d", uint8(b))
}

// ParseDiffBy is the inverse of DiffBy.String.
func ParseDiffBy(name string) (DiffBy, error) {
	if i := slices.Index(diffByNames[:], strings.ToLower(strings.TrimSpace(name))); i >= 0 {
		return DiffBy(i), nil
	}
	return 0, fmt.Errorf("cannot compare by %q: use %s", name, strings.Join(diffByNames[:], ", "))
}

// DiffOptions say what to compare. At is a moment as of Timeline.Moment, looked
// up in each history; "" is the end.
type DiffOptions struct {
	Device int
	First  *int // the device of the first snapshot, when it is another one
	At     string
	By     DiffBy
}

// Status is what became of a row.
type Status uint8

const (
	Same Status = iota
	New
	Gone
	Grew
	Shrunk
)

var statusNames = [...]string{"same", "new", "gone", "grew", "shrunk"}

func (s Status) String() string { return statusNames[s] }

func statusOf(r *DiffRow) Status {
	switch {
	case r.BeforeCount == 0:
		return New
	case r.AfterCount == 0:
		return Gone
	case r.After > r.Before:
		return Grew
	case r.After < r.Before:
		return Shrunk
	}
	return Same
}

// DiffRow is a place in the code in both snapshots. Bytes are requested bytes.
type DiffRow struct {
	File     string // "" for what has no line, such as a module, a category or "(autograd thread)"
	Line     int32  // in the second snapshot, or in the first when the row is gone
	Function string

	Before, After, Delta    int64
	BeforeCount, AfterCount int
	Status                  Status
	MovedFrom               int32           // the line in the first snapshot when the code moved, else 0
	Category                Category        // the one that changed most here
	Mix                     []CategoryDelta // all that the row holds, largest change first

	change Totals // Delta by category
}

// CategoryDelta is a category in both snapshots.
type CategoryDelta struct {
	Category             Category
	Before, After, Delta int64
}

// SettingChange is an allocator setting that differs; "" where it is not set.
type SettingChange struct{ Key, Before, After string }

// Headline is one of the numbers that describe a snapshot as a whole.
type Headline struct {
	Name                 string // "peak_requested_bytes", …
	Title                string // "peak requested"
	Before, After, Delta int64
}

// DiffResult is what changed from one snapshot to another. Rows sum to Delta,
// and so do Categories.
type DiffResult struct {
	Device       int // of the second snapshot
	First        int // device of the first
	By           DiffBy
	At           [2]snapshot.Moment
	Before       int64
	After, Delta int64
	Rows         []DiffRow       // largest change first
	Categories   []CategoryDelta // those that one of the two has, largest change first
	Headlines    []Headline
	Settings     []SettingChange
	Summary      []string // what explains the change, in sentences
	Notes        []string
}

// Diff compares what is alive at a moment of a with the same moment of b. The
// two may be of different runs: places are compared, not allocations. A line
// that moved within its function counts as the same line. A device that one of
// the two does not have held nothing there.
func Diff(a, b *snapshot.Snapshot, o DiffOptions) (DiffResult, error) {
	r := DiffResult{Device: o.Device, First: o.Device, By: o.By}
	if o.First != nil {
		r.First = *o.First
	}
	at := o.At
	if at == "" {
		at = "end"
	}
	var sides [2]side
	for i, s := range [...]*snapshot.Snapshot{a, b} {
		var err error
		if sides[i], err = newSide(s, [...]int{r.First, r.Device}[i], o, at); err != nil {
			return r, fmt.Errorf("%s snapshot: %w", [...]string{"first", "second"}[i], err)
		}
		r.At[i] = sides[i].moment
	}
	labels := classifySides(a, b, &sides)
	for i, s := range [...]*snapshot.Snapshot{a, b} {
		sides[i].sum(s, o.By, labels[i])
	}
	r.Before, r.After = sides[0].total, sides[1].total
	r.Delta = r.After - r.Before
	rows, moved := pairRows(sides[0].sums, sides[1].sums, o.By == DiffByLine || o.By == DiffByFrame)
	r.Rows = rows
	r.Categories = diffCategories(&sides)
	r.Headlines = diffHeadlines(&sides)
	r.Settings = diffSettings(a.Settings, b.Settings)
	lines := rows
	if o.By != DiffByLine {
		lines, _ = pairRows(sides[0].lines, sides[1].lines, true)
	}
	r.Summary = summarizeDiff(&r, lines)
	if moved > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of the lines moved within their function and were matched by order and size", moved))
	}
	for i, s := range sides {
		which := [...]string{"first", "second"}[i]
		if s.missing {
			r.Notes = append(r.Notes, fmt.Sprintf("the %s snapshot has no memory on device %d: it counts as 0 B", which, s.device.Index))
			continue
		}
		if s.timeline.OpenEnd {
			r.Notes = append(r.Notes, fmt.Sprintf("the %s snapshot was not read to its end: it is compared as its last event read leaves it", which))
		}
		if h := s.timeline.History; h == snapshot.HistoryNone || h == snapshot.HistoryStateOnly {
			r.Notes = append(r.Notes, fmt.Sprintf("the %s snapshot has no history (%s): only its end is known", which, h))
		}
	}
	return r, nil
}

// A side is one of the two snapshots, summed.
type side struct {
	timeline   *snapshot.Timeline
	device     *snapshot.Device
	moment     snapshot.Moment
	missing    bool // the snapshot does not have the device
	total      int64
	categories Totals
	sums       map[placeKey]*placeSum
	lines      map[placeKey]*placeSum // the same by line
}

// placeSum is what a place holds.
type placeSum struct {
	bytes      int64
	count      int
	categories Totals
}

func newSide(s *snapshot.Snapshot, device int, o DiffOptions, at string) (side, error) {
	d := findDevice(s, device)
	missing := d == nil
	if missing {
		d = &snapshot.Device{Index: device}
	}
	t := s.Timeline(d)
	m, err := momentOf(t, at, missing)
	if err != nil {
		return side{}, err
	}
	return side{timeline: t, device: d, moment: m, missing: missing, sums: map[placeKey]*placeSum{}, lines: map[placeKey]*placeSum{}}, nil
}

// sum adds up what is alive at the moment.
func (x *side) sum(s *snapshot.Snapshot, by DiffBy, labels []Label) {
	t, m := x.timeline, x.moment
	places, lines := newPlacer(s, t, by), newPlacer(s, t, DiffByLine)
	for i := range t.Allocations {
		a := &t.Allocations[i]
		if int(a.Born) > m.Event || int(a.Freed) <= m.Event {
			continue
		}
		category := Unknown
		if i < len(labels) {
			category = labels[i].Category
		}
		x.total += a.Requested
		x.categories[category] += a.Requested
		line := lines.of(a)
		key := line
		switch by {
		case DiffByCategory:
			key = placeKey{Function: category.String()}
		case DiffByLine:
		default:
			key = places.of(a)
		}
		addTo(x.sums, key, a.Requested, category)
		if by != DiffByLine {
			addTo(x.lines, line, a.Requested, category)
		}
	}
}

// momentOf looks a moment up. The end of a damaged file is an event like any
// other.
func momentOf(t *snapshot.Timeline, at string, missing bool) (snapshot.Moment, error) {
	if missing {
		return snapshot.Moment{Name: at, Event: -1}, nil
	}
	m, err := t.Moment(at)
	if err == nil && t.OpenEnd && m.Name == "end" {
		m.Name = "event"
	}
	return m, err
}

func addTo(sums map[placeKey]*placeSum, k placeKey, bytes int64, c Category) {
	s := sums[k]
	if s == nil {
		s = &placeSum{}
		sums[k] = s
	}
	s.bytes += bytes
	s.count++
	s.categories[c] += bytes
}

// newRow joins a place of the first snapshot with one of the second; either
// may be missing.
func newRow(ka, kb placeKey, a, b *placeSum) DiffRow {
	r := DiffRow{File: kb.File, Line: kb.Line, Function: kb.Function, Category: Unknown}
	if b == nil {
		r.File, r.Line, r.Function = ka.File, ka.Line, ka.Function
	}
	var none placeSum
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	r.Before, r.After, r.Delta = a.bytes, b.bytes, b.bytes-a.bytes
	r.BeforeCount, r.AfterCount = a.count, b.count
	r.Status = statusOf(&r)
	if r.BeforeCount > 0 && r.AfterCount > 0 && ka.Line != kb.Line {
		r.MovedFrom = ka.Line
	}
	r.Mix = categoryDeltas(&a.categories, &b.categories)
	most := int64(-1)
	for c := range a.categories {
		r.change[c] = b.categories[c] - a.categories[c]
		change := abs(r.change[c])
		if r.Delta == 0 {
			change = b.categories[c]
		}
		if change > most {
			most, r.Category = change, Category(c)
		}
	}
	return r
}

func abs(n int64) int64 { return max(n, -n) }

func compareDiffRows(a, b DiffRow) int {
	return cmp.Or(cmp.Compare(abs(b.Delta), abs(a.Delta)), cmp.Compare(b.After, a.After), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Status, b.Status))
}

func diffCategories(sides *[2]side) []CategoryDelta {
	return categoryDeltas(&sides[0].categories, &sides[1].categories)
}

func categoryDeltas(a, b *Totals) []CategoryDelta {
	var out []CategoryDelta
	for _, c := range Categories() {
		before, after := a[c], b[c]
		if before != 0 || after != 0 {
			out = append(out, CategoryDelta{c, before, after, after - before})
		}
	}
	slices.SortStableFunc(out, func(a, b CategoryDelta) int { return cmp.Compare(abs(b.Delta), abs(a.Delta)) })
	return out
}
