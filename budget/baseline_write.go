package budget

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// baselineVersion is the version of the file that Write writes and
// ParseBaseline reads.
const baselineVersion = "1"

// BaselineHead is how a baseline file begins.
const BaselineHead = "# snapview baseline"

// Write writes the baseline as YAML that is the same for the same captures, line
// by line, with sizes a person can read beside the bytes.
func (b *Baseline) Write(w io.Writer) error {
	out := &baselineWriter{bufio.NewWriter(w)}
	out.line(0, BaselineHead+": what these captures need, in bytes. Judge later ones against it with")
	out.line(0, "# snapview check FILE --baseline THIS-FILE; add --update to write it anew.")
	out.line(0, "version: "+baselineVersion)
	out.line(0, "runs:"+emptyList(len(b.Runs)))
	for i := range b.Runs {
		r := &b.Runs[i]
		out.line(0, "- file: "+quoted(r.Name))
		out.line(1, "kind: "+r.Kind)
		out.line(1, "devices:"+emptyList(len(r.Devices)))
		for j := range r.Devices {
			out.device(&r.Devices[j])
		}
	}
	return out.w.Flush()
}

// emptyList is the value of a list without items, which else follow.
func emptyList(n int) string {
	if n == 0 {
		return " []"
	}
	return ""
}

// emptyMap is likewise the value of a mapping without keys.
func emptyMap(n int) string {
	if n == 0 {
		return " {}"
	}
	return ""
}

type baselineWriter struct{ w *bufio.Writer }

// line writes a line at a depth; its error stays in the bufio.Writer.
func (b *baselineWriter) line(depth int, text string) {
	fmt.Fprintf(b.w, "%*s%s\n", 2*depth, "", text)
}

// size writes a number of bytes with what it is for a reader.
func (b *baselineWriter) size(depth int, key string, bytes int64) {
	b.line(depth, fmt.Sprintf("%-38s # %s", key+": "+strconv.FormatInt(bytes, 10), units.Bytes(bytes)))
}

func (b *baselineWriter) device(d *BaselineDevice) {
	b.line(1, "- device: "+d.ID)
	if d.History != "" {
		b.line(2, "history: "+d.History)
	}
	if d.Settings != "" {
		b.line(2, "settings: "+quoted(d.Settings))
	}
	b.line(2, "stats:"+emptyMap(len(d.Numbers)))
	for _, s := range gateStats {
		n, ok := d.Numbers[s.name]
		switch {
		case !ok:
		case s.unit == unitBytes:
			b.size(3, s.name, n)
		default:
			b.line(3, s.name+": "+strconv.FormatInt(n, 10))
		}
	}
	b.line(2, "categories:"+emptyMap(len(d.Totals)))
	for _, at := range [...]string{atPeak, atEnd} {
		if totals, ok := d.Totals[at]; ok {
			b.totals(at, totals)
		}
	}
	b.line(2, "# Requested bytes of each line at the moment, most first.")
	b.line(2, "moment: "+d.Moment)
	b.line(2, "lines:"+emptyList(len(d.Places)))
	for _, p := range d.Places {
		categories := sortedCategories(p.Totals)
		if len(categories) == 0 {
			categories = []attribution.Category{attribution.Unknown} // it is a line all the same
		}
		for _, c := range categories {
			where := ""
			if p.File != "" {
				where = fmt.Sprintf("file: %s, line: %d, ", quoted(p.File), p.Line)
			}
			category := ""
			if c != attribution.Unknown {
				category = "category: " + c.String() + ", "
			}
			b.line(2, fmt.Sprintf("- {%sfunction: %s, %sbytes: %d} # %s", where, quoted(p.Function), category, p.Totals[c], units.Bytes(p.Totals[c])))
		}
	}
	if d.Rest.Lines > 0 {
		b.line(2, fmt.Sprintf("not_listed: {lines: %d, bytes: %d, largest: %d}", d.Rest.Lines, d.Rest.Bytes, d.Rest.Largest))
	}
}

func (b *baselineWriter) totals(at string, totals attribution.Totals) {
	b.line(3, at+":"+emptyMap(len(sortedCategories(totals))))
	for _, c := range attribution.Categories() {
		if totals[c] != 0 {
			b.size(4, c.String(), totals[c])
		}
	}
}

// sortedCategories are those with bytes, most first.
func sortedCategories(t attribution.Totals) []attribution.Category {
	var list []attribution.Category
	for _, c := range attribution.Categories() {
		if t[c] != 0 {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b attribution.Category) int { return int(min(max(t[b]-t[a], -1), 1)) })
	return list
}

// quoted is text as YAML and JSON both write it, whatever it holds. Runes that
// a terminal could act on are escaped.
func quoted(s string) string {
	text, _ := json.Marshal(units.Safe(s)) // a string cannot fail
	return string(text)
}
