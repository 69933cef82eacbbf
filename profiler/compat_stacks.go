package profiler

import "strings"

// stackID indexes compatStacks.list; 0 is no stack.
type stackID int32

// compatStacks interns stacks, cut to the frames that tell rows apart.
type compatStacks struct {
	t       *Trace
	depth   int
	list    [][]string
	known   map[string]stackID
	ofCall  map[Name]stackID
	ofIndex map[int32]stackID // by index of Trace.Frames
	byID    map[int32]int32   // index of Trace.Frames by Python id
}

func newCompatStacks(t *Trace, depth int) *compatStacks {
	if depth <= 0 {
		depth = DefaultStackDepth
	}
	s := &compatStacks{t: t, depth: depth, list: [][]string{nil}, known: map[string]stackID{"": 0},
		ofCall: map[Name]stackID{0: 0}, ofIndex: make(map[int32]stackID), byID: make(map[int32]int32, len(t.Frames))}
	for i := range t.Frames {
		s.byID[t.Frames[i].ID] = int32(i)
	}
	return s
}

// intern returns the stack of these frames, which are filtered and cut.
func (s *compatStacks) intern(frames []string) stackID {
	key := strings.Join(frames, "\x00")
	id, ok := s.known[key]
	if !ok {
		id = stackID(len(s.list))
		s.known[key] = id
		s.list = append(s.list, frames)
	}
	return id
}

// call is the stack in a Call stack: frames with a ";" after each.
func (s *compatStacks) call(text Name) stackID {
	id, ok := s.ofCall[text]
	if !ok {
		var frames []string
		for frame := range strings.SplitSeq(s.t.Names[text], ";") {
			if frames = s.push(frames, frame); len(frames) == s.depth {
				break
			}
		}
		id = s.intern(frames)
		s.ofCall[text] = id
	}
	return id
}

// longestStack bounds the walk from a frame to its root, which a damaged file
// may close to a ring.
const longestStack = 10000

// ofFrame is the stack of a Python function: itself and what called it.
func (s *compatStacks) ofFrame(index int32) stackID {
	id, ok := s.ofIndex[index]
	if !ok {
		var frames []string
		at, more := index, true
		for n := 0; more && n < longestStack && len(frames) < s.depth; n++ {
			frames = s.push(frames, s.t.Names[s.t.Frames[at].Name])
			at, more = s.byID[s.t.Frames[at].Parent]
		}
		id = s.intern(frames)
		s.ofIndex[index] = id
	}
	return id
}

func (s *compatStacks) push(frames []string, frame string) []string {
	if frame == "" || hiddenFrame(frame) {
		return frames
	}
	return append(frames, frame)
}

// hiddenFrames are frames torch leaves out of stacks: those that hold both texts
// (_filter_stack_entry of profiler_util.py).
var hiddenFrames = [...][2]string{
	{"autograd/__init__", "_make_grads"},
	{"autograd/__init__", "backward"},
	{"torch/tensor", "backward"},
	{"_internal/common_utils", "prof_callable"},
	{"_internal/common_utils", "prof_func_call"},
	{"_internal/common_utils", "prof_meth_call"},
}

func hiddenFrame(frame string) bool {
	for _, h := range hiddenFrames {
		if strings.Contains(frame, h[0]) && strings.Contains(frame, h[1]) {
			return true
		}
	}
	return false
}

// stackEvents gives operators their Call stack, and what they launched the same.
func (c *compat) stackEvents() {
	for i := range c.events {
		if e := &c.events[i]; e.kind == compatOp {
			e.stack = c.stacks.call(c.t.Host[e.source].Stack)
		}
	}
	for i := range c.events {
		if e := &c.events[i]; e.linked {
			e.stack = c.events[c.ids.at(c.externalOf(e)).op].stack
		}
	}
}

// forwardKey finds the forward operator of a node of autograd.
type forwardKey struct {
	sequence int64
	thread   ThreadID
}

// forwardStacks shows, for the backward of an operator, the stack of the
// operator itself (_set_backward_stacktraces of profiler_util.py). Torch goes by
// RecordScope::BACKWARD_FUNCTION, which the file does not say; such an event is
// the one that autograd's evaluate_function runs under the same name.
func (c *compat) forwardStacks() {
	backward := c.backwardOf()
	forward := c.forwardOps(backward)
	threads := c.forwardThreads()
	for i := range c.events {
		e, b := &c.events[i], backward[i]
		if b == none || e.folded {
			continue
		}
		e.stack = 0
		h := &c.t.Host[c.events[b].source]
		if thread, ok := threads.of(h.FwdThread); ok {
			if op, ok := forward[forwardKey{h.Sequence, thread}]; ok {
				e.stack = c.events[op].stack
			}
		}
	}
}

// backwardOf returns the innermost backward node that each event belongs to.
func (c *compat) backwardOf() []int32 {
	backward := make([]int32, len(c.events))
	for i := range backward {
		backward[i] = none
	}
	for _, k := range c.order {
		e := &c.events[k.event]
		switch {
		case e.parent == none:
		case c.isBackward(e):
			backward[k.event] = k.event
		default:
			backward[k.event] = backward[e.parent]
		}
	}
	return backward
}

func (c *compat) isBackward(e *compatEvent) bool {
	if e.kind != compatOp || e.annotation {
		return false
	}
	node, ok := strings.CutPrefix(c.t.Names[c.events[e.parent].name], evaluatePrefix)
	return ok && node == c.t.Names[e.name]
}

// forwardOps returns, by sequence number and thread, the first event that is no
// backward: the one whose stack the backward shows.
func (c *compat) forwardOps(backward []int32) map[forwardKey]int32 {
	first := make(map[forwardKey]int32)
	for i := range c.events {
		e := &c.events[i]
		if backward[i] != none || e.folded {
			continue
		}
		k := forwardKey{NoSequence, e.thread}
		if e.kind == compatOp {
			k.sequence = c.t.Host[e.source].Sequence
		}
		if other, ok := first[k]; !ok || c.key(int32(i)).before(c.key(other)) < 0 {
			first[k] = int32(i)
		}
	}
	return first
}

// forwardThreads maps torch's own thread numbers to threads.
type forwardThreads struct {
	known map[uint32]ThreadID
	other ThreadID
	guess bool // without arrows in the file, forward ran on the other thread
}

func (f *forwardThreads) of(number uint32) (ThreadID, bool) {
	if number == 0 {
		return 0, false
	}
	if f.guess {
		return f.other, true
	}
	id, ok := f.known[number]
	return id, ok
}

// forwardThreads reads them off the arrows: one that ends at a backward operator
// begins on the thread whose number that operator names.
func (c *compat) forwardThreads() forwardThreads {
	type place struct {
		time   int64
		thread ThreadID
	}
	numbers := make(map[place]uint32)
	for i := range c.events[:c.device] {
		if e := &c.events[i]; e.kind == compatOp && !e.folded {
			if n := c.t.Host[e.source].FwdThread; n != 0 {
				numbers[place{e.start, e.thread}] = n
			}
		}
	}
	begins := make(map[int64]ThreadID)
	for _, a := range c.t.Arrows {
		if _, ok := begins[a.ID]; a.Start && !ok {
			begins[a.ID] = a.Thread
		}
	}
	f := forwardThreads{known: make(map[uint32]ThreadID), other: c.main, guess: len(c.t.Arrows) == 0}
	for _, a := range c.t.Arrows {
		number, ok := numbers[place{a.Time, a.Thread}]
		if begin, found := begins[a.ID]; !a.Start && ok && found {
			f.known[number] = begin
		}
	}
	return f
}
