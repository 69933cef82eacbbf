// Package pickle reads pickles as data, never as programs: protocols 0 to 5,
// every opcode, and no class or function is ever looked up or called.
//
// The machine streams: it keeps a window of the input, a stack and a memo of
// one word per entry, and offers every filled dict to a value.Shaper, which may take
// it over as a record. So long lists of records need no generic tree.
package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/snapview/snapview/internal/value"
)

// Config are the settings of Decode.
type Config struct {
	// Size is the number of decoded bytes when known, else -1. Claimed lengths
	// are checked against what is left.
	Size int64
	// Allowed names the globals that stand for plain data (OrderedDict, …).
	// They are not called either: a pickle that has one is read to its end, to
	// check it, and Result.NeedsTree is set.
	Allowed func(module, name string) bool
}

// Result is what was read. After an error Root holds what was complete before
// it: unfinished lists keep their finished items, unfinished dicts are left
// out, but for the outermost.
type Result struct {
	Root      value.Value
	Protocol  int   // as the file says; 0 and 1 are not told apart without a PROTO opcode
	Bytes     int64 // decoded bytes consumed
	NeedsTree bool  // the pickle uses allowed globals: read it with a full unpickler
	More      bool  // data follows the pickle's STOP
}

type machine struct {
	w        *window
	h        *value.Heap
	shaper   value.Shaper
	allowed  func(module, name string) bool
	stack    []value.Value
	marks    []int // stack heights at each open MARK
	memo     value.Pages[value.Value]
	far      map[uint32]value.Value // entries that were not stored in order
	stored   int                    // number of entries, which is the next index of MEMOIZE
	protocol int
	frameEnd int64
	opAt     int64
	op       byte
	tree     bool
	records  recordReader
}

// Decode reads one pickle from r into h.
func Decode(r io.Reader, h *value.Heap, s value.Shaper, c Config) (Result, error) {
	m := &machine{w: newWindow(r, c.Size), h: h, shaper: s, allowed: c.Allowed}
	if m.allowed == nil {
		m.allowed = func(string, string) bool { return false }
	}
	root, err := m.run()
	res := Result{Root: root, Protocol: m.protocol, Bytes: m.w.offset(), NeedsTree: m.tree}
	// Before each opcode the window was filled beyond it, if there is more.
	res.More = err == nil && m.w.pos < m.w.end
	if err != nil {
		op := opNames[m.op]
		if m.opAt == m.w.base+int64(m.w.end) {
			op = "" // nothing is left at the place where the file ends
		}
		err = &Error{Offset: m.opAt, Op: op, Path: m.path(), Err: err}
		res.Root = m.salvage()
	}
	return res, err
}

// argBytes is the size of fixed arguments, so that an opcode cut off by the end
// of the file is not carried out.
var argBytes = [256]uint8{
	opBinInt: 4, opBinInt1: 1, opBinInt2: 2, opBinGet: 1, opLongBinGet: 4, opBinPut: 1, opLongBinPut: 4,
	opBinFloat: 8, opProto: 1, opExt1: 1, opExt2: 2, opExt4: 4, opLong1: 1, opLong4: 4, opShortBinUnicode: 1,
	opBinUnicode: 4, opBinString: 4, opShortBinString: 1, opBinBytes: 4, opShortBinBytes: 1,
	opBinUnicode8: 8, opBinBytes8: 8, opByteArray8: 8, opFrame: 8,
}

