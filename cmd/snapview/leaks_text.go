package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// leaksText is the verdict, the lines to blame, what they look like, and what
// the answer rests on.
func (u *ui) leaksText(a *leaksAnswer, o *options) string {
	var b strings.Builder
	for _, p := range a.partial {
		b.WriteString(u.style(alarm, "PARTIAL") + " " + units.Safe(p) + "\n")
	}
	if len(a.reports) == 0 {
		b.WriteString("no device held memory\n")
	}
	for i := range a.reports {
		if i > 0 {
			b.WriteByte('\n')
		}
		if a.changes != nil {
			u.writeLeakChange(&b, &a.changes[i], o)
			b.WriteByte('\n')
		}
		u.writeLeaks(&b, &a.reports[i], a.changes != nil, o)
	}
	return b.String()
}

func (u *ui) writeLeaks(b *strings.Builder, r *attribution.LeakReport, after bool, o *options) {
	g := &r.Growth
	style := bold
	if g.Verdict == attribution.Leak {
		style = alarm
	}
	name := fmt.Sprintf("device %d", r.Device)
	if after {
		name += " after the change"
	}
	u.paragraph(b, "", u.style(bold, name)+": "+u.style(style, growthTitle(g))+": "+units.Safe(g.Why))
	if g.Need != "" {
		u.paragraph(b, "", "To decide: "+units.Safe(g.Need))
	}
	if e := r.Epoch; e != nil {
		u.paragraph(b, "", fmt.Sprintf("%s per epoch of %s: %s", units.Bytes(e.Bytes), plural(e.Steps, "step"), e.Evidence))
	}
	if n := r.StepsPerSnapshot; n > 0 && r.BytesPerStep != 0 {
		u.paragraph(b, "", fmt.Sprintf("%s a training step, %s from one snapshot to the next", signedRate(r.BytesPerStep), plural(n, "step")))
	}
	if len(r.Suspects) > 0 {
		title := "who keeps it, requested bytes"
		if g.Verdict != attribution.Leak {
			title = "who holds more than at first, requested bytes"
		}
		u.heading(b, title)
		b.WriteString(u.suspectTable(r, o))
		u.writeSuspectStack(b, &r.Suspects[0])
	}
	for _, h := range r.Hints {
		u.writeHint(b, &h)
	}
	if len(r.Files) > 1 {
		u.heading(b, "files")
		b.WriteString(u.leakFiles(r))
	}
	b.WriteString(u.leakCurves(r))
	u.heading(b, "what this rests on")
	u.paragraph(b, "- ", roundsText(r))
	if len(r.Curves) > 0 {
		u.paragraph(b, "- ", "requested is what tensors asked for, without the allocator's rounding; peak is the most of it")
	}
	if n := g.Allocated.WarmUp; n > 0 {
		first := "the first " + g.Unit + " is"
		if n > 1 {
			first = "the first " + plural(n, g.Unit) + " are"
		}
		u.paragraph(b, "- ", first+" warm-up and left out of the slope")
	}
	for _, n := range r.Notes {
		u.paragraph(b, "- ", units.Safe(n))
	}
}

// growthTitle is the verdict with its shape: "leak, monotonic".
func growthTitle(g *attribution.Growth) string {
	if g.Verdict == attribution.Inconclusive || g.Shape == attribution.Flat {
		return verdictText(g.Verdict)
	}
	return verdictText(g.Verdict) + ", " + g.Shape.String()
}

// roundsText says what was compared.
func roundsText(r *attribution.LeakReport) string {
	x := &r.Rounds
	switch {
	case x.Count == 0:
		return "no steps were found"
	case x.How == "files":
		return plural(x.Count, "snapshot") + " were compared as they were taken"
	case x.Unit == "stretch":
		return fmt.Sprintf("no steps were found; %d equal stretches of the history were compared", x.Count)
	}
	how := x.How
	if x.Function != "" {
		how += " " + location(x.File, x.Line, x.Function, 60)
	}
	if end, ok := strings.CutSuffix(how, "s"); ok && x.Unit == "step" {
		return fmt.Sprintf("%s were compared, each where its %s ends", plural(x.Count, x.Unit), units.Safe(end))
	}
	return fmt.Sprintf("%s were compared, told apart by %s", plural(x.Count, x.Unit), units.Safe(how))
}

