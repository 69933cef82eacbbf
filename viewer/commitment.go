package viewer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

//go:embed assets/commitment.html.tmpl
var commitmentSource string

//go:embed assets/commitment.css
var commitmentCSS string

var commitmentTemplate = sync.OnceValue(func() *template.Template { return parsePage(commitmentSource) })

// commitmentView is what the template prints.
type commitmentView struct {
	Policy               string
	CSS                  template.CSS
	Boot                 template.JS
	Title, Name, Version string
	Facts                []string
	Verdict              string
	Holds                bool
	Sections             []commitmentSection
}

type commitmentSection struct {
	Title              string
	Text, Points, Code []string
	Tables             []PlainTable
	Distribution       *distributionChart
	Costs              []costBar
}

type costBar struct {
	Name, Text string
	Percent    string
	Promised   bool
}

// WriteCommitment writes a commitment as a page that is complete in itself. Its
// charts are drawings, so that it reads and prints the same with scripts off.
func WriteCommitment(w io.Writer, c *budget.Commitment, version string) error {
	html := &texts{left: textBudget}
	v := &commitmentView{
		Policy: policy(), CSS: template.CSS(reportCSS + commitmentCSS), Boot: template.JS(bootJS),
		Name: html.value(c.Title), Version: html.name(version), Verdict: html.value(c.Verdict), Holds: c.Holds,
	}
	v.Title = v.Name + " · snapview"
	for _, f := range c.Facts {
		v.Facts = append(v.Facts, html.name(f))
	}
	for _, s := range c.Sections {
		v.Sections = append(v.Sections, presentableDoc(&s, c, html))
	}
	return writePage(w, commitmentTemplate(), v, &pageData{})
}

func presentableDoc(s *budget.DocSection, c *budget.Commitment, html *texts) commitmentSection {
	out := commitmentSection{Title: s.Title}
	for _, t := range s.Text {
		out.Text = append(out.Text, html.value(t))
	}
	for _, t := range s.Points {
		out.Points = append(out.Points, html.value(t))
	}
	for _, t := range s.Code {
		out.Code = append(out.Code, html.value(t))
	}
	for _, t := range s.Tables {
		more := max(0, len(t.Rows)-maxPlainRows)
		clean := PlainTable{Title: t.Lead, Head: t.Head, Right: t.Right, More: more}
		for _, row := range t.Rows[:len(t.Rows)-more] {
			cells := make([]string, len(row))
			for i, text := range row {
				cells[i] = html.value(text)
			}
			clean.Rows = append(clean.Rows, cells)
		}
		out.Tables = append(out.Tables, clean)
	}
	switch s.Chart {
	case budget.DistributionChart:
		out.Distribution = drawDistribution(c)
	case budget.CostChart:
		out.Costs = costBars(c, html)
	}
	return out
}

func costBars(c *budget.Commitment, html *texts) []costBar {
	most := 0.0
	for _, b := range c.Bars {
		most = max(most, b.Cost)
	}
	var out []costBar
	for _, b := range c.Bars {
		percent := 0.0
		if most > 0 {
			percent = 100 * b.Cost / most
		}
		out = append(out, costBar{html.name(b.Name), html.name(b.Text), num(percent), b.Promised})
	}
	return out
}

// distributionChart is a histogram of what is needed, with the card's line.
type distributionChart struct {
	Width, Height       int
	Left, Right, Bottom int
	Label, Draws        string
	Bars                []distributionBar
	Ticks               []distributionMark
	Lines               []distributionMark
}

type distributionBar struct {
	X, Y, W, H string
	Title      string
	Over       bool
}

type distributionMark struct {
	X, Y, Text    string
	Class, Anchor string
	Dx            int
}

// Geometry of the histogram, in SVG units. It is narrow enough for a phone.
const (
	distWidth, distHeight = 760, 250
	distLeft, distRight   = 14, 14
	distTop, distBottom   = 46, 30
)

func drawDistribution(c *budget.Commitment) *distributionChart {
	if len(c.Bins) == 0 {
		return nil
	}
	d := &distributionChart{Width: distWidth, Height: distHeight, Left: distLeft, Right: distWidth - distRight, Bottom: distHeight - distBottom}
	low, high := c.Bins[0].From, c.Bins[len(c.Bins)-1].To
	// A card far above what is needed stays outside, and is said in words.
	near := c.Card <= high+2*(high-low)
	if near {
		low, high = min(low, c.Card), max(high, c.Card)
	}
	room := max(1, (high-low)/20)
	low, high = max(0, low-room), high+room
	most, draws := 1, 0
	for _, b := range c.Bins {
		most = max(most, b.Draws)
		draws += b.Draws
	}
	x := func(v int64) float64 {
		return distLeft + float64(v-low)/float64(high-low)*(distWidth-distLeft-distRight)
	}
	for _, b := range c.Bins {
		h := float64(b.Draws) / float64(most) * (distHeight - distTop - distBottom)
		d.Bars = append(d.Bars, distributionBar{
			X: num(x(b.From)), Y: num(float64(d.Bottom) - h), W: num(max(1, x(b.To)-x(b.From)-1)), H: num(h), Over: b.From >= c.Card,
			Title: fmt.Sprintf("%s to %s: %s", units.Bytes(b.From), units.Bytes(b.To), plural(b.Draws, "draw")),
		})
	}
	const ticks = 5
	for i := range ticks {
		v := low + (high-low)*int64(2*i+1)/(2*ticks)
		d.Ticks = append(d.Ticks, distributionMark{X: num(x(v)), Y: num(float64(d.Bottom) + 5), Text: units.Bytes(v)})
	}
	mark := func(v int64, y float64, class, text string) {
		m := distributionMark{X: num(x(v)), Y: num(y), Class: class, Text: text, Anchor: "start", Dx: 5}
		if x(v) > distWidth*0.6 {
			m.Anchor, m.Dx = "end", -5
		}
		d.Lines = append(d.Lines, m)
	}
	mark(c.Need.Median, 24, "median", "median "+units.Bytes(c.Need.Median))
	if near {
		mark(c.Card, 6, "card", "card "+units.Bytes(c.Card))
	}
	d.Draws = units.Count(draws)
	d.Label = fmt.Sprintf("Distribution of the memory needed: 95%% from %s to %s, median %s; the card has %s.", units.Bytes(c.Need.Low), units.Bytes(c.Need.High), units.Bytes(c.Need.Median), units.Bytes(c.Card))
	return d
}
