package attribution

import "github.com/snapview/snapview/snapshot"

// labelClaims labels what the stack leaves open, now that the gradients say
// which sizes the model has.
func (w *work) labelClaims() {
	need := sizes{} // gradients without a parameter of their size
	for size, n := range w.grads {
		if n > w.params[size] {
			need[size] = n - w.params[size]
		}
	}
	w.labelConstructed(need)
	w.labelLoaded(need)
	w.labelEarly(need)
	w.labelBuckets()
	w.labelUnsure()
}

// take uses up one of what is needed of a size.
func (s sizes) take(size int64) bool {
	if s[size] <= 0 {
		return false
	}
	s[size]--
	return true
}

// repeatedConstructor is from how often on a constructor's line is taken for
// that of a layer rather than for a single tensor of the user's.
const repeatedConstructor = 4

// labelConstructed labels what users' constructors made: parameters, buffers or
// data.
func (w *work) labelConstructed(need sizes) {
	times := map[snapshot.FrameID]int{}
	for _, i := range w.constructed {
		times[w.stacks.constructor(w.allocs[i].Stack)]++
	}
	for _, n := range w.constructed {
		i, size := int(n), w.allocs[n].Requested
		switch {
		case w.end(i) != never && !w.outlivesForward(i):
			w.labels[i] = userScratch
		case need.take(size):
			w.addParameter(i, userParam)
		case w.states[size] > 0 && w.params[size] == 0:
			w.addParameter(i, userState)
		case len(w.grads) == 0 && times[w.stacks.constructor(w.allocs[i].Stack)] >= repeatedConstructor:
			w.addParameter(i, userRepeated)
		case w.end(i) == never:
			w.labels[i] = userBuffer
		default:
			w.labels[i] = userUnknown
		}
	}
}

// outlivesForward reports whether memory lived through a forward into the
// backward behind it.
func (w *work) outlivesForward(i int) bool {
	born, end := w.allocs[i].Born, w.end(i)
	return w.history.forwardBetween(born, end) && w.history.nextBackward(born) < end
}

func (w *work) labelLoaded(need sizes) {
	for _, n := range w.loaded {
		i, end := int(n), w.end(int(n))
		switch {
		case end != never && !w.history.forwardBetween(w.allocs[i].Born, end):
			w.labels[i] = loadedScratch
		case need.take(w.allocs[i].Requested):
			w.addParameter(i, loadedParam)
		case len(w.params) == 0 && len(w.grads) == 0:
			w.addParameter(i, loadedAlone)
		default:
			w.labels[i] = loadedUnknown
		}
	}
}

// labelEarly finds parameters made by functions of the user's: made before the
// first forward, alive through a step, of a size that gradients still lack.
func (w *work) labelEarly(need sizes) {
	h := w.history
	if len(w.older) > 0 || len(h.steps) == 0 {
		return
	}
	first, lastStep := after(h.forwards, -1), int32(-1)
	if first == never {
		first = h.nextBackward(-1)
	}
	for _, s := range h.steps {
		lastStep = max(lastStep, s.last)
	}
	for i := w.firstBorn; i < w.endBorn; i++ {
		born := w.allocs[i].Born
		if born > first {
			return
		}
		if w.open(i) && w.end(i) == never && born < lastStep && !w.deferred(i) &&
			!w.feature(i).has(inModuleCall|onAutograd|isEmpty|inFunctional) && need.take(w.allocs[i].Requested) {
			w.addParameter(i, lateParam)
		}
	}
}

// deferred reports whether an allocation waits for labelBuckets or labelUnsure.
func (w *work) deferred(i int) bool { return w.feature(i).has(inDDPBucket | inOptimizer) }

// bucketShare is how much of the buckets' bytes separate gradients must reach
// for the buckets to be copies of them.
const bucketShare = .5

// labelBuckets labels the buckets of DistributedDataParallel. They are copies to
// reduce, unless gradients are views into them: then no backward leaves any.
func (w *work) labelBuckets() {
	if len(w.buckets) == 0 {
		return
	}
	var total int64
	for _, i := range w.buckets {
		total += w.allocs[i].Requested
	}
	copies := float64(w.grads.bytes()) >= bucketShare*float64(total)
	for _, i := range w.buckets {
		seen := len(w.params) > 0 && w.history.closedBackwardAfter(w.allocs[i].Born)
		switch {
		case seen && len(w.grads) == 0:
			w.labels[i] = ddpView
		case seen && copies:
			w.labels[i] = ddpBucket
		default:
			w.labels[i] = ddpBucket.at(fair)
		}
	}
}

// labelUnsure labels what is alive in a step that may not be over: a later step
// makes no state, the first one makes it in the size of the parameters. Where
// the file breaks off, frees may be among what was not read.
func (w *work) labelUnsure() {
	first := len(w.history.steps) <= 1
	for _, n := range w.unsure {
		i, size := int(n), w.allocs[n].Requested
		sized := w.params[size] > 0 || w.grads[size] > 0
		switch {
		case w.snap.Partial != nil && w.isArithmetic(i):
			w.labels[i] = stepRunning.at(.5)
		case w.snap.Partial != nil:
			w.labels[i] = stepCutOff
		case !first, sized && w.isArithmetic(i):
			w.labels[i] = stepRunning
		case sized:
			w.addState(i, stateFirst)
		default:
			w.addState(i, stateRunning)
		}
	}
}

// isArithmetic reports whether the innermost Python function is one that
// computes rather than makes state.
func (w *work) isArithmetic(i int) bool {
	f := w.stacks.python(w.allocs[i].Stack, 0)
	return f != nil && containsAny(f.Function, "foreach", "sqrt", "div")
}
