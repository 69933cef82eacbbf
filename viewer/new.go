package viewer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// Options choose what a report holds.
type Options struct {
	Version string // of snapview, for the footer

	// Keep says which devices to show; nil shows all. Index is
	// snapshot.Device.Index.
	Keep func(index int) bool

	// Timeline returns the replayed history of a device. It lets a caller
	// that has replayed already share the result; nil replays here.
	Timeline func(*snapshot.Device) *snapshot.Timeline

	// Classify returns what the memory of a timeline is for, for the same
	// reason; nil classifies here.
	Classify func(*snapshot.Timeline) *attribution.Classification
}

// NewSnapshot gathers the results a report shows: it calls the analysis of
// package snapshot for each device and adds a verdict in words.
func NewSnapshot(s *snapshot.Snapshot, o Options) Snapshot {
	if o.Timeline == nil {
		o.Timeline = s.Timeline
	}
	if o.Classify == nil {
		o.Classify = func(t *snapshot.Timeline) *attribution.Classification { return attribution.Classify(s, t) }
	}
	out := Snapshot{
		Name: s.Source.Name, Bytes: s.Source.Bytes, Version: o.Version,
		Format:      strings.Join(append([]string{s.Source.Format}, s.Source.Compression...), ", "),
		Warnings:    s.Warnings,
		HasSettings: s.Settings.Present, Conf: s.Settings.Conf,
		Stacks: newStacks(s),
	}
	if s.Partial != nil {
		out.Partial = s.Partial.Error()
	}
	for _, kv := range s.Settings.All {
		out.Settings = append(out.Settings, Setting(kv))
	}
	devices := s.Devices
	if s.Host != nil {
		devices = append(devices[:len(devices):len(devices)], s.Host)
	}
	var shown []*snapshot.Device
	for _, d := range devices {
		if o.Keep == nil || d != s.Host && o.Keep(d.Index) {
			shown = append(shown, d)
		}
	}
	ranges := pairAnnotations(s.Annotations)
	drawn := 0 // devices in use: what is behind the last one drawn in full is only listed
	for _, d := range shown {
		view := newDevice(s, d, ranges, len(shown), drawn < maxDevices, o)
		if !view.Idle() {
			drawn++
		}
		out.Devices = append(out.Devices, view)
	}
	out.Annotations = annotationTable(ranges, shown)
	return out
}

func newDevice(s *snapshot.Snapshot, d *snapshot.Device, ranges []annotationRange, devices int, inFull bool, o Options) Device {
	t := o.Timeline(d)
	name := "Device " + strconv.Itoa(d.Index)
	if d == s.Host {
		name = "Pinned host memory"
	}
	out := Device{Name: name, Short: name, Stats: newStats(d.Stats())}
	c := newClock(d)
	out.HasTime, out.Duration = c.runs(), c.last-c.first
	out.History = newHistory(s, t, c)
	end, peak := "At the end", "At the peak"
	switch {
	case out.History.CutOff:
		end = "When dumped"
	case t.OpenEnd:
		end, peak = "At the last event read", "At the highest point read"
	}
	points := share(maxLayered, devices, 100)
	full := inFull && d != s.Host && len(t.Allocations) > 0
	var allocatorDone func() *allocatorRun // nil without a history to replay
	if full && out.History.Known() && !out.History.OpenEnd {
		allocatorDone = startAllocator(s, t)
	}
	if out.History.Known() {
		for _, p := range t.Curve(points) {
			out.Curve = append(out.Curve, CurvePoint{Event: p.Event, Time: c.since(p.Time), Requested: p.Requested, Reserved: p.Reserved})
		}
		if n := len(out.Curve); n > 0 {
			out.History.Last, out.History.LastReserved = out.Curve[n-1].Requested, out.Curve[n-1].Reserved
		}
		out.Marks = newMarks(s, d, ranges, c)
		out.Failure = newFailure(t, out.Marks)
		out.addMoment(s, t, "peak", peak, devices, c)
	}
	out.addMoment(s, t, "end", end, devices, c)
	if out.Failure != nil {
		out.addMoment(s, t, "oom", "At the out-of-memory", devices, c)
	}
	out.Segments = newSegments(s, t)
	if full {
		classified := o.Classify(t)
		out.addPurpose(classified, points, c)
		if allocatorDone != nil {
			out.addAllocator(s, allocatorDone(), classified)
		}
	}
	out.Verdict = summarize(&out)
	return out
}

