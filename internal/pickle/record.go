package pickle

import (
	"encoding/binary"

	"github.com/snapview/snapview/internal/value"
)

// A snapshot is a long list of small dicts that look alike: keys fetched from the
// memo, always in the same order, each with a number, a string, a memo entry or a
// list of memo entries. A recordReader reads such a dict at one go: without the
// stack, marks and containers that its opcodes call for one by one, and with its
// keys compared as bytes with those of the dict before it. Whatever is not quite
// like that is left to the opcodes, from the start of the dict, so the outcome is
// the same.
type recordReader struct {
	off   bool // a memo entry was changed: what stands for bytes seen before may differ
	keys  [maxFields]recordKey
	items [2 * maxFields]value.Value // keys and values in turn
	memo  [maxFields]value.Value     // entries that the record makes
	made  int                        // how many of them
	lists listCache
}

// A recordKey is the key that the record before had in a place.
type recordKey struct {
	code, mask uint64 // of the opcode that fetched it
	size       uint8  // of the opcode, 0 when there is none
	key        value.Value
}

const (
	maxFields = 32
	// fieldBytes is more than a field takes, strings and lists apart. A record is
	// read only as far as that many bytes are left.
	fieldBytes = lookahead
)

// argForms describes the frequent opcodes with an argument of fixed size.
var argForms = [256]struct {
	size  uint8  // of the argument in bytes, 0 for other opcodes
	shift uint8  // 64 − 8·size
	fetch bool   // the argument is a memo index; else it is the value
	keep  uint64 // mask that cuts a sign off, or does not
}{
	opBinInt1:    {1, 56, false, 1<<8 - 1},
	opBinInt2:    {2, 48, false, 1<<16 - 1},
	opBinInt:     {4, 32, false, 1<<64 - 1},
	opBinGet:     {1, 56, true, 1<<8 - 1},
	opLongBinGet: {4, 32, true, 1<<32 - 1},
}

// record reads the dict whose EMPTY_DICT is at buf[at], as far as end. It returns
// what stands for the dict and the place behind it, which is 0 when the dict is not
// one to read at one go; nothing that matters has changed then.
func (m *machine) record(buf []byte, at, end int) (v value.Value, after int) {
	r, stored := &m.records, m.memo.Len()
	if r.off || m.shaper == nil || m.stored != stored || len(m.marks)+2 > MaxNesting || end-at < fieldBytes {
		return 0, 0
	}
	pos := at + 1
	self := storeSize(buf[pos:], stored)
	if pos += self; buf[pos] != opMark {
		return 0, 0
	}
	r.begin(self > 0)
	n, after := m.recordFields(buf, pos+1, end)
	if after == 0 {
		return 0, 0
	}
	v, ok := m.shape(r.items[:2*n])
	if !ok {
		return 0, 0
	}
	if self > 0 {
		r.memo[0] = v
	}
	for _, entry := range r.memo[:r.made] {
		m.memo.Append(entry)
	}
	m.stored += r.made
	return v, after
}

// begin prepares for a record, which is a memo entry itself or not.
func (r *recordReader) begin(stored bool) {
	r.made, r.lists.used, r.lists.missed = 0, false, 0
	if stored {
		r.made = 1 // known at the end
	}
}

