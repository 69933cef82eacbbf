package attribution

import (
	"cmp"
	"math"
	"slices"
)

// RankOutlier are ranks that hold more or less than others of their group, by
// the same numbers but for what does not matter. The numbers are of the first.
type RankOutlier struct {
	Rows      []int // indices into RankSet.Rows
	Reference int   // the row it is compared with: that of the median, or the other one of two

	// Pair: there are only two, so that no median says which is unusual. The
	// one that holds more is named.
	Pair bool

	Deviations []RankDeviation // what is unusual, most bytes first; empty for a pair

	// What it has more, or less, than the reference, at RankReport.At. Both sum
	// to Delta.
	Delta      int64
	Categories []CategoryDelta // Before is of the reference
	Lines      []RankDelta     // largest first
	Reserved   int64           // by how much its peak of reserved bytes is higher
}

// RankDeviation is a number by which a rank is unusual.
type RankDeviation struct {
	What   string // as RankNumber.Name, or the category; "line" for one of code
	Line   RankLine
	Value  int64
	Median int64
	Score  float64 // how many times the usual deviation; +Inf when half of the ranks are equal
}

// What counts as unusual: a modified z-score above 3.5 (Iglewicz and Hoaglin
// 1993), and a difference that matters. The allocator takes memory from the
// device in pieces of 2 MiB and more, so that less cannot decide what fits.
const (
	unusualScore   = 3.5
	madToDeviation = 1.4826 // of a normal distribution
	leastMatter    = 2 << 20
	matterShare    = 0.01 // of the median peak
)

// group divides the ranks that are compared by the part of the model they hold.
func (c *comparison) group() {
	r := c.report
	rows := slices.Clone(c.rows)
	if slices.ContainsFunc(rows, func(i int) bool { return r.Rows[i].ID.axis("pp") >= 0 }) {
		slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(r.Rows[a].ID.axis("pp"), r.Rows[b].ID.axis("pp")) })
		c.cut(rows, func(first, i int) bool { return r.Rows[first].ID.axis("pp") == r.Rows[i].ID.axis("pp") })
		for k := range r.Groups {
			if pp := r.Rows[r.Groups[k].Rows[0]].ID.axis("pp"); pp >= 0 {
				r.Groups[k].Name = RankID{Rank: -1, Local: -1, Axes: []RankAxis{{"pp", pp}}}.String()
			}
		}
		return
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(r.Totals(a)[Parameter], r.Totals(b)[Parameter]) })
	c.cut(rows, func(first, i int) bool {
		p, q := r.Totals(first)[Parameter], r.Totals(i)[Parameter]
		return q-p <= max(leastMatter, int64(matterShare*float64(q)))
	})
	slices.SortFunc(r.Groups, func(a, b RankGroup) int { return cmp.Compare(a.Rows[0], b.Rows[0]) })
}

// cut makes groups of neighbours that are like the first of their group.
func (c *comparison) cut(rows []int, same func(first, i int) bool) {
	r := c.report
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && same(rows[from], rows[to]) {
			to++
		}
		g := RankGroup{Rows: slices.Clone(rows[from:to])}
		slices.Sort(g.Rows)
		g.Parameters = r.Totals(g.Rows[0])[Parameter]
		g.Reference = c.medianRow(g.Rows)
		r.Groups = append(r.Groups, g)
		from = to
	}
}

// medianRow is the first row whose bytes are the median.
func (c *comparison) medianRow(rows []int) int {
	value := func(i int) int64 { return c.report.Totals(i).Sum() }
	median := lowerMedian(rows, value)
	return rows[slices.IndexFunc(rows, func(i int) bool { return value(i) == median })]
}

func (c *comparison) findOutliers() {
	r := c.report
	for _, g := range r.Groups {
		switch len(g.Rows) {
		case 1:
		case 2:
			c.comparePair(g)
		default:
			c.findUnusual(g)
		}
	}
	slices.SortStableFunc(r.Outliers, func(a, b RankOutlier) int { return cmp.Compare(b.weight(), a.weight()) })
}

// weight is the bytes that an outlier is about.
func (o *RankOutlier) weight() int64 {
	w := max(abs(o.Delta), abs(o.Reserved))
	for _, d := range o.Deviations {
		w = max(w, abs(d.Value-d.Median))
	}
	return w
}

