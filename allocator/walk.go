package allocator

import (
	"cmp"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// ExactWith is Exact that returns, from the same pass, the state after each of
// the given events, in their order, and at most points samples of the run. An
// event of −1 is the start; one past the end is the end.
func ExactWith(s *snapshot.Snapshot, t *snapshot.Timeline, events []int, points int) (*Replay, []*State, []FragPoint) {
	x := newExact(s, t)
	w := newWalker(x, events, points)
	x.run(len(x.events), w.take)
	x.endBurst(len(x.events))
	x.finish()
	return x.Replay, w.states(x.Replay, events), w.curve.points
}

// Walk replays the recorded run once more and returns states and samples as
// ExactWith does.
func (r *Replay) Walk(events []int, points int) ([]*State, []FragPoint) {
	x := newExact(r.snap, r.Timeline)
	w := newWalker(x, events, points)
	x.run(len(x.events), w.take)
	return w.states(r, events), w.curve.points
}

// IsSmall reports whether a request of the given rounded size is served by the
// small pool.
func IsSmall(size int64) bool { return size <= smallSize }

// A walker notes states of a run.
type walker struct {
	x     *exact
	at    map[int]*State // by event
	curve sampler
}

func newWalker(x *exact, events []int, points int) *walker {
	w := &walker{x: x, at: map[int]*State{}, curve: newSampler(len(x.events), points)}
	for _, e := range events {
		w.at[w.clamp(e)] = nil
	}
	if _, wanted := w.at[-1]; wanted {
		w.at[-1] = x.state(-1)
	}
	return w
}

func (w *walker) clamp(event int) int { return min(max(event, -1), len(w.x.events)-1) }

func (w *walker) take(event int) {
	w.curve.take(event, w.x.m)
	// Memory that the device gave for the request at the next event is not
	// placed until then: such a moment takes a run of its own, see states.
	if _, wanted := w.at[event]; wanted && len(w.x.opened) == 0 {
		w.at[event] = w.x.state(event)
	}
}

func (w *walker) states(r *Replay, events []int) []*State {
	out := make([]*State, len(events))
	for i, e := range events {
		e = w.clamp(e)
		if w.at[e] == nil {
			w.at[e] = r.At(e)
		}
		out[i] = w.at[e]
	}
	return out
}

// state lists the blocks of the model.
func (x *exact) state(event int) *State {
	owner := make(map[int32]int32)
	for a, b := range x.blockOf {
		if b != 0 {
			owner[b] = int32(a)
		}
	}
	out := &State{Event: event, Stats: x.m.Stats}
	for s := range x.m.segments {
		first := true
		for b := x.m.segments[s].head; b != 0; b = x.m.blocks[b].next {
			if !x.m.blocks[b].unmapped {
				out.Blocks = append(out.Blocks, x.m.stateBlock(b, first, owner))
			}
			first = x.m.blocks[b].unmapped
		}
	}
	slices.SortFunc(out.Blocks, func(a, b StateBlock) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}
