package snapshot

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// IsPython reports whether the frame is Python code rather than C++: its file
// ends in .py, is a pseudo file such as <string>, or is a notebook cell.
func (f *Frame) IsPython() bool {
	return strings.HasSuffix(f.File, ".py") || strings.HasPrefix(f.File, "<") ||
		strings.Contains(f.File, "/ipykernel_") || strings.Contains(f.File, `\ipykernel_`)
}

// IsLibrary reports whether the frame's file belongs to an installed package or
// to Python's standard library.
func (f *Frame) IsLibrary() bool {
	file := f.File
	if strings.HasPrefix(file, "<frozen") {
		return true
	}
	if strings.Contains(file, `\`) {
		return windowsLibrary.MatchString(file)
	}
	return strings.Contains(file, "/site-packages/") || strings.Contains(file, "/dist-packages/") ||
		strings.Contains(file, "/lib/python3")
}

// windowsLibrary matches installed packages and the standard library, which
// lies in the folder Lib of a Python, a conda or one of its environments.
var windowsLibrary = regexp.MustCompile(`(?i)[\\/]((site|dist)-packages|lib[\\/]python3[^\\/]*|` +
	`(python3[^\\/]*|[^\\/]*(conda|forge)3?|envs[\\/][^\\/]+)[\\/]lib)[\\/]`)

// isRecorder reports whether a C++ function is part of how a stack is taken or
// memory handed out (torch::unwind, CapturedTraceback, the caching allocator of
// CUDA, ROCm, XPU or NPU): every stack with C++ frames starts with some.
func isRecorder(function string) bool {
	return strings.HasPrefix(function, "torch::unwind::") ||
		strings.HasPrefix(function, "torch::CapturedTraceback::") ||
		strings.Contains(function, "gather_with_cpp") ||
		strings.Contains(function, "CachingAllocator::") &&
			(strings.HasPrefix(function, "c10") || strings.HasPrefix(function, "at::"))
}

// frameClass holds what folding wants to know of a frame.
type frameClass uint8

const (
	classPython frameClass = 1 << iota
	classLibrary
	classRecorder // see isRecorder
	classNamed    // has a function name other than "??"
)

// frameIndex is derived from Snapshot.Frames once, so that folding millions of
// allocations looks at no text.
type frameIndex struct {
	class []frameClass
	canon []FrameID // the first frame with the same text: equal frames may be stored more than once
}

// frameIndex returns the index, built at the first call and again if frames
// have been added since.
func (s *Snapshot) frameIndex() *frameIndex {
	if x := s.index.Load(); x != nil && len(x.class) == len(s.Frames) {
		return x
	}
	x := newFrameIndex(s.Frames)
	s.index.Store(x)
	return x
}

func newFrameIndex(frames []Frame) *frameIndex {
	type text struct {
		file, function string
		line           int32
	}
	x := &frameIndex{make([]frameClass, len(frames)), make([]FrameID, len(frames))}
	first := make(map[text]FrameID, len(frames))
	for i := range frames {
		f := &frames[i]
		key := text{f.File, f.Function, f.Line}
		id, known := first[key]
		if !known {
			id = FrameID(i)
			first[key] = id
			x.class[i] = classify(f)
		}
		x.class[i], x.canon[i] = x.class[id], id
	}
	return x
}

func classify(f *Frame) (c frameClass) {
	if f.IsPython() {
		c |= classPython
		if f.IsLibrary() {
			c |= classLibrary
		}
	} else if isRecorder(f.Function) {
		c |= classRecorder
	}
	if f.Function != "" && f.Function != "??" {
		c |= classNamed
	}
	return c
}

// UserFrame returns the frame that best says which line of the user's program a
// stack stands for: the innermost Python frame outside installed packages and
// the standard library; without one the innermost Python frame; without that
// the innermost named C++ frame, if possible one that is not part of the
// recording itself. It returns false when the stack has none of these.
func (s *Snapshot) UserFrame(id StackID) (FrameID, bool) {
	return s.frameIndex().user(s.Stacks.Frames(id))
}

func (x *frameIndex) user(frames []FrameID) (FrameID, bool) {
	const none = ^FrameID(0)
	library, native, recorder := none, none, none
	for _, f := range frames {
		slot := &native
		switch c := x.class[f]; {
		case c&(classPython|classLibrary) == classPython:
			return f, true
		case c&classPython != 0:
			slot = &library
		case c&classNamed == 0:
			continue
		case c&classRecorder != 0:
			slot = &recorder
		}
		if *slot == none {
			*slot = f
		}
	}
	for _, f := range [...]FrameID{library, native, recorder} {
		if f != none {
			return f, true
		}
	}
	return 0, false
}

// innermost returns the innermost frame that says something: not part of the
// recording and with a name, as far as there is one.
func (x *frameIndex) innermost(frames []FrameID) (FrameID, bool) {
	for _, want := range []func(frameClass) bool{
		func(c frameClass) bool { return c&classRecorder == 0 && c&(classNamed|classPython) != 0 },
		func(c frameClass) bool { return c&classRecorder == 0 },
		func(frameClass) bool { return true },
	} {
		for _, f := range frames {
			if want(x.class[f]) {
				return f, true
			}
		}
	}
	return 0, false
}

// Trimmed returns the frames of a stack, innermost first, without those of the
// recording at its innermost end, unless there are no others. The result must
// not be changed.
func (s *Snapshot) Trimmed(id StackID) []FrameID {
	return s.frameIndex().trim(s.Stacks.Frames(id))
}

func (x *frameIndex) trim(frames []FrameID) []FrameID {
	for i, f := range frames {
		if x.class[f]&classRecorder == 0 {
			return frames[i:]
		}
	}
	return frames
}

// FrameText renders a frame as "file.py:12 function" for a terminal or a log:
// a file that is not known ("" or "??") and a line of 0 are left out, and
// control and other invisible characters are escaped.
func (s *Snapshot) FrameText(f Frame) string {
	var b strings.Builder
	if f.File != "" && f.File != "??" {
		b.WriteString(units.Safe(f.File))
		if f.Line > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(int(f.Line)))
		}
	}
	if f.Function != "" {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(units.Safe(f.Function))
	}
	if b.Len() == 0 {
		return "??"
	}
	return b.String()
}
