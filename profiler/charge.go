package profiler

import (
	"cmp"
	"math"
	"slices"
)

// A charge is the memory of one span.
type charge struct {
	selfCPU, selfDevice int64 // net bytes of its own
	cpu, device         int64 // net bytes, with the spans inside of it
	allocated, freed    int64 // gross bytes of its own, of the memory that tables are about
	elsewhere           int64 // bytes of that memory that it, or what is inside of it, allocated and that another thread freed meanwhile
	peak                int64 // highest net of that memory while it ran, with the spans inside of it; at least 0
	allocs, frees       int32
}

// kept is the net memory still there after the span, in the memory that tables are about.
func (c *charge) kept(onCPU bool) int64 {
	if onCPU {
		return c.cpu - c.elsewhere
	}
	return c.device - c.elsewhere
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
// the next one starts belongs to the next. What another thread frees of it
// counts for its peak and for what it keeps. It returns the charges by position.
func (d *derived) charges(n *nest, mainCPU bool) []charge {
	out := make([]charge, len(n.spans))
	for thread := range d.t.Threads {
		s := sweep{n: n, out: out, mainCPU: mainCPU, top: none, next: n.first[thread], end: n.first[thread+1]}
		gone := d.goneOf(mainCPU, ThreadID(thread))
		for _, p := range d.memory.of(ThreadID(thread)) {
			for ; len(gone) > 0 && gone[0].time < p.time; gone = gone[1:] {
				s.lose(&gone[0])
			}
			s.until(p.time)
			if s.top >= 0 {
				out[s.top].add(&d.t.Memory[p.id], mainCPU)
			}
		}
		for i := range gone {
			s.lose(&gone[i])
		}
		s.until(math.MaxInt64)
	}
	return out
}

// A sweep goes through the spans of a thread in time.
type sweep struct {
	n       *nest
	out     []charge
	mainCPU bool

	top, next, end int32
	open           []int32 // the chain down to top
}

// until goes on to a time.
func (s *sweep) until(time int64) {
	for ; s.next < s.end && s.n.spans[s.next].start <= time; s.next++ {
		s.enter(s.next)
	}
	for s.top >= 0 && s.n.spans[s.top].end <= time {
		s.leave()
	}
}

// lose takes memory that another thread freed from the innermost open span that
// ran when it was allocated, and so from those around it. The peaks up to here
// are handed outwards first: they were reached before.
func (s *sweep) lose(g *gone) {
	s.until(g.time)
	at, _ := slices.BinarySearchFunc(s.open, g.allocated, func(span int32, time int64) int {
		if s.n.spans[span].start <= time {
			return -1
		}
		return 1
	})
	if at == 0 {
		return
	}
	for k := len(s.open) - 1; k >= at; k-- {
		s.raise(s.open[k-1], s.open[k])
	}
	s.out[s.open[at-1]].elsewhere += g.bytes
}

// raise hands the peak of a span to the one around it.
func (s *sweep) raise(outer, inner int32) {
	p := &s.out[outer]
	p.peak = max(p.peak, p.kept(s.mainCPU)+s.out[inner].peak)
}

func (s *sweep) enter(span int32) {
	for s.top != s.n.parent[span] {
		s.leave()
	}
	s.top = span
	s.open = append(s.open, span)
}

// leave hands what the span on top did to the one around it.
func (s *sweep) leave() {
	c, inner := &s.out[s.top], s.top
	s.top = s.n.parent[s.top]
	s.open = s.open[:len(s.open)-1]
	if s.top < 0 {
		return
	}
	s.raise(s.top, inner)
	p := &s.out[s.top]
	p.cpu += c.cpu
	p.device += c.device
	p.elsewhere += c.elsewhere
}

// gone is memory that was freed on another thread than it was allocated on.
type gone struct {
	time, allocated int64 // ns
	bytes           int64
}

// goneOf returns what a thread allocated and another one freed, in order of time.
func (d *derived) goneOf(mainCPU bool, thread ThreadID) []gone {
	d.onceGone.Do(func() {
		for i := range d.gone {
			d.gone[i] = make([][]gone, len(d.t.Threads))
		}
		for _, g := range d.allocations() {
			d.pairThreads(&g)
		}
		for _, byThread := range d.gone {
			for _, list := range byThread {
				slices.SortStableFunc(list, func(a, b gone) int { return cmp.Compare(a.time, b.time) })
			}
		}
	})
	if mainCPU {
		return d.gone[1][thread]
	}
	return d.gone[0][thread]
}

// pairThreads finds what of one device was freed elsewhere. Memory at whose
// address other memory is allocated was freed by an event that the file lacks.
func (d *derived) pairThreads(g *deviceMemory) {
	kind := 0
	if g.kind.onCPU() {
		kind = 1
	}
	live := make(map[uint64]int32)
	for _, i := range g.events {
		e := &d.t.Memory[i]
		if e.Addr == 0 || e.Bytes == 0 {
			continue
		}
		old, known := live[e.Addr]
		if known {
			if a := &d.t.Memory[old]; e.Bytes > 0 || a.Thread != e.Thread {
				d.gone[kind][a.Thread] = append(d.gone[kind][a.Thread], gone{e.Time, a.Time, a.Bytes})
			}
			delete(live, e.Addr)
		}
		if e.Bytes > 0 {
			live[e.Addr] = i
		}
	}
}
