package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/trainlog"
)

// sizeText prints bytes that may be a fraction.
func sizeText(bytes float64) string { return units.Bytes(whole(bytes)) }

// logText is the verdict, then the curves that it rests on, then what they rest on.
func (u *ui) logText(a *logAnswer, o *options) string {
	var b strings.Builder
	for _, p := range a.partial {
		b.WriteString(u.style(alarm, "PARTIAL") + " " + units.Safe(p) + "\n")
	}
	if len(a.Runs) > 1 {
		u.writeRuns(&b, a, o)
	}
	name := ""
	if len(a.Runs) > 1 {
		name = a.runName(a.Worst())
	}
	u.writeRun(&b, a.Worst(), name, o)
	u.writeReadings(&b, a)
	return b.String()
}

// runName tells a run from the others.
func (a *logAnswer) runName(r *attribution.LogRun) string {
	var parts []string
	add := func(text string, ok bool) {
		if ok {
			parts = append(parts, text)
		}
	}
	add(r.Name, r.Name != "")
	add("rank "+strconv.Itoa(r.Rank), r.Rank != trainlog.Unknown)
	add("device "+strconv.Itoa(r.Device), r.Device != trainlog.Unknown)
	add("process "+r.Process, r.Process != "")
	add("restart "+strconv.Itoa(r.Restart), r.Restart > 0)
	switch {
	case len(parts) > 0:
	case len(a.Runs) == 1:
		return "the run"
	case slices.ContainsFunc(a.Runs, func(x attribution.LogRun) bool { return x.Restart > 0 }):
		return "first start"
	default:
		return "lines without a rank"
	}
	return units.Safe(strings.Join(parts, ", "))
}

// writeRuns is a row for each run.
func (u *ui) writeRuns(b *strings.Builder, a *logAnswer, o *options) {
	counts := map[attribution.GrowthVerdict]int{}
	for i := range a.Runs {
		counts[a.Runs[i].Growth.Verdict]++
	}
	var parts []string
	for _, v := range []attribution.GrowthVerdict{attribution.Leak, attribution.CacheGrowth, attribution.Inconclusive, attribution.Steady} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], verdictText(v)))
		}
	}
	b.WriteString(u.style(bold, plural(len(a.Runs), "run")) + ": " + strings.Join(parts, ", ") + "\n")
	t := newTable(left, left, right, right, right, left)
	t.header("run", "verdict", "change", "allocated", "reserved, used", "")
	shown := o.rows.limit(len(a.Runs))
	for i := range a.Runs[:shown] {
		r := &a.Runs[i]
		cells := []string{a.runName(r), verdictText(r.Growth.Verdict), "", "", "", ""}
		for j := len(r.Curves) - 1; j >= 0; j-- {
			c := &r.Curves[j]
			if !c.Judged {
				continue
			}
			column := 4
			if c.Metric == trainlog.Allocated || c.Metric == trainlog.Active {
				column = 3
			}
			cells[2] = changeOf(c)
			cells[column] = sizeText(c.Last)
			cells[5] = sparkline(c.Series.Steps, c.Series.Bytes, 16)
		}
		t.row(cells...)
	}
	b.WriteString(t.String())
	if more := len(a.Runs) - shown; more > 0 {
		b.WriteString(ellipsis + " " + plural(more, "more run") + "\n")
	}
	b.WriteByte('\n')
}

func verdictText(v attribution.GrowthVerdict) string { return strings.ReplaceAll(v.String(), "_", " ") }

// shapedVerdict is "leak, monotonic"; a flat curve needs no word.
func shapedVerdict(g *attribution.Growth) string {
	if g.Shape == attribution.Flat {
		return verdictText(g.Verdict)
	}
	return verdictText(g.Verdict) + ", " + g.Shape.String()
}