// recordFields reads keys and values from buf[pos] up to SETITEMS. It returns how
// many there are and the place behind, 0 when they are not those of a record.
func (m *machine) recordFields(buf []byte, pos, end int) (n, after int) {
	r, stored := &m.records, m.stored
	for ; ; n++ {
		if end-pos < fieldBytes || n == maxFields || r.made == maxFields {
			return 0, 0
		}
		b, k := (*[fieldBytes]byte)(buf[pos:]), &r.keys[n]
		if x := binary.LittleEndian.Uint64(b[:]); x&k.mask != k.code || k.size == 0 {
			if byte(x) == opSetItems {
				return n, pos + 1
			}
			if !m.learnKey(k, x) {
				return 0, 0
			}
		}
		size := int(k.size & 7)
		op := b[size]
		size++
		arg := binary.LittleEndian.Uint64(b[size:])
		pos += size
		var v value.Value
		store := false // a memo entry may be made of the value
		if f := &argForms[op]; f.size > 0 {
			i := int64(uint64(int64(arg<<(f.shift&63))>>(f.shift&63)) & f.keep)
			pos += int(f.size)
			switch {
			case f.fetch:
				if i >= int64(stored) {
					return 0, 0
				}
				v = *m.memo.At(int(i))
			case buf[pos] == opBinInt1 && buf[pos+2] == opTuple2: // the id of a memory pool
				v = m.h.NewWith(value.Tuple, []value.Value{value.SmallInt(i), value.SmallInt(int64(buf[pos+1]))})
				pos += 3
				store = true
			default:
				v = value.SmallInt(i)
			}
		} else {
			switch op {
			case opLong1:
				size := byte(arg)
				if size == 0 || size > 7 { // 8 bytes may be more than a Value holds
					return 0, 0
				}
				shift := 64 - 8*size
				v = value.SmallInt(int64(binary.LittleEndian.Uint64(buf[pos+1:])<<shift) >> shift)
				pos += 1 + int(size)
			case opShortBinUnicode:
				text := pos + 1
				if pos = text + int(byte(arg)); pos > end-fieldBytes {
					return 0, 0
				}
				v = value.MakeStr(m.h.Strings.Intern(buf[text:pos]))
				store = true
			case opEmptyList:
				first := storeSize(buf[pos:], stored+r.made) // Python stores a list before it fills it, C++ after
				if v, pos = m.recordList(buf, pos+first, end); pos == 0 {
					return 0, 0
				}
				if store = first == 0; first > 0 {
					r.store(v)
				}
			case opNewTrue, opNewFalse:
				v = value.MakeBool(op == opNewTrue)
			case opNone:
				v = value.Nil
			default:
				return 0, 0
			}
		}
		if store {
			if size := storeSize(buf[pos:], stored+r.made); size > 0 {
				pos += size
				r.store(v)
			}
		}
		r.items[2*n], r.items[2*n+1] = k.key, v
	}
}

func (r *recordReader) store(v value.Value) {
	r.memo[r.made] = v
	r.made++
}

// learnKey notes the key that the opcode in the low bytes of x fetches. It reports
// false when that fetches no string.
func (m *machine) learnKey(k *recordKey, x uint64) bool {
	k.size = 0
	f := &argForms[byte(x)]
	i := x >> 8 & f.keep
	if !f.fetch || i >= uint64(m.memo.Len()) {
		return false
	}
	key := *m.memo.At(int(i))
	if _, ok := key.StringID(); !ok {
		return false
	}
	mask := f.keep<<8 | 0xff
	*k = recordKey{code: x & mask, mask: mask, size: 1 + f.size, key: key}
	return true
}

// storeSize is the size of the opcode at the start of b when it makes the given
// memo entry, 0 when it does not.
func storeSize(b []byte, entry int) int {
	switch {
	case b[0] == opMemoize:
		return 1
	case b[0] == opBinPut && int(b[1]) == entry:
		return 2
	case b[0] == opLongBinPut && int(binary.LittleEndian.Uint32(b[1:])) == entry:
		return 5
	}
	return 0
}

// shape makes of keys and values what the shaper takes them over as, or else a
// dict. It reports false when the opcodes have to do that.
func (m *machine) shape(items []value.Value) (v value.Value, ok bool) {
	if len(items) <= 2 {
		return 0, false
	}
	v, ok, err := m.shaper.Dict(items)
	switch lists := &m.records.lists; {
	case err != nil: // the opcodes meet it again, where its place is known
		return 0, false
	case ok:
		lists.keep(m.h)
		return v, true
	case lists.used: // in a dict, a list is not to be a record
		return 0, false
	}
	return m.h.NewWith(value.Dict, items), true
}
