package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// checkText is the report for reading: the verdict, a row for each gate, then
// why what failed did, then what changed since the baseline.
func (u *ui) checkText(a *checkAnswer, o *checkOptions) string {
	var b strings.Builder
	word, text := a.verdict()
	style := bold
	if word != "PASS" {
		style = alarm
	}
	b.WriteString(u.style(style, word) + "  " + text + "\n")
	b.WriteString(strings.Join(wrap(strings.SplitAfter(a.source(), ", "), u.width), "\n") + "\n")
	for _, f := range a.Files {
		if f.Err != nil {
			b.WriteString(u.style(alarm, "not read") + " " + errorLine(f.Err) + "\n")
		}
	}
	rows := sortedWords(a.words())
	if len(rows) > 0 {
		b.WriteString("\n" + u.checkTable(rows))
	}
	b.WriteString(u.checkReasons(rows))
	b.WriteString(u.checkGrowth(a, o))
	return b.String()
}

// sortedWords puts first what a reader must act on.
func sortedWords(rows []checkWords) []checkWords {
	rank := map[string]int{"FAIL": 0, "ERROR": 1, "WARN": 2, "SKIP": 3, "PASS": 4}
	slices.SortStableFunc(rows, func(x, y checkWords) int { return rank[x.status] - rank[y.status] })
	return rows
}

// checkTable has a row for each check. Where it does not fit, what only explains
// a number gives way, then the ends of names.
func (u *ui) checkTable(rows []checkWords) string {
	where := 0
	for i := range rows {
		where = max(where, units.Width(rows[i].where(maxWhere)))
	}
	room := u.width - len("ERROR") - columnGap
	if where > 0 {
		room -= where + columnGap
	}
	cells := make([][]string, len(rows))
	for _, fit := range []func(*checkWords) []string{
		func(r *checkWords) []string { return []string{r.withRule(), r.withRatio()} },
		func(r *checkWords) []string { return []string{r.withRule(), r.margin} },
		func(r *checkWords) []string { return []string{r.limit, r.margin} },
	} {
		for i := range rows {
			cells[i] = append([]string{rows[i].value, rows[i].was}, fit(&rows[i])...)
		}
		if room-columnsOf(cells) >= leastGate {
			break
		}
	}
	room = max(room-columnsOf(cells), leastGate)
	header := []string{"", "gate", "value", "was", "limit", "margin"}
	if where > 0 {
		header = append(header, "capture")
	}
	t := newTable(left, left, right, right, left, right, left)
	hasWas := slices.ContainsFunc(rows, func(r checkWords) bool { return r.was != "" })
	if !hasWas {
		header[3] = ""
	}
	t.header(header...)
	for i := range rows {
		r := &rows[i]
		status := r.status
		if status == "FAIL" || status == "ERROR" {
			status = u.style(alarm, status)
		}
		name := r.gate
		if r.check != nil {
			name = gateText(r.result.Gate, r.check, room)
		}
		row := []string{status, cutRight(units.Safe(name), room)}
		for _, c := range cells[i] {
			row = append(row, units.Safe(c))
		}
		if where > 0 {
			row = append(row, r.where(maxWhere))
		}
		t.row(row...)
	}
	return t.String()
}

const (
	leastGate = 24 // columns of a gate's name
	maxWhere  = 40 // columns of a capture and its device
)

// columnsOf is the width of columns with the gaps before them.
func columnsOf(rows [][]string) int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], units.Width(c))
		}
	}
	sum := 0
	for _, w := range widths {
		sum += w + columnGap
	}
	return sum
}

// where is which device of which capture a row is of.
func (w *checkWords) where(width int) string {
	if w.capture == "" {
		return ""
	}
	device := " device " + w.device
	return shortenPath(units.Safe(w.capture), width-len(device)) + device
}

// checkReasons say of what is no plain pass why, and whom to ask. What several
// gates have in common is said once.
func (u *ui) checkReasons(rows []checkWords) string {
	title := func(r *checkWords) string {
		if r.capture == "" {
			return units.Safe(r.gate)
		}
		return units.Safe(r.gate) + ", " + units.Safe(r.capture) + " device " + r.device
	}
	var b strings.Builder
	for _, g := range groupReasons(rows, title, u.checkReason) {
		b.WriteString("\n" + u.style(bold, strings.Join(wrap(strings.SplitAfter(strings.Join(g.titles, "; "), "; "), u.width), "\n")) + "\n" + g.reason)
	}
	return b.String()
}

