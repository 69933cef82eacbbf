package value

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ObjectKind says what a heap object is.
type ObjectKind uint8

const (
	List ObjectKind = iota
	Dict
	Tuple
	Set
	Bytes
	Opaque // the result of a call that is never made
)

var objectNames = [...]string{"a list", "a dict", "a tuple", "a set", "bytes", "an object"}

func (k ObjectKind) String() string { return objectNames[k] }

// A Heap owns what Values refer to. Containers cost one word each while empty
// or once a Shaper has replaced them; only containers in use own a slice, and
// released slices are used again.
type Heap struct {
	Strings Strings
	bigs    []bigInt
	floats  []float64
	objects Pages[uint64] // see object states below
	slots   [][]Value
	free    []uint32
}

// An object word is kind | state<<objectKindBits | slot<<slotShift, or, once
// replaced, with class and id of the record where the slot was.
const (
	objectKindBits = 3
	stateEmpty     = 0
	stateItems     = 1
	stateReplaced  = 2
	stateRun       = 3 // the slot holds the first of consecutive records, and how many there are
	stateBits      = 2
	slotShift      = objectKindBits + stateBits
)

// bigInt is an integer of 60 to 64 bits; wide marks what does not fit a uint64.
type bigInt struct {
	magnitude uint64
	negative  bool
	wide      bool
}

// New adds an empty container.
func (h *Heap) New(k ObjectKind) Value {
	h.objects.Append(uint64(k))
	return handle(Object, h.objects.Len()-1)
}

// NewWith adds a container that holds a copy of items (for a Dict: keys and
// values in turn). A tuple of two small non-negative integers needs no object.
func (h *Heap) NewWith(k ObjectKind, items []Value) Value {
	if k == Tuple && len(items) == 2 {
		if p, ok := makePair(items[0], items[1]); ok {
			return p
		}
	}
	v := h.New(k)
	h.Append(v, items)
	return v
}

func makePair(a, b Value) (Value, bool) {
	if a.Kind() != Int || b.Kind() != Int || a.payload() >= pairLimit || b.payload() >= pairLimit {
		return 0, false
	}
	return Value(a.payload()<<(tagBits+pairBits) | b.payload()<<tagBits | uint64(Pair)), true
}

// Append adds items to a container (for a Dict: keys and values in turn). It
// reports false when v cannot take items: not a container, or replaced.
func (h *Heap) Append(v Value, items []Value) bool {
	if v.Kind() != Object {
		return false
	}
	o := h.objects.At(int(v.payload()))
	if len(items) == 0 {
		return true
	}
	switch *o >> objectKindBits & (1<<stateBits - 1) {
	case stateEmpty:
		slot := h.takeSlot()
		if n := len(items); n >= leastRun && h.follow(h.Resolve(items[0]), items) {
			*o |= stateRun<<objectKindBits | uint64(slot)<<slotShift
			h.slots[slot] = append(h.slots[slot], h.Resolve(items[0]), Value(n))
			return true
		}
		*o |= stateItems<<objectKindBits | uint64(slot)<<slotShift
		h.slots[slot] = append(h.slots[slot], items...)
	case stateRun:
		run := h.slots[*o>>slotShift]
		if h.follow(run[0]+run[1]*nextRecord, items) {
			run[1] += Value(len(items))
			return true
		}
		h.expand(o)
		return h.Append(v, items)
	case stateItems:
		slot := *o >> slotShift
		s := h.slots[slot]
		if len(s)+len(items) > cap(s) {
			s = slices.Grow(s, len(s)) // doubling: long lists grow by batches
		}
		h.slots[slot] = append(s, items...)
	default:
		return false
	}
	return true
}

// A list of events, in which each follows the one before, is by far the longest
// that files have. It is kept as a run: its first record and their number.
const (
	leastRun   = 8
	nextRecord = Value(1) << (tagBits + extBits) // from one record of a class to the next
)

// follow reports whether items are the consecutive records from next on.
func (h *Heap) follow(next Value, items []Value) bool {
	for _, v := range items {
		if v != next && h.Resolve(v) != next {
			return false
		}
		next += nextRecord
	}
	return next.Kind() == Ext
}

// Run returns the first and the number of the items of a list that is kept as a
// run of consecutive records.
func (h *Heap) Run(v Value) (first Value, n int, ok bool) {
	if v.Kind() != Object {
		return 0, 0, false
	}
	o := *h.objects.At(int(v.payload()))
	if o>>objectKindBits&(1<<stateBits-1) != stateRun {
		return 0, 0, false
	}
	run := h.slots[o>>slotShift]
	return run[0], int(run[1]), true
}

// expand makes items of a run.
func (h *Heap) expand(o *uint64) {
	slot := *o >> slotShift
	next, n := h.slots[slot][0], int(h.slots[slot][1])
	items := make([]Value, n)
	for i := range items {
		items[i] = next
		next += nextRecord
	}
	h.slots[slot] = items
	*o ^= (stateRun ^ stateItems) << objectKindBits
}