func newStats(st snapshot.Stats) Stats {
	return Stats{
		Reserved: st.Reserved, Allocated: st.Allocated, Active: st.Active, Requested: st.Requested,
		InactiveSplit: st.InactiveSplit, Releasable: st.Releasable, ExpandableFree: st.ExpandableFree,
		PendingFree: st.PendingFree, RoundingWaste: st.RoundingWaste, LargestFree: st.LargestFreeBlock,
		Segments: st.Segments, Blocks: st.Blocks, Events: st.Events,
	}
}

func newHistory(s *snapshot.Snapshot, t *snapshot.Timeline, c clock) History {
	point := func(p snapshot.Point) Point { return Point{p.Event, c.since(p.Time), p.Bytes} }
	return History{
		State: t.History.String(), Peak: point(t.Peak), PeakReserved: point(t.PeakReserved),
		End: t.EndRequested, EndReserved: t.EndReserved,
		Baseline: t.BaselineRequested, BaselineReserved: t.BaselineReserved,
		Unreconciled: t.Unreconciled, UnreconciledReserved: t.UnreconciledReserved,
		RingSize: t.Device.RingSize, Overflowed: t.Device.Overflowed,
		OpenEnd: t.OpenEnd, SegmentsOnly: s.Source.SegmentsOnly,
		Damaged: s.Partial != nil,
		// PyTorch writes settings and annotations after the events.
		CutOff: s.Partial != nil && len(t.Device.Events) == 0 && !s.Settings.Present && len(s.Annotations) == 0,
	}
}

func (d *Device) addMoment(s *snapshot.Snapshot, t *snapshot.Timeline, spec, title string, devices int, c clock) {
	m, err := t.Moment(spec)
	if err != nil {
		return // a moment that this history does not have
	}
	table := s.Fold(t, m, snapshot.ByLine)
	if len(table.Rows) == 0 {
		return
	}
	out := Moment{Name: spec, Title: title, Point: Point{Event: m.Event, Time: c.since(m.Time), Bytes: table.Total}, Total: table.Total}
	for _, r := range table.Rows {
		out.Rows = append(out.Rows, Row{Frame: newFrame(r.File, r.Function, r.Line), rawFile: r.File, rawFunction: r.Function, rawLine: r.Line, Bytes: r.Bytes, Count: r.Count, Stack: uint32(r.Stack)})
	}
	out.Flame = newFlame(s.Flame(t, m, share(maxFlameNodes, maxMoments*devices, 150)))
	d.Moments = append(d.Moments, out)
}

func newFlame(n *snapshot.FlameNode) *Flame {
	f := &Flame{Frame: newFrame(n.File, n.Name, n.Line), Bytes: n.Bytes, Count: n.Count}
	for _, c := range n.Children {
		f.Children = append(f.Children, newFlame(c))
	}
	return f
}

func isSpecial(name string) bool {
	switch name {
	case snapshot.AutogradThread, snapshot.NoStackKnown, snapshot.OlderMemory, snapshot.FlameRoot, snapshot.FlameOther:
		return true
	}
	return false
}