// A reasonGroup is one reason and the rows that it is of.
type reasonGroup struct {
	reason string
	titles []string
}

// groupReasons joins the rows that have the same reason.
func groupReasons(rows []checkWords, title, reason func(*checkWords) string) []reasonGroup {
	var groups []reasonGroup
	for i := range rows {
		r := &rows[i]
		text := ""
		if r.status != "PASS" {
			text = reason(r)
		}
		if text == "" {
			continue
		}
		at := slices.IndexFunc(groups, func(g reasonGroup) bool { return g.reason == text })
		if at < 0 {
			at = len(groups)
			groups = append(groups, reasonGroup{reason: text})
		}
		if name := title(r); !slices.Contains(groups[at].titles, name) {
			groups[at].titles = append(groups[at].titles, name)
		}
	}
	return groups
}

func (u *ui) checkReason(r *checkWords) string {
	var lines []string
	if r.check != nil && len(r.check.Lines) > 0 {
		lines = append(lines, reasonWord(r.check)+":")
		for i := range r.check.Lines {
			l := &r.check.Lines[i]
			tail := lineText(l)
			lines = append(lines, fmt.Sprintf("%10s  %s%s", lineAmount(l), location(l.File, l.Line, l.Function, u.width-14-units.Width(tail)), tail))
		}
	}
	explain := func(text string) {
		if text != "" {
			lines = append(lines, wrap(strings.SplitAfter(units.Safe(text), " "), u.width-2)...)
		}
	}
	explain(r.explanation())
	if owner := r.result.Gate.Owner; owner != "" {
		explain("owner: " + owner)
	}
	if note := r.result.Gate.Note; note != "" {
		explain("note: " + note)
	}
	if len(lines) == 0 {
		return ""
	}
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// reasonWord says what the lines of a check are.
func reasonWord(c *budget.GateCheck) string {
	switch {
	case c == nil || len(c.Lines) == 0:
		return ""
	case c.Lines[0].Grew:
		return "what grew"
	}
	return "what holds most"
}

// maxGrownDevices is how many devices are shown with what changed on them.
const maxGrownDevices = 8

// checkGrowth is what changed since the baseline, by device.
func (u *ui) checkGrowth(a *checkAnswer, o *checkOptions) string {
	var b strings.Builder
	same, shown := 0, 0
	for i := range a.Growth {
		g := &a.Growth[i]
		switch {
		case !changed(g):
			same++
			continue
		case shown == maxGrownDevices:
			fmt.Fprintf(&b, "\n%s %s: --json has all\n", ellipsis, plural(len(a.Growth)-i, "more device"))
			return b.String()
		}
		shown++
		b.WriteString("\n" + u.style(bold, baselineTitle(a, g)) + "\n")
		for _, s := range g.Summary {
			b.WriteString(u.wrapped(s))
		}
		b.WriteString(u.diffRows(&g.DiffResult, &o.options))
		if len(g.Settings) > 0 {
			b.WriteString(u.diffSettings(&g.DiffResult))
		}
	}
	if same > 0 {
		fmt.Fprintf(&b, "\n%s: no line changed since the baseline\n", plural(same, "device"))
	}
	return b.String()
}

// changed reports whether any line or setting differs from the baseline.
func changed(g *budget.Growth) bool {
	return len(g.Settings) > 0 || slices.ContainsFunc(g.Rows, func(r attribution.DiffRow) bool { return r.Delta != 0 })
}

func baselineTitle(a *checkAnswer, g *budget.Growth) string {
	where := "device " + g.Device
	if len(a.Files) > 1 {
		where = units.Safe(g.Capture) + " " + where
	}
	return fmt.Sprintf("%s at the %s, since the baseline: %s to %s, %s", where, g.Moment, units.Bytes(g.Before), units.Bytes(g.After), units.Signed(g.Delta))
}
