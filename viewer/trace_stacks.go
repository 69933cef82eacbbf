package viewer

import (
	"strings"

	"github.com/snapview/snapview/profiler"
)

// textStacks resolves stacks of a trace, whose frames are text. Equal stacks
// have one id.
type textStacks struct {
	stacks [][]string // by id − 1
	ids    map[string]uint32
	frames map[string]Frame
}

func newTextStacks() *textStacks {
	return &textStacks{ids: map[string]uint32{}, frames: map[string]Frame{}}
}

// id returns the id of a stack, 0 for an empty one.
func (x *textStacks) id(stack []string) uint32 {
	stack = stack[:min(len(stack), deepest)]
	if len(stack) == 0 {
		return 0
	}
	key := strings.Join(stack, "\x00")
	if id, ok := x.ids[key]; ok {
		return id
	}
	x.stacks = append(x.stacks, stack)
	id := uint32(len(x.stacks))
	x.ids[key] = id
	return id
}

func (x *textStacks) Stack(id uint32) []Frame {
	if id == 0 || int(id) > len(x.stacks) {
		return nil
	}
	stack := x.stacks[id-1]
	out := make([]Frame, len(stack))
	for i, text := range stack {
		out[i] = x.frame(text)
	}
	return out
}

func (x *textStacks) Line(id uint32) Frame {
	if id == 0 || int(id) > len(x.stacks) {
		return Frame{Function: "(no stack)", Kind: SpecialFrame}
	}
	file, line, function, ok := profiler.LineOf(x.stacks[id-1])
	if !ok {
		return Frame{Function: "(no stack)", Kind: SpecialFrame}
	}
	return Frame{File: file, Line: line, Function: function}
}

func (x *textStacks) frame(text string) Frame {
	if f, ok := x.frames[text]; ok {
		return f
	}
	f := textFrame(text)
	x.frames[text] = f
	return f
}

// probe is a line of a user's program: LineOf prefers it to one of a library.
const probe = "probe_of_the_report.py(1): f"

// textFrame takes "file.py(12): function" apart. What is no line of Python is
// drawn as native code ("<built-in …>") or as part of a library ("nn.Module: …").
func textFrame(text string) Frame {
	file, line, function, ok := profiler.LineOf([]string{text, probe})
	switch {
	case !ok || !strings.Contains(text, "): ") || strings.HasPrefix(text, "nn.Module: "):
		f := Frame{Function: text, Kind: NativeFrame}
		if strings.HasPrefix(text, "nn.Module: ") {
			f.Kind = LibraryFrame
		}
		return f
	case strings.HasPrefix(probe, file+"("):
		if file, line, function, ok = profiler.LineOf([]string{text}); !ok {
			return Frame{Function: text, Kind: NativeFrame}
		}
		return Frame{File: file, Line: line, Function: function, Kind: LibraryFrame}
	}
	return Frame{File: file, Line: line, Function: function}
}
