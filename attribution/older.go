package attribution

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// labelOlder labels memory that is older than the history and has no stack.
func (w *work) labelOlder() {
	var kept []int32
	for i := range w.allocs {
		switch {
		case !w.open(i) || !w.isOlder(i):
		case w.end(i) != never:
			w.labels[i] = w.olderFreed(i)
		default:
			kept = append(kept, int32(i))
		}
	}
	if len(kept) > 0 {
		newOlderWork(w, kept).run()
	}
}

// olderFreed labels older memory by who freed it.
func (w *work) olderFreed(i int) Label {
	size := w.allocs[i].Requested
	switch m := w.history.marks[w.end(i)]; {
	case m == markBackward:
		return olderFreedBackward
	case m == markZero:
		return olderFreedZero
	case m != noMark && (w.grads[size] > 0 || w.params[size] > 0):
		return olderFreedSize
	}
	return olderFreed
}

// olderWork tells apart what is alive all along, by sizes and positions. The
// parameters' sizes come from the gradients if any were seen; each of these
// sizes is then there once per generation: parameters, states, copies.
type olderWork struct {
	*work
	old    []int32 // allocations in question
	count  sizes   // of them
	want   sizes   // parameters by size
	source source  // where want comes from
	layout *layout

	generations int     // how often most parameters' sizes occur
	agreement   float64 // share of bytes whose count fits that
	ceiling     float32 // no parameter or state gets more confidence
	built       bool    // the states were made inside the history
	blind       bool    // no event says what ran: a second generation may be gradients
	keptGrads   bool    // backwards ran and left nothing: gradients are among the old ones
	frozen      bool    // most of the old memory has no gradient: adapters on a frozen model
}

// source is how the parameters' sizes became known.
type source uint8

const (
	fromNothing   source = iota
	fromGradients        // a backward left gradients of these sizes
	fromScratch          // an optimizer step made temporaries of these sizes
	fromMultiples        // counts are multiples of a number of generations
)

func newOlderWork(w *work, old []int32) *olderWork {
	o := &olderWork{work: w, old: old, count: sizes{}, want: sizes{}}
	for _, i := range old {
		o.count[w.allocs[i].Requested]++
	}
	o.layout = newLayout(w, old)
	return o
}

func (o *olderWork) run() {
	o.findSizes()
	if len(o.want) == 0 {
		o.labelWithoutSizes()
		return
	}
	o.judge()
	chosen := o.choose(o.copies())
	o.labelParameters(chosen)
	o.labelRest(chosen)
}

// findSizes finds the parameters' sizes and how many there are of each.
func (o *olderWork) findSizes() {
	for size, n := range o.grads {
		if o.count[size] > 0 && n > 0 {
			o.want[size] = n
		}
	}
	if len(o.want) > 0 {
		o.source = fromGradients
		return
	}
	if o.fromStep(); len(o.want) == 0 {
		o.fromCounts()
	}
}

// scratchShare is the share of the old bytes whose sizes a step must touch for
// its temporaries to name the parameters' sizes.
const scratchShare = .8

// fromStep takes the sizes of what the first optimizer step made.
func (o *olderWork) fromStep() {
	if len(o.history.steps) == 0 {
		return
	}
	step, seen := o.history.steps[0], sizes{}
	for i := o.firstBorn; i < o.endBorn && o.allocs[i].Born <= step.last; i++ {
		if size := o.allocs[i].Requested; o.allocs[i].Born >= step.first && o.count[size] > 0 {
			seen[size]++
		}
	}
	var covered int64
	for size := range seen {
		covered += size * int64(o.count[size])
	}
	if float64(covered) > scratchShare*float64(o.count.bytes()) {
		o.want, o.source = seen, fromScratch
	}
}

// labelWithoutSizes labels old memory when nothing says what a parameter's size
// is: in inference, or when the recording began after the model was built. Then
// only a construction's layout speaks.
func (o *olderWork) labelWithoutSizes() {
	model := len(o.history.forwards) > 0 && o.layout.share >= constructionShare
	for _, n := range o.old {
		i, size := int(n), o.allocs[n].Requested
		switch {
		case isHandleSize(size):
			o.labels[i] = olderSizeAlone
		case model && (ownsSegment(size) || o.layout.inPrefix(i)):
			o.labels[i] = olderModel
		default:
			o.labels[i] = olderNoSizes
		}
	}
}

// consistentShare is the share of bytes whose counts must agree before the
// generations count as understood.
const consistentShare = .9

