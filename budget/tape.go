package budget

import (
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/attribution"
)

// A tape acts out a training step: it allocates and frees the tensors that
// PyTorch would, in that order, on a model of its caching allocator. What is
// live at the highest point is then the ledger of the step, and no rule of
// thumb about it is needed.
type tape struct {
	memory *allocator.Model
	lane   int32

	labels []label
	index  map[labelKey]int32
	live   []held // by label
	lines  []lineState
	names  map[lineKey]int32

	step  Step
	where string // what runs now, for naming a peak
	peaks map[Step]*peak
	trace func(event int, bytes int64, b *buffer) // for tests; nil otherwise

	noGrad    bool
	sequence  int64
	casts     *castCache
	frame     *frame // of the checkpoint that runs
	replayed  *frame // of the checkpoint that is recomputed
	muted     bool   // the recomputation has what it needs and allocates no more
	last      *buffer
	largest   int64            // bytes of a buffer
	arrived   func(*leaf) bool // tells of a gradient, and whether it goes elsewhere
	card      Card             // whose kernels run
	scratches map[string]bool  // of cuBLAS that exist
}

// A label says what a buffer is. Buffers of one label are one line of a ledger.
type label struct {
	class    Class
	category attribution.Category
	name     string
	shape    shape
	dtype    DType
	line     int32
}

// A lineState is a line of the ledger: the labels of one class and name.
type lineState struct {
	class    Class
	category attribution.Category
	name     string
	labels   []int32
	live     held
	most     held
	parts    []held // of most, by label
	fresh    bool   // parts have not been copied yet
	steps    uint8  // set of parts in which it was live
}

type lineKey struct {
	class Class
	name  string
}

type labelKey struct {
	class Class
	name  string
	bytes int64
}

// held is how much of something is live.
type held struct{ bytes, count int64 }

// A peak is the highest point of a part of the step. What was live there is
// copied when the first byte of it goes.
type peak struct {
	requested, allocated int64
	at                   int64 // allocated at the moment of requested
	where                string
	live                 []held
	fresh                bool // live has not been copied yet
}

// A buffer is memory of the device. It goes when nobody holds it.
type buffer struct {
	block  int32
	bytes  int64
	refs   int32
	label  int32
	viewed bool // seen through a view, so that nothing is added to it in place
}

func newTape(card Card) *tape {
	m := allocator.NewModel(allocator.Default(), allocator.Limits{})
	t := &tape{memory: m, index: map[labelKey]int32{}, names: map[lineKey]int32{}, peaks: map[Step]*peak{}, card: card, scratches: map[string]bool{}}
	t.lane = m.Lane(0, 0)
	return t
}

// hold adds a holder.
func (b *buffer) hold() *buffer {
	if b.refs == 0 {
		panic("budget: a buffer is used that is gone")
	}
	b.refs++
	return b
}

// name returns the index of a label, made on first use.
func (t *tape) name(class Class, category attribution.Category, name string, s shape, d DType) int32 {
	key := labelKey{class, name, d.bytesOf(s.elements())}
	if i, ok := t.index[key]; ok {
		return i
	}
	i := int32(len(t.labels))
	t.index[key] = i
	t.labels = append(t.labels, label{class: class, category: category, name: name, shape: s, dtype: d, line: t.lineOf(class, category, name, i)})
	t.live = append(t.live, held{})
	return i
}

// lineOf returns the line of the ledger that a new label belongs to.
func (t *tape) lineOf(class Class, category attribution.Category, name string, l int32) int32 {
	key := lineKey{class, name}
	i, ok := t.names[key]
	if !ok {
		i = int32(len(t.lines))
		t.names[key] = i
		t.lines = append(t.lines, lineState{class: class, category: category, name: name})
	}
	t.lines[i].labels = append(t.lines[i].labels, l)
	return i
}

