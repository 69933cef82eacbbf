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

	"github.com/klauspost/compress/gzip"

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
	repairCut     = "event cut off by the end of the file"
	repairBetween = "text between events"
	repairComma   = "missing comma between events"
	repairExtra   = "extra comma between events"
	repairTwice   = "a further list of events"
	repairMembers = "unreadable text behind the events"
	repairHeader  = "unreadable header value"
	repairNumber  = "a number that is none"
	repairTime    = "an event without a time"
	repairDur     = "a negative duration"
	repairRange   = "a time of more than 146 years"
	repairSize    = "a size of more than 4 PiB"
	repairDevice  = "a device number out of range, or of one device too many"
	repairBehind  = "text behind the end of the trace"
	repairPacked  = "damage of the compressed file behind the end of the trace"
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
	s       scanner
	in      *input.File
	o       Options
	b       *builder
	pending []Repair // of the value that is being scanned
	lists   int      // of events, so far
	wasted  int64    // bytes scanned in vain
	reached int      // position at which the last scan failed
	err     error    // of the input, io.EOF included
	over    bool     // the document ended behind something unreadable
	notList string   // what traceEvents is, when it is no list
	failed  error    // why the document could not be read to its end
}

func newReader(f *input.File, o Options) *reader {
	r := &reader{in: f, o: o, b: newBuilder()}
	r.s.noteRepair = func(kind string, at int64) {
		if len(r.pending) < MaxRepairs {
			r.pending = append(r.pending, Repair{Kind: kind, Offset: at})
		}
	}
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
// a failure the position is where f began. Repairs count once f is through.
func (r *reader) scan(f func() bool) bool {
	for {
		start := r.s.pos
		r.s.short = false
		if f() {
			for _, p := range r.pending {
				r.b.repair(p.Kind, p.Offset, 0)
			}
			r.pending = r.pending[:0]
			return true
		}
		r.pending = r.pending[:0]
		r.reached = max(r.s.pos, start)
		if r.s.short {
			r.reached = len(r.s.buf)
		}
		r.s.pos = start
		if have := len(r.s.buf) - start; !r.s.short || have > MaxEvent || !r.fillTo(2*have) {
			r.wasted += int64(r.reached - r.s.pos)
			return false
		}
	}
}

// fillTo reads until n bytes are there that are not consumed, so that a long
// value that comes in small pieces is not scanned again for each of them. It
// reports whether there were any.
func (r *reader) fillTo(n int) bool {
	any := false
	for r.fill() {
		any = true
		if len(r.s.buf)-r.s.pos >= n {
			break
		}
	}
	return any
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
	if r.failed != nil {
		return
	}
	if r.failed = r.empty(); r.failed != nil {
		return
	}
	if r.peek() != 0 {
		r.b.repair(repairBehind, r.s.offset(), 0)
	}
	r.behind()
}

// empty says why a document without a list of events is no trace. A list in
// which nothing was recorded is one.
func (r *reader) empty() error {
	if r.lists > 0 {
		return nil
	}
	if r.notList != "" {
		return fmt.Errorf("traceEvents is %s, not a list; %s", r.notList, howToRecord)
	}
	return fmt.Errorf("it has no traceEvents; %s", howToRecord)
}

// behind judges an error of the input behind a complete document. What is no
// compressed data there was appended, and an end that is missing takes nothing
// away; any other error, such as a wrong checksum, may concern the document.
func (r *reader) behind() {
	var damage *input.StreamError
	switch {
	case r.err == nil || r.err == io.EOF:
	case errors.As(r.err, &damage) && (errors.Is(r.err, gzip.ErrHeader) || errors.Is(r.err, io.ErrUnexpectedEOF)):
		r.b.repair(repairPacked, r.s.offset(), 0)
	default:
		r.failed = r.err
	}
}

// members reads the members of the root object.
func (r *reader) members() {
	for {
		start := r.s.offset()
		if r.next('}') {
			if r.lists > 0 || r.peek() == 0 {
				return
			}
			if !r.badMember(start) { // a brace too many in the header
				return
			}
			continue
		}
		if r.next(',') {
			continue
		}
		var key string
		if !r.scan(func() bool {
			k, ok := r.s.key()
			key = string(k)
			return ok
		}) {
			if !r.badMember(start) {
				return
			}
			continue
		}
		r.peek()
		start = r.s.offset()
		if key == "traceEvents" && r.peek() == '[' {
			if r.lists > 0 {
				r.b.repair(repairTwice, start, 0)
			}
			r.events()
			if r.failed != nil || r.over {
				return
			}
			continue
		}
		var value []byte
		if r.scan(func() (ok bool) { value, ok = r.s.raw(); return ok }) {
			if key == "traceEvents" {
				r.notList = kindOf(value)
			}
			r.b.header(key, value)
		} else if !r.badMember(start) {
			return
		}
	}
}

// kindOf names the kind of a JSON value.
func kindOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}

// badMember goes on at the traceEvents key, after a member that is not JSON:
// values of metadata are written as the program gave them. Behind the events
// there is nothing to go on with.
func (r *reader) badMember(start int64) bool {
	if r.s.short && r.s.final && (r.lists > 0 || r.s.pos == len(r.s.buf)) {
		r.stop()
		return false
	}
	kind := repairHeader
	if r.lists > 0 {
		kind = repairMembers
	}
	r.b.repair(kind, start, 0)
	mark := []byte(`"traceEvents"`)
	r.s.pos = min(r.s.pos+1, len(r.s.buf)) // what failed may be the mark itself
	for {
		if i := bytes.Index(r.s.buf[r.s.pos:], mark); i >= 0 {
			r.s.pos += i
			return true
		}
		r.s.pos = max(r.s.pos, len(r.s.buf)-len(mark))
		if r.fill() {
			continue
		}
		if r.lists == 0 || !r.ended() {
			r.stop()
		}
		r.s.pos = len(r.s.buf)
		return false
	}
}

