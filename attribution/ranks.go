package attribution

import (
	"cmp"
	"slices"
)

// RankReport compares the ranks of a job.
type RankReport struct {
	RankSet

	// At is what categories and lines are compared at: "peak", each rank at its
	// own, or "end" when the history of one does not show a peak.
	At string

	Summary  []string // what is found, in sentences, the most important first
	Limiting int      // index of the row that reserves most at its peak; −1 without rows

	// Groups are ranks with equal parts of the model, and of one kind. With
	// several, ranks differ by design and each is compared within its group.
	Groups   []RankGroup
	Outliers []RankOutlier // most bytes first
	Spread   RankSpread

	Numbers    []RankNumber // the accounts over all rows
	Categories []RankNumber // requested bytes at At by category, only those that a row has
	Lines      []MergedLine // likewise by line, most bytes in all first

	// MissingRanks are numbers below the highest that no file is of, Missing
	// the places in a grid or on a machine. At most maxMissing of each.
	MissingRanks []int
	Missing      []string
}

// RankGroup are ranks that hold the same part of the model.
type RankGroup struct {
	Name       string // such as "pp0", or "" when parameters tell groups apart
	Rows       []int  // indices into RankSet.Rows
	Parameters int64  // bytes of the first of them
	Reference  int    // the row whose peak is the median
	OfKind     bool   // others have equal parameters: these hold something else, all in the same way
}

// RankSpread is what the rank that holds most has more than the one that holds
// least, at At; the parts sum to Bytes.
type RankSpread struct {
	High, Low  int // indices into RankSet.Rows; equal when all hold the same
	Bytes      int64
	Categories []CategoryDelta // Before is of Low
	Lines      []RankDelta     // largest first
}

// RankDelta is a line in two ranks.
type RankDelta struct {
	File        string
	Line        int32
	Function    string
	Category    Category
	Here, There int64 // bytes
	Delta       int64
}

// RankNumber is a number of all rows.
type RankNumber struct {
	Name, Title      string // "peak_requested_bytes", "peak requested"
	Sum              int64
	Min, Median, Max int64 // over the rows that are compared; Median is one of them
	MinRow, MaxRow   int   // the first rows that have them
}

// MergedLine is what a line holds on all ranks together.
type MergedLine struct {
	RankLine               // Bytes and Count are sums
	Ranks            int   // rows that hold some
	Min, Median, Max int64 // over the rows that are compared
	MaxRow           int
}

// Ranks compares the rows of a set.
func Ranks(set RankSet) RankReport {
	r := RankReport{RankSet: set, At: "peak", Limiting: -1, Spread: RankSpread{High: -1, Low: -1}}
	for i := range r.Rows {
		if !r.Rows[i].HasPeak {
			r.At = "end"
		}
	}
	c := &comparison{report: &r}
	for i := range r.Rows {
		if !r.Rows[i].Stray {
			c.rows = append(c.rows, i)
		}
	}
	r.findMissing()
	if len(c.rows) > 0 {
		c.merge()
		c.group()
		c.findOutliers()
		c.spread()
	}
	r.Summary = c.sentences()
	return r
}

// Totals are the bytes of a row by category at the moment that is compared.
func (r *RankReport) Totals(row int) *Totals {
	if r.At == "end" {
		return &r.Rows[row].AtEnd
	}
	return &r.Rows[row].AtPeak
}

// LinesOf are the bytes of a row by line at the moment that is compared.
func (r *RankReport) LinesOf(row int) []RankLine {
	if r.At == "end" {
		return r.Rows[row].EndLines
	}
	return r.Rows[row].PeakLines
}

// comparison is a report in the making.
type comparison struct {
	report *RankReport
	rows   []int // those that are compared
	lines  map[placeKey]*lineValues
}

// lineValues is a line over all rows.
type lineValues struct {
	merged MergedLine
	mix    Totals
	values map[int]int64 // bytes by row
}

// account is a number of a row.
type account struct {
	name, title string
	of          func(*RankRow) int64
}

var rankAccounts = []account{
	{"peak_requested_bytes", "peak requested", func(r *RankRow) int64 { return r.PeakRequested }},
	{"peak_reserved_bytes", "peak reserved", func(r *RankRow) int64 { return r.PeakReserved }},
	{"requested_bytes", "requested at the end", func(r *RankRow) int64 { return r.End.Requested }},
	{"allocated_bytes", "allocated at the end", func(r *RankRow) int64 { return r.End.Allocated }},
	{"reserved_bytes", "reserved at the end", func(r *RankRow) int64 { return r.End.Reserved }},
	{"inactive_split_bytes", "inactive split at the end", func(r *RankRow) int64 { return r.End.InactiveSplit }},
}

