package snapshot

import (
	"fmt"
	"strings"
)

// describe writes everything a snapshot says, but for its source, with ids
// resolved: equal texts are equal snapshots.
func describe(s *Snapshot) string {
	var b strings.Builder
	for _, d := range s.Devices {
		describeDevice(&b, s, d, fmt.Sprint("device ", d.Index))
	}
	if s.Host != nil {
		describeDevice(&b, s, s.Host, "host")
	}
	for _, a := range s.Annotations {
		fmt.Fprintf(&b, "annotation %+v\n", a)
	}
	if s.Settings.Present {
		fmt.Fprintf(&b, "settings %+v\n", s.Settings)
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func describeDevice(b *strings.Builder, s *Snapshot, d *Device, name string) {
	fmt.Fprintf(b, "%s ring %d overflowed %t\n", name, d.RingSize, d.Overflowed)
	for i, seg := range d.Segments {
		fmt.Fprintf(b, " segment 0x%x %d stream %d pool %v small %t expandable %t%s\n", seg.Addr, seg.Total,
			s.Streams[seg.Stream], s.Pools[seg.Pool], seg.Small, seg.Expandable, describeStack(s, seg.Stack))
		for _, k := range d.SegmentBlocks(i) {
			fmt.Fprintf(b, "  block 0x%x %d %d %v in %d%s%s\n", k.Addr, k.Size, k.Requested, k.State, k.Segment,
				describeLabel(s, k.Label), describeStack(s, k.Stack))
		}
	}
	for _, e := range d.Events {
		fmt.Fprintf(b, " %v 0x%x %d at %d stream %d pool %v%s%s\n", e.Action, e.Addr, e.Size, e.Time,
			s.Streams[e.Stream], s.Pools[e.Pool], describeLabel(s, e.Label), describeStack(s, e.Stack))
	}
}

func describeStack(s *Snapshot, id StackID) string {
	var b strings.Builder
	for _, f := range s.Stacks.Frames(id) {
		frame := s.Frames[f]
		fmt.Fprintf(&b, " | %s:%d:%s", frame.File, frame.Line, frame.Function)
		if frame.FX != nil {
			fmt.Fprintf(&b, " fx%+v", *frame.FX)
		}
	}
	return b.String()
}

func describeLabel(s *Snapshot, id LabelID) string {
	if id == 0 {
		return ""
	}
	l := s.Labels[id]
	return fmt.Sprintf(" compiled %q metadata %q category %q forward[%s]", l.CompileContext, l.UserMetadata, l.Category,
		strings.TrimSpace(describeStack(s, l.ForwardStack)))
}
