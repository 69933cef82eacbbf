package viewer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

//go:embed assets/diff.html.tmpl
var diffSource string

var diffTemplate = sync.OnceValue(func() *template.Template { return parsePage(diffSource) })

// A Page is a report of few tables: of two snapshots compared, or of a
// training step. It has no chart and reads the same with scripts off.
type Page struct {
	Title    string
	Version  string // of snapview, shown in the footer; may be empty
	Facts    []string
	Sections []Section
}

// A Section is the answer for one device.
type Section struct {
	Title   string
	Verdict string
	Points  []string // what explains it
	Tables  []PlainTable
	Notes   []string
}

// A PlainTable is a table of text; Right says which columns hold numbers.
type PlainTable struct {
	Title string
	Head  []string
	Right []bool
	Rows  [][]string
	More  int // rows that were left out
}

// maxPlainRows bounds a table, and so the page.
const maxPlainRows = 500

// diffView is what the template prints.
type diffView struct {
	Policy               string
	CSS                  template.CSS
	Boot                 template.JS
	Title, Name, Version string
	Facts                []string
	Sections             []Section
}

// Cells are the cells of a row with their columns.
func (t PlainTable) Cells(row []string) []plainCell {
	cells := make([]plainCell, len(row))
	for i, text := range row {
		cells[i] = plainCell{text, i < len(t.Right) && t.Right[i]}
	}
	return cells
}

type plainCell struct {
	Text  string
	Right bool
}

// WritePage writes the page to w. It is complete in itself.
func WritePage(w io.Writer, p Page) error {
	html := &texts{left: textBudget}
	v := &diffView{
		Policy: policy(), CSS: template.CSS(reportCSS), Boot: template.JS(bootJS),
		Name: html.name(p.Title), Title: html.name(p.Title) + " · snapview", Version: html.name(p.Version),
	}
	for _, f := range p.Facts {
		v.Facts = append(v.Facts, html.name(f))
	}
	for _, s := range p.Sections {
		v.Sections = append(v.Sections, s.presentable(html))
	}
	return writePage(w, diffTemplate(), v, &pageData{})
}

// presentable cleans all text and bounds the tables.
func (s Section) presentable(html *texts) Section {
	out := Section{Title: html.name(s.Title), Verdict: html.value(s.Verdict)}
	for _, p := range s.Points {
		out.Points = append(out.Points, html.value(p))
	}
	for _, n := range s.Notes {
		out.Notes = append(out.Notes, html.value(n))
	}
	for _, t := range s.Tables {
		more := max(0, len(t.Rows)-maxPlainRows)
		clean := PlainTable{Title: t.Title, Head: t.Head, Right: t.Right, More: t.More + more}
		for _, row := range t.Rows[:len(t.Rows)-more] {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = html.name(c)
			}
			clean.Rows = append(clean.Rows, cells)
		}
		out.Tables = append(out.Tables, clean)
	}
	return out
}

// DiffSection draws a comparison.
func DiffSection(r *attribution.DiffResult) Section {
	s := Section{
		Title:   fmt.Sprintf("Device %d", r.Device),
		Verdict: fmt.Sprintf("%s to %s: %s", units.Bytes(r.Before), units.Bytes(r.After), units.Signed(r.Delta)),
		Points:  r.Summary, Notes: r.Notes,
	}
	numbers := []bool{true, true, true}
	change := func(delta, before, after int64) []string {
		return []string{units.Signed(delta), units.Bytes(before), units.Bytes(after)}
	}
	t := PlainTable{Title: "By category", Head: []string{"Change", "Before", "After", "Category"}, Right: numbers}
	for _, c := range r.Categories {
		t.Rows = append(t.Rows, append(change(c.Delta, c.Before, c.After), c.Category.String()))
	}
	s.Tables = append(s.Tables, t)
	t = PlainTable{Title: "By " + r.By.String(), Head: []string{"Change", "Before", "After", "Status", "Category", "Where", "Function"}, Right: numbers}
	for _, x := range r.Rows {
		t.Rows = append(t.Rows, append(change(x.Delta, x.Before, x.After), x.Status.String(), x.Category.String(), where(&x), x.Function))
	}
	s.Tables = append(s.Tables, t)
	t = PlainTable{Title: "The snapshots as a whole", Head: []string{"Change", "Before", "After", "Number"}, Right: numbers}
	for _, h := range r.Headlines {
		t.Rows = append(t.Rows, append(change(h.Delta, h.Before, h.After), h.Title))
	}
	s.Tables = append(s.Tables, t)
	if len(r.Settings) > 0 {
		t = PlainTable{Title: "Allocator settings that differ", Head: []string{"Setting", "Before", "After"}}
		for _, k := range r.Settings {
			t.Rows = append(t.Rows, []string{k.Key, k.Before, k.After})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func where(r *attribution.DiffRow) string {
	text := r.File
	if r.Line > 0 {
		text += ":" + strconv.Itoa(int(r.Line))
	}
	if r.MovedFrom > 0 {
		text += " (moved from line " + strconv.Itoa(int(r.MovedFrom)) + ")"
	}
	return text
}

// PhaseSection draws the three phases.
func PhaseSection(r *attribution.PhaseResult) Section {
	s := Section{Title: fmt.Sprintf("Device %d", r.Device), Verdict: r.Text(), Notes: r.Notes}
	var alive []string
	for _, b := range r.Boundaries {
		alive = append(alive, fmt.Sprintf("%s %s", b.Phase, units.Bytes(b.Bytes)))
	}
	s.Points = append(s.Points, "alive at the end of each: "+strings.Join(alive, ", "))
	if r.Peak.Bytes > 0 {
		s.Points = append(s.Points, strings.TrimSpace("peak "+units.Bytes(r.Peak.Bytes)+" "+r.Peak.Phase))
	}
	t := PlainTable{Title: "By category", Head: []string{"Requested", "Share", "Category"}, Right: []bool{true, true}}
	for _, c := range attribution.Categories() {
		if n := r.Totals[c]; n != 0 {
			t.Rows = append(t.Rows, []string{units.Bytes(n), units.Percent(n, r.Total), c.String()})
		}
	}
	lines := PlainTable{Title: "By line", Head: []string{"Requested", "Blocks", "Category", "Where", "Function"}, Right: []bool{true, true}}
	for _, x := range r.Rows {
		at := attribution.DiffRow{File: x.File, Line: x.Line}
		lines.Rows = append(lines.Rows, []string{units.Bytes(x.Bytes), units.Count(x.Count), x.Category.String(), where(&at), x.Function})
	}
	s.Tables = append(s.Tables, t, lines)
	return s
}
