package attribution

import (
	"slices"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// trait is what a frame, or any frame of a stack, gives away.
type trait uint16

const (
	traitSoftmax     trait = 1 << iota // softmax, but not log_softmax
	traitLoss                          // cross_entropy, log_softmax, nll_loss
	traitLayer                         // a layer that autocast runs in half precision
	traitAutocast                      // C++: the cast of autocast itself
	traitClip                          // clip_grad_norm_ and clip_grad_value_
	traitForeach                       // an optimizer's foreach implementation
	traitCheckpoint                    // torch.utils.checkpoint
	traitCopy                          // copy.deepcopy of a tensor
	traitSharded                       // FSDP
	traitConvolution                   // a convolution, for which cuDNN picks algorithms
)

// frameTraits reads one frame. File names are those of PyTorch's Python
// sources; C++ names those of ATen's operators.
func frameTraits(f *snapshot.Frame) trait {
	if !f.IsPython() {
		return nativeTraits(f.Function)
	}
	file := strings.ReplaceAll(f.File, `\`, "/")
	at := strings.LastIndex(file, "/torch/")
	if at < 0 {
		if strings.HasSuffix(file, "/copy.py") && f.Function == "deepcopy" && f.IsLibrary() {
			return traitCopy
		}
		return 0
	}
	switch path := file[at+len("/torch/"):]; {
	case path == "nn/functional.py":
		switch f.Function {
		case "softmax", "gumbel_softmax":
			return traitSoftmax
		case "cross_entropy", "log_softmax", "nll_loss":
			return traitLoss
		case "linear":
			return traitLayer
		case "conv1d", "conv2d", "conv3d":
			return traitLayer | traitConvolution
		}
	case path == "nn/modules/linear.py":
		if f.Function == "forward" {
			return traitLayer
		}
	case path == "nn/modules/conv.py":
		if f.Function == "forward" || f.Function == "_conv_forward" {
			return traitLayer | traitConvolution
		}
	case path == "nn/utils/clip_grad.py":
		return traitClip
	case path == "utils/checkpoint.py":
		return traitCheckpoint
	case strings.HasPrefix(path, "optim/") && strings.HasPrefix(f.Function, "_multi_tensor"):
		return traitForeach
	case strings.HasPrefix(path, "distributed/fsdp/") || strings.HasPrefix(path, "distributed/_composable/fsdp/"):
		return traitSharded
	}
	return 0
}

func nativeTraits(function string) (t trait) {
	switch {
	case strings.Contains(function, "log_softmax"), strings.Contains(function, "cross_entropy_loss"), strings.Contains(function, "nll_loss"):
		t |= traitLoss
	case strings.Contains(function, "at::_ops::_softmax::"), strings.Contains(function, "at::native::softmax("):
		t |= traitSoftmax
	}
	if strings.Contains(function, "cudnn_convolution") || strings.Contains(function, "at::convolution") {
		t |= traitConvolution
	}
	if strings.Contains(function, "at::autocast::cached_cast") {
		t |= traitAutocast
	}
	return t
}

// look is a snapshot as the rules see it.
type look struct {
	*Classification
	stats  snapshot.Stats
	moment snapshot.Moment // the peak, or the end when no peak is known
	live   []int32         // allocations live then, indices into Timeline.Allocations
	total  int64           // their requested bytes
	by     Totals

	frames    []trait                    // by FrameID
	stacks    []stackInfo                // by StackID, as far as asked for
	functions map[function]int32         // numbers of functions
	largest   map[snapshot.StackID]int64 // request of each stack, on first use
	all       trait                      // of all frames of the file
	phasesOf  map[PhaseKind][]Phase
}

// stackInfo is what the rules want to know of a stack.
type stackInfo struct {
	known    bool
	python   bool // line is a Python frame
	place    bool // there is a line
	own      bool // the innermost Python frame is the user's
	traits   trait
	function int32 // number of the user's function, 0 for none
	line     snapshot.FrameID
}

// function tells functions of the user's code apart: by name, and by the line
// that calls them, since every module has its forward.
type function struct {
	file, name string
	caller     snapshot.FrameID
}

func newLook(c *Classification) *look {
	t := c.Timeline
	m, err := t.Moment("peak")
	if err != nil {
		if m, err = t.Moment("end"); err != nil {
			return nil
		}
	}
	l := &look{Classification: c, stats: t.Device.Stats(), moment: m, functions: map[function]int32{}, phasesOf: map[PhaseKind][]Phase{}}
	for i, a := range c.Live(m) {
		l.live = append(l.live, int32(i))
		l.total += a.Requested
		l.by[c.Labels[i].Category] += a.Requested
	}
	l.frames = make([]trait, len(c.Snapshot.Frames))
	for i := range l.frames {
		l.frames[i] = frameTraits(&c.Snapshot.Frames[i])
		l.all |= l.frames[i]
	}
	l.stacks = make([]stackInfo, c.Snapshot.Stacks.Len())
	for _, p := range c.Phases {
		l.phasesOf[p.Kind] = append(l.phasesOf[p.Kind], p)
	}
	return l
}

// stack looks at a stack once.
func (l *look) stack(id snapshot.StackID) *stackInfo {
	if int(id) >= len(l.stacks) {
		id = snapshot.NoStack
	}
	x := &l.stacks[id]
	if x.known {
		return x
	}
	x.known = true
	x.line, x.place = l.Snapshot.UserFrame(id)
	if x.place {
		x.python = l.Snapshot.Frames[x.line].IsPython()
	}
	callee, caller, innermost := x.python, ^snapshot.FrameID(0), true
	for _, f := range l.Snapshot.Stacks.Frames(id) {
		x.traits |= l.frames[f]
		frame := &l.Snapshot.Frames[f]
		if !frame.IsPython() {
			continue
		}
		user := !frame.IsLibrary()
		if innermost {
			x.own, innermost = user, false
		}
		switch {
		case !user:
		case callee && f == x.line:
			callee = false
		case caller == ^snapshot.FrameID(0):
			caller = f
		}
	}
	if x.python {
		frame := &l.Snapshot.Frames[x.line]
		key := function{frame.File, frame.Function, caller}
		if l.functions[key] == 0 {
			l.functions[key] = int32(len(l.functions) + 1)
		}
		x.function = l.functions[key]
	}
	return x
}

func (l *look) allocation(i int32) *snapshot.Allocation { return &l.Timeline.Allocations[i] }
func (l *look) category(i int32) Category               { return l.Labels[i].Category }

// passing is memory that a forward or backward makes and does not keep.
func passing(c Category) bool {
	return c == Activation || c == Temporary || c == AutogradDetail
}

// where returns those live allocations for which keep holds.
func (l *look) where(keep func(i int32, a *snapshot.Allocation) bool) []int32 {
	var out []int32
	for _, i := range l.live {
		if keep(i, l.allocation(i)) {
			out = append(out, i)
		}
	}
	return out
}

// charge fills in a finding's bytes, and its line: the one that holds most, if
// possible a line of Python.
func (l *look) charge(f Finding, held []int32) Finding {
	sums := map[snapshot.FrameID]int64{}
	f.held = slices.Sorted(slices.Values(held))
	for _, i := range held {
		a := l.allocation(i)
		f.Bytes += a.Requested
		if x := l.stack(a.Stack); x.place {
			sums[x.line] += a.Requested
		}
	}
	best, bestBytes, bestPython := snapshot.NoStack, int64(-1), false
	for _, i := range held { // in order of birth, so that ties do not depend on a map
		id := l.allocation(i).Stack
		x := l.stack(id)
		bytes := int64(-1)
		if x.place {
			bytes = sums[x.line]
		}
		if x.python && !bestPython || x.python == bestPython && bytes > bestBytes {
			best, bestBytes, bestPython = id, bytes, x.python
		}
	}
	if len(held) > 0 {
		l.at(&f, best)
	}
	return f
}

// at names a finding's line.
func (l *look) at(f *Finding, id snapshot.StackID) {
	x := l.stack(id)
	if !x.place {
		f.Function = snapshot.NoStackKnown
		if l.hasStacks() {
			f.Function = snapshot.AutogradThread
		}
		return
	}
	frame := &l.Snapshot.Frames[x.line]
	f.File, f.Line, f.Function = frame.File, frame.Line, frame.Function
	if f.File == "??" {
		f.File = ""
	}
}

func (l *look) hasStacks() bool { return l.Snapshot.Stacks.Len() > 1 }
