// Package profiler reads the traces that torch.profiler exports and rebuilds
// from them what the profiler itself shows, and more: the operator table, the
// memory ledger, and who allocated what, by operator, stack, line and module.
//
// Open reads a trace of any age as a stream. Damage is read around and listed
// in Trace.Repairs.
package profiler

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/snapview/snapview/internal/input"
)

// Limits on what a file may hold.
const (
	// MaxEvent is the longest entry of traceEvents and the longest header value, in bytes.
	MaxEvent = 64 << 20
	// MaxThreads is the highest number of different pairs of pid and tid.
	MaxThreads = 1 << 20
	window     = 1 << 20
)

// Kinds of repairs.
const (
	repairQuote   = "unescaped quote inside a string"
	repairControl = "control character inside a string"
	repairEscape  = "bad escape or bytes that are not UTF-8"
	repairEvent   = "unreadable event"
	repairHeader  = "unreadable header value"
	repairNumber  = "a number that is none"
	repairBehind  = "text behind the end of the trace"
)

// Options are the settings of OpenWith and Read.
type Options struct {
	Name string // shown in messages; Read uses "-" when it is empty

	// Progress, when set, is called now and then with the raw bytes read so
	// far and the size of the file, -1 when unknown.
	Progress func(read, total int64)
}

// ErrNotTrace is wrapped by the error for a file that is something else.
var ErrNotTrace = errors.New("not a profiler trace")

// An Error is a failure to read a trace.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// howToRecord ends messages about files that are something else.
const howToRecord = `record one with torch.profiler.profile(profile_memory=True, with_stack=True, record_shapes=True) and prof.export_chrome_trace("trace.json")`

