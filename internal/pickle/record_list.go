package pickle

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/snapview/snapview/internal/value"
)

// recordList reads a list in a record from behind its EMPTY_LIST and MEMOIZE, if
// it has only memo entries. It returns the place behind it, 0 when it has others.
func (m *machine) recordList(buf []byte, pos, end int) (value.Value, int) {
	c := &m.records.lists
	if buf[pos] == opMark {
		if v, size := c.find(buf[pos:end]); size > 0 {
			return v, pos + size
		}
		return m.readList(buf, pos, end)
	}
	// Empty; or of one item, which is then met as a key without a value.
	if c.empty != 0 {
		c.used = true
		return c.empty, pos
	}
	c.missed, c.code = m.h.New(value.List), nil
	return c.missed, pos
}

// readList reads the list whose MARK is at buf[pos].
func (m *machine) readList(buf []byte, pos, end int) (value.Value, int) {
	c, at := &m.records.lists, pos
	c.items = c.items[:0]
	for pos++; end-pos >= fieldBytes; {
		i := 0
		switch buf[pos] {
		case opBinGet:
			i = int(buf[pos+1])
			pos += 2
		case opLongBinGet:
			i = int(binary.LittleEndian.Uint32(buf[pos+1:]))
			pos += 5
		case opAppends:
			pos++
			c.missed, c.code = m.h.NewWith(value.List, c.items), buf[at:pos]
			return c.missed, pos
		default:
			return 0, 0
		}
		if i >= m.memo.Len() {
			return 0, 0
		}
		c.items = append(c.items, *m.memo.At(i))
	}
	return 0, 0
}

// A listCache knows lists that a shaper replaced by records, by their bytes from
// MARK to APPENDS: call stacks, of which a program has few and makes them in
// nearly the same order again and again. So a list is looked for where it
// followed the one before it the last times.
type listCache struct {
	slots  []cachedList
	seed   maphash.Seed
	last   uint16
	empty  value.Value   // the record of an empty list, 0 until one was replaced
	used   bool          // the record being read has a list from here
	missed value.Value   // its last list that was not here
	code   []byte        // the bytes of that
	items  []value.Value // scratch
}

type cachedList struct {
	code []byte
	v    value.Value
	next [4]uint16 // slots that followed it, the last first
}

const (
	listSlots   = 1 << 12
	maxListCode = 1 << 12 // longest list kept, in bytes
)

// find returns the list that b starts with and how many bytes it takes, 0 when
// it is none of those expected here.
func (c *listCache) find(b []byte) (value.Value, int) {
	if c.slots == nil {
		return 0, 0
	}
	next := &c.slots[c.last].next
	for i, slot := range next {
		s := &c.slots[slot]
		if n := len(s.code); n > 0 && n <= len(b) && string(b[:n]) == string(s.code) {
			copy(next[1:i+1], next[:i])
			next[0] = slot
			c.last, c.used = slot, true
			return s.v, n
		}
	}
	return 0, 0
}

// keep takes in the list that was not found, if the shaper has replaced it.
func (c *listCache) keep(h *value.Heap) {
	v := h.Resolve(c.missed)
	if _, _, ok := v.Ext(); !ok || len(c.code) > maxListCode {
		return
	}
	if len(c.code) == 0 {
		c.empty = v
		return
	}
	if c.slots == nil {
		c.slots, c.seed = make([]cachedList, listSlots), maphash.MakeSeed()
	}
	slot := uint16(maphash.Bytes(c.seed, c.code) % listSlots)
	if s := &c.slots[slot]; string(s.code) != string(c.code) {
		s.v, s.code = v, append(s.code[:0], c.code...)
	}
	next := &c.slots[c.last].next
	copy(next[1:], next[:])
	next[0] = slot
	c.last = slot
}
