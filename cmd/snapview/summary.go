package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// summaryLines is the longest summary that fits a glance. -n can ask for more.
const summaryLines = 10

// A summary is what report prints: where the report is and the headline numbers.
type summary struct {
	snapshot  *snapshot.Snapshot
	timelines []*snapshot.Timeline
	tops      []deviceTop // at the peak, or at the end when no peak is known
	report    string      // path, "-" for stdout
	size      int64       // of the report, bytes
}

func summarize(s *snapshot.Snapshot, timelines []*snapshot.Timeline, report string, size int64) (summary, error) {
	sum := summary{snapshot: s, timelines: timelines, report: report, size: size}
	for _, t := range timelines {
		at := "end"
		if hasHistory(t) {
			at = "peak"
		}
		top, err := foldTimeline(s, t, snapshot.ByLine, at)
		if err != nil {
			return summary{}, err
		}
		sum.tops = append(sum.tops, top)
	}
	return sum, nil
}

// reportJSON is the JSON of report: the one of stats, and where the report is.
type reportJSON struct {
	Report string `json:"report"`
	Bytes  int64  `json:"report_bytes"`
	snapshotStats
	Top []topTable `json:"top"` // per device, at the peak, or at the end without a history
}

func (sum summary) json(o *options) reportJSON {
	out := reportJSON{Report: sum.report, Bytes: sum.size, snapshotStats: statsJSON(sum.snapshot, sum.timelines), Top: []topTable{}}
	for _, t := range sum.tops {
		out.Top = append(out.Top, t.json(sum.snapshot, o))
	}
	return out
}

// text is the summary for reading. It is about the device that reserves most.
func (sum summary) text(u *ui, o *options) string {
	var head, tail []string
	if sum.snapshot.Partial != nil {
		head = append(head, strings.TrimSuffix(u.partialLine(sum.snapshot), "\n"))
	}
	head = append(head, sourceLine(sum.snapshot))
	var rows []string
	if main, ok := sum.heaviest(); ok {
		t := sum.timelines[main]
		head = append(head, u.summaryLine("device", sum.deviceText(main)))
		if hasHistory(t) {
			head = append(head, u.summaryLine("peak", peakText(t)))
			tail = append(tail, u.summaryLine("end", endText(t)))
		} else {
			head = append(head, u.summaryLine("end", endText(t)))
		}
		if oom, ok := lastOOM(t.Device); ok {
			tail = append(tail, u.summaryLine("oom", oomText(t.Device, oom)))
		}
		tail = append(tail, u.summaryLine("free", freeText(t.Device.Stats())))
		if hint := hintText(sum.snapshot.Settings, t.Device.Stats()); hint != "" {
			tail = append(tail, u.summaryLine("hint", hint))
		}
		rows = u.summaryRows(sum.tops[main].table, o, summaryLines-len(head)-len(tail)-1)
	} else {
		head = append(head, u.summaryLine("device", "none holds memory or has a history"))
	}
	if sum.report != "-" {
		tail = append(tail, u.style(bold, "report  "+units.Safe(sum.report))+" ("+units.Bytes(sum.size)+")")
	}
	return strings.Join(append(append(head, rows...), tail...), "\n") + "\n"
}

// heaviest is the device that reserves most at its peak.
func (sum summary) heaviest() (index int, ok bool) {
	for i, t := range sum.timelines {
		if t.PeakReserved.Bytes > sum.timelines[index].PeakReserved.Bytes {
			index = i
		}
	}
	return index, len(sum.timelines) > 0
}

// summaryIndent is the width of the names at the left of a summary.
const summaryIndent = 8

func (u *ui) summaryLine(name, text string) string {
	return u.style(bold, fmt.Sprintf("%-*s", summaryIndent, name)) + cutRight(text, u.width-summaryIndent)
}

// summaryRows are the heaviest lines, as many as room and -n allow.
func (u *ui) summaryRows(table snapshot.Table, o *options, room int) []string {
	shown := o.limit(len(table.Rows))
	if o.rows == summaryRowCount {
		shown = min(shown, room)
	}
	numbers := newTable(right, right, left)
	for _, r := range table.Rows[:shown] {
		numbers.row(units.Bytes(r.Bytes), units.Percent(r.Bytes, table.Total),
			location(r.File, r.Line, r.Function, u.width-summaryIndent-18-2*columnGap))
	}
	if shown == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(numbers.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.Repeat(" ", summaryIndent) + lines[i]
	}
	return lines
}

// deviceText names the device that the summary is about, and the others.
func (sum summary) deviceText(main int) string {
	t := sum.timelines[main]
	text := strconv.Itoa(t.Device.Index)
	var others []string
	for i, other := range sum.timelines {
		if i != main {
			others = append(others, strconv.Itoa(other.Device.Index))
		}
	}
	if len(others) > 0 {
		text += " (also in the report: " + cutRight(strings.Join(others, ", "), 20) + ")"
	}
	return text + "; history " + historyText(t)
}

func peakText(t *snapshot.Timeline) string {
	return fmt.Sprintf("%s requested (%s), at most %s reserved", units.Bytes(t.Peak.Bytes),
		eventText(t, t.Peak.Event, t.Peak.Time), units.Bytes(t.PeakReserved.Bytes))
}

func endText(t *snapshot.Timeline) string {
	a := t.Device.Stats()
	return fmt.Sprintf("%s requested, %s allocated, %s reserved", units.Bytes(a.Requested), units.Bytes(a.Allocated), units.Bytes(a.Reserved))
}

// lastOOM is the index of the last out-of-memory event.
func lastOOM(d *snapshot.Device) (event int, ok bool) {
	for i := len(d.Events) - 1; i >= 0; i-- {
		if d.Events[i].Action == snapshot.OOM {
			return i, true
		}
	}
	return 0, false
}

func oomText(d *snapshot.Device, event int) string {
	return fmt.Sprintf("asked for %s at event %s; see snapview top --at oom FILE",
		units.Bytes(d.Events[event].Size), units.Count(event))
}

// freeText tells how much of what is reserved nobody uses, and whether it can
// be had back.
func freeText(a snapshot.Stats) string {
	free := a.InactiveSplit + a.Releasable + a.ExpandableFree
	if free == 0 {
		return "nothing of what is reserved"
	}
	var parts []string
	part := func(bytes int64, what string) {
		if bytes > 0 {
			parts = append(parts, units.Bytes(bytes)+" "+what)
		}
	}
	part(a.Releasable, "releasable")
	part(a.InactiveSplit, "in gaps")
	part(a.ExpandableFree, "expandable")
	return fmt.Sprintf("%s (%s): %s, largest %s", units.Bytes(free), units.Percent(free, a.Reserved),
		strings.Join(parts, ", "), units.Bytes(a.LargestFreeBlock))
}

// hintText is what to try when much memory lies between used blocks, from a
// tenth of what is reserved; "" otherwise.
func hintText(s snapshot.Settings, a snapshot.Stats) string {
	if s.ExpandableSegments || a.InactiveSplit == 0 || a.InactiveSplit*10 < a.Reserved {
		return ""
	}
	return "gaps between used blocks; try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
}
