package viewer

import (
	"cmp"
	"slices"
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// newMarks collects what is worth marking on a device's curve, kind by kind and
// in order of events.
func newMarks(s *snapshot.Snapshot, d *snapshot.Device, ranges []annotationRange, c clock) []Mark {
	var ooms, notes, dumps []Mark
	for i := range d.Events {
		e := &d.Events[i]
		m := Mark{Event: i, Time: c.since(e.Time)}
		switch e.Action {
		case snapshot.OOM:
			m.Kind, m.Label = MarkOOM, oomLabel(i, e.Size, e.DeviceFree())
			ooms = append(ooms, m)
		case snapshot.AnnotateMark:
			m.Kind, m.Label = MarkAnnotate, annotation(s, e)
			notes = append(notes, m)
		case snapshot.SnapshotMark, snapshot.WorkspaceSnapshot:
			if i < len(d.Events)-1 { // the last one is the dump itself
				m.Kind, m.Label = MarkSnapshot, "snapshot taken"
				dumps = append(dumps, m)
			}
		}
	}
	marks := append(ooms, notes...)
	if c.runs() {
		marks = append(marks, rangeMarks(d, ranges, c)...)
	}
	return append(marks, dumps...)
}

// annotation is the text of an annotate event, kept in its user metadata.
func annotation(s *snapshot.Snapshot, e *snapshot.Event) string {
	if int(e.Label) < len(s.Labels) && s.Labels[e.Label].UserMetadata != "" {
		return s.Labels[e.Label].UserMetadata
	}
	return "annotation"
}

// annotationRange is a record_function range; Till is 0 when its end was not
// recorded. Times are µs since the epoch.
type annotationRange struct {
	name       string
	device     int
	from, till int64
}

// pairAnnotations joins the starts and ends of annotations. Ranges of one name
// and device nest, so an end belongs to the latest open start.
func pairAnnotations(marks []snapshot.Annotation) []annotationRange {
	type key struct {
		name   string
		device int
	}
	var out []annotationRange
	open := map[key][]int{}
	for _, a := range marks {
		k := key{a.Name, a.Device}
		if a.Start {
			open[k] = append(open[k], len(out))
			out = append(out, annotationRange{name: a.Name, device: a.Device, from: a.Time})
			continue
		}
		if stack := open[k]; len(stack) > 0 {
			out[stack[len(stack)-1]].till = a.Time
			open[k] = stack[:len(stack)-1]
		}
	}
	return out
}

// rangeMarks places annotations on the curve: an annotation begins at the
// first event not older than it.
func rangeMarks(d *snapshot.Device, ranges []annotationRange, c clock) []Mark {
	var out []Mark
	at := func(us int64) int {
		return sort.Search(len(d.Events), func(i int) bool { return d.Events[i].Time >= us })
	}
	for _, r := range ranges {
		if r.device >= 0 && r.device != d.Index || r.till <= r.from || r.till < c.first || r.from > c.last {
			continue
		}
		from, till := max(r.from, c.first), min(r.till, c.last)
		m := Mark{Kind: MarkRange, Label: r.name, Event: at(from), End: min(at(till), len(d.Events)-1), Time: c.since(from), Till: c.since(till)}
		if m.End > m.Event {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Mark) int { return cmp.Compare(a.Event, b.Event) })
	return out
}

// annotationTable lists the ranges with times since the first event of the
// device they belong to, or of the first device.
func annotationTable(ranges []annotationRange, devices []*snapshot.Device) []Annotation {
	if len(devices) == 0 {
		return nil
	}
	clocks := map[int]clock{}
	for _, d := range devices {
		clocks[d.Index] = newClock(d)
	}
	var out []Annotation
	for _, r := range ranges {
		c, ok := clocks[r.device]
		if !ok {
			c = newClock(devices[0])
		}
		if !c.runs() {
			c.first = ranges[0].from
		}
		a := Annotation{Name: r.name, Device: r.device, Start: r.from - c.first, End: r.till - c.first, Open: r.till == 0}
		out = append(out, a)
	}
	return out
}
