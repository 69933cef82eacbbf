package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Category is what memory is for.
type Category uint8

// The categories are those of PyTorch's own profiler and three more: buffers of
// modules, scratch of cuBLAS and cuDNN, and buffers of collectives.
const (
	CategoryUnknown Category = iota
	CategoryParameter
	CategoryBuffer
	CategoryGradient
	CategoryOptimizerState
	CategoryInput
	CategoryActivation
	CategoryTemporary
	CategoryAutogradDetail
	CategoryWorkspace
	CategoryCommunication
	NumCategories = iota
)

var categoryNames = [NumCategories]string{"unknown", "parameter", "buffer", "gradient", "optimizer_state", "input",
	"activation", "temporary", "autograd_detail", "workspace", "communication"}

func (c Category) String() string {
	if int(c) < len(categoryNames) {
		return categoryNames[c]
	}
	return fmt.Sprintf("category %d", uint8(c))
}

// Categories tell what the memory of one device is for, from a trace alone.
type Categories struct {
	Type        DeviceType
	Device      int
	Baseline    int64        // bytes from before the trace
	Allocations []Allocation // those of the trace in order of time, then those older

	// Peak is the first moment with the most allocated, exact to the byte in
	// all; Confidence is the mean of its allocations, weighted by bytes.
	Peak       CategoryPoint
	Confidence float64

	baseTime int64
	unpaired int
}

// Categorize labels the memory of the accelerator with the most events, or of
// the CPU when there is none. The zero value stands for a trace without memory.
func (t *Trace) Categorize() Categories {
	if main := mainMemory(t.allocationsByDevice()); main != nil {
		return t.categorize(main)
	}
	return Categories{}
}

// CategorizeDevice labels the memory of one device.
func (t *Trace) CategorizeDevice(kind DeviceType, device int) Categories {
	for _, g := range t.allocationsByDevice() {
		if g.kind == kind && g.device == device && len(g.events) > 0 {
			return t.categorize(&g)
		}
	}
	return Categories{Type: kind, Device: device}
}

func (t *Trace) categorize(g *deviceMemory) Categories {
	phases := t.phases()
	p := t.pair(g.events, phases)
	baseline, _ := t.runningTotals(g.events)
	c := Categories{Type: g.kind, Device: g.device, Baseline: baseline, Allocations: p.out, baseTime: t.Meta.BaseTime, unpaired: p.lost}
	label := t.newLabeller(p)
	for i := range c.Allocations {
		label.label(&c.Allocations[i])
	}
	c.Allocations = append(c.Allocations, t.olderMemory(&c, phases)...)
	slices.SortStableFunc(c.Allocations, func(a, b Allocation) int {
		if a.Older != b.Older {
			if a.Older {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Time, b.Time)
	})
	c.findPeak()
	return c
}

// change is a step of the memory of one category.
type change struct {
	time  int64
	bytes int64
	index int32
}

// walk calls f after every change, in order of time; frees go before
// allocations of the same time, as the allocator must have had them.
func (c *Categories) walk(f func(p *CategoryPoint)) {
	changes := make([]change, 0, 2*len(c.Allocations))
	var now CategoryPoint
	for i := range c.Allocations {
		a := &c.Allocations[i]
		if a.Older {
			now.Bytes[a.Category] += a.Bytes
			now.Time = a.Time
		} else {
			changes = append(changes, change{a.Time, a.Bytes, int32(i)})
		}
		if a.End != AliveAtEnd {
			changes = append(changes, change{a.End, -a.Bytes, int32(i)})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.bytes, b.bytes))
	})
	if len(changes) > 0 && now.Time == 0 {
		now.Time = changes[0].time
	}
	f(&now)
	for _, ch := range changes {
		now.Time = ch.time
		now.Bytes[c.Allocations[ch.index].Category] += ch.bytes
		f(&now)
	}
}

func (c *Categories) findPeak() {
	most := int64(-1)
	c.walk(func(p *CategoryPoint) {
		if n := p.Total(); n > most {
			most, c.Peak = n, *p
		}
	})
	var bytes, sure float64
	for i := range c.Allocations {
		if a := &c.Allocations[i]; a.liveAt(c.Peak.Time) {
			bytes += float64(a.Bytes)
			sure += a.Confidence * float64(a.Bytes)
		}
	}
	if bytes > 0 {
		c.Confidence = sure / bytes
	}
}

// liveAt reports whether memory is there after all events of a time.
func (a *Allocation) liveAt(time int64) bool { return (a.Older || a.Time <= time) && a.End > time }

// At returns the memory of each category after all events of a time.
func (c *Categories) At(time int64) CategoryPoint {
	p := CategoryPoint{Time: time}
	for i := range c.Allocations {
		if a := &c.Allocations[i]; a.liveAt(time) {
			p.Bytes[a.Category] += a.Bytes
		}
	}
	return p
}

