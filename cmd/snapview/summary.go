package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/snapview/snapview/viewer"
)

// summaryLength is how many lines fit a glance. -n can ask for more.
const summaryLength = 10

// A summary is what report prints: where the report is and the headline numbers.
type summary struct {
	snapshot  *snapshot.Snapshot
	all       []*snapshot.Timeline // of the report's devices
	timelines []*snapshot.Timeline // of those that are worth a word
	classes   classifier
	tops      []deviceTop // at the peak, or at the end when no peak is known
	report    string      // path, "-" for stdout
	size      int64       // of the report, bytes

	verdicts map[*snapshot.Timeline]string // why memory ran out
}

func summarize(s *snapshot.Snapshot, all []*snapshot.Timeline, classes classifier, o *options, report string, size int64) (summary, error) {
	sum := summary{snapshot: s, all: all, classes: classes, timelines: o.device.withoutIdle(all), report: report, size: size}
	for _, t := range sum.timelines {
		at := "end"
		if hasHistory(t) {
			at = "peak"
		}
		top, err := foldTimeline(s, t, fold{by: snapshot.ByLine}, at)
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
	Top        []topTable       `json:"top"`        // per device, at the peak, or at the end without a history
	Categories []categoryTotals `json:"categories"` // likewise
	Findings   []deviceFindings `json:"findings"`   // per device
}

func (sum summary) asJSON(o *options) any {
	out := reportJSON{Report: sum.report, Bytes: sum.size, snapshotStats: statsJSON(sum.snapshot, sum.all),
		Top: []topTable{}, Categories: []categoryTotals{}, Findings: []deviceFindings{}}
	for _, t := range sum.tops {
		out.Top = append(out.Top, t.json(sum.snapshot, o))
		c := sum.classes(t.timeline)
		out.Categories = append(out.Categories, totalsJSON(c, t.table.Moment))
		out.Findings = append(out.Findings, findingsJSON(c))
	}
	return out
}

// text is the summary for reading. It is about the device that reserves most.
func (sum summary) text(u *ui, o *options) string {
	var head, tail, rows []string
	if sum.snapshot.Partial != nil {
		head = append(head, strings.TrimSuffix(u.partialLine(sum.snapshot), "\n"))
	}
	head = append(head, sourceLine(sum.snapshot))
	if main, ok := sum.heaviest(); ok {
		t := sum.timelines[main]
		head = append(head, u.summaryLines("device", sum.deviceText(main))...)
		end := u.summaryLines(endName(sum.snapshot), endText(t))
		if hasHistory(t) {
			head = append(head, u.summaryLines("peak", peakText(t))...)
			head = append(head, u.summaryLines("seen", seenText(t))...)
			tail = append(tail, end...)
		} else {
			head = append(head, end...)
		}
		c := sum.classes(t)
		head = append(head, u.oneLine("for", categoryParts(c, sum.tops[main].table.Moment))...)
		tail = append(tail, u.oneLine("change", findingParts(c))...)
		tail = append(tail, u.summaryLines("oom", sum.oomText(t))...)
		tail = append(tail, u.summaryLines("free", freeText(t.Device.Stats()))...)
		rows = u.summaryRows(sum.tops[main].table, o, summaryLength-len(head)-len(tail)-1)
	} else {
		head = append(head, u.summaryLines("device", []string{"none holds memory or has a history"})...)
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

// summaryLines puts a name before parts, on as many lines as they need; none
// when there are no parts.
func (u *ui) summaryLines(name string, parts []string) []string {
	if len(parts) == 0 {
		return nil
	}
	lines := wrap(parts, u.width-summaryIndent)
	for i := range lines {
		lines[i] = fmt.Sprintf("%-*s", summaryIndent, name) + lines[i]
		if i == 0 {
			lines[i] = u.style(bold, name) + lines[i][len(name):]
		}
		name = ""
	}
	return lines
}

// summaryRows are the heaviest lines of code: as many as -n says, or else as
// fit into room. What is left out gets a line of its own.
func (u *ui) summaryRows(table snapshot.Table, o *options, room int) []string {
	shown, restShown := o.rows.limit(len(table.Rows)), true
	if !o.rows.given {
		shown, restShown = fitRows(len(table.Rows), room)
	}
	if len(table.Rows) == 0 {
		return nil
	}
	numbers := newTable(right, right, left)
	for _, r := range table.Rows[:shown] {
		numbers.row(units.Bytes(r.Bytes), units.Percent(r.Bytes, table.Total),
			location(r.File, r.Line, r.Function, u.width-summaryIndent-18-2*columnGap))
	}
	if bytes, _ := rest(table, shown); restShown && shown < len(table.Rows) {
		numbers.row(units.Bytes(bytes), units.Percent(bytes, table.Total), ellipsis+" "+plural(len(table.Rows)-shown, "more row"))
	}
	lines := strings.Split(strings.TrimSuffix(numbers.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.Repeat(" ", summaryIndent) + lines[i]
	}
	return lines
}

// fitRows is how many of n rows to show in room lines, at least one, and
// whether there is room for a line about the others.
func fitRows(n, room int) (shown int, restShown bool) {
	if n <= room {
		return n, false
	}
	const leastWithRest = 3
	if room >= leastWithRest {
		return room - 1, true
	}
	return min(n, max(room, 1)), false
}

// deviceText names the device that the summary is about, and the others.
func (sum summary) deviceText(main int) []string {
	t := sum.timelines[main]
	name := strconv.Itoa(t.Device.Index)
	var others []string
	for i, other := range sum.timelines {
		if i != main {
			others = append(others, strconv.Itoa(other.Device.Index))
		}
	}
	parts := []string{name + "; "}
	if len(others) > 0 {
		parts[0] = name + " "
		for i, other := range others {
			switch {
			case i == 0 && len(others) == 1:
				other = "(also in the report: " + other + "); "
			case i == 0:
				other = "(also in the report: " + other + ", "
			case i == len(others)-1:
				other += "); "
			default:
				other += ", "
			}
			parts = append(parts, other)
		}
	}
	return append(parts, "history "+historyText(t))
}

func peakText(t *snapshot.Timeline) []string {
	least := ""
	switch t.History {
	case snapshot.HistoryTruncated:
		least = "at least "
	case snapshot.HistoryInconsistent:
		least = "uncertain, "
	}
	requested, reserved := peaks(t)
	return []string{
		least + units.Bytes(requested.Bytes) + " requested ",
		"(" + pointText(t, requested) + "); ",
		"peak reserved " + least + units.Bytes(reserved.Bytes),
	}
}

// seenText is the highest point among the events, which the lines of code below
// it are about; nothing where that is the peak.
func seenText(t *snapshot.Timeline) []string {
	if requested, _ := peaks(t); requested == t.Peak {
		return nil
	}
	return []string{units.Bytes(t.Peak.Bytes) + " requested in the events read ", "(" + pointText(t, t.Peak) + ")"}
}

// endName is what the state of the segments is called. In a file that is not
// whole it is what was read of it, and the last event read is not the end.
func endName(s *snapshot.Snapshot) string {
	if s.Partial != nil {
		return "dump"
	}
	return "end"
}

func endText(t *snapshot.Timeline) []string {
	a := t.Device.Stats()
	parts := []string{units.Bytes(a.Requested) + " requested, ", units.Bytes(a.Allocated) + " allocated, "}
	if a.PendingFree > 0 {
		parts = append(parts, units.Bytes(a.PendingFree)+" pending free, ")
	}
	return append(parts, units.Bytes(a.Reserved)+" reserved")
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

// oomText is about the last allocation that failed: what is known of it, and
// the command that shows who held memory then. Nothing if none failed.
func (sum summary) oomText(t *snapshot.Timeline) []string {
	event, ok := lastOOM(t.Device)
	if !ok {
		return nil
	}
	e := &t.Device.Events[event]
	see := "see: snapview oom "
	if len(sum.timelines) > 1 {
		see += fmt.Sprintf("--device %d ", t.Device.Index)
	}
	parts := []string{"asked for " + units.Bytes(e.Size) + " at event " + units.Count(event)}
	if v := sum.verdicts[t]; v != "" {
		parts = append(parts, "; "+v+"; ")
	} else {
		parts = append(parts, ", device free "+units.Bytes(e.DeviceFree())+"; ")
	}
	return append(parts, see+units.Safe(shellWord(sum.snapshot.Source.Name)))
}

// oomVerdict is why memory ran out, in a few words.
func oomVerdict(x *viewer.OOM) string {
	if x.ShortBy > 0 {
		return x.Verdict + ", " + units.Bytes(x.ShortBy) + " short in one piece"
	}
	return x.Verdict
}

// freeText tells how much of what is reserved nobody uses, and whether it can
// be had back.
func freeText(a snapshot.Stats) []string {
	free := a.InactiveSplit + a.Releasable + a.ExpandableFree
	if free == 0 {
		return []string{"nothing of what is reserved"}
	}
	parts := []string{fmt.Sprintf("%s (%s): ", units.Bytes(free), units.Percent(free, a.Reserved))}
	part := func(bytes int64, what string) {
		if bytes > 0 {
			parts = append(parts, units.Bytes(bytes)+" "+what+", ")
		}
	}
	part(a.Releasable, "releasable")
	part(a.InactiveSplit, "in gaps")
	part(a.ExpandableFree, "expandable")
	return append(parts, "largest "+units.Bytes(a.LargestFreeBlock))
}
