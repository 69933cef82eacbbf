package testpickle

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Must is Assemble for tests.
func Must(t testing.TB, text string) []byte {
	t.Helper()
	b, err := Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Assemble turns the text form into bytes. Errors name the line.
func Assemble(text string) ([]byte, error) {
	a := assembler{frame: -1}
	for i, line := range strings.Split(text, "\n") {
		if err := a.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	a.closeFrame()
	return a.out, nil
}

type assembler struct {
	out   []byte
	frame int // where the length of an open FRAME auto stands, or -1
}

func (a *assembler) closeFrame() {
	if a.frame >= 0 {
		binary.LittleEndian.PutUint64(a.out[a.frame:], uint64(len(a.out)-a.frame-8))
	}
	a.frame = -1
}

func (a *assembler) line(line string) error {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return err
	}
	name, args := words[0], words[1:]
	if name == "RAW" {
		b, err := hex.DecodeString(strings.Join(args, ""))
		a.out = append(a.out, b...)
		return err
	}
	op, ok := byName[name]
	if !ok {
		return fmt.Errorf("unknown opcode %q", name)
	}
	if want := op.arguments(); len(args) != want && !(len(args) == want+1 && hasLength(args)) {
		return fmt.Errorf("%s takes %d arguments, not %d", name, want, len(args))
	}
	if name == "FRAME" {
		a.closeFrame()
		if args[0] == "auto" {
			a.frame = len(a.out) + 1
			args[0] = "0"
		}
	}
	a.out = append(a.out, op.code)
	if err := a.argument(op, args); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// arguments is how many words an opcode takes, without len=.
func (op opcode) arguments() int {
	switch op.form {
	case none:
		return 0
	case lines:
		return 2
	}
	return 1
}

func hasLength(args []string) bool { return strings.HasPrefix(args[0], "len=") }

func (a *assembler) argument(op opcode, args []string) (err error) {
	switch op.form {
	case integer:
		a.out, err = appendInteger(a.out, args[0], op.size, op.signed)
	case float:
		a.out, err = appendFloat(a.out, args[0])
	case line, lines:
		for _, arg := range args {
			if strings.Contains(arg, "\n") {
				return fmt.Errorf("a newline would end %q early", arg)
			}
			a.out = append(append(a.out, arg...), '\n')
		}
	case text:
		return a.counted(op, args, []byte(args[len(args)-1]))
	case long:
		var b []byte
		if b, err = longBytes(args[len(args)-1]); err == nil {
			err = a.counted(op, args, b)
		}
	}
	return err
}

// counted appends the claimed length, or else the true one, and the bytes.
func (a *assembler) counted(op opcode, args []string, b []byte) (err error) {
	length := strconv.Itoa(len(b))
	if len(args) == 2 {
		length = strings.TrimPrefix(args[0], "len=")
	}
	a.out, err = appendInteger(a.out, length, op.size, op.signed)
	a.out = append(a.out, b...)
	return err
}

func appendInteger(out []byte, s string, size int, signed bool) ([]byte, error) {
	var bits uint64
	var err error
	if signed {
		var v int64
		v, err = strconv.ParseInt(s, 0, 8*size)
		bits = uint64(v)
	} else {
		bits, err = strconv.ParseUint(s, 0, 8*size)
	}
	if err != nil {
		return out, fmt.Errorf("%q is no number of %d bytes", s, size)
	}
	for range size {
		out, bits = append(out, byte(bits)), bits>>8
	}
	return out, nil
}

func appendFloat(out []byte, s string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(s, "bits:"); ok {
		bits, err := strconv.ParseUint(digits, 16, 64)
		return binary.BigEndian.AppendUint64(out, bits), err
	}
	v, err := strconv.ParseFloat(s, 64)
	return binary.BigEndian.AppendUint64(out, math.Float64bits(v)), err
}

// longBytes is the shortest two's complement of a number, lowest byte first;
// zero takes no bytes, as in Python's encode_long.
func longBytes(s string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(s, "hex:"); ok {
		return hex.DecodeString(digits)
	}
	n, ok := new(big.Int).SetString(s, 0)
	if !ok {
		return nil, fmt.Errorf("%q is no number", s)
	}
	if n.Sign() == 0 {
		return nil, nil
	}
	size := signedSize(n)
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	b := n.FillBytes(make([]byte, size))
	slices.Reverse(b)
	return b, nil
}

// signedSize is how many bytes n takes with its sign bit: -128 fits one, 128 does not.
func signedSize(n *big.Int) int {
	bits := n.BitLen()
	if n.Sign() < 0 {
		bits = new(big.Int).Not(n).BitLen()
	}
	return bits/8 + 1
}

var (
	offsetPrefix = regexp.MustCompile(`^\s*\d+:`)
	word         = regexp.MustCompile(`^[^\s"#]+`)
)

// split cuts a line into words. A quoted word may hold anything.
func split(line string) (words []string, err error) {
	line = line[len(offsetPrefix.FindString(line)):]
	for {
		line = strings.TrimLeft(line, " \t\r")
		switch {
		case line == "" || line[0] == '#':
			return words, nil
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("bad quoting in %q", line)
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("bad quoting in %q", line)
			}
			words, line = append(words, value), line[len(quoted):]
		default:
			w := word.FindString(line)
			words, line = append(words, w), line[len(w):]
		}
	}
}