// Curve is the memory of each category over time, reduced to about maxPoints
// points, 0 for all. The first and last point, the peak, and the lowest and
// highest total of every stretch are kept.
func (c *Categories) Curve(maxPoints int) []CategoryPoint {
	var points []CategoryPoint
	c.walk(func(p *CategoryPoint) { points = append(points, *p) })
	return reduceCategories(points, maxPoints)
}

// Curve is Points, reduced as Categories.Curve does it.
func (tl *MemoryTimeline) Curve(maxPoints int) []CategoryPoint {
	return reduceCategories(tl.Points, maxPoints)
}

func reduceCategories(points []CategoryPoint, most int) []CategoryPoint {
	if most <= 0 || len(points) <= most {
		return points
	}
	buckets := max(1, (most-2)/2)
	inner := points[1 : len(points)-1]
	out := []CategoryPoint{points[0]}
	for b := range buckets {
		part := inner[len(inner)*b/buckets : len(inner)*(b+1)/buckets]
		if len(part) == 0 {
			continue
		}
		low, high := 0, 0
		for i := range part {
			if part[i].Total() < part[low].Total() {
				low = i
			}
			if part[i].Total() > part[high].Total() {
				high = i
			}
		}
		out = append(out, part[min(low, high)])
		if low != high {
			out = append(out, part[max(low, high)])
		}
	}
	return append(out, points[len(points)-1])
}

// categoryTable is the Table of ByCategory: what was allocated of each
// category, how much of it was there at the peak (Peak) and is at the end (Kept).
func (t *Trace) categoryTable(TableOptions) Table {
	table := Table{By: ByCategory}
	c := t.Categorize()
	if len(c.Allocations) == 0 {
		table.Notes = append(table.Notes, "the trace has no memory events: record it with profile_memory=True")
		return table
	}
	var rows [NumCategories]Row
	for i := range c.Allocations {
		a := &c.Allocations[i]
		r := &rows[a.Category]
		if !a.Older {
			r.Count++
			r.Allocs++
			r.Allocated += a.Bytes
		}
		if a.End == AliveAtEnd {
			r.Kept += a.Bytes
		} else {
			r.Frees++
			r.Freed += a.Bytes
		}
	}
	for k := range rows {
		r := &rows[k]
		r.Name = Category(k).String()
		r.Peak = c.Peak.Bytes[k]
		net := r.Allocated - r.Freed
		if c.Type.onCPU() {
			r.SelfCPUMemory, r.CPUMemory = net, net
		} else {
			r.SelfDeviceMemory, r.DeviceMemory = net, net
		}
		if r.Allocs+r.Frees > 0 || r.Kept > 0 {
			table.Rows = append(table.Rows, *r)
		}
	}
	slices.SortStableFunc(table.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(b.Allocated, a.Allocated), strings.Compare(a.Name, b.Name))
	})
	table.Notes = append(table.Notes, fmt.Sprintf("temporary is exact, other categories are inferred: %.0f %% sure of the bytes at the peak", 100*c.Confidence))
	if c.unpaired > 0 {
		table.Notes = append(table.Notes, fmt.Sprintf("%d frees are missing: memory was allocated where other memory still was", c.unpaired))
	}
	return table
}

// An Agreement compares categories with what PyTorch's memory timeline says, in
// bytes at the peak of the timeline.
type Agreement struct {
	Time         int64 // ns since the epoch
	Ours, Theirs [NumCategories]int64

	// Same is what both put into the same category, counted by category: the
	// sum of the lesser of both. SameNamed leaves unknown out of it, and Named
	// is what the timeline gives a name other than unknown.
	Same, Total      int64
	SameNamed, Named int64
}

// Share is the part of all bytes that both put into the same category, 0–1.
func (a Agreement) Share() float64 { return ratio(a.Same, a.Total) }

// NamedShare is the part of the bytes that the timeline names for which the
// name is the same, 0–1.
func (a Agreement) NamedShare() float64 { return ratio(a.SameNamed, a.Named) }

func ratio(part, whole int64) float64 {
	if whole <= 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// CompareTimeline compares by category, at the peak of the timeline. PyTorch has
// no word for workspace, communication and buffer; memory of these is never the
// same. The timeline must be of the same run and device.
func CompareTimeline(c Categories, tl *MemoryTimeline) Agreement {
	var a Agreement
	if len(tl.Points) == 0 {
		return a
	}
	theirs := tl.Points[tl.Peak]
	a.Time = theirs.Time
	a.Theirs = theirs.Bytes
	at := theirs.Time
	if c.baseTime > 0 {
		at -= c.baseTime
	}
	if !tl.Raw {
		at += 999 // whole µs, cut off
	}
	a.Ours = c.At(at).Bytes
	var ours, total int64
	for k := range a.Ours {
		same := max(0, min(a.Ours[k], a.Theirs[k]))
		a.Same += same
		ours += a.Ours[k]
		total += a.Theirs[k]
		if Category(k) != CategoryUnknown {
			a.SameNamed += same
			a.Named += a.Theirs[k]
		}
	}
	a.Total = max(ours, total)
	return a
}