// matters is the least difference worth naming in a group.
func (c *comparison) matters(g RankGroup) int64 {
	return max(leastMatter, int64(matterShare*float64(c.report.Totals(g.Reference).Sum())))
}

// comparePair names the larger of two.
func (c *comparison) comparePair(g RankGroup) {
	r := c.report
	a, b := g.Rows[0], g.Rows[1]
	x, y := r.Totals(a).Sum(), r.Totals(b).Sum()
	if x > y || x == y && r.Rows[a].PeakReserved > r.Rows[b].PeakReserved {
		a, b = b, a
	}
	o := c.outlier(b, a)
	if o.Pair = true; o.weight() >= c.matters(g) {
		r.Outliers = append(r.Outliers, o)
	}
}

func (c *comparison) outlier(row, reference int) RankOutlier {
	r := c.report
	o := RankOutlier{Rows: []int{row}, Reference: reference,
		Delta:    r.Totals(row).Sum() - r.Totals(reference).Sum(),
		Reserved: r.Rows[row].PeakReserved - r.Rows[reference].PeakReserved}
	o.Categories, o.Lines = c.against(row, reference)
	return o
}

// findUnusual tests every number of the ranks of a group.
func (c *comparison) findUnusual(g RankGroup) {
	r := c.report
	found := map[int][]RankDeviation{}
	least := c.matters(g)
	test := func(d RankDeviation, value func(row int) int64) {
		d.Median = lowerMedian(g.Rows, value)
		for i, score := range unusual(g.Rows, value, d.Median, least) {
			d.Value, d.Score = value(i), score
			found[i] = append(found[i], d)
		}
	}
	requested, reserved := "peak_requested_bytes", "peak_reserved_bytes"
	if r.At == "end" {
		requested, reserved = "requested_bytes", "reserved_bytes"
	}
	test(RankDeviation{What: requested}, func(i int) int64 { return r.Totals(i).Sum() })
	test(RankDeviation{What: reserved}, func(i int) int64 { return r.Rows[i].PeakReserved })
	for _, k := range Categories() {
		test(RankDeviation{What: k.String()}, func(i int) int64 { return r.Totals(i)[k] })
	}
	for _, l := range r.Lines {
		if l.Max >= least {
			values := c.lines[l.place()].values
			test(RankDeviation{What: "line", Line: l.RankLine}, func(i int) int64 { return values[i] })
		}
	}
	first := len(r.Outliers)
	for _, i := range g.Rows {
		if len(found[i]) == 0 {
			continue
		}
		if k := slices.IndexFunc(r.Outliers[first:], func(o RankOutlier) bool { return c.alike(o.Rows[0], i, least) }); k >= 0 {
			r.Outliers[first+k].Rows = append(r.Outliers[first+k].Rows, i)
			continue
		}
		o := c.outlier(i, g.Reference)
		o.Deviations = found[i]
		slices.SortStableFunc(o.Deviations, func(a, b RankDeviation) int {
			return cmp.Compare(abs(b.Value-b.Median), abs(a.Value-a.Median))
		})
		r.Outliers = append(r.Outliers, o)
	}
}

// alike reports whether two rows differ in nothing that matters.
func (c *comparison) alike(a, b int, least int64) bool {
	r := c.report
	if abs(r.Rows[a].PeakReserved-r.Rows[b].PeakReserved) >= least {
		return false
	}
	x, y := r.Totals(a), r.Totals(b)
	for k := range x {
		if abs(x[k]-y[k]) >= least {
			return false
		}
	}
	for _, v := range c.lines {
		if v.merged.Max >= least && abs(v.values[a]-v.values[b]) >= least {
			return false
		}
	}
	return true
}

// unusual returns the scores of rows whose value lies far from the median, as
// measured by the median absolute deviation, and at least least from it.
func unusual(rows []int, value func(row int) int64, median, least int64) map[int]float64 {
	usual := madToDeviation * float64(lowerMedian(rows, func(i int) int64 { return abs(value(i) - median) }))
	out := map[int]float64{}
	for _, i := range rows {
		distance := abs(value(i) - median)
		if distance < least {
			continue
		}
		score := math.Inf(1)
		if usual > 0 {
			score = float64(distance) / usual
		}
		if score > unusualScore {
			out[i] = score
		}
	}
	return out
}
