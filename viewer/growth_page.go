package viewer

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// Limits on what the page holds, chosen so that MaxBytes holds.
const (
	maxGrowthFacts  = 12
	maxGrowthNotes  = 60 // of one list
	maxSuspects     = 200
	maxHints        = 20
	maxSeriesRows   = 60
	maxUnreadFiles  = 40
	maxUnreadLines  = 8
	maxChangeTables = 4
)

// growthView is what the template prints.
type growthView struct {
	Policy string
	CSS    template.CSS
	Boot   template.JS

	Title, Name, Version string
	Dir, Base            string
	Facts                []string
	Articles             []*growthArticle
	LeftOut              []string
	Unread               []unreadView
	MoreUnread           int
	Notes                []string
}

// Many reports whether the page needs a switch between articles.
func (v *growthView) Many() bool { return len(v.Articles) > 1 }

// growthArticle is a device, or its comparison before and after.
type growthArticle struct {
	ID, Heading, Badge string
	Verdict            Verdict
	Need               string
	IsFirst            bool // shown first
	Numbers            []growthNumber
	Plot               *staticPlot
	PlotTitle          string
	HasNear, IsNear    bool // the axis around the growth exists, is shown first
	Legend             []plotKey
	MarkKeys           []markKey
	PlotNote           string
	Suspects           *suspectTable
	Hints              []hintView
	Room               string
	Warnings           []string
	Series             []seriesRow
	MoreSeries         int
	Tables             []PlainTable
	Notes              []string
}

// hintView is a hint; its place may be empty.
type hintView struct{ Title, Evidence, Do, Dir, Base, Function string }

// growthNumber is one of the headline figures; a wide one has room for a name.
type growthNumber struct {
	number
	Wide bool
}

type plotKey struct {
	Class, Name string
	Area        bool
}

type unreadView struct {
	File, Count string
	Lines       []unreadLine
	More        string
}

type unreadLine struct{ Line, Text, Why string }

// growthPage lays out the page: the HTML view and the data for the scripts.
func growthPage(p *GrowthPage) (*growthView, *pageData, error) {
	html := &texts{left: textBudget}
	b := newBuilder(nil)
	v := &growthView{
		Policy: policy(), CSS: template.CSS(reportCSS), Boot: template.JS(bootJS),
		Name: html.name(p.Name), Version: html.name(p.Version),
		Notes: html.sentences(p.Notes, maxGrowthNotes),
	}
	for _, f := range p.Facts[:min(len(p.Facts), maxGrowthFacts)] {
		v.Facts = append(v.Facts, html.name(f))
	}
	v.Dir, v.Base = splitPlace(v.Name)
	v.Title = v.Base + " · snapview"
	drawn := min(len(p.Changes)+len(p.Sections), maxDevices)
	for i := range p.Changes {
		if len(v.Articles) == maxDevices {
			v.LeftOut = append(v.LeftOut, plural(len(p.Changes)-i, "further comparison")+".")
			break
		}
		a, plot := changeArticle(&p.Changes[i], v.nextID(), drawn, html)
		if err := v.add(a, plot, drawn, b, html); err != nil {
			return nil, nil, err
		}
	}
	for i := range p.Sections {
		if len(v.Articles) == maxDevices {
			v.leaveOut(p.Sections[i:], html)
			break
		}
		a, plot := sectionArticle(&p.Sections[i], v.nextID(), drawn, b, html)
		if err := v.add(a, plot, drawn, b, html); err != nil {
			return nil, nil, err
		}
	}
	v.chooseFirst(len(p.Changes) > 0)
	v.addUnread(p.Unread, html)
	if b.dropped > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("To keep the page small, %s of lines are left out.", plural(b.dropped, "example stack")))
	}
	return v, &b.data, nil
}

func (v *growthView) nextID() string { return "g" + strconv.Itoa(len(v.Articles)) }

// sentences makes a list presentable, at most so many.
func (t *texts) sentences(list []string, most int) []string {
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, t.value(sentence(s)))
	}
	if left := len(list) - most; left > 0 {
		out = append(out, units.Count(left)+" more are not listed.")
	}
	return out
}