// Open reads the trace in a file; "-" is standard input. A trace that ends
// early is returned with Partial set and no error, as long as it has events.
func Open(path string) (*Trace, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
func OpenWith(path string, o Options) (*Trace, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(f, o)
}

// Read reads a trace from r, see Open.
func Read(r io.Reader, o Options) (*Trace, error) {
	if f, ok := r.(*input.File); ok {
		return readFile(f, o) // opened and recognised by the command line
	}
	name := o.Name
	if name == "" {
		name = "-"
	}
	f, err := input.New(name, r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(f, o)
}

func readFile(f *input.File, o Options) (*Trace, error) {
	if f.Kind != input.ChromeTrace {
		return nil, &Error{f.Name, fmt.Errorf("%w: it is %s; %s", ErrNotTrace, f.Kind.Describe(), howToRecord)}
	}
	f.Forget()
	r := newReader(f, o)
	r.document()
	t := r.b.finish()
	t.Source = Source{Name: f.Name, Compression: f.Compression, Bytes: r.s.offset()}
	if r.failed != nil {
		if t.Counts.Events == 0 {
			return nil, &Error{f.Name, r.failed}
		}
		t.Partial = fmt.Errorf("%w; %d events were read before it", r.failed, t.Counts.Events)
	}
	return t, nil
}

// A reader walks the document. Every value is scanned from the buffer; one that
// reaches beyond it is scanned again once more is there.
type reader struct {
	s      scanner
	in     *input.File
	o      Options
	b      *builder
	err    error // of the input, io.EOF included
	failed error // why the document could not be read to its end
}

func newReader(f *input.File, o Options) *reader {
	r := &reader{in: f, o: o, b: newBuilder()}
	r.s.noteRepair = func(kind string, at int64) { r.b.repair(kind, at, 0) }
	r.s.buf = make([]byte, 0, window)
	return r
}

// fill reads more input behind what is not consumed. It reports whether there
// was any.
func (r *reader) fill() bool {
	s := &r.s
	if s.final {
		return false
	}
	if s.pos > 0 {
		n := copy(s.buf, s.buf[s.pos:])
		s.base += int64(s.pos)
		s.buf, s.pos = s.buf[:n], 0
	}
	if len(s.buf) == cap(s.buf) {
		bigger := make([]byte, len(s.buf), 2*cap(s.buf))
		copy(bigger, s.buf)
		s.buf = bigger
	}
	for {
		n, err := r.in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.final, r.err = true, err
		}
		if n > 0 || err != nil {
			break
		}
	}
	if r.o.Progress != nil {
		r.o.Progress(r.in.ReadRaw(), r.in.Size)
	}
	return true
}

// scan runs f, which consumes one value, until the buffer holds all of it. At
// a failure the position is where f began.
func (r *reader) scan(f func() bool) bool {
	for {
		start := r.s.pos
		r.s.short = false
		if f() {
			return true
		}
		r.s.pos = start
		if !r.s.short || len(r.s.buf)-r.s.pos > MaxEvent || !r.fill() {
			return false
		}
	}
}

// peek returns the next byte that is no white space, 0 at the end of the input.
func (r *reader) peek() byte {
	for {
		if c := r.s.peek(); c != 0 || !r.fill() {
			return c
		}
	}
}

// next consumes c if it comes next.
func (r *reader) next(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.s.pos++
	return true
}

// stop notes that the document cannot be read any further.
func (r *reader) stop() {
	if r.failed != nil {
		return
	}
	if r.err != nil && r.err != io.EOF {
		r.failed = r.err
		return
	}
	r.failed = fmt.Errorf("the trace ends early, at byte %d: %w", r.s.base+int64(len(r.s.buf)), io.ErrUnexpectedEOF)
}

func (r *reader) document() {
	switch r.peek() {
	case '[': // the layout of 2020, and of exports without kineto
		r.events()
	case '{':
		r.s.pos++
		r.members()
	default:
		r.failed = fmt.Errorf("neither an object nor a list at byte %d", r.s.offset())
		return
	}
	if r.failed == nil && r.peek() != 0 {
		r.b.repair(repairBehind, r.s.offset(), 0)
	}
	if r.failed == nil && r.err != nil && r.err != io.EOF {
		r.failed = r.err
	}
}

// members reads the members of the root object.
func (r *reader) members() {
	for {
		if r.next('}') {
			return
		}
		if r.next(',') {
			continue
		}
		var key string
		if !r.scan(func() bool {
			k, ok := r.s.str()
			key = string(k)
			return ok && r.s.next(':')
		}) {
			if !r.resyncHeader() {
				return
			}
			continue
		}
		if key == "traceEvents" && r.peek() == '[' {
			r.events()
			if r.failed != nil {
				return
			}
			continue
		}
		start := r.s.offset()
		var value []byte
		if r.scan(func() (ok bool) { value, ok = r.s.raw(); return ok }) {
			r.b.header(key, value)
		} else if r.b.repair(repairHeader, start, 0); !r.resyncHeader() {
			return
		}
	}
}

// resyncHeader goes on at the traceEvents key, after a header value that is not
// JSON: values of metadata are written as the program gave them.
func (r *reader) resyncHeader() bool {
	mark := []byte(`"traceEvents"`)
	for {
		if i := bytes.Index(r.s.buf[r.s.pos:], mark); i >= 0 {
			r.s.pos += i
			return true
		}
		r.s.pos = max(r.s.pos, len(r.s.buf)-len(mark))
		if !r.fill() {
			r.stop()
			return false
		}
	}
}

// events reads the list of events.
func (r *reader) events() {
	r.s.pos++
	var e rawEvent
	parse := func() bool { return r.s.event(&e) }
	for {
		switch r.peek() {
		case 0:
			r.stop()
			return
		case ']':
			r.s.pos++
			return
		case ',':
			r.s.pos++
			continue
		}
		start := r.s.offset()
		if r.scan(parse) {
			r.b.add(&e, start)
			continue
		}
		if r.s.short && r.s.final {
			r.b.lost++
			r.stop()
			return
		}
		r.b.repair(repairEvent, start, 1)
		if !r.resyncEvent() {
			return
		}
	}
}

// resyncEvent goes on at the next thing that looks like the start of an event:
// a brace and the key that every version writes first.
func (r *reader) resyncEvent() bool {
	r.s.pos = min(r.s.pos+1, len(r.s.buf))
	for {
		for from := r.s.pos; ; {
			i := bytes.Index(r.s.buf[from:], []byte(`"ph"`))
			if i < 0 {
				break
			}
			at := from + i
			open := bytes.LastIndexByte(r.s.buf[r.s.pos:at], '{')
			if open >= 0 {
				r.s.pos += open
				return true
			}
			from = at + 4
		}
		// Keep enough of the tail for a brace whose key is still to come.
		const tail = 4096
		r.s.pos = max(r.s.pos, len(r.s.buf)-tail)
		if !r.fill() {
			r.stop()
			return false
		}
	}
}
