package viewer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

//go:embed assets/ranks.html.tmpl
var ranksSource string

//go:embed assets/ranks.css
var ranksCSS string

var ranksTemplate = sync.OnceValue(func() *template.Template { return parsePage(ranksSource) })

// A RanksPage is a report of the ranks of a job.
type RanksPage struct {
	Report  *attribution.RankReport
	Name    string   // what was compared, such as the folder
	Facts   []string // what it is, in a few words each
	Partial string   // what could not be read; may be empty
	Notes   []string // how the files were chosen
	Version string   // of snapview, shown in the footer; may be empty
}

// Limits on what the page holds, whatever the number of ranks.
const (
	maxRankColumns   = 1024 // columns of the charts
	maxStaticColumns = 160  // likewise of the drawings for readers without scripts
	maxHeatLines     = 16   // lines of code in the heat map
	maxRankRows      = 1000
	maxRankLines     = 200
	maxRankOutliers  = 8
	maxOutlierLines  = 15
	maxRankGroups    = 64
)

// ranksView is what the template prints.
type ranksView struct {
	Policy               string
	CSS                  template.CSS
	Boot                 template.JS
	Title, Name, Version string
	Facts                []string
	Partial              string
	Verdict              Verdict
	Points               []string
	Numbers              []number
	Bars                 *rankBars
	Heat                 *rankHeat
	Outliers             []rankOutlierView
	MoreOutliers         int
	Tables               []sortedTable // ranks, lines
	Plain                []PlainTable  // totals, groups, failures
	Notes                []string
}

type rankOutlierView struct {
	Text  string
	Table PlainTable
}

// WriteRanks writes the page to w. It is complete in itself, and bounded
// whatever the number of ranks.
func WriteRanks(w io.Writer, p RanksPage) error {
	html := &texts{left: textBudget}
	r := p.Report
	v := &ranksView{
		Policy: policy(), CSS: template.CSS(reportCSS + ranksCSS), Boot: template.JS(bootJS),
		Name: html.name(p.Name), Title: html.name(p.Name) + " · snapview", Version: html.name(p.Version), Partial: html.value(p.Partial),
	}
	for _, f := range p.Facts {
		v.Facts = append(v.Facts, html.value(f))
	}
	for i, s := range r.Summary {
		if i == 0 {
			v.Verdict = Verdict{rankTone(r), html.value(s)}
			continue
		}
		v.Points = append(v.Points, html.value(s))
	}
	for _, n := range p.Notes {
		v.Notes = append(v.Notes, html.value(n))
	}
	data := &pageData{Ranks: &ranksData{}}
	v.Numbers = rankNumbers(r, html)
	columns := rankColumns(r, maxRankColumns)
	var err error
	if v.Bars, data.Ranks.Bars, err = newRankBars(r, columns, html); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if v.Heat, data.Ranks.Heat, err = newRankHeat(r, columns, html); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	v.addOutliers(r, html)
	v.addTables(r, html)
	return writePage(w, ranksTemplate(), v, data)
}

// rankTone is how alarming the result is. Pipeline stages are no alarm.
func rankTone(r *attribution.RankReport) string {
	for i := range r.Rows {
		if r.Rows[i].OOMs > 0 {
			return "bad"
		}
	}
	if len(r.Outliers) > 0 || len(r.Failed) > 0 || len(r.MissingRanks) > 0 || len(r.Missing) > 0 {
		return "note"
	}
	return "ok"
}

// rankNumbers are the headline figures.
func rankNumbers(r *attribution.RankReport, html *texts) []number {
	find := func(name string) *attribution.RankNumber {
		i := slices.IndexFunc(r.Numbers, func(n attribution.RankNumber) bool { return n.Name == name })
		if i < 0 {
			return nil
		}
		return &r.Numbers[i]
	}
	reserved, requested := find("peak_reserved_bytes"), find("peak_requested_bytes")
	when := "at the peak"
	if reserved == nil || requested == nil {
		reserved, requested, when = find("reserved_bytes"), find("requested_bytes"), "at the end"
	}
	if reserved == nil || requested == nil {
		return nil
	}
	size := func(name string, n int64, sub string, main bool) number {
		return number{Name: name, Text: units.Bytes(n), Exact: units.Exact(n), Sub: sub, Main: main, Raw: n}
	}
	rank := func(i int) string { return "rank " + html.name(r.Rows[i].Label) }
	compared := 0
	for _, g := range r.Groups {
		compared += len(g.Rows)
	}
	out := []number{
		size("Most reserved", reserved.Max, rank(reserved.MaxRow)+", "+when, true),
		size("Median reserved", reserved.Median, "of "+plural(compared, "rank"), false),
		size("Most above median", reserved.Max-reserved.Median, units.Percent(reserved.Max-reserved.Median, max(reserved.Max, 1))+" of the most", false),
		size("Most requested", requested.Max, rank(requested.MaxRow)+", "+when, false),
		size("Reserved in all", reserved.Sum, "on all ranks", false),
	}
	unusual := 0
	for _, o := range r.Outliers {
		unusual += len(o.Rows)
	}
	return append(out, number{Name: "Ranks that differ", Text: units.Count(unusual), Sub: "of " + plural(compared, "rank")})
}

