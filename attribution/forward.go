package attribution

// labelForwards labels what modules and other code of the main thread made, by
// lifetime: a forward's temporaries are gone before the backward begins, what
// the backward needs stays until then.
func (w *work) labelForwards() {
	h := w.history
	backwards, steps := cursor{list: starts(h.backwards)}, cursor{list: starts(h.steps)}
	forwards, cycles := cursor{list: h.forwards}, cursor{list: h.cycles}
	training := h.training()
	for i := w.firstBorn; i < w.endBorn; i++ {
		if !w.open(i) {
			continue
		}
		f, born := w.feature(i), w.allocs[i].Born
		switch {
		case f.has(isEmpty):
		case f.has(inModuleCall | inFunctional), f.has(isNative) && !f.has(isPython):
			_, backward := backwards.seek(born)
			_, step := steps.seek(born)
			w.labels[i] = w.forwardLabel(i, min(backward, step), training)
		case f.has(isPython):
			before, next := forwards.seek(born)
			start, stop := cycles.seek(born - 1)
			if stop == born {
				_, stop = cycles.seek(born)
			}
			w.labels[i] = w.userLabel(i, before > start, w.end(i) > next && next < stop, next)
		}
	}
}

// forwardLabel labels memory of a forward, limit being where the backward or the
// step after it begins.
func (w *work) forwardLabel(i int, limit int32, training bool) Label {
	switch end := w.end(i); {
	case end == never:
		return forwardAlive
	case end >= limit:
		return forwardSaved
	case training:
		return forwardScratch
	}
	return forwardScratch.at(likely)
}

// userLabel labels memory of code outside modules. begun: a forward of the same
// cycle ran before; used: it lives into one of the same cycle; next: where that
// one begins.
func (w *work) userLabel(i int, begun, used bool, next int32) Label {
	end := w.end(i)
	switch {
	case end != never && w.history.marks[end] == markBackward:
		return freedByEngine // saved for backward, which the engine drops as it goes
	case end != never && !used && end < next:
		if len(w.history.forwards) == 0 && !w.history.training() {
			return outsideAlone
		}
		return outsideScratch
	case begun:
		return afterForward
	case used:
		return beforeForward
	}
	return noForward
}

// labelOlderWithStack labels memory whose birth the history lost but whose block
// kept the stack. Of such memory nothing is known but that it is still there.
func (w *work) labelOlderWithStack() {
	for i := range w.allocs {
		f := w.feature(i)
		if !w.isOlder(i) || !w.open(i) || f.has(isEmpty) {
			continue
		}
		size := w.allocs[i].Requested
		switch {
		case f.has(onAutograd) && (w.params[size] > 0 || w.grads[size] > 0):
			w.labels[i] = olderGrad
		case f.has(onAutograd):
			w.labels[i] = olderBackward
		case isWorkspaceSize(size) && f.has(inModuleCall):
			w.labels[i] = olderWorkspace
		case f.has(inModuleCall | inFunctional):
			w.labels[i] = olderForward
		default:
			w.labels[i] = olderUser
		}
	}
}
