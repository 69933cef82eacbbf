package units

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Safe makes text from a stranger's file inert on a terminal and in a one-line
// message: control characters (so every ANSI sequence), line breaks, direction
// overrides, other invisible format characters, private-use characters and
// invalid UTF-8 become visible escapes such as \x1b, \n and \u202e. Everything
// printable stays, backslashes too, so Windows paths stay readable.
func Safe(s string) string {
	at := strings.IndexFunc(s, unsafeRune)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:at])
	for i := at; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else if unsafeRune(r) {
			writeEscape(&b, r)
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// unsafeRune reports whether r could act on a terminal or hide in it. The
// replacement character counts, as invalid UTF-8 reads as one.
func unsafeRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return r == utf8.RuneError || !unicode.IsGraphic(r)
}

func writeEscape(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == utf8.RuneError:
		b.WriteRune(r) // a real U+FFFD, written as such by whoever made the file
	case r < 0x100:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// cells measures text in terminal cells. Ambiguous characters count as one, so
// that output does not depend on the locale.
var cells = &runewidth.Condition{}

// Width is how many terminal cells s takes.
func Width(s string) int { return cells.StringWidth(s) }

// Ellipsis shortens s to at most width terminal cells by cutting its middle.
// The end gets two thirds of the room: in a path it tells files apart.
func Ellipsis(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	const mark = "…"
	if width <= 1 {
		return strings.Repeat(mark, max(width, 0))
	}
	head := (width - 1) / 3
	tail := width - 1 - head
	return cells.Truncate(s, head, "") + mark + lastCells(s, tail)
}

// lastCells is the longest end of s that takes at most width cells.
func lastCells(s string, width int) string {
	cut := len(s)
	for cut > 0 {
		_, n := utf8.DecodeLastRuneInString(s[:cut])
		if Width(s[cut-n:]) > width {
			break
		}
		cut -= n
	}
	return s[cut:]
}
