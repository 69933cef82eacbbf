package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Step is one round of training: what a step of the profiler or of the
// optimizer encloses. Memory is that of the accelerator with the most events,
// or of the CPU; device time is that of all devices.
type Step struct {
	Name   string
	Number int // n of ProfilerStep#n; counted from 0 otherwise
	Span
	Phases []Phase // in order of time
}

// A Phase is a part of a step.
type Phase struct {
	Kind PhaseKind
	Name string // the user's mark, such as "## forward ##"; else the name of the kind
	Span
}

// Span is what happened between two times. Times are ns, sizes bytes.
type Span struct {
	Start, End      int64
	Before          int64 // allocated when it began
	Peak            int64 // highest allocated, at its start included
	PeakTime        int64
	Allocated       int64 // gross
	Freed           int64
	Kept            int64 // Allocated − Freed: what it adds to memory
	Allocs, Frees   int
	Kernels         int   // launched in it, on any thread
	KernelTime      int64 // sum of the durations of these, and of copies and fills, whenever they ran
	DeviceBusy      int64 // time within the span in which a device worked; of all devices
	DeviceIdle      int64 // End − Start less the time in which any device worked
	HasMemory       bool
	HasDeviceEvents bool
}

// Steps finds the steps of a trace: ProfilerStep#n annotations when there are
// any; else the times up to the end of each Optimizer.step; else none. Work
// behind the last optimizer step is no step.
func (t *Trace) Steps() []Step {
	steps := t.profilerSteps()
	if len(steps) == 0 {
		steps = t.optimizerSteps()
	}
	if len(steps) == 0 {
		return nil
	}
	m := t.newMeter()
	phases := t.phases()
	marks := t.phaseMarks()
	for i := range steps {
		s := &steps[i]
		m.measure(&s.Span)
		s.Phases = phasesOf(s, marks, phases)
		for k := range s.Phases {
			m.measure(&s.Phases[k].Span)
		}
	}
	return steps
}

// profilerSteps are the ProfilerStep#n annotations.
func (t *Trace) profilerSteps() []Step {
	var steps []Step
	for i := range t.Host {
		e := &t.Host[i]
		name := t.Names[e.Name]
		if e.Kind == Runtime || e.Kind == Overhead || !strings.HasPrefix(name, profilerStep) {
			continue
		}
		number, err := strconv.Atoi(strings.TrimPrefix(name[len(profilerStep):], "#"))
		if err != nil {
			number = len(steps)
		}
		steps = append(steps, Step{Name: name, Number: number, Span: Span{Start: e.Start, End: e.End()}})
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Start, b.Start) })
	return steps
}

// optimizerSteps are the times from one Optimizer.step to the end of the next,
// zero_grad right behind it included. Several optimizers may step in a row: a
// step that has nothing of autograd before it belongs to the one before.
func (t *Trace) optimizerSteps() []Step {
	start, ok := t.firstTime()
	if !ok {
		return nil
	}
	var steps []Step
	worked := false
	for _, p := range t.phases() {
		switch {
		case p.kind == PhaseForward || p.kind == PhaseBackward:
			worked = true
		case len(steps) > 0 && !worked: // zero_grad, or a further optimizer
			steps[len(steps)-1].End = p.end
			start = p.end
		case p.kind == PhaseOptimizer:
			n := len(steps)
			steps = append(steps, Step{Name: fmt.Sprintf("step %d", n), Number: n, Span: Span{Start: start, End: p.end}})
			start, worked = p.end, false
		}
	}
	return steps
}

// firstTime is when the first operator or annotation began.
func (t *Trace) firstTime() (first int64, ok bool) {
	for i := range t.Host {
		if e := &t.Host[i]; (e.Kind == Operator || e.Kind == Annotation) && (!ok || e.Start < first) {
			first, ok = e.Start, true
		}
	}
	return first, ok
}

// phaseMarks are the user's own annotations of phases: names such as
// "## forward ##", the form of PyTorch's documentation of its memory timeline.
func (t *Trace) phaseMarks() []Phase {
	var marks []Phase
	for i := range t.Host {
		e := &t.Host[i]
		if e.Kind != Annotation {
			continue
		}
		name := t.Names[e.Name]
		if kind, ok := markKind(name); ok {
			marks = append(marks, Phase{Kind: kind, Name: name, Span: Span{Start: e.Start, End: e.End()}})
		}
	}
	slices.SortStableFunc(marks, func(a, b Phase) int { return cmp.Compare(a.Start, b.Start) })
	return marks
}

