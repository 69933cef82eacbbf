package profiler

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// deviceTypes names c10::DeviceType by its numbers, from c10/core/DeviceType.h.
var deviceTypes = [...]string{"cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan",
	"metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuse1"}

// String returns the name torch gives the type, such as "cuda"; the number of
// one that has no name here.
func (d DeviceType) String() string {
	if d >= 0 && int(d) < len(deviceTypes) {
		return deviceTypes[d]
	}
	return strconv.Itoa(int(d))
}

// onCPU reports whether memory of this type counts as CPU memory, as
// MemRecordsAcc in torch/autograd/profiler_util.py has it.
func (d DeviceType) onCPU() bool { return d == 0 || d == 2 || d == 5 }

// onDevice reports whether memory of this type counts as device memory there:
// CUDA, HIP, XPU and PrivateUse1.
func (d DeviceType) onDevice() bool { return d == 1 || d == 6 || d == 12 || d == 20 }

// A Ledger is the memory of one device over the trace, in bytes, from its
// memory events in order of time.
type Ledger struct {
	Type   DeviceType
	Device int // as in the file; -1 for the CPU

	Baseline     int64 // allocated before the first event; 0, and unknown, without totals
	Peak         int64 // highest Total Allocated, or the baseline if that is higher
	PeakTime     int64 // ns, of the first event that reaches the peak; of the first event when it is the baseline
	ReservedPeak int64 // highest Total Reserved; 0 without totals
	End          int64 // Total Allocated after the last event

	Allocated, Freed int64 // sums over the window, both positive
	Events           int   // allocations and frees
	OOMs             int   // [OutOfMemory] marks

	// HasTotals tells that the file gives Total Allocated. PyTorch before 1.10
	// does not write it; peak and end are then relative to an unknown baseline.
	HasTotals bool

	// Unreconciled is by how much the steps of Total Allocated differ from the
	// bytes of the events, summed; 0 for a sound trace.
	Unreconciled int64
}

// Ledgers returns the memory of every device with memory events, by type and
// device.
func (t *Trace) Ledgers() []Ledger {
	groups := t.memoryByDevice()
	ledgers := make([]Ledger, len(groups))
	for i := range groups {
		ledgers[i] = groups[i].ledger(t)
	}
	return ledgers
}

// A deviceMemory lists the memory events of one device by time.
type deviceMemory struct {
	kind   DeviceType
	device int
	events []int32 // indexes of Trace.Memory
}

// groupMemory groups the memory events, and again without OOM marks. Files are not in order of time:
// each thread has a list of its own. Events of one time stay in file order
// unless their totals tell another.
func (t *Trace) groupMemory() (all, allocations []deviceMemory) {
	type key struct {
		kind   DeviceType
		device int
	}
	index := make(map[key]int)
	var groups []deviceMemory
	for i := range t.Memory {
		e := &t.Memory[i]
		k := key{e.Type, int(e.Device)}
		if e.Type.onCPU() {
			k.device = -1
		}
		g, ok := index[k]
		if !ok {
			g = len(groups)
			index[k] = g
			groups = append(groups, deviceMemory{kind: k.kind, device: k.device})
		}
		groups[g].events = append(groups[g].events, int32(i))
	}
	for _, g := range groups {
		t.sortMemory(g.events)
		t.orderMemory(g.events)
	}
	slices.SortFunc(groups, func(a, b deviceMemory) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.device, b.device))
	})
	return groups, t.withoutFailures(groups)
}

// sortMemory sorts indexes of Memory, which ascend, by time.
func (t *Trace) sortMemory(events []int32) {
	slices.SortFunc(events, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.Memory[a].Time, t.Memory[b].Time), cmp.Compare(a, b))
	})
}

// baseline is what was allocated before the first event: the first total less
// what came up to it.
func (g *deviceMemory) baseline(t *Trace) (bytes int64, known bool) {
	var net int64
	for _, i := range g.events {
		e := &t.Memory[i]
		if !e.OOM {
			net = addBytes(net, e.Bytes)
		}
		if e.Allocated != NoTotal {
			return subBytes(e.Allocated, net), true
		}
	}
	return 0, false
}

// walk calls f after every allocation, free and failure, with the allocated
// and reserved bytes of that moment. Where a total is missing the bytes of the
// event continue the last one.
func (g *deviceMemory) walk(t *Trace, f func(e *MemoryEvent, before, allocated, reserved int64)) {
	allocated, _ := g.baseline(t)
	var reserved int64
	for _, i := range g.events {
		e := &t.Memory[i]
		before := allocated
		switch {
		case e.Allocated != NoTotal:
			allocated = e.Allocated
		case !e.OOM:
			allocated = addBytes(allocated, e.Bytes)
		}
		if e.Reserved != NoTotal {
			reserved = e.Reserved
		}
		f(e, before, allocated, reserved)
	}
}

