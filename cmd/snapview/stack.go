package main

import (
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// maxStackLines is how many frames of a stack are printed; --json has all.
const maxStackLines = 24

// writeStack prints the frames of a row's stack, innermost first. A stack with
// Python frames is printed without its C++ ones, which are only counted: with
// stacks="all" there are dozens, and the user's lines would be lost among them.
func (u *ui) writeStack(b *strings.Builder, s *snapshot.Snapshot, r snapshot.Row) {
	const indent = "    "
	line := func(text string) { b.WriteString(indent + text + "\n") }
	all := stackFrames(s, r.Stack)
	if len(all) == 0 {
		line(location(r.File, r.Line, r.Function, u.width-len(indent)))
		return
	}
	frames := pythonFrames(all)
	if len(frames) == 0 {
		frames = all
	}
	shown := len(frames)
	if shown > maxStackLines+1 {
		shown = maxStackLines
	}
	for _, f := range frames[:shown] {
		text := location(f.File, f.Line, f.Function, u.width-len(indent))
		if f.IsLibrary() || !f.IsPython() {
			text = u.style(faint, text)
		}
		line(text)
	}
	if left := len(frames) - shown; left > 0 {
		line(u.style(faint, ellipsis+" "+plural(left, "outer frame")))
	}
	if native := len(all) - len(frames); native > 0 {
		line(u.style(faint, "("+plural(native, "native frame")+" not shown)"))
	}
}

func pythonFrames(frames []*snapshot.Frame) []*snapshot.Frame {
	var python []*snapshot.Frame
	for _, f := range frames {
		if f.IsPython() {
			python = append(python, f)
		}
	}
	return python
}
