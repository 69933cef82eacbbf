package pickle_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/snapview/snapview/internal/pickle"
	"github.com/snapview/snapview/internal/testpickle"
	"github.com/snapview/snapview/internal/value"
)

// Bombs are small files that would take much more memory than their bytes. The
// messages name the limit.
func TestLimits(t *testing.T) {
	const many = 1 << 20
	tests := []struct {
		name, want string
		data       []byte
	}{
		{"marks", "nest deeper than the limit of 1000", bytes.Repeat([]byte("("), 1001)},
		{"nested lists", "nest deeper than the limit of 1000", bytes.Repeat([]byte("](K\x01"), 1001)},
		{"stack", "values are waiting for a container, over the limit of", bytes.Repeat([]byte("N"), many)},
		{"duplicates", "values are waiting for a container, over the limit of", append([]byte("]"), bytes.Repeat([]byte("2"), many)...)},
		{"memo", "memo entries are stored, over the limit of", append([]byte("\x80\x04N"), bytes.Repeat([]byte("\x94"), many)...)},
		{"nested tuples", "containers are filled, over the limit of", append([]byte("\x80\x02N"), bytes.Repeat([]byte("\x85"), many)...)},
		{"made and popped", "containers are made, over the limit of", append([]byte("\x80\x02"), bytes.Repeat([]byte("]0"), many)...)},
		{"line", "longer than the limit of 4096 bytes", []byte("I" + strings.Repeat("1", 5000) + "\n.")},
		{"line in no newline", "longer than the limit of 4096 bytes", []byte("I" + strings.Repeat("1", many))},
		{"string", "over the limit of 67108864", []byte("X\x01\x00\x00\x04")},
		{"number", "over the limit of 256", []byte("\x8b\x01\x01\x00\x00" + strings.Repeat("1", 257))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o := decode(bytes.NewReader(tt.data), -1)
			runtime.ReadMemStats(&after)
			if o.err == nil || !strings.Contains(o.err.Error(), tt.want) {
				t.Errorf("got %v, want %q", o.err, tt.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20+64*uint64(len(tt.data)) {
				t.Errorf("%d bytes allocated for a file of %d", n, len(tt.data))
			}
		})
	}
}

// nested is a list in a list and so on, built without a MARK.
func nested(depth int) []byte {
	return append(append(bytes.Repeat([]byte("]"), depth), bytes.Repeat([]byte("a"), depth-1)...), '.')
}

func TestDeepLists(t *testing.T) {
	if o := decode(bytes.NewReader(nested(100_000)), -1); o.err != nil {
		t.Error(o.err)
	}
	bomb := append([]byte("\x80\x02ctorch\nSize\n0"), nested(5000)...)
	if o := decodeFull(bomb); o.err == nil || !strings.Contains(o.err.Error(), "nest deeper than the limit of 1000") {
		t.Errorf("full: %v", o.err)
	}
}

// A list or dict that is copied by call after call counts each time.
func TestCopiesAreCounted(t *testing.T) {
	const n, times = 10_000, 1000
	items := strings.Repeat("K\x01", n)
	entries := strings.Repeat("NN", n)
	for name, code := range map[string]string{
		"list":      "](" + items + "eq\x000ccollections\ndeque\nq\x010" + "](" + strings.Repeat("h\x01h\x00\x85R", times) + "e.",
		"tuple":     "(" + items + "tq\x000ccollections\ndeque\nq\x010" + "](" + strings.Repeat("h\x01h\x00\x85R", times) + "e.",
		"dict":      "}(" + entries + "uq\x000ccollections\nCounter\nq\x010" + "](" + strings.Repeat("h\x01h\x00\x85R", times) + "e.",
		"namespace": "}(" + entries + "uq\x000cargparse\nNamespace\nq\x010" + "](" + strings.Repeat("h\x01)\x81h\x00b", times) + "e.",
	} {
		data := []byte("\x80\x02" + code)
		if o := decode(bytes.NewReader(data), -1); o.err != nil || !o.result.NeedsTree {
			t.Fatalf("%s: %v", name, o.err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := pickle.DecodeFull(bytes.NewReader(data), &value.Heap{}, nil)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "the same containers are copied again and again") {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(data))
		}
	}
}

// Sets of large shared tuples are not rendered without limit to sort them.
func TestSetOfTuples(t *testing.T) {
	code := "ctorch\nSize\n0(" + strings.Repeat("X\x3c\x00\x00\x00"+strings.Repeat("a", 60), 900) + "tq\x000\x8f("
	for i := range 5000 {
		code += "h\x00M" + string([]byte{byte(i), byte(i >> 8)}) + "\x86"
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := decodeFull([]byte("\x80\x04" + code + "\x90."))
	runtime.ReadMemStats(&after)
	if o.err != nil {
		t.Fatal(o.err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("%d bytes allocated for a file of %d", n, len(code))
	}
}

// The place in a message about a tree stays short.
func TestTreePathIsClipped(t *testing.T) {
	o := decodeFull([]byte("\x80\x02ctorch\nSize\n0" + strings.Repeat("](", 500) + "]q\x00h\x00a" + strings.Repeat("e", 500) + "."))
	if o.err == nil || len(o.err.Error()) > 700 || !strings.HasSuffix(o.err.Error(), "…") {
		t.Errorf("%v", o.err)
	}
}

// A failing reader's error comes through as it is.
func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, data := range []string{"\x80\x04](", "\x80\x04](\x8c\x05ab", "\x80\x04](Iab", "\x80\x04](B\xff\x00\x00\x00ab", "N."} {
		o := decode(io.MultiReader(strings.NewReader(data), iotest.ErrReader(broken)), -1)
		if !errors.Is(o.err, broken) {
			t.Errorf("%q: %v", data, o.err)
		}
	}
}

// smallSnapshot looks like what PyTorch writes, tiny.
const smallSnapshot = `
PROTO 4
FRAME auto
EMPTY_DICT
MEMOIZE
MARK
SHORT_BINUNICODE "segments"
MEMOIZE
EMPTY_LIST
MEMOIZE
EMPTY_DICT
MEMOIZE
MARK
SHORT_BINUNICODE "address"
MEMOIZE
LONG1 139617441415168
SHORT_BINUNICODE "blocks"
MEMOIZE
EMPTY_LIST
MEMOIZE
MARK
EMPTY_DICT
MEMOIZE
MARK
SHORT_BINUNICODE "size"
MEMOIZE
BININT 2097152
SHORT_BINUNICODE "state"
MEMOIZE
BINUNICODE "inactive"
MEMOIZE
SETITEMS
EMPTY_DICT
MEMOIZE
MARK
BINGET 8
BININT2 512
BINGET 9
BINGET 10
SETITEMS
APPENDS
SETITEMS
APPEND
SHORT_BINUNICODE "device_traces"
MEMOIZE
EMPTY_LIST
MEMOIZE
EMPTY_LIST
MEMOIZE
MARK
EMPTY_DICT
MEMOIZE
MARK
SHORT_BINUNICODE "action"
MEMOIZE
SHORT_BINUNICODE "alloc"
MEMOIZE
SHORT_BINUNICODE "time"
MEMOIZE
BINFLOAT 1.5
SHORT_BINUNICODE "pool_id"
MEMOIZE
BININT1 0
BININT1 1
TUPLE2
MEMOIZE
SETITEMS
EMPTY_DICT
MEMOIZE
MARK
BINGET 16
BINGET 17
SHORT_BINUNICODE "long"
MEMOIZE
BINUNICODE8 "x"
MEMOIZE
SETITEMS
APPENDS
APPEND
SETITEMS
STOP
`

// A cut at any byte is noticed, at the opcode that is not whole, and what is
// left is a part of the whole.
func TestTruncated(t *testing.T) {
	data := testpickle.Must(t, smallSnapshot)
	whole := decode(bytes.NewReader(data), -1)
	if whole.err != nil {
		t.Fatal(whole.err)
	}
	starts := opcodeStarts(t, data)
	most := 0
	for cut := range data {
		for _, size := range []int64{-1, int64(cut), int64(len(data))} {
			o := decode(bytes.NewReader(data[:cut]), size)
			var e *pickle.Error
			if !errors.As(o.err, &e) || !e.Truncated() {
				t.Fatalf("cut at %d: %v", cut, o.err)
			}
			if want := starts[cut]; e.Offset != want {
				t.Errorf("cut at %d: offset %d, want %d", cut, e.Offset, want)
			}
			if o.value == whole.value && cut < len(data)-len("eaau.") {
				t.Errorf("cut at %d: it looks whole", cut)
			}
			if got := shape(o.value); !strings.HasPrefix(shape(whole.value), got) {
				t.Errorf("cut at %d: %s is no beginning of %s", cut, o.value, whole.value)
			}
			if len(o.value) < most {
				t.Errorf("cut at %d: less is left than before: %s", cut, o.value)
			}
			if most = len(o.value); o.value == "None" {
				most = 0
			}
		}
	}
}

// shape drops what closes containers at the end, for a comparison of beginnings.
func shape(s string) string {
	if s == "None" {
		return ""
	}
	return strings.TrimRight(s, "]}")
}

// opcodeStarts gives for each cut the offset of the opcode that it falls in.
func opcodeStarts(t *testing.T, data []byte) []int64 {
	t.Helper()
	text, err := testpickle.Disassemble(data)
	if err != nil {
		t.Fatal(err)
	}
	starts := make([]int64, len(data)+1)
	for line := range strings.Lines(text) {
		var at int64
		for _, c := range strings.TrimLeft(line, " ") {
			if c == ':' {
				break
			}
			at = at*10 + int64(c-'0')
		}
		for i := at + 1; int(i) < len(starts); i++ {
			starts[i] = at
		}
		starts[at] = at
	}
	return starts
}
