package main

import (
	"fmt"
	"slices"
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
