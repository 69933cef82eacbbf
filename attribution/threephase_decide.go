package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// sure is the confidence from which a label outweighs the set logic, for the
// categories whose memory lives like another one's.
const sure = 0.6

// believed is the confidence from which a label decides whatever the sets say:
// a snapshot may have been given as another phase than it is of.
const believed = 0.9

// believe returns the label's category when it needs no second witness. What
// is temporary for the classifier may be saved for the backward: the sets know.
func (one *piece) believe() (Category, bool) {
	l := one.label()
	switch l.Category {
	case Unknown, Temporary, AutogradDetail:
		return Unknown, false
	}
	return l.Category, l.Confidence >= believed
}

// decide gives every piece its category.
func (p *phases) decide() {
	later := p.laterSizes()
	sizes := map[int64]bool{}
	for i := range p.pieces {
		if one := &p.pieces[i]; one.alive[atBefore] {
			one.category = p.alreadyThere(one, later)
			if one.category == Parameter {
				sizes[one.bytes] = true
			}
		}
	}
	for i := range p.pieces {
		one := &p.pieces[i]
		switch {
		case one.alive[atBefore]:
		case one.alive[atBackward]:
			one.category = p.madeUntilBackward(one, sizes)
		case one.alive[atStep]:
			one.category = p.madeInStep(one)
		default: // only there when the forward ended
			one.category = p.savedForBackward(one)
		}
	}
	p.dropLeftovers()
	p.noteDisagreement()
	p.noteKept()
	p.noteBoundaries()
}

// dropLeftovers leaves out what an earlier step had left before the first
// snapshot and this one replaced: its gradients are not needed beside the new
// ones. So it is with the gradients of the backward when those of a later one
// are in the last snapshot.
func (p *phases) dropLeftovers() {
	var left, newer int64
	for i := range p.pieces {
		if one := &p.pieces[i]; one.category == Gradient && one.alive[atStep] && !one.alive[atBackward] {
			newer += one.bytes
		}
	}
	p.pieces = slices.DeleteFunc(p.pieces, func(one piece) bool {
		if one.category == Gradient && one.alive[atBackward] && !one.alive[atStep] && newer >= one.bytes {
			newer -= one.bytes
			return true
		}
		leftover := one.alive[atBefore] && !one.alive[atBackward] && !one.alive[atStep]
		switch one.category {
		case Gradient, Input, Activation, Temporary, AutogradDetail:
		default:
			leftover = false
		}
		if leftover {
			left += one.bytes
		}
		return leftover
	})
	if left > 0 {
		p.note("%s that an earlier step had left is not counted: it was freed before the backward ended", bytesText(left))
	}
}

func (one *piece) label() Label {
	if labels := one.from.classes.Labels; int(one.index) < len(labels) {
		return labels[one.index]
	}
	return Label{Category: Unknown}
}

// labelled returns the label's category when it is sure and one of these.
func (one *piece) labelled(these ...Category) (Category, bool) {
	l := one.label()
	if l.Confidence >= sure {
		for _, c := range these {
			if l.Category == c {
				return c, true
			}
		}
	}
	return Unknown, false
}

// laterSizes are the sizes of what was made after the first snapshot and stayed.
func (p *phases) laterSizes() map[int64]bool {
	sizes := map[int64]bool{}
	for i := range p.pieces {
		if one := &p.pieces[i]; !one.alive[atBefore] && (one.alive[atBackward] || one.alive[atStep]) {
			sizes[one.bytes] = true
		}
	}
	return sizes
}

// alreadyThere: the model's parameters are what is there before the forward and
// stays. Between two steps of a running training, gradients and optimizer state
// are there as well.
//
// Without a history only a gradient or a moment of its size tells a parameter
// from anything else that stays.
func (p *phases) alreadyThere(one *piece, later map[int64]bool) Category {
	if c, ok := one.believe(); ok {
		return c
	}
	if one.from.timeline.History == snapshot.HistoryNone {
		if l := one.label(); l.Category != Unknown && l.Confidence >= 0.5 {
			return l.Category
		}
		if !later[one.bytes] {
			return Unknown
		}
	}
	if c, ok := one.labelled(Buffer, Input, Workspace, Communication, OptimizerState, Gradient); ok {
		return c
	}
	if !one.alive[atStep] {
		if l := one.label(); l.Category != Parameter || l.Confidence < sure {
			return fallback(l) // gone by the step: not a parameter
		}
	}
	return Parameter
}

