package testpickle

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// dumps are pickle.dumps({"segments": [{"device": 0, "address": 139617441415168,
// "f": 1.5, "t": (1, 2), "b": True, "n": None, "neg": -300}]}) by CPython.
var dumps = map[string]string{
	"protocol 0": "(dp0\nVsegments\np1\n(lp2\n(dp3\nVdevice\np4\nI0\nsVaddress\np5\nL139617441415168L\nsVf\np6\nF1.5\nsVt\np7\n(I1\nI2\ntp8\nsVb\np9\nI01\nsVn\np10\nNsVneg\np11\nI-300\nsas.",
	"protocol 1": "}q\x00X\x08\x00\x00\x00segmentsq\x01]q\x02}q\x03(X\x06\x00\x00\x00deviceq\x04K\x00X\x07\x00\x00\x00addressq\x05L139617441415168L\nX\x01\x00\x00\x00fq\x06G?\xf8\x00\x00\x00\x00\x00\x00X\x01\x00\x00\x00tq\x07(K\x01K\x02tq\x08X\x01\x00\x00\x00bq\x09I01\nX\x01\x00\x00\x00nq\nNX\x03\x00\x00\x00negq\x0bJ\xd4\xfe\xff\xffuas.",
	"protocol 2": "\x80\x02}q\x00X\x08\x00\x00\x00segmentsq\x01]q\x02}q\x03(X\x06\x00\x00\x00deviceq\x04K\x00X\x07\x00\x00\x00addressq\x05\x8a\x06\x00\x00\x008\xfb~X\x01\x00\x00\x00fq\x06G?\xf8\x00\x00\x00\x00\x00\x00X\x01\x00\x00\x00tq\x07K\x01K\x02\x86q\x08X\x01\x00\x00\x00bq\x09\x88X\x01\x00\x00\x00nq\nNX\x03\x00\x00\x00negq\x0bJ\xd4\xfe\xff\xffuas.",
	"protocol 4": "\x80\x04\x95_\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x08segments\x94]\x94}\x94(\x8c\x06device\x94K\x00\x8c\x07address\x94\x8a\x06\x00\x00\x008\xfb~\x8c\x01f\x94G?\xf8\x00\x00\x00\x00\x00\x00\x8c\x01t\x94K\x01K\x02\x86\x94\x8c\x01b\x94\x88\x8c\x01n\x94N\x8c\x03neg\x94J\xd4\xfe\xff\xffuas.",
}

// texts are the dumps in text form, checked against pickletools.dis.
var texts = map[string]string{
	"protocol 0": `    0: MARK
    1: DICT
    2: PUT 0
    5: UNICODE segments
   15: PUT 1
   18: MARK
   19: LIST
   20: PUT 2
   23: MARK
   24: DICT
   25: PUT 3
   28: UNICODE device
   36: PUT 4
   39: INT 0
   42: SETITEM
   43: UNICODE address
   52: PUT 5
   55: LONG 139617441415168L
   73: SETITEM
   74: UNICODE f
   77: PUT 6
   80: FLOAT 1.5
   85: SETITEM
   86: UNICODE t
   89: PUT 7
   92: MARK
   93: INT 1
   96: INT 2
   99: TUPLE
  100: PUT 8
  103: SETITEM
  104: UNICODE b
  107: PUT 9
  110: INT 01
  114: SETITEM
  115: UNICODE n
  118: PUT 10
  122: NONE
  123: SETITEM
  124: UNICODE neg
  129: PUT 11
  133: INT -300
  139: SETITEM
  140: APPEND
  141: SETITEM
  142: STOP
`,
	"protocol 4": `    0: PROTO 4
    2: FRAME 95
   11: EMPTY_DICT
   12: MEMOIZE
   13: SHORT_BINUNICODE "segments"
   23: MEMOIZE
   24: EMPTY_LIST
   25: MEMOIZE
   26: EMPTY_DICT
   27: MEMOIZE
   28: MARK
   29: SHORT_BINUNICODE "device"
   37: MEMOIZE
   38: BININT1 0
   40: SHORT_BINUNICODE "address"
   49: MEMOIZE
   50: LONG1 139617441415168
   58: SHORT_BINUNICODE "f"
   61: MEMOIZE
   62: BINFLOAT 1.5
   71: SHORT_BINUNICODE "t"
   74: MEMOIZE
   75: BININT1 1
   77: BININT1 2
   79: TUPLE2
   80: MEMOIZE
   81: SHORT_BINUNICODE "b"
   84: MEMOIZE
   85: NEWTRUE
   86: SHORT_BINUNICODE "n"
   89: MEMOIZE
   90: NONE
   91: SHORT_BINUNICODE "neg"
   96: MEMOIZE
   97: BININT -300
  102: SETITEMS
  103: APPEND
  104: SETITEM
  105: STOP
`,
}

