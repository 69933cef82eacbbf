package profiler

import (
	"math"
	"strings"
)

// An Allocation is a piece of memory from its allocation to its free.
type Allocation struct {
	Addr      uint64
	Bytes     int64
	Time, End int64 // ns; Time is the start of the trace when Older; End is AliveAtEnd when never freed

	// Op and FreeOp are the innermost host events that allocated and freed it,
	// Leaf and FreeLeaf the outermost operators around them; -1 is none.
	Op, FreeOp, Leaf, FreeLeaf int32
	Thread                     ThreadID
	Phase, FreePhase           PhaseKind
	Older                      bool // allocated before the trace began

	Category   Category
	Evidence   string // one short phrase
	Confidence float64

	phase, freePhase int  // indices of phase spans, -1 for none
	inBackward       bool // an operator of autograd's engine allocated it
	nth              int  // how many allocations Op made before it
}

// AliveAtEnd is the End of what was not freed in the trace.
const AliveAtEnd = math.MaxInt64

// pairing matches frees to allocations.
type pairing struct {
	*derived
	phases []phaseSpan
	start  int64
	out    []Allocation
	live   map[uint64]int32
	bySize map[int64][]int32 // of files without addresses, the newest last
	count  map[int32]int     // allocations by operator
	lost   int               // allocations at an address that was in use
}

// pair turns the ordered events of a device into allocations: those of the
// trace in order, and those older that were freed in it.
func (t *Trace) pair(events []int32, phases []phaseSpan) *pairing {
	p := &pairing{derived: t.derived(), phases: phases, live: make(map[uint64]int32), bySize: make(map[int64][]int32), count: make(map[int32]int)}
	p.trees()
	if len(events) > 0 {
		p.start = t.Memory[events[0]].Time
	}
	for _, i := range events {
		if e := &t.Memory[i]; e.Bytes > 0 {
			p.alloc(e)
		} else if e.Bytes < 0 {
			p.free(e)
		}
	}
	return p
}

func (p *pairing) alloc(e *MemoryEvent) {
	a := Allocation{Addr: e.Addr, Bytes: e.Bytes, Time: e.Time, End: AliveAtEnd, Thread: e.Thread, FreeOp: -1, FreeLeaf: -1, freePhase: -1}
	a.Op = p.innermost(e.Thread, e.Time)
	a.Leaf, a.inBackward = p.leaf(a.Op)
	a.phase, a.Phase = phaseAt(p.phases, e.Time)
	a.nth = p.count[a.Op]
	p.count[a.Op]++
	at := int32(len(p.out))
	if e.Addr == 0 {
		p.bySize[e.Bytes] = append(p.bySize[e.Bytes], at)
	} else {
		if old, used := p.live[e.Addr]; used {
			p.out[old].End = e.Time
			p.lost++
		}
		p.live[e.Addr] = at
	}
	p.out = append(p.out, a)
}

func (p *pairing) free(e *MemoryEvent) {
	at := p.taken(e)
	a := &p.out[at]
	a.End = e.Time
	a.FreeOp = p.innermost(e.Thread, e.Time)
	a.FreeLeaf, _ = p.leaf(a.FreeOp)
	a.freePhase, a.FreePhase = phaseAt(p.phases, e.Time)
}

// taken finds what a free gives back, and adds it when it is older than the trace.
func (p *pairing) taken(e *MemoryEvent) int32 {
	if e.Addr == 0 {
		if same := p.bySize[-e.Bytes]; len(same) > 0 {
			p.bySize[-e.Bytes] = same[:len(same)-1]
			return same[len(same)-1]
		}
	} else if at, known := p.live[e.Addr]; known {
		delete(p.live, e.Addr)
		if p.out[at].Bytes == -e.Bytes {
			return at
		}
		p.out[at].End = e.Time // another size: the free of this one is missing
		p.lost++
	}
	p.out = append(p.out, Allocation{Addr: e.Addr, Bytes: -e.Bytes, Time: p.start, Older: true, Op: -1, Leaf: -1, Thread: e.Thread, phase: -1})
	return int32(len(p.out) - 1)
}

// leaf returns the outermost operator around a host event: the node of
// PyTorch's data flow graph. Those are calls of registered operators, whose
// names have a namespace, and nodes of the backward graph; annotations and the
// engine's own span around a node are not.
func (p *pairing) leaf(op int32) (leaf int32, inBackward bool) {
	leaf = -1
	for i := op; i >= 0; i = p.parentOf(i) {
		e := &p.t.Host[i]
		if e.Kind != Operator {
			continue
		}
		name := p.t.Names[e.Name]
		inBackward = inBackward || p.t.isBackwardOp(e)
		if strings.HasPrefix(name, evaluateFunction) {
			continue
		}
		parent := p.parentOf(i)
		ofEngine := parent >= 0 && strings.HasPrefix(p.t.Names[p.t.Host[parent].Name], evaluateFunction)
		if ofEngine || strings.Contains(name, "::") || e.FwdThread != 0 {
			leaf = i
		}
	}
	return leaf, inBackward
}