// alloc returns a buffer that the caller holds. Nothing at all is allocated for
// no elements, as in PyTorch.
func (t *tape) alloc(class Class, category attribution.Category, name string, s shape, d DType) *buffer {
	return t.allocAs(t.name(class, category, name, s, d), d.bytesOf(s.elements()))
}

func (t *tape) allocAs(l int32, bytes int64) *buffer {
	if t.frame != nil {
		t.frame.allocs++
	}
	if t.replayed != nil {
		t.muted = t.muted || t.replayed.stop()
	}
	if t.muted {
		bytes = 0
	}
	t.largest = max(t.largest, bytes)
	b := &buffer{bytes: bytes, refs: 1, label: l}
	t.last = b
	if bytes > 0 {
		b.block = t.memory.Malloc(t.lane, bytes)
	}
	t.count(b, 1)
	if t.trace != nil {
		t.trace(1, bytes, b)
	}
	t.mark()
	return b
}

// count books a buffer in or out, unless it takes nothing.
func (t *tape) count(b *buffer, sign int64) {
	if b.bytes == 0 {
		return
	}
	h, l := &t.live[b.label], &t.labels[b.label]
	if sign < 0 {
		t.keepParts(&t.lines[l.line])
	}
	h.bytes += sign * b.bytes
	h.count += sign
	line := &t.lines[l.line]
	line.live.bytes += sign * b.bytes
	line.live.count += sign
	if line.live.bytes > line.most.bytes {
		line.most, line.fresh = line.live, true
	}
	line.steps |= t.step.bit()
}

// keepParts copies of what the most of a line consists, when that is about to end.
func (t *tape) keepParts(line *lineState) {
	if !line.fresh {
		return
	}
	line.fresh, line.parts = false, line.parts[:0]
	for _, l := range line.labels {
		line.parts = append(line.parts, t.live[l])
	}
}

// mark notes a new highest point of the part that runs.
func (t *tape) mark() {
	p := t.peaks[t.step]
	if p == nil {
		p = &peak{}
		t.peaks[t.step] = p
	}
	p.allocated = max(p.allocated, t.memory.Allocated)
	if t.memory.Requested > p.requested {
		p.requested, p.at, p.where, p.fresh = t.memory.Requested, t.memory.Allocated, t.where, true
	}
}

// drop gives up one hold of each buffer; nil holds nothing.
func (t *tape) drop(buffers ...*buffer) {
	for _, b := range buffers {
		if b == nil {
			continue
		}
		b.refs--
		if b.refs < 0 {
			panic("budget: a buffer was given up twice: " + t.labels[b.label].name)
		}
		if b.refs == 0 {
			t.release(b)
		}
	}
}

func (t *tape) release(b *buffer) {
	t.settle()
	t.count(b, -1)
	if b.bytes > 0 {
		t.memory.FreeCompleted(b.block)
	}
	if t.trace != nil {
		t.trace(-1, b.bytes, b)
	}
}

// settle copies what is live when a peak is about to end.
func (t *tape) settle() {
	if p := t.peaks[t.step]; p != nil && p.fresh {
		p.live = append(p.live[:0], t.live...)
		p.fresh = false
	}
}

// enter begins a part of the step. What is live then is live in it.
func (t *tape) enter(s Step) {
	t.settle()
	t.step = s
	for i := range t.lines {
		if t.lines[i].live.bytes > 0 {
			t.lines[i].steps |= s.bit()
		}
	}
	t.mark()
}

// forget starts the record of peaks and of lines anew, with what is live.
func (t *tape) forget() {
	t.peaks = map[Step]*peak{}
	for i := range t.lines {
		t.lines[i].most, t.lines[i].steps, t.lines[i].fresh = t.lines[i].live, 0, true
	}
}

// relabel says that a buffer is now something else.
func (t *tape) relabel(b *buffer, l int32) {
	if b.label == l {
		return
	}
	t.settle()
	t.count(b, -1)
	b.label = l
	t.count(b, 1)
}
