package profiler

import "slices"

// allocationsByDevice returns the allocations and frees of each device in the
// order in which they happened. OOM marks are left out. What it returns is shared.
func (t *Trace) allocationsByDevice() []deviceMemory { return t.derived().allocations() }

// memoryByDevice is allocationsByDevice with the OOM marks.
func (t *Trace) memoryByDevice() []deviceMemory {
	d := t.derived()
	d.allocations()
	return d.groups
}

// withoutFailures leaves the OOM marks out of groups.
func (t *Trace) withoutFailures(groups []deviceMemory) []deviceMemory {
	failed := func(e int32) bool { return t.Memory[e].OOM }
	out := slices.Clone(groups)
	for i := range out {
		if g := &out[i]; slices.ContainsFunc(g.events, failed) {
			g.events = slices.DeleteFunc(slices.Clone(g.events), failed)
			t.orderMemory(g.events)
		}
	}
	return out
}

// orderMemory puts events of the same time, common in files with whole µs, in
// the order in which Total Allocated steps by Bytes.
func (t *Trace) orderMemory(events []int32) {
	for start := 0; start < len(events); {
		end := start + 1
		for end < len(events) && t.Memory[events[end]].Time == t.Memory[events[start]].Time {
			end++
		}
		const most = 256 // a larger group has no times at all
		if n := end - start; n > 1 && n <= most && start > 0 {
			t.chain(events[start:end], t.Memory[events[start-1]].Allocated)
		}
		start = end
	}
}

// chain orders events of one time so that each total follows from the one before.
func (t *Trace) chain(group []int32, total int64) {
	if total == NoTotal {
		return
	}
	for k := range group {
		for j := k; j < len(group); j++ {
			if e := &t.Memory[group[j]]; e.Allocated-e.Bytes == total {
				next := group[j]
				copy(group[k+1:j+1], group[k:j])
				group[k] = next
				break
			}
		}
		total = t.Memory[group[k]].Allocated
	}
}

// mainMemory is the device whose memory is of interest: the accelerator with
// the most events, or the CPU when no accelerator has any; nil without events.
func mainMemory(groups []deviceMemory) *deviceMemory {
	var best *deviceMemory
	for i := range groups {
		g := &groups[i]
		if len(g.events) == 0 {
			continue
		}
		if best == nil || best.kind.onCPU() && !g.kind.onCPU() ||
			best.kind.onCPU() == g.kind.onCPU() && len(g.events) > len(best.events) {
			best = g
		}
	}
	return best
}

// runningTotals returns the allocated bytes after each event, and those before
// the first. Files before PyTorch 1.10 have no totals: the sum of the events
// stands for them, raised so that it is never negative.
func (t *Trace) runningTotals(events []int32) (baseline int64, totals []int64) {
	totals = make([]int64, len(events))
	if len(events) == 0 {
		return 0, totals
	}
	if first := &t.Memory[events[0]]; first.Allocated != NoTotal {
		for k, i := range events {
			totals[k] = t.Memory[i].Allocated
		}
		return first.Allocated - first.Bytes, totals
	}
	var sum, lowest int64
	for k, i := range events {
		sum += t.Memory[i].Bytes
		totals[k] = sum
		lowest = min(lowest, sum)
	}
	for k := range totals {
		totals[k] -= lowest
	}
	return -lowest, totals
}
