package trainlog

import (
	"math"
	"strings"
)

// A figure is an amount of memory on a line.
type figure struct {
	metric   Metric
	total    bool // it is the size of the GPU, and metric means nothing
	value    float64
	digits   int
	unit     Unit
	program  *program // whose spelling it is, when that decides the unit
	spelling string
	device   int
	rank     int     // the rank that its name tells, plus 1; 0 for none
	distinct bool    // another of the same line is called the same
	start    int     // where in the line the number is
	sampled  bool    // it is from a table of GPUs
	grain    float64 // bytes that a figure may be off by, beyond its digits
}

// mostBytes is more than any GPU has: 1 EiB. What is beyond it is damage, and would
// not fit the integers of results.
const mostBytes = 1 << 60

// isPossible reports whether a figure can be an amount of memory.
func (f *figure) isPossible() bool {
	bytes := math.Abs(f.value) * math.Pow(1024, float64(f.unit.Power))
	return bytes < mostBytes && (f.value >= 0 || f.metric == Change)
}

// A scanner finds the figures of a line. Its tokens are reused.
type scanner struct {
	words   *vocabulary
	line    string
	tokens  []token
	out     []figure
	unit    Unit // of the whole line: "memory (MB) | allocated: 1.5 | …"
	hasUnit bool
	program *program
	unclear bool // a number is called allocated or reserved and has no unit
}

// figures finds the amounts of memory on a line. What it returns is valid until
// the next call. unclear says that a number's words name GPU memory while
// nothing gives its unit.
func (s *scanner) figures(line string) (list []figure, unclear bool) {
	s.line, s.out = line, s.out[:0]
	s.unit, s.hasUnit, s.unclear = Unit{}, false, false
	s.tokens = s.words.split(line, s.tokens[:0])
	s.program = programOf(line, s.tokens)
	for i := range s.tokens {
		if s.tokens[i].kind == number && !s.tokens[i].taken {
			s.number(i)
		}
	}
	s.program.addUp(s.out)
	markDistinct(s.out)
	return s.out, s.unclear
}

func (s *scanner) text(t *token) string { return s.line[t.start:t.end] }

func (s *scanner) isMark(i int, marks string) bool {
	return i >= 0 && i < len(s.tokens) && s.tokens[i].kind == mark && strings.IndexByte(marks, s.tokens[i].mark) >= 0
}

// number reads the number at token i if it is an amount of memory.
func (s *scanner) number(i int) {
	if s.isMark(i+1, "%") {
		return
	}
	if second, ok := s.pair(i); ok {
		s.readPair(i, second)
		return
	}
	unit, hasUnit, next := s.unitAfter(i)
	l, spelling := s.before(i)
	after := label{}
	if l.kind < totalSize && hasUnit {
		var text string
		if after, text = s.after(next); after.kind > l.kind {
			after.peak = after.peak || l.peak
			after.foreign = after.foreign || l.foreign
			l, spelling = after, text
		}
	}
	s.add(i, l, spelling, unit, hasUnit)
}

// add appends the figure of token i, if the words beside it make it one.
func (s *scanner) add(i int, l label, spelling string, unit Unit, hasUnit bool) {
	t := &s.tokens[i]
	l.settle()
	if l.kind == onlyPeak && hasUnit {
		l.kind, l.metric = memory, PeakAllocated
		if s.isWithin(i) && len(s.out) > 0 { // allocated: 1.2 GB (max: 1.5 GB)
			l.metric = s.out[len(s.out)-1].metric.peak()
		}
	}
	if l.kind == onlyGPU && hasUnit {
		l.kind = memory
	}
	if l.kind < memory || l.foreign {
		return
	}
	if l.metric == Outside && !l.others && (s.program == nil || s.program.name != axolotl) {
		return
	}
	f := figure{metric: l.metric, total: l.kind == totalSize, value: t.value, digits: t.digits, spelling: spelling, device: Unknown, start: t.start}
	switch {
	case hasUnit:
		f.unit = unit
	case l.hasUnit:
		f.unit = l.unit
	case s.hasUnit:
		f.unit = s.unit
	default:
		if f.unit, hasUnit = s.impliedUnit(t, l); !hasUnit {
			s.unclear = s.unclear || l.kind == exact && l.metric != DeviceFree && t.digits > 0
			return
		}
	}
	if f.unit.Power == 0 && t.digits == 0 && t.value < smallestBytes {
		return // 7B is a number of parameters
	}
	f.program = s.program
	s.program.adjust(&f)
	f.device, f.rank = s.deviceNear(i), l.rank
	t.taken = true
	s.out = append(s.out, f)
}

