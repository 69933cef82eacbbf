package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/snapview/snapview/internal/value"
)

// slow carries out every opcode that run does not, or not fully.
func (m *machine) slow(op byte) error {
	switch op {
	case opProto:
		return m.proto()
	case opPop, opPopMark, opDup:
		return m.rearrange(op)
	case opInt, opLong, opFloat, opLong1, opLong4:
		return m.number(op)
	case opString, opUnicode, opBinString, opShortBinString, opBinUnicode, opShortBinUnicode, opBinUnicode8:
		return m.text(op)
	case opBinBytes, opShortBinBytes, opBinBytes8, opByteArray8:
		return m.bytes(op)
	case opGet, opBinGet, opLongBinGet, opPut, opBinPut, opLongBinPut, opMemoize:
		return m.memoOp(op)
	case opAppend, opSetItem, opAddItems:
		return m.fillOne(op)
	case opDict, opList, opTuple, opFrozenSet:
		return m.fromMark(op)
	case opEmptyTuple, opEmptySet, opTuple1, opTuple3:
		return m.fixedContainer(op)
	case opGlobal, opStackGlobal, opInst, opObj, opReduce, opBuild, opNewObj, opNewObjEx:
		return m.object(op)
	case opExt1, opExt2, opExt4:
		return fmt.Errorf("refused: the pickle uses an extension code, which stands for code and not data")
	case opPersID, opBinPersID:
		return fmt.Errorf("refused: the pickle refers to objects outside of it (it may be part of a torch checkpoint)")
	case opNextBuffer, opReadonlyBuffer:
		return fmt.Errorf("refused: the pickle needs out-of-band buffers that are not in the file")
	}
	return fmt.Errorf("0x%02x is no pickle opcode", op)
}

func (m *machine) proto() error {
	b, err := m.w.bytes(1)
	if err != nil {
		return err
	}
	if b[0] > HighestProtocol {
		return fmt.Errorf("pickle protocol %d is newer than %d, the newest known", b[0], HighestProtocol)
	}
	m.protocol = int(b[0])
	return nil
}

func (m *machine) push(v value.Value) { m.stack = append(m.stack, v) }

// top returns the n topmost values above the innermost MARK.
func (m *machine) top(n int) ([]value.Value, error) {
	if len(m.stack)-m.fence() < n {
		return nil, errUnderflow
	}
	return m.stack[len(m.stack)-n:], nil
}

func (m *machine) drop(n int) { m.stack = m.stack[:len(m.stack)-n] }

// takeMark removes the innermost MARK and returns the items above it. They
// stay valid until the next push.
func (m *machine) takeMark() ([]value.Value, error) {
	n := len(m.marks)
	if n == 0 {
		return nil, errNoMark
	}
	at := m.marks[n-1]
	items := m.stack[at:]
	m.marks = m.marks[:n-1]
	m.stack = m.stack[:at]
	return items, nil
}

func (m *machine) rearrange(op byte) error {
	switch {
	case op == opPopMark, op == opPop && len(m.marks) > 0 && len(m.stack) == m.fence():
		_, err := m.takeMark()
		return err
	case len(m.stack) <= m.fence():
		return errUnderflow
	case op == opPop:
		m.drop(1)
	default:
		m.push(m.stack[len(m.stack)-1])
	}
	return nil
}

func (m *machine) number(op byte) error {
	switch op {
	case opLong1, opLong4:
		return m.binaryLong(op)
	}
	b, err := m.w.line(MaxLine)
	if err != nil {
		return err
	}
	s := string(b)
	switch {
	case op == opFloat:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("'%s' is no number", clip(s))
		}
		m.push(m.h.MakeFloat(f))
		return nil
	case op == opInt && (s == "00" || s == "01"):
		m.push(value.MakeBool(s == "01"))
		return nil
	}
	if n := len(s); n > 0 && s[n-1] == 'L' {
		s = s[:n-1]
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return fmt.Errorf("'%s' is no integer", clip(s))
	}
	m.push(m.h.MakeBig(n))
	return nil
}

// binaryLong reads LONG1 and LONG4: little-endian two's complement.
func (m *machine) binaryLong(op byte) error {
	n, err := m.length(op, map[byte]int{opLong1: 1, opLong4: 4}[op], MaxInteger, "an integer")
	if err != nil {
		return err
	}
	b, err := m.w.bytes(n)
	if err != nil {
		return err
	}
	x := new(big.Int)
	if n > 0 {
		reversed := make([]byte, n)
		for i, c := range b {
			reversed[n-1-i] = c
		}
		x.SetBytes(reversed)
		if b[n-1]&0x80 != 0 {
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
		}
	}
	m.push(m.h.MakeBig(x))
	return nil
}

// length reads a length argument of size bytes and checks it before anything
// is allocated for it.
func (m *machine) length(op byte, size int, limit uint64, what string) (int, error) {
	b, err := m.w.bytes(size)
	if err != nil {
		return 0, err
	}
	var n uint64
	switch size {
	case 1:
		n = uint64(b[0])
	case 4:
		n = uint64(binary.LittleEndian.Uint32(b))
		if n > math.MaxInt32 && (op == opLong4 || op == opBinString) {
			return 0, fmt.Errorf("%s has a negative length", what)
		}
	default:
		n = binary.LittleEndian.Uint64(b)
	}
	if err := m.w.checkClaim(n, limit, what); err != nil {
		return 0, err
	}
	return int(n), nil
}

