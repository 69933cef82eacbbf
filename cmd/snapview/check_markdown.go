package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// Limits that keep a comment below the 65,536 characters that GitHub takes.
const (
	maxMarkdownRows    = 40
	maxMarkdownDevices = 4
	maxMarkdownLines   = 30
	maxMarkdownNotes   = 10
	maxMarkdownName    = 120
	maxMarkdownText    = 300
)

// writeCheckMarkdown writes the report as a comment for a pull request: the
// verdict and what is not a plain pass, and the rest folded away.
func writeCheckMarkdown(w io.Writer, a *checkAnswer, o *checkOptions) error {
	b := bufio.NewWriter(w)
	word, text := a.verdict()
	fmt.Fprintf(b, "### Memory budget: %s\n\n%s. Judged: %s", word, mdText(text), mdCode(plainList(a)))
	if a.budget != "" {
		fmt.Fprintf(b, " by %s", mdCode(displayName(a.budget)))
	}
	if a.baseline != "" {
		fmt.Fprintf(b, " against %s", mdCode(a.baseline))
	}
	b.WriteString(".\n")
	b.WriteString(mdNotes(a))
	rows := sortedWords(a.words())
	passed := len(rows)
	for passed > 0 && rows[passed-1].status == "PASS" {
		passed--
	}
	if passed > 0 {
		b.WriteString("\n" + mdTable(rows[:passed]) + mdReasons(rows[:min(passed, maxMarkdownRows)]))
	}
	mdGrowth(b, a, o)
	if passed < len(rows) {
		mdDetails(b, plural(len(rows)-passed, "check")+" passed", mdTable(rows[passed:]))
	}
	return b.Flush()
}

// mdNotes are what numbers rest on, and captures that were not read.
func mdNotes(a *checkAnswer) string {
	var lines []string
	for _, f := range a.Files {
		if f.Err != nil {
			lines = append(lines, "**Not read:** "+mdCode(errorLine(f.Err)))
		}
		for _, note := range f.Notes {
			lines = append(lines, mdCode(lastElement(f.Name))+": "+mdText(note))
		}
	}
	if more := len(lines) - maxMarkdownNotes; more > 0 {
		lines = append(lines[:maxMarkdownNotes], ellipsis+" "+plural(more, "more note"))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lines, "\n\n") + "\n"
}

// plainList names the captures, or counts them.
func plainList(a *checkAnswer) string {
	if len(a.Files) == 1 {
		return a.Files[0].Name
	}
	return plural(len(a.Files), "capture")
}

// mdDetails folds a part away. Its body must be Markdown of this file.
func mdDetails(b *bufio.Writer, summary, body string) {
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%s\n</details>\n", summary, body)
}

