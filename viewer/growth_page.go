package viewer

import (
	"fmt"
	"html/template"
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
	maxGrowthTables = 4
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
	NearName, NearNote string // the axis that is not from zero; "" for none
	IsNear             bool   // it is shown first
	Legend             []plotKey
	MarkKeys           []markKey
	PlotNote           string
	Suspects           *suspectTable
	Hints              []hintView
	Room               string
	Warnings           []string
	Series             []seriesRow
	Per                string // of the slopes of Series
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
	if p.hasChoice() {
		a.NearName, a.NearNote, a.IsNear = p.nearName, p.nearNote(), p.isNear
	}
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
		ID: id, Heading: html.name(s.Heading), Badge: verdictNames[g.Verdict], Per: per(g.Unit),
		Verdict: Verdict{verdictTones[g.Verdict], html.value(growthSentence(s))},
		Numbers: growthNumbers(s, html), PlotTitle: overUnits(g.Unit),
		Suspects: newSuspectTable(s, pages, b, html), Room: roomText(s.Room, g.Unit),
		Notes: html.sentences(s.Notes, maxGrowthNotes), Warnings: html.sentences(s.Warnings, maxGrowthNotes),
		Tables: growthTables(s.Tables, pages, html),
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

// growthTables bounds and cleans tables.
func growthTables(tables []PlainTable, pages int, html *texts) []PlainTable {
	tables = slices.Clone(tables[:min(len(tables), maxGrowthTables)])
	for i := range tables {
		t := &tables[i]
		kept := min(len(t.Rows), share(maxPlainRows, pages, leastRows))
		t.Rows, t.More = t.Rows[:kept], t.More+len(t.Rows)-kept
	}
	return Section{Tables: tables}.presentable(html).Tables
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