// newFrame adds whose code a frame is. C++ frames without debug information
// have the file "??" in the file and none here, and some have no function.
func newFrame(file, function string, line int32) Frame {
	raw := snapshot.Frame{File: file, Function: function, Line: line}
	f := Frame{File: file, Function: function, Line: line}
	switch {
	case file == "" && isSpecial(function):
		f.Kind = SpecialFrame
	case !raw.IsPython():
		f.Kind = NativeFrame
		if file == "??" {
			f.File, f.Line = "", 0
		}
		if function == "" || function == "??" {
			f.Function = snapshot.NativeCode
		}
	case raw.IsLibrary():
		f.Kind = LibraryFrame
	}
	return f
}

// clock turns times since the epoch into times since a device's first event.
type clock struct{ first, last int64 }

func newClock(d *snapshot.Device) clock {
	if len(d.Events) == 0 {
		return clock{}
	}
	return clock{d.Events[0].Time, d.Events[len(d.Events)-1].Time}
}

func (c clock) runs() bool { return c.last > c.first && c.first > 0 }

func (c clock) since(us int64) int64 {
	if !c.runs() {
		return 0
	}
	return us - c.first
}

func newSegments(s *snapshot.Snapshot, t *snapshot.Timeline) []Segment {
	d := t.Device
	unnamed := newUnnamed(t)
	out := make([]Segment, len(d.Segments))
	blocks := make([]Block, 0, len(d.Blocks))
	for i := range d.Segments {
		seg := &d.Segments[i]
		from := len(blocks)
		own := d.SegmentBlocks(i)
		for j := range own {
			b := &own[j]
			block := Block{Size: b.Size, Requested: b.Requested, Stack: uint32(b.Stack), State: blockState(b, seg, len(own))}
			if _, ok := s.UserFrame(b.Stack); !ok && b.State != snapshot.Inactive {
				block.Unnamed = unnamed.label(seg.FirstBlock+int32(j), b.Stack)
			}
			blocks = append(blocks, block)
		}
		out[i] = Segment{
			Addr: seg.Addr, Bytes: seg.Total, Small: seg.Small, Expandable: seg.Expandable,
			Pool: poolName(s, seg.Pool), Stream: streamName(s, seg.Stream), Blocks: blocks[from:],
		}
	}
	return out
}

// unnamed calls blocks whose stack names no line what snapshot.Fold calls them.
type unnamed struct {
	older  map[int32]bool // blocks older than a truncated history
	stacks bool           // other allocations have stacks
}

func newUnnamed(t *snapshot.Timeline) unnamed {
	u := unnamed{older: map[int32]bool{}}
	for i := range t.Allocations {
		a := &t.Allocations[i]
		u.stacks = u.stacks || a.Stack != snapshot.NoStack
		if a.Block >= 0 && a.Born == snapshot.BeforeHistory && (t.History == snapshot.HistoryTruncated || t.History == snapshot.HistoryInconsistent) {
			u.older[a.Block] = true
		}
	}
	return u
}

func (u unnamed) label(block int32, stack snapshot.StackID) string {
	switch {
	case stack == snapshot.NoStack && u.older[block]:
		return snapshot.OlderMemory
	case u.stacks:
		return snapshot.AutogradThread
	}
	return snapshot.NoStackKnown
}

// blockState adds to a free block what can be done with it, as in
// snapshot.Stats.
func blockState(b *snapshot.Block, seg *snapshot.Segment, blocks int) BlockState {
	switch {
	case b.State == snapshot.Allocated:
		return Allocated
	case b.State == snapshot.PendingFree:
		return PendingFree
	case seg.Expandable:
		return ExpandableFree
	case blocks > 1:
		return InactiveSplit
	}
	return Releasable
}

func poolName(s *snapshot.Snapshot, i uint16) string {
	if int(i) >= len(s.Pools) || s.Pools[i] == (snapshot.PoolID{}) {
		return ""
	}
	return fmt.Sprintf("(%d, %d)", s.Pools[i][0], s.Pools[i][1])
}

func streamName(s *snapshot.Snapshot, i uint16) string {
	if int(i) >= len(s.Streams) || s.Streams[i] == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(s.Streams[i], 16)
}
