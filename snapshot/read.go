package snapshot

import (
	"errors"
	"fmt"
	"io"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/jsonvalue"
	"github.com/snapview/snapview/internal/pickle"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/internal/value"
)

// Options are the settings of Read and OpenWith.
type Options struct {
	// Name is shown in messages; Read uses "-" when it is empty.
	Name string

	// Partial accepts a truncated or damaged file: what was read before the
	// damage is returned with Snapshot.Partial set and no error. Without it
	// the same snapshot comes together with the error.
	Partial bool

	// Progress, when set, is called now and then with the raw bytes read so
	// far and the size of the file, -1 when unknown.
	Progress func(read, total int64)
}

// An Error is a failure to read a snapshot. Err says why and, for damage, where.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// howToRecord ends messages about files that are something else.
const howToRecord = `record one with torch.cuda.memory._dump_snapshot("snapshot.pickle")`

// Open reads the snapshot in a file; "-" is standard input. Compression is
// recognised by content, as is the form: pickle or JSON, whole or a bare segment list.
//
// A truncated or damaged file gives the part before the damage together with an
// error that says where it ended; the snapshot then has Partial set.
func Open(path string) (*Snapshot, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
func OpenWith(path string, o Options) (*Snapshot, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(f, o)
}

// Read reads a snapshot from r, see Open.
func Read(r io.Reader, o Options) (*Snapshot, error) {
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

func readFile(f *input.File, o Options) (*Snapshot, error) {
	switch f.Kind {
	case input.Pickle, input.SnapshotJSON, input.SegmentListJSON:
	default:
		return nil, &Error{f.Name, fmt.Errorf("%w: it is %s; %s", ErrNotSnapshot, f.Kind.Describe(), howToRecord)}
	}
	b, root, err := decode(f, o)
	snap := b.snap
	snap.Source.Name = f.Name
	snap.Source.Compression = f.Compression
	if err != nil {
		return salvaged(b, root, f, o, err)
	}
	if err := b.finish(root, false); err != nil {
		if errors.Is(err, ErrNotSnapshot) {
			err = fmt.Errorf("%w; %s", err, howToRecord)
		}
		return nil, &Error{f.Name, err}
	}
	return snap, nil
}

// decode reads the file as plain data or, when a pickle needs it, with DecodeFull.
func decode(f *input.File, o Options) (*builder, value.Value, error) {
	b := newBuilder(position(f))
	r := &source{f: f, report: o.Progress}
	src := &b.snap.Source
	if f.Kind != input.Pickle {
		f.Forget()
		src.Format = "JSON"
		root, n, err := jsonvalue.Decode(r, b.h, b)
		src.Bytes = n
		return b, root, err
	}
	size := int64(-1)
	if len(f.Compression) == 0 {
		size = f.Size
	}
	res, err := pickle.Decode(r, b.h, b, pickle.Config{Size: size, Allowed: pickle.Harmless})
	src.Format = fmt.Sprintf("pickle protocol %d", res.Protocol)
	src.Bytes = res.Bytes
	root := res.Root
	if err == nil && res.NeedsTree {
		b, root, err = decodeFull(f, *src)
	}
	if res.More {
		b.warn("more data follows the snapshot: only the first pickle was read")
	}
	return b, root, err
}

// decodeFull reads a pickle with allowed types once more, from the start.
func decodeFull(f *input.File, source Source) (*builder, value.Value, error) {
	again, err := f.Reopen()
	if errors.Is(err, input.ErrNoReopen) {
		err = fmt.Errorf("the pickle holds Python containers and has to be read twice, and of a stream only %s are kept: save it to a file and name that", units.Bytes(maxKept))
	}
	if err != nil {
		return newBuilder(position(f)), value.Nil, err
	}
	defer again.Close()
	b := newBuilder(position(again))
	b.snap.Source = source
	b.snap.Source.Format += " with Python containers"
	root, err := pickle.DecodeFull(again, b.h, b)
	return b, root, err
}

// salvaged makes what it can of a document that broke off.
func salvaged(b *builder, root value.Value, f *input.File, o Options, cause error) (*Snapshot, error) {
	var refused *pickle.GlobalError
	if errors.As(cause, &refused) {
		return nil, &Error{f.Name, cause}
	}
	snap := b.snap
	if err := b.finish(root, true); err != nil || len(snap.Devices) == 0 {
		return nil, &Error{f.Name, fmt.Errorf("%w; nothing usable comes before it", cause)}
	}
	snap.Partial = fmt.Errorf("%w; read before it: %s", cause, snap.contents())
	if o.Partial {
		return snap, nil
	}
	return snap, &Error{f.Name, snap.Partial}
}

// contents counts what a snapshot holds.
func (s *Snapshot) contents() string {
	var segments, blocks, events int
	for _, d := range s.Devices {
		segments += len(d.Segments)
		blocks += len(d.Blocks)
		events += len(d.Events)
	}
	return fmt.Sprintf("%d segments, %d blocks, %d events", segments, blocks, events)
}

// position tells how far f was read.
func position(f *input.File) func() (read, total int64) {
	return func() (int64, int64) { return f.ReadRaw(), f.Size }
}

const (
	// maxKept is how much of a stream is kept for a second pass, in raw bytes.
	maxKept = 64 << 20
	// Beyond freeExpansion decoded bytes, a file may not expand more than
	// maxExpansion-fold: real snapshots stay below 100.
	freeExpansion = 64 << 20
	maxExpansion  = 1000
)

// A source reads a file for the decoders, within the limits above.
type source struct {
	f       *input.File
	report  func(read, total int64) // may be nil
	decoded int64
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.f.Read(p)
	s.decoded += int64(n)
	read := s.f.ReadRaw()
	if read > maxKept {
		s.f.Forget()
	}
	if s.report != nil {
		s.report(read, s.f.Size)
	}
	if s.decoded > freeExpansion && s.decoded/maxExpansion > read {
		return n, fmt.Errorf("the compressed data expands more than %d-fold (%s of it make %s), which no snapshot does",
			maxExpansion, units.Bytes(read), units.Bytes(s.decoded))
	}
	return n, err
}
