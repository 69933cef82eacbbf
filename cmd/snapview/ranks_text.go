package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// ranksText prints the verdict, then the lines to blame, then the numbers.
func (u *ui) ranksText(r *attribution.RankReport, o *ranksOptions) string {
	var b strings.Builder
	b.WriteString(u.ranksPartial(r))
	for _, fact := range ranksFacts(r) {
		b.WriteString(u.style(bold, strings.Join(wrap(words(units.Safe(fact)), u.width-4), "\n    ")) + "\n")
	}
	for _, s := range r.Summary {
		b.WriteString(u.ranksSentence(s))
	}
	for i := range r.Outliers[:min(len(r.Outliers), o.rows.limit(shownOutliers))] {
		b.WriteString("\n" + u.outlierLines(r, &r.Outliers[i], o))
	}
	b.WriteString("\n" + u.rankRows(r, o))
	b.WriteString(u.rankFailures(r, o))
	b.WriteString("\n" + u.rankCategories(r, o))
	if len(r.Rows) > 1 {
		b.WriteString("\n" + u.rankTotals(r))
	}
	b.WriteString("\n" + u.rankLines(r, o))
	if notes := ranksNotes(r); len(notes) > 0 {
		b.WriteString("\n" + u.style(bold, "what this rests on") + "\n")
		for _, n := range notes {
			b.WriteString("- " + strings.Join(wrap(words(units.Safe(n)), u.width-2), "\n  ") + "\n")
		}
	}
	return b.String()
}

// narrow reports whether columns that only add detail give way.
func (u *ui) narrow() bool { return u.width < 76 }

// pick keeps the cells of the columns that a table has.
func pick(keep []bool, cells ...string) []string {
	var out []string
	for i, c := range cells {
		if keep[i] {
			out = append(out, c)
		}
	}
	return out
}

// newPickedTable has the columns of keep.
func newPickedTable(keep []bool, aligned ...text.Align) *textTable {
	var out []text.Align
	for i, a := range aligned {
		if keep[i] {
			out = append(out, a)
		}
	}
	return newTable(out...)
}

// shownOutliers have a table of their own.
const shownOutliers = 3

// ranksSentence is a sentence with its further lines set in.
func (u *ui) ranksSentence(s string) string {
	return strings.Join(wrap(words(units.Safe(s)), u.width-4), "\n    ") + "\n"
}

// ranksPartial says that not all is there.
func (u *ui) ranksPartial(r *attribution.RankReport) string {
	text := ranksPartialText(r)
	if text == "" {
		return ""
	}
	return u.style(alarm, "PARTIAL") + " " + text + "\n"
}

func ranksPartialText(r *attribution.RankReport) string {
	cut := 0
	for i := range r.Rows {
		if r.Rows[i].Partial != "" {
			cut++
		}
	}
	var parts []string
	if n := len(r.Failed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s could not be read", n, plural(n+rankFiles(r), "snapshot")))
	}
	if cut > 0 {
		parts = append(parts, plural(cut, "rank")+" read in part")
	}
	return strings.Join(parts, ", ")
}

// rankFiles counts the files that the rows are of.
func rankFiles(r *attribution.RankReport) int {
	files := map[string]bool{}
	for i := range r.Rows {
		files[r.Rows[i].File] = true
	}
	return len(files)
}

// ranksFacts say what is compared and how it was chosen.
func ranksFacts(r *attribution.RankReport) []string {
	title := plural(len(r.Rows), "rank")
	if n := rankFiles(r); n != len(r.Rows) {
		title = fmt.Sprintf("%s of %s", plural(len(r.Rows), "row"), plural(n, "file"))
	}
	title += " at the end"
	if r.At == "peak" {
		title = strings.TrimSuffix(title, " at the end") + ", each at its peak"
	}
	if basis, one := oneBasis(r); one {
		title += ", numbered " + basisText(basis)
	}
	if history, one := oneHistory(r); one {
		title += ", history " + history
	}
	if r.Moment == "" {
		return []string{title}
	}
	var others []string
	for _, m := range r.Moments {
		if m.Name != r.Moment {
			others = append(others, fmt.Sprintf("%s (%d)", m.Name, m.Ranks))
		}
	}
	const most = 8
	if more := len(others) - most; more > 0 {
		others = append([]string{fmt.Sprintf("%d more", more)}, others[more:]...)
	}
	return []string{title, fmt.Sprintf("snapshots named %q; with --at also %s", r.Moment, strings.Join(others, ", "))}
}

// basisText says what ranks rest on.
func basisText(b attribution.RankBasis) string {
	switch b {
	case attribution.RankByName:
		return "by the files' names"
	case attribution.RankByNumber:
		return "by the number in which the files' names differ"
	case attribution.RankByDevice:
		return "by device"
	}
	return "in the order of files, as nothing tells their ranks"
}

func oneBasis(r *attribution.RankReport) (attribution.RankBasis, bool) {
	for i := range r.Rows {
		if r.Rows[i].Basis != r.Rows[0].Basis {
			return 0, false
		}
	}
	return r.Rows[0].Basis, true
}

