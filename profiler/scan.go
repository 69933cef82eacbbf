package profiler

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads JSON from a buffer, forgivingly: what kineto and its users
// have been seen to write is read around and noted. It works on what the buffer
// holds; when a value reaches beyond it, short is set and the caller fills the
// buffer and scans the value again.
type scanner struct {
	buf   []byte
	pos   int
	base  int64 // offset of buf[0] in the decoded file
	short bool  // the buffer ended inside a value
	final bool  // the buffer holds the rest of the file

	// strict reads an event again that could not be read: a quote then ends a
	// string only when what follows it goes on as an object does.
	strict bool

	quiet bool // words that JSON does not have are not noted

	// noteRepair is told of damage that was read around.
	noteRepair func(kind string, offset int64)
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// peek skips white space and returns the next byte, 0 at the end of the buffer.
func (s *scanner) peek() byte {
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		case 0:
			return 1 // a byte that nothing expects; 0 is the end
		default:
			return c
		}
	}
	s.short = true
	return 0
}

// next consumes c if it comes next.
func (s *scanner) next(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// key consumes the name of a member and the colon behind it.
func (s *scanner) key() ([]byte, bool) {
	k, ok := s.str()
	return k, ok && s.next(':')
}

// member consumes a string that is the value of a member. In strict mode quotes
// inside of it may stand before a comma or colon too.
func (s *scanner) member() ([]byte, bool) {
	if !s.strict || s.peek() != '"' {
		return s.str()
	}
	start := s.pos + 1
	for p := start; ; {
		i := bytes.IndexByte(s.buf[p:], '"')
		if i < 0 {
			s.short = true
			return nil, false
		}
		p += i + 1
		if escaped(s.buf[start : p-1]) {
			continue
		}
		const most = 64 << 10
		if s.endsMember(p) {
			s.pos = p
			return s.buf[start : p-1], !bytes.Contains(s.buf[start:p], []byte(`"ph"`)) // no part of the next event
		}
		if p-start > most {
			return nil, false
		}
		s.noteRepair(repairQuote, s.base+int64(p-1))
	}
}

// endsMember reports whether what follows p goes on as an object does behind a
// value: with a comma and a key, or with its end.
func (s *scanner) endsMember(p int) bool {
	rest := bytes.TrimLeft(s.buf[p:], " \n\r\t")
	if len(rest) == 0 {
		s.short = !s.final
		return s.final
	}
	switch rest[0] {
	case '}':
		rest = bytes.TrimLeft(rest[1:], " \n\r\t")
		return len(rest) == 0 || rest[0] == ',' || rest[0] == '}' || rest[0] == ']' || rest[0] == '{'
	case ',':
		rest = bytes.TrimLeft(rest[1:], " \n\r\t")
		if len(rest) == 0 || rest[0] != '"' {
			return false
		}
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 {
			return false
		}
		rest = bytes.TrimLeft(rest[end+2:], " \n\r\t")
		return len(rest) > 0 && rest[0] == ':'
	}
	return false
}

// str consumes a string and returns what stands between its quotes, escapes
// and all. A quote that nothing that may follow a string comes after is taken
// for part of it.
func (s *scanner) str() ([]byte, bool) {
	if s.peek() != '"' {
		return nil, false
	}
	start := s.pos + 1
	for p := start; ; {
		i := bytes.IndexByte(s.buf[p:], '"')
		if i < 0 {
			s.short = true
			return nil, false
		}
		p += i + 1
		if s.buf[p-2] == '\\' && p-2 >= start && escaped(s.buf[start:p-1]) {
			continue
		}
		switch s.after(p) {
		case ',', '}', ']', ':':
			s.pos = p
			return s.buf[start : p-1], true
		case 0:
			if !s.final {
				s.short = true
				return nil, false
			}
			s.pos = p
			return s.buf[start : p-1], true
		}
		s.noteRepair(repairQuote, s.base+int64(p-1))
	}
}

// escaped reports whether b ends in an odd number of backslashes.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// after returns the first byte from p on that is no white space, 0 at the end.
func (s *scanner) after(p int) byte {
	for ; p < len(s.buf); p++ {
		switch c := s.buf[p]; c {
		case ' ', '\n', '\t', '\r':
		case 0:
			return 1
		default:
			return c
		}
	}
	return 0
}

// bare consumes a number or a word (true, null, NaN, N/A …) up to what ends it.
func (s *scanner) bare() ([]byte, bool) {
	s.peek()
	start := s.pos
	for i := start; i < len(s.buf); i++ {
		switch s.buf[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t', ':', '"', '{', '[':
			if i == start {
				return nil, false
			}
			s.pos = i
			s.checkBare(start)
			return s.buf[start:i], true
		}
	}
	if s.final && start < len(s.buf) {
		s.pos = len(s.buf)
		return s.buf[start:], true
	}
	s.short = true
	return nil, false
}

// checkBare notes words that JSON does not have, such as NaN, -Infinity and N/A.
func (s *scanner) checkBare(start int) {
	c := s.buf[start]
	if c == '-' && start+1 < s.pos {
		c = s.buf[start+1]
	}
	if c-'0' <= 9 || s.quiet {
		return
	}
	switch string(s.buf[start:s.pos]) {
	case "true", "false", "null":
	default:
		s.noteRepair(repairNumber, s.base+int64(start))
	}
}

// token consumes a string or a bare word and returns its text.
func (s *scanner) token() ([]byte, bool) {
	if s.peek() == '"' {
		return s.member()
	}
	return s.bare()
}

// structural marks the bytes that matter while a container is passed over.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// skip consumes a value of any kind.
func (s *scanner) skip() bool {
	switch s.peek() {
	case '"':
		_, ok := s.str()
		return ok
	case '{', '[':
	case 0:
		return false
	default:
		_, ok := s.bare()
		return ok
	}
	depth := 0
	for i := s.pos; i < len(s.buf); i++ {
		c := s.buf[i]
		if !structural[c] {
			continue
		}
		switch c {
		case '"':
			s.pos = i
			if _, ok := s.str(); !ok {
				return false
			}
			i = s.pos - 1
		case '{', '[':
			depth++
		default:
			if depth--; depth == 0 {
				s.pos = i + 1
				return true
			}
		}
	}
	s.short = true
	return false
}

// raw consumes a value of any kind and returns its text.
func (s *scanner) raw() ([]byte, bool) {
	s.peek()
	start := s.pos
	if !s.skip() {
		return nil, false
	}
	return s.buf[start:s.pos], true
}

// unescape returns the text of a string. Escapes that JSON does not have stay
// as they are, and bytes that are not UTF-8 become U+FFFD; damaged reports it.
func unescape(b []byte) (text []byte, damaged bool) {
	if bytes.IndexByte(b, '\\') < 0 {
		if utf8.Valid(b) {
			return b, false
		}
		return bytes.ToValidUTF8(b, []byte("\uFFFD")), true
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch c := b[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, n := unicodeEscape(b[i-1:])
			if n == 0 {
				damaged = true
				out = append(out, '\\', 'u')
				continue
			}
			damaged = damaged || utf16.IsSurrogate(r)
			out = utf8.AppendRune(out, r) // half of a pair becomes U+FFFD
			i += n - 2
		default:
			damaged = true
			out = append(out, '\\', c)
		}
	}
	if !utf8.Valid(out) {
		return bytes.ToValidUTF8(out, []byte("\uFFFD")), true
	}
	return out, damaged
}

// unicodeEscape decodes \u and four hex digits or a pair of surrogates at the start of b, and
// returns how many bytes it takes; 0 when it is none.
func unicodeEscape(b []byte) (rune, int) {
	hex := func(b []byte) (rune, bool) {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		return rune(n), err == nil
	}
	r, ok := hex(b)
	if !ok {
		return 0, 0
	}
	if r >= 0xD800 && r < 0xDC00 {
		if low, ok := hex(b[6:]); ok && low >= 0xDC00 && low < 0xE000 {
			return (r-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12
		}
	}
	return r, 6
}

// integer reads a whole number, unsigned ones beyond 63 bits as their two's
// complement; a fraction is cut off.
func integer(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	i := 0
	if neg {
		i++
	}
	if i == len(b) {
		return 0, false
	}
	var n uint64
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			f, err := strconv.ParseFloat(string(b), 64)
			return int64(f), err == nil && math.Abs(f) < 1<<63
		}
		if n > (math.MaxUint64-9)/10 {
			u, err := strconv.ParseUint(string(b), 10, 64)
			return int64(u), err == nil
		}
		n = n*10 + uint64(c)
	}
	if neg {
		return -int64(n), true
	}
	return int64(n), true
}