func (h *Heap) takeSlot() uint32 {
	if n := len(h.free); n > 0 {
		slot := h.free[n-1]
		h.free = h.free[:n-1]
		return slot
	}
	h.slots = append(h.slots, nil)
	return uint32(len(h.slots) - 1)
}

// Filled returns how many containers hold items of their own.
func (h *Heap) Filled() int { return len(h.slots) - len(h.free) }

// Containers returns how many containers were made.
func (h *Heap) Containers() int { return h.objects.Len() }

// largestKept bounds the capacity of a released slice that is kept for reuse.
const largestKept = 1024

// Replace lets by stand for container v from now on (everywhere, since all
// references share the object) and releases its items.
func (h *Heap) Replace(v, by Value) {
	if v.Kind() != Object {
		return
	}
	o := h.objects.At(int(v.payload()))
	if state := *o >> objectKindBits & (1<<stateBits - 1); state == stateItems || state == stateRun {
		slot := uint32(*o >> slotShift)
		if cap(h.slots[slot]) > largestKept {
			h.slots[slot] = nil
		}
		h.slots[slot] = h.slots[slot][:0]
		h.free = append(h.free, slot)
	}
	// Only records replace containers: class and id fit beside the state.
	*o = uint64(by)>>tagBits<<slotShift | stateReplaced<<objectKindBits | *o&(1<<objectKindBits-1)
}

// Resolve returns the record that stands for v, or v itself.
func (h *Heap) Resolve(v Value) Value {
	if v.Kind() != Object {
		return v
	}
	o := *h.objects.At(int(v.payload()))
	if o>>objectKindBits&(1<<stateBits-1) != stateReplaced {
		return v
	}
	return Value(o>>slotShift<<tagBits | uint64(Ext))
}

// Fresh reports whether v is an empty container that nothing replaced.
func (h *Heap) Fresh(v Value) bool {
	return v.Kind() == Object && *h.objects.At(int(v.payload()))>>objectKindBits == stateEmpty
}

// Container returns what kind of container v is; ok is false for scalars and records.
func (h *Heap) Container(v Value) (k ObjectKind, ok bool) {
	switch v.Kind() {
	case Pair:
		return Tuple, true
	case Object:
		o := *h.objects.At(int(v.payload()))
		return ObjectKind(o & (1<<objectKindBits - 1)), o>>objectKindBits&(1<<stateBits-1) != stateReplaced
	}
	return 0, false
}

// Items returns the items of a list, tuple or set, or keys and values in turn
// of a dict; nil for anything else. The result is valid until the next change. A
// run becomes items for good, so Len and Run come first where it may be long.
func (h *Heap) Items(v Value) []Value {
	switch v.Kind() {
	case Pair:
		first, second, _ := v.IntPair()
		return []Value{SmallInt(first), SmallInt(second)}
	case Object:
		o := h.objects.At(int(v.payload()))
		switch *o >> objectKindBits & (1<<stateBits - 1) {
		case stateRun:
			h.expand(o)
			fallthrough
		case stateItems:
			return h.slots[*o>>slotShift]
		}
	}
	return nil
}

// Len returns the length of Items.
func (h *Heap) Len(v Value) int {
	if _, n, ok := h.Run(v); ok {
		return n
	}
	return len(h.Items(v))
}

// Get returns the value of a key in a dict; of equal keys the last, as Python
// keeps it.
func (h *Heap) Get(dict Value, key string) (Value, bool) {
	id, known := h.Strings.Find(key)
	if !known {
		return Nil, false
	}
	items := h.Items(dict)
	for i := len(items) - 2; i >= 0; i -= 2 {
		if items[i] == MakeStr(id) {
			return items[i+1], true
		}
	}
	return Nil, false
}

// MakeInt returns the Value of a signed integer.
func (h *Heap) MakeInt(n int64) Value {
	if n >= -intLimit && n < intLimit {
		return SmallInt(n)
	}
	if n < 0 {
		return h.addBig(bigInt{magnitude: uint64(-n), negative: true})
	}
	return h.addBig(bigInt{magnitude: uint64(n)})
}

// MakeUint returns the Value of an unsigned integer.
func (h *Heap) MakeUint(n uint64) Value {
	if n < uint64(intLimit) {
		return SmallInt(int64(n))
	}
	return h.addBig(bigInt{magnitude: n})
}

// MakeBig returns the Value of an integer of any size. What does not fit 64
// bits keeps only its sign: asking for it fails.
func (h *Heap) MakeBig(n *big.Int) Value {
	if n.IsInt64() {
		return h.MakeInt(n.Int64())
	}
	if n.IsUint64() {
		return h.MakeUint(n.Uint64())
	}
	return h.addBig(bigInt{negative: n.Sign() < 0, wide: true})
}

func (h *Heap) addBig(b bigInt) Value {
	h.bigs = append(h.bigs, b)
	return handle(Big, len(h.bigs)-1)
}