// run executes opcodes until STOP. The frequent ones are carried out here on
// local copies of the window and the stack; the rest go through slow.
func (m *machine) run() (value.Value, error) {
	w, h := m.w, m.h
	buf, pos, end := w.buf, w.pos, w.end
	stack := m.stack
	memoized := 0 // entries of m.memo
	fence := 0    // height of the innermost MARK: opcodes may not reach below it
	at := pos     // of the opcode being carried out
	var err error // no closure below: it would keep these locals out of registers
	for {
		if end-pos < lookahead {
			w.pos = pos
			w.fill(lookahead)
			buf, pos, end = w.buf, w.pos, w.end
			if pos >= end || pos+1+int(argBytes[buf[pos]]) > end {
				at = pos
				err = w.early()
				goto fail
			}
			if err = m.checkLoad(len(stack)); err != nil {
				at = pos
				goto fail
			}
		}
		at = pos
		pos++
		switch buf[at] {
		case opBinGet:
			i := int(buf[pos])
			if i >= memoized {
				goto slow
			}
			pos++
			stack = append(stack, *m.memo.At(i))
		case opLongBinGet:
			// Stacks are long runs of this opcode: carry out a run at once.
			for {
				i := int(binary.LittleEndian.Uint32(buf[pos:]))
				if i >= memoized {
					goto slow
				}
				pos += 4
				stack = append(stack, *m.memo.At(i))
				if buf[pos] != opLongBinGet || end-pos < lookahead {
					break
				}
				at = pos
				pos++
			}
		case opMemoize:
			if len(stack) <= fence {
				err = errUnderflow
				goto fail
			}
			if memoized != m.stored {
				goto slow
			}
			m.memo.Append(stack[len(stack)-1])
			memoized++
			m.stored = memoized
		case opBinInt1:
			stack = append(stack, value.SmallInt(int64(buf[pos])))
			pos++
		case opBinInt2:
			stack = append(stack, value.SmallInt(int64(binary.LittleEndian.Uint16(buf[pos:]))))
			pos += 2
		case opBinInt:
			stack = append(stack, value.SmallInt(int64(int32(binary.LittleEndian.Uint32(buf[pos:])))))
			pos += 4
		case opLong1:
			n := int(buf[pos])
			if n == 0 || n > 8 || pos+1+n > end {
				goto slow
			}
			// The sign bit of the n-byte number moves to bit 63 and back.
			shift := uint(64 - 8*n)
			x := int64(binary.LittleEndian.Uint64(buf[pos+1:])<<shift) >> shift
			stack = append(stack, h.MakeInt(x))
			pos += 1 + n
		case opShortBinUnicode:
			n := int(buf[pos])
			if pos+1+n > end {
				goto slow
			}
			stack = append(stack, value.MakeStr(h.Strings.Intern(buf[pos+1:pos+1+n])))
			pos += 1 + n
		case opEmptyDict:
			if v, after := m.record(buf, at, end); after > 0 {
				stack = append(stack, v)
				pos, memoized = after, m.stored
				break
			}
			stack = append(stack, h.New(value.Dict))
		case opEmptyList:
			stack = append(stack, h.New(value.List))
		case opMark:
			if len(m.marks) >= MaxNesting {
				err = fmt.Errorf("containers nest deeper than the limit of %d", MaxNesting)
				goto fail
			}
			m.marks = append(m.marks, len(stack))
			fence = len(stack)
		case opSetItems:
			var low int
			if low, err = m.popMark(len(stack)); err != nil {
				goto fail
			}
			if err = m.setItems(stack[low-1], stack[low:]); err != nil {
				m.marks = append(m.marks, low) // leave the place visible to path
				goto fail
			}
			stack = stack[:low]
			fence = m.fence()
		case opAppends:
			var low int
			if low, err = m.popMark(len(stack)); err != nil {
				goto fail
			}
			if err = m.appendTo(stack[low-1], value.List, stack[low:]); err != nil {
				m.marks = append(m.marks, low)
				goto fail
			}
			stack = stack[:low]
			fence = m.fence()
		case opTuple2:
			if len(stack)-fence < 2 {
				err = errUnderflow
				goto fail
			}
			n := len(stack)
			stack[n-2] = h.NewWith(value.Tuple, stack[n-2:])
			stack = stack[:n-1]
		case opNewFalse:
			stack = append(stack, value.MakeBool(false))
		case opNewTrue:
			stack = append(stack, value.MakeBool(true))
		case opNone:
			stack = append(stack, value.Nil)
		case opBinFloat:
			stack = append(stack, h.MakeFloat(math.Float64frombits(binary.BigEndian.Uint64(buf[pos:]))))
			pos += 8
		case opFrame:
			n := binary.LittleEndian.Uint64(buf[pos:])
			pos += 8
			// Nothing is allocated for a frame: its claim is checked at the next
			// frame and at STOP, so that a file cut off inside one still gives
			// what it holds.
			if w.base+int64(at) < m.frameEnd {
				err = fmt.Errorf("a frame begins inside another")
				goto fail
			}
			m.frameEnd = w.base + int64(pos) + int64(min(n, math.MaxInt64/2))
		case opStop:
			w.pos = pos
			if len(stack) != 1 || len(m.marks) != 0 {
				err = fmt.Errorf("the pickle stops with %d values and %d open containers, want one value", len(stack), len(m.marks))
				goto fail
			}
			if m.frameEnd > w.offset() {
				err = fmt.Errorf("the pickle stops inside a frame")
				goto fail
			}
			if w.err != nil { // behind STOP, such as a checksum that does not match
				err = w.err
				goto fail
			}
			m.stack = stack
			return stack[0], nil
		default:
			goto slow
		}
		continue
	slow:
		m.stack, w.pos = stack, pos
		m.op, m.opAt = buf[at], w.base+int64(at)
		if err = m.slow(m.op); err != nil {
			return value.Nil, err
		}
		buf, pos, end = w.buf, w.pos, w.end
		stack = m.stack
		fence = m.fence()
		memoized = m.memo.Len()
	}
fail:
	m.stack, w.pos = stack, pos
	m.op, m.opAt = buf[at], w.base+int64(at)
	return value.Nil, err
}

