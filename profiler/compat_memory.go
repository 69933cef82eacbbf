package profiler

import (
	"cmp"
	"slices"
)

// memorySums answers how many bytes were allocated, net, between two times: the
// MemRecordsAcc of profiler_util.py. Sums may wrap in a damaged file, and so do
// their differences, back to the right number.
type memorySums struct {
	events      []int32 // indexes of Trace.Memory by time, without failures
	times       []int64
	cpu, device []int64 // sums of the bytes before each event
}

func newMemorySums(t *Trace) memorySums {
	var m memorySums
	for i := range t.Memory {
		if !t.Memory[i].OOM {
			m.events = append(m.events, int32(i))
		}
	}
	t.sortMemory(m.events)
	m.times = make([]int64, len(m.events))
	m.cpu, m.device = make([]int64, len(m.events)+1), make([]int64, len(m.events)+1)
	for n, i := range m.events {
		e := &t.Memory[i]
		m.times[n] = e.Time
		cpu, device := e.byPlace()
		m.cpu[n+1], m.device[n+1] = m.cpu[n]+cpu, m.device[n]+device
	}
	return m
}

// byPlace splits the bytes of an event by where torch counts them.
func (e *MemoryEvent) byPlace() (cpu, device int64) {
	switch {
	case e.Type.onCPU():
		return e.Bytes, 0
	case e.Type.onDevice():
		return 0, e.Bytes
	}
	return 0, 0
}

// past returns the first event from the given one on that lies after a time. Most
// windows are short, so it looks near the start before it halves.
func (m *memorySums) past(from int, time int64) int {
	step := 1
	low := from
	for low+step <= len(m.times) && m.times[low+step-1] <= time {
		low += step
		step *= 2
	}
	high := min(low+step, len(m.times))
	n, _ := slices.BinarySearchFunc(m.times[low:high], time, func(at, time int64) int {
		if at <= time {
			return -1
		}
		return 1
	})
	return low + n
}

// chargeMemory gives every event of the host the memory events between its start
// and end, of any thread: that is how torch does it, and why its rows count work
// of the backward thread to whatever waits on the main one.
func (c *compat) chargeMemory() {
	m := &c.memory
	inside := make([]int32, len(m.times)+1) // steps of the number of events that a memory event lies in
	low, last := 0, ThreadID(0)
	for _, k := range c.order {
		e := &c.events[k.event]
		if e.thread != last {
			low, last = 0, e.thread
		}
		low = m.past(low, e.start-1)
		if high := m.past(low, e.end); high > low {
			e.cpuMemory, e.deviceMemory = m.cpu[high]-m.cpu[low], m.device[high]-m.device[low]
			inside[low]++
			inside[high]--
		}
	}
	c.addOrphans(inside)
}

// addOrphans makes events of the memory events that lie in no other event, and
// of failures wherever they lie, as _parse_kineto_results does.
func (c *compat) addOrphans(inside []int32) {
	first := len(c.events)
	depth := int32(0)
	for n, i := range c.memory.events {
		if depth += inside[n]; depth == 0 {
			c.addOrphan(i)
		}
	}
	for i := range c.t.Memory {
		if c.t.Memory[i].OOM {
			c.addOrphan(int32(i))
		}
	}
	c.mergeOrphans(first)
}

func (c *compat) addOrphan(i int32) {
	m := &c.t.Memory[i]
	e := compatEvent{start: m.Time, end: m.Time, source: i, parent: none, thread: m.Thread, kind: compatMemory}
	e.cpuMemory, e.deviceMemory = m.byPlace()
	c.events = append(c.events, e)
}

// mergeOrphans puts the events from first on in their places in the order.
func (c *compat) mergeOrphans(first int) {
	if first == len(c.events) {
		return
	}
	byThread := func(a, b orderKey) int {
		return cmp.Or(cmp.Compare(c.events[a.event].thread, c.events[b.event].thread), a.before(b))
	}
	var orphans []orderKey
	for i := first; i < len(c.events); i++ {
		orphans = append(orphans, c.key(int32(i)))
	}
	slices.SortFunc(orphans, byThread)
	merged := make([]orderKey, 0, len(c.order)+len(orphans))
	for _, k := range c.order {
		for len(orphans) > 0 && byThread(orphans[0], k) < 0 {
			merged = append(merged, orphans[0])
			orphans = orphans[1:]
		}
		merged = append(merged, k)
	}
	c.order = append(merged, orphans...)
}

// unattributed sums what was allocated and freed outside of every event, on the
// device, or on the CPU where no device has memory.
func (c *compat) unattributed() (allocated, freed int64) {
	onDevice := slices.ContainsFunc(c.t.Memory, func(e MemoryEvent) bool { return e.Type.onDevice() })
	for i := range c.events {
		e := &c.events[i]
		if e.kind != compatMemory || c.t.Memory[e.source].OOM {
			continue
		}
		bytes := e.cpuMemory
		if onDevice {
			bytes = e.deviceMemory
		}
		if bytes > 0 {
			allocated = addBytes(allocated, bytes)
		} else {
			freed = subBytes(freed, bytes)
		}
	}
	return allocated, freed
}
