package testpickle

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Disassemble turns bytes into the text form, each line with its byte offset.
// Bytes that follow STOP and begin no further pickle are RAW. An unknown opcode
// or an argument cut short is an error with its offset (the latter wraps
// io.ErrUnexpectedEOF); the text then still holds all of b, so that
//
//	Assemble(Disassemble(b)) == b
//
// for every b.
func Disassemble(b []byte) (string, error) {
	d := &disassembler{b: b}
	var err error
	for d.at < len(b) && err == nil {
		err = d.opcode()
	}
	return d.text.String(), err
}

type disassembler struct {
	b    []byte
	at   int
	text strings.Builder
}

func (d *disassembler) print(at int, words ...string) {
	fmt.Fprintf(&d.text, "%5d: %s\n", at, strings.Join(words, " "))
}

// raw prints the n bytes at offset at, a few on a line.
func (d *disassembler) raw(at, n int) {
	for piece := range slices.Chunk(d.b[at:at+n], 16) {
		d.print(at, "RAW", hex.EncodeToString(piece))
		at += len(piece)
	}
	d.at = at
}

func (d *disassembler) opcode() error {
	start := d.at
	op := byCode[d.b[start]]
	if op == nil {
		d.raw(start, len(d.b)-start)
		return fmt.Errorf("unknown opcode 0x%02x at byte %d", d.b[start], start)
	}
	d.at++
	words, ok := d.argument(op)
	if !ok {
		d.raw(start, len(d.b)-start)
		return fmt.Errorf("%s at byte %d: %w", op.name, start, io.ErrUnexpectedEOF)
	}
	d.print(start, append([]string{op.name}, words...)...)
	if short := d.at - len(d.b); short > 0 {
		d.at = len(d.b)
		return fmt.Errorf("%s at byte %d: %w", op.name, start, io.ErrUnexpectedEOF)
	}
	if op.name == "STOP" && d.at < len(d.b) && d.b[d.at] != byName["PROTO"].code {
		d.raw(d.at, len(d.b)-d.at)
	}
	return nil
}

// argument reads an opcode's argument as words. It is not ok when it is cut
// short in a way that only RAW can show; a string that is too short shows its
// claim, and d.at is then past the end.
func (d *disassembler) argument(op *opcode) (words []string, ok bool) {
	switch op.form {
	case none:
		return nil, true
	case integer:
		n, ok := d.integer(op)
		return []string{n}, ok
	case float:
		return d.float()
	case line:
		w, ok := d.line()
		return []string{w}, ok
	case lines:
		first, ok1 := d.line()
		second, ok2 := d.line()
		return []string{first, second}, ok1 && ok2
	}
	return d.counted(op)
}

func (d *disassembler) integer(op *opcode) (string, bool) {
	if len(d.b)-d.at < op.size {
		return "", false
	}
	var bits uint64
	for i := op.size - 1; i >= 0; i-- {
		bits = bits<<8 | uint64(d.b[d.at+i])
	}
	d.at += op.size
	if op.signed {
		unused := 64 - 8*op.size
		return strconv.FormatInt(int64(bits<<unused)>>unused, 10), true
	}
	return strconv.FormatUint(bits, 10), true
}

func (d *disassembler) float() ([]string, bool) {
	if len(d.b)-d.at < 8 {
		return nil, false
	}
	bits := binary.BigEndian.Uint64(d.b[d.at:])
	d.at += 8
	v := math.Float64frombits(bits)
	if math.IsNaN(v) {
		return []string{fmt.Sprintf("bits:%016x", bits)}, true
	}
	return []string{strconv.FormatFloat(v, 'g', -1, 64)}, true
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.+\-]+$`)

func (d *disassembler) line() (string, bool) {
	end := bytes.IndexByte(d.b[d.at:], '\n')
	if end < 0 {
		return "", false
	}
	s := string(d.b[d.at : d.at+end])
	d.at += end + 1
	if plainWord.MatchString(s) {
		return s, true
	}
	return strconv.Quote(s), true
}

// counted reads a string or a long number with the length before it.
func (d *disassembler) counted(op *opcode) ([]string, bool) {
	claim, ok := d.integer(op)
	if !ok {
		return nil, false
	}
	have := len(d.b) - d.at
	n, err := strconv.Atoi(claim)
	if err != nil || n < 0 || n > have {
		arg := op.show(d.b[d.at:])
		d.at = len(d.b) + 1
		return []string{"len=" + claim, arg}, true
	}
	arg := op.show(d.b[d.at : d.at+n])
	d.at += n
	return []string{arg}, true
}

// show prints the bytes of a string or number such that Assemble finds them again.
func (op *opcode) show(b []byte) string {
	if op.form == text {
		return strconv.Quote(string(b))
	}
	if n := longValue(b).String(); isShortest(n, b) {
		return n
	}
	return "hex:" + hex.EncodeToString(b)
}

func isShortest(n string, b []byte) bool {
	shortest, err := longBytes(n)
	return err == nil && bytes.Equal(shortest, b)
}

// longValue is the number of a two's complement, lowest byte first.
func longValue(b []byte) *big.Int {
	high := slices.Clone(b)
	slices.Reverse(high)
	n := new(big.Int).SetBytes(high)
	if len(high) > 0 && high[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}
