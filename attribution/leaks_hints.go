package attribution

import (
	"fmt"
	"math"
	"slices"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// hints are the patterns that the rounds show. Each says what was seen; without
// evidence there is none.
func (p *growthPart) hints() (list []Hint) {
	add := func(h Hint, ok bool) {
		if ok {
			list = append(list, h)
		}
	}
	if p.growth.Verdict == Leak && len(p.suspects) > 0 {
		add(p.keptPattern(), true)
	}
	add(p.generationCache())
	add(p.scalarsKept())
	add(p.cacheFilled())
	add(p.growingInputs())
	add(p.firstStepScratch())
	return list
}

// keptPattern names what the lines that keep memory have in common.
func (p *growthPart) keptPattern() Hint {
	k := p.keptSet()
	switch {
	case k.stacks >= leastOps && k.share(Activation) > 0.5 && p.training && !p.othersAreFreed():
		return k.hint(Hint{
			ID: "loss_graph_kept", Title: "A loss or output is kept with its graph",
			Evidence: fmt.Sprintf("%s leaves %s of its forward alive after its backward, from %s", roundText(p.suspects[0].Every, p.unit), k.perRound(), count(k.lines, "line")),
			Do:       "Keep numbers, not tensors: total += loss.item() or loss.detach(). Leave out retain_graph=True where one backward is enough.",
		})
	case k.stacks >= leastOps && k.share(Activation)+k.share(Unknown)+k.share(Input)+k.share(Temporary) > 0.5:
		return k.hint(Hint{
			ID: "forward_without_no_grad", Title: "Forwards outside torch.no_grad() keep their graphs",
			Evidence: fmt.Sprintf("%s leaves %s of a forward alive, from %s, and no backward follows that would free them", roundText(p.suspects[0].Every, p.unit), k.perRound(), count(k.lines, "line")),
			Do:       "Run it under torch.no_grad() or torch.inference_mode(), and keep loss.item() instead of the loss.",
		})
	case k.share(OptimizerState) > 0.5:
		return k.hint(Hint{
			ID: "optimizer_rebuilt", Title: "Optimizer state is made again and the old one kept",
			Evidence: fmt.Sprintf("the optimizer makes %s more state while the old stays alive", k.perRound()),
			Do:       "Build the optimizer once. When it must be rebuilt, drop every reference to the old one and its schedulers first.",
		})
	case k.share(Parameter)+k.share(Buffer) > 0.5:
		return k.hint(Hint{
			ID: "model_copies", Title: "Copies of the model are kept",
			Evidence: fmt.Sprintf("%s of parameters or buffers stay alive each time", k.perRound()),
			Do:       "Keep checkpoints on the CPU (state_dict() copied with .cpu()) and drop models that are no longer used.",
		})
	case k.share(Gradient)+k.share(AutogradDetail) > 0.5:
		return k.hint(Hint{
			ID: "gradients_kept", Title: "Tensors that a backward made are kept",
			Evidence: fmt.Sprintf("each time %s from the autograd threads stay alive", k.perRound()),
			Do:       "Look for lists of gradients, hooks that store them and backward(create_graph=True), which ties parameters and gradients into a cycle; reset .grad to None after use.",
		})
	case k.count == 0:
		return k.hint(Hint{
			ID: "growing_tensor", Title: "A tensor is replaced by a larger one each time",
			Evidence: fmt.Sprintf("the line holds as many allocations as before, but %s more bytes every %s", sizeText(p.suspects[0].BytesPerStep), p.unit),
			Do:       "Look for x = torch.cat([x, new]): collect on the CPU, or write into a tensor of fixed size.",
		})
	}
	return k.hint(Hint{
		ID: "outputs_kept", Title: "Tensors are added to something that lives on",
		Evidence: fmt.Sprintf("%s leaves %s alive, and nothing frees them", roundText(p.suspects[0].Every, p.unit), k.perRound()),
		Do:       "Append x.detach().cpu() or a number instead of a tensor on the GPU, or bound the list (collections.deque(maxlen=…)).",
	})
}

// othersAreFreed reports whether backwards free as much of the lines that keep
// memory as these keep: then a training forward works as it should, and what is
// kept is of another one, such as a validation's.
func (p *growthPart) othersAreFreed() bool {
	c := p.c
	places := newPlacer(c.Snapshot, c.Timeline, DiffByLine)
	blamed := map[placeKey]bool{}
	kept, freed := 0, 0
	for _, l := range p.keeping {
		blamed[l.place] = true
		kept += l.count
	}
	from := int32(p.events[0])
	for i := range c.Timeline.Allocations {
		a := &c.Timeline.Allocations[i]
		if c.Labels[i].Category != Activation || a.Born <= from || !blamed[places.of(a)] {
			continue
		}
		if q, ok := c.PhaseAt(int(a.FreeRequested)); ok && q.Kind == Backward {
			freed++
		}
	}
	return freed >= kept
}

// roundText prints "every step" or "one step in 5".
func roundText(every float64, unit string) string {
	if every <= 1 {
		return "every " + unit
	}
	return fmt.Sprintf("one %s in %.0f", unit, every)
}

// keptSet is what the rounds left alive, taken together.
type keptSet struct {
	Totals
	bytes         int64
	count         int
	lines, stacks int
	rounds        int // in which any of it was born
	where         placeKey
}

// keptSet sums what the suspects keep.
func (p *growthPart) keptSet() (k keptSet) {
	stacks, born := map[string]snapshot.StackID{}, map[int32]bool{}
	texts := stackTexts{snap: p.c.Snapshot}
	n := len(p.events)
	for _, l := range p.keeping {
		k.lines++
		for _, s := range l.held {
			if int(s.first) <= p.growth.Allocated.WarmUp || int(s.last) < n || int(s.first) == n-1 {
				continue // older than the growth, given back, or too young to tell
			}
			k.count++
			k.bytes += s.bytes
			k.Totals[p.c.Labels[s.index].Category] += s.bytes
			id := p.c.Timeline.Allocations[s.index].Stack
			stacks[texts.of(id)] = id
			born[s.first] = true
		}
	}
	k.stacks, k.rounds = len(stacks), len(born)
	k.where = p.commonCaller(stacks)
	return k
}

func (k *keptSet) share(c Category) float64 {
	if k.bytes == 0 {
		return 0
	}
	return float64(k.Totals[c]) / float64(k.bytes)
}

// perRound prints "40 allocations (17.5 MiB)": what one round leaves.
func (k *keptSet) perRound() string {
	n := max(k.rounds, 1)
	return fmt.Sprintf("%s (%s)", count(int(math.Round(float64(k.count)/float64(n))), "allocation"), units.Bytes(k.bytes/int64(n)))
}

func (k *keptSet) hint(h Hint) Hint {
	h.File, h.Function, h.Line = k.where.File, k.where.Function, k.where.Line
	return h
}

// commonCaller is the innermost frame of the user's that all stacks have in
// common: where to look for what keeps the memory.
func (p *growthPart) commonCaller(stacks map[string]snapshot.StackID) placeKey {
	s := p.c.Snapshot
	var shared []placeKey
	first := true
	for _, id := range stacks {
		var own []placeKey
		frames := s.Trimmed(id)
		for _, f := range slices.Backward(frames) {
			if frame := &s.Frames[f]; frame.IsPython() {
				own = append(own, placeKey{frame.File, frame.Line, frame.Function})
			}
		}
		if len(own) == 0 {
			continue
		}
		if first {
			shared, first = own, false
			continue
		}
		n := 0
		for n < min(len(shared), len(own)) && shared[n] == own[n] {
			n++
		}
		shared = shared[:n]
	}
	for _, key := range slices.Backward(shared) {
		if frame := (snapshot.Frame{File: key.File, Line: key.Line, Function: key.Function}); !frame.IsLibrary() {
			return key
		}
	}
	return placeKey{}
}

// generationCache is growth that one generation explains as well.
func (p *growthPart) generationCache() (Hint, bool) {
	if !p.undecided || len(p.growing) == 0 {
		return Hint{}, false
	}
	s := &p.growing[0]
	return Hint{
		ID: "generation_cache", Title: "Looks like the cache of one generation", File: s.File, Function: s.Function, Line: s.Line,
		Evidence: fmt.Sprintf("each iteration replaces the memory of %s by more, as torch.cat on a key-value cache does", count(len(p.growing), "line")),
		Do:       "Record until the generation is over, or several of them. A static cache keeps memory at one size.",
	}, true
}

// scalarsKept tells of lines that keep too little to be called a leak.
func (p *growthPart) scalarsKept() (Hint, bool) {
	if p.growth.Verdict == Leak || len(p.small) == 0 {
		return Hint{}, false
	}
	s := &p.small[0]
	blocks := s.AtATime / max(s.Every, 1) * 512 // the smallest block
	return Hint{
		ID: "scalars_kept", Title: "Small tensors are kept, step after step", File: s.File, Function: s.Function, Line: s.Line,
		Evidence: fmt.Sprintf("%s keeps %s requested, in blocks of 512 B at least: %s in 100,000 %ss", roundText(s.Every, p.unit), sizeText(s.BytesPerStep*max(s.Every, 1)), sizeText(1e5*blocks), p.unit),
		Do:       "Keep loss.item() instead of the tensor; harmless in a run that ends before it matters.",
	}, true
}

// cacheFilled tells of lines that grew and stopped.
func (p *growthPart) cacheFilled() (Hint, bool) {
	if len(p.filled) == 0 {
		return Hint{}, false
	}
	f := &p.filled[0]
	return Hint{
		ID: "cache_filled", Title: "Something filled up and has not grown since", File: f.place.File, Function: f.place.Function, Line: f.place.Line,
		Evidence: fmt.Sprintf("the line rose to %s until %s %.0f and has been flat since", sizeText(f.bytes), p.unit, f.until),
	}, true
}

// growingInputs tells of peaks that climb although nothing is kept.
func (p *growthPart) growingInputs() (Hint, bool) {
	t := &p.growth.Peak
	if p.growth.Verdict == Leak || p.undecided || p.growth.Shape == Periodic || t.Course != Climbing || t.Grown < 0.05*t.End {
		return Hint{}, false
	}
	return Hint{
		ID: "growing_inputs", Title: "Inputs grow",
		Evidence: fmt.Sprintf("the peak within %s climbs by %s %s, what is left at its end does not", per(p.unit), sizeText(t.BytesPerStep), per(p.unit)),
		Do:       "Bound the length of inputs, or let the first steps see the longest ones, so that memory fails early or never.",
	}, true
}

// firstStepScratch tells of a first step that needs more than all later ones.
func (p *growthPart) firstStepScratch() (Hint, bool) {
	if !p.training || len(p.peak) < 3 || p.peak[0] <= 1.05*slices.Max(p.peak[1:]) {
		return Hint{}, false
	}
	l := newLook(p.c)
	if l == nil {
		return Hint{}, false
	}
	for _, f := range oneOffScratch(l) {
		return Hint{
			ID: "cudnn_benchmark", Title: "The first step needs more than all later ones", File: f.File, Function: f.Function, Line: f.Line,
			Evidence: fmt.Sprintf("its peak is %s, that of the others at most %s; %s", sizeText(p.peak[0]), sizeText(slices.Max(p.peak[1:])), f.Evidence),
			Do:       f.Do,
		}, true
	}
	return Hint{}, false
}