// smallestBytes is the least that counts as an amount of memory when bytes are
// printed: a block of the allocator. Zero is one too.
const smallestBytes = blockGrain

// unitAfter reads the unit that follows token i, and returns the token behind it.
func (s *scanner) unitAfter(i int) (u Unit, ok bool, next int) {
	next = i + 1
	if next >= len(s.tokens) || s.tokens[next].kind != word {
		return u, false, next
	}
	w := &s.tokens[next]
	u, ok = w.word.unit, w.word.isUnit || w.word.isGlued && !w.spaced
	if !ok || s.isMark(next+1, "/") && next+2 < len(s.tokens) && s.text(&s.tokens[next+2]) == "s" {
		return Unit{}, false, next // a rate
	}
	w.taken = true
	return u, true, next + 1
}

// maxLabel is how many words before or after a number are read.
const maxLabel = 10

// before reads the words that lead to token i, nearest first, back to a comma,
// another value or the start.
func (s *scanner) before(i int) (l label, spelling string) {
	depth, words := 0, 0
	far := false // beyond what belongs to the spelling
	start, end := i, i
	for j := i - 1; j >= 0 && words < maxLabel; j-- {
		t := &s.tokens[j]
		if t.taken {
			break
		}
		if t.kind == mark {
			if strings.IndexByte(",;|{}", t.mark) >= 0 {
				if t.mark == '|' {
					s.lineUnit(j)
				}
				break
			}
			if t.mark == ']' {
				far = far || l.kind >= memory
			} else if t.mark == ')' {
				if words > 0 {
					j = s.opening(j) // a remark before the words: "(peak so far): current"
					continue
				}
				depth++
			} else if t.mark == '(' {
				if depth--; depth < 0 && words > 0 {
					break
				}
			}
			continue
		}
		if t.kind == number {
			if s.isMark(j+1, "%") {
				continue // 60% (48.2/80 GiB)
			}
			if t.digits > 0 || s.isMark(j-1, ":=") {
				break
			}
			far = far || l.kind >= memory
			continue
		}
		words++
		l.join(&t.word.says)
		if start == i {
			end = t.end
		}
		if !far {
			start = j
		}
	}
	if start < i {
		spelling = s.line[s.tokens[start].start:end]
	}
	return l, spelling
}

// opening returns the token that opens the parentheses that close at token i.
func (s *scanner) opening(i int) int {
	depth := 0
	for ; i > 0; i-- {
		if s.isMark(i, ")") {
			depth++
		} else if s.isMark(i, "(") {
			if depth--; depth == 0 {
				break
			}
		}
	}
	return i
}

// lineUnit takes the unit that stands before the bar at token bar for the whole
// line: "memory (MB) | allocated: 1.5 | reserved: 2.0".
func (s *scanner) lineUnit(bar int) {
	if s.isMark(bar-1, ")]") && s.isMark(bar-3, "([") && s.tokens[bar-2].kind == word {
		if u, ok := parseUnit(s.text(&s.tokens[bar-2]), false); ok {
			s.unit, s.hasUnit = u, true
		}
	}
}

// after reads the words that follow a unit, from token i on, unless they lead to
// another number: "1.2 GB allocated, 1.5 GB reserved".
func (s *scanner) after(i int) (l label, spelling string) {
	const few = 3
	from, to := i, i
	for ; i < len(s.tokens) && to-from < few; i++ {
		t := &s.tokens[i]
		if t.kind != word {
			if s.isMark(i, ":=") {
				return label{}, ""
			}
			break
		}
		to = i + 1
	}
	for j := to - 1; j >= from; j-- {
		l.join(&s.tokens[j].word.says)
	}
	if l.kind < memory {
		return label{}, ""
	}
	for j := from; j < to; j++ {
		s.tokens[j].taken = true
	}
	return l, s.line[s.tokens[from].start:s.tokens[to-1].end]
}

