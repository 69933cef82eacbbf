package profiler

// nest finds the parent of every event of the host, as _populate_cpu_children of
// EventList does: an event that outlasts the one it began in ends that one for
// good, and one that begins as another ends is not within it.
func (c *compat) nest() {
	var open []int32
	last := ThreadID(0)
	for _, k := range c.order {
		e := &c.events[k.event]
		if e.thread != last {
			open, last = open[:0], e.thread
		}
		for len(open) > 0 {
			top := &c.events[open[len(open)-1]]
			if e.start < top.end && e.end <= top.end {
				e.parent = open[len(open)-1]
				top.children++
				break
			}
			open = open[:len(open)-1]
		}
		open = append(open, k.event)
	}
}

// fold merges an event into its parent when that has the same name and no other
// child (_remove_dup_nodes). The parent keeps its numbers but takes over the
// kernels and children of the one that goes. Torch repeats its pass until
// nothing changes; parents come before children here, so one pass does.
func (c *compat) fold() {
	for _, k := range c.order {
		e := &c.events[k.event]
		if e.parent == none {
			continue
		}
		if c.events[e.parent].folded {
			e.parent = c.events[e.parent].parent
		}
		if e.parent == none {
			continue
		}
		p := &c.events[e.parent]
		if p.children != 1 || e.kind == compatMemory || p.kind == compatMemory || p.name != e.name {
			continue
		}
		e.folded = true
		p.children = e.children
		p.kernels, p.deviceTime = e.kernels, e.deviceTime
	}
}

// sumDeviceTime adds the device time of every event to that of its parent.
func (c *compat) sumDeviceTime() {
	for i := len(c.order) - 1; i >= 0; i-- {
		e := &c.events[c.order[i].event]
		if e.folded || e.parent == none {
			continue
		}
		p := &c.events[e.parent]
		p.deviceTime = addBytes(p.deviceTime, e.deviceTime)
	}
}
