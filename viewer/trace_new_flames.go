package viewer

import (
	"strings"

	"github.com/snapview/snapview/profiler"
)

// flames gathers the flame graphs of what is allocated and of device time.
func (g *gatherer) flames() []TraceFlame {
	var out []TraceFlame
	add := func(name, title, intro string, unit Unit, root *profiler.FlameNode) {
		if root != nil && root.Value > 0 {
			out = append(out, TraceFlame{Name: name, Title: title, Intro: intro, Unit: unit, Root: g.flame(root, 0)})
		}
	}
	const nodes = maxFlameNodes / maxTraceFlames
	if g.hasMemory {
		add("bytes", "Bytes by stack", "All that was allocated over the trace, freed or not, by call stack; operators are innermost. What the backward allocates is below (backward), at the stack of its forward.", InBytes, g.t.FlameBytes(nodes))
	}
	if g.hasDevice {
		add("time", "Time by stack", "Time of kernels, copies and fills by the call stack that launched them; streams that run at once add up.", InTime, g.t.FlameTime(nodes))
	}
	return out
}

func (g *gatherer) flame(n *profiler.FlameNode, depth int) *Flame {
	f := &Flame{Frame: g.stacks.frame(n.Name), Bytes: n.Value, Count: n.Count}
	if depth == 0 || strings.HasPrefix(n.Name, "(") {
		f.Frame = Frame{Function: n.Name, Kind: SpecialFrame}
	}
	if depth == deepest {
		return f
	}
	for _, c := range n.Children {
		f.Children = append(f.Children, g.flame(c, depth+1))
	}
	return f
}

// findings are the doctor's, with severities that the style sheet knows.
func findings(t *profiler.Trace) []Finding {
	var out []Finding
	for _, f := range t.Doctor() {
		tone := "note"
		if f.Severity == profiler.Severe {
			tone = "bad"
		}
		out = append(out, Finding{tone, f.Title, f.Detail, f.Fix})
	}
	return out
}