// judge finds how many generations of the parameters' sizes there are, and how
// far that explains the counts.
func (o *olderWork) judge() {
	weight, total := map[int]int64{}, o.want.bytes()
	for size, n := range o.want {
		weight[o.count[size]/n] += size * int64(n)
	}
	most := int64(-1)
	for generations, bytes := range weight {
		if bytes > most || bytes == most && generations < o.generations {
			o.generations, most = generations, bytes
		}
	}
	o.generations = max(o.generations, 1)
	var fits, made int64
	for size, n := range o.want {
		if extra := o.count[size] - o.generations*n; extra == 0 || extra == 1 {
			fits += size * int64(n)
		}
		made += size * int64(min(o.newStates[size], n))
	}
	o.agreement = float64(fits) / float64(max(total, 1))
	if o.source == fromGradients && o.gradientsCutOff() {
		o.agreement = 0
	}
	o.built = made > total/2
	o.blind = !slices.ContainsFunc(o.history.marks, func(m mark) bool { return m != noMark })
	o.keptGrads = o.history.anyClosedBackward() && len(o.grads) == 0 && o.generations >= 2
	o.frozen = o.count.bytes()-int64(o.generations)*total > frozenFactor*total
	o.ceiling = o.confidenceCeiling()
}

// frozenFactor is how much more old memory than trainable one means a frozen model.
const frozenFactor = 4

// gradientsCutOff reports whether no backward began after a forward was seen:
// the only one began before the history, and its gradients are short in number.
func (o *olderWork) gradientsCutOff() bool {
	h := o.history
	if len(h.backwards) == 0 {
		return false
	}
	return h.backwards[len(h.backwards)-1].first <= after(h.forwards, -1)
}

func (o *olderWork) confidenceCeiling() float32 {
	switch {
	case o.blind:
		return weak
	case o.agreement < consistentShare:
		return .5
	case o.source == fromGradients:
		return .92
	case o.source == fromScratch:
		return .88
	}
	return fair
}

// statesPerParameter is how many tensors of a parameter's size optimizers keep.
var statesPerParameter = map[string]int{"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "Adadelta": 2,
	"RMSprop": 1, "Adagrad": 1, "Muon": 1, "Lion": 1}

// copies returns how many generations are parameters: more than one with a
// moving average of the weights.
func (o *olderWork) copies() int {
	if o.built {
		return max(1, o.generations)
	}
	if len(o.history.kinds) != 1 || o.agreement < consistentShare || len(o.grads) == 0 {
		return 1
	}
	for kind := range o.history.kinds {
		if n, known := statesPerParameter[kind]; known {
			return max(1, o.generations-n)
		}
	}
	return 1
}

// choice is which old memory is parameters, and of which of it that is sure.
type choice struct {
	picked []int32 // in order of choice
	chosen map[int32]bool
	sure   map[int32]bool
}

func (o *olderWork) labelParameters(c choice) {
	for _, i := range c.picked {
		size := o.allocs[i].Requested
		single := o.generations <= 1
		l := olderOneOf
		switch {
		case single && o.source == fromGradients && o.count[size] == o.want[size] && o.agreement >= consistentShare:
			l = olderOnly.at(good)
		case single:
			l = olderOnly.at(min(probable, o.ceiling))
		case c.sure[i]:
			l = olderLaidOut.at(min(o.ceiling, o.sureConfidence()))
		case o.agreement < .5 || o.blind:
			l = olderOneOfUnsure
		}
		o.labels[i] = l
	}
}

// sureConfidence is what a layout that speaks clearly is worth.
func (o *olderWork) sureConfidence() float32 {
	if o.source == fromGradients {
		return fair
	}
	return probable
}

// labelRest labels the old memory that is not the parameters.
func (o *olderWork) labelRest(c choice) {
	r := restRules{olderWork: o, unsureSizes: map[int64]bool{}, doubles: o.doubles(), leaking: o.leakingSizes(), beside: map[int32]bool{}, used: sizes{}}
	for _, i := range c.picked {
		r.used[o.allocs[i].Requested]++
		if !c.sure[i] {
			r.unsureSizes[o.allocs[i].Requested] = true
		}
	}
	for _, prefix := range o.layout.prefixes {
		if slices.ContainsFunc(prefix, func(i int32) bool { return c.sure[i] }) {
			for _, i := range prefix {
				r.beside[i] = true
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(o.old), func(i int32) bool { return c.chosen[i] })
	slices.SortFunc(rest, func(a, b int32) int { return compareAddr(&o.allocs[a], &o.allocs[b]) })
	for _, i := range rest {
		o.labels[i] = r.label(i)
	}
}

func compareAddr(a, b *snapshot.Allocation) int {
	switch {
	case a.Addr < b.Addr:
		return -1
	case a.Addr > b.Addr:
		return 1
	}
	return 0
}