func TestDumps(t *testing.T) {
	for name, dump := range dumps {
		got, err := Disassemble([]byte(dump))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want, ok := texts[name]; ok && got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		back, err := Assemble(got)
		if err != nil || string(back) != dump {
			t.Errorf("%s: reassembled as %q, %v", name, back, err)
		}
	}
}

// cases are single lines and the bytes they stand for.
var cases = []struct{ line, bytes string }{
	{"", ""},
	{"  # nothing", ""},
	{"MARK # an opcode", "("},
	{"  12: STOP", "."},
	{"RAW ff00 01", "\xff\x00\x01"},
	{"PROTO 255", "\x80\xff"},
	{"BININT -1", "J\xff\xff\xff\xff"},
	{"BININT2 0xfffe", "M\xfe\xff"},
	{"LONG_BINGET 4294967295", "j\xff\xff\xff\xff"},
	{"EXT4 -2", "\x84\xfe\xff\xff\xff"},
	{"BINFLOAT -inf", "G\xff\xf0\x00\x00\x00\x00\x00\x00"},
	{"BINFLOAT bits:7ff8000000000002", "G\x7f\xf8\x00\x00\x00\x00\x00\x02"},
	{"LONG1 0", "\x8a\x00"},
	{"LONG1 127", "\x8a\x01\x7f"},
	{"LONG1 128", "\x8a\x02\x80\x00"},
	{"LONG1 -1", "\x8a\x01\xff"},
	{"LONG1 -128", "\x8a\x01\x80"},
	{"LONG1 -129", "\x8a\x02\x7f\xff"},
	{"LONG1 18446744073709551616", "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"},
	{"LONG1 hex:0000", "\x8a\x02\x00\x00"},
	{"LONG4 len=-1 hex:01", "\x8b\xff\xff\xff\xff\x01"},
	{"LONG4 -2", "\x8b\x01\x00\x00\x00\xfe"},
	{`SHORT_BINUNICODE "é # \xff\n"`, "\x8c\x07\xc3\xa9 # \xff\n"},
	{`SHORT_BINBYTES bare`, "C\x04bare"},
	{`BINSTRING "a"`, "T\x01\x00\x00\x00a"},
	{`BINUNICODE8 len=1152921504606846976 "x"`, "\x8d\x00\x00\x00\x00\x00\x00\x00\x10x"},
	{`BINBYTES len=2 "xyz"`, "B\x02\x00\x00\x00xyz"},
	{`STRING "'a'"`, "S'a'\n"},
	{`UNICODE ""`, "V\n"},
	{`GLOBAL collections "Ordered Dict"`, "ccollections\nOrdered Dict\n"},
	{`INST a b`, "ia\nb\n"},
	{"FRAME 18446744073709551615", "\x95\xff\xff\xff\xff\xff\xff\xff\xff"},
	{"FRAME auto\nNONE\nFRAME auto\nPOP\nSTOP", "\x95\x01\x00\x00\x00\x00\x00\x00\x00N\x95\x02\x00\x00\x00\x00\x00\x00\x000."},
}

func TestAssemble(t *testing.T) {
	for _, c := range cases {
		got, err := Assemble(c.line)
		if err != nil || string(got) != c.bytes {
			t.Errorf("%s: %q, %v; want %q", c.line, got, err, c.bytes)
		}
	}
}

