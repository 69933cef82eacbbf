package attribution

// labelByStack labels what the stack alone gives away: optimizers, modules,
// collectives and libraries call functions of their own to make their memory.
func (w *work) labelByStack() {
	bufferLine := w.bufferLine()
	for i := range w.allocs {
		f := w.feature(i)
		if f.has(isEmpty) {
			continue
		}
		if w.taggedOptimizer(i) && !f.has(inModuleCall|onAutograd) {
			f |= inOptimizer
		}
		main := !f.has(onAutograd)
		outside := main && !f.has(inModuleCall)
		switch {
		case f.has(inStateLoad) && outside:
			w.loadState(i)
		case main && (f.has(inOptimizer) || w.born(i) == markStep):
			w.labelStep(i, f)
		case f.has(inClip | inScaler):
			w.labelScaling(i, f)
		case f.has(inParameter) && main:
			w.labelModule(i, f, bufferLine)
		case f.has(inModuleInit) && outside:
			w.labelInit(i)
		case f.has(inDeepCopy) && outside:
			w.labels[i] = bufferCopied
		default:
			w.labelLibrary(i, f, main, outside)
		}
	}
}

// labelLibrary labels memory of libraries, and puts off what only gradients can
// tell.
func (w *work) labelLibrary(i int, f feature, main, outside bool) {
	called := f.has(inModuleCall)
	switch {
	case f.has(inCuBLAS):
		w.labels[i] = workspaceFrame
	case f.has(inDDPBucket) && main && w.end(i) == never:
		w.buckets = append(w.buckets, int32(i))
	case f.has(inCollective) && main:
		w.labels[i] = commFrame
	case f.has(inData) && !called:
		w.labels[i] = dataFrame
	case f.has(inGraphCapture) && !called:
		w.labels[i] = graphScratch
	case f.has(inLoad) && !called:
		w.loaded = append(w.loaded, int32(i))
	case f.has(inUserInit) && outside:
		w.constructed = append(w.constructed, int32(i))
	}
}

// taggedOptimizer reports whether the program tagged the memory as an
// optimizer's, as component tracking does through user_metadata.
func (w *work) taggedOptimizer(i int) bool {
	id := w.allocs[i].Label
	return id != 0 && int(id) < len(w.snap.Labels) && w.snap.Labels[id].UserMetadata == "optimizer"
}

func (w *work) loadState(i int) {
	l := stateLoaded
	if w.end(i) != never {
		l = l.at(fair) // replaced later, or only a copy on the way
	}
	w.addState(i, l)
}

// labelStep labels what an optimizer's step made: state is what outlives the
// step. This holds for users' optimizers and for master weights as well.
func (w *work) labelStep(i int, f feature) {
	if w.isOlder(i) {
		w.addState(i, stateOlder)
		return
	}
	init, end := f.has(inStateInit), w.end(i)
	step := w.history.stepAt(w.allocs[i].Born)
	switch {
	case step >= 0 && end != never && w.scratchOf(step, end, init):
		w.labels[i] = stepScratch
	case step >= 0 && end == never && !init && w.stillRunning(step):
		w.unsure = append(w.unsure, int32(i))
	case init:
		w.addState(i, stateInit)
	default:
		w.addState(i, stateKept)
	}
}

// scratchOf reports whether memory of a step, freed at end, was its scratch.
// Foreach implementations hold their temporaries in locals, which Python frees
// a little after the last kernel, but before the next forward.
func (w *work) scratchOf(step int, end int32, init bool) bool {
	h, s := w.history, w.history.steps[step]
	return end <= s.last+1 ||
		!h.forwardBetween(s.first, end) && h.nextBackward(s.first) == never ||
		!init && end < min(after(h.forwards, s.last), int32(len(h.marks)))
}

// runningMargin is how many events may follow the last one of a step that is
// not over: PyTorch records no-ops such as the snapshot's own mark.
const runningMargin = 3

// stillRunning reports whether the history may end inside a step.
func (w *work) stillRunning(step int) bool {
	h := w.history
	return step == len(h.steps)-1 && int(h.steps[step].last) >= len(h.marks)-runningMargin
}

func (w *work) labelScaling(i int, f feature) {
	if f.has(inScaler) && !f.has(inModuleCall) && w.end(i) == never {
		w.labels[i] = scalerState
		return
	}
	w.labels[i] = clipScratch
}

// labelModule labels what building, moving or converting a module made.
func (w *work) labelModule(i int, f feature, bufferLine int32) {
	end := w.end(i)
	switch {
	case end != never && !w.history.forwardBetween(w.allocs[i].Born, end):
		w.labels[i] = moduleScratch
	case bufferLine != 0 && !f.has(inModuleInit|inFSDP) && w.stacks.applyLine(w.allocs[i].Stack) == bufferLine:
		w.labels[i] = bufferApply
	case f.has(inFSDP):
		w.addParameter(i, paramShard)
	case f.has(inModuleInit):
		w.addParameter(i, paramBuilt)
	default:
		w.addParameter(i, paramApplied)
	}
}

func (w *work) labelInit(i int) {
	if w.end(i) != never {
		w.labels[i] = initScratch
		return
	}
	w.addParameter(i, paramInit)
}

// bufferLine returns the line of Module._apply that converts buffers, 0 when it
// is not known: _apply converts parameters first, so of two or more lines that
// convert something the last is that of the buffers.
func (w *work) bufferLine() (largest int32) {
	smallest := int32(0)
	asked := make([]bool, len(w.stacks.bits))
	for i := range w.allocs {
		id := w.allocs[i].Stack
		f := w.stacks.of(id)
		if !f.has(inParameter) || asked[id] || f.has(inModuleCall|inOptimizer|inModuleInit) {
			continue
		}
		asked[id] = true
		line := w.stacks.applyLine(id)
		if line == 0 {
			continue
		}
		if smallest == 0 || line < smallest {
			smallest = line
		}
		largest = max(largest, line)
	}
	if smallest == largest {
		return 0
	}
	return largest
}
