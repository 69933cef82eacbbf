package pickle

import (
	"fmt"
	"io"
)

// windowSize is the read unit; lookahead is what an opcode with fixed-size
// arguments may need, rounded up.
const (
	windowSize = 1 << 18
	lookahead  = 32
)

// A window is a sliding view of the input. buf[pos:end] is unread; behind end
// lie at least lookahead zero bytes once the input has ended, so that
// fixed-size arguments can be read first and checked against end after.
type window struct {
	r    io.Reader
	buf  []byte
	pos  int
	end  int
	base int64 // offset of buf[0] in the input
	done bool  // the reader is exhausted or failed
	err  error // why, nil for a plain end of file
	size int64 // decoded size if known, else -1
}

func newWindow(r io.Reader, size int64) *window {
	return &window{r: r, buf: make([]byte, windowSize+lookahead), size: size}
}

func (w *window) offset() int64 { return w.base + int64(w.pos) }

// fill makes at least n unread bytes available, or as many as the input has.
// The buffer grows only as bytes arrive.
func (w *window) fill(n int) {
	if w.pos > 0 {
		copy(w.buf, w.buf[w.pos:w.end])
		w.base += int64(w.pos)
		w.end -= w.pos
		w.pos = 0
	}
	for w.end < n && !w.done {
		if room := len(w.buf) - lookahead; w.end == room {
			w.buf = append(w.buf, make([]byte, room)...)
		}
		k, err := w.r.Read(w.buf[w.end : len(w.buf)-lookahead])
		w.end += k
		if err != nil {
			w.done = true
			if err != io.EOF {
				w.err = err
			}
		}
	}
	clear(w.buf[w.end:min(w.end+lookahead, len(w.buf))])
}

// bytes consumes n bytes and returns them; the result is valid until the next call.
func (w *window) bytes(n int) ([]byte, error) {
	if w.end-w.pos < n {
		w.fill(n)
		if w.end < n {
			return nil, w.early()
		}
	}
	b := w.buf[w.pos : w.pos+n]
	w.pos += n
	return b, nil
}

// skip consumes n bytes without keeping them.
func (w *window) skip(n int64) error {
	for n > 0 {
		if w.pos == w.end {
			w.fill(1)
			if w.pos == w.end {
				return w.early()
			}
		}
		k := min(n, int64(w.end-w.pos))
		w.pos += int(k)
		n -= k
	}
	return nil
}

// line consumes a text argument up to its newline, which is not returned.
func (w *window) line(most int) ([]byte, error) {
	for scanned := 0; ; {
		for i := w.pos + scanned; i < w.end; i++ {
			if i-w.pos > most {
				return nil, fmt.Errorf("a text argument is longer than the limit of %d bytes", most)
			}
			if w.buf[i] == '\n' {
				b := w.buf[w.pos:i]
				w.pos = i + 1
				return b, nil
			}
		}
		scanned = w.end - w.pos
		w.fill(scanned + 1)
		if w.end-w.pos == scanned {
			return nil, w.early()
		}
	}
}

// early is the error for an input that ends where more is needed.
func (w *window) early() error {
	if w.err != nil {
		return w.err
	}
	return errTruncated{}
}

// checkClaim refuses a length that the rest of the input cannot hold.
func (w *window) checkClaim(n uint64, limit uint64, what string) error {
	if n > limit {
		return fmt.Errorf("%s of %d bytes is over the limit of %d", what, n, limit)
	}
	if left := uint64(max(0, w.size-w.offset())); w.size >= 0 && n > left {
		return &claimError{what, n, left}
	}
	return nil
}
