package viewer

import (
	"fmt"
	"unicode/utf8"

	"github.com/snapview/snapview/internal/units"
)

// Limits on text from the input. Names are for reading: what is longer than
// maxName is cut, and when a report has used up its budget (a file with
// thousands of long, different names) every further name is cut to shortName.
const (
	maxName   = 240 // bytes of one name
	shortName = 32
	maxValue  = 2000 // bytes of a setting, warning or other sentence
)

// texts hands out text that is safe to show and bounded in sum.
type texts struct{ left int }

// name makes a file, function or annotation name presentable.
func (t *texts) name(s string) string { return t.take(s, maxName) }

// value makes a longer text presentable: a setting or a warning.
func (t *texts) value(s string) string { return t.take(s, maxValue) }

func (t *texts) take(s string, limit int) string {
	if t.left <= 0 {
		limit = shortName
	}
	s = clean(s, limit)
	t.left -= escapedLen(s)
	return s
}

// escapedLen bounds the bytes that s takes in HTML or in JSON inside a script.
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '<', '>', '&', '\'', '"', '+', '\\':
			n += 5
		}
	}
	return n
}

// clean shortens s to about limit bytes (keeping its end, where a path says
// most, and saying how much was left out), replaces invalid UTF-8 and spells
// out control characters and the marks that reorder text, so that a name shows
// what it is.
func clean(s string, limit int) string {
	if plain(s) && len(s) <= limit {
		return s
	}
	head, tail := s, ""
	if len(s) > limit {
		keep := limit / 2
		head, tail = s[:keep], s[len(s)-keep:]
		// Do not cut inside a character.
		for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.ValidString(head[max(0, len(head)-utf8.UTFMax):]); i++ {
			head = head[:len(head)-1]
		}
		for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
			tail = tail[1:]
		}
	}
	if len(s) <= limit {
		return units.Safe(s)
	}
	return fmt.Sprintf("%s…[%s left out]…%s", units.Safe(head), units.Exact(int64(len(s)-len(head)-len(tail))), units.Safe(tail))
}

// plain reports whether s is printable ASCII, the usual case.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
