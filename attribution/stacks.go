package attribution

import (
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// stackIndex holds what each stack that a device uses tells: frames are read
// once per distinct frame, stacks once per distinct stack.
type stackIndex struct {
	snap   *snapshot.Snapshot
	frames []feature          // by FrameID
	canon  []snapshot.FrameID // the first frame of equal text: a file may store it more than once
	bits   []feature          // by StackID; 0 for stacks the device does not use
	root   []snapshot.FrameID // outermost Python frame, by StackID; noFrame without one
	extra  string             // name of the outermost frame of the main thread where it is an unusual one
	same   map[string]int32   // stacks of equal text, by their frames
	number []int32            // number of a stack among those of different text, 0: not asked yet
}

const noFrame = ^snapshot.FrameID(0)

// newStackIndex reads the stacks that are used, by events or by live memory.
func newStackIndex(s *snapshot.Snapshot, t *snapshot.Timeline) *stackIndex {
	n := s.Stacks.Len()
	x := &stackIndex{
		snap: s, frames: make([]feature, len(s.Frames)), canon: make([]snapshot.FrameID, len(s.Frames)),
		bits: make([]feature, n), root: make([]snapshot.FrameID, n), same: map[string]int32{}, number: make([]int32, n),
	}
	x.readFrames()
	uses := x.countUses(t)
	for id, count := range uses {
		x.root[id] = noFrame
		if count > 0 {
			x.root[id] = x.findRoot(snapshot.StackID(id))
		}
	}
	x.extra = x.unusualRoot(uses)
	for id, count := range uses {
		if count > 0 {
			x.bits[id] = x.read(snapshot.StackID(id))
		}
	}
	x.bits[snapshot.NoStack] = isEmpty
	return x
}

func (x *stackIndex) readFrames() {
	type text struct {
		file, function string
		line           int32
	}
	first := make(map[text]snapshot.FrameID, len(x.frames))
	for i := range x.snap.Frames {
		f := &x.snap.Frames[i]
		key := text{f.File, f.Function, f.Line}
		id, known := first[key]
		if !known {
			id = snapshot.FrameID(i)
			first[key] = id
			x.frames[i] = frameFeatures(f)
		}
		x.canon[i], x.frames[i] = id, x.frames[id]
	}
}

// countUses counts events by stack, and live memory that the history does not
// show being born.
func (x *stackIndex) countUses(t *snapshot.Timeline) []int32 {
	uses := make([]int32, x.snap.Stacks.Len())
	count := func(id snapshot.StackID) {
		if int(id) < len(uses) && uses[id] < 1<<30 {
			uses[id]++
		}
	}
	for i := range t.Device.Events {
		count(t.Device.Events[i].Stack)
	}
	for i := range t.Allocations {
		count(t.Allocations[i].Stack)
	}
	return uses
}

func (x *stackIndex) findRoot(id snapshot.StackID) snapshot.FrameID {
	frames := x.snap.Stacks.Frames(id)
	for i := len(frames) - 1; i >= 0; i-- {
		if x.frames[frames[i]].has(isPython) {
			return frames[i]
		}
	}
	return noFrame
}

// isMainRoot knows where stacks of threads that Python started begin: the main
// program, threading.Thread, python -m, python -c and embedded code.
func isMainRoot(name string) bool {
	switch name {
	case "<module>", "_bootstrap", "_bootstrap_inner", "_run_module_as_main", "<string>", "<stdin>":
		return true
	}
	return false
}

// unusualRoot returns the commonest outermost function when no stack begins
// where Python programs do, as in an interpreter embedded in another program.
func (x *stackIndex) unusualRoot(uses []int32) (name string) {
	counts := map[string]int64{}
	for id, count := range uses {
		if count == 0 || x.root[id] == noFrame {
			continue
		}
		root := x.snap.Frames[x.root[id]].Function
		if isMainRoot(root) {
			return ""
		}
		counts[root] += int64(count)
	}
	for root, n := range counts {
		if best := counts[name]; n > best || n == best && root < name {
			name = root
		}
	}
	return name
}

// read joins the features of a stack's frames, innermost first, where an inner
// frame can take an outer one's meaning away.
func (x *stackIndex) read(id snapshot.StackID) (b feature) {
	for _, frame := range x.snap.Stacks.Frames(id) {
		f := x.frames[frame]
		if b.has(inModuleCall|inBackwardAPI) && !b.has(inOptimizer) {
			f &^= inOptimizer | inStateInit // a closure that the optimizer's step calls: a forward or backward
		}
		if b.has(inModuleCall) {
			f &^= inParameter | inModuleInit | inUserInit // a constructor that tries its module out
		}
		if b.has(inFSDP | inCollective) {
			f &^= inUserInit // wrapping inside a constructor
		}
		b |= f
	}
	if root := x.root[id]; root != noFrame {
		b = x.thread(b, x.snap.Frames[root].Function)
	}
	if b.has(inFSDP) && b.has(inParameter) {
		b &^= inCollective // shards are cut by the same helpers that gather them
	}
	return b
}

// thread tells the autograd thread by its outermost Python frame: the engine's
// threads belong to C++, so Python on them (checkpoint recomputation, hooks,
// Function.backward, compiled backwards) does not begin where a program does.
func (x *stackIndex) thread(b feature, root string) feature {
	if !isMainRoot(root) && root != x.extra {
		return b | onAutograd
	}
	return b &^ (onAutograd | inAccumulate) // native frames of a backward that runs on the calling thread
}

func (x *stackIndex) of(id snapshot.StackID) feature {
	if int(id) >= len(x.bits) {
		return isEmpty
	}
	return x.bits[id]
}

// python returns the i-th Python frame from the innermost, nil without one.
func (x *stackIndex) python(id snapshot.StackID, i int) *snapshot.Frame {
	for _, frame := range x.snap.Stacks.Frames(id) {
		if !x.frames[frame].has(isPython) {
			continue
		}
		if i == 0 {
			return &x.snap.Frames[frame]
		}
		i--
	}
	return nil
}

// applyLine returns the line of Module._apply that called the function which
// made the memory, 0 when another function did. Parameters and buffers are
// converted on different lines of it, parameters first.
func (x *stackIndex) applyLine(id snapshot.StackID) int32 {
	inner, outer := x.python(id, 0), x.python(id, 1)
	if inner == nil || outer == nil || inner.Function == "_apply" || outer.Function != "_apply" ||
		!strings.HasSuffix(strings.ReplaceAll(outer.File, `\`, "/"), "torch/nn/modules/module.py") {
		return 0
	}
	return outer.Line
}

// constructor returns the innermost frame that is a constructor of the user's.
func (x *stackIndex) constructor(id snapshot.StackID) snapshot.FrameID {
	for _, frame := range x.snap.Stacks.Frames(id) {
		if x.frames[frame].has(inUserInit) {
			return x.canon[frame]
		}
	}
	return noFrame
}

// text numbers stacks by what they say, from 1: equal ones may be stored twice.
func (x *stackIndex) text(id snapshot.StackID) int32 {
	if int(id) >= len(x.number) {
		return 0
	}
	if x.number[id] == 0 {
		key := make([]byte, 0, 256)
		for _, frame := range x.snap.Stacks.Frames(id) {
			f := x.canon[frame]
			key = append(key, byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
		}
		n, known := x.same[string(key)]
		if !known {
			n = int32(len(x.same) + 1)
			x.same[string(key)] = n
		}
		x.number[id] = n
	}
	return x.number[id]
}

// closeBy reports whether two stacks end in the same three innermost frames.
func (x *stackIndex) closeBy(a, b snapshot.StackID) bool {
	p, q := x.snap.Stacks.Frames(a), x.snap.Stacks.Frames(b)
	n := min(len(p), 3)
	if n != min(len(q), 3) {
		return false
	}
	for i := range n {
		if x.canon[p[i]] != x.canon[q[i]] {
			return false
		}
	}
	return true
}
