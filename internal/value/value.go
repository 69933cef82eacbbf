// Package value holds decoded data compactly: a Value is one 64-bit word, and
// everything that does not fit in it lives in a Heap. The pickle machine, the
// JSON reader and the gopickle bridge all produce Values, so that the meaning
// of a file is written once, against this form.
package value

// A Value is a handle: the low four bits say what it is, the rest is the
// content or an index into the Heap.
type Value uint64

// Kind says what a Value is.
type Kind uint8

const (
	None   Kind = iota
	Int         // signed, 60 bits in the handle
	Big         // longer integers, in the heap
	Float       // in the heap
	Str         // interned in the heap
	Bool        //
	Object      // list, dict, tuple, set, bytes or opaque, in the heap
	Ext         // a record that a Shaper has taken over
	Pair        // a tuple of two small non-negative integers
)

const (
	tagBits   = 4
	tagMask   = 1<<tagBits - 1
	pairBits  = 30
	pairLimit = 1 << pairBits
	intLimit  = int64(1) << 59
	extBits   = 8
)

// Nil is the Value of None.
const Nil = Value(None)

func (v Value) Kind() Kind      { return Kind(v & tagMask) }
func (v Value) payload() uint64 { return uint64(v) >> tagBits }

// handle makes a Value that refers to heap entry i.
func handle(k Kind, i int) Value { return Value(uint64(i)<<tagBits | uint64(k)) }

// MakeBool returns the Value of a boolean.
func MakeBool(b bool) Value {
	if b {
		return handle(Bool, 1)
	}
	return handle(Bool, 0)
}

// SmallInt returns the Value of an integer of at most 32 bits.
func SmallInt(n int64) Value { return Value(uint64(n)<<tagBits | uint64(Int)) }

// MakeExt returns the Value of record id of the given class.
func MakeExt(class uint8, id int) Value {
	return Value(uint64(id)<<(tagBits+extBits) | uint64(class)<<tagBits | uint64(Ext))
}

// Ext returns class and id of a Value made by MakeExt.
func (v Value) Ext() (class uint8, id int, ok bool) {
	if v.Kind() != Ext {
		return 0, 0, false
	}
	return uint8(v >> tagBits), int(v >> (tagBits + extBits)), true
}

// IsExt reports whether v is a record of the given class, and its id.
func (v Value) IsExt(class uint8) (id int, ok bool) {
	if v&(1<<(tagBits+extBits)-1) != Value(class)<<tagBits|Value(Ext) {
		return 0, false
	}
	return int(v >> (tagBits + extBits)), true
}

// IntPair returns the items of a Pair, without allocating.
func (v Value) IntPair() (first, second int64, ok bool) {
	p := v.payload()
	return int64(p >> pairBits), int64(p & (pairLimit - 1)), v.Kind() == Pair
}

// StringID returns the intern number of a string.
func (v Value) StringID() (uint32, bool) {
	return uint32(v >> tagBits), v.Kind() == Str
}

// MakeStr returns the Value of the interned string id.
func MakeStr(id uint32) Value { return handle(Str, int(id)) }