// merge sums over all rows.
func (c *comparison) merge() {
	r := c.report
	for _, a := range rankAccounts {
		if r.At == "end" && (a.name == "peak_requested_bytes" || a.name == "peak_reserved_bytes") {
			continue
		}
		r.Numbers = append(r.Numbers, c.number(a.name, a.title, func(i int) int64 { return a.of(&r.Rows[i]) }))
	}
	for _, k := range Categories() {
		n := c.number(k.String(), words(k), func(i int) int64 { return r.Totals(i)[k] })
		if n.Sum != 0 {
			r.Categories = append(r.Categories, n)
		}
	}
	c.mergeLines()
	r.Limiting = c.rows[0]
	for _, i := range c.rows {
		if r.Rows[i].PeakReserved > r.Rows[r.Limiting].PeakReserved {
			r.Limiting = i
		}
	}
}

func (c *comparison) number(name, title string, value func(row int) int64) RankNumber {
	n := RankNumber{Name: name, Title: title, MinRow: c.rows[0], MaxRow: c.rows[0]}
	for i := range c.report.Rows {
		n.Sum += value(i)
	}
	for _, i := range c.rows {
		if value(i) < value(n.MinRow) {
			n.MinRow = i
		}
		if value(i) > value(n.MaxRow) {
			n.MaxRow = i
		}
	}
	n.Min, n.Max = value(n.MinRow), value(n.MaxRow)
	n.Median = lowerMedian(c.rows, value)
	return n
}

// lowerMedian is the lower median: a value that one of the rows has.
func lowerMedian(rows []int, value func(row int) int64) int64 {
	all := make([]int64, len(rows))
	for k, i := range rows {
		all[k] = value(i)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

func (c *comparison) mergeLines() {
	r := c.report
	c.lines = map[placeKey]*lineValues{}
	for i := range r.Rows {
		for _, l := range r.LinesOf(i) {
			k := l.place()
			v := c.lines[k]
			if v == nil {
				v = &lineValues{merged: MergedLine{RankLine: l, MaxRow: -1}, values: map[int]int64{}}
				v.merged.Bytes, v.merged.Count = 0, 0
				c.lines[k] = v
			}
			v.merged.Bytes += l.Bytes
			v.merged.Count += l.Count
			v.merged.Ranks++
			v.mix[l.Category] += l.Bytes
			v.values[i] = l.Bytes
		}
	}
	for _, v := range c.lines {
		m := &v.merged
		m.Category = (&placeSum{categories: v.mix}).main()
		n := c.number("", "", func(i int) int64 { return v.values[i] })
		m.Min, m.Median, m.Max, m.MaxRow = n.Min, n.Median, n.Max, n.MaxRow
		r.Lines = append(r.Lines, *m)
	}
	slices.SortFunc(r.Lines, func(a, b MergedLine) int { return compareRankLines(a.RankLine, b.RankLine) })
}

// spread compares the rank that holds most with the one that holds least.
func (c *comparison) spread() {
	r := c.report
	n := c.number("", "", func(i int) int64 { return r.Totals(i).Sum() })
	s := RankSpread{High: n.MaxRow, Low: n.MinRow, Bytes: n.Max - n.Min}
	s.Categories, s.Lines = c.against(s.High, s.Low)
	r.Spread = s
}

// against is what a row has more, or less, than another.
func (c *comparison) against(row, other int) ([]CategoryDelta, []RankDelta) {
	r := c.report
	categories := slices.DeleteFunc(categoryDeltas(r.Totals(other), r.Totals(row)), func(d CategoryDelta) bool { return d.Delta == 0 })
	there := map[placeKey]RankLine{}
	for _, l := range r.LinesOf(other) {
		there[l.place()] = l
	}
	var out []RankDelta
	add := func(here, there RankLine, l RankLine) {
		if here.Bytes != there.Bytes {
			out = append(out, RankDelta{l.File, l.Line, l.Function, l.Category, here.Bytes, there.Bytes, here.Bytes - there.Bytes})
		}
	}
	for _, l := range r.LinesOf(row) {
		add(l, there[l.place()], l)
		delete(there, l.place())
	}
	for _, l := range there {
		add(RankLine{}, l, l)
	}
	slices.SortFunc(out, func(a, b RankDelta) int {
		return cmp.Or(cmp.Compare(abs(b.Delta), abs(a.Delta)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function))
	})
	return categories, out
}