// MakeFloat returns the Value of a float.
func (h *Heap) MakeFloat(f float64) Value {
	h.floats = append(h.floats, f)
	return handle(Float, len(h.floats)-1)
}

// Int64 returns an integer that fits an int64. A bool counts as 0 or 1, as in
// Python; a float counts when it is a whole number (JSON writers).
func (h *Heap) Int64(v Value) (int64, error) {
	switch v.Kind() {
	case Int:
		return int64(v) >> tagBits, nil
	case Bool:
		return int64(v.payload()), nil
	case Big:
		b := h.bigs[v.payload()]
		switch {
		case b.wide:
			return 0, fmt.Errorf("want an integer of 64 bits, have a longer one")
		case b.negative && b.magnitude <= 1<<63:
			return -int64(b.magnitude), nil
		case !b.negative && b.magnitude <= math.MaxInt64:
			return int64(b.magnitude), nil
		}
		return 0, fmt.Errorf("want an integer below 2^63, have %s", h.bigText(b))
	case Float:
		f := h.floats[v.payload()]
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), nil
		}
		return 0, fmt.Errorf("want an integer, have %v", f)
	}
	return 0, fmt.Errorf("want an integer, have %s", h.Describe(v))
}

// Uint64 returns an integer as an address: negative ones wrap, since some
// writers store addresses as signed numbers.
func (h *Heap) Uint64(v Value) (uint64, error) {
	switch v.Kind() {
	case Int:
		return uint64(int64(v) >> tagBits), nil
	case Big:
		b := h.bigs[v.payload()]
		if !b.wide && !b.negative {
			return b.magnitude, nil
		}
	}
	n, err := h.Int64(v)
	return uint64(n), err
}

// Float64 returns a number as a float.
func (h *Heap) Float64(v Value) (float64, error) {
	if v.Kind() == Float {
		return h.floats[v.payload()], nil
	}
	n, err := h.Int64(v)
	return float64(n), err
}

// Bool returns a boolean; numbers count as in Python.
func (h *Heap) Bool(v Value) (bool, error) {
	n, err := h.Int64(v)
	return n != 0, err
}

// String returns a string.
func (h *Heap) String(v Value) (string, error) {
	if id, ok := v.StringID(); ok {
		return h.Strings.Text(id), nil
	}
	return "", fmt.Errorf("want a string, have %s", h.Describe(v))
}

// Describe names what v is, for error messages.
func (h *Heap) Describe(v Value) string {
	switch v.Kind() {
	case None:
		return "None"
	case Int, Big:
		return "an integer"
	case Float:
		return "a float"
	case Str:
		return "a string"
	case Bool:
		return "a bool"
	case Pair:
		return "a tuple"
	case Object:
		if k, ok := h.Container(v); ok {
			return k.String()
		}
	}
	return "a record"
}

func (h *Heap) bigText(b bigInt) string {
	if b.wide {
		return "an integer beyond 64 bits"
	}
	s := strconv.FormatUint(b.magnitude, 10)
	if b.negative {
		s = "-" + s
	}
	return s
}

// maxTextDepth bounds how deep Text follows containers, which may contain
// themselves; maxTextBytes bounds what it writes, since shared containers may
// expand without limit.
const (
	maxTextDepth = 16
	maxTextBytes = 1 << 16
)

// Text renders v for people: strings bare, the rest as JSON-like text.
func (h *Heap) Text(v Value) string {
	if id, ok := v.StringID(); ok {
		return h.Strings.Text(id)
	}
	return string(h.appendText(nil, v, 0))
}

func (h *Heap) appendText(b []byte, v Value, depth int) []byte {
	if depth > maxTextDepth {
		return append(b, "…"...)
	}
	switch v.Kind() {
	case None:
		return append(b, "None"...)
	case Int:
		return strconv.AppendInt(b, int64(v)>>tagBits, 10)
	case Big:
		return append(b, h.bigText(h.bigs[v.payload()])...)
	case Float:
		return strconv.AppendFloat(b, h.floats[v.payload()], 'g', -1, 64)
	case Bool:
		return strconv.AppendBool(b, v.payload() != 0)
	case Str:
		// An error is only about invalid UTF-8, which is replaced.
		b, _ = jsontext.AppendQuote(b, h.Strings.Text(uint32(v.payload())))
		return b
	}
	kind, ok := h.Container(v)
	if !ok {
		return append(b, "<record>"...)
	}
	open, shut := "[", "]"
	if kind == Dict {
		open, shut = "{", "}"
	}
	b = append(b, open...)
	for i, item := range h.Items(v) {
		if i > 0 && kind == Dict && i%2 == 1 {
			b = append(b, ": "...)
		} else if i > 0 {
			b = append(b, ", "...)
		}
		b = h.appendText(b, item, depth+1)
		if len(b) > maxTextBytes {
			b = append(b, "…"...)
			break
		}
	}
	return append(b, shut...)
}