// checkLoad keeps memory in proportion to the input: containers, stack and memo
// may not grow faster than data that means something makes them grow.
func (m *machine) checkLoad(height int) error {
	most := freeLoad + int(m.w.offset()/bytesPerEntry)
	switch {
	case height > most:
		return fmt.Errorf("%d values are waiting for a container, over the limit of %d at this place", height, most)
	case m.h.Filled() > most:
		return fmt.Errorf("%d containers are filled, over the limit of %d at this place", m.h.Filled(), most)
	case m.h.Containers() > most:
		return fmt.Errorf("%d containers are made, over the limit of %d at this place", m.h.Containers(), most)
	case m.stored > most:
		return fmt.Errorf("%d memo entries are stored, over the limit of %d at this place", m.stored, most)
	}
	return nil
}

var (
	errUnderflow = errors.New("an opcode needs more values than there are")
	errNoMark    = errors.New("an opcode needs an open container and there is none")
	errOddItems  = errors.New("a dict is given a key without a value")
)

func (m *machine) fence() int {
	if n := len(m.marks); n > 0 {
		return m.marks[n-1]
	}
	return 0
}

// popMark closes the innermost MARK for an opcode that fills the container
// below it, and returns the height of the first item.
func (m *machine) popMark(height int) (int, error) {
	n := len(m.marks)
	if n == 0 {
		return 0, errNoMark
	}
	at := m.marks[n-1]
	m.marks = m.marks[:n-1]
	if at > height || at-1 < m.fence() {
		m.marks = m.marks[:n] // leave the place visible to path
		return 0, errUnderflow
	}
	return at, nil
}

// setItems fills a dict. A dict filled at one go, as every known writer does
// for records, is offered to the shaper.
func (m *machine) setItems(dict value.Value, items []value.Value) error {
	if len(items)%2 != 0 {
		return errOddItems
	}
	if m.shaper != nil && len(items) > 2 && m.h.Fresh(dict) {
		if k, _ := m.h.Container(dict); k == value.Dict {
			record, ok, err := m.shaper.Dict(items)
			if err != nil && !m.tree { // an opaque value may be what is wrong: DecodeFull will know
				return err
			}
			if err == nil && ok {
				m.h.Replace(dict, record)
				return nil
			}
		}
	}
	return m.appendTo(dict, value.Dict, items)
}

// appendTo adds items to a container, which must be of the given kind.
func (m *machine) appendTo(v value.Value, want value.ObjectKind, items []value.Value) error {
	k, ok := m.h.Container(v)
	if ok && (k == want || k == value.Opaque) && m.h.Append(v, items) {
		return nil
	}
	return fmt.Errorf("items are added to %s, want %s", m.h.Describe(v), want)
}
