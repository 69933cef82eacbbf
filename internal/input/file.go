package input

import (
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// HeadSize is how many decoded bytes a file is recognised by.
const HeadSize = 64 << 10

// StandardInput is the name that files read from standard input go by.
const StandardInput = "standard input"

// File is one opened input: a stream of plain bytes from the start, and what is
// known about it. Read errors do not name the file; that is up to the caller.
// A File is read by one goroutine; Close and ReadRaw may be called by another.
type File struct {
	Name        string   // as given; StandardInput for "-"
	Kind        Kind     // what the content is
	Compression []string // undone compressions, outermost first
	Encoding    string   // "" or the encoding that a byte order mark told: "utf-8-bom", "utf-16le", "utf-16be"
	Head        []byte   // the first decoded bytes, at most HeadSize; not to be changed
	Size        int64    // raw size in bytes, -1 when unknown

	source source
	raw    *counter
	closer func() error // of the raw stream; nil when it is the caller's and may block
	stream io.Reader
	ahead  *ahead // nil for plain files
	layers []*layer
	closed atomic.Bool
}

// Open opens the file at path; "-" is standard input. Compression is undone, a
// byte order mark is removed and UTF-16 becomes UTF-8. Errors are *OpenError.
func Open(path string) (*File, error) {
	if path == "-" {
		return New(StandardInput, os.Stdin)
	}
	s, err := sourceOfPath(path)
	if err != nil {
		return nil, openError(path, err)
	}
	return open(path, s)
}

// New is Open for a stream, which Close leaves open. A regular *os.File is read
// from its present offset, without moving it.
func New(name string, r io.Reader) (*File, error) {
	s, err := sourceOfReader(r)
	if err != nil {
		return nil, openError(name, err)
	}
	return open(name, s)
}

func open(name string, s source) (*File, error) {
	h, err := s.open()
	if err != nil {
		return nil, openError(name, err)
	}
	f := &File{Name: name, Size: h.size, source: s, raw: &counter{r: h}, closer: h.close}
	if err := f.start(h.empty); err != nil {
		f.Close()
		return nil, openError(name, err)
	}
	return f, nil
}

// start reads as far as it takes to know what the file is.
func (f *File) start(ifEmpty error) error {
	top, err := peek(f.raw, ifEmpty)
	if err != nil {
		return err
	}
	if top, err = f.decompress(top); err != nil {
		return err
	}
	if top, err = f.decode(top); err != nil {
		return err
	}
	f.Head = top.head
	f.Kind = Recognise(f.Head)
	f.stream = top
	if (len(f.Compression) > 0 || f.Encoding != "") && top.err == nil {
		f.ahead = startAhead(top, f.closeLayers)
		f.stream = f.ahead
	}
	return nil
}

// decompress puts a decompressor on top for each compression found.
func (f *File) decompress(top *peeked) (*peeked, error) {
	for {
		format, ok := detectFormat(top.head)
		if !ok {
			return top, nil
		}
		if len(f.Compression) == MaxNesting {
			return nil, ErrNesting
		}
		l, err := newLayer(format, top)
		if err != nil {
			return nil, err
		}
		f.layers = append(f.layers, l)
		f.Compression = append(f.Compression, format.name)
		if top, err = peek(l, reason{"empty once decompressed (" + format.name + "); make the capture again", ErrEmpty}); err != nil {
			return nil, err
		}
	}
}

// decode takes a byte order mark off, and turns UTF-16, which PowerShell writes
// when output is redirected, into UTF-8.
func (f *File) decode(top *peeked) (*peeked, error) {
	name, size := byteOrderMark(top.head)
	if size == 0 {
		return top, nil
	}
	f.Encoding = name
	if _, err := io.CopyN(io.Discard, top, int64(size)); err != nil {
		return nil, err
	}
	var r io.Reader = top
	if name != utf8BOM {
		r = newUTF16(top, name == utf16BE)
	}
	return peek(r, reason{"empty but for a byte order mark; make the capture again", ErrEmpty})
}

// Read reads decoded bytes. Damage in a compressed stream is a *StreamError,
// delivered after all that could be decompressed.
func (f *File) Read(p []byte) (int, error) {
	if f.closed.Load() {
		return 0, fs.ErrClosed
	}
	return f.stream.Read(p)
}

// ReadRaw is how many raw bytes have been read so far, for a progress bar over Size.
func (f *File) ReadRaw() int64 { return f.raw.count() }

// Reopen opens the same input from its first byte, for a second pass; both
// Files are then to be closed. It fails with ErrNoReopen after Forget.
func (f *File) Reopen() (*File, error) { return open(f.Name, f.source) }

// Forget says that Reopen will not be called, so that a stream's raw bytes need
// not stay in memory. Files at an earlier place of the same stream must be closed.
func (f *File) Forget() { f.source.forget() }

// Close ends the read-ahead and closes the file. A stream that belongs to the
// caller stays open; a read of it that is under way is not waited for.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	if f.ahead != nil {
		f.ahead.halt()
	}
	var err error
	if f.closer != nil {
		err = f.closer()
	}
	switch {
	case f.ahead == nil:
		f.closeLayers()
	case f.closer != nil:
		<-f.ahead.done
	}
	return err
}

func (f *File) closeLayers() {
	for i := len(f.layers) - 1; i >= 0; i-- {
		f.layers[i].Close() // nothing was written, so there is nothing to report
	}
}

// peeked is a stream whose first bytes have been looked at.
type peeked struct {
	head []byte
	at   int // how much of head was read again
	r    io.Reader
	err  error // the end of the stream, if it came within head
}

// peek looks at up to HeadSize bytes. An error counts only if there are none.
func peek(r io.Reader, ifEmpty error) (*peeked, error) {
	head := make([]byte, HeadSize)
	n, err := fill(r, head, nil)
	switch {
	case n == 0 && err == io.EOF:
		return nil, ifEmpty
	case n == 0:
		return nil, err
	case n < HeadSize:
		head = append([]byte(nil), head[:n]...)
	}
	return &peeked{head: head, r: r, err: err}, nil
}

func (p *peeked) Read(b []byte) (int, error) {
	if p.at < len(p.head) {
		n := copy(b, p.head[p.at:])
		p.at += n
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.r.Read(b)
}
