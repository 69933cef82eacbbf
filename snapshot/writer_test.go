package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/snapview/snapview/internal/testpickle"
)

// Documents for tests: what a Python program would hold before it dumps it.
type (
	doc    []pair // a dict, in order
	pair   struct{ key, val any }
	list   []any
	tuple  []any
	opcode string // pickle opcodes in text form that leave one value on the stack
	// shared is stored in the memo when it is first written, and referred to
	// from then on.
	shared struct{ val any }
)

// kv makes a dict from keys and values in turn.
func kv(items ...any) doc {
	d := make(doc, 0, len(items)/2)
	for i := 0; i+1 < len(items); i += 2 {
		d = append(d, pair{items[i], items[i+1]})
	}
	return d
}

// with returns a copy of a dict with one more key.
func (d doc) with(key, val any) doc { return append(d[:len(d):len(d)], pair{key, val}) }

// toPickle writes protocol 4 as PyTorch's Python side does: every dict at one go.
func toPickle(t testing.TB, v any) []byte {
	w := pickleWriter{t: t, memo: map[*shared]int{}}
	w.out = append(w.out, 0x80, 4)
	w.value(v)
	return append(w.out, '.')
}

type pickleWriter struct {
	t    testing.TB
	out  []byte
	memo map[*shared]int
}

func (w *pickleWriter) op(code byte, rest ...byte) { w.out = append(append(w.out, code), rest...) }

func (w *pickleWriter) value(v any) {
	switch v := v.(type) {
	case nil:
		w.op('N')
	case bool:
		w.op(map[bool]byte{true: 0x88, false: 0x89}[v])
	case int:
		w.integer(int64(v))
	case int64:
		w.integer(v)
	case uint64:
		if v > math.MaxInt64 {
			w.op(0x8a, append(binary.LittleEndian.AppendUint64([]byte{9}, v), 0)...)
			return
		}
		w.integer(int64(v))
	case float64:
		w.op('G', binary.BigEndian.AppendUint64(nil, math.Float64bits(v))...)
	case string:
		w.text(v)
	case list:
		w.op(']')
		w.items(v, 'e')
	case tuple:
		w.op('(')
		for _, item := range v {
			w.value(item)
		}
		w.op('t')
	case doc:
		w.op('}')
		var items []any
		for _, p := range v {
			items = append(items, p.key, p.val)
		}
		w.items(items, 'u')
	case opcode:
		w.out = append(w.out, testpickle.Must(w.t, string(v))...)
	case *shared:
		w.share(v)
	default:
		w.t.Fatalf("no way to write a %T", v)
	}
}

func (w *pickleWriter) integer(n int64) {
	switch {
	case n >= 0 && n < 256:
		w.op('K', byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		w.op('J', binary.LittleEndian.AppendUint32(nil, uint32(n))...)
	default:
		w.op(0x8a, binary.LittleEndian.AppendUint64([]byte{8}, uint64(n))...)
	}
}

func (w *pickleWriter) text(s string) {
	if len(s) < 256 {
		w.op(0x8c, append([]byte{byte(len(s))}, s...)...)
		return
	}
	w.op('X', append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)...)
}

func (w *pickleWriter) items(items []any, fill byte) {
	if len(items) == 0 {
		return
	}
	w.op('(')
	for _, item := range items {
		w.value(item)
	}
	w.op(fill)
}

func (w *pickleWriter) share(s *shared) {
	if i, ok := w.memo[s]; ok {
		w.op('j', binary.LittleEndian.AppendUint32(nil, uint32(i))...)
		return
	}
	w.value(s.val)
	w.memo[s] = len(w.memo)
	w.op(0x94)
}

// toJSON writes the same document as JSON. Opcodes have no JSON form.
func toJSON(t testing.TB, v any) []byte {
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err := writeJSON(e, v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

func writeJSON(e *jsontext.Encoder, v any) error {
	switch v := v.(type) {
	case nil:
		return e.WriteToken(jsontext.Null)
	case bool:
		return e.WriteToken(jsontext.Bool(v))
	case int:
		return e.WriteToken(jsontext.Int(int64(v)))
	case int64:
		return e.WriteToken(jsontext.Int(v))
	case uint64:
		return e.WriteToken(jsontext.Uint(v))
	case *big.Int:
		return e.WriteValue(jsontext.Value(v.String()))
	case float64:
		return e.WriteToken(jsontext.Float(v))
	case string:
		return e.WriteToken(jsontext.String(v))
	case *shared:
		return writeJSON(e, v.val)
	case list:
		return writeArray(e, v)
	case tuple:
		return writeArray(e, v)
	case doc:
		return writeObject(e, v)
	}
	return fmt.Errorf("no way to write a %T", v)
}

func writeArray(e *jsontext.Encoder, items []any) error {
	if err := e.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, item := range items {
		if err := writeJSON(e, item); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndArray)
}

func writeObject(e *jsontext.Encoder, d doc) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, p := range d {
		if err := e.WriteToken(jsontext.String(fmt.Sprint(p.key))); err != nil {
			return err
		}
		if err := writeJSON(e, p.val); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}
