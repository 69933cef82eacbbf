package snapshot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const captures = "../testdata/snapshots"

func open(t testing.TB, name string) *Snapshot {
	t.Helper()
	s, err := Open(filepath.Join(captures, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withoutMarks is describe without the events that each dump adds itself.
func withoutMarks(s *Snapshot) string {
	for _, d := range s.Devices {
		d.Events = slices.DeleteFunc(d.Events, func(e Event) bool { return e.Action == SnapshotMark })
	}
	return describe(s)
}

// One snapshot in every protocol is one snapshot.
func TestProtocols(t *testing.T) {
	want := withoutMarks(open(t, "protocols/p4.pickle.zst"))
	if strings.Count(want, "\n") < 100 {
		t.Fatalf("the capture is too small to say much:\n%s", want)
	}
	for i, name := range []string{"p0", "p1", "p2", "p3", "p4", "p5"} {
		s := open(t, "protocols/"+name+".pickle.zst")
		if got := withoutMarks(s); got != want {
			t.Errorf("protocol %d differs: %s", i, difference(got, want))
		}
		if format := s.Source.Format; i >= 2 && format != "pickle protocol "+name[1:] {
			t.Errorf("%s is %q", name, format)
		}
	}
}

// The two writers of PyTorch describe the same memory, each with its own
// stacks. The second dump shows the first as an event, also on a device that
// was not used.
func TestCppWriter(t *testing.T) {
	python, cpp := open(t, "cppsnap/python.pickle.zst"), open(t, "cppsnap/cpp.pickle.zst")
	withoutMarks(python)
	withoutMarks(cpp)
	p, c := python.Devices[0], cpp.Devices[0]
	if len(p.Events) == 0 || len(p.Events) != len(c.Events) {
		t.Fatalf("%d and %d events", len(p.Events), len(c.Events))
	}
	for i := range p.Events {
		x, y := p.Events[i], c.Events[i]
		x.Stack, y.Stack = NoStack, NoStack
		if x != y {
			t.Fatalf("event %d: %+v and %+v", i, x, y)
		}
	}
	if len(p.Blocks) != len(c.Blocks) || len(p.Segments) != len(c.Segments) {
		t.Fatalf("%d and %d blocks, %d and %d segments", len(p.Blocks), len(c.Blocks), len(p.Segments), len(c.Segments))
	}
	for i := range p.Blocks {
		x, y := p.Blocks[i], c.Blocks[i]
		x.Stack, y.Stack = NoStack, NoStack
		if x != y {
			t.Fatalf("block %d: %+v and %+v", i, x, y)
		}
	}
}

// A capture written as JSON, and one that PyTorch printed as a segment list.
func TestJSONForm(t *testing.T) {
	for _, name := range []string{"annotated/end", "streams/end", "graphs/end", "oom/observer", "compiled/forward"} {
		path := filepath.Join(captures, filepath.FromSlash(name)+".pickle.zst")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			matches, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.pickle.zst"))
			path = matches[0]
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Settings = Settings{} // encode leaves it out
		for i := range s.Annotations {
			s.Annotations[i].Extra = nil
		}
		want := describe(s)
		document := encode(s)
		for form, data := range map[string][]byte{"pickle": toPickle(t, document), "JSON": toJSON(t, document)} {
			if got := mustDescribe(t, data); got != want {
				t.Errorf("%s as %s differs: %s", name, form, difference(got, want))
			}
		}
	}
	fromPickle, fromJSON := open(t, "nohistory/end.pickle.zst"), open(t, "nohistory/memory_snapshot.json")
	if !fromJSON.Source.SegmentsOnly || fromPickle.Source.SegmentsOnly {
		t.Error("which file is a bare segment list is not told")
	}
	for i, d := range fromPickle.Devices {
		if got, want := fromJSON.Devices[i].Stats(), d.Stats(); got != want {
			t.Errorf("device %d: %+v, want %+v", d.Index, got, want)
		}
	}
}

// difference shows the first lines that differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return "line " + g[i] + "\nwant " + strings.Join(w[min(i, len(w)):min(i+1, len(w))], "")
		}
	}
	return "lines are missing"
}

func raw(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(captures, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	data, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Damage behind the last byte of the data is damage: the checksum of a gzip
// file is the only witness of what is in it.
func TestDamagedGzip(t *testing.T) {
	document := oneEvent(alloc)
	for form, data := range map[string][]byte{"pickle": toPickle(t, document), "JSON": toJSON(t, document)} {
		packed := gzipped(t, data)
		if got := mustDescribe(t, packed); got != plain+"\n" {
			t.Errorf("%s: got %s", form, got)
		}
		for _, cut := range []int{1, 7} {
			s, err := read(t, packed[:len(packed)-cut])
			if err == nil {
				t.Errorf("%s: %d bytes of the trailer are missing and nobody says so", form, cut)
			} else if s == nil || s.Partial == nil || describe(s) != plain+"\n" {
				t.Errorf("%s: what was read is lost: %v", form, err)
			}
		}
		packed[len(packed)-6] ^= 1
		if _, err := read(t, packed); err == nil {
			t.Errorf("%s: a wrong checksum is not noticed", form)
		}
	}
}

// A snapshot cut at any byte never passes for whole: an error, or Partial, and
// what is left is part of the whole.
func TestCutAnywhere(t *testing.T) {
	h := newHandmade()
	h.segment(4096, false, Block{Size: 512, Requested: 300, State: Allocated, Stack: h.py(3)}, Block{Size: 512})
	h.event(SegmentAlloc, 4096, 1024, NoStack)
	h.event(Alloc, 4096, 300, h.py(3))
	whole := describe(h.Snapshot)
	lines := map[string]bool{}
	for line := range strings.Lines(whole) {
		lines[line] = true
	}
	document := encode(h.Snapshot)
	for form, data := range map[string][]byte{"pickle": toPickle(t, document), "JSON": toJSON(t, document)} {
		partial := 0
		for cut := range data {
			s, err := read(t, data[:cut])
			if err == nil {
				t.Fatalf("%s cut at %d of %d: no error", form, cut, len(data))
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s cut at %d: %q", form, cut, err)
			}
			if s == nil {
				continue
			}
			partial++
			if s.Partial == nil {
				t.Errorf("%s cut at %d: not marked as partial", form, cut)
			}
			for line := range strings.Lines(describe(s)) {
				if !lines[line] && !strings.HasPrefix(line, "  block") && !strings.HasPrefix(line, " segment") && !strings.HasPrefix(line, "warning") {
					t.Errorf("%s cut at %d: %q is not in the whole", form, cut, line)
				}
			}
			tolerant, err := Read(bytes.NewReader(data[:cut]), Options{Partial: true})
			if err != nil || tolerant.Partial == nil || describe(tolerant) != describe(s) {
				t.Errorf("%s cut at %d: tolerant reading differs: %v", form, cut, err)
			}
		}
		if partial == 0 {
			t.Errorf("%s: nothing was ever left", form)
		}
	}
}