func (v *ranksView) addOutliers(r *attribution.RankReport, html *texts) {
	for k := range r.Outliers {
		if k == maxRankOutliers {
			v.MoreOutliers = len(r.Outliers) - k
			return
		}
		o := &r.Outliers[k]
		t := PlainTable{
			Title: "By line", Right: []bool{true, true, true},
			Head: []string{"Differs", "Rank " + html.name(r.Rows[o.Rows[0]].Label), "Rank " + html.name(r.Rows[o.Reference].Label), "Category", "Where", "Function"},
		}
		for _, l := range o.Lines {
			t.Rows = append(t.Rows, []string{units.Signed(l.Delta), units.Bytes(l.Here), units.Bytes(l.There), categoryText(l.Category.String()),
				rankPlace(l.File, l.Line), l.Function})
		}
		t.More = max(0, len(t.Rows)-maxOutlierLines)
		t.Rows = t.Rows[:len(t.Rows)-t.More]
		v.Outliers = append(v.Outliers, rankOutlierView{html.value(r.OutlierText(o)), presentableTable(t, html)})
	}
}

// presentableTable cleans the text of a table.
func presentableTable(t PlainTable, html *texts) PlainTable {
	return Section{Tables: []PlainTable{t}}.presentable(html).Tables[0]
}

func (v *ranksView) addTables(r *attribution.RankReport, html *texts) {
	v.Tables = []sortedTable{rankTable(r, html), rankLineTable(r, html)}
	totals := PlainTable{Title: "All ranks", Head: []string{"Number", "Sum", "Least", "Median", "Most", "Rank"}, Right: []bool{false, true, true, true, true}}
	for i, n := range slices.Concat(r.Numbers, r.Categories) {
		title := n.Title
		if i >= len(r.Numbers) {
			title += ", " + atText(r)
		}
		totals.Rows = append(totals.Rows, []string{title, units.Bytes(n.Sum), units.Bytes(n.Min), units.Bytes(n.Median), units.Bytes(n.Max), r.Rows[n.MaxRow].Label})
	}
	v.Plain = append(v.Plain, presentableTable(totals, html))
	if len(r.Groups) > 1 {
		v.Plain = append(v.Plain, presentableTable(groupTable(r), html))
	}
	if len(r.Failed) > 0 {
		t := PlainTable{Title: "Could not be read", Head: []string{"Rank", "File", "Why"}}
		for _, f := range r.Failed {
			t.Rows = append(t.Rows, []string{f.Label, f.File, f.Err.Error()})
		}
		v.Plain = append(v.Plain, presentableTable(t, html))
	}
}

func atText(r *attribution.RankReport) string {
	if r.At == "end" {
		return "at the end"
	}
	return "at each peak"
}

// groupTable lists ranks with equal parameters.
func groupTable(r *attribution.RankReport) PlainTable {
	t := PlainTable{Title: "Ranks with equal parameters", Head: []string{"Ranks", "Number", "Parameters", "Requested by the median rank"}, Right: []bool{false, true, true, true}}
	for k := range r.Groups {
		if k == maxRankGroups {
			t.More = len(r.Groups) - k
			break
		}
		g := &r.Groups[k]
		t.Rows = append(t.Rows, []string{r.GroupName(g), units.Count(len(g.Rows)), units.Bytes(g.Parameters), units.Bytes(r.Totals(g.Reference).Sum())})
	}
	return t
}

// A sortedTable is sorted and filtered by the scripts.
type sortedTable struct {
	ID, Title, Intro, Filter string
	Columns                  []sortedColumn
	Rows                     []sortedRow
	More                     string
}

type sortedColumn struct {
	Head, Meaning, Class string
	Number, First        bool
}

type sortedRow struct {
	Marked bool
	Cells  []sortedCell
}

// sortedCell is a number with its exact value, or text.
type sortedCell struct {
	Class, Head, Text, Exact string
	Number                   bool
	Raw                      int64
}

func sizeCell(head string, n int64) sortedCell {
	return sortedCell{Class: "r", Head: head, Text: units.Bytes(n), Exact: units.Exact(n), Number: true, Raw: n}
}

func countCell(head string, n int) sortedCell {
	return sortedCell{Class: "r", Head: head, Text: units.Count(n), Number: true, Raw: int64(n)}
}