// writeRun is the answer for a run, with its name when there are others.
func (u *ui) writeRun(b *strings.Builder, r *attribution.LogRun, name string, o *options) {
	g := &r.Growth
	style := bold
	if g.Verdict == attribution.Leak {
		style = alarm
	}
	if name != "" {
		name = u.style(bold, name) + ": "
	}
	u.paragraph(b, "", name+u.style(style, shapedVerdict(g))+": "+g.Why)
	if g.Need != "" {
		u.paragraph(b, "", "To decide: "+g.Need)
	}
	if r.Room != nil {
		u.paragraph(b, "", roomText(r))
	}
	for _, w := range r.Warnings {
		u.paragraph(b, u.style(alarm, "!")+" ", units.Safe(w))
	}
	b.WriteString("\n" + u.curveTable(r, o))
	if single := singleValues(r); single != "" {
		u.paragraph(b, "", single)
	}
	if r.Outside != nil {
		u.paragraph(b, "", outsideText(r.Outside))
	}
	if len(r.Notes) > 0 {
		u.heading(b, "what this rests on")
		for _, n := range r.Notes {
			u.paragraph(b, "- ", units.Safe(n))
		}
	}
}

// roomText says how long a leak can go on.
func roomText(r *attribution.LogRun) string {
	text := fmt.Sprintf("The GPU of %s has room for %s of that", units.Bytes(r.Room.Capacity), steps(r.Room.Steps, r.Growth.Unit))
	if r.Room.Outside > 0 {
		text += fmt.Sprintf(", with the %s that others hold", units.Bytes(r.Room.Outside))
	}
	return text + "."
}

// steps is a number of steps with two digits that count.
func steps(n float64, unit string) string {
	if math.IsInf(n, 0) || n > 1e15 {
		return "no end of " + unit + "s"
	}
	if n >= 100 {
		digits := math.Pow(10, math.Floor(math.Log10(n))-1)
		n = math.Floor(n/digits) * digits
	}
	return "about " + plural(int(n), unit)
}

// curveTable has a row for each curve of several values: those that were judged,
// what is outside PyTorch, and others.
func (u *ui) curveTable(r *attribution.LogRun, o *options) string {
	curves := shownCurves(r, o)
	rows := [][]string{{"curve", "first", "last", "change", "95 % of the change", ""}}
	for _, c := range curves {
		rows = append(rows, []string{curveName(c), sizeText(c.First), sizeText(c.Last),
			changeOf(c), intervalText(&c.Trend), ""})
	}
	if wide := widest(alignCells(rows)); wide+columnGap+leastCurve > u.width {
		for i := range rows {
			rows[i] = append(rows[i][:4], rows[i][5:]...)
		}
	}
	room := min(u.width-widest(alignCells(rows))-columnGap, mostCurve)
	for i, c := range curves {
		rows[i+1][len(rows[i+1])-1] = sparkline(c.Series.Steps, c.Series.Bytes, max(room, leastCurve))
	}
	return alignCells(rows)
}

// Columns that a curve is drawn in.
const leastCurve, mostCurve = 12, 40

// alignCells lines up names at the left, numbers at the right, and a last column
// of curves.
func alignCells(rows [][]string) string {
	t := newTable(left, right, right, right, left, left)
	if len(rows[0]) == 5 {
		t = newTable(left, right, right, right, left)
	}
	t.header(rows[0]...)
	for _, r := range rows[1:] {
		t.row(r...)
	}
	return t.String()
}

// shownCurves leaves out curves of one value, of those of a metric all but the
// first, and what -n does not ask for.
func shownCurves(r *attribution.LogRun, o *options) []*attribution.LogCurve {
	var shown []*attribution.LogCurve
	seen := map[trainlog.Metric]bool{}
	for i := range r.Curves {
		c := &r.Curves[i]
		if all := o.rows.given && o.rows.n == 0; !all && (seen[c.Metric] || c.Points < 2 && !c.Judged || isLike(c, shown)) {
			continue
		}
		seen[c.Metric] = true
		shown = append(shown, c)
	}
	return shown[:o.rows.limit(len(shown))]
}

// isLike reports whether a curve is that of another metric once more, as active
// bytes mostly are those of allocated ones.
func isLike(c *attribution.LogCurve, others []*attribution.LogCurve) bool {
	return !c.Judged && slices.ContainsFunc(others, func(x *attribution.LogCurve) bool {
		return x.First == c.First && x.Last == c.Last && x.Low == c.Low && x.High == c.High && x.Unit == c.Unit
	})
}

