package attribution

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// diffHeadlines compares the accounts of the two dumps and their peaks. Peaks
// are left out unless both histories have them. What the segments say is left
// out when the history of one was not read to its end: they are of another
// moment than what is compared, and so may their peak be.
func diffHeadlines(sides *[2]side) []Headline {
	a, b := sides[0].device.Stats(), sides[1].device.Stats()
	at, bt := sides[0].timeline, sides[1].timeline
	var out []Headline
	add := func(name, title string, before, after int64) {
		out = append(out, Headline{name, title, before, after, after - before})
	}
	if at.OpenEnd || bt.OpenEnd {
		return nil
	}
	if hasPeak(at) && hasPeak(bt) {
		add("peak_requested_bytes", "peak requested", at.Peak.Bytes, bt.Peak.Bytes)
		add("peak_reserved_bytes", "peak reserved", at.PeakReserved.Bytes, bt.PeakReserved.Bytes)
	}
	add("requested_bytes", "requested at the end", a.Requested, b.Requested)
	add("allocated_bytes", "allocated at the end", a.Allocated, b.Allocated)
	add("reserved_bytes", "reserved at the end", a.Reserved, b.Reserved)
	add("inactive_split_bytes", "inactive split at the end", a.InactiveSplit, b.InactiveSplit)
	add("rounding_waste_bytes", "rounding waste at the end", a.RoundingWaste, b.RoundingWaste)
	return out
}

func hasPeak(t *snapshot.Timeline) bool {
	return t.History != snapshot.HistoryNone && t.History != snapshot.HistoryStateOnly
}

// diffSettings lists the settings that differ, in order of their keys. A file
// that is older than the settings has none to compare.
func diffSettings(a, b snapshot.Settings) []SettingChange {
	if !a.Present || !b.Present {
		return nil
	}
	before, after := map[string]string{}, map[string]string{}
	for _, kv := range a.All {
		before[kv.Key] = kv.Value
	}
	for _, kv := range b.All {
		after[kv.Key] = kv.Value
	}
	var out []SettingChange
	for k, v := range before {
		if after[k] != v {
			out = append(out, SettingChange{k, v, after[k]})
		}
	}
	for k, v := range after {
		if _, ok := before[k]; !ok && v != "" {
			out = append(out, SettingChange{k, "", v})
		}
	}
	slices.SortFunc(out, func(x, y SettingChange) int { return cmp.Compare(x.Key, y.Key) })
	return out
}

const (
	summaryCategories = 4 // sentences
	summaryLines      = 3 // lines named in each
)

// summarizeDiff says which categories account for the change, and which lines
// for most of each.
func summarizeDiff(r *DiffResult, lines []DiffRow) []string {
	if r.Delta == 0 && !slices.ContainsFunc(r.Categories, func(c CategoryDelta) bool { return c.Delta != 0 }) {
		return []string{"the same amount of every category is alive"}
	}
	worth := max(abs(r.Delta), r.Before/10, r.After/10) / 100
	var out []string
	for _, c := range r.Categories {
		if len(out) == summaryCategories || c.Delta == 0 || abs(c.Delta) < worth && len(out) > 0 {
			break
		}
		text := fmt.Sprintf("%s %s (%s to %s)", words(c.Category), units.Signed(c.Delta), units.Bytes(c.Before), units.Bytes(c.After))
		for i, l := range linesOf(lines, c) {
			sep := ", "
			if i == 0 {
				sep = ": "
			}
			text += sep + placeText(&l) + " " + units.Signed(l.change[c.Category])
		}
		out = append(out, text)
	}
	return append(out, inputSentence(r)...)
}

// linesOf are the lines that changed most in a category, the way that it
// changed as a whole.
func linesOf(lines []DiffRow, c CategoryDelta) []DiffRow {
	var out []DiffRow
	for _, l := range lines {
		if n := l.change[c.Category]; n != 0 && (n < 0) == (c.Delta < 0) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b DiffRow) int {
		return cmp.Compare(abs(b.change[c.Category]), abs(a.change[c.Category]))
	})
	return out[:min(len(out), summaryLines)]
}

// inputSentence tells that the batches differ, since activations grow with
// them: what another setting saved shows only in proportion.
func inputSentence(r *DiffResult) []string {
	var input, activation CategoryDelta
	for _, c := range r.Categories {
		switch c.Category {
		case Input:
			input = c
		case Activation:
			activation = c
		}
	}
	if input.Before <= 0 || input.After <= 0 || activation.Before <= 0 {
		return nil
	}
	times := float64(input.After) / float64(input.Before)
	if times > 0.9 && times < 1.1 {
		return nil
	}
	per := float64(activation.After) / times / float64(activation.Before)
	return []string{fmt.Sprintf("the inputs are %.3g times as large (%s to %s): in proportion to them, activations changed by %+.0f %%",
		times, units.Bytes(input.Before), units.Bytes(input.After), 100*(per-1))}
}

// placeText is a place in few words: the file's name, not its folder.
func placeText(r *DiffRow) string {
	if r.File == "" {
		return units.Safe(r.Function)
	}
	text := units.Safe(baseName(r.File))
	if r.Line > 0 {
		text += fmt.Sprintf(":%d", r.Line)
	}
	return text
}
