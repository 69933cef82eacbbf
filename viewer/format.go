package viewer

import (
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// tickText is a size as an axis label, without needless zeros: "1 GiB".
// The scripts print sizes the same way (assets/js/base.js).
func tickText(n int64) string {
	num, unit, _ := strings.Cut(units.Bytes(n), " ")
	if strings.Contains(num, ".") {
		num = strings.TrimRight(strings.TrimRight(num, "0"), ".")
	}
	return num + " " + unit
}

// sinceText prints a time since the first event.
func sinceText(us int64) string { return "+" + units.Duration(us) }

// plural prints a count with its noun: "1 event", "2 events".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return units.Count(n) + " " + noun + "s"
}

// joinAnd lists names as in a sentence: "a, b and c".
func joinAnd(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
