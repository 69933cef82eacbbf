package attribution

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// rounds are repetitions of the same work: training steps, or iterations of a
// loop. Memory is compared at the end of each.
type rounds struct {
	unit     string   // "step" or "iteration"
	how      string   // what tells them apart: "optimizer steps", "the loop at"
	place    placeKey // of the loop
	events   []int    // the event after which each ends, ascending
	numbers  []float64
	training bool // each has a backward
	floor    bool // no rounds were found: equal stretches of the history, and the least held in each
}

// findRounds returns the rounds of a history: those of the training, and those
// of a loop that runs after it, or instead of it.
func findRounds(c *Classification) (list []rounds) {
	last := len(eventsOf(c.Timeline)) - 1
	training := trainingRounds(c)
	from := c.setupEnd()
	if n := len(training.events); n >= 2 {
		list = append(list, training)
		from = training.events[n-1] + 1
	}
	work := c.workWithin(from, last)
	if work.has(Backward) || work.has(Optimizer) || len(list) > 0 && !work.has(Forward) {
		return list // steps, if too few; what follows the last one is no loop of forwards
	}
	for _, find := range []func(*Classification, int, int) (rounds, bool){annotatedRounds, loopRounds} {
		if r, ok := find(c, from, last); ok && (work.has(Forward) || c.churns(r.events)) {
			return append(list, r)
		}
	}
	if len(list) == 0 {
		if r, ok := windows(from, last); ok && !work.has(Forward) {
			list = append(list, r)
		}
	}
	return list
}

// setupEnd is the first event after the setup, 0 when nothing but setup is seen.
func (c *Classification) setupEnd() int {
	if len(c.Phases) > 1 && c.Phases[0].Kind == Setup {
		return c.Phases[0].Last + 1
	}
	return 0
}

// churns reports whether at least half of what rounds allocate is freed in
// them: a loop that only allocates builds a model or loads one.
func (c *Classification) churns(events []int) bool {
	first, last := events[0], events[len(events)-1]
	allocated, freed := int64(0), int64(0)
	for i := range c.Timeline.Allocations {
		a := &c.Timeline.Allocations[i]
		if int(a.Born) <= first || int(a.Born) > last {
			continue
		}
		allocated += a.Requested
		if int(a.Freed) <= last {
			freed += a.Requested
		}
	}
	return 2*freed >= allocated
}

// phaseSet is a set of PhaseKinds.
type phaseSet uint8

func (s phaseSet) has(k PhaseKind) bool { return s&(1<<k) != 0 }

// workWithin returns the kinds of phases that begin within a stretch.
func (c *Classification) workWithin(first, last int) (set phaseSet) {
	for _, p := range c.Phases {
		if p.Last >= first && p.First <= last {
			set |= 1 << p.Kind
		}
	}
	return set
}

// trainingRounds ends a step where its optimizer is done, or its backward when
// the history has no optimizer: gradients are alive there whenever the program
// zeroes them.
func trainingRounds(c *Classification) rounds {
	r := rounds{unit: "step", how: "backwards", training: true}
	closer := Backward
	if slices.ContainsFunc(c.Phases, func(p Phase) bool { return p.Kind == Optimizer }) {
		closer, r.how = Optimizer, "optimizer steps"
	}
	for i, p := range c.Phases {
		if p.Kind != closer || p.Step == 0 || i == 0 || c.cutShort(p) {
			continue // of a step that begins in the middle of the last phase little is seen
		}
		if n := len(r.events); n > 0 && r.numbers[n-1] == float64(p.Step) {
			r.events[n-1] = p.Last
			continue
		}
		r.events = append(r.events, p.Last)
		r.numbers = append(r.numbers, float64(p.Step))
	}
	return r
}

// cutShort reports whether a phase may not have run to its end: the history
// ends in it, or an allocation failed.
func (c *Classification) cutShort(p Phase) bool {
	events := eventsOf(c.Timeline)
	if c.Timeline.OpenEnd && p.Last >= len(events)-1 {
		return true
	}
	return slices.ContainsFunc(events[p.First:p.Last+1], func(e snapshot.Event) bool { return e.Action == snapshot.OOM })
}

