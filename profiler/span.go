package profiler

import "math"

// Span returns the time of the first event and the end of the last, ns: zero
// for times that count from the start of the trace. Both are 0 in a trace
// without events.
func (t *Trace) Span() (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	see := func(start, end int64) { first, last = min(first, start), max(last, end) }
	for i := range t.Host {
		see(t.Host[i].Start, t.Host[i].End())
	}
	for i := range t.Frames {
		see(t.Frames[i].Start, t.Frames[i].Start+t.Frames[i].Dur)
	}
	for i := range t.Device {
		see(t.Device[i].Start, t.Device[i].End())
	}
	for i := range t.Memory {
		see(t.Memory[i].Time, t.Memory[i].Time)
	}
	if last < first {
		return 0, 0
	}
	return first, last
}

// AssumedBytes is the memory from before the trace that is never freed in it.
// No event tells what it is for: its categories are assumed.
func (c *Categories) AssumedBytes() int64 {
	var n int64
	for i := range c.Allocations {
		if a := &c.Allocations[i]; a.Older && a.End == AliveAtEnd {
			n = addBytes(n, a.Bytes)
		}
	}
	return n
}

// KeepMemory leaves out the memory events for which keep is false, for tables
// of one device. It must come before any table of the trace.
func (t *Trace) KeepMemory(keep func(*MemoryEvent) bool) {
	var kept []MemoryEvent
	for i := range t.Memory {
		if keep(&t.Memory[i]) {
			kept = append(kept, t.Memory[i])
		}
	}
	t.Memory = kept
	t.lazy.Store(nil)
}
