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
		r.Groups = append(r.Groups, c.newGroup(rows[from:to]))
		from = to
	}
}

// medianRow is the row whose bytes are the median; of several the one whose
// reserved bytes are closest to theirs.
func (c *comparison) medianRow(rows []int) int {
	r := c.report
	total := func(i int) int64 { return r.Totals(i).Sum() }
	reserved := func(i int) int64 { return r.Rows[i].PeakReserved }
	median, usual := lowerMedian(rows, total), lowerMedian(rows, reserved)
	return slices.MinFunc(rows, func(a, b int) int {
		return cmp.Or(cmp.Compare(abs(total(a)-median), abs(total(b)-median)), cmp.Compare(abs(reserved(a)-usual), abs(reserved(b)-usual)))
	})
}

// findOutliers compares the ranks of each group. Ranks that differ from the
// median as many others of the group do are no outliers: they become a group.
func (c *comparison) findOutliers() {
	r := c.report
	for k := 0; k < len(r.Groups); k++ {
		switch len(r.Groups[k].Rows) {
		case 1:
		case 2:
			c.comparePair(r.Groups[k])
		default:
			c.compareGroup(k)
		}
	}
	slices.SortStableFunc(r.Outliers, func(a, b RankOutlier) int {
		return cmp.Or(cmp.Compare(b.excess(), a.excess()), cmp.Compare(b.weight(), a.weight()))
	})
}

// kindShare is the part of a group from which on ranks that differ in the same
// way are taken for another kind, such as another stage with equal parameters.
const kindShare = 0.25

// compareGroup finds the unusual ranks of a group of three and more, or takes
// ranks of another kind out of it.
func (c *comparison) compareGroup(k int) {
	r := c.report
	for {
		g := r.Groups[k]
		found := c.findUnusual(g)
		i := slices.IndexFunc(found, func(o RankOutlier) bool {
			return len(o.Rows) > 1 && float64(len(o.Rows)) >= kindShare*float64(len(g.Rows))
		})
		if i < 0 {
			r.Outliers = append(r.Outliers, found...)
			return
		}
		kind := c.newGroup(found[i].Rows)
		kind.Name, kind.OfKind = g.Name, true
		rest := c.newGroup(slices.DeleteFunc(slices.Clone(g.Rows), func(row int) bool { return slices.Contains(kind.Rows, row) }))
		rest.Name, rest.OfKind = g.Name, g.OfKind
		r.Groups[k] = rest
		r.Groups = append(r.Groups, kind)
		if len(rest.Rows) < 3 {
			if len(rest.Rows) == 2 {
				c.comparePair(rest)
			}
			return
		}
	}
}

// newGroup is a group of rows in order.
func (c *comparison) newGroup(rows []int) RankGroup {
	g := RankGroup{Rows: slices.Clone(rows)}
	slices.Sort(g.Rows)
	g.Parameters = c.report.Totals(g.Rows[0])[Parameter]
	g.Reference = c.medianRow(g.Rows)
	return g
}

// weight is the bytes that an outlier is about.
func (o *RankOutlier) weight() int64 {
	w := max(abs(o.Delta), abs(o.Reserved))
	for _, d := range o.Deviations {
		w = max(w, abs(d.Value-d.Median))
	}
	return w
}

// excess is the most that an outlier has more than others: that is what fills a
// GPU.
func (o *RankOutlier) excess() int64 {
	e := max(o.Delta, o.Reserved, 0)
	for _, d := range o.Deviations {
		e = max(e, d.Value-d.Median)
	}
	return e
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

// findUnusual tests every number of the ranks of a group. A rank that differs
// from the medians just as the one with the median peak does is like that one.
func (c *comparison) findUnusual(g RankGroup) (out []RankOutlier) {
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
	for _, i := range g.Rows {
		if len(found[i]) == 0 || c.alike(g.Reference, i, least) {
			continue
		}
		if k := slices.IndexFunc(out, func(o RankOutlier) bool { return c.alike(o.Rows[0], i, least) }); k >= 0 {
			out[k].Rows = append(out[k].Rows, i)
			continue
		}
		o := c.outlier(i, g.Reference)
		o.Deviations = found[i]
		slices.SortStableFunc(o.Deviations, func(a, b RankDeviation) int {
			return cmp.Compare(abs(b.Value-b.Median), abs(a.Value-a.Median))
		})
		out = append(out, o)
	}
	return out
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
