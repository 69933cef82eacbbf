package attribution

// restRules labels old memory that is not the parameters.
type restRules struct {
	*olderWork
	unsureSizes map[int64]bool // sizes of which a parameter was chosen without being sure
	doubles     sizes          // sizes of fp32 states of half-precision parameters
	leaking     map[int64]bool // sizes that the history makes and keeps
	beside      map[int32]bool // in a construction's layout together with sure parameters
	used        sizes          // labelled so far, by size
}

const (
	smallSize     = 64 << 10 // buffers such as running statistics are smaller
	counterSize   = 8        // a step counter is a float32, in some optimizers an int64
	minLeakSize   = 512      // one block: smaller ones say nothing
	doubleShare   = .9       // share of parameter bytes that must have a state of twice the size
	counterFactor = 2        // at least one in two parameters has a step counter
)

// label labels the allocation with the next higher address.
func (r *restRules) label(i int32) Label {
	size := r.allocs[i].Requested
	n := r.want[size]
	r.used[size]++
	used := r.used[size]
	switch {
	case isWorkspaceSize(size) && (n == 0 || used > n*max(1, r.count[size]/n)):
		return r.workspace()
	case n > 0 && r.generations > 1 && used <= n*r.generations:
		return r.generation(size)
	case n > 0:
		return olderExtra
	case r.doubles[size] > 0:
		return olderStateDouble
	case size <= counterSize && r.generations > 1 && counterFactor*r.count[size] >= r.want.number():
		return olderCounter
	case r.leaking[size]:
		return olderLeak
	case r.layout.inPrefix(int(i)) && (r.beside[i] || r.frozen):
		return olderFrozen
	case size < smallSize:
		return olderSmall
	case ownsSegment(size) && r.frozen && r.layout.share >= constructionShare:
		return olderFrozenOwn
	}
	return olderUnknown
}

// workspace labels what has a workspace's size and no place among the model's
// tensors. Without a history nothing shows that it stayed.
func (r *restRules) workspace() Label {
	if r.blind {
		return olderSizeAlone.at(.5)
	}
	return olderWorkspace
}

// generation labels one more tensor of a parameter's size.
func (r *restRules) generation(size int64) Label {
	switch {
	case r.keptGrads || r.blind:
		return olderSecond
	case r.built:
		return olderCopy
	case !r.unsureSizes[size]:
		return olderState.at(min(r.ceiling, r.sureConfidence()))
	case r.generations >= 3:
		return olderState.at(.65) // two of three are states, whichever
	}
	return olderState.at(.55)
}

// number returns how many are counted.
func (s sizes) number() (sum int) {
	for _, n := range s {
		sum += n
	}
	return sum
}

// doubles returns twice the parameters' sizes when old memory of these exists
// for all of them: float32 states of half-precision parameters.
func (o *olderWork) doubles() sizes {
	double := sizes{}
	var total, there int64
	for size, n := range o.want {
		if size > 1<<61 {
			continue
		}
		double[2*size] = n
		total += 2 * size * int64(n)
		if o.count[2*size]-o.want[2*size]*o.generations >= n {
			there += 2 * size * int64(n)
		}
	}
	if o.generations != 1 || float64(there) < doubleShare*float64(total) {
		return sizes{}
	}
	return double
}

// leakingSizes returns the sizes that the history makes and keeps without their
// being part of the model.
func (o *olderWork) leakingSizes() map[int64]bool {
	list := map[int64]bool{}
	for i := o.firstBorn; i < o.endBorn; i++ {
		if o.allocs[i].Requested <= minLeakSize || o.end(i) != never || o.open(i) {
			continue
		}
		switch o.labels[i].Category {
		case Activation, Input, Unknown, AutogradDetail:
			list[o.allocs[i].Requested] = true
		}
	}
	return list
}
