package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// KernelStats say how the devices spent their time. Spans of annotations on a
// device are not work and count nowhere.
type KernelStats struct {
	Devices  []DeviceStats // by device
	Unlinked int           // kernels whose launch the trace does not have
}

// DeviceStats are the times of one device, in ns. Times other than Time are
// unions: work that runs at once on two streams counts once.
type DeviceStats struct {
	Device     int32
	Start, End int64 // of the first and last work
	Count      int   // kernels, copies, fills and collectives
	Time       int64 // sum of durations
	Busy, Idle int64 // they add up to End − Start

	Compute       int64 // kernels that are no communication
	Communication int64
	Copy          int64 // copies and fills
	Overlap       int64 // communication while computing
	Exposed       int64 // communication while not computing

	CopyBytes int64
	Streams   []StreamStats // by stream
	Gaps      []Gap         // the longest, longest first
}

// StreamStats are the times of one stream of a device, in ns.
type StreamStats struct {
	Stream                       int32
	Count                        int
	Time, Busy                   int64
	Compute, Communication, Copy int64
}

// A Gap is a time in which a device had nothing to do.
type Gap struct {
	Start, Dur    int64 // ns
	Before, After int32 // indices into Trace.Device of the work around it

	// Host and Frame say what the thread that launched the work after the gap
	// did meanwhile: the host event with the most time of its own in the gap,
	// and the innermost Python frame in the middle of it. -1 is none.
	Host, Frame int32
	HostTime    int64 // ns of the gap in Host itself
}

// MaxGaps is how many gaps are kept per device.
const MaxGaps = 20

// workKind sorts device work for the breakdown of time.
type workKind uint8

const (
	workCompute workKind = iota
	workCommunication
	workCopy
	workKinds
)

// communicationNames are what the kernels of collective libraries hold in
// their names, in lower case.
var communicationNames = []string{"nccl", "rccl", "oneccl", "ccl_", "ccl::", "gloo", "hccl", "deep_ep"}

// isCommunication reports whether a kernel or operator of this name moves data
// between ranks.
func isCommunication(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(communicationNames, func(s string) bool { return strings.Contains(name, s) })
}

// workKindOf returns a function that tells the kind of device work.
func (t *Trace) workKindOf() func(*DeviceEvent) workKind {
	known := make(map[Name]workKind)
	return func(e *DeviceEvent) workKind {
		switch e.Kind {
		case Memcpy, Memset:
			return workCopy
		case Collective:
			return workCommunication
		}
		k, ok := known[e.Name]
		if !ok {
			if isCommunication(t.Names[e.Name]) {
				k = workCommunication
			}
			known[e.Name] = k
		}
		return k
	}
}

// launches maps the correlation id of a launch to its host event.
func (t *Trace) launches() map[int64]int32 {
	d := t.derived()
	d.onceLaunches.Do(func() {
		d.byLaunch = make(map[int64]int32)
		for i := range t.Host {
			if e := &t.Host[i]; e.Kind == Runtime && e.Correlation >= 0 {
				d.byLaunch[e.Correlation] = int32(i)
			}
		}
	})
	return d.byLaunch
}

// KernelStats computes the use of each device.
func (t *Trace) KernelStats() KernelStats {
	byDevice := make(map[int32][]int32)
	for i := range t.Device {
		if e := &t.Device[i]; e.Kind != DeviceAnnotation {
			byDevice[e.Device] = append(byDevice[e.Device], int32(i))
		}
	}
	var stats KernelStats
	if len(byDevice) == 0 {
		return stats
	}
	launches := t.launches()
	for i := range t.Device {
		e := &t.Device[i]
		if _, linked := launches[e.Correlation]; e.Kind == Kernel && !linked {
			stats.Unlinked++
		}
	}
	kind := t.workKindOf()
	host := t.derived()
	host.stacks()
	for device, work := range byDevice {
		d := t.deviceStats(work, kind)
		d.Device = device
		d.Gaps = t.gaps(work)
		for i := range d.Gaps {
			host.explainGap(&d.Gaps[i], launches)
		}
		stats.Devices = append(stats.Devices, d)
	}
	slices.SortFunc(stats.Devices, func(a, b DeviceStats) int { return cmp.Compare(a.Device, b.Device) })
	return stats
}

// tally collects the spans of a device or a stream.
type tally struct {
	count  int
	time   int64
	all    []interval
	byKind [workKinds][]interval
}

func (a *tally) add(e *DeviceEvent, k workKind) {
	span := interval{e.Start, e.End()}
	a.count++
	a.time += e.Dur
	a.all = append(a.all, span)
	a.byKind[k] = append(a.byKind[k], span)
}

func (t *Trace) deviceStats(work []int32, kind func(*DeviceEvent) workKind) DeviceStats {
	var whole tally
	streams := make(map[int32]*tally)
	first := &t.Device[work[0]]
	d := DeviceStats{Start: first.Start, End: first.End()}
	for _, i := range work {
		e := &t.Device[i]
		k := kind(e)
		whole.add(e, k)
		s := streams[e.Stream]
		if s == nil {
			s = new(tally)
			streams[e.Stream] = s
		}
		s.add(e, k)
		d.Start, d.End = min(d.Start, e.Start), max(d.End, e.End())
		if k == workCopy {
			d.CopyBytes += e.Bytes
		}
	}
	compute, comm := union(whole.byKind[workCompute]), union(whole.byKind[workCommunication])
	d.Count, d.Time = whole.count, whole.time
	d.Busy = union(whole.all).length()
	d.Idle = d.End - d.Start - d.Busy
	d.Compute, d.Communication, d.Copy = compute.length(), comm.length(), union(whole.byKind[workCopy]).length()
	d.Overlap = comm.overlap(compute)
	d.Exposed = d.Communication - d.Overlap
	for id, s := range streams {
		d.Streams = append(d.Streams, StreamStats{Stream: id, Count: s.count, Time: s.time, Busy: union(s.all).length(),
			Compute: union(s.byKind[workCompute]).length(), Communication: union(s.byKind[workCommunication]).length(),
			Copy: union(s.byKind[workCopy]).length()})
	}
	slices.SortFunc(d.Streams, func(a, b StreamStats) int { return cmp.Compare(a.Stream, b.Stream) })
	return d
}

