package profiler

// A charge is the memory of one span.
type charge struct {
	selfCPU, selfDevice int64 // net bytes of its own
	cpu, device         int64 // net bytes, with the spans inside of it
	allocated, freed    int64 // gross bytes of its own, of the memory that tables are about
	peak                int64 // highest net of that memory while it ran, with the spans inside of it; at least 0
	allocs, frees       int32
}

// kept is the net memory still there after the span, in the memory that tables are about.
func (c *charge) kept(onCPU bool) int64 {
	if onCPU {
		return c.cpu
	}
	return c.device
}

func (c *charge) add(e *MemoryEvent, mainCPU bool) {
	isCPU := e.Type.onCPU()
	if isCPU {
		c.selfCPU += e.Bytes
		c.cpu += e.Bytes
	} else {
		c.selfDevice += e.Bytes
		c.device += e.Bytes
	}
	if isCPU != mainCPU {
		return
	}
	if e.Bytes > 0 {
		c.allocated += e.Bytes
		c.allocs++
	} else {
		c.freed -= e.Bytes
		c.frees++
	}
	c.peak = max(c.peak, c.kept(mainCPU))
}

// charges gives each allocation and free to the innermost span of its thread
// with start <= time < end: an event at the moment at which one span ends and
// the next one starts belongs to the next. It returns the charges by position.
func (t *Trace) charges(n *nest, events *instants, mainCPU bool) []charge {
	out := make([]charge, len(n.spans))
	for thread := range t.Threads {
		s := sweep{n: n, out: out, mainCPU: mainCPU, top: none}
		next, end := n.first[thread], n.first[thread+1]
		for _, p := range events.of(ThreadID(thread)) {
			for ; next < end && n.spans[next].start <= p.time; next++ {
				s.enter(next)
			}
			for s.top >= 0 && n.spans[s.top].end <= p.time {
				s.leave()
			}
			if s.top >= 0 {
				out[s.top].add(&t.Memory[p.id], mainCPU)
			}
		}
		for ; next < end; next++ {
			s.enter(next)
		}
		for s.top >= 0 {
			s.leave()
		}
	}
	return out
}

// A sweep goes through the spans of a thread in time.
type sweep struct {
	n       *nest
	out     []charge
	mainCPU bool
	top     int32
}

func (s *sweep) enter(span int32) {
	for s.top != s.n.parent[span] {
		s.leave()
	}
	s.top = span
}

// leave hands what the span on top did to the one around it.
func (s *sweep) leave() {
	c := &s.out[s.top]
	s.top = s.n.parent[s.top]
	if s.top < 0 {
		return
	}
	p := &s.out[s.top]
	p.peak = max(p.peak, p.kept(s.mainCPU)+c.peak)
	p.cpu += c.cpu
	p.device += c.device
}
