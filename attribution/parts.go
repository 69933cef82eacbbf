package attribution

import (
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// A Part is what one category has of something.
type Part struct {
	Category   Category
	Bytes      int64 // requested
	Count      int   // allocations
	Evidence   string
	Confidence float32 // the lowest of its labels
}

// Parts divides each row of a table folded by line into categories, most bytes
// first. Evidence is that of the largest allocation. A row whose memory cannot
// be found again has no parts.
func (c *Classification) Parts(table snapshot.Table) [][]Part {
	rows := newRowFinder(c, table)
	sums := make([][NumCategories]Part, len(table.Rows))
	largest := make([][NumCategories]int64, len(table.Rows))
	for i, a := range c.Live(table.Moment) {
		row := rows.of(a)
		if row < 0 {
			continue
		}
		l := &c.Labels[i]
		p := &sums[row][l.Category]
		if p.Count == 0 {
			*p = Part{Category: l.Category, Evidence: l.Evidence, Confidence: l.Confidence}
		}
		p.Bytes += a.Requested
		p.Count++
		p.Confidence = min(p.Confidence, l.Confidence)
		if a.Requested > largest[row][l.Category] {
			largest[row][l.Category], p.Evidence = a.Requested, l.Evidence
		}
	}
	out := make([][]Part, len(table.Rows))
	for i := range sums {
		for _, p := range sums[i] {
			if p.Count > 0 {
				out[i] = append(out[i], p)
			}
		}
		sort.SliceStable(out[i], func(a, b int) bool { return out[i][a].Bytes > out[i][b].Bytes })
	}
	return out
}

// rowFinder finds the row of a table by line that an allocation is in.
type rowFinder struct {
	c      *Classification
	lines  map[lineKey]int
	stacks map[snapshot.StackID]int
	older  int // row of memory without a line that is older than the history
	other  int // row of other memory without a line
}

type lineKey struct {
	file, function string
	line           int32
}

func newRowFinder(c *Classification, table snapshot.Table) *rowFinder {
	f := &rowFinder{c: c, lines: map[lineKey]int{}, stacks: map[snapshot.StackID]int{}, older: -1, other: -1}
	for i, r := range table.Rows {
		f.lines[lineKey{r.File, r.Function, r.Line}] = i
		switch {
		case !r.IsPlaceholder() || r.Function == snapshot.NativeCode:
		case r.Function == snapshot.OlderMemory:
			f.older = i
		default:
			f.other = i
		}
	}
	if f.older < 0 {
		f.older = f.other
	}
	return f
}

func (f *rowFinder) of(a *snapshot.Allocation) int {
	if a.Stack == snapshot.NoStack {
		if a.Born == snapshot.BeforeHistory {
			return f.older
		}
		return f.other
	}
	row, known := f.stacks[a.Stack]
	if !known {
		row = f.find(a.Stack)
		f.stacks[a.Stack] = row
	}
	return row
}

func (f *rowFinder) find(id snapshot.StackID) int {
	frame, ok := f.c.Snapshot.UserFrame(id)
	if !ok {
		return f.other
	}
	x := &f.c.Snapshot.Frames[frame]
	key := lineKey{x.File, x.Function, x.Line}
	if x.File == "" && x.Function == "" {
		key.function = snapshot.NativeCode
	}
	if row, ok := f.lines[key]; ok {
		return row
	}
	return -1
}