// article is "a step" or "an iteration".
func article(unit string) string {
	if strings.HasPrefix(unit, "i") {
		return "an " + unit
	}
	return "a " + unit
}

// signedRate prints a slope.
func signedRate(v float64) string {
	if math.Abs(v) < 10 && v != math.Trunc(v) {
		return fmt.Sprintf("%+.2g B", v)
	}
	return units.Signed(int64(math.Round(v)))
}

// suspectTable lists the lines that keep memory, most a step first.
func (u *ui) suspectTable(r *attribution.LeakReport, o *options) string {
	shown := o.rows.limit(len(r.Suspects))
	if shown == len(r.Suspects)-1 && !o.rows.given {
		shown++
	}
	rows := [][]string{{article(r.Growth.Unit), "95 %", "alive", "count", "kept", "category"}}
	for i := range r.Suspects[:shown] {
		s := &r.Suspects[i]
		rows = append(rows, []string{signedRate(s.BytesPerStep), rangeText(s.Low, s.High), units.Bytes(s.Live), units.Count(s.Count), rhythmText(s, r.Growth.Unit), s.Category.String()})
	}
	alignments := []text.Align{right, right, right, right, left, left, left}
	drop := func(column int) {
		alignments = slices.Delete(alignments, column, column+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	if r.Rounds.How == "files" {
		drop(4) // files do not tell how often
	}
	if u.width-cellsWidth(rows) < leastPlace {
		drop(1)
	}
	t := newTable(alignments...)
	room := u.width - cellsWidth(rows)
	for i, row := range rows {
		if i == 0 {
			t.header(append(row, "line")...)
			continue
		}
		s := &r.Suspects[i-1]
		t.row(append(row, location(s.File, s.Line, s.Function, max(room, 20)))...)
	}
	out := t.String()
	if more := len(r.Suspects) - shown; more > 0 {
		sum, live := 0.0, int64(0)
		for _, s := range r.Suspects[shown:] {
			sum, live = sum+s.BytesPerStep, live+s.Live
		}
		out += fmt.Sprintf("%s %s, %s %s, %s alive\n", ellipsis, plural(more, "more line"), signedRate(sum), article(r.Growth.Unit), units.Bytes(live))
	}
	return out
}

// leastPlace is the room for a line of code below which the interval gives way.
const leastPlace = 32

// cellsWidth is what columns of cells take, with the gap behind each.
func cellsWidth(rows [][]string) (width int) {
	for c := range rows[0] {
		widest := 0
		for _, r := range rows {
			widest = max(widest, units.Width(r[c]))
		}
		width += widest + columnGap
	}
	return width
}

// rangeText prints an interval, and one value when both ends print the same.
func rangeText(low, high float64) string {
	a, b := signedRate(low), signedRate(high)
	if a == b {
		return a
	}
	return a + " to " + b
}

// rhythmText says how many allocations a line keeps and how often.
func rhythmText(s *attribution.Suspect, unit string) string {
	switch {
	case s.AtATime == 0:
		return "replaced by more"
	case s.Every > 1:
		return fmt.Sprintf("%.4g every %.4g %ss", s.AtATime, s.Every, unit)
	}
	return fmt.Sprintf("%.4g %s", s.AtATime, article(unit))
}

// writeSuspectStack prints through which of the user's lines the first suspect's
// memory is made, when that takes more than its own.
func (u *ui) writeSuspectStack(b *strings.Builder, s *attribution.Suspect) {
	var own []*snapshot.Frame
	for i := range s.Frames {
		if f := &s.Frames[i]; f.IsPython() && !f.IsLibrary() {
			own = append(own, f)
		}
	}
	if len(own) < 2 {
		return
	}
	b.WriteString("  the first of them, innermost call first:\n")
	for _, f := range own[:min(len(own), maxSuspectFrames)] {
		b.WriteString("    " + location(f.File, f.Line, f.Function, u.width-4) + "\n")
	}
	if more := len(own) - maxSuspectFrames; more > 0 {
		b.WriteString("    " + u.style(faint, ellipsis+" "+plural(more, "outer frame")) + "\n")
	}
}

// maxSuspectFrames is how many frames of a suspect's stack are printed; --json
// has all.
const maxSuspectFrames = 8

// writeHint says what a pattern looks like, what was seen and what to change.
func (u *ui) writeHint(b *strings.Builder, h *attribution.Hint) {
	where := ""
	if h.Function != "" {
		where = " at " + location(h.File, h.Line, h.Function, max(u.width-units.Width(h.Title)-4, 20))
	}
	u.heading(b, units.Safe(h.Title)+where)
	u.paragraph(b, "  ", "seen: "+units.Safe(h.Evidence))
	if h.Do != "" {
		u.paragraph(b, "  ", "change: "+h.Do)
	}
}

// leakFiles is a row for each snapshot.
func (u *ui) leakFiles(r *attribution.LeakReport) string {
	t := newTable(left, right, right, right, right, right)
	t.header("file", "requested", "reserved", "steps", "new", "kept to the end")
	for i, f := range r.Files {
		steps, added, kept := "", "", ""
		if f.Steps > 0 {
			steps = units.Count(f.Steps)
		}
		if i > 0 {
			added, kept = units.Bytes(f.New), units.Bytes(f.Kept)
		}
		t.row(cutLeft(units.Safe(f.Name), max(u.width-60, 20)), units.Bytes(f.Requested), units.Bytes(f.Reserved), steps, added, kept)
	}
	return t.String()
}

// leakCurves draws what was compared.
func (u *ui) leakCurves(r *attribution.LeakReport) string {
	t := newTable(left, right, right, right, left)
	t.header("curve", "first", "last", "highest", "")
	rows := 0
	for _, s := range r.Curves {
		n := len(s.Bytes)
		if n < 2 {
			continue
		}
		high := s.Bytes[0]
		for _, v := range s.Bytes {
			high = max(high, v)
		}
		rows++
		t.row(s.Name, units.Bytes(int64(s.Bytes[0])), units.Bytes(int64(s.Bytes[n-1])), units.Bytes(int64(high)), sparkline(s.Steps, s.Bytes, min(u.width-50, 40)))
	}
	if rows == 0 {
		return ""
	}
	return "\n" + t.String()
}

// writeLeakChange says whether a change of the program cured the leak.
func (u *ui) writeLeakChange(b *strings.Builder, c *attribution.LeakChange, o *options) {
	style := alarm
	if c.Outcome == attribution.LeakGone {
		style = bold
	}
	u.paragraph(b, "", u.style(bold, fmt.Sprintf("device %d", c.Device))+": "+u.style(style, outcomeText(c))+": "+units.Safe(c.Why))
	if len(c.Lines) == 0 {
		return
	}
	t := newTable(right, right, left)
	t.header("before", "after", "line, bytes "+article(c.Unit))
	shown := o.rows.limit(len(c.Lines))
	for _, l := range c.Lines[:shown] {
		t.row(signedRate(l.Before), signedRate(l.After), location(l.File, l.Line, l.Function, u.width-30))
	}
	b.WriteString(t.String())
	if more := len(c.Lines) - shown; more > 0 {
		b.WriteString(ellipsis + " " + plural(more, "more line") + "\n")
	}
}

func outcomeText(c *attribution.LeakChange) string {
	switch c.Outcome {
	case attribution.LeakGone:
		return "the leak is gone"
	case attribution.LeakSmaller:
		return "the leak is smaller, not gone"
	case attribution.LeakSame:
		return "the leak is still there"
	case attribution.LeakWorse:
		if c.Before <= 0 {
			return "a new leak"
		}
		return "the leak is worse"
	}
	return "unclear"
}