func (g *deviceMemory) ledger(t *Trace) Ledger {
	l := Ledger{Type: g.kind, Device: g.device, PeakTime: t.Memory[g.events[0]].Time}
	l.Baseline, l.HasTotals = g.baseline(t)
	l.Peak, l.End = l.Baseline, l.Baseline
	g.walk(t, func(e *MemoryEvent, before, allocated, reserved int64) {
		step := e.Bytes
		switch {
		case e.OOM:
			l.OOMs++
			step = 0 // what failed is not there
		case e.Bytes > 0:
			l.Allocated = addBytes(l.Allocated, e.Bytes)
			l.Events++
		default:
			l.Freed = subBytes(l.Freed, e.Bytes)
			l.Events++
		}
		if allocated > l.Peak {
			l.Peak, l.PeakTime = allocated, e.Time
		}
		l.ReservedPeak = max(l.ReservedPeak, reserved)
		l.End = allocated
		l.Unreconciled = addBytes(l.Unreconciled, distance(subBytes(allocated, before), step))
	})
	return l
}

// A MemoryPoint is the memory of a device after an event.
type MemoryPoint struct {
	Time                int64 // ns
	Allocated, Reserved int64 // bytes; without totals Allocated starts at 0 and Reserved stays there
}

// Curve is the memory of the ledger's device over time, reduced to about
// maxPoints points, 0 for all. The first and last point and both peaks are
// kept, and the lowest and highest point of every stretch between.
func (t *Trace) Curve(l Ledger, maxPoints int) []MemoryPoint {
	groups := t.memoryByDevice()
	i, found := slices.BinarySearchFunc(groups, l, func(g deviceMemory, l Ledger) int {
		return cmp.Or(cmp.Compare(g.kind, l.Type), cmp.Compare(g.device, l.Device))
	})
	if !found {
		return nil
	}
	return reduceCurve(groups[i].points(t), maxPoints)
}

func (g *deviceMemory) points(t *Trace) []MemoryPoint {
	points := make([]MemoryPoint, 0, len(g.events)+1)
	g.walk(t, func(e *MemoryEvent, before, allocated, reserved int64) {
		if len(points) == 0 {
			points = append(points, MemoryPoint{e.Time, before, reserved})
		}
		points = append(points, MemoryPoint{e.Time, allocated, reserved})
	})
	return points
}

// reduceCurve keeps of every bucket of points the extremes of both curves, in order.
func reduceCurve(points []MemoryPoint, most int) []MemoryPoint {
	const perBucket = 4
	if most <= 0 || len(points) <= most {
		return points
	}
	buckets := max(1, (most-2)/perBucket)
	kept := []MemoryPoint{points[0]}
	inner := points[1 : len(points)-1]
	for b := range buckets {
		from, to := len(inner)*b/buckets, len(inner)*(b+1)/buckets
		kept = appendExtremes(kept, inner[from:to])
	}
	return append(kept, points[len(points)-1])
}

func appendExtremes(kept, bucket []MemoryPoint) []MemoryPoint {
	if len(bucket) == 0 {
		return kept
	}
	var at [4]int
	for i, p := range bucket {
		if p.Allocated < bucket[at[0]].Allocated {
			at[0] = i
		}
		if p.Allocated > bucket[at[1]].Allocated {
			at[1] = i
		}
		if p.Reserved < bucket[at[2]].Reserved {
			at[2] = i
		}
		if p.Reserved > bucket[at[3]].Reserved {
			at[3] = i
		}
	}
	slices.Sort(at[:])
	for i, n := range at {
		if i == 0 || n != at[i-1] {
			kept = append(kept, bucket[n])
		}
	}
	return kept
}

// KernelTotals counts the kernels of all devices and sums their time in ns.
// Copies, fills and spans of annotations are none.
func (t *Trace) KernelTotals() (count int, time int64) {
	for i := range t.Device {
		if d := &t.Device[i]; d.Kind.isKernel() {
			count++
			time = addBytes(time, d.Dur)
		}
	}
	return count, time
}

// addBytes adds and stays at the end of the range, which only a damaged file
// reaches: a peak must not turn negative.
func addBytes(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// subBytes is addBytes of the negative.
func subBytes(a, b int64) int64 {
	if b == math.MinInt64 {
		return addBytes(addBytes(a, math.MaxInt64), 1)
	}
	return addBytes(a, -b)
}

// distance is |a-b|.
func distance(a, b int64) int64 { return subBytes(max(a, b), min(a, b)) }