// gaps finds the longest times without work. It sorts work by start.
func (t *Trace) gaps(work []int32) []Gap {
	slices.SortFunc(work, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.Device[a].Start, t.Device[b].Start), cmp.Compare(a, b))
	})
	var gaps []Gap
	longest := func(a, b Gap) int { return cmp.Or(cmp.Compare(b.Dur, a.Dur), cmp.Compare(a.Start, b.Start)) }
	last := work[0] // the work that ends last so far
	for _, i := range work[1:] {
		e := &t.Device[i]
		if end := t.Device[last].End(); e.Start > end {
			gaps = append(gaps, Gap{Start: end, Dur: e.Start - end, Before: last, After: i, Host: -1, Frame: -1})
			if len(gaps) >= 64*MaxGaps { // keep the list short on long traces
				slices.SortFunc(gaps, longest)
				gaps = gaps[:MaxGaps]
			}
		}
		if e.End() > t.Device[last].End() {
			last = i
		}
	}
	slices.SortFunc(gaps, longest)
	return gaps[:min(len(gaps), MaxGaps)]
}

// explainGap finds what the launching thread did during a gap.
func (d *derived) explainGap(g *Gap, launches map[int64]int32) {
	t := d.t
	launch, ok := launches[t.Device[g.After].Correlation]
	if !ok {
		return
	}
	thread := t.Host[launch].Thread
	window := interval{g.Start, g.Start + g.Dur}
	own := make(map[int32]int64)
	account := func(at int32) {
		i := d.all.spans[at].id
		e := &t.Host[i]
		part := min(e.End(), window.end) - max(e.Start, window.start)
		if part <= 0 {
			return
		}
		own[i] += part
		if p := d.all.parent[at]; p >= 0 {
			own[d.all.spans[p].id] -= part
		}
	}
	for at := d.all.innermost(thread, window.start); at >= 0; at = d.all.parent[at] {
		account(at)
	}
	for at := d.all.after(thread, window.start); at < d.all.first[thread+1] && d.all.spans[at].start < window.end; at++ {
		account(at)
	}
	for i, n := range own {
		if n > g.HostTime || n == g.HostTime && n > 0 && i < g.Host {
			g.Host, g.HostTime = i, n
		}
	}
	if at := d.index.frames.innermost(thread, g.Start+g.Dur/2); at >= 0 {
		g.Frame = d.index.frames.spans[at].id
	}
}

// A KernelRow sums the device work of one name. Times are ns.
type KernelRow struct {
	Name           string
	Kind           DeviceKind
	Communication  bool
	Device, Stream int32 // AllStreams unless asked by stream
	Count          int
	Time, Min, Max int64
	Bytes          int64 // moved, of copies and fills
}

// AllStreams stands for any device or stream in a KernelRow.
const AllStreams = -1

// Kernels sums device work by name, and by device and stream when asked; the
// longest in all come first.
func (t *Trace) Kernels(byStream bool) []KernelRow {
	type key struct {
		name           Name
		kind           DeviceKind
		device, stream int32
	}
	kind := t.workKindOf()
	index := make(map[key]int)
	var rows []KernelRow
	for i := range t.Device {
		e := &t.Device[i]
		if e.Kind == DeviceAnnotation {
			continue
		}
		k := key{e.Name, e.Kind, AllStreams, AllStreams}
		if byStream {
			k.device, k.stream = e.Device, e.Stream
		}
		at, known := index[k]
		if !known {
			at = len(rows)
			index[k] = at
			rows = append(rows, KernelRow{Name: t.Names[e.Name], Kind: e.Kind, Communication: kind(e) == workCommunication,
				Device: k.device, Stream: k.stream, Min: e.Dur})
		}
		r := &rows[at]
		r.Count++
		r.Time += e.Dur
		r.Min, r.Max = min(r.Min, e.Dur), max(r.Max, e.Dur)
		if e.Kind != Kernel {
			r.Bytes += e.Bytes
		}
	}
	slices.SortStableFunc(rows, func(a, b KernelRow) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Name, b.Name),
			cmp.Compare(a.Device, b.Device), cmp.Compare(a.Stream, b.Stream))
	})
	return rows
}

// kernelTable is the Table of ByKernel.
func (t *Trace) kernelTable(TableOptions) Table {
	table := Table{By: ByKernel}
	var copies int64
	for _, k := range t.Kernels(false) {
		r := Row{Name: k.Name, Count: k.Count, SelfDevice: k.Time, DeviceTime: k.Time}
		if k.Kind.isKernel() {
			r.Kernels = k.Count
		}
		copies += k.Bytes
		table.Rows = append(table.Rows, r)
	}
	if len(table.Rows) == 0 {
		table.Notes = append(table.Notes, "the trace has no device activity: add ProfilerActivity.CUDA (or XPU) to the activities")
	}
	if copies > 0 {
		table.Notes = append(table.Notes, fmt.Sprintf("copies and fills moved %s", units.Bytes(copies)))
	}
	return table
}