// libraryMarks begin the names of what PyTorch itself marks, but for the
// profiler's steps and data loaders' batches: parts of a step, not steps.
var libraryMarks = []string{annotationPrefix, "FullyShardedDataParallel", "FSDP::", "DistributedDataParallel", "autograd::", "torch::", "Torch-Compiled", "TorchDynamo", "nccl:"}

// A markedName is what a program marks again and again under one name.
type markedName struct {
	starts []int64 // µs
	open   int     // marks of this name that have begun and not ended
	since  int64
	span   int64 // time within marks
	nested bool  // a mark began within another
}

// annotatedRounds goes by what the program or its profiler marked with
// record_function: the name, but for a number at its end, that spans most time.
func annotatedRounds(c *Classification, first, last int) (rounds, bool) {
	events := eventsOf(c.Timeline)
	if last <= first || !slices.IsSortedFunc(events, func(a, b snapshot.Event) int { return cmp.Compare(a.Time, b.Time) }) {
		return rounds{}, false
	}
	best, marks := "", markedNames(c, events[first].Time, events[last].Time)
	for name, m := range marks {
		if len(m.starts) > fewest && !m.nested && (best == "" || m.span > marks[best].span || m.span == marks[best].span && name < best) {
			best = name
		}
	}
	if best == "" {
		return rounds{}, false
	}
	r := rounds{unit: "iteration", how: "the annotation " + strings.TrimRight(best, "#_ ")}
	for _, t := range slices.Sorted(slices.Values(marks[best].starts)) {
		r.add(sort.Search(len(events), func(i int) bool { return events[i].Time >= t }) - 1)
	}
	return r, len(r.events) >= fewest && !c.withinModule(r.events[0]+1, r.events[len(r.events)-1])
}

// markedNames sorts the annotations of a stretch of time by name.
func markedNames(c *Classification, from, till int64) map[string]*markedName {
	marks := map[string]*markedName{}
	for _, a := range c.Snapshot.Annotations {
		if a.Device >= 0 && a.Device != c.Timeline.Device.Index || a.Time < from || a.Time > till || hasAnyPrefix(a.Name, libraryMarks...) {
			continue
		}
		name := strings.TrimRight(a.Name, "0123456789")
		m := marks[name]
		if m == nil {
			m = &markedName{}
			marks[name] = m
		}
		switch {
		case a.Start:
			m.nested = m.nested || m.open > 0
			m.starts = append(m.starts, a.Time)
			m.open, m.since = m.open+1, a.Time
		case m.open > 0:
			m.open--
			m.span += a.Time - m.since
		}
	}
	return marks
}

// withinModule reports whether one call of a module makes all allocations of a
// stretch: what repeats there are its layers.
func (c *Classification) withinModule(first, last int) bool {
	f := newLoopFinder(c, first, last)
	if len(f.runs) == 0 {
		return false
	}
	shared := f.frames[f.runs[0].stack]
	for _, run := range f.runs {
		other := f.frames[run.stack]
		n := 0
		for n < min(len(shared), len(other)) && shared[n] == other[n] {
			n++
		}
		shared = shared[:n]
	}
	return len(shared) > 0 && f.modules[shared[len(shared)-1]]
}

// count is how many rounds were seen.
func (r *rounds) count() int {
	if r.training || r.floor {
		return len(r.events)
	}
	return len(r.events) - 1
}

// add appends the end of a round, unless nothing happened in it.
func (r *rounds) add(event int) {
	if n := len(r.events); event >= 0 && (n == 0 || event > r.events[n-1]) {
		r.events = append(r.events, event)
		r.numbers = append(r.numbers, float64(n)) // the first is where the work begins
	}
}

// Equal stretches of a history: how many, and with how many events at least.
const fewestWindows, mostWindows, leastWindow = 16, 32, 32

// windows divides a history without rounds.
func windows(first, last int) (rounds, bool) {
	length := last + 1 - first
	n := min(mostWindows, length/leastWindow)
	r := rounds{unit: "stretch", how: "equal stretches of the history", floor: true}
	if n < fewestWindows {
		return r, false
	}
	for i := range n {
		r.add(first + (i+1)*length/n - 1)
	}
	return r, true
}
