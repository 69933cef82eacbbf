package attribution

import (
	"fmt"
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// leastOps is how many different stacks make a forward rather than one result
// that was kept.
const leastOps = 4

// retainedGraphs finds autograd graphs that live on after their backward,
// because something still refers to a loss or an output. Memory of one forward
// that outlives one backward is normal with two losses; it takes two forwards.
func retainedGraphs(l *look) []Finding {
	backwards := l.phasesOf[Backward]
	if len(backwards) < 2 {
		return nil
	}
	type group struct {
		held   []int32
		stacks map[snapshot.StackID]bool
	}
	byForward := map[int]*group{} // by the backward that followed
	for _, i := range l.live {
		a := l.allocation(i)
		if l.category(i) != Activation || a.Born < 0 {
			continue
		}
		next := sort.Search(len(backwards), func(k int) bool { return backwards[k].First > int(a.Born) })
		if next == len(backwards) || backwards[next].Last >= l.moment.Event || int(a.FreeRequested) <= l.moment.Event {
			continue // its backward has not ended by the peak
		}
		g := byForward[next]
		if g == nil {
			g = &group{stacks: map[snapshot.StackID]bool{}}
			byForward[next] = g
		}
		g.held = append(g.held, i)
		g.stacks[a.Stack] = true
	}
	var held []int32
	forwards := 0
	for k := range backwards {
		if g := byForward[k]; g != nil && len(g.stacks) >= leastOps {
			held = append(held, g.held...)
			forwards++
		}
	}
	if forwards < 2 {
		return nil
	}
	f := l.charge(Finding{
		ID: "retained_graph", Title: "Graphs of earlier steps are still alive", Confidence: .9,
		Why: "A loss or output that is kept holds its whole graph with all saved activations.",
		Do:  "Keep numbers, not tensors: loss.item() or loss.detach(), and no backward(retain_graph=True) where one backward is enough.",
	}, held)
	f.Evidence = fmt.Sprintf("activations of %s outlive the backward that should have freed them, %s in all.", count(forwards, "earlier forward"), count(len(held), "allocation"))
	return []Finding{f}
}

// validationGraphs finds forwards after training steps that build a graph
// which no backward uses.
func validationGraphs(l *look) []Finding {
	backwards := l.phasesOf[Backward]
	before := sort.Search(len(backwards), func(k int) bool { return backwards[k].First > l.moment.Event })
	if before == 0 || backwards[before-1].Last >= l.moment.Event {
		return nil // no training before, or the peak is in a backward
	}
	last := backwards[before-1]
	next := int(snapshot.AliveAtEnd)
	if before < len(backwards) {
		next = backwards[before].First
	}
	usual := l.usualBirths(backwards[:before])
	var held []int32
	live := map[lineKey]int{}
	for _, i := range l.live {
		a := l.allocation(i)
		x := l.stack(a.Stack)
		if int(a.Born) <= last.Last || !passing(l.category(i)) || !x.python || usual[l.text(x.line)] == 0 {
			continue
		}
		if int(a.FreeRequested) >= next && next != int(snapshot.AliveAtEnd) {
			continue // a later backward frees it
		}
		held = append(held, i)
		live[l.text(x.line)]++
	}
	// In training these lines had so many results alive at once; here there
	// are a multiple of that. One more would be a snapshot within a forward.
	more := 0
	for id, n := range live {
		if n >= 2*usual[id] {
			more++
		}
	}
	if len(live) < leastOps || 2*more < len(live) {
		return nil
	}
	f := l.charge(Finding{
		ID: "validation_graph", Title: "Forwards without a backward keep their graphs", Confidence: .85,
		Why: "Outside torch.no_grad() a forward saves its activations for a backward that never comes; they live as long as its result.",
		Do:  "Run validation under torch.no_grad() or torch.inference_mode(), and keep loss.item() instead of the loss.",
	}, held)
	f.Evidence = fmt.Sprintf("since the last backward, %s that training also makes are alive at least twice as often as in a training step, and no backward frees them.", count(len(live), "activation line"))
	return []Finding{f}
}

// text tells lines apart; a file may store one frame more than once.
func (l *look) text(f snapshot.FrameID) lineKey {
	frame := &l.Snapshot.Frames[f]
	return lineKey{frame.File, frame.Function, frame.Line}
}

// usualBirths counts, by line, what was alive at the start of the latest
// backward: the activations of one forward.
func (l *look) usualBirths(backwards []Phase) map[lineKey]int {
	b := backwards[len(backwards)-1]
	n := map[lineKey]int{}
	for i := range l.Timeline.Allocations {
		a := &l.Timeline.Allocations[i]
		if int(a.Born) >= b.First {
			break
		}
		if x := l.stack(a.Stack); x.python && int(a.Freed) > b.First && l.Labels[i].Category == Activation {
			n[l.text(x.line)]++
		}
	}
	return n
}
