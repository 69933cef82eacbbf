package input

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	// MaxNesting is how many compressions inside one another are undone. Two
	// occur (a .gz uploaded to a store that compresses again); more is a mistake.
	MaxNesting = 4

	// MaxWindow is the largest zstd window accepted, the 128 MiB of zstd --long=27.
	// The zstd program itself refuses more unless told otherwise.
	MaxWindow = 1 << 27
)

// format is one compression that can be undone.
type format struct {
	name   string
	detect func(head []byte) bool
	open   func(r io.Reader) (io.ReadCloser, error)
}

// formats are tried in this order; the one with the weakest mark comes last.
var formats = []format{
	{"gzip", prefix("\x1f\x8b\x08"), openGzip},
	{"zstd", looksZstd, openZstd},
	{"bzip2", looksBzip2, openBzip2},
	{"s2", prefix("\xff\x06\x00\x00S2sTwO"), openS2},
	{"snappy", prefix("\xff\x06\x00\x00sNaPpY"), openS2},
	{"zlib", looksZlib, openZlib},
}

func prefix(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// detectFormat finds the compression of a stream that begins with head.
func detectFormat(head []byte) (format, bool) {
	for _, f := range formats {
		if f.detect(head) {
			return f, true
		}
	}
	return format{}, false
}

// looksZstd accepts a data frame and a skippable one, which parallel writers
// put first (RFC 8878, section 3.1).
func looksZstd(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) {
		return true
	}
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// looksBzip2 wants the magic of a block or of the end too: BZh alone is text.
func looksBzip2(head []byte) bool {
	if len(head) < 10 || string(head[:3]) != "BZh" || head[3] < '1' || head[3] > '9' {
		return false
	}
	magic := string(head[4:10])
	return magic == "\x31\x41\x59\x26\x53\x59" || magic == "\x17\x72\x45\x38\x50\x90"
}

// looksZlib tries the stream out, as its header is two bytes that text may have
// ("x^2"): a third of a word of evidence is too little.
func looksZlib(head []byte) bool {
	if len(head) < 6 || head[0]&0x0f != 8 || head[0]>>4 > 7 || (int(head[0])<<8|int(head[1]))%31 != 0 || head[1]&0x20 != 0 {
		return false
	}
	r, err := zlib.NewReader(bytes.NewReader(head))
	if err != nil {
		return false
	}
	defer r.Close()
	n, err := io.ReadFull(r, make([]byte, 64))
	return n > 0 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF))
}

func openGzip(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }
func openZlib(r io.Reader) (io.ReadCloser, error) { return zlib.NewReader(r) }
func openS2(r io.Reader) (io.ReadCloser, error)   { return io.NopCloser(s2.NewReader(r)), nil }
func openBzip2(r io.Reader) (io.ReadCloser, error) {
	return io.NopCloser(bzip2.NewReader(r)), nil
}

// openZstd decodes on the goroutine that reads. The package's own read-ahead
// then overlaps it with the consumer; the decoder's own goroutines, measured on
// two cores, were slower both alone and under the read-ahead.
func openZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(MaxWindow),
		zstd.WithDecoderMaxMemory(MaxWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// layer is one compression being undone. It turns the decompressor's errors
// into StreamErrors, but leaves alone those of the stream below.
type layer struct {
	format string
	below  *counter
	buffer *bufio.Reader
	r      io.ReadCloser
}

// layerBuffer saves system calls: gzip and bzip2 read byte by byte.
const layerBuffer = 64 << 10

func newLayer(f format, r io.Reader) (*layer, error) {
	l := &layer{format: f.name, below: &counter{r: r}}
	l.buffer = bufio.NewReaderSize(l.below, layerBuffer)
	var err error
	if l.r, err = f.open(l.buffer); err != nil {
		return nil, l.explain(err)
	}
	return l, nil
}

func (l *layer) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && err != io.EOF {
		err = l.explain(err)
	}
	return n, err
}

func (l *layer) Close() error { return l.r.Close() }

func (l *layer) explain(err error) error {
	if l.below.err != nil {
		return l.below.err
	}
	// A header cut short is a plain EOF; s2 calls a chunk cut short corrupt.
	if err == io.EOF || errors.Is(err, s2.ErrCorrupt) && l.below.ended && l.buffer.Buffered() == 0 {
		err = io.ErrUnexpectedEOF
	}
	return &StreamError{Format: l.format, Offset: l.below.count() - int64(l.buffer.Buffered()), Err: err}
}

// counter counts the bytes read from r and remembers its failure. The count is
// atomic, as progress is asked for while the read-ahead runs.
type counter struct {
	r     io.Reader
	n     atomic.Int64
	err   error // other than io.EOF
	ended bool  // io.EOF was seen
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if err == io.EOF {
		c.ended = true
	} else if err != nil {
		c.err = err
	}
	return n, err
}

func (c *counter) count() int64 { return c.n.Load() }