// rankTable is a row a rank: in their order, or when there are too many the
// unusual ones and those at the ends first.
func rankTable(r *attribution.RankReport, html *texts) sortedTable {
	t := sortedTable{ID: "ranks-table", Title: "Every rank", Filter: "rank, file"}
	t.Columns = []sortedColumn{
		{"Rank", "the rank; a star marks unusual ones", "rank-h", false, false}, {"Device", "index of the device", "", true, false},
		{"Peak requested", "most bytes requested at a time", "", true, false}, {"Peak reserved", "most bytes held from the device", "", true, false},
		{"End requested", "requested at the dump", "", true, false}, {"End allocated", "blocks held by tensors at the dump", "", true, false},
		{"End reserved", "held from the device at the dump", "", true, false}, {"Split", "free bytes between used ones at the dump", "", true, false},
		{"OOMs", "allocations that failed", "", true, false}, {"History", "how much of the past the file holds", "", false, false},
		{"Rank from", "what the rank rests on", "", false, false}, {"File", "", "", false, false},
	}
	order := rankOrder(r)
	for _, i := range order[:min(len(order), maxRankRows)] {
		x := &r.Rows[i]
		label, name := html.name(x.Label), html.name(x.File)
		marked := isUnusual(r, i)
		if marked {
			label += " *"
		}
		if x.Stray {
			label += " (another rank's device)"
		}
		peak := func(head string, n int64) sortedCell {
			if !x.HasPeak {
				return sortedCell{Class: "r", Head: head, Text: "–", Number: true}
			}
			return sizeCell(head, n)
		}
		history := x.History.String()
		if x.Partial != "" {
			history = "partial"
		}
		t.Rows = append(t.Rows, sortedRow{marked, []sortedCell{
			{Class: "rank", Head: "Rank", Text: label, Number: x.ID.Rank >= 0, Raw: int64(i)}, countCell("Device", x.Device),
			peak("Peak requested", x.PeakRequested), peak("Peak reserved", x.PeakReserved),
			sizeCell("End requested", x.End.Requested), sizeCell("End allocated", x.End.Allocated), sizeCell("End reserved", x.End.Reserved),
			sizeCell("Split", x.End.InactiveSplit), countCell("OOMs", x.OOMs),
			{Head: "History", Text: history}, {Head: "Rank from", Text: x.Basis.String()}, {Class: "name", Head: "File", Text: lastName(name), Exact: name},
		}})
	}
	if more := len(order) - len(t.Rows); more > 0 {
		t.More = plural(more, "further rank") + " are in the sums, not in this table: it holds the unusual ones, those at the ends and the first others."
	}
	return t
}

// lastName is a path without its folders.
func lastName(path string) string {
	_, base := splitPlace(path)
	return base
}

// rankOrder is the order of rows in the table.
func rankOrder(r *attribution.RankReport) []int {
	order := make([]int, len(r.Rows))
	first := map[int]bool{r.Limiting: true, r.Spread.High: true, r.Spread.Low: true}
	for i := range order {
		order[i] = i
	}
	for _, o := range r.Outliers {
		for _, i := range o.Rows {
			first[i] = true
		}
	}
	if len(order) > maxRankRows {
		slices.SortStableFunc(order, func(a, b int) int { return boolOrder(!first[a], !first[b]) })
	}
	return order
}

func isUnusual(r *attribution.RankReport, row int) bool {
	return slices.ContainsFunc(r.Outliers, func(o attribution.RankOutlier) bool { return slices.Contains(o.Rows, row) })
}

// rankLineTable is a row a line, over all ranks.
func rankLineTable(r *attribution.RankReport, html *texts) sortedTable {
	t := sortedTable{ID: "ranks-lines", Title: "Lines of all ranks, " + atText(r), Filter: "file, function, category"}
	t.Columns = []sortedColumn{
		{"Sum", "requested bytes on all ranks", "", true, true}, {"Ranks", "that hold some", "", true, false}, {"Least", "on a rank", "", true, false},
		{"Median", "over the ranks", "", true, false}, {"Most", "on a rank", "", true, false}, {"Most − median", "", "", true, false},
		{"Rank", "that holds most", "", false, false}, {"Category", "of most of the bytes", "category-h", false, false}, {"Where", "", "file-h", false, false}, {"Function", "", "function-h", false, false},
	}
	for i, l := range r.Lines {
		if i == maxRankLines {
			t.More = plural(len(r.Lines)-i, "smaller line") + " are not part of this page."
			break
		}
		t.Rows = append(t.Rows, sortedRow{false, []sortedCell{
			sizeCell("Sum", l.Bytes), countCell("Ranks", l.Ranks), sizeCell("Least", l.Min), sizeCell("Median", l.Median), sizeCell("Most", l.Max),
			sizeCell("Most − median", l.Max-l.Median), {Head: "Rank", Text: html.name(r.Rows[l.MaxRow].Label)}, {Head: "Category", Text: categoryText(l.Category.String())},
			{Class: "file", Head: "Where", Text: html.name(rankPlace(l.File, l.Line))}, {Class: "fn", Head: "Function", Text: html.name(l.Function)},
		}})
	}
	return t
}

// rankPlace is a line's file and number; C++ code of an unknown file has none.
func rankPlace(file string, line int32) string {
	if file == "??" {
		return ""
	}
	return where(&attribution.DiffRow{File: file, Line: line})
}
