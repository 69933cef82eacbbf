package input

import (
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// source is where raw bytes come from; it can be opened more than once.
type source interface {
	open() (*handle, error)
	forget()
}

// handle is one pass over a source.
type handle struct {
	io.Reader
	size  int64        // raw bytes, -1 when unknown
	close func() error // nil when there is nothing to close and a read may block for ever
	empty error        // what to say when there is not one byte
}

// pathSource is a regular file by name.
type pathSource string

func (s pathSource) open() (*handle, error) {
	f, err := os.Open(string(s))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &handle{Reader: f, size: info.Size(), close: f.Close, empty: ErrEmpty}, nil
}

func (s pathSource) forget() {}

// sourceOfPath looks at what path is before opening it, as opening a named pipe
// without a writer blocks, and reading a device may never end.
func sourceOfPath(path string) (source, error) {
	if path == "" {
		return nil, ErrNoName
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, ErrDirectory
	case mode&fs.ModeNamedPipe != 0:
		return openPipe(path)
	case !mode.IsRegular():
		return nil, ErrNotRegular
	}
	return pathSource(path), nil
}

// openPipe opens a named pipe, which is also what the shell's <(command) gives.
// Without blocking: a pipe that nobody has opened for writing then reads as empty.
func openPipe(path string) (source, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return newKept(f, f, ErrNoWriter), nil
}

// sourceOfReader serves standard input and readers of the caller. A redirected
// file (snapview - < file) can be read again in place.
func sourceOfReader(r io.Reader) (source, error) {
	f, ok := r.(*os.File)
	if !ok {
		return newKept(r, nil, ErrEmpty), nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, ErrDirectory
	case mode&fs.ModeCharDevice != 0 && term.IsTerminal(int(f.Fd())):
		return nil, ErrTerminal
	case mode.IsRegular():
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		return borrowed{f, at, max(info.Size()-at, 0)}, nil
	}
	return newKept(f, nil, ErrEmpty), nil
}

// borrowed is an open regular file of the caller, from the offset it had.
type borrowed struct {
	f        *os.File
	at, size int64
}

func (b borrowed) open() (*handle, error) {
	section := io.NewSectionReader(b.f, b.at, math.MaxInt64-b.at)
	nothing := func() error { return nil }
	return &handle{Reader: section, size: b.size, close: nothing, empty: ErrEmpty}, nil
}

func (b borrowed) forget() {}

// kept is a stream that can be read only once. What was read stays in memory, in
// a list of pieces: once the source forgets its first piece, the garbage
// collector frees each piece as the last reader leaves it.
type kept struct {
	live  io.Reader
	owned io.Closer // nil: the caller's
	empty error

	first  atomic.Pointer[piece] // nil once forgotten
	users  atomic.Int32
	closed atomic.Bool

	mu  sync.Mutex // held while live is read, which may block
	err error      // how live ended
}

type piece struct {
	data []byte
	next *piece
}

const pieceSize = 256 << 10

func newKept(live io.Reader, owned io.Closer, empty error) *kept {
	k := &kept{live: live, owned: owned, empty: empty}
	k.first.Store(newPiece())
	return k
}

func newPiece() *piece { return &piece{data: make([]byte, 0, pieceSize)} }

func (k *kept) open() (*handle, error) {
	first := k.first.Load()
	if first == nil || k.closed.Load() {
		return nil, ErrNoReopen
	}
	k.users.Add(1)
	h := &handle{Reader: &keptReader{source: k, at: first}, size: -1, empty: k.empty}
	if k.owned != nil {
		h.close = sync.OnceValue(k.release)
	}
	return h, nil
}

// release closes the stream with its last user, which also ends a read that blocks.
func (k *kept) release() error {
	if k.users.Add(-1) > 0 {
		return nil
	}
	k.closed.Store(true)
	return k.owned.Close()
}

func (k *kept) forget() { k.first.Store(nil) }

// keptReader reads the pieces and then the live stream.
type keptReader struct {
	source *kept
	at     *piece
	off    int
}

func (r *keptReader) Read(p []byte) (int, error) {
	k := r.source
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := r.recorded(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	if k.err != nil {
		return 0, k.err
	}
	if k.first.Load() == nil {
		return k.live.Read(p)
	}
	k.record(r.at)
	if n := r.recorded(p); n > 0 {
		return n, nil
	}
	return 0, k.err
}

// recorded delivers what is in memory already.
func (r *keptReader) recorded(p []byte) int {
	for r.off == len(r.at.data) && r.at.next != nil {
		r.at, r.off = r.at.next, 0
	}
	n := copy(p, r.at.data[r.off:])
	r.off += n
	return n
}

// record reads more of the live stream into the list, whose last piece is at.
func (k *kept) record(last *piece) {
	if len(last.data) == cap(last.data) {
		last.next = newPiece()
		last = last.next
	}
	n, err := k.live.Read(last.data[len(last.data):cap(last.data)])
	last.data = last.data[:len(last.data)+n]
	k.err = err
}
