package trainlog

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// mostText is how long a text or number within JSON may be. The decoder holds all
// of it, and no log has one near that.
const mostText = 16 << 20

var errLongText = fmt.Errorf("a text or number of more than %d MiB", mostText>>20)

// newDecoder reads JSON as Python writes it.
func newDecoder(in io.Reader) *jsontext.Decoder {
	lax := &laxReader{in: in}
	d := jsontext.NewDecoder(lax, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	lax.done = d.InputOffset
	return d
}

// A laxReader turns the NaN, Infinity and -Infinity that Python's json module
// writes into empty texts of the same length, so that offsets stay true.
type laxReader struct {
	in   io.Reader
	done func() int64 // how much was made use of
	read int64
	err  error

	inText, escaped bool
	word            []byte // letters outside texts, and a sign before them, that may go on
	out             []byte // what Read has not delivered yet
	buf             [16 << 10]byte
}

var noNumbers = map[string]bool{"NaN": true, "Infinity": true, "-Infinity": true}

const longestNoNumber = len("-Infinity")

func (r *laxReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.read-r.done() > mostText {
			return 0, errLongText
		}
		n, err := r.in.Read(r.buf[:])
		r.read += int64(n)
		r.out = r.replace(r.out[:0], r.buf[:n])
		if r.err = err; err != nil {
			r.out = r.flush(r.out)
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// replace appends the text with what is no number replaced.
func (r *laxReader) replace(out, text []byte) []byte {
	for len(text) > 0 {
		if r.inText {
			n := r.textEnd(text)
			out, text = append(out, text[:n]...), text[n:]
			continue
		}
		c := text[0]
		text = text[1:]
		if (isLetter(c) || c == '-') && len(r.word) < longestNoNumber {
			r.word = append(r.word, c)
			continue
		}
		out = append(r.flush(out), c)
		r.inText = c == '"'
	}
	return out
}

// textEnd returns how much of some bytes is of the text that they begin in.
func (r *laxReader) textEnd(text []byte) int {
	for i := 0; i < len(text); i++ {
		if r.escaped {
			r.escaped = false
			continue
		}
		at := bytes.IndexAny(text[i:], `"\`)
		if at < 0 {
			break
		}
		i += at
		if text[i] == '"' {
			r.inText = false
			return i + 1
		}
		r.escaped = true
	}
	return len(text)
}

// flush appends the letters that were held back.
func (r *laxReader) flush(out []byte) []byte {
	if noNumbers[string(r.word)] {
		const empty = `""       `
		out = append(out, empty[:len(r.word)]...)
	} else {
		out = append(out, r.word...)
	}
	r.word = r.word[:0]
	return out
}