// add appends an article and its plot.
func (v *growthView) add(a *growthArticle, p *plot, pages int, b *builder, html *texts) error {
	v.Articles = append(v.Articles, a)
	if p == nil {
		return nil
	}
	marks, keys, left := thinGrowthMarks(p.marks, pages)
	data, err := p.data(marks, &b.texts)
	if err != nil {
		return err
	}
	b.data.Devices = append(b.data.Devices, data)
	a.Plot = p.static(p.label(html), marks)
	a.HasNear, a.IsNear = p.hasChoice(), p.isNear
	a.MarkKeys, a.PlotNote = keys, strings.TrimSpace(a.PlotNote+" "+left)
	for _, l := range p.lines {
		a.Legend = append(a.Legend, plotKey{Class: l.class, Name: l.name})
	}
	for i, l := range p.fits {
		a.Legend = append(a.Legend, plotKey{Class: "trend " + l.class, Name: "trend of " + p.lines[i].name})
	}
	for _, band := range p.bands {
		a.Legend = append(a.Legend, plotKey{Class: band.class, Name: band.name, Area: true})
	}
	if p.warmUp != nil {
		a.Legend = append(a.Legend, plotKey{Class: "warm-up", Name: "warm-up, not counted", Area: true})
	}
	return nil
}

// thinGrowthMarks is thinMarks for marks at steps.
func thinGrowthMarks(marks []GrowthMark, pages int) (drawn []GrowthMark, keys []markKey, left string) {
	all := make([]Mark, len(marks))
	for i, m := range marks {
		all[i] = Mark{Kind: m.Kind, Label: m.Label, Event: i}
	}
	kept, keys, left := thinMarks(all, pages)
	for _, m := range kept {
		if at := &marks[m.Event]; isFinite(at.Step) {
			drawn = append(drawn, *at)
		}
	}
	return drawn, keys, left
}

// label tells a plot in words.
func (p *plot) label(html *texts) string {
	var parts []string
	for _, l := range p.lines {
		first, last := l.pts[0], l.pts[len(l.pts)-1]
		parts = append(parts, fmt.Sprintf("%s from %s at %s to %s at %s", l.name, bytesText(first.bytes), atStep(first.step, p.unit), bytesText(last.bytes), atStep(last.step, p.unit)))
	}
	return html.value(overUnits(p.unit) + ": " + strings.Join(parts, "; ") + ".")
}

func overUnits(unit string) string {
	if unit == "second" {
		return "Memory over time"
	}
	return "Memory over " + unitsOf(2, unit)
}

func atStep(step float64, unit string) string {
	if unit == "second" {
		return stepText(step, unit)
	}
	return unit + " " + stepText(step, unit)
}

// bytesText is a rounded number of bytes.
func bytesText(v float64) string { return units.Bytes(wholeBytes(v)) }

// wholeBytes rounds; what is no number counts as 0.
func wholeBytes(v float64) int64 {
	if math.IsNaN(v) {
		return 0
	}
	return int64(math.Round(clampTo(v, farthest)))
}

// verdictNames and verdictTones are how verdicts are shown.
var (
	verdictNames = map[attribution.GrowthVerdict]string{
		attribution.Leak: "Leak", attribution.CacheGrowth: "Cache growth", attribution.Steady: "Steady", attribution.Inconclusive: "Inconclusive",
	}
	verdictTones = map[attribution.GrowthVerdict]string{
		attribution.Leak: "bad", attribution.CacheGrowth: "note", attribution.Steady: "ok", attribution.Inconclusive: "note",
	}
)

