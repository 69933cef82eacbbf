package attribution

import (
	"errors"
	"fmt"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// ErrSameMoment is what the error of [ThreePhases] wraps when nothing happened
// on the device between two snapshots that something must have happened between.
var ErrSameMoment = errors.New("snapshots of the same moment")

// checkMoments refuses snapshots without a backward between them. The step may
// allocate nothing: that of plain SGD works in place.
func (p *phases) checkMoments() error {
	before, back, step := p.views[atBefore], p.views[atBackward], p.views[atStep]
	if before.recorded() && back.recorded() {
		if l := p.dumps[atBefore][atBackward]; l.aligned && l.end == back.lastEvent() {
			return sameMoment("before", "backward")
		}
		if l := p.dumps[atForward][atBackward]; l.aligned && l.end == back.lastEvent() {
			return sameMoment("forward", "backward")
		}
		return nil
	}
	if !back.recorded() && !step.recorded() && len(back.alive) > 0 && sameMemory(before, back) && sameMemory(back, step) {
		return sameMoment("before", "step")
	}
	return nil
}

func sameMoment(a, b string) error {
	return fmt.Errorf("%s and %s are %w: nothing was allocated or freed from one to the other; "+
		"give one of the model built, one after a backward and one after the step", a, b, ErrSameMoment)
}

func (v *view) recorded() bool { return len(v.timeline.Device.Events) > 0 }

// sameMemory reports whether the same blocks are alive in both.
func sameMemory(a, b *view) bool {
	blocks := func(v *view) (list [][2]uint64) {
		for _, i := range v.alive {
			x := &v.timeline.Allocations[i]
			list = append(list, [2]uint64{x.Addr, uint64(x.Requested)})
		}
		slices.SortFunc(list, func(x, y [2]uint64) int { return slices.Compare(x[:], y[:]) })
		return list
	}
	return slices.Equal(blocks(a), blocks(b))
}

// noteBoundaries tells of snapshots that are not of the phase they were given
// as, and whether a step was seen at all.
func (p *phases) noteBoundaries() {
	back := p.views[atBackward]
	start := p.dumps[atBefore][atBackward]
	if l := p.dumps[atForward][atBackward]; l.aligned {
		start = l
	}
	p.seen = back.has(Backward, start)
	if back.recorded() && start.aligned && !p.seen {
		p.doubt("no backward is seen before the snapshot given as backward: it is of another phase, and what is called gradient or activation rests on little")
	}
	var state int64
	for i := range p.pieces {
		if one := &p.pieces[i]; one.category == OptimizerState && !one.alive[atBefore] && one.alive[atBackward] {
			state += one.bytes
		}
	}
	if state >= telling {
		p.doubt("the snapshot given as backward already holds %s of optimizer state made since the first: "+
			"it was taken after a step; give one from before the step", bytesText(state))
	}
	if l := p.dumps[atBackward][atStep]; l.aligned && l.end == p.views[atStep].lastEvent() && p.views[atStep].recorded() {
		p.note("nothing was allocated or freed between the snapshots of backward and step: either the step works in place, or one was given twice")
	}
}

// doubt notes that a snapshot is of the wrong moment; the first of them is for
// the headline.
func (p *phases) doubt(format string, args ...any) {
	p.note(format, args...)
	if p.wrong == "" {
		p.wrong = p.notes[len(p.notes)-1]
	}
}

// has reports whether the history has a phase of a kind after the moment that
// a link leads to.
func (v *view) has(kind PhaseKind, since link) bool {
	return slices.ContainsFunc(v.classes.Phases, func(ph Phase) bool {
		return ph.Kind == kind && (!since.aligned || ph.Last > since.end)
	})
}

// notePartial tells of the snapshots that were not read to their end.
func (p *phases) notePartial() {
	for i, v := range p.views {
		if v != nil && v.snap.Partial != nil && v.timeline.History != snapshot.HistoryNone {
			p.note("the snapshot of %s was not read to its end: it stands for the last event that was read", boundaryNames[i])
		}
	}
}
