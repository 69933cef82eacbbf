package trainlog

import "strings"

// leadingAmount reads the number at the start of text and the word behind it,
// which may be its unit: "9211 MiB". whole says that there is nothing else.
func leadingAmount(text string) (value float64, digits int, unit string, whole, ok bool) {
	if text == "" || !isDigit(text[0]) && !startsNumber(text, 0) {
		return 0, 0, "", false, false
	}
	value, digits, end := scanNumber(text, 0)
	rest := strings.TrimLeft(text[end:], " ")
	after := wordEnd(rest, 0)
	return value, digits, rest[:after], after == len(rest), true
}

// plainNumber reads text that is a number and nothing else.
func plainNumber(text string) (float64, bool) {
	v, _, unit, whole, ok := leadingAmount(text)
	return v, ok && whole && unit == ""
}
