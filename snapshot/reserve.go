package snapshot

// A reserve follows which addresses are held from the device. An event that
// maps what is mapped, or unmaps what is not, contradicts the ones before it.
// What was never touched by an event is unknown, so it may be older than the
// history; what was touched cannot be.
type reserve struct {
	mapped  rangeSet // held, as far as the events say
	touched rangeSet // mapped or unmapped by an event so far
	lost    int64    // bytes that do not reconcile, see Timeline.UnreconciledReserved
}

// gain is an event that maps memory.
func (r *reserve) gain(e *Event) {
	lo, hi := addrRange(e.Addr, e.Size)
	r.lose(r.mapped.add(lo, hi))
	r.touched.add(lo, hi)
}

// drop is an event that unmaps memory.
func (r *reserve) drop(e *Event) {
	lo, hi := addrRange(e.Addr, e.Size)
	mapped := r.mapped.remove(lo, hi)
	r.lose(r.touched.add(lo, hi) - mapped)
}

// settle compares what is mapped at the end with the segments of the dump:
// segments in addresses that the events unmapped, and mapped memory without a segment.
func (r *reserve) settle(segments []Segment) {
	if r.touched.bytes() == 0 {
		return
	}
	for i := range segments {
		lo, hi := addrRange(segments[i].Addr, segments[i].Total)
		mapped := r.mapped.remove(lo, hi) // always touched
		r.lose(r.touched.count(lo, hi) - mapped)
	}
	r.lose(r.mapped.bytes())
}

func (r *reserve) lose(bytes uint64) {
	r.lost = addBytes(r.lost, int64(min(bytes, replayLimit)))
}