func TestAssembleErrors(t *testing.T) {
	for text, want := range map[string]string{
		"MARK\nBININT3 1":       `line 2: unknown opcode "BININT3"`,
		"BININT1":               "line 1: BININT1 takes 1 arguments, not 0",
		"MARK 1":                "line 1: MARK takes 0 arguments, not 1",
		"GLOBAL a":              "line 1: GLOBAL takes 2 arguments, not 1",
		`BINUNICODE 1 "x"`:      "line 1: BINUNICODE takes 1 arguments, not 2",
		"BININT1 256":           `line 1: BININT1: "256" is no number of 1 bytes`,
		"BININT2 -1":            `line 1: BININT2: "-1" is no number of 2 bytes`,
		"LONG1 x":               `line 1: LONG1: "x" is no number`,
		`UNICODE "a\nb"`:        `line 1: UNICODE: a newline would end "a\nb" early`,
		`SHORT_BINUNICODE "abc`: `line 1: bad quoting in "\"abc"`,
		`SHORT_BINBYTES "` + strings.Repeat("x", 256) + `"`: `line 1: SHORT_BINBYTES: "256" is no number of 1 bytes`,
	} {
		if _, err := Assemble(text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestDisassembleErrors(t *testing.T) {
	for _, c := range []struct {
		name, bytes, text, err string
		cut                    bool
	}{
		{"unknown opcode", "N\xff\x00", "    0: NONE\n    1: RAW ff00\n", "unknown opcode 0xff at byte 1", false},
		{"integer cut", "NJ\x01", "    0: NONE\n    1: RAW 4a01\n", "BININT at byte 1: unexpected EOF", true},
		{"line cut", "I12", "    0: RAW 493132\n", "INT at byte 0: unexpected EOF", true},
		{"string cut", "\x8c\x05ab", "    0: SHORT_BINUNICODE len=5 \"ab\"\n", "SHORT_BINUNICODE at byte 0: unexpected EOF", true},
		{"no string", "\x8c\x05", "    0: SHORT_BINUNICODE len=5 \"\"\n", "SHORT_BINUNICODE at byte 0: unexpected EOF", true},
		{"huge claim", string(Must(t, `BINUNICODE8 len=1152921504606846976 "x"`)), "    0: BINUNICODE8 len=1152921504606846976 \"x\"\n", "BINUNICODE8 at byte 0: unexpected EOF", true},
		{"negative claim", "T\xff\xff\xff\xffx", "    0: BINSTRING len=-1 \"x\"\n", "BINSTRING at byte 0: unexpected EOF", true},
		{"after the end", "N.xyz", "    0: NONE\n    1: STOP\n    2: RAW 78797a\n", "", false},
		{"two pickles", "\x80\x02N.\x80\x02N.", "    0: PROTO 2\n    2: NONE\n    3: STOP\n    4: PROTO 2\n    6: NONE\n    7: STOP\n", "", false},
	} {
		text, err := Disassemble([]byte(c.bytes))
		if text != c.text {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.text)
		}
		if got := message(err); got != c.err || errors.Is(err, io.ErrUnexpectedEOF) != c.cut {
			t.Errorf("%s: error %q, want %q", c.name, got, c.err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOpcodesAreDistinct(t *testing.T) {
	const inPickletools = 68 // len(pickletools.opcodes) since Python 3.8
	if len(opcodes) != inPickletools || len(byName) != inPickletools {
		t.Errorf("%d opcodes, %d names", len(opcodes), len(byName))
	}
	codes := 0
	for _, op := range byCode {
		if op != nil {
			codes++
		}
	}
	if codes != inPickletools {
		t.Errorf("%d codes", codes)
	}
}

// Any bytes survive the way to text and back.
func FuzzRoundTrip(f *testing.F) {
	for _, dump := range dumps {
		f.Add([]byte(dump))
	}
	for _, c := range cases {
		f.Add([]byte(c.bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, _ := Disassemble(b)
		back, err := Assemble(text)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%q became\n%s\nand %q, %v", b, text, back, err)
		}
	})
}
