package snapshot

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// By is what live memory is folded by.
type By uint8

const (
	ByLine     By = iota // line of the user frame, see Snapshot.UserFrame
	ByFrame              // innermost frame, whoever's code it is
	ByFunction           // function of the user frame
	ByFile               // file of the user frame
	ByStack              // whole stack
)

var byNames = [...]string{"line", "frame", "function", "file", "stack"}

func (b By) String() string {
	if int(b) < len(byNames) {
		return byNames[b]
	}
	return fmt.Sprintf("by %d", uint8(b))
}

// ParseBy is the inverse of By.String.
func ParseBy(name string) (By, error) {
	if i := slices.Index(byNames[:], strings.ToLower(strings.TrimSpace(name))); i >= 0 {
		return By(i), nil
	}
	return 0, fmt.Errorf("cannot fold by %q: use %s", name, strings.Join(byNames[:], ", "))
}

// Functions of the rows for memory without a line of code. Their File is "".
const (
	AutogradThread = "(autograd thread)"    // allocated by a thread without Python, while others have stacks
	NoStackKnown   = "(no stack)"           // no allocation of the history has a stack
	OlderMemory    = "(before the history)" // allocated before recording began, without a stack
	NativeCode     = "(native code)"        // C++ code without a name, or by file: of an unknown file
)

// IsPlaceholder reports whether the row stands for memory that has no line of
// code: its Function is one of the names in parentheses above.
func (r *Row) IsPlaceholder() bool {
	switch r.Function {
	case AutogradThread, NoStackKnown, OlderMemory, NativeCode:
		return r.File == ""
	}
	return false
}

// A Row is a part of the live memory.
type Row struct {
	File     string // "" or "??" for C++ code of an unknown file
	Line     int32  // 0 for ByFunction and ByFile
	Function string // "" for ByFile, except for placeholders
	Stack    StackID
	Bytes    int64 // requested bytes
	Count    int   // allocations
}

// A Table is the live memory of a moment, folded. Rows sum to Total and are
// sorted by bytes, largest first, then by file, line and function.
type Table struct {
	By     By
	Moment Moment
	Total  int64 // requested bytes
	Rows   []Row
}

// Fold sums what is live at m. A row's Stack is the one among its stacks that
// holds most bytes.
func (s *Snapshot) Fold(t *Timeline, m Moment, by By) Table {
	table := Table{By: by, Moment: m}
	f := folder{snap: s, index: s.frameIndex(), by: by, rows: map[rowKey]int{}}
	for _, l := range s.liveByStack(t, m) {
		table.Total += l.bytes
		f.add(l)
	}
	table.Rows = f.table
	slices.SortFunc(table.Rows, compareRows)
	return table
}

func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Function, b.Function), cmp.Compare(a.Stack, b.Stack))
}

// liveStack is the live memory of one stack.
type liveStack struct {
	stack StackID
	empty string // what to call it when the stack has no usable frame
	bytes int64
	count int
}

// liveByStack sums what is live at m by stack, in order of StackID, after that
// what is older than the history and has no stack.
func (s *Snapshot) liveByStack(t *Timeline, m Moment) []liveStack {
	older := s.Stacks.Len()
	sums := newStackSums(older+1, len(t.Allocations))
	for a := range t.Live(m) {
		i := int(a.Stack)
		if i >= older {
			i = int(NoStack)
		}
		if i == int(NoStack) && a.Born == BeforeHistory {
			i = older
		}
		l := sums.at(i)
		l.bytes += a.Requested
		l.count++
	}
	slices.Sort(sums.used)
	live := make([]liveStack, len(sums.used))
	for k, i := range sums.used {
		l := *sums.at(i)
		l.empty = t.nameless(i == older)
		if i != older {
			l.stack = StackID(i)
		}
		live[k] = l
	}
	return live
}

// stackSums holds a sum for each stack in use: in an array, or in a map where
// an array would be much longer than the device has allocations.
type stackSums struct {
	used []int
	list []liveStack
	far  map[int]*liveStack
}

func newStackSums(stacks, allocations int) *stackSums {
	if stacks/8 > allocations {
		return &stackSums{far: make(map[int]*liveStack)}
	}
	return &stackSums{list: make([]liveStack, stacks)}
}

// at returns the sum of stack i, which the caller adds to.
func (s *stackSums) at(i int) *liveStack {
	if s.far == nil {
		l := &s.list[i]
		if l.count == 0 {
			s.used = append(s.used, i)
		}
		return l
	}
	l, ok := s.far[i]
	if !ok {
		l = &liveStack{}
		s.far[i] = l
		s.used = append(s.used, i)
	}
	return l
}

// nameless says what memory without a usable stack is. Where no history was
// recorded, nothing can be older than it.
func (t *Timeline) nameless(older bool) string {
	switch {
	case older && (t.History == HistoryTruncated || t.History == HistoryInconsistent):
		return OlderMemory
	case t.hasStacks:
		return AutogradThread
	}
	return NoStackKnown
}

type rowKey struct {
	file, function string
	line           int32
	stack          string // ByStack: the frames of the stack
}

type folder struct {
	snap  *Snapshot
	index *frameIndex
	by    By
	rows  map[rowKey]int // position in table
	table []Row
	most  []int64 // for each row, the bytes of its representative stack
}

func (f *folder) add(l liveStack) {
	row, key := f.classify(l)
	i, known := f.rows[key]
	if !known {
		i = len(f.table)
		f.rows[key] = i
		row.Stack = l.stack
		f.table = append(f.table, row)
		f.most = append(f.most, l.bytes)
	} else if l.bytes > f.most[i] {
		f.table[i].Stack, f.most[i] = l.stack, l.bytes
	}
	f.table[i].Bytes += l.bytes
	f.table[i].Count += l.count
}

// classify returns the text of the row that l belongs to, and its key.
func (f *folder) classify(l liveStack) (Row, rowKey) {
	frames := f.snap.Stacks.Frames(l.stack)
	pick := f.index.user
	if f.by == ByFrame {
		pick = f.index.innermost
	}
	id, ok := pick(frames)
	if !ok {
		return Row{Function: l.empty}, rowKey{function: l.empty, stack: f.stackKey(frames)}
	}
	frame := &f.snap.Frames[id]
	row := Row{File: frame.File, Line: frame.Line, Function: frame.Function}
	switch f.by {
	case ByFunction:
		row.Line = 0
	case ByFile:
		row.Line, row.Function = 0, ""
		if row.File == "??" {
			row.File = ""
		}
	}
	if row.File == "" && row.Function == "" {
		row.Function = NativeCode
	}
	return row, rowKey{row.File, row.Function, row.Line, f.stackKey(frames)}
}

// stackKey tells stacks apart by the text of their frames, since equal ones may
// be stored more than once; "" unless folding by stack.
func (f *folder) stackKey(frames []FrameID) string {
	if f.by != ByStack {
		return ""
	}
	key := make([]byte, 0, 4*len(frames))
	for _, id := range frames {
		key = binary.LittleEndian.AppendUint32(key, uint32(f.index.canon[id]))
	}
	return string(key)
}
