package attribution

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// nameToken is a word or a number of a file's name, or a time of day in it.
type nameToken struct {
	text string // lower case
	sep  string // what stands before it: "" when it follows at once, "/" where a folder ends
	kind tokenKind
	num  int // value of a number
}

type tokenKind uint8

const (
	wordToken tokenKind = iota
	numberToken
	timeToken // a date, a time or both; its text sorts by time within one form
	nodeToken // an IP address
)

// maxDigits bounds what counts as a number: ten digits are a time since the
// epoch, and nobody has as many ranks.
const maxDigits = 9

// formatWords are the endings of files, which say nothing about their content.
var formatWords = []string{"pickle", "pkl", "pt", "json", "gz", "gzip", "zst", "zstd", "bz2", "xz", "lz4", "sz", "s2", "snappy"}

// nameTokens takes a path apart. Folders are separated by slashes or backslashes.
func nameTokens(path string) []nameToken {
	var out []nameToken
	for i, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		tokens := lexName(part)
		for len(tokens) > 0 && tokens[len(tokens)-1].sep == "." && slices.Contains(formatWords, tokens[len(tokens)-1].text) {
			tokens = tokens[:len(tokens)-1]
		}
		if i > 0 && len(tokens) > 0 {
			tokens[0].sep = "/"
		}
		out = append(out, foldTimes(foldOpaque(tokens))...)
	}
	return out
}

// lexName splits a name where letters, digits and other characters meet.
func lexName(name string) []nameToken {
	var out []nameToken
	sep, from := "", 0
	kind := func(r rune) int {
		switch {
		case r >= '0' && r <= '9':
			return 1
		case unicode.IsLetter(r):
			return 2
		}
		return 0
	}
	runes := []rune(strings.ToLower(name))
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && kind(runes[i]) == kind(runes[from]) {
			continue
		}
		text := string(runes[from:i])
		switch kind(runes[from]) {
		case 0:
			sep += text
		case 1:
			t := nameToken{text: text, sep: sep, kind: numberToken}
			t.num, _ = strconv.Atoi(text[max(0, len(text)-maxDigits):])
			out, sep = append(out, t), ""
		case 2:
			out, sep = append(out, nameToken{text: text, sep: sep}), ""
		}
		from = i
	}
	return out
}

// foldOpaque makes one word of a run such as "a3f9c0", where letters and digits
// mix without meaning: an identifier rather than a word with its number.
func foldOpaque(tokens []nameToken) []nameToken {
	var out []nameToken
	for from := 0; from < len(tokens); {
		to := from + 1
		for to < len(tokens) && tokens[to].sep == "" {
			to++
		}
		run := tokens[from:to]
		if len(run) > 2 && !allKnown(run) {
			joined := nameToken{sep: run[0].sep}
			for _, t := range run {
				joined.text += t.text
			}
			run = []nameToken{joined}
		}
		out = append(out, run...)
		from = to
	}
	return out
}

func allKnown(run []nameToken) bool {
	for _, t := range run {
		if t.kind == wordToken && labels[t.text] == noLabel && t.text != "of" && t.text != "t" && t.text != "time" {
			return false
		}
	}
	return true
}

var months = strings.Fields(`jan feb mar apr may jun jul aug sep oct nov dec
	january february march april june july august september october november december`)

// foldTimes makes one token of each date and time: of seconds since the epoch
// (1758551300.15), of 2025-09-22_14-31-40, 20250922_143140 and of the
// Sep_22_14_31_40 of PyTorch's tutorials. A number behind one stays a number.
func foldTimes(tokens []nameToken) []nameToken {
	var out []nameToken
	for i := 0; i < len(tokens); {
		n, kind := timeLength(tokens[i:])
		if n == 0 {
			out = append(out, tokens[i])
			i++
			continue
		}
		t := nameToken{sep: tokens[i].sep, kind: kind}
		for j, part := range tokens[i : i+n] {
			if j > 0 {
				t.text += part.sep
			}
			t.text += part.text
		}
		out = append(out, t)
		i += n
	}
	return out
}

// timeLength is how many tokens at the front are a time, 0 for none.
func timeLength(t []nameToken) (int, tokenKind) {
	switch first := t[0]; {
	case isNumber(t, 0) && len(first.text) > maxDigits:
		n := 1
		if isNumber(t, 1) && t[1].sep == "." {
			n++
		}
		return n, timeToken
	case isAddress(t) && t[1].sep == ".":
		return 4, nodeToken
	case first.text == "ip" && isAddress(t[1:]): // ip-10-0-1-5, as clouds name hosts
		return 5, nodeToken
	case isNumber(t, 0) && len(first.text) == 4 && isYear(first.num) && between(t, 1, 1, 12) && between(t, 2, 1, 31) && t[1].sep == t[2].sep:
		return 3 + clockLength(t[3:]), timeToken
	case isNumber(t, 0) && len(first.text) == 8 && isYear(first.num/10000) && first.num/100%100 <= 12 && first.num%100 <= 31:
		return 1 + clockLength(t[1:]), timeToken
	case slices.Contains(months, first.text) && between(t, 1, 1, 31) && between(t, 2, 0, 23) && between(t, 3, 0, 59) && between(t, 4, 0, 60):
		return 5, timeToken
	}
	return 0, wordToken
}

// clockLength is how many tokens behind a date are its time of day: 143140 with
// a fraction, or groups of two digits with one separator.
func clockLength(t []nameToken) int {
	n := 0
	if len(t) > 1 && t[0].text == "t" && isNumber(t, 1) { // ISO 8601
		n, t = 1, t[1:]
	}
	if !isNumber(t, 0) || t[0].sep == "/" {
		return 0
	}
	if l := len(t[0].text); l == 6 || l == 4 && t[0].num/100 < 24 && t[0].num%100 < 60 {
		if n++; l == 6 && isNumber(t, 1) && (t[1].sep == "." || len(t[1].text) == 6) {
			n++
		}
		return n
	}
	if !between(t, 0, 0, 23) || !between(t, 1, 0, 59) {
		return 0
	}
	n += 2
	if between(t, 2, 0, 60) && t[2].sep == t[1].sep {
		n++
		if isNumber(t, 3) && len(t[3].text) == 6 { // microseconds
			n++
		}
	}
	return n
}

func isNumber(t []nameToken, i int) bool { return i < len(t) && t[i].kind == numberToken }

// between reports whether token i is a group of one or two digits in a range.
// Behind the first, clocks and dates have two digits and a separator.
func between(t []nameToken, i, low, high int) bool {
	return isNumber(t, i) && len(t[i].text) == 2 && t[i].num >= low && t[i].num <= high && (i == 0 || t[i].sep != "" && t[i].sep != "/")
}

func isYear(n int) bool { return n >= 1990 && n < 2100 }

// isAddress reports whether the next four tokens are numbers of an IPv4 address.
func isAddress(t []nameToken) bool {
	for i := range 4 {
		if !isNumber(t, i) || len(t[i].text) > 3 || t[i].num > 255 || i > 0 && t[i].sep != t[1].sep {
			return false
		}
	}
	return true
}