// ended reports, at the end of the input, whether the document ends like one
// that was written to its end.
func (r *reader) ended() bool {
	if r.err != io.EOF {
		return false
	}
	tail := bytes.TrimRight(r.s.buf, " \n\r\t")
	return bytes.HasSuffix(tail, []byte("}")) || bytes.HasSuffix(tail, []byte("]"))
}

// events reads the list of events.
func (r *reader) events() {
	r.lists++
	r.s.pos++
	var e rawEvent
	parse := func() bool { return r.s.event(&e) && (!r.s.strict || e.phase != 0) }
	separated := true
	for {
		switch r.peek() {
		case 0:
			r.stop()
			return
		case ']':
			if separated && r.b.t.Counts.Events > 0 {
				r.b.repair(repairExtra, r.s.offset(), 0)
			}
			r.s.pos++
			return
		case ',':
			if separated {
				r.b.repair(repairExtra, r.s.offset(), 0)
			}
			r.s.pos++
			separated = true
			continue
		case '{':
		default:
			r.b.repair(repairBetween, r.s.offset(), 0)
			if !r.resyncEvent() {
				return
			}
			separated = true
			continue
		}
		start := r.s.offset()
		if !separated {
			r.b.repair(repairComma, start, 0)
		}
		if r.scan(parse) || r.scanStrictly(parse) {
			r.b.add(&e, start)
			separated = false
			continue
		}
		if r.s.short && r.s.final {
			r.b.repair(repairCut, start, 1)
			r.stop()
			return
		}
		r.b.repair(repairEvent, start, 1)
		if !r.resyncEvent() {
			return
		}
		separated = true
	}
}

// scanStrictly reads an event again with the strict rule for quotes. An event
// that needs it has to have a phase: what else it reads may be anything.
func (r *reader) scanStrictly(parse func() bool) bool {
	if r.s.short || r.exhausted() {
		return false
	}
	r.s.strict = true
	ok := r.scan(parse)
	r.s.strict, r.s.short = false, false
	return ok
}

// exhausted reports whether so much was scanned in vain that what is damaged is
// no longer looked at from every side: work stays in proportion to the file.
func (r *reader) exhausted() bool {
	return r.wasted > 16*r.s.offset()+4*MaxEvent
}

// resyncEvent goes on at the next thing that looks like the start of an event:
// a brace before a key that is no value of a member, in an object with a phase.
func (r *reader) resyncEvent() bool {
	if r.exhausted() {
		r.s.pos = min(max(r.s.pos, r.reached), len(r.s.buf))
	}
	before := byte(':') // the last byte before at that is no white space
	at := r.s.pos
	if at < len(r.s.buf) {
		before = r.s.buf[at]
		at++
	}
	for {
		for at < len(r.s.buf) {
			open := bytes.IndexByte(r.s.buf[at:], '{')
			if open < 0 {
				before = lastByte(r.s.buf[at:], before)
				break
			}
			before = lastByte(r.s.buf[at:at+open], before)
			r.s.pos = at + open
			if before != ':' && r.opensEvent() {
				return true
			}
			before = '{'
			at = r.s.pos + 1
		}
		const tail = 4096 // what is looked at when nothing follows
		r.s.pos = max(r.s.pos, len(r.s.buf)-tail)
		kept := len(r.s.buf) - r.s.pos
		if !r.fill() {
			return r.endOfDamage()
		}
		at = kept
	}
}

// lastByte returns the last byte that is no white space, or otherwise.
func lastByte(b []byte, otherwise byte) byte {
	b = bytes.TrimRight(b, " \n\r\t")
	if len(b) == 0 {
		return otherwise
	}
	return b[len(b)-1]
}

// opensEvent reports whether the brace at the position begins an object whose
// first key is one of those that events begin with.
func (r *reader) opensEvent() bool {
	const most = 256
	if len(r.s.buf)-r.s.pos < most {
		r.fillTo(most)
	}
	head := bytes.TrimLeft(r.s.buf[r.s.pos+1:], " \n\r\t")
	for _, key := range firstKeys {
		if bytes.HasPrefix(head, key) {
			return true
		}
	}
	return false
}

// firstKeys are the members of events, any of which may come first.
var firstKeys = [][]byte{[]byte(`"ph"`), []byte(`"name"`), []byte(`"cat"`), []byte(`"pid"`), []byte(`"tid"`), []byte(`"ts"`),
	[]byte(`"args"`), []byte(`"id"`), []byte(`"dur"`), []byte(`"s"`), []byte(`"bp"`)}

// endOfDamage is the end of the input behind something unreadable. When the
// document ends as one should, nothing but the damage is missing, and the list
// of events ends before the first member that may follow it.
func (r *reader) endOfDamage() bool {
	if !r.ended() {
		r.stop()
		return false
	}
	tail := r.s.buf[r.s.pos:]
	r.over = true
	for _, key := range lastKeys {
		if i := bytes.LastIndex(tail, key); i >= 0 && lastByte(bytes.TrimRight(tail[:i], " \n\r\t,"), 0) == ']' {
			tail, r.over = tail[:i], false
		}
	}
	r.s.pos += len(tail)
	return false
}

// lastKeys are the members of the root that have been seen behind the events.
var lastKeys = [][]byte{[]byte(`"traceName"`), []byte(`"displayTimeUnit"`), []byte(`"baseTimeNanoseconds"`),
	[]byte(`"distributedInfo"`), []byte(`"deviceProperties"`), []byte(`"schemaVersion"`)}
