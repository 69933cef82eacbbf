package jsonvalue_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/snapview/snapview/internal/jsonvalue"
	"github.com/snapview/snapview/internal/value"
)

// taker is a Shaper that takes objects whose first key is "action", and refuses
// those where it is no string.
type taker struct {
	h     *value.Heap
	taken int
}

func (s *taker) Dict(items []value.Value) (value.Value, bool, error) {
	if s.h.Text(items[0]) != "action" {
		return value.Nil, false, nil
	}
	if _, ok := items[1].StringID(); !ok {
		return value.Nil, false, errors.New("action: want a string")
	}
	s.taken++
	return value.MakeExt(1, s.taken), true, nil
}

func decode(r io.Reader) (string, int64, error) {
	h := &value.Heap{}
	root, n, err := jsonvalue.Decode(r, h, &taker{h: h})
	return h.Text(root), n, err
}

var cases = []struct{ name, json, want, err string }{
	{"scalars", `[null, true, false, 0, -5, 1.5, 1e3, "x"]`, `[None, true, false, 0, -5, 1.5, 1000, "x"]`, ""},
	{"large integers", `[9223372036854775807, 9223372036854775808, 18446744073709551615, -9223372036854775808, 18446744073709551616]`,
		`[9223372036854775807, 9223372036854775808, 18446744073709551615, -9223372036854775808, 1.8446744073709552e+19]`, ""},
	{"containers", `{"a": [], "b": {}, "c": [[1]]}`, `{"a": [], "b": {}, "c": [[1]]}`, ""},
	{"records", `[{"action": "alloc", "size": 1}, {"action": "one key is not offered"}]`, `[<record>, {"action": "one key is not offered"}]`, ""},
	{"same key twice", `{"a": 1, "a": 2}`, `{"a": 1, "a": 2}`, ""},
	{"escapes", `"\u00e9\ud83d\ude00\n"`, "é😀\n", ""},
	{"invalid UTF-8", "\"a\xff\"", "a\ufffd", ""},
	{"space around", " [1] \n", "[1]", ""},
	{"nothing", "", "None", "the file ends early, at byte 0"},
	{"cut in a list", `{"device_traces": [[{"action": "alloc", "size": 1}, {"action": "alloc", "si`, `{"device_traces": [[<record>]]}`,
		"the file ends early, at byte 70, in device_traces[0][1].action"},
	{"cut after a key", `{"a": 1, "b":`, `{"a": 1}`, "the file ends early, at byte 12, in b"},
	{"refused", `{"device_traces": [[{"action": 5, "size": 1}]]}`, `{"device_traces": [[]]}`, "action: want a string, at byte 44, in device_traces[0][0]"},
	{"more behind", `[1] [2]`, "[1]", "more follows the end of the document, at byte 5"},
	{"syntax", `[1, }`, "[1]", "at byte 2, in [0]"},
	{"NaN", `[NaN]`, "[]", "invalid character 'N'"},
	{"too large a number", `[1e999]`, "[]", "a number is out of range"},
	{"deep", strings.Repeat("[", 20000), "", "exceeded max depth"},
}

func TestDecode(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got, n, err := decode(strings.NewReader(tt.json))
			if got != tt.want && tt.want != "" {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if n > int64(len(tt.json)) {
				t.Errorf("%d bytes read of %d", n, len(tt.json))
			}
			if again, _, _ := decode(iotest.OneByteReader(strings.NewReader(tt.json))); again != got {
				t.Errorf("byte by byte it is %s", again)
			}
		})
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"[1, ", "[1]"} {
		if _, _, err := decode(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Any text decodes without a panic, in one piece as byte by byte, and a cut
// document is never whole.
func FuzzJSON(f *testing.F) {
	for _, c := range cases {
		f.Add(c.json)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := decode(strings.NewReader(text))
		again, _, err2 := decode(iotest.OneByteReader(strings.NewReader(text)))
		if got != again || (err == nil) != (err2 == nil) { // the words differ with what the decoder sees ahead
			t.Errorf("byte by byte %s, %v; in one piece %s, %v", again, err2, got, err)
		}
		var e *jsonvalue.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("an error without a place: %v", err)
		}
		if err == nil && (strings.HasSuffix(text, "]") || strings.HasSuffix(text, "}")) {
			if _, _, err := decode(strings.NewReader(text[:len(text)-1])); err == nil {
				t.Errorf("%q is whole without its end", text)
			}
		}
	})
}
