package input

import (
	"bufio"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Values of File.Encoding.
const (
	utf8BOM = "utf-8-bom"
	utf16LE = "utf-16le"
	utf16BE = "utf-16be"
)

// byteOrderMark finds the mark at the start of text and its size in bytes. The
// marks of UTF-16 are two bytes that any binary may begin with, so an ASCII
// character must follow.
func byteOrderMark(head []byte) (name string, size int) {
	switch {
	case len(head) >= 3 && string(head[:3]) == "\xef\xbb\xbf":
		return utf8BOM, 3
	case len(head) < 4:
		return "", 0
	case string(head[:2]) == "\xff\xfe" && head[2] != 0 && head[2] < utf8.RuneSelf && head[3] == 0:
		return utf16LE, 2
	case string(head[:2]) == "\xfe\xff" && head[3] != 0 && head[3] < utf8.RuneSelf && head[2] == 0:
		return utf16BE, 2
	}
	return "", 0
}

// utf16Reader turns UTF-16 into UTF-8. Lone surrogates and half a unit at the
// end become U+FFFD, as text of this kind is read for its numbers.
type utf16Reader struct {
	r    *bufio.Reader
	high int // the byte of a unit that holds its high bits
	next rune
	rest []byte // encoded but not delivered
	buf  [utf8.UTFMax]byte
}

const noRune = -1

func newUTF16(r io.Reader, bigEndian bool) *utf16Reader {
	u := &utf16Reader{r: bufio.NewReaderSize(r, layerBuffer), high: 1, next: noRune}
	if bigEndian {
		u.high = 0
	}
	return u
}

func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.rest) == 0 {
			var r rune
			if r, err = u.rune(); err != nil {
				break
			}
			u.rest = u.buf[:utf8.EncodeRune(u.buf[:], r)]
		}
		k := copy(p[n:], u.rest)
		n, u.rest = n+k, u.rest[k:]
	}
	if n > 0 {
		return n, nil // the reader below repeats its error
	}
	return 0, err
}

// rune decodes one character, of one unit or two.
func (u *utf16Reader) rune() (rune, error) {
	first, err := u.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	second, err := u.unit()
	if err != nil {
		return utf8.RuneError, nil
	}
	r := utf16.DecodeRune(first, second)
	if r == utf8.RuneError {
		u.next = second
	}
	return r, nil
}

func (u *utf16Reader) unit() (rune, error) {
	if r := u.next; r != noRune {
		u.next = noRune
		return r, nil
	}
	var b [2]byte
	n, err := io.ReadFull(u.r, b[:])
	if n == 1 && err == io.ErrUnexpectedEOF {
		return utf8.RuneError, nil
	}
	return rune(b[u.high])<<8 | rune(b[1-u.high]), err
}
