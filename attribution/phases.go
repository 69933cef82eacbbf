package attribution

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/snapview/snapview/snapshot"
)

// divide fills Phases and Steps.
func (c *Classification) divide(h *history) {
	if len(h.marks) == 0 {
		return
	}
	c.Phases = fillGaps(h, workPhases(h))
	numberSteps(c.Phases)
	for i := range c.Phases {
		c.Phases[i].Name = phaseName(c.Phases[i])
	}
	c.findPeaks()
	c.Steps = joinSteps(c.Phases)
}

// workPhases are the forwards, backwards and optimizer steps, in order and
// without overlap. A forward reaches from its first to its last event; between
// two of the others there is one at most.
func workPhases(h *history) []Phase {
	var list []Phase
	add := func(kind PhaseKind, first, last int32) {
		list = append(list, Phase{Kind: kind, First: int(first), Last: int(last)})
	}
	for _, b := range h.backwards {
		add(Backward, b.first, b.last)
	}
	for _, s := range h.steps {
		add(Optimizer, s.first, s.last)
	}
	cuts := cursor{list: slices.Sorted(slices.Values(append(starts(h.backwards), starts(h.steps)...)))}
	for i := 0; i < len(h.forwards); {
		_, cut := cuts.seek(h.forwards[i])
		j := i
		for j+1 < len(h.forwards) && h.forwards[j+1] < cut {
			j++
		}
		add(Forward, h.forwards[i], h.forwards[j])
		i = j + 1
	}
	slices.SortFunc(list, func(a, b Phase) int { return cmp.Compare(a.First, b.First) })
	return withoutOverlap(list)
}

// withoutOverlap shortens phases that reach into the one before: annotated steps
// may, when times are coarse.
func withoutOverlap(list []Phase) []Phase {
	kept := list[:0]
	for _, p := range list {
		if len(kept) > 0 {
			p.First = max(p.First, kept[len(kept)-1].Last+1)
		}
		if p.First <= p.Last {
			kept = append(kept, p)
		}
	}
	return kept
}

// fillGaps makes the phases cover every event. What lies between a forward and
// its backward is the loss and belongs to the forward; stretches in which nothing
// is allocated or freed are left with the phase before.
func fillGaps(h *history, work []Phase) []Phase {
	var list []Phase
	next := 0
	gap := func(end int, before PhaseKind) {
		if next > end {
			return
		}
		p := Phase{Kind: Between, First: next, Last: end}
		last := len(list) - 1
		switch {
		case last < 0:
			p.Kind = Setup
			list = append(list, p)
		case list[last].Kind == Forward && before == Backward, h.quiet(next, end):
			list[last].Last = end
		default:
			list = append(list, p)
		}
	}
	for _, p := range work {
		gap(p.First-1, p.Kind)
		list = append(list, p)
		next = p.Last + 1
	}
	gap(len(h.marks)-1, Between)
	return list
}

// quiet reports whether no event of a stretch says what runs.
func (h *history) quiet(first, last int) bool {
	for _, m := range h.marks[first : last+1] {
		if m != noMark {
			return false
		}
	}
	return true
}

// numberSteps gives phases their step. A step ends with its last optimizer
// phase: two optimizers in a row belong together. In a history without any it
// ends with a backward.
func numberSteps(phases []Phase) {
	closer := Backward
	if slices.ContainsFunc(phases, func(p Phase) bool { return p.Kind == Optimizer }) {
		closer = Optimizer
	}
	nextWork := make([]PhaseKind, len(phases)) // kind of the next phase at which something runs; Setup: none
	kind := Setup
	for i := len(phases) - 1; i >= 0; i-- {
		nextWork[i] = kind
		if isWork(phases[i].Kind) {
			kind = phases[i].Kind
		}
	}
	step := 1
	for i := range phases {
		if phases[i].Kind == Setup {
			continue
		}
		phases[i].Step = step
		if phases[i].Kind == closer && nextWork[i] != closer && nextWork[i] != Setup {
			step++
		}
	}
}

func isWork(k PhaseKind) bool { return k == Forward || k == Backward || k == Optimizer }

func phaseName(p Phase) string {
	switch {
	case p.Kind == Setup:
		return "setup"
	case p.Kind == Between:
		return "between the phases of step " + strconv.Itoa(p.Step)
	}
	return p.Kind.String() + " of step " + strconv.Itoa(p.Step)
}

// findPeaks follows the curve of requested bytes through the phases.
func (c *Classification) findPeaks() {
	t, events := c.Timeline, eventsOf(c.Timeline)
	changes := requestedChanges(t, len(events))
	level := t.BaselineRequested
	for i := range c.Phases {
		p := &c.Phases[i]
		for e := p.First; e <= p.Last; e++ {
			level += changes[e]
			if e == p.First || level > p.Peak.Bytes {
				p.Peak = snapshot.Point{Event: e, Time: events[e].Time, Bytes: level}
			}
		}
	}
}

// joinSteps sums the phases up by step.
func joinSteps(phases []Phase) (steps []Step) {
	for _, p := range phases {
		if p.Step == 0 {
			continue
		}
		if n := len(steps); n == 0 || steps[n-1].Number != p.Step {
			steps = append(steps, Step{Number: p.Step, First: p.First, Last: p.Last, Peak: p.Peak, PeakPhase: p.Kind})
			continue
		}
		s := &steps[len(steps)-1]
		s.Last = p.Last
		if p.Peak.Bytes > s.Peak.Bytes {
			s.Peak, s.PeakPhase = p.Peak, p.Kind
		}
	}
	return steps
}

// PhaseAt returns the phase that an event belongs to.
func (c *Classification) PhaseAt(event int) (Phase, bool) {
	i, _ := slices.BinarySearchFunc(c.Phases, event, func(p Phase, e int) int { return cmp.Compare(p.Last, e) })
	if i >= len(c.Phases) || event < c.Phases[i].First {
		return Phase{}, false
	}
	return c.Phases[i], true
}
