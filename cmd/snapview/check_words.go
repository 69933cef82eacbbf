package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// checkWords is one row of a table of gates, for reading.
type checkWords struct {
	status           string // "PASS", …
	gate, value, was string
	limit, rule      string // what is allowed, and what that comes from
	margin, ratio    string // how far from the limit, and in proportion to it
	capture, device  string // "" where there is only one
	check            *budget.GateCheck
	result           *budget.GateResult
}

// statusWords are the statuses as a reader wants them.
var statusWords = map[budget.GateStatus]string{
	budget.GatePassed: "PASS", budget.GateSkipped: "SKIP", budget.GateWarned: "WARN",
	budget.GateUnjudged: "ERROR", budget.GateNoMatch: "ERROR", budget.GateExceeded: "FAIL",
}

// words are the rows of a gate: its worst check, and all that are exceeded.
func (a *checkAnswer) words() []checkWords {
	var rows []checkWords
	several := a.severalDevices()
	for i := range a.Gates {
		r := &a.Gates[i]
		if len(r.Checks) == 0 {
			rows = append(rows, checkWords{status: statusWords[r.Status], gate: r.Gate.Name, result: r})
			continue
		}
		for j := range r.Checks {
			c := &r.Checks[j]
			if j > 0 && c.Status == budget.GatePassed {
				break
			}
			row := checkWords{status: statusWords[c.Status], gate: gateText(r.Gate, c, maxPlace), value: valueText(r.Gate, c), check: c, result: r}
			if several {
				row.capture, row.device = c.Capture, c.Device
			}
			row.setLimit(r.Gate, c)
			rows = append(rows, row)
		}
	}
	return rows
}

// severalDevices reports whether a row must say what it is of.
func (a *checkAnswer) severalDevices() bool {
	first := ""
	for i := range a.Gates {
		for _, c := range a.Gates[i].Checks {
			if where := c.Capture + "\x00" + c.Device; first == "" {
				first = where
			} else if first != where {
				return true
			}
		}
	}
	return len(a.Files) > 1
}

// gateText names a check: the gate, and which of several subjects. A place may
// take as many columns as given.
func gateText(g *budget.Gate, c *budget.GateCheck, width int) string {
	switch {
	case c.Place == nil && c.Subject == "":
		return g.Name
	case g.OwnName():
		return g.Name + ": " + subjectText(c, width-units.Width(g.Name)-2)
	case c.Place != nil:
		return subjectText(c, width)
	case g.At != "":
		return c.Subject + " at the " + g.At
	}
	return g.Kind.String() + " " + c.Subject
}

// subjectText is which of several subjects a check is about.
func subjectText(c *budget.GateCheck, width int) string {
	if c.Place == nil {
		return c.Subject
	}
	tail := ""
	if c.Place.MovedFrom != 0 {
		tail = fmt.Sprintf(" (was line %d)", c.Place.MovedFrom)
	}
	return location(c.Place.File, c.Place.Line, c.Place.Function, max(width-len(tail), 16)) + tail
}

// maxPlace is how wide a place may be where it stands among words.
const maxPlace = 100

// amountText prints n in the unit of the gate.
func amountText(g *budget.Gate, n budget.Number) string {
	switch {
	case n.Whole > 0:
		return budget.ShareText(n)
	case g.Unit() == "count":
		return units.Count(n.Value)
	}
	return units.Bytes(n.Value)
}

func valueText(g *budget.Gate, c *budget.GateCheck) string {
	switch {
	case c.Rule == budget.RuleAllow:
		return c.Word
	case c.Value.Missing != "":
		return "not known"
	case c.Rule == budget.RuleForbid && c.Status == budget.GatePassed:
		return "none"
	case c.Value.AtLeast:
		return "≥ " + amountText(g, c.Value)
	}
	return amountText(g, c.Value)
}

// setLimit fills in what a check allows, and how far from that it is.
func (w *checkWords) setLimit(g *budget.Gate, c *budget.GateCheck) {
	switch {
	case c.Rule == budget.RuleAllow:
		w.limit = strings.Join(g.Allow, ", ")
		return
	case c.Rule == budget.RuleForbid:
		w.limit = "none"
		return
	case c.Value.Missing != "" || c.Status == budget.GateUnjudged || c.Status == budget.GateSkipped:
		return
	}
	sign := "≤ "
	if c.Rule.Lower() {
		sign = "≥ "
	}
	w.limit = sign + amountText(g, c.Limit)
	switch {
	case c.HasBefore:
		w.was, w.rule = amountText(g, budget.Number{Value: c.Before}), growthText(g, c)
		if c.AtMost {
			w.was = "≤ " + w.was
		}
	case g.Of != "":
		w.rule = fmt.Sprintf("%s of %s", limitAmount(g, c.Rule), g.Whole())
	}
	w.setMargin(g, c)
}

