package viewer

import (
	"fmt"
	"math"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// growthNumbers are the headline figures.
func growthNumbers(s *GrowthSection, html *texts) []growthNumber {
	g := &s.Growth
	var out []growthNumber
	curves := s.comparable()
	if d := s.deciding(); d != nil {
		n := slopeNumber(&d.Trend, g.Unit)
		if d.Series.Name == curves[0].Series.Name && g.Low == d.Trend.Low {
			n.Text, n.Exact, n.Raw = slopeText(g.BytesPerStep), exactSlope(g.BytesPerStep), wholeBytes(g.BytesPerStep)
		}
		n.Name, n.Main = "Growth of "+html.name(curveText(d.Series.Name)), true
		out = append(out, growthNumber{n, false}, growthNumber{shapeNumber(g, &d.Trend), false})
	}
	levels := 0
	for _, k := range lineClasses {
		if c := firstNamed(curves, k.names); c != nil && levels < 2 {
			out = append(out, growthNumber{levelNumber(c, g.Unit), false})
			levels++
		}
	}
	for _, f := range s.Figures {
		out = append(out, growthNumber{number{Name: html.name(f.Name), Text: html.name(f.Text), Sub: html.name(f.Remark)}, false})
	}
	if n, ok := blameNumber(s, html); ok {
		out = append(out, growthNumber{n, true})
	}
	if r := s.Room; r != nil {
		out = append(out, growthNumber{number{Name: "Card full after", Text: stepText(about(r.Steps), g.Unit), Sub: roomRemark(r, g.Unit)}, false})
	}
	return out
}

// blameNumber is where a leak comes from: the line that keeps the memory when a
// known pattern names it, else the one that allocates most of it.
func blameNumber(s *GrowthSection, html *texts) (number, bool) {
	g := &s.Growth
	if g.Verdict != attribution.Leak || len(s.Suspects) == 0 {
		return number{}, false
	}
	x := &s.Suspects[0]
	if len(s.Hints) > 0 && s.Hints[0].File != "" && (s.Hints[0].File != x.File || s.Hints[0].Line != x.Line) {
		h := newHintView(&s.Hints[0], html)
		return number{Name: "Where to look", Text: h.Base, Sub: h.Title}, true
	}
	sub := bytesText(x.BytesPerStep) + " " + per(g.Unit)
	if g.BytesPerStep > 0 {
		sub += ", " + units.Percent(wholeBytes(x.BytesPerStep), wholeBytes(g.BytesPerStep))
	}
	return number{Name: "Line to blame", Text: html.name(suspectName(x)), Sub: sub}, true
}

// roomRemark says what the number of steps is.
func roomRemark(r *attribution.Room, unit string) string {
	text := unitsOf(r.Steps, unit) + " at most; "
	if unit == "second" {
		text = "at most; "
	}
	return text + units.Bytes(r.Capacity) + " card"
}

// shapeNumber is the shape of the curve that decided: for growth of the cache
// that is not the one whose trend is given.
func shapeNumber(g *attribution.Growth, t *attribution.Trend) number {
	n := number{Name: "Shape", Text: g.Shape.String(), Sub: courseText(t, g.Unit)}
	if g.Verdict == attribution.CacheGrowth {
		n.Sub = "of the cache"
	} else if g.Verdict == attribution.Leak && t.Course == attribution.TooShort { // what each file's history shows decided
		n.Sub = "over " + stepsText(float64(t.Points), g.Unit)
	}
	return n
}

// slopeNumber is the slope of a trend, if it can be told from none.
func slopeNumber(t *attribution.Trend, unit string) number {
	n := number{
		Text: slopeText(t.BytesPerStep), Exact: exactSlope(t.BytesPerStep), Raw: wholeBytes(t.BytesPerStep),
		Sub: per(unit) + "; " + intervalText(t.Low, t.High, t.Points),
	}
	if t.Low <= 0 && t.High >= 0 {
		n.Text = "none"
	}
	return n
}

// levelNumber is where a curve ends, and by how much it changed.
func levelNumber(c *GrowthCurve, unit string) number {
	pts := points(&c.Series)
	first, last := pts[0], pts[len(pts)-1]
	return number{
		Name: sentenceCase(curveText(c.Series.Name)) + atLast(unit), Text: bytesText(last.bytes), Exact: units.Exact(wholeBytes(last.bytes)), Raw: wholeBytes(last.bytes),
		Sub: units.Signed(wholeBytes(last.bytes-first.bytes)) + " since " + atStep(first.step, unit),
	}
}

// atLast says where a curve ends: within a step of a history, that is not where the
// file ends.
func atLast(unit string) string {
	switch unit {
	case "step", "iteration", "epoch":
		return " at last " + unit
	case "snapshot":
		return " in last " + unit
	}
	return " at end"
}

// courseText says where a curve is heading.
func courseText(t *attribution.Trend, unit string) string {
	text := t.Course.String()
	switch t.Course {
	case attribution.Climbing:
		text = "still climbing at the end"
	case attribution.Level:
		text = "no trend"
	}
	if t.Period > 0 {
		text += ", every " + stepsText(t.Period, unit)
	}
	return text
}

// roomText says how long a leak can go on.
func roomText(r *attribution.Room, unit string) string {
	if r == nil {
		return ""
	}
	outside := "what others hold on it is not known"
	if r.Outside >= 0 {
		outside = units.Bytes(r.Outside) + " of it are outside PyTorch"
	}
	text := fmt.Sprintf("The card has %s; %s, and tensors can still grow by %s after the last %s. At this slope that is reached after about %s",
		units.Bytes(r.Capacity), outside, units.Bytes(r.Left), unit, stepsText(about(r.Steps), unit))
	switch low, high := about(r.Low), about(r.High); {
	case math.IsInf(high, 0):
		text += " (95 %: at least " + stepsText(low, unit) + ")"
	case low != high:
		text += fmt.Sprintf(" (95 %%: %s to %s)", stepText(low, unit), stepsText(high, unit))
	}
	return text + ". Free memory in pieces that fit no request ends it earlier."
}

// about rounds down to two digits: a forecast has no more.
func about(n float64) float64 {
	if n < 100 || math.IsInf(n, 0) || math.IsNaN(n) {
		return math.Floor(n)
	}
	digits := math.Pow(10, math.Floor(math.Log10(n))-1)
	return math.Floor(n/digits) * digits
}