// pair reports whether token i is the first of two numbers such as "5.8 / 15.9 GB",
// and returns the second.
func (s *scanner) pair(i int) (second int, ok bool) {
	j := i + 1
	if j < len(s.tokens) && s.tokens[j].kind == word && !s.tokens[j].spaced {
		j++ // 4162.88MB / 23816.00MB
	} else if j+1 < len(s.tokens) && s.tokens[j].kind == word && s.isMark(j+1, "/") {
		j++
	}
	if !s.isMark(j, "/") || j+1 >= len(s.tokens) || s.tokens[j+1].kind != number {
		return 0, false
	}
	return j + 1, true
}

// readPair reads two numbers. The words before them may name both, "used/total
// (GB): 5.8/15.9"; otherwise the second is the size of the GPU.
func (s *scanner) readPair(first, second int) {
	unit, hasUnit, _ := s.unitAfter(second)
	own, hasOwn, _ := s.unitAfter(first)
	if !hasOwn {
		own, hasOwn = unit, hasUnit
	}
	l, spelling := s.before(first)
	left, right, named := s.slashed(first)
	if !named {
		left, right = l, label{kind: totalSize}
	}
	for _, side := range []*label{&left, &right} {
		side.unit, side.hasUnit, side.foreign = l.unit, l.hasUnit, l.foreign
	}
	if left.kind == onlyGPU && hasOwn { // GPU 0: 5.8/15.9 GB
		left.kind = memory
	}
	if left.kind < memory || !hasUnit && !l.hasUnit && !s.hasUnit {
		s.tokens[first].taken, s.tokens[second].taken = true, true // a step such as 12/120
		return
	}
	s.add(first, left, spelling, own, hasOwn)
	s.add(second, right, spelling, unit, hasUnit)
	s.tokens[second].taken = true
}

// slashed reads two names with a slash between them before token i.
func (s *scanner) slashed(i int) (left, right label, ok bool) {
	slash := -1
	for j := i - 1; j >= 0 && i-j < 2*maxLabel; j-- {
		if s.tokens[j].taken || s.isMark(j, ",;|{}") {
			break
		}
		if s.isMark(j, "/") && slash < 0 {
			slash = j
			continue
		}
		if s.tokens[j].kind != word {
			continue
		}
		if slash < 0 {
			right.join(&s.tokens[j].word.says)
		} else {
			left.join(&s.tokens[j].word.says)
		}
	}
	return left, right, slash >= 0 && left.kind >= memory && right.kind >= memory
}

// isWithin reports whether token i is in parentheses that opened after the
// figure before it.
func (s *scanner) isWithin(i int) bool {
	for j := i - 1; j >= 0 && !s.tokens[j].taken; j-- {
		if s.isMark(j, "(") {
			return true
		}
	}
	return false
}

// deviceNear returns the GPU that the words before token i name: "GPU 1 memory",
// "cuda:1 allocated".
func (s *scanner) deviceNear(i int) int {
	for j := i - 1; j >= 0; j-- {
		t := &s.tokens[j]
		if t.kind != word || !t.word.isGPU {
			continue
		}
		if t.word.gpu != Unknown {
			return t.word.gpu
		}
		for k := j + 1; k < i && k <= j+4; k++ {
			if next := &s.tokens[k]; isCount(next) && next.value < maxDevices {
				return int(next.value)
			} else if !s.isMark(k, ":=#['\"") {
				break
			}
		}
	}
	return Unknown
}

// maxDevices is one more than the highest index that a GPU or rank may have.
const maxDevices = 1 << 20

// smallNumber reads an index.
func smallNumber(digits string) (n int, ok bool) {
	if digits == "" || len(digits) > 6 {
		return 0, false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return 0, false
		}
		n = n*10 + int(digits[i]-'0')
	}
	return n, n < maxDevices
}
