package attribution

import (
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// PhaseInput are snapshots of one run, in this order: with the model built and
// nothing computed, after a forward (may be missing), after its backward, and
// after the optimizer's step. Device is the device that is looked at.
type PhaseInput struct {
	Before, Forward, Backward, Step *snapshot.Snapshot
	Device                          int
}

// PhaseResult says what a training step needs. Bytes are requested bytes.
type PhaseResult struct {
	Device int

	// Totals are by category, each allocation that is alive at one of the
	// boundaries counted once (but for what an earlier step left and this one
	// replaced); they sum to Total. Activation is what autograd
	// had saved for the backward at the end of the forward.
	Totals Totals
	Total  int64

	Peak       PhasePeak
	Boundaries []PhaseBoundary // those known, in the order of the run
	Rows       []PhaseRow      // Totals by line of code, most bytes first; they sum to Total
	Exact      bool            // every allocation was followed by its birth, none by its address alone
	Notes      []string        // what is not known, and where the evidence disagrees
	Wrong      string          // the note that a snapshot is of another phase than it was given as, or ""
	SeenStep   bool            // the history shows a backward: this is a training step
}

// PhasePeak is the highest point from the first snapshot to the last.
type PhasePeak struct {
	Phase string // "before", "forward", "backward" or "step"; "" when not known
	Bytes int64
}

// PhaseBoundary is the state at the end of a phase.
type PhaseBoundary struct {
	Phase         string // "before", "forward", "backward" or "step"
	Bytes         int64
	Reconstructed bool // worked out from a later snapshot's history
}

// PhaseRow is what a line holds of a category.
type PhaseRow struct {
	Category Category
	File     string
	Line     int32
	Function string
	Bytes    int64
	Count    int
}

// boundaryNames are the boundaries in order; the indices of phases.views.
var boundaryNames = [...]string{"before", "forward", "backward", "step"}

const (
	atBefore = iota
	atForward
	atBackward
	atStep
	numBoundaries
)

// ThreePhases tells what a training step needs from snapshots around it.
//
// It goes by sets: alive before is a parameter, born in the backward and alive
// after it is a gradient, new after the step is optimizer state, and what was
// alive when the forward ended and gone when the backward did was saved for the
// backward. What [Classify] finds in the stacks decides where sets do not: a
// buffer, an input or a workspace lives like a parameter or a gradient.
//
// An allocation is the same in two snapshots when its birth is the same event
// of the history that both hold. An address alone proves nothing, since the
// allocator hands it out again; where the histories do not meet it is all there
// is, and the result says so.
func ThreePhases(in PhaseInput) (PhaseResult, error) {
	p, err := newPhases(in)
	if err != nil {
		return PhaseResult{}, err
	}
	if err := p.checkMoments(); err != nil {
		return PhaseResult{}, err
	}
	p.notePartial()
	p.findBoundaries()
	p.collect()
	bounds := p.boundaries()
	p.decide()
	return p.result(bounds), nil
}

// phases is the work of ThreePhases.
type phases struct {
	device  int
	views   [numBoundaries]*view // nil for a forward that was not given
	dumps   [numBoundaries][numBoundaries]link
	forward int // in the history of the backward: the last event of the forward; unknownEvent
	pieces  []piece
	notes   []string
	exact   bool
	wrong   string // see PhaseResult
	seen    bool
}

// unknownEvent stands for an event that cannot be found; −1 is the start.
const unknownEvent = -2

// A piece is one allocation that is alive at a boundary.
type piece struct {
	bytes    int64
	alive    [numBoundaries]bool
	from     *view // where stack and label come from
	index    int32 // into from.timeline.Allocations
	category Category
}

func newPhases(in PhaseInput) (*phases, error) {
	p := &phases{device: in.Device, forward: unknownEvent, exact: true}
	for i, s := range [...]*snapshot.Snapshot{in.Before, in.Forward, in.Backward, in.Step} {
		if s == nil && i != atForward {
			return nil, fmt.Errorf("no snapshot of %s: the three phases need before, backward and step", boundaryNames[i])
		}
		if s == nil {
			continue
		}
		d := findDevice(s, in.Device)
		if d == nil && i != atBefore {
			return nil, fmt.Errorf("the snapshot of %s has no device %d: name one with memory in all of them", boundaryNames[i], in.Device)
		}
		if d == nil {
			d = &snapshot.Device{Index: in.Device} // before the first allocation there is none
		}
		p.views[i] = newView(s, d)
	}
	return p, p.linkViews()
}

// linkViews follows the allocations of each snapshot into the later ones.
func (p *phases) linkViews() error {
	for i, a := range p.views {
		for j := i + 1; a != nil && j < numBoundaries; j++ {
			b := p.views[j]
			if b == nil {
				continue
			}
			l := newLink(a, b)
			if !l.aligned && a.complete() && b.complete() && len(a.timeline.Device.Events) > 0 {
				if newLink(b, a).aligned {
					return fmt.Errorf("the snapshot of %s was taken after that of %s: give them in the order of the run", boundaryNames[i], boundaryNames[j])
				}
				return fmt.Errorf("the snapshots of %s and %s are not of one run: neither history goes on from the other", boundaryNames[i], boundaryNames[j])
			}
			p.exact = p.exact && (l.aligned || len(l.to) == 0)
			p.dumps[i][j] = l
		}
	}
	if !p.exact {
		p.note("the histories do not meet, so allocations were matched by address and size alone: " +
			"memory that was freed and handed out again counts as kept; record the history from before the model is built to the step")
	}
	return nil
}

func (p *phases) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// findBoundaries finds where the forward ended in the history of the backward.
func (p *phases) findBoundaries() {
	back := p.views[atBackward]
	if l := p.dumps[atForward][atBackward]; l.aligned {
		p.forward = l.end
		return
	}
	before := p.dumps[atBefore][atBackward]
	phases := back.classes.Phases
	for i := len(phases) - 1; i >= 0; i-- {
		if phases[i].Kind == Backward && (!before.aligned || phases[i].First > before.end) {
			p.forward = phases[i].First - 1
			return
		}
	}
	switch {
	case p.views[atForward] != nil:
		p.note("the history does not reach from the end of the forward to that of the backward: " +
			"what was saved is what the forward's snapshot holds and the backward's does not")
	case back.timeline.History == snapshot.HistoryNone || back.timeline.History == snapshot.HistoryStateOnly:
		p.note("no history was recorded, so what the forward saved for the backward is not known: record it, or take a snapshot after the forward")
	default:
		p.note("the history shows no backward, so what the forward saved for it is not known: take a snapshot after the forward as well")
	}
}

// collect makes one piece of each allocation that is alive at a boundary.
func (p *phases) collect() {
	known := [numBoundaries]map[int32]int{} // allocation of a view to its piece
	for i := range known {
		known[i] = map[int32]int{}
	}
	for i, v := range p.views {
		if v == nil {
			continue
		}
		for _, x := range v.alive {
			k, seen := known[i][x]
			if !seen {
				k = len(p.pieces)
				known[i][x] = k
				p.pieces = append(p.pieces, piece{bytes: v.timeline.Allocations[x].Requested})
			}
			one := &p.pieces[k]
			one.alive[i], one.from, one.index = true, v, x
			for j := i + 1; j < numBoundaries; j++ {
				if y, ok := p.dumps[i][j].to[x]; ok {
					if _, taken := known[j][y]; !taken {
						known[j][y] = k
					}
				}
			}
		}
	}
	p.collectSaved(known[atBackward])
}

// collectSaved adds what lived when the forward ended, as the history of the
// backward has it, when there is no snapshot of that moment.
func (p *phases) collectSaved(known map[int32]int) {
	if p.forward == unknownEvent || p.views[atForward] != nil {
		return
	}
	v := p.views[atBackward]
	all := v.timeline.Allocations
	for x := range all {
		a := &all[x]
		if int(a.Born) > p.forward || int(a.Freed) <= p.forward {
			continue
		}
		k, ok := known[int32(x)]
		if !ok {
			k = len(p.pieces)
			p.pieces = append(p.pieces, piece{bytes: a.Requested, from: v, index: int32(x)})
		}
		p.pieces[k].alive[atForward] = true
	}
}

func (p *phases) result(bounds []PhaseBoundary) PhaseResult {
	r := PhaseResult{Device: p.device, Exact: p.exact}
	rows := map[PhaseRow]int{}
	for i := range p.pieces {
		one := &p.pieces[i]
		r.Totals[one.category] += one.bytes
		r.Total += one.bytes
		v := one.from
		row := v.place(&v.timeline.Allocations[one.index])
		key := PhaseRow{Category: one.category, File: row.File, Line: row.Line, Function: row.Function}
		k, ok := rows[key]
		if !ok {
			k = len(r.Rows)
			rows[key] = k
			r.Rows = append(r.Rows, key)
		}
		r.Rows[k].Bytes += one.bytes
		r.Rows[k].Count++
	}
	slices.SortStableFunc(r.Rows, comparePhaseRows)
	r.Boundaries = bounds
	r.Peak = p.peak(bounds)
	r.Notes, r.Wrong, r.SeenStep = p.notes, p.wrong, p.seen
	return r
}

func (p *phases) boundaries() []PhaseBoundary {
	var out []PhaseBoundary
	for i, name := range boundaryNames {
		if p.views[i] == nil && p.forward == unknownEvent {
			continue
		}
		b := PhaseBoundary{Phase: name, Reconstructed: p.views[i] == nil}
		for k := range p.pieces {
			if p.pieces[k].alive[i] {
				b.Bytes += p.pieces[k].bytes
			}
		}
		out = append(out, b)
	}
	return out
}

// peak is the highest point between the first snapshot and the last: of the
// last one's history as far as it reaches, else of what was seen.
func (p *phases) peak(bounds []PhaseBoundary) PhasePeak {
	last := p.views[atStep]
	start, back := p.dumps[atBefore][atStep], p.dumps[atBackward][atStep]
	if !start.aligned || !back.aligned {
		return p.seenPeak(bounds)
	}
	forward := unknownEvent
	if p.forward != unknownEvent {
		forward = p.forward + back.end - p.views[atBackward].lastEvent()
	}
	peak := PhasePeak{Bytes: -1}
	for _, c := range last.timeline.Curve(0) {
		if c.Event < start.end || c.Requested <= peak.Bytes {
			continue
		}
		peak.Bytes = c.Requested
		switch {
		case c.Event <= start.end:
			peak.Phase = "before"
		case c.Event > back.end:
			peak.Phase = "step"
		case forward != unknownEvent && c.Event <= forward:
			peak.Phase = "forward"
		case forward != unknownEvent:
			peak.Phase = "backward"
		default:
			peak.Phase = ""
		}
	}
	return peak
}

func (p *phases) seenPeak(bounds []PhaseBoundary) PhasePeak {
	var peak PhasePeak
	for _, b := range bounds {
		if b.Bytes > peak.Bytes {
			peak = PhasePeak{b.Phase, b.Bytes}
		}
	}
	p.note("the histories do not reach from the first snapshot to the last: the peak is the highest boundary, and may have been higher between them")
	return peak
}

func findDevice(s *snapshot.Snapshot, index int) *snapshot.Device {
	for _, d := range s.Devices {
		if d.Index == index {
			return d
		}
	}
	return nil
}

func bytesText(n int64) string { return units.Bytes(n) }
