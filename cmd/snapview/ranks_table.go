package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// A rankFold are ranks whose rows read the same.
type rankFold struct {
	rows  []int
	cells []string
}

// foldRanks joins the rows whose cells are equal, and puts them in order: the
// unusual ones first and those at the ends when not all are shown.
func foldRanks(r *attribution.RankReport, limit int, cells func(row int) []string) (folds []rankFold, more int) {
	byText := map[string]int{}
	unusual := map[int]int{} // rank among the outliers
	for k, o := range r.Outliers {
		for _, i := range o.Rows {
			unusual[i] = k + 1
		}
	}
	for i := range r.Rows {
		f := rankFold{rows: []int{i}, cells: cells(i)}
		key := strings.Join(f.cells, "\x00") + "\x00" + strconv.Itoa(unusual[i])
		if at, known := byText[key]; known {
			folds[at].rows = append(folds[at].rows, i)
			continue
		}
		byText[key] = len(folds)
		folds = append(folds, f)
	}
	if limit <= 0 || len(folds) <= limit {
		return folds, 0
	}
	ends := map[int]bool{r.Limiting: true, r.Spread.High: true, r.Spread.Low: true}
	rank := func(f rankFold) int {
		switch {
		case unusual[f.rows[0]] > 0:
			return unusual[f.rows[0]]
		case slices.ContainsFunc(f.rows, func(i int) bool { return ends[i] }):
			return len(r.Rows) + 1
		}
		return len(r.Rows) + 2
	}
	slices.SortStableFunc(folds, func(a, b rankFold) int { return rank(a) - rank(b) })
	for _, f := range folds[limit:] {
		more += len(f.rows)
	}
	return folds[:limit], more
}

// rankLabel names the ranks of a fold; a star marks unusual ones.
func rankLabel(r *attribution.RankReport, rows []int) string {
	var labels []string
	for _, i := range rows {
		labels = append(labels, r.Rows[i].Label)
	}
	text := attribution.RankRanges(labels, 3)
	if slices.ContainsFunc(r.Outliers, func(o attribution.RankOutlier) bool { return slices.Contains(o.Rows, rows[0]) }) {
		text += "*"
	}
	return text
}

// A rankColumn is a column of the table of ranks.
type rankColumn struct {
	head  [2]string
	align text.Align
	cell  func(*attribution.RankRow) string
	keep  int // how late it is dropped on a narrow terminal
}

func sizeCell(of func(*attribution.RankRow) int64) func(*attribution.RankRow) string {
	return func(row *attribution.RankRow) string { return units.Bytes(of(row)) }
}

// peakCell is a peak, or a dash for a history that shows none.
func peakCell(of func(*attribution.RankRow) int64) func(*attribution.RankRow) string {
	return func(row *attribution.RankRow) string {
		if !row.HasPeak {
			return "-"
		}
		return units.Bytes(of(row))
	}
}

func rankColumns(r *attribution.RankReport) []rankColumn {
	columns := []rankColumn{
		{[2]string{"peak", "requested"}, right, peakCell(func(x *attribution.RankRow) int64 { return x.PeakRequested }), 9},
		{[2]string{"peak", "reserved"}, right, peakCell(func(x *attribution.RankRow) int64 { return x.PeakReserved }), 9},
		{[2]string{"end", "requested"}, right, sizeCell(func(x *attribution.RankRow) int64 { return x.End.Requested }), 8},
		{[2]string{"end", "allocated"}, right, sizeCell(func(x *attribution.RankRow) int64 { return x.End.Allocated }), 2},
		{[2]string{"end", "reserved"}, right, sizeCell(func(x *attribution.RankRow) int64 { return x.End.Reserved }), 7},
		{[2]string{"end", "split"}, right, sizeCell(func(x *attribution.RankRow) int64 { return x.End.InactiveSplit }), 4},
	}
	if slices.ContainsFunc(r.Rows, func(x attribution.RankRow) bool { return x.OOMs > 0 }) {
		columns = append(columns, rankColumn{[2]string{"", "OOMs"}, right, func(x *attribution.RankRow) string { return dashed(x.OOMs) }, 6})
	}
	if _, one := oneHistory(r); !one {
		columns = append(columns, rankColumn{[2]string{"", "history"}, left, historyCell, 5})
	}
	if _, one := oneBasis(r); !one {
		columns = append(columns, rankColumn{[2]string{"rank", "from"}, left, func(x *attribution.RankRow) string { return x.Basis.String() }, 6})
	}
	return columns
}

// oneHistory is the state of all histories when they are in the same one.
func oneHistory(r *attribution.RankReport) (string, bool) {
	for i := range r.Rows {
		if historyCell(&r.Rows[i]) != historyCell(&r.Rows[0]) {
			return "", false
		}
	}
	return historyCell(&r.Rows[0]), true
}

func historyCell(x *attribution.RankRow) string {
	if x.Partial != "" {
		return "partial"
	}
	return x.History.String()
}