// outlierLines is what a rank has more or less than its reference, by line.
func (u *ui) outlierLines(r *attribution.RankReport, x *attribution.RankOutlier, o *ranksOptions) string {
	const few = 8
	numbers := 53 // columns that the others take
	keep := []bool{true, true, true, !u.narrow(), true}
	if u.narrow() {
		numbers -= 20
	}
	t := newPickedTable(keep, right, right, right, left, left)
	row := func(cells ...string) { t.row(pick(keep, cells...)...) }
	t.header(pick(keep, "differs", "rank "+r.Rows[x.Rows[0]].Label, "rank "+r.Rows[x.Reference].Label, "category", "line")...)
	shown := o.rows.limit(few)
	if o.rows.given {
		shown = o.rows.limit(len(x.Lines))
	}
	shown = min(shown, len(x.Lines))
	for _, l := range x.Lines[:shown] {
		row(units.Signed(l.Delta), units.Bytes(l.Here), units.Bytes(l.There), l.Category.String(), location(l.File, l.Line, l.Function, max(u.width-numbers, 8)))
	}
	if rest := x.Lines[shown:]; len(rest) > 0 {
		var sum attribution.RankDelta
		for _, l := range rest {
			sum.Delta, sum.Here, sum.There = sum.Delta+l.Delta, sum.Here+l.Here, sum.There+l.There
		}
		row(units.Signed(sum.Delta), units.Bytes(sum.Here), units.Bytes(sum.There), "", ellipsis+" "+plural(len(rest), "more line")+" that differ")
	}
	row(units.Signed(x.Delta), units.Bytes(r.Totals(x.Rows[0]).Sum()), units.Bytes(r.Totals(x.Reference).Sum()), "", u.style(bold, "total, equal lines included"))
	return t.String()
}

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

// rankFailures are the ranks that could not be read.
func (u *ui) rankFailures(r *attribution.RankReport, o *ranksOptions) string {
	if len(r.Failed) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + u.style(bold, "could not be read") + "\n")
	shown := o.rows.limit(len(r.Failed))
	for _, f := range r.Failed[:shown] {
		b.WriteString(u.ranksSentence(fmt.Sprintf("rank %s: %s: %v", f.Label, f.File, f.Err)))
	}
	if more := len(r.Failed) - shown; more > 0 {
		b.WriteString(ellipsis + " " + plural(more, "more file") + "\n")
	}
	return b.String()
}

// rankCategories is what the memory of each rank is for. Categories that are
// small everywhere are summed, so that the table fits.
func (u *ui) rankCategories(r *attribution.RankReport, o *ranksOptions) string {
	list := slices.Clone(r.Categories)
	slices.SortStableFunc(list, func(a, b attribution.RankNumber) int { return -cmpInt64(a.Max, b.Max) })
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

func cmpInt64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// categoryHead is a category's name in two lines.
func categoryHead(c attribution.Category) [2]string {
	a, b, two := strings.Cut(c.String(), "_")
	if !two {
		a, b = "", a
	}
	return [2]string{a, b}
}

func atText(r *attribution.RankReport) string {
	if r.At == "end" {
		return "at the end"
	}
	return "at each rank's peak"
}

// rankTotals are sums and ranges over all ranks.
func (u *ui) rankTotals(r *attribution.RankReport) string {
	keep := []bool{true, !u.narrow(), true, true, true, true}
	t := newPickedTable(keep, right, right, right, right, left, left)
	t.header(pick(keep, "sum", "least", "median", "most", "rank", "number")...)
	const numbers = 36 // columns that the others take on a narrow terminal
	add := func(n attribution.RankNumber, title string) {
		title = cutRight(title, max(u.width-numbers, 24))
		rank := r.Rows[n.MaxRow].Label
		if n.Max == n.Min {
			rank = "all"
		}
		t.row(pick(keep, units.Bytes(n.Sum), units.Bytes(n.Min), units.Bytes(n.Median), units.Bytes(n.Max), rank, title)...)
	}
	for _, n := range r.Numbers {
		add(n, n.Title)
	}
	for _, n := range r.Categories {
		add(n, n.Name)
	}
	return u.style(bold, "all ranks; categories "+atText(r)) + "\n" + t.String()
}

// rankLines are the lines of all ranks together.
func (u *ui) rankLines(r *attribution.RankReport, o *ranksOptions) string {
	const few = 10
	shown := o.rows.limit(few)
	if o.rows.given {
		shown = o.rows.limit(len(r.Lines))
	}
	shown = min(shown, len(r.Lines))
	keep := []bool{true, !u.narrow(), !u.narrow(), true, true, u.width >= 100, true}
	room := u.width // for the place
	for i, w := range []int{10, 7, 11, 11, 11, 17} {
		if keep[i] {
			room -= w
		}
	}
	t := newPickedTable(keep, right, right, right, right, right, left, left)
	row := func(cells ...string) { t.row(pick(keep, cells...)...) }
	t.header(pick(keep, "sum", "ranks", "least", "median", "most", "category", "line")...)
	for _, l := range r.Lines[:shown] {
		row(units.Bytes(l.Bytes), units.Count(l.Ranks), units.Bytes(l.Min), units.Bytes(l.Median), units.Bytes(l.Max), l.Category.String(),
			location(l.File, l.Line, l.Function, max(room, 8)))
	}
	var sum, rest int64
	for i, l := range r.Lines {
		sum += l.Bytes
		if i >= shown {
			rest += l.Bytes
		}
	}
	if more := len(r.Lines) - shown; more > 0 {
		row(units.Bytes(rest), "", "", "", "", "", ellipsis+" "+plural(more, "more line"))
	}
	row(units.Bytes(sum), "", "", "", "", "", u.style(bold, "total, "+plural(len(r.Lines), "line")))
	return u.style(bold, "lines of all ranks, "+atText(r)) + "\n" + t.String()
}

// ranksNotes are how files were chosen and what is missing.
func ranksNotes(r *attribution.RankReport) []string {
	notes := slices.Clone(r.Notes)
	if r.At == "end" {
		notes = append(notes, "ranks are compared at the end, because a history shows no peak")
	}
	if r.Skipped.Files() > 0 {
		notes = append(notes, fmt.Sprintf("%s in the folders left out: %s", plural(r.Skipped.Files(), "other file"), skippedText(r.Skipped)))
	}
	return notes
}