// madeUntilBackward: a gradient is born in a backward, outlives it and has the
// size of a parameter. What is older came with the forward: the batch, the
// outputs, a workspace.
func (p *phases) madeUntilBackward(one *piece, sizes map[int64]bool) Category {
	l := one.label()
	if c, ok := one.believe(); ok {
		return c
	}
	if c, ok := one.labelled(Workspace, Communication, Input, Buffer); ok {
		return c
	}
	if p.bornInBackward(one) && (sizes[one.bytes] || l.Category == Gradient) {
		return Gradient
	}
	return fallback(l)
}

// bornInBackward goes by the snapshot of the forward when there is one and by
// the phases of the history. Where there is neither, a size must do.
func (p *phases) bornInBackward(one *piece) bool {
	if p.views[atForward] == nil && p.forward == unknownEvent {
		return true
	}
	if !one.alive[atForward] {
		return true
	}
	// Gradients of an earlier backward, when several accumulate.
	v := one.from
	born := int(v.timeline.Allocations[one.index].Born)
	for _, ph := range v.classes.Phases {
		if ph.Kind == Backward && ph.First <= born && born <= ph.Last {
			return true
		}
	}
	return one.label().Category == Gradient
}

// madeInStep: what the step leaves behind, unless the next forward has begun.
func (p *phases) madeInStep(one *piece) Category {
	if c, ok := one.believe(); ok {
		return c
	}
	if c, ok := one.labelled(Workspace, Communication, Input, Buffer, Activation); ok {
		return c
	}
	if c, ok := one.labelled(Temporary); ok && one.from.timeline.OpenEnd {
		return c // that it stays is not known: the history was cut
	}
	return OptimizerState
}

// savedForBackward: alive at the end of the forward and gone when the backward
// was done.
func (p *phases) savedForBackward(one *piece) Category {
	if c, ok := one.believe(); ok {
		return c
	}
	if c, ok := one.labelled(Workspace, Communication, Input, Gradient, OptimizerState); ok {
		return c
	}
	return Activation
}

// fallback is what the label says, as far as it says anything.
func fallback(l Label) Category {
	if l.Confidence < 0.5 {
		return Unknown
	}
	return l.Category
}

const (
	confident = 0.8      // the confidence from which a label that says otherwise is worth telling
	telling   = 64 << 10 // the bytes from which anything is: a loss is 4 B
)

func (p *phases) noteDisagreement() {
	type pair struct{ set, label Category }
	sums := map[pair]int64{}
	for i := range p.pieces {
		one := &p.pieces[i]
		if l := one.label(); l.Confidence >= confident && l.Category != one.category {
			sums[pair{one.category, l.Category}] += one.bytes
		}
	}
	for _, set := range Categories() {
		for _, label := range Categories() {
			if n := sums[pair{set, label}]; n >= telling {
				p.note("%s counted as %s look like %s by their stacks", bytesText(n), words(set), words(label))
			}
		}
	}
}

// noteKept tells of activations that outlived the backward.
func (p *phases) noteKept() {
	var kept int64
	for i := range p.pieces {
		if one := &p.pieces[i]; one.category == Activation && one.alive[atBackward] {
			kept += one.bytes
		}
	}
	if kept >= telling {
		p.note("%s of the activations outlive the backward: outputs that a variable holds, or a graph that is kept", bytesText(kept))
	}
}

func words(c Category) string { return strings.ReplaceAll(c.String(), "_", " ") }

func comparePhaseRows(a, b PhaseRow) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Category, b.Category), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function))
}

// Text is the headline: what of the step is what.
func (r *PhaseResult) Text() string {
	var parts []string
	for _, c := range Categories() {
		if n := r.Totals[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", words(c), bytesText(n)))
		}
	}
	if len(parts) == 0 {
		return "no memory"
	}
	return strings.Join(parts, ", ")
}
