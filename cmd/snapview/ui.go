package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/snapview/snapview/internal/units"
	"golang.org/x/term"
)

// The rules of output:
//
//   - What was asked for goes to stdout; progress, notes and errors go to
//     stderr. Piping stdout never loses or gains a line.
//   - Errors and notes are one line, "snapview: FILE: what: why; what to do",
//     lower case, no full stop.
//   - File names, functions and metadata come from a stranger's file: they pass
//     units.Safe before they reach a terminal, and JSON escapes the same runes.
//   - Colour only marks what the words already say. It is used when stdout is
//     a terminal, NO_COLOR is unset or empty and TERM is not "dumb";
//     --color=always or never decides otherwise.
//   - A progress bar shows only when stderr is a terminal and the work takes
//     over a second, and leaves nothing behind.
//   - Lines fit the terminal. Where there is none they fit $COLUMNS, or 100.
//     Paths lose folders from the left, words that only explain are dropped,
//     and lists of values break between two of them. No value is ever cut.

// Widths of text output in columns.
const (
	defaultWidth = 100
	minWidth     = 60
	maxWidth     = 160 // beyond this a row is hard to follow by eye
)

// A ui is where and how a command writes.
type ui struct {
	in       io.Reader
	out, err io.Writer
	colour   bool
	width    int
}

func newUI(in io.Reader, out, err io.Writer, colour string) (*ui, error) {
	u := &ui{in: in, out: out, err: err, width: textWidth(out)}
	switch colour {
	case "auto":
		u.colour = isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case "always":
		u.colour = true
	case "never":
	default:
		return nil, usagef("--color %s: not auto, always or never", colour)
	}
	return u, nil
}

// note tells the user something about a file that is not the answer itself.
func (u *ui) note(name, text string) {
	fmt.Fprintf(u.err, "snapview: %s: note: %s\n", units.Safe(displayName(name)), units.Safe(text))
}

// Styles as terminal attributes (SGR parameters).
const (
	bold  = "1"
	faint = "2"
	alarm = "1;31"
)

// style marks text for the terminal when colour is on.
func (u *ui) style(attributes, text string) string {
	if !u.colour || text == "" {
		return text
	}
	return "\x1b[" + attributes + "m" + text + "\x1b[0m"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// textWidth returns the columns that lines written to w may take.
func textWidth(w io.Writer) int {
	width := defaultWidth
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return max(columns, minWidth)
	}
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			width = min(columns, maxWidth)
		}
	}
	return max(width, minWidth)
}

// plural returns "1 row" or "5 rows", the number grouped.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return units.Count(n) + " " + noun + "s"
}
