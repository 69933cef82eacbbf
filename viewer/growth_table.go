package viewer

import (
	"fmt"
	"math"
	"strconv"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// suspectTable is the table of lines whose memory grows.
type suspectTable struct {
	Title      string
	Intro, Per string
	unit       string
	Interval   string // what the intervals are
	Total      int64  // bytes per step of the whole device
	Rows       []suspectRow
	More       string
}

type suspectRow struct {
	rowView
	Interval, IntervalExact string
	Live, LiveExact         string
	LiveRaw                 int64
	Spark                   *sparkline
	Kept                    string // how it grows
}

func newSuspectTable(s *GrowthSection, pages int, b *builder, html *texts) *suspectTable {
	if len(s.Suspects) == 0 {
		return nil
	}
	g := &s.Growth
	stacks := make(suspectStacks, len(s.Suspects))
	for i := range s.Suspects {
		stacks[i] = s.Suspects[i].Frames
	}
	b.use(stacks)
	most := share(maxSuspects, pages, leastRows)
	t := &suspectTable{
		Per: sentenceCase(per(g.Unit)), unit: g.Unit, Total: max(0, wholeBytes(g.BytesPerStep)),
		Interval: sentenceCase(intervalName(len(s.Suspects[0].Curve.Bytes))), Title: "Lines whose memory grows",
		Intro: fmt.Sprintf("What lines of the program hold at the same point of each %s, in requested bytes. Shares are of the growth of allocated bytes.", g.Unit),
	}
	if g.Verdict != attribution.Leak {
		t.Title = "Lines that hold more than at first"
	}
	largest := max(1, wholeBytes(s.Suspects[0].BytesPerStep))
	for i := range s.Suspects[:min(len(s.Suspects), most)] {
		t.Rows = append(t.Rows, newSuspectRow(&s.Suspects[i], i, t, largest, pages, b, html))
	}
	if left := len(s.Suspects) - most; left > 0 {
		t.More = plural(left, "smaller row") + " are not part of this page."
	}
	return t
}

func newSuspectRow(x *attribution.Suspect, rank int, t *suspectTable, largest int64, pages int, b *builder, html *texts) suspectRow {
	id := uint32(rank + 1)
	grows := wholeBytes(x.BytesPerStep)
	row := suspectRow{
		rowView:  tableRow(Row{Frame: newFrame(x.File, x.Function, x.Line), Bytes: grows, Count: x.Count}, t.Total, largest, html),
		Interval: rangeText(x.Low, x.High), IntervalExact: units.Exact(wholeBytes(x.Low)) + " to " + units.Exact(wholeBytes(x.High)),
		Live: units.Bytes(x.Live), LiveExact: units.Exact(x.Live), LiveRaw: x.Live,
		Spark: newSparkline(points(&x.Curve)), Kept: keptText(x, t.unit),
	}
	row.Percent = clampTo(row.Percent, 100)
	row.Rank = rank + 1
	if x.Category != attribution.Unknown {
		row.Tag, row.Class = categoryText(x.Category.String()), layerColour(x.Category.String())
	}
	row.Node = b.stack(id)
	row.Openable = row.Node != 0
	if rank < max(1, openStacks/pages) && row.Openable {
		row.Frames, row.More = stackView(b.stacks.Stack(id), html)
	}
	return row
}

// keptText says how many allocations a line keeps and how often, as far as a
// history tells: files compared do not.
func keptText(x *attribution.Suspect, unit string) string {
	every := "every " + unit
	if x.Every > 1 {
		every = "every " + stepsText(x.Every, unit)
	}
	switch {
	case unit == "snapshot":
		return ""
	case x.AtATime <= 0:
		return "replaced by more " + every
	}
	return stepText(math.Round(10*x.AtATime)/10, "") + " kept " + every
}

// suspectStacks are the stacks of suspects, by their index + 1.
type suspectStacks [][]snapshot.Frame

func (x suspectStacks) Stack(id uint32) []Frame {
	if id == 0 || int(id) > len(x) {
		return nil
	}
	frames := x[id-1]
	out := make([]Frame, min(len(frames), deepest))
	for i := range out {
		out[i] = newFrame(frames[i].File, frames[i].Function, frames[i].Line)
	}
	return out
}

func (x suspectStacks) Line(uint32) Frame { return Frame{} } // no blocks are drawn

// suspectName is a line in running text.
func suspectName(x *attribution.Suspect) string {
	if x.File == "" {
		return x.Function
	}
	_, name := splitPlace(x.File)
	if x.Line > 0 {
		name += ":" + strconv.Itoa(int(x.Line))
	}
	return name
}

// seriesRow is a curve in numbers.
type seriesRow struct {
	Name, Source          string
	First, FirstExact     string
	Last, LastExact       string
	Slope, SlopeExact     string
	Interval              string
	Shape, Course         string
	Points, WarmUp        string
	Resolution, LeastMost string
}

func newSeriesRow(c *GrowthCurve, unit string, html *texts) seriesRow {
	t, pts := &c.Trend, points(&c.Series)
	row := seriesRow{Name: html.name(curveText(c.Series.Name)), Source: html.name(c.Source), Points: units.Count(max(len(pts), c.Points)), First: "–", Last: "–", Slope: "–", Interval: "–", Shape: "–", Course: "–", WarmUp: "–", Resolution: "exact", LeastMost: "–"}
	if r := wholeBytes(c.Series.Resolution); r > 0 {
		row.Resolution = "± " + units.Bytes(r)
	}
	if len(pts) == 0 {
		return row
	}
	first, last, low, high := pts[0].bytes, pts[len(pts)-1].bytes, pts[0].bytes, pts[0].bytes
	for _, p := range pts {
		low, high = min(low, p.bytes), max(high, p.bytes)
	}
	row.First, row.FirstExact = bytesText(first), units.Exact(wholeBytes(first))
	row.Last, row.LastExact = bytesText(last), units.Exact(wholeBytes(last))
	row.LeastMost = bytesText(low) + " to " + bytesText(high)
	if t.Points < 2 {
		return row
	}
	row.Slope, row.SlopeExact = slopeText(t.BytesPerStep), exactSlope(t.BytesPerStep)
	if t.Course == attribution.Level || t.Course == attribution.Settled {
		row.Slope = "none"
	}
	if c.Unit != "" && c.Unit != unit {
		row.Slope += " " + per(c.Unit)
	}
	row.Shape, row.Course = t.Shape.String(), t.Course.String()
	if row.Slope != "none" || t.Low <= 0 && t.High >= 0 { // else it is that of the rise before
		row.Interval = rangeText(t.Low, t.High)
	}
	if t.Period > 0 {
		own := unit
		if c.Unit != "" {
			own = c.Unit
		}
		row.Course += ", every " + stepsText(t.Period, own)
	}
	row.WarmUp = plural(t.WarmUp, "point")
	if t.WarmUp == 0 {
		row.WarmUp = "none"
	}
	return row
}