func (m *machine) text(op byte) error {
	var b []byte
	var err error
	switch op {
	case opString, opUnicode:
		if b, err = m.w.line(MaxString); err != nil {
			return err
		}
		if op == opString {
			b, err = unquote(b)
		} else {
			b, err = decodeRawUnicode(b)
		}
	default:
		size := map[byte]int{opShortBinString: 1, opShortBinUnicode: 1, opBinString: 4, opBinUnicode: 4, opBinUnicode8: 8}[op]
		var n int
		if n, err = m.length(op, size, MaxString, "a string"); err != nil {
			return err
		}
		b, err = m.w.bytes(n)
	}
	if err != nil {
		return err
	}
	m.push(value.MakeStr(m.h.Strings.Intern(b)))
	return nil
}

// bytes passes over bytes values: snapshots have none, and what a stranger
// adds is not kept.
func (m *machine) bytes(op byte) error {
	size := map[byte]int{opShortBinBytes: 1, opBinBytes: 4, opBinBytes8: 8, opByteArray8: 8}[op]
	n, err := m.length(op, size, math.MaxInt64, "a bytes value")
	if err != nil {
		return err
	}
	if err := m.w.skip(int64(n)); err != nil {
		return err
	}
	m.push(m.h.New(value.Bytes))
	return nil
}

func (m *machine) memoOp(op byte) error {
	i := uint64(m.stored)
	switch op {
	case opMemoize:
	case opGet, opPut:
		b, err := m.w.line(MaxLine)
		if err != nil {
			return err
		}
		if i, err = strconv.ParseUint(string(b), 10, 32); err != nil {
			return fmt.Errorf("'%s' is no memo index", clip(string(b)))
		}
	default:
		b, err := m.w.bytes(int(argBytes[op]))
		if err != nil {
			return err
		}
		if i = uint64(b[0]); len(b) == 4 {
			i = uint64(binary.LittleEndian.Uint32(b))
		}
	}
	switch op {
	case opGet, opBinGet, opLongBinGet:
		return m.get(uint32(i))
	}
	return m.put(uint32(i))
}

func (m *machine) get(i uint32) error {
	if int(i) < m.memo.Len() {
		m.push(*m.memo.At(int(i)))
	} else if v, ok := m.far[i]; ok {
		m.push(v)
	} else {
		return fmt.Errorf("memo entry %d was never stored", i)
	}
	return nil
}

// put stores the top of the stack under memo index i. Writers number in order;
// anything else goes to a map, so that it costs no more than its bytes.
func (m *machine) put(i uint32) error {
	v, err := m.top(1)
	if err != nil {
		return err
	}
	switch n := m.memo.Len(); {
	case i >= MaxMemo:
		return fmt.Errorf("memo index %d is over the limit of %d", i, MaxMemo)
	case int(i) < n:
		*m.memo.At(int(i)) = v[0]
		m.records.off = true
		return nil
	case int(i) == n && len(m.far) == 0:
		m.memo.Append(v[0])
	default:
		if m.far == nil {
			m.far = make(map[uint32]value.Value)
		}
		if _, ok := m.far[i]; ok {
			m.stored--
		}
		m.far[i] = v[0]
	}
	m.stored++
	return nil
}

func (m *machine) fillOne(op byte) error {
	if op == opAddItems {
		at, err := m.popMark(len(m.stack))
		if err != nil {
			return err
		}
		if err := m.appendTo(m.stack[at-1], value.Set, m.stack[at:]); err != nil {
			m.marks = append(m.marks, at)
			return err
		}
		m.stack = m.stack[:at]
		return nil
	}
	n, kind := 1, value.List
	if op == opSetItem {
		n, kind = 2, value.Dict
	}
	v, err := m.top(n + 1)
	if err != nil {
		return err
	}
	if err := m.appendTo(v[0], kind, v[1:]); err != nil {
		return err
	}
	m.drop(n)
	return nil
}

func (m *machine) fromMark(op byte) error {
	items, err := m.takeMark()
	if err != nil {
		return err
	}
	switch op {
	case opDict:
		d := m.h.New(value.Dict)
		if err := m.setItems(d, items); err != nil {
			return err
		}
		m.push(d)
	case opList:
		m.push(m.h.NewWith(value.List, items))
	case opTuple:
		m.push(m.h.NewWith(value.Tuple, items))
	default:
		m.push(m.h.NewWith(value.Set, items))
	}
	return nil
}

func (m *machine) fixedContainer(op byte) error {
	n, kind := 0, value.Tuple
	switch op {
	case opEmptySet:
		kind = value.Set
	case opTuple1:
		n = 1
	case opTuple3:
		n = 3
	}
	items, err := m.top(n)
	if err != nil {
		return err
	}
	v := m.h.NewWith(kind, items)
	m.drop(n)
	m.push(v)
	return nil
}