func (w *checkWords) setMargin(g *budget.Gate, c *budget.GateCheck) {
	margin := c.Margin()
	size := max(margin, -margin)
	w.margin = amountText(g, budget.Number{Value: size})
	if c.Value.Whole > 0 {
		w.margin = fmt.Sprintf("%.1f points", float64(size)/100)
	}
	switch {
	case margin < 0 && c.Rule.Lower():
		w.margin += " short"
	case margin < 0:
		w.margin += " over"
	case c.Rule.Lower():
		w.margin += " above"
	default:
		w.margin += " left"
	}
	if margin < 0 && c.Value.Whole == 0 && c.Limit.Value > 0 {
		w.ratio = units.Percent(size, c.Limit.Value)
	}
}

// withRule is the limit and what it comes from.
func (w *checkWords) withRule() string { return bracketed(w.limit, w.rule) }

// withRatio is the margin, also in proportion.
func (w *checkWords) withRatio() string { return bracketed(w.margin, w.ratio) }

func bracketed(text, more string) string {
	if more == "" {
		return text
	}
	return text + " (" + more + ")"
}

func limitAmount(g *budget.Gate, rule budget.GateRule) *budget.Amount {
	switch rule {
	case budget.RuleMax:
		return g.Max
	case budget.RuleMin:
		return g.Min
	case budget.RuleMaxGrowth:
		return g.MaxGrowth
	}
	return g.MinGrowth
}

// growthText is the limit of growth as it applies: "+5%", or what is ignored
// where that is more.
func growthText(g *budget.Gate, c *budget.GateCheck) string {
	if grown := c.Limit.Value - c.Before; c.Rule == budget.RuleMaxGrowth && grown == g.IgnoreBelow && grown > 0 {
		return "+" + amountText(g, budget.Number{Value: grown})
	}
	text := limitAmount(g, c.Rule).String()
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		return text
	}
	return "+" + text
}

// explanation is why a row is not a plain pass, "" when it is.
func (w *checkWords) explanation() string {
	if w.check == nil {
		return w.result.Why
	}
	return w.check.Why
}

// lineText says what a line has to do with an exceeded gate.
func lineText(l *budget.GateLine) string {
	var marks []string
	if l.New {
		marks = append(marks, "new")
	}
	if l.MovedFrom != 0 {
		marks = append(marks, fmt.Sprintf("was line %d", l.MovedFrom))
	}
	if l.Category != "" {
		marks = append(marks, l.Category)
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, ", ") + ")"
}

// lineAmount is what a line has: what it grew by, or what it holds.
func lineAmount(l *budget.GateLine) string {
	if l.Grew {
		return units.Signed(l.Delta)
	}
	return units.Bytes(l.Bytes)
}

// verdict is the report in a word, and in a sentence after it.
func (a *checkAnswer) verdict() (word, text string) {
	unread := 0
	for _, f := range a.Files {
		if f.Err != nil {
			unread++
		}
	}
	word = "PASS"
	switch {
	case a.Count(budget.GateExceeded) > 0:
		word = "FAIL"
	case a.Err() != nil:
		word = "ERROR"
	}
	counts := []struct {
		status budget.GateStatus
		text   string
	}{
		{budget.GateExceeded, "exceeded"}, {budget.GateUnjudged, "cannot be judged"}, {budget.GateNoMatch, "about nothing that the captures have"},
		{budget.GateWarned, "over a limit that only warns"}, {budget.GateSkipped, "skipped"}, {budget.GatePassed, "passed"},
	}
	if word == "PASS" {
		counts = append(counts[5:], counts[:5]...)
	}
	var parts []string
	if unread > 0 {
		parts = append(parts, plural(unread, "file")+" not read")
	}
	first := true
	for _, c := range counts {
		n := a.Count(c.status)
		switch {
		case n == 0:
		case first:
			parts = append(parts, fmt.Sprintf("%d of %s %s", n, plural(len(a.Gates), "gate"), c.text))
			first = false
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, c.text))
		}
	}
	return word, strings.Join(parts, ", ")
}

// source says what was judged by what.
func (a *checkAnswer) source() string {
	text := plural(len(a.Files), "capture")
	if len(a.Files) == 1 {
		text = units.Safe(a.Files[0].Name)
	}
	if a.budget != "" {
		text += ", budget " + units.Safe(displayName(a.budget))
	}
	if a.baseline != "" {
		text += ", baseline " + units.Safe(a.baseline)
	}
	return text
}
