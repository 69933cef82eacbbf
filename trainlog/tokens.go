package trainlog

import (
	"math"
	"strconv"
	"strings"
)

// A token is a word, a number or a mark of a line.
type token struct {
	start, end int
	kind       tokenKind
	mark       byte    // of a mark
	value      float64 // of a number
	digits     int     // of a number, after the point
	spaced     bool    // there is space before it
	taken      bool    // it is part of a figure already
	word       *wordInfo
}

type tokenKind uint8

const (
	word tokenKind = iota
	number
	mark
)

// maxTokens bounds the work on one line.
const maxTokens = 4096

// split splits a line. Numbers within words (cuda0, fp16) and behind a hyphen
// within one (A100-80GB) are part of them.
func (v *vocabulary) split(line string, list []token) []token {
	spaced := true
	for i := 0; i < len(line) && len(list) < maxTokens; {
		c := line[i]
		t := token{start: i, spaced: spaced}
		spaced = false
		switch {
		case c == ' ' || c == '\t':
			spaced = true
			i++
			continue
		case isDigit(c) || (c == '-' || c == '+' || c == '.') && startsNumber(line, i):
			if inWord(line, i) {
				i = wordEnd(line, i+1)
				t.end, t.word = i, &noWord
				break
			}
			t.kind = number
			t.value, t.digits, i = scanNumber(line, i)
			t.end = i
		case isLetter(c):
			i = wordEnd(line, i)
			t.end, t.word = i, v.look(line[t.start:i])
		default:
			t.kind, t.mark = mark, c
			i++
			t.end = i
		}
		list = append(list, t)
	}
	return list
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter takes all of UTF-8's upper half for letters.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// startsNumber reports whether a sign or point at i begins a number.
func startsNumber(line string, i int) bool {
	if i > 0 && (isDigit(line[i-1]) || line[i-1] == '.') {
		return false
	}
	i++
	if i < len(line) && line[i] == '.' {
		i++
	}
	return i < len(line) && isDigit(line[i])
}

// inWord reports whether the number at i belongs to the word before it.
func inWord(line string, i int) bool {
	return line[i] == '-' && i > 0 && isLetter(line[i-1])
}

func wordEnd(line string, i int) int {
	for i < len(line) && (isLetter(line[i]) || isDigit(line[i])) {
		i++
	}
	return i
}

// scanNumber reads a number such as 12, -1,234.5 or 1.5e-05, and counts its digits
// after the point.
func scanNumber(line string, i int) (value float64, digits, end int) {
	start := i
	if line[i] == '-' || line[i] == '+' {
		i++
	}
	from := i
	grouped := false
	for i < len(line) && isDigit(line[i]) {
		i++
	}
	for i-from <= 3 && thousands(line, i) || grouped && thousands(line, i) {
		i += 4
		grouped = true
	}
	if i < len(line) && line[i] == '.' && i+1 < len(line) && isDigit(line[i+1]) {
		i++
		for i < len(line) && isDigit(line[i]) {
			i++
			digits++
		}
	}
	if e := exponentEnd(line, i); e > i {
		i, digits = e, 0
		digits = exactDigits // what is printed with an exponent is printed in full
	}
	text := line[start:i]
	if grouped {
		text = strings.ReplaceAll(text, ",", "")
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		value = math.NaN()
	}
	return value, digits, i
}

// thousands reports whether a comma and exactly three digits stand at i.
func thousands(line string, i int) bool {
	return i+3 < len(line) && line[i] == ',' && isDigit(line[i+1]) && isDigit(line[i+2]) && isDigit(line[i+3]) &&
		(i+4 == len(line) || !isDigit(line[i+4]))
}

func exponentEnd(line string, i int) int {
	if i >= len(line) || line[i]|0x20 != 'e' {
		return i
	}
	j := i + 1
	if j < len(line) && (line[j] == '-' || line[j] == '+') {
		j++
	}
	if j >= len(line) || !isDigit(line[j]) {
		return i
	}
	for j < len(line) && isDigit(line[j]) {
		j++
	}
	return j
}