// sectionArticle lays out a section.
func sectionArticle(s *GrowthSection, id string, pages int, b *builder, html *texts) (*growthArticle, *plot) {
	g := &s.Growth
	p := newPlot(id, s, pages, html)
	a := &growthArticle{
		ID: id, Heading: html.name(s.Heading), Badge: verdictNames[g.Verdict],
		Verdict: Verdict{verdictTones[g.Verdict], html.value(growthSentence(s))},
		Numbers: growthNumbers(s, html), PlotTitle: overUnits(g.Unit),
		Suspects: newSuspectTable(s, pages, b, html), Room: roomText(s.Room, g.Unit),
		Notes: html.sentences(s.Notes, maxGrowthNotes), Warnings: html.sentences(s.Warnings, maxGrowthNotes),
	}
	if g.Need != "" {
		a.Need = html.value("To decide: " + g.Need + ".")
	}
	for i := range s.Hints[:min(len(s.Hints), maxHints)] {
		a.Hints = append(a.Hints, newHintView(&s.Hints[i], html))
	}
	most := share(maxSeriesRows, pages, 8)
	for i := range s.Curves[:min(len(s.Curves), most)] {
		a.Series = append(a.Series, newSeriesRow(&s.Curves[i], g.Unit, html))
	}
	a.MoreSeries = max(0, len(s.Curves)-most)
	return a, p
}

func newHintView(h *attribution.Hint, html *texts) hintView {
	v := hintView{Title: html.value(h.Title), Evidence: html.value(sentence(h.Evidence)), Do: html.value(h.Do), Function: html.name(h.Function)}
	if h.File != "" {
		v.Dir, v.Base = splitPlace(html.name(h.File))
		v.Dir, v.Base = lastDirs(v.Dir), fmt.Sprintf("%s:%d", v.Base, h.Line)
	}
	return v
}

// growthSentence is the verdict, and for a leak the lines that make up most
// of it.
func growthSentence(s *GrowthSection) string {
	text := sentence(s.Growth.Why)
	if s.Growth.Verdict != attribution.Leak || len(s.Suspects) == 0 {
		return text
	}
	var lines []string
	for i := range s.Suspects[:min(len(s.Suspects), 3)] {
		x := &s.Suspects[i]
		if x.BytesPerStep < 0.1*s.Suspects[0].BytesPerStep {
			break
		}
		lines = append(lines, fmt.Sprintf("%s (%s %s)", suspectName(x), bytesText(x.BytesPerStep), per(s.Growth.Unit)))
	}
	return text + " It is allocated at " + joinAnd(lines) + "."
}

// sentence makes a sentence of a phrase: a capital letter, unless it begins
// with a name, and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = sentenceCase(s)
	if strings.ContainsAny(s[len(s)-1:], ".!?:)") && !strings.HasSuffix(s, ")") {
		return s
	}
	return s + "."
}