// singleValues lists what has one value only, as memory_summary() at the end has.
func singleValues(r *attribution.LogRun) string {
	var parts []string
	for i := range r.Curves {
		if c := &r.Curves[i]; c.Points == 1 && !c.Judged {
			parts = append(parts, curveName(c)+" "+sizeText(c.Last))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "with one value each: " + strings.Join(parts, ", ")
}

// curveName is a curve's metric for reading.
func curveName(c *attribution.LogCurve) string {
	switch c.Metric {
	case trainlog.DeviceUsed:
		return "whole GPU"
	case trainlog.Outside:
		return "outside PyTorch"
	}
	return strings.ReplaceAll(c.Metric.String(), "_", " ")
}

// changeOf is by how much a curve changes a step, or in a few words what it does
// without a trend.
func changeOf(c *attribution.LogCurve) string {
	t := &c.Trend
	switch {
	case t.Points+t.WarmUp < 2:
		return "one value"
	case changes(t) && math.Abs(t.BytesPerStep) < 10:
		return fmt.Sprintf("%+.2g B %s", t.BytesPerStep, perUnit(c.Unit))
	case changes(t):
		return units.Signed(whole(t.BytesPerStep)) + " " + perUnit(c.Unit)
	case t.Shape == attribution.Periodic:
		return "up and down"
	case t.Course == attribution.Settled, t.WarmUp > 0 && t.End > c.First*(1+noticeable):
		return "rose, then level"
	case t.WarmUp > 0 && t.End < c.First*(1-noticeable):
		return "fell, then level"
	case t.Course == attribution.TooShort && t.Rises > 0:
		return "rose " + timesText(t.Rises)
	case c.High > c.Low*(1+noticeable):
		return "up and down"
	}
	return "none"
}

// noticeable is the part by which a curve must change for its row to say so.
const noticeable = 0.01

func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return plural(n, "time")
}

// perUnit is "a step" or "an epoch".
func perUnit(unit string) string {
	if strings.HasPrefix(unit, "e") {
		return "an " + unit
	}
	return "a " + unit
}

// changes reports whether a trend is told from none.
func changes(t *attribution.Trend) bool {
	return (t.Low > 0 || t.High < 0) && t.Course != attribution.Level && t.Course != attribution.Settled && t.Points > 1
}

func intervalText(t *attribution.Trend) string {
	if !changes(t) {
		return ""
	}
	low, high := sizeText(t.Low), sizeText(t.High)
	if low == high {
		return low
	}
	return low + " to " + high
}

// outsideText says how much memory of the GPU PyTorch does not hold.
func outsideText(x *attribution.OutsideMemory) string {
	most := ""
	if x.UpperBound {
		most = "at most "
	}
	if !x.Joined {
		return fmt.Sprintf("outside PyTorch: %s%s", most, sizeText(x.Last))
	}
	return fmt.Sprintf("outside PyTorch: %s%s at the end, %s in the middle of %s from %s to %s", most, sizeText(x.Last),
		sizeText(x.Median), plural(x.Samples, "sample"), sizeText(x.Low), sizeText(x.High))
}

// writeReadings says what was read of each file and what was not.
func (u *ui) writeReadings(b *strings.Builder, a *logAnswer) {
	u.heading(b, "read")
	for _, l := range a.logs {
		var forms []string
		for _, f := range l.Forms {
			forms = append(forms, f.String())
		}
		values := 0
		for _, s := range l.Series {
			values += s.Count
		}
		text := fmt.Sprintf("%s: %s in %s, from %s (%s)", filepath.Base(l.Name), plural(values, "value"), plural(len(l.Series), "curve"),
			plural(int(l.Lines), "line"), strings.Join(forms, ", "))
		u.paragraph(b, "- ", units.Safe(text))
		u.writeUnreadable(b, &l.Unreadable)
		for _, n := range l.Notes {
			u.paragraph(b, "  ", units.Safe(n))
		}
	}
	for _, n := range a.Notes {
		u.paragraph(b, "- ", units.Safe(n))
	}
}

func (u *ui) writeUnreadable(b *strings.Builder, x *trainlog.Unreadable) {
	if x.Count == 0 {
		return
	}
	fmt.Fprintf(b, "  %s could not be read:\n", plural(x.Count, "line"))
	for _, e := range x.Examples {
		text := fmt.Sprintf("line %d, %s: ", e.Line, e.Why)
		b.WriteString("    " + text + cutRight(units.Safe(e.Text), max(u.width-4-len(text), 20)) + "\n")
	}
	if more := x.Count - len(x.Examples); more > 0 {
		fmt.Fprintf(b, "    %s %s\n", ellipsis, plural(more, "more line"))
	}
}
