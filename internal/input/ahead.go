package input

import (
	"io"
	"io/fs"
	"sync"
)

// The read-ahead holds aheadBuffers × aheadSize bytes. Buffers that stay in the
// second-level cache did as well as larger ones.
const (
	aheadBuffers = 4
	aheadSize    = 256 << 10
)

// ahead decompresses on a goroutine of its own, so that the decoder on another
// core never waits for it while there is anything to read. Buffers travel in a
// circle: free → filled by run → full → emptied by Read → free.
type ahead struct {
	full, free chan []byte
	stop       chan struct{} // closed by halt
	done       chan struct{} // closed when run has ended
	halting    sync.Once

	current []byte // what Read has not yet delivered
	whole   []byte // the buffer that current is the end of
	err     error  // the end of the stream; written before full is closed
}

// startAhead takes over r; release is called when nothing reads r any more.
func startAhead(r io.Reader, release func()) *ahead {
	a := &ahead{
		full: make(chan []byte, aheadBuffers),
		free: make(chan []byte, aheadBuffers),
		stop: make(chan struct{}),
		done: make(chan struct{}),
	}
	for range aheadBuffers {
		a.free <- nil // allocated when first needed: most files are small
	}
	go a.run(r, release)
	return a
}

func (a *ahead) run(r io.Reader, release func()) {
	defer close(a.done)
	defer release()
	defer close(a.full)
	for {
		var buf []byte
		select {
		case <-a.stop:
			a.err = fs.ErrClosed
			return
		case buf = <-a.free:
		}
		if buf == nil {
			buf = make([]byte, aheadSize)
		}
		n, err := fill(r, buf, a.stop)
		a.full <- buf[:n] // never blocks: there are no more buffers than places
		if err != nil {
			a.err = err
			return
		}
	}
}

// fill reads until buf is full, the stream ends or stop is closed. Unlike
// io.ReadFull it leaves the error of r alone.
func fill(r io.Reader, buf []byte, stop <-chan struct{}) (n int, err error) {
	for n < len(buf) && err == nil {
		select {
		case <-stop:
			return n, fs.ErrClosed
		default:
		}
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	return n, err
}

func (a *ahead) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(a.current) == 0 {
		if a.whole != nil {
			a.free <- a.whole[:cap(a.whole)]
			a.whole = nil
		}
		select {
		case <-a.stop:
			return 0, fs.ErrClosed
		case buf, ok := <-a.full:
			if !ok {
				return 0, a.err
			}
			a.current, a.whole = buf, buf
		}
	}
	n := copy(p, a.current)
	a.current = a.current[n:]
	return n, nil
}

// halt asks the goroutine to end; it ends after the read it is in.
func (a *ahead) halt() { a.halting.Do(func() { close(a.stop) }) }
