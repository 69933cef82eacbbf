package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// confVariable is where PyTorch reads the settings from.
const confVariable = "PYTORCH_CUDA_ALLOC_CONF"

// environmentLine is what a shell takes to run under settings.
func environmentLine(conf string) string {
	if conf == "" {
		return "unset " + confVariable
	}
	return "export " + confVariable + "=" + shellWord(conf)
}

// confText names settings for reading.
func confText(set *allocator.Settings) string {
	if conf := set.Name(); conf != "" {
		return units.Safe(conf)
	}
	return "PyTorch's defaults"
}

func (u *ui) whatifText(s *snapshot.Snapshot, answers []deviceAdvice, o *whatifOptions) string {
	parts := make([]string, len(answers))
	for i, a := range answers {
		parts[i] = u.adviceText(a, o)
	}
	return u.partialLine(s) + strings.Join(parts, "\n")
}

func (u *ui) adviceText(a deviceAdvice, o *whatifOptions) string {
	t := a.recorded.Timeline
	var b strings.Builder
	b.WriteString(u.style(bold, "device "+strconv.Itoa(t.Device.Index)) + "; history " + historyText(t) + "\n")
	line := func(name string, parts ...string) {
		for _, l := range wrap(parts, u.width-factIndent) {
			b.WriteString(pad(name, factIndent) + l + "\n")
			name = ""
		}
	}
	line("replay", a.checkParts()...)
	line("recorded", "peak reserved "+a.atLeast()+units.Bytes(t.PeakReserved.Bytes), " under ", confText(&a.recorded.Settings))
	if a.Error > 0 {
		line("", "the replay misses that by ", units.Bytes(a.Error)+": ", "smaller savings are not certain")
	}
	line("live", a.atLeast()+units.Bytes(a.LowerBound)+" at the most; ", "no settings reserve less")
	if a.Limit > 0 {
		if a.Guessed {
			line("limit", "between "+units.Bytes(a.Low), " and "+units.Bytes(a.High)+", ", "replayed at "+units.Bytes(a.Limit)+", ",
				"as in the recorded run, ", "which was short of memory")
		} else {
			line("limit", units.Bytes(a.Limit)+", ", "as --limit says")
		}
	}
	b.WriteString("\n" + u.replayTable(a, o) + "\n")
	line(u.adviceHead(a), u.adviceParts(a)...)
	for _, why := range a.Why {
		line("", words(why)...)
	}
	if len(a.Fits) == 0 {
		return b.String()
	}
	b.WriteString("\n" + fitTable(a))
	line("", words("(cached memory is given back when it has to be, which costs time; a GPU counts with 93% of its GiB, "+
		"less 1 GiB for the CUDA context)")...)
	return b.String()
}

// words splits a sentence where a line may end: not between a number and its unit.
func words(sentence string) []string {
	var parts []string
	start := 0
	for i := 1; i < len(sentence); i++ {
		if sentence[i] == ' ' && (sentence[i-1] < '0' || sentence[i-1] > '9') {
			parts = append(parts, sentence[start:i+1])
			start = i + 1
		}
	}
	return append(parts, sentence[start:])
}

// factIndent is the width of the names at the left.
const factIndent = 10

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-units.Width(s)))
}

// checkParts say how far the replays can be trusted.
func (a deviceAdvice) checkParts() []string {
	check := a.recorded.Check
	if check.Exact {
		text := "exact: every block and segment comes out as recorded"
		if check.Rebuilt {
			text += ", from a start rebuilt backwards"
		}
		return []string{text}
	}
	if a.recorded.Timeline.OpenEnd && check.Divergences == 0 && check.Difference == 0 {
		return words("not exact: " + check.Reason)
	}
	return words("not exact: " + units.Bytes(check.Difference) + " otherwise, " + plural(check.Divergences, "event") +
		" apart from the record; see the note")
}

// replayTable has a row for each of the replays, and for the recorded settings.
// On a narrow terminal the columns go that others imply.
func (u *ui) replayTable(a deviceAdvice, o *whatifOptions) string {
	shown := o.rows.limit(len(a.Replays))
	rows := [][]string{{"reserved", "change", "not live", "fails", "device calls", "settings"},
		a.replayRow(a.Baseline, confText(&a.Baseline.Settings)+" (recorded, replayed)")}
	for _, r := range a.Replays[:shown] {
		rows = append(rows, a.replayRow(r, rowName(r)))
	}
	out := alignRows(rows)
	for _, column := range []int{2, 3, 1} { // not live, device calls, change
		if widest(out) <= u.width {
			break
		}
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
		out = alignRows(rows)
	}
	if more := len(a.Replays) - shown; more > 0 {
		out += ellipsis + " " + plural(more, "more setting") + "\n"
	}
	return out
}

func rowName(r *allocator.Result) string {
	name := confText(&r.Settings)
	if !r.Modelled() {
		name += " (not modelled)"
	}
	return name
}

// atLeast goes before a peak that later events may exceed.
func (a deviceAdvice) atLeast() string {
	if a.recorded.Timeline.OpenEnd {
		return "at least "
	}
	return ""
}

func (a deviceAdvice) replayRow(r *allocator.Result, name string) []string {
	return []string{units.Bytes(r.PeakReserved), changeText(r.PeakReserved, a.Baseline.PeakReserved),
		units.Percent(max(r.PeakReserved-a.LowerBound, 0), r.PeakReserved), failsText(r.OOMs), units.Count(r.DeviceCalls()), name}
}

// alignRows makes a table whose first row is the header and last column text.
func alignRows(rows [][]string) string {
	alignments := slices.Repeat([]text.Align{right}, len(rows[0]))
	alignments[len(alignments)-1] = left
	table := newTable(alignments...)
	table.header(rows[0]...)
	for _, r := range rows[1:] {
		table.row(r...)
	}
	return table.String()
}

func widest(lines string) int {
	width := 0
	for line := range strings.Lines(lines) {
		width = max(width, units.Width(strings.TrimSuffix(line, "\n")))
	}
	return width
}

func failsText(n int) string {
	if n == 0 {
		return "-"
	}
	return units.Count(n)
}

// changeText is by what part now differs from before.
func changeText(now, before int64) string {
	switch {
	case now == before:
		return "="
	case now < before:
		return "-" + units.Percent(before-now, before)
	}
	return "+" + units.Percent(now-before, before)
}

func (u *ui) adviceHead(a deviceAdvice) string {
	switch {
	case a.recorded.Timeline.OpenEnd:
		return "open"
	case a.Best == nil:
		return "no fit"
	case a.Best == a.Baseline:
		return "keep"
	}
	return "set"
}

func (u *ui) adviceParts(a deviceAdvice) []string {
	switch {
	case a.recorded.Timeline.OpenEnd:
		return []string{"no recommendation"}
	case a.Best == nil:
		return []string{"more memory is needed, or fewer requests"}
	case a.Best == a.Baseline:
		return []string{confText(&a.Baseline.Settings)}
	}
	return []string{u.style(bold, units.Safe(environmentLine(a.Best.Settings.Name())))}
}

// fitTable says in how much memory the run fits.
func fitTable(a deviceAdvice) string {
	table := newTable(left, right, left, left)
	for i := range a.Fits {
		f := &a.Fits[i]
		name := ""
		if i == 0 {
			name = "fits in"
		}
		card := "no usual GPU"
		if f.Card > 0 {
			card = strconv.Itoa(f.Card) + " GB GPU"
		}
		table.row(pad(name, factIndent-columnGap), units.Bytes(f.Bytes), card, confText(&f.Settings))
	}
	return table.String()
}