func mdTable(rows []checkWords) string {
	var b strings.Builder
	several := rows[0].capture != ""
	b.WriteString("| | gate | value | was | limit | margin |")
	rule := "|---|---|---:|---:|---|---:|"
	if several {
		b.WriteString(" capture |")
		rule += "---|"
	}
	b.WriteString("\n" + rule + "\n")
	for i, r := range rows {
		if i == maxMarkdownRows {
			fmt.Fprintf(&b, "\n… %s more\n", units.Count(len(rows)-i))
			break
		}
		status := r.status
		if status != "PASS" {
			status = "**" + status + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |", status, mdGate(&r), mdText(r.value), mdText(r.was), mdText(r.withRule()), mdText(r.withRatio()))
		if several {
			fmt.Fprintf(&b, " %s device %s |", mdCode(lastElement(r.capture)), mdText(r.device))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// mdGate is gateText, with what the capture calls things in a code span.
func mdGate(r *checkWords) string {
	g, c := r.result.Gate, r.check
	switch {
	case c == nil || c.Place == nil && c.Subject == "":
		return mdText(g.Name)
	case c.Place == nil:
		return mdText(gateText(g, c, maxMarkdownName))
	case g.OwnName():
		return mdText(g.Name) + ": " + mdCode(subjectText(c, maxMarkdownName))
	}
	return mdCode(subjectText(c, maxMarkdownName))
}

// mdReasons say why rows are no plain pass, and whom to ask.
func mdReasons(rows []checkWords) string {
	title := func(r *checkWords) string {
		if r.capture == "" {
			return "**" + mdGate(r) + "**"
		}
		return "**" + mdGate(r) + "**, " + mdCode(lastElement(r.capture)) + " device " + mdText(r.device)
	}
	var b strings.Builder
	for _, g := range groupReasons(rows, title, mdReason) {
		b.WriteString("\n" + strings.Join(g.titles, "; ") + g.reason)
	}
	return b.String()
}

func mdReason(r *checkWords) string {
	var lines []string
	head := ""
	if r.check != nil && len(r.check.Lines) > 0 {
		head = ": " + reasonWord(r.check)
		for j := range r.check.Lines {
			l := &r.check.Lines[j]
			lines = append(lines, lineAmount(l)+" "+mdCode(location(l.File, l.Line, l.Function, maxMarkdownName))+mdText(lineText(l)))
		}
	}
	if why := r.explanation(); why != "" {
		lines = append(lines, mdText(why))
	}
	g := r.result.Gate
	if g.Owner != "" {
		lines = append(lines, "owner: "+mdOwner(g.Owner))
	}
	if g.Note != "" {
		lines = append(lines, "note: "+mdText(g.Note))
	}
	if len(lines) == 0 {
		return ""
	}
	return head + "\n\n- " + strings.Join(lines, "\n- ") + "\n"
}

// mdGrowth is what changed since the baseline, folded away.
func mdGrowth(b *bufio.Writer, a *checkAnswer, o *checkOptions) {
	for i := range a.Growth {
		g := &a.Growth[i]
		if i == maxMarkdownDevices {
			fmt.Fprintf(b, "\n%s more with what changed: see the text of `snapview check`.\n", plural(len(a.Growth)-i, "device"))
			return
		}
		if !changed(g) {
			continue
		}
		summary := fmt.Sprintf("Since the baseline: %s to %s at the %s, %s", units.Bytes(g.Before), units.Bytes(g.After), g.Moment, units.Signed(g.Delta))
		if len(a.Files) > 1 || len(a.Growth) > 1 {
			summary += fmt.Sprintf(" (%s, device %s)", mdHTML(lastElement(g.Capture)), mdHTML(g.Device))
		}
		mdDetails(b, summary, mdRows(g, o))
	}
}

func mdRows(g *budget.Growth, o *checkOptions) string {
	var b strings.Builder
	b.WriteString("| change | before | after | | line |\n|---:|---:|---:|---|---|\n")
	rows := g.Rows
	shown := min(o.rows.limit(len(rows)), maxMarkdownLines)
	for i := range rows {
		r := &rows[i]
		if i == shown || r.Delta == 0 {
			fmt.Fprintf(&b, "| | | | | %s |\n", mdText(ellipsis+" "+plural(len(rows)-i, "more line")))
			break
		}
		place := budget.GatePlace{File: r.File, Function: r.Function, Line: r.Line}
		text := mdCode(location(place.File, place.Line, place.Function, maxMarkdownName))
		if r.MovedFrom != 0 {
			text += fmt.Sprintf(" (was line %d)", r.MovedFrom)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", units.Signed(r.Delta), units.Bytes(r.Before), units.Bytes(r.After), r.Status, text)
	}
	fmt.Fprintf(&b, "| %s | %s | %s | | total |\n", units.Signed(g.Delta), units.Bytes(g.Before), units.Bytes(g.After))
	for _, s := range g.Settings {
		fmt.Fprintf(&b, "\n%s: %s before, %s now\n", mdCode(s.Key), mdCode(orNone(s.Before)), mdCode(orNone(s.After)))
	}
	return b.String()
}

// mdText makes text plain in Markdown, whatever it holds: no markup, no HTML, no
// cell of a table, and nobody is notified.
func mdText(s string) string { return strings.ReplaceAll(mdOwner(s), "@", "@\u200b") }

// mdOwner is mdText for an owner, who may be notified.
func mdOwner(s string) string { return mdEscape(units.Ellipsis(units.Safe(s), maxMarkdownText)) }

// mdEscape takes every meaning from text.
func mdEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("<>&\"", r):
			b.WriteString(html.EscapeString(string(r)))
		case strings.ContainsRune("\\`*_[]|~#$!", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mdHTML is text inside an HTML element of Markdown.
func mdHTML(s string) string {
	return html.EscapeString(strings.ReplaceAll(units.Ellipsis(units.Safe(s), maxMarkdownName), "@", "@\u200b"))
}

// mdCode makes text code: a code span, in which nothing has a meaning, or an
// element where it holds what some reader of Markdown could take for HTML or for
// the end of the span or of a table's cell.
func mdCode(s string) string {
	s = strings.TrimSpace(units.Ellipsis(units.Safe(s), maxMarkdownText))
	if s == "" || strings.ContainsAny(s, "<>&|`") {
		return "<code>" + mdEscape(s) + "</code>"
	}
	return "`" + s + "`"
}