// markKind reads the phase from the text of a mark.
func markKind(name string) (PhaseKind, bool) {
	switch strings.ToLower(strings.Trim(name, "#* -=_")) {
	case "forward", "fwd", "forward pass":
		return PhaseForward, true
	case "backward", "bwd", "backward pass", "loss.backward":
		return PhaseBackward, true
	case "optimizer", "optim", "step", "optimizer step", "optimizer_step":
		return PhaseOptimizer, true
	case "zero_grad", "zero grad":
		return PhaseZeroGrad, true
	}
	return PhaseOther, false
}

// phasesOf returns the user's marks within a step when it has any, and what was
// found from the operators otherwise.
func phasesOf(s *Step, marks []Phase, found []phaseSpan) []Phase {
	var out []Phase
	for _, m := range marks {
		if m.Start >= s.Start && m.Start < s.End {
			m.End = min(m.End, s.End)
			out = append(out, m)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, p := range found {
		start, end := max(p.start, s.Start), min(p.end, s.End)
		if start < end {
			out = append(out, Phase{Kind: p.kind, Name: p.kind.String(), Span: Span{Start: start, End: end}})
		}
	}
	return out
}

// A meter measures spans of time.
type meter struct {
	t        *Trace
	events   []int32 // memory events of the main device, in order
	baseline int64
	totals   []int64
	launched []launched // by time
	busy     []intervals
	any      intervals
}

// launched is device work and when the process asked for it.
type launched struct {
	at, dur int64
	kernel  bool
}

func (t *Trace) newMeter() *meter {
	m := &meter{t: t}
	if main := mainMemory(t.allocationsByDevice()); main != nil {
		m.events = main.events
		m.baseline, m.totals = t.runningTotals(m.events)
	}
	launches := t.launches()
	spans := make(map[int32][]interval)
	var all []interval
	for i := range t.Device {
		e := &t.Device[i]
		if e.Kind == DeviceAnnotation {
			continue
		}
		at := e.Start
		if host, ok := launches[e.Correlation]; ok {
			at = t.Host[host].Start
		}
		m.launched = append(m.launched, launched{at, e.Dur, e.Kind.isKernel()})
		spans[e.Device] = append(spans[e.Device], interval{e.Start, e.End()})
		all = append(all, interval{e.Start, e.End()})
	}
	slices.SortFunc(m.launched, func(a, b launched) int { return cmp.Compare(a.at, b.at) })
	for _, s := range spans {
		m.busy = append(m.busy, union(s))
	}
	m.any = union(all)
	return m
}

// measure fills a span from its start and end.
func (m *meter) measure(s *Span) {
	s.HasMemory, s.HasDeviceEvents = len(m.events) > 0, len(m.launched) > 0
	at, _ := slices.BinarySearchFunc(m.events, s.Start, func(i int32, v int64) int { return cmp.Compare(m.t.Memory[i].Time, v) })
	s.Before = m.baseline
	if at > 0 {
		s.Before = m.totals[at-1]
	}
	s.Peak, s.PeakTime = s.Before, s.Start
	for ; at < len(m.events); at++ {
		e := &m.t.Memory[m.events[at]]
		if e.Time >= s.End {
			break
		}
		if e.Bytes >= 0 {
			s.Allocated += e.Bytes
			s.Allocs++
		} else {
			s.Freed -= e.Bytes
			s.Frees++
		}
		if m.totals[at] > s.Peak {
			s.Peak, s.PeakTime = m.totals[at], e.Time
		}
	}
	s.Kept = s.Allocated - s.Freed
	from, _ := slices.BinarySearchFunc(m.launched, s.Start, func(w launched, v int64) int { return cmp.Compare(w.at, v) })
	for _, w := range m.launched[from:] {
		if w.at >= s.End {
			break
		}
		if w.kernel {
			s.Kernels++
		}
		s.KernelTime += w.dur
	}
	for _, b := range m.busy {
		s.DeviceBusy += b.within(s.Start, s.End)
	}
	if s.HasDeviceEvents {
		s.DeviceIdle = s.End - s.Start - m.any.within(s.Start, s.End)
	}
}