// sentenceCase makes the first letter of a word a capital one.
func sentenceCase(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || s[0] < 'a' || s[0] > 'z' || strings.ContainsAny(word, "._/(") {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// growthNumbers are the headline figures.
func growthNumbers(s *GrowthSection, html *texts) []growthNumber {
	g := &s.Growth
	var out []growthNumber
	curves := s.comparable()
	if d := s.deciding(); d != nil {
		n := slopeNumber(&d.Trend, g.Unit)
		if d.Series.Name == curves[0].Series.Name && g.Low == d.Trend.Low {
			n.Text, n.Exact, n.Raw = slopeText(g.BytesPerStep)+" "+per(g.Unit), exactSlope(g.BytesPerStep), wholeBytes(g.BytesPerStep)
		}
		n.Name, n.Main = "Growth of "+html.name(curveText(d.Series.Name)), true
		out = append(out, growthNumber{n, true}, growthNumber{shapeNumber(g, &d.Trend), false})
	}
	for _, f := range s.Figures {
		out = append(out, growthNumber{number{Name: html.name(f.Name), Text: html.name(f.Text), Sub: html.name(f.Remark)}, false})
	}
	levels := 0
	for _, k := range lineClasses {
		if c := firstNamed(curves, k.names); c != nil && levels < 2 {
			out = append(out, growthNumber{levelNumber(c, g.Unit), false})
			levels++
		}
	}
	if len(s.Suspects) > 0 && g.Verdict == attribution.Leak {
		x := &s.Suspects[0]
		sub := bytesText(x.BytesPerStep) + " " + per(g.Unit)
		if g.BytesPerStep > 0 {
			sub += ", " + units.Percent(wholeBytes(x.BytesPerStep), wholeBytes(g.BytesPerStep))
		}
		out = append(out, growthNumber{number{Name: "Line to blame", Text: html.name(suspectName(x)), Sub: sub}, true})
	}
	if r := s.Room; r != nil {
		out = append(out, growthNumber{number{Name: "Card full after", Text: stepText(wholeSteps(r.Steps), g.Unit), Sub: unitsOf(r.Steps, g.Unit) + " at most; " + units.Bytes(r.Capacity) + " card"}, false})
	}
	return out
}

// shapeNumber is the shape of the curve that decided: for growth of the cache
// that is not the one whose trend is given.
func shapeNumber(g *attribution.Growth, t *attribution.Trend) number {
	n := number{Name: "Shape", Text: g.Shape.String(), Sub: courseText(t, g.Unit)}
	if g.Verdict == attribution.CacheGrowth {
		n.Sub = "of the cache"
	}
	return n
}

// slopeNumber is the slope of a trend, if it can be told from none.
func slopeNumber(t *attribution.Trend, unit string) number {
	n := number{
		Text: slopeText(t.BytesPerStep) + " " + per(unit), Exact: exactSlope(t.BytesPerStep), Raw: wholeBytes(t.BytesPerStep),
		Sub: intervalText(t.Low, t.High, t.Points),
	}
	if t.Low <= 0 && t.High >= 0 {
		n.Text = "none"
	}
	return n
}

// per is "a step" or "an iteration".
func per(unit string) string {
	if strings.HasPrefix(unit, "i") {
		return "an " + unit
	}
	return "a " + unit
}

// slopeText is bytes per step with its sign; less than ten bytes keep a digit
// behind the point.
func slopeText(v float64) string {
	sign := ""
	if v > 0 {
		sign = "+"
	}
	if v = clampTo(v, farthest); math.Abs(v) < 10 && v != math.Trunc(v) {
		return sign + strconv.FormatFloat(v, 'g', 2, 64) + " B"
	}
	return sign + bytesText(v)
}

// exactSlope is bytes per step to the byte.
func exactSlope(v float64) string { return units.Exact(wholeBytes(v)) }

// levelNumber is where a curve ends, and by how much it changed.
func levelNumber(c *GrowthCurve, unit string) number {
	pts := points(&c.Series)
	first, last := pts[0], pts[len(pts)-1]
	return number{
		Name: sentenceCase(curveText(c.Series.Name)) + " at end", Text: bytesText(last.bytes), Exact: units.Exact(wholeBytes(last.bytes)), Raw: wholeBytes(last.bytes),
		Sub: units.Signed(wholeBytes(last.bytes-first.bytes)) + " since " + atStep(first.step, unit),
	}
}

// intervalText is the interval of a slope in words.
func intervalText(low, high float64, points int) string {
	if points < leastForInterval {
		return "lowest to highest: " + rangeText(low, high)
	}
	return "95 %: " + rangeText(low, high)
}

func rangeText(low, high float64) string {
	a, b := unsigned(low), unsigned(high)
	if a == b {
		return a
	}
	return a + " to " + b
}

func unsigned(v float64) string { return strings.TrimPrefix(slopeText(v), "+") }

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

// stepsText is a number of steps.
func stepsText(n float64, unit string) string {
	n = wholeSteps(n)
	if unit == "second" {
		return stepText(n, unit)
	}
	return stepText(n, unit) + " " + unitsOf(n, unit)
}

// wholeSteps rounds down to whole steps when there are more than a few.
func wholeSteps(n float64) float64 {
	if n >= 10 {
		return math.Floor(n)
	}
	return n
}

// unitsOf is the name of steps, of one or several.
func unitsOf(n float64, unit string) string {
	switch {
	case n == 1:
		return unit
	case strings.HasSuffix(unit, "ch"):
		return unit + "es"
	}
	return unit + "s"
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
	span := fmt.Sprintf("95 %%: %s to %s", stepsText(r.Low, unit), stepsText(r.High, unit))
	if math.IsInf(r.High, 0) {
		span = "95 %: at least " + stepsText(r.Low, unit)
	}
	return fmt.Sprintf("The card has %s; %s, and tensors can still grow by %s after the last %s. At this slope that is reached after %s (%s). Free memory in pieces that fit no request ends it earlier.",
		units.Bytes(r.Capacity), outside, units.Bytes(r.Left), unit, stepsText(r.Steps, unit), span)
}

// leaveOut names the sections that are not drawn.
func (v *growthView) leaveOut(rest []GrowthSection, html *texts) {
	for i := range rest {
		if i == 4*maxDevices {
			v.LeftOut = append(v.LeftOut, plural(len(rest)-i, "further one")+".")
			return
		}
		s := &rest[i]
		v.LeftOut = append(v.LeftOut, html.name(s.Heading)+": "+s.Growth.Verdict.String()+". "+html.name(sentence(s.Growth.Why)))
	}
}

// chooseFirst opens the page on the comparison, or on the worst verdict.
func (v *growthView) chooseFirst(changes bool) {
	if len(v.Articles) == 0 {
		return
	}
	at := 0
	for i, a := range v.Articles {
		if !changes && a.Verdict.Tone == "bad" {
			at = i
			break
		}
	}
	v.Articles[at].IsFirst = true
}

func (v *growthView) addUnread(files []UnreadLines, html *texts) {
	v.MoreUnread = max(0, len(files)-maxUnreadFiles)
	for _, f := range files[:len(files)-v.MoreUnread] {
		if f.Count == 0 {
			continue
		}
		u := unreadView{File: html.name(f.File), Count: plural(f.Count, "line")}
		for _, l := range f.Examples[:min(len(f.Examples), maxUnreadLines)] {
			u.Lines = append(u.Lines, unreadLine{units.Count(l.Line), html.name(l.Text), html.name(l.Why)})
		}
		if left := f.Count - len(u.Lines); left > 0 && len(u.Lines) > 0 {
			u.More = units.Count(left) + " more."
		}
		v.Unread = append(v.Unread, u)
	}
}

// changeArticle lays out a comparison before and after a change.
func changeArticle(c *GrowthChange, id string, pages int, html *texts) (*growthArticle, *plot) {
	a := &growthArticle{
		ID: id, Heading: html.name(c.Heading), Badge: html.name(c.Badge), PlotTitle: "Before and after, from their first " + c.Unit,
		Verdict: Verdict{c.Verdict.Tone, html.value(c.Verdict.Text)}, Notes: html.sentences(c.Notes, maxGrowthNotes),
	}
	tables := slices.Clone(c.Tables[:min(len(c.Tables), maxChangeTables)])
	for i := range tables {
		t := &tables[i]
		kept := min(len(t.Rows), share(maxPlainRows, pages, leastRows))
		t.Rows, t.More = t.Rows[:kept], t.More+len(t.Rows)-kept
	}
	a.Tables = Section{Tables: tables}.presentable(html).Tables
	for _, x := range []struct {
		when  string
		curve *GrowthCurve
	}{{"before", &c.Before}, {"after", &c.After}} {
		row := newSeriesRow(x.curve, c.Unit, html)
		row.Name = x.when + ": " + row.Name
		a.Series = append(a.Series, row)
		n := slopeNumber(&x.curve.Trend, c.Unit)
		n.Name, n.Main = "Growth "+x.when, x.when == "after"
		a.Numbers = append(a.Numbers, growthNumber{n, true})
	}
	return a, changePlot(id, c, pages, html)
}

// changePlot draws both curves from their first step.
func changePlot(id string, c *GrowthChange, pages int, html *texts) *plot {
	p := &plot{id: id, unit: c.Unit}
	for _, x := range []struct {
		class string
		curve GrowthCurve
	}{{"before", c.Before}, {"after", c.After}} {
		pts := points(&x.curve.Series)
		if len(pts) == 0 {
			continue
		}
		first := pts[0].step
		for i := range pts {
			pts[i].step -= first
		}
		p.addTrend(&x.curve.Trend, x.class, first)
		p.lines = append(p.lines, plotLine{x.class + ": " + html.name(curveText(x.curve.Series.Name)), x.class, x.curve.Series.Resolution, pts})
	}
	if len(p.lines) == 0 {
		return nil
	}
	p.deciding = len(p.lines)
	p.frame()
	p.isNear = p.isFlat()
	p.reduce(share(maxGrowthPoints, pages*len(p.lines), 60))
	return p
}
