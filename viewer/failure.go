package viewer

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// newFailure gathers the state at the last failed allocation, nil without one.
func newFailure(t *snapshot.Timeline, marks []Mark) *Failure {
	m, err := t.Moment("oom")
	if err != nil {
		return nil
	}
	e := &t.Device.Events[m.Event]
	f := &Failure{Event: m.Event, Asked: e.Size, DeviceFree: e.DeviceFree(), Reserved: reservedAfter(t, m.Event)}
	for a := range t.Live(m) {
		f.Requested += a.Requested
	}
	for i := range marks {
		if marks[i].Kind == MarkOOM {
			f.Of++
		}
	}
	return f
}

// reservedAfter is the reserved curve after one event.
func reservedAfter(t *snapshot.Timeline, event int) int64 {
	bytes := t.BaselineReserved
	for i := range t.Device.Events[:event+1] {
		switch e := &t.Device.Events[i]; e.Action {
		case snapshot.SegmentAlloc, snapshot.SegmentMap:
			bytes += e.Size
		case snapshot.SegmentFree, snapshot.SegmentUnmap:
			bytes -= e.Size
		}
	}
	return bytes
}

// oomLabel words a failed allocation in a few words, for its mark.
func oomLabel(event int, asked, deviceFree int64) string {
	s := fmt.Sprintf("Out of memory at event %s: %s were asked for", units.Count(event), units.Bytes(asked))
	if deviceFree > 0 {
		s += fmt.Sprintf(" while the device had %s free", units.Bytes(deviceFree))
	}
	return s
}

// failureSentence words a failed allocation and what there was at that moment.
func failureSentence(f *Failure, h History) string {
	atLeast := ""
	if h.OpenEnd {
		atLeast = "at least "
	}
	s := fmt.Sprintf("Out of memory at event %s", units.Count(f.Event))
	if f.Of > 1 {
		s += fmt.Sprintf(" (the last of %s)", units.Count(f.Of))
	}
	s += fmt.Sprintf(": %s were asked for while %s%s were reserved, %s%s of that requested by live tensors",
		units.Bytes(f.Asked), atLeast, units.Bytes(f.Reserved), atLeast, units.Bytes(f.Requested))
	if idle := f.Reserved - f.Requested; idle > 0 && !h.OpenEnd {
		s += fmt.Sprintf(" and %s free or lost to rounding", units.Bytes(idle))
	}
	if f.DeviceFree > 0 {
		s += fmt.Sprintf("; the device had %s free", units.Bytes(f.DeviceFree))
		if f.DeviceFree > f.Asked {
			s += ", so a limit set for the process was reached"
		}
	}
	return s + "."
}
