package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/snapview/snapview/internal/units"
)

// Reasons why a file cannot be opened, for errors.Is. A missing file is
// fs.ErrNotExist and a forbidden one fs.ErrPermission, as everywhere in Go.
var (
	ErrNoName     = errors.New("no file named; give a path, or - for standard input")
	ErrEmpty      = errors.New("empty: nothing was written to it; make the capture again")
	ErrDirectory  = errors.New("a directory, not a snapshot file; name one file in it")
	ErrNotRegular = errors.New("a device or socket, not a file; name a file, or - for standard input")
	ErrTerminal   = errors.New("a terminal, not a file; name a file, or pipe one in")
	ErrNoWriter   = errors.New("a named pipe that nobody writes to; pipe the data in and name -")
	ErrNesting    = fmt.Errorf("compressed more than %d times over; unpack it first", MaxNesting)
	ErrNoReopen   = errors.New("cannot be read a second time; save it to a file and name that")
)

// OpenError says which file could not be opened and why. Its text begins with
// the name, made safe for a terminal.
type OpenError struct {
	Name string
	Err  error
}

func (e *OpenError) Error() string { return units.Safe(e.Name) + ": " + e.Err.Error() }
func (e *OpenError) Unwrap() error { return e.Err }

// openError drops what the operating system's error repeats: the operation and the path.
func openError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = reason{"no such file; check the path", err}
	case errors.Is(err, fs.ErrPermission):
		err = reason{"permission denied; check who may read it", err}
	}
	return &OpenError{Name: name, Err: err}
}

// reason gives an error a text of its own.
type reason struct {
	text string
	err  error
}

func (r reason) Error() string { return r.text }
func (r reason) Unwrap() error { return r.err }

// StreamError is damage in a compressed stream, found while reading. What could
// be decompressed before it has been delivered. It unwraps to
// io.ErrUnexpectedEOF when the stream is cut short, else to the error of the
// decompressor.
type StreamError struct {
	Format string // "gzip", "zstd", …
	// Offset counts compressed bytes. A stream that ends early has Offset bytes;
	// other damage lies at or before Offset, as decompressors read ahead.
	Offset int64
	Err    error
}

func (e *StreamError) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("%s stream ends early at compressed byte %d", e.Format, e.Offset)
	}
	if errors.Is(e.Err, zstd.ErrWindowSizeExceeded) || errors.Is(e.Err, zstd.ErrDecoderSizeExceeded) {
		return fmt.Sprintf("%s stream needs a window of more than %s; unpack it with zstd -d --long=31", e.Format, units.Bytes(MaxWindow))
	}
	return fmt.Sprintf("%s stream is damaged at or before compressed byte %d: %s", e.Format, e.Offset, e.text())
}

func (e *StreamError) Unwrap() error { return e.Err }

// text is the decompressor's message without its package name.
func (e *StreamError) text() string {
	text := e.Err.Error()
	for _, name := range []string{"gzip: ", "zlib: ", "flate: ", "s2: ", "bzip2 data invalid: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}
