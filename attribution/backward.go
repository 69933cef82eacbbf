package attribution

// labelBackwards labels what backwards made. Gradients are what outlives the
// backward and has the size of a parameter: AccumulateGrad keeps the first
// gradient that arrives, and adds later ones in place or into temporaries.
func (w *work) labelBackwards() {
	rule := w.newGradientRule()
	left := map[backwardSize]int{}
	for i := w.firstBorn; i < w.endBorn; i++ {
		if j := w.backwardOf(i); j >= 0 && w.open(i) && w.end(i) > w.history.backwards[j].last {
			if l := rule.label(w, i, w.history.backwards[j].closed); l.Evidence != "" {
				w.labels[i] = l
				left[backwardSize{j, w.allocs[i].Requested}]++
			}
		}
	}
	if rule.known && !rule.older && len(w.constructed)+len(w.loaded) == 0 {
		w.limitGradients(left)
	}
	for at, n := range left {
		if n > 0 {
			w.grads.raise(at.size, n)
		}
	}
	times := sizes{}
	for i := w.firstBorn; i < w.endBorn; i++ {
		if w.allocs[i].Requested >= onceSize {
			times[w.allocs[i].Requested]++
		}
	}
	for i := w.firstBorn; i < w.endBorn; i++ {
		if j := w.backwardOf(i); j >= 0 && w.open(i) {
			w.labels[i] = w.restOfBackward(i, w.history.backwards[j])
			if w.labels[i] == backScratch && times[w.allocs[i].Requested] == 1 {
				w.labels[i] = backOnce
			}
		}
	}
}

// onceSize is from where on scratch that comes once may be a library's search
// for an algorithm rather than a tensor.
const onceSize = 16 << 20

// A gradientRule says which sizes gradients can have.
type gradientRule struct {
	candidates map[int64]bool // sizes of what is, or may be, a parameter
	known      bool           // parameters were seen being made
	older      bool           // there is older memory, which may be parameters
}

func (w *work) newGradientRule() gradientRule {
	r := gradientRule{map[int64]bool{}, len(w.params) > 0, len(w.older) > 0}
	for size := range w.params {
		r.candidates[size] = true
	}
	for size := range w.states {
		if size > stepCounterSize { // states have the sizes of parameters, step counters do not
			r.candidates[size] = true
		}
	}
	for _, list := range [][]int32{w.constructed, w.loaded} {
		for _, i := range list {
			r.candidates[w.allocs[i].Requested] = true
		}
	}
	return r
}

// stepCounterSize is what an optimizer's float32 step counter takes.
const stepCounterSize = 4

// label labels the survivor of a backward if it is a gradient.
func (r gradientRule) label(w *work, i int, closed bool) Label {
	f, size := w.feature(i), w.allocs[i].Requested
	switch {
	case f.has(inCheckpoint), f.has(inModuleCall) && !f.has(inCompiledBackward):
		return Label{} // a recomputed forward
	case f.has(inFSDPReduce):
		return gradReduced.unlessClosed(closed, weak)
	case r.candidates[size]:
		return gradParam.unlessClosed(closed, good)
	case w.older[size] > 0:
		return gradOlder
	case !r.known && !r.older, f.has(inAccumulate):
		return gradAlone
	}
	return Label{}
}

// unlessClosed lowers the confidence of a label in a backward not yet over.
func (l Label) unlessClosed(closed bool, confidence float32) Label {
	if closed {
		return l
	}
	return l.at(confidence)
}

// limitGradients applies, when every parameter is known, that a backward leaves
// at most one gradient each. Of more, the newest of a backward not yet over are
// in flight; in one that is over nothing says which.
func (w *work) limitGradients(left map[backwardSize]int) {
	seen, excess := map[backwardSize]int{}, map[backwardSize]int{}
	for i := w.firstBorn; i < w.endBorn; i++ {
		j := w.backwardOf(i)
		if j < 0 || w.open(i) || w.labels[i].Category != Gradient {
			continue
		}
		at := backwardSize{j, w.allocs[i].Requested}
		limit := w.params[at.size]
		if limit == 0 || left[at] <= limit {
			continue
		}
		if w.history.backwards[j].closed {
			w.labels[i].Confidence = min(w.labels[i].Confidence, fair)
		} else if seen[at]++; seen[at] > limit {
			w.labels[i] = inFlight
			excess[at]++
		}
	}
	for at, n := range excess {
		left[at] -= n
	}
}

func (w *work) restOfBackward(i int, b stretch) Label {
	f := w.feature(i)
	switch {
	case f.has(inCheckpoint):
		return recomputed
	case f.has(inCollective):
		return commBackward
	case w.end(i) <= b.last:
		return backScratch
	case !b.closed:
		return backUnfinished
	}
	return backKept
}
