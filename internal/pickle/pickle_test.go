package pickle_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/snapview/snapview/internal/pickle"
	"github.com/snapview/snapview/internal/testpickle"
	"github.com/snapview/snapview/internal/value"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// recorder is a Shaper that takes every dict whose first key is "action", with the
// lists in it, and refuses those where that is a number.
type recorder struct {
	h       *value.Heap
	records []string
	nodes   int // rendered so far: what holds itself has no end
}

func (r *recorder) Dict(items []value.Value) (value.Value, bool, error) {
	if r.h.Text(items[0]) != "action" {
		return value.Nil, false, nil
	}
	if _, ok := items[1].StringID(); !ok {
		return value.Nil, false, fmt.Errorf("action: want a string, have %s", r.h.Describe(items[1]))
	}
	var parts []string
	for i := 0; i < len(items); i += 2 {
		parts = append(parts, r.render(items[i], 0)+": "+r.render(items[i+1], 0))
	}
	for i := 1; i < len(items); i += 2 {
		if k, ok := r.h.Container(items[i]); ok && k == value.List {
			r.h.Replace(items[i], r.record(r.render(items[i], 0)))
		}
	}
	return r.record("record{" + strings.Join(parts, ", ") + "}"), true, nil
}

func (r *recorder) record(text string) value.Value {
	r.records = append(r.records, text)
	return value.MakeExt(1, len(r.records)-1)
}

// render writes a value as Python would, records and what has no content by name.
func (r *recorder) render(v value.Value, depth int) string {
	v = r.h.Resolve(v)
	r.nodes++
	if id, ok := v.IsExt(1); ok {
		return r.records[id]
	}
	if id, ok := v.StringID(); ok {
		return strconv.Quote(r.h.Strings.Text(id))
	}
	kind, ok := r.h.Container(v)
	switch {
	case !ok:
		return r.h.Text(v)
	case depth > 20 || r.nodes > 10_000:
		return "…"
	case kind == value.Bytes || kind == value.Opaque:
		return "<" + kind.String() + ">"
	}
	var b strings.Builder
	brackets := map[value.ObjectKind]string{value.List: "[]", value.Tuple: "()", value.Set: "<>", value.Dict: "{}"}[kind]
	b.WriteByte(brackets[0])
	for i, item := range r.h.Items(v) {
		switch {
		case r.nodes > 10_000:
			return b.String() + "…"
		case kind == value.Dict && i%2 == 1:
			b.WriteString(": ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(r.render(item, depth+1))
	}
	b.WriteByte(brackets[1])
	return b.String()
}

// outcome is what a pickle decodes to, as text.
type outcome struct {
	value  string // the root, or what was left of it
	err    error
	result pickle.Result
}

func (o outcome) String() string {
	s := o.value
	if o.result.NeedsTree {
		s += " needs the tree"
	}
	if o.err != nil {
		return fmt.Sprintf("%s\nerror: %v", s, o.err)
	}
	return s
}

func decode(r io.Reader, size int64) outcome {
	h := &value.Heap{}
	rec := &recorder{h: h}
	res, err := pickle.Decode(r, h, rec, pickle.Config{Size: size, Allowed: pickle.Harmless})
	return outcome{rec.render(res.Root, 0), err, res}
}

func decodeFull(b []byte) outcome {
	h := &value.Heap{}
	rec := &recorder{h: h}
	root, err := pickle.DecodeFull(bytes.NewReader(b), h, rec)
	return outcome{value: rec.render(root, 0), err: err}
}

// A testCase is a section NAME.pickle of a file in testdata, and what is
// expected of it: in NAME.want the value, in NAME.error the message; in
// NAME.left what a damaged pickle still gives, in NAME.tree what DecodeFull
// makes of one that needs it.
type testCase struct {
	name    string
	pickle  []byte
	section txtar.File
}

// forCases calls f for every case of testdata; what f returns, by section, is
// compared with the file or written to it.
func forCases(t testing.TB, f func(testCase) [][2]string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := &txtar.Archive{Comment: archive.Comment}
		for _, c := range cases(t, file, archive) {
			out.Files = append(out.Files, c.section)
			for _, part := range f(c) {
				out.Files = append(out.Files, txtar.File{Name: c.name + "." + part[0], Data: []byte(part[1] + "\n")})
			}
		}
		if got, want := string(txtar.Format(out)), string(txtar.Format(archive)); got != want && !*update {
			t.Errorf("%s differs (-update rewrites it):\n%s", file, firstDifference(got, want))
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// cases assembles the pickles of one file.
func cases(t testing.TB, file string, archive *txtar.Archive) (list []testCase) {
	t.Helper()
	for _, section := range archive.Files {
		name, ok := strings.CutSuffix(section.Name, ".pickle")
		if !ok {
			continue
		}
		b, err := testpickle.Assemble(string(section.Data))
		if err != nil {
			t.Fatalf("%s: %s: %v", file, name, err)
		}
		list = append(list, testCase{name, b, section})
	}
	return list
}

// firstDifference shows the lines where two texts part, with what leads there.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	tail := func(lines []string) string { return strings.Join(lines[max(0, i-2):min(len(lines), i+3)], "\n") }
	return "got:\n" + tail(g) + "\nwant:\n" + tail(w)
}

func TestDecode(t *testing.T) {
	forCases(t, func(c testCase) [][2]string {
		o := decode(bytes.NewReader(c.pickle), int64(len(c.pickle)))
		if again := decode(iotest.OneByteReader(bytes.NewReader(c.pickle)), int64(len(c.pickle))); again.String() != o.String() {
			t.Errorf("%s: byte by byte it is %v, in one piece %v", c.name, again, o)
		}
		if o.err != nil {
			if o.result.Bytes > int64(len(c.pickle)) {
				t.Errorf("%s: %d bytes consumed of %d", c.name, o.result.Bytes, len(c.pickle))
			}
			return [][2]string{{"error", o.err.Error()}, {"left", o.value}}
		}
		sections := [][2]string{{"want", o.value}}
		if o.result.NeedsTree {
			sections = append(sections, [2]string{"tree", decodeFull(c.pickle).String()})
		}
		return sections
	})
}

// Without a known size, lengths are believed only as far as bytes arrive.
func TestClaimsWithoutSize(t *testing.T) {
	for _, text := range []string{
		`BINUNICODE len=50000000 "x"`, `BINBYTES8 len=1152921504606846976 "x"`, `BYTEARRAY8 len=1152921504606846976 "x"`,
		`BINBYTES len=4294967295 "x"`, `FRAME 1152921504606846976`, `LONG4 len=200 1`,
	} {
		b := testpickle.Must(t, text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := decode(bytes.NewReader(b), -1)
		runtime.ReadMemStats(&after)
		var e *pickle.Error
		if !errors.As(o.err, &e) || !e.Truncated() {
			t.Errorf("%s: %v, want a truncated file", text, o.err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%s: %d bytes allocated", text, n)
		}
	}
}
