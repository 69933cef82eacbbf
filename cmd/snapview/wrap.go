package main

import (
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// wrap joins parts into lines of at most width columns. A part is never
// broken, as it may hold a number or a name to copy, so a long one stands alone
// on a longer line. Space at the ends of a line is dropped.
func wrap(parts []string, width int) []string {
	var lines []string
	line := ""
	for _, part := range parts {
		if line != "" && units.Width(strings.TrimRight(line+part, " ")) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = strings.TrimLeft(part, " ")
			continue
		}
		line += part
	}
	return append(lines, strings.TrimRight(line, " "))
}

// afterCommas splits a list of settings behind its commas, where a line may end.
func afterCommas(s string) []string { return strings.SplitAfter(s, ",") }

// shellWord quotes a file name so that a command can be copied, if it must be.
func shellWord(name string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./+=:,@%", r)
	}
	if strings.TrimFunc(name, safe) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