func dashed(n int) string {
	if n == 0 {
		return "-"
	}
	return units.Count(n)
}

// rankRows is the table of ranks. Columns that do not fit are dropped.
func (u *ui) rankRows(r *attribution.RankReport, o *ranksOptions) string {
	columns := rankColumns(r)
	for {
		table, width := u.rankTable(r, o, columns)
		if width <= u.width || len(columns) < 4 {
			return table
		}
		least := 0
		for i, c := range columns {
			if c.keep < columns[least].keep {
				least = i
			}
		}
		columns = slices.Delete(columns, least, least+1)
	}
}

func (u *ui) rankTable(r *attribution.RankReport, o *ranksOptions, columns []rankColumn) (string, int) {
	aligned := []text.Align{left, left}
	head := [2][]string{{"", ""}, {"rank", "device"}}
	for _, c := range columns {
		aligned = append(aligned, c.align)
		head[0], head[1] = append(head[0], c.head[0]), append(head[1], c.head[1])
	}
	t := newTable(aligned...)
	t.header(head[0]...)
	t.header(head[1]...)
	folds, more := foldRanks(r, o.rows.limit(len(r.Rows)), func(i int) []string {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.cell(&r.Rows[i]))
		}
		return cells
	})
	for _, f := range folds {
		t.row(append([]string{rankLabel(r, f.rows), devicesText(r, f.rows)}, f.cells...)...)
	}
	out := t.String()
	width := 0
	for line := range strings.Lines(out) {
		width = max(width, units.Width(strings.TrimRight(line, "\n")))
	}
	return out + u.rowsHint(r, more), width
}

// rowsHint explains what the rows of ranks leave open.
func (u *ui) rowsHint(r *attribution.RankReport, more int) string {
	var parts []string
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%s %s (-n 0 shows all)", ellipsis, plural(more, "more rank")))
	}
	if len(r.Outliers) > 0 {
		parts = append(parts, "* named above")
	}
	if slices.ContainsFunc(r.Rows, func(x attribution.RankRow) bool { return x.HasPeak && x.AtLeast }) {
		parts = append(parts, "peaks of histories that are not complete are what was seen of them")
	}
	if len(parts) == 0 {
		return ""
	}
	return u.style(faint, strings.Join(parts, "; ")) + "\n"
}

func devicesText(r *attribution.RankReport, rows []int) string {
	var list []int
	for _, i := range rows {
		list = append(list, r.Rows[i].Device)
	}
	slices.Sort(list)
	var labels []string
	for _, d := range slices.Compact(list) {
		labels = append(labels, strconv.Itoa(d))
	}
	return attribution.RankRanges(labels, 2)
}

// rankCategories is what the memory of each rank is for. Categories that are
// small everywhere are summed, so that the table fits.
func (u *ui) rankCategories(r *attribution.RankReport, o *ranksOptions) string {
	list := slices.Clone(r.Categories)
	slices.SortStableFunc(list, func(a, b attribution.RankNumber) int { return cmp.Compare(b.Max, a.Max) })
	var shown []attribution.Category
	width := 24 // of the rank and the total
	for _, n := range list {
		c, _ := attribution.ParseCategory(n.Name)
		head := categoryHead(c)
		w := max(len(head[0]), len(head[1]), len("1.00 GiB")) + columnGap
		if width += w; width+len("1.00 GiB")+columnGap > u.width {
			break
		}
		shown = append(shown, c)
	}
	aligned, head := []text.Align{left}, [2][]string{{""}, {"rank"}}
	for _, c := range shown {
		h := categoryHead(c)
		aligned, head[0], head[1] = append(aligned, right), append(head[0], h[0]), append(head[1], h[1])
	}
	rest := len(shown) < len(list)
	if rest {
		aligned, head[0], head[1] = append(aligned, right), append(head[0], ""), append(head[1], "others")
	}
	t := newTable(append(aligned, right)...)
	t.header(append(head[0], "")...)
	t.header(append(head[1], "total")...)
	folds, more := foldRanks(r, o.rows.limit(len(r.Rows)), func(i int) []string {
		totals := r.Totals(i)
		left := totals.Sum()
		var cells []string
		for _, c := range shown {
			cells = append(cells, units.Bytes(totals[c]))
			left -= totals[c]
		}
		if rest {
			cells = append(cells, units.Bytes(left))
		}
		return append(cells, units.Bytes(totals.Sum()))
	})
	for _, f := range folds {
		t.row(append([]string{rankLabel(r, f.rows)}, f.cells...)...)
	}
	hint := ""
	if more > 0 {
		hint = u.style(faint, ellipsis+" "+plural(more, "more rank")) + "\n"
	}
	return u.style(bold, "requested bytes "+atText(r)+", by category") + "\n" + t.String() + hint
}

// categoryHead is a category's name in two lines.
func categoryHead(c attribution.Category) [2]string {
	a, b, two := strings.Cut(c.String(), "_")
	if !two {
		a, b = "", a
	}
	return [2]string{a, b}
}
