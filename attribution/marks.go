package attribution

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// A mark says which part of a training step an event shows to be running.
type mark uint8

const (
	noMark       mark = iota
	markForward       // inside a module
	markBackward      // on the autograd thread
	markStep          // inside an optimizer's step
	markZero          // inside zero_grad
	markPython        // other Python, which is on the main thread
)

// marker marks events by their stacks and, where these say little, by
// annotations.
type marker struct {
	stacks *stackIndex
	spans  []span

	emptyAlloc, emptyFree mark // what an event without a stack shows
	nativeOnly            bool // no stack has Python frames
}

// never is later than every event.
const never = snapshot.AliveAtEnd

// markEvents marks every event that allocates or frees.
func markEvents(t *snapshot.Timeline, stacks *stackIndex, spans []span) []mark {
	m := marker{stacks: stacks, spans: spans}
	m.readEmpty(t)
	events := eventsOf(t)
	marks := make([]mark, len(events))
	for i := range events {
		if a := events[i].Action; a == snapshot.Alloc || a == snapshot.FreeRequested {
			marks[i] = m.mark(&events[i])
		}
	}
	return marks
}

// readEmpty decides what an event without a stack means. With Python stacks it
// is on the autograd thread, which has no Python frames. With C++ frames, every
// thread has some; and without any stack nothing follows. Older PyTorch records
// no stacks with frees at all.
func (m *marker) readEmpty(t *snapshot.Timeline) {
	var seen feature
	for i := range t.Allocations {
		seen |= m.stacks.of(t.Allocations[i].Stack)
	}
	m.nativeOnly = !seen.has(isPython)
	if !seen.has(isPython) || seen.has(isNative) {
		return
	}
	m.emptyAlloc = markBackward
	for i := range t.Device.Events {
		if e := &t.Device.Events[i]; e.Action == snapshot.FreeRequested && e.Stack != snapshot.NoStack {
			m.emptyFree = markBackward
			return
		}
	}
}

func (m *marker) mark(e *snapshot.Event) mark {
	f := m.stacks.of(e.Stack)
	found := m.fromStack(f, e.Action == snapshot.Alloc)
	if len(m.spans) == 0 || f.has(inModuleCall|inFunctional) {
		return found
	}
	if found == noMark || found == markPython || f.has(isEmpty) && m.nativeOnly {
		if k := spanAt(m.spans, e.Time); k != noMark {
			return k
		}
	}
	return found
}

func (m *marker) fromStack(f feature, alloc bool) mark {
	switch {
	case f.has(isEmpty) && alloc:
		return m.emptyAlloc
	case f.has(isEmpty):
		return m.emptyFree
	case f.has(onAutograd):
		return markBackward
	case f.has(inOptimizer):
		return markStep
	case f.has(inZeroGrad):
		return markZero
	case f.has(inModuleCall):
		return markForward
	case f.has(inBackwardAPI) && alloc:
		return markBackward
	case f.has(inBackwardAPI):
		return noMark
	case f.has(isPython):
		return markPython
	}
	return noMark
}

// A span is one optimizer annotation: torch.optim marks each step and zero_grad
// with record_function("Optimizer.step#AdamW.step").
type span struct {
	start, end int64 // µs
	mark       mark
}

const annotationPrefix, stepPrefix = "Optimizer.", "Optimizer.step#"

// optimizerSpans pairs the ends of the optimizer annotations of a device. One
// that never ends is open to the end.
func optimizerSpans(s *snapshot.Snapshot, device int) (spans []span) {
	open := map[string]int64{}
	for _, a := range optimizerAnnotations(s, device) {
		start, isOpen := open[a.Name]
		switch {
		case a.Start:
			open[a.Name] = a.Time
		case isOpen:
			delete(open, a.Name)
			spans = append(spans, newSpan(a.Name, start, a.Time))
		}
	}
	for name, start := range open {
		spans = append(spans, newSpan(name, start, math.MaxInt64))
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.mark, b.mark))
	})
	return spans
}

func newSpan(name string, start, end int64) span {
	if strings.Contains(name, "zero_grad") {
		return span{start, end, markZero}
	}
	return span{start, end, markStep}
}

// optimizerAnnotations are those of the device, or of all devices when none
// names it: an optimizer runs on the CPU and is recorded once.
func optimizerAnnotations(s *snapshot.Snapshot, device int) (list []snapshot.Annotation) {
	named := slices.ContainsFunc(s.Annotations, func(a snapshot.Annotation) bool { return a.Device < 0 || a.Device == device })
	for _, a := range s.Annotations {
		if strings.HasPrefix(a.Name, annotationPrefix) && (!named || a.Device < 0 || a.Device == device) {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b snapshot.Annotation) int { return cmp.Compare(a.Time, b.Time) })
	return list
}

// optimizerKinds are the classes of the optimizers that the annotations name.
func optimizerKinds(s *snapshot.Snapshot, device int) map[string]bool {
	kinds := map[string]bool{}
	for _, a := range optimizerAnnotations(s, device) {
		if rest, ok := strings.CutPrefix(a.Name, stepPrefix); ok {
			kind, _, _ := strings.Cut(rest, ".")
			kinds[kind] = true
		}
	}
	return kinds
}

// spanAt returns the mark of the span that began last before a time and has not
// ended.
func spanAt(spans []span, us int64) mark {
	i, _ := slices.BinarySearchFunc(spans, us, func(s span, us int64) int {
		if s.start <= us {
			return -1
		}
		return 1
	})
	if i == 0 || us > spans[i-1].end {
		return noMark
	}
	return spans[i-1].mark
}

// eventsOf returns the events that allocations can refer to.
func eventsOf(t *snapshot.Timeline) []snapshot.Event {
	return t.Device.Events[:min(len(t.Device.Events), math.MaxInt32-1)]
}