// maxTime bounds times and durations, in ns, so that their sum is a number too.
// It is 146 years.
const maxTime = 1<<62 - 1

// time is micros within ±maxTime.
func (s *scanner) time(b []byte) (int64, bool) {
	ns, ok := micros(b)
	if ns > maxTime || ns < -maxTime {
		s.noteRepair(repairRange, s.offset()-int64(len(b)))
		ns = max(-maxTime, min(ns, maxTime))
	}
	return ns, ok
}

// micros reads a time in µs with any number of decimals as ns, exactly: a float
// has too few digits for times since the epoch. More than three decimals are cut.
func micros(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	i := 0
	if neg {
		i++
	}
	if i == len(b) {
		return 0, false
	}
	var n int64
	decimals := -1
	for ; i < len(b) && decimals < 3; i++ {
		c := b[i] - '0'
		switch {
		case b[i] == '.' && decimals < 0:
			decimals = 0
			continue
		case c > 9 || n > (math.MaxInt64-9)/10:
			return slowMicros(b)
		}
		n = n*10 + int64(c)
		if decimals >= 0 {
			decimals++
		}
	}
	for ; i < len(b); i++ {
		if b[i]-'0' > 9 {
			return slowMicros(b)
		}
	}
	for decimals = max(decimals, 0); decimals < 3; decimals++ {
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n *= 10
	}
	if neg {
		n = -n
	}
	return n, true
}

// slowMicros reads numbers with an exponent and other rare forms.
func slowMicros(b []byte) (int64, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= math.MaxInt64/1000 {
		return 0, false
	}
	return int64(math.Round(f * 1000)), true
}
