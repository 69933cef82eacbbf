package pickle

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unquote decodes the argument of STRING: a Python string literal in quotes.
func unquote(b []byte) ([]byte, error) {
	n := len(b)
	if n > 0 && b[n-1] == '\r' {
		n--
	}
	if n < 2 || b[0] != b[n-1] || b[0] != '\'' && b[0] != '"' {
		return nil, fmt.Errorf("a string is not in quotes")
	}
	b = b[1 : n-1]
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch c := b[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'x':
			x, err := strconv.ParseUint(string(b[i+1:min(i+3, len(b))]), 16, 8)
			if err != nil || i+3 > len(b) {
				return nil, fmt.Errorf("a string has a bad \\x escape")
			}
			out = append(out, byte(x))
			i += 2
		case 'a', 'b', 'f', 'v':
			out = append(out, "\a\b\f\v"[strings.IndexByte("abfv", c)])
		case '0', '1', '2', '3', '4', '5', '6', '7':
			x, n := 0, 0
			for ; n < 3 && i+n < len(b) && b[i+n] >= '0' && b[i+n] <= '7'; n++ {
				x = x<<3 | int(b[i+n]-'0')
			}
			out = append(out, byte(x))
			i += n - 1
		case '\\', '\'', '"':
			out = append(out, c)
		default:
			out = append(out, '\\', c)
		}
	}
	return out, nil
}

// decodeRawUnicode decodes the argument of UNICODE: Latin-1 with \u and \U
// escapes. As in Python's raw-unicode-escape, a backslash before any other
// character stands for itself, and so does that character.
func decodeRawUnicode(b []byte) ([]byte, error) {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		digits := 0
		if b[i] == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case 'u':
				digits = 4
			case 'U':
				digits = 8
			default:
				out = append(out, '\\')
				i++
			}
		}
		if digits == 0 {
			out = utf8.AppendRune(out, rune(b[i]))
			continue
		}
		if i+2+digits > len(b) {
			return nil, fmt.Errorf("a string has a short unicode escape")
		}
		x, err := strconv.ParseUint(string(b[i+2:i+2+digits]), 16, 32)
		if err != nil || x > utf8.MaxRune {
			return nil, fmt.Errorf("a string has a bad unicode escape")
		}
		out = utf8.AppendRune(out, rune(x))
		i += 1 + digits
	}
	return out, nil
}
