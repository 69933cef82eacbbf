package input

import "bytes"

// isPickle recognises protocols 2 to 5 by their header. Protocols 0 and 1 have
// none, and their opcodes are letters: there the first opcodes are followed with
// the depth of the stack, and text fails that within a few characters.
func isPickle(head []byte) bool {
	const newest = 5
	if len(head) >= 2 && head[0] == 0x80 {
		return head[1] <= newest && (len(head) == 2 || head[2] != 0)
	}
	if len(head) == 0 || bytes.IndexByte([]byte("(}]c"), head[0]) < 0 {
		return false
	}
	w := &walk{rest: head}
	const enough = 8
	for w.steps < enough {
		switch w.step() {
		case stopped:
			return true
		case cutOff: // a file cut short, or head
			return w.steps >= 3 && w.args > 0
		case impossible:
			return false
		}
	}
	return w.args > 0 // or else it is a row of brackets
}

// outcome is what one opcode did.
type outcome uint8

const (
	fine outcome = iota
	stopped
	cutOff
	impossible
)

// walk follows opcodes of protocols 0 and 1 without their values.
type walk struct {
	rest  []byte
	stack []bool // true is a mark
	memo  int    // how many values were put into the memo
	steps int
	args  int // how many arguments were well-formed
}

func (w *walk) step() outcome {
	if len(w.rest) == 0 {
		return cutOff
	}
	op := w.rest[0]
	w.rest = w.rest[1:]
	result := w.apply(op)
	if result == fine {
		w.steps++
	}
	return result
}

func (w *walk) apply(op byte) outcome {
	switch op {
	case '(':
		w.stack = append(w.stack, true)
		return fine
	case '}', ']', ')', 'N':
		return w.push(fine)
	case 'd', 'l', 't':
		return w.push(w.popMark())
	case 'u', 'e':
		if result := w.popMark(); result != fine {
			return result
		}
		return w.needs(1)
	case 'p':
		w.memo++
		return w.line(isDigits, w.needs(1))
	case 'q':
		w.memo++
		return w.skip(1, w.needs(1))
	case 'r':
		w.memo++
		return w.skip(4, w.needs(1))
	case 'a':
		return w.pop(1, w.needs(2))
	case 's':
		return w.pop(2, w.needs(3))
	case 'c':
		return w.push(w.line(isName, w.line(isName, fine)))
	case 'R':
		return w.pop(1, w.needs(2))
	case '.':
		if w.needs(1) == fine && len(w.stack) == 1 {
			return stopped
		}
		return impossible
	}
	return w.scalar(op)
}

// scalar follows opcodes that push a number or a string, or fetch from the memo.
func (w *walk) scalar(op byte) outcome {
	switch op {
	case 'I', 'L', 'F':
		return w.push(w.line(isNumber, fine))
	case 'V', 'S':
		return w.push(w.line(isPrintable, fine))
	case 'K':
		return w.push(w.skip(1, fine))
	case 'M':
		return w.push(w.skip(2, fine))
	case 'J':
		return w.push(w.skip(4, fine))
	case 'G':
		return w.push(w.skip(8, fine))
	case 'U':
		return w.push(w.counted(1))
	case 'X', 'T':
		return w.push(w.counted(4))
	case 'g', 'h', 'j':
		if w.memo == 0 {
			return impossible
		}
		switch op {
		case 'g':
			return w.push(w.line(isDigits, fine))
		case 'h':
			return w.push(w.skip(1, fine))
		}
		return w.push(w.skip(4, fine))
	}
	return impossible
}

// needs checks for n values above the last mark.
func (w *walk) needs(n int) outcome {
	if len(w.stack) < n {
		return impossible
	}
	for _, mark := range w.stack[len(w.stack)-n:] {
		if mark {
			return impossible
		}
	}
	return fine
}

func (w *walk) push(result outcome) outcome {
	if result == fine {
		w.stack = append(w.stack, false)
	}
	return result
}

func (w *walk) pop(n int, result outcome) outcome {
	if result == fine {
		w.stack = w.stack[:len(w.stack)-n]
	}
	return result
}

func (w *walk) popMark() outcome {
	for i := len(w.stack) - 1; i >= 0; i-- {
		if w.stack[i] {
			w.stack = w.stack[:i]
			return fine
		}
	}
	return impossible
}

func (w *walk) skip(n int, result outcome) outcome {
	if result != fine {
		return result
	}
	if len(w.rest) < n {
		return cutOff
	}
	w.rest = w.rest[n:]
	w.args++
	return fine
}

// counted skips a string whose length takes size bytes. A string longer than
// head is no evidence: no opcode after it can be checked.
func (w *walk) counted(size int) outcome {
	if len(w.rest) < size {
		return cutOff
	}
	n := 0
	for i := size - 1; i >= 0; i-- {
		n = n<<8 | int(w.rest[i])
	}
	if n > HeadSize {
		return impossible
	}
	return w.skip(size+n, fine)
}

// line skips an argument that a newline ends.
func (w *walk) line(valid func([]byte) bool, result outcome) outcome {
	if result != fine {
		return result
	}
	end := bytes.IndexByte(w.rest, '\n')
	if end < 0 {
		return cutOff
	}
	arg := w.rest[:end]
	w.rest = w.rest[end+1:]
	if !valid(arg) {
		return impossible
	}
	w.args++
	return fine
}

func isDigits(s []byte) bool { return len(s) > 0 && only(s, "0123456789") }
func isNumber(s []byte) bool { return len(s) > 0 && only(s, "+-.0123456789eELinfa") }
func isName(s []byte) bool {
	return len(s) > 0 && len(s) < 256 && !bytes.ContainsAny(s, " \t\r:;,()[]{}'\"")
}
func isPrintable(s []byte) bool { return bytes.IndexFunc(s, func(r rune) bool { return r < ' ' }) < 0 }

func only(s []byte, set string) bool {
	return len(bytes.Trim(s, set)) == 0
}
