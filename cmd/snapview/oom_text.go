package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

func (u *ui) oomAnswers(s *snapshot.Snapshot, answers []deviceOOM, o *oomOptions) string {
	var b strings.Builder
	b.WriteString(u.partialLine(s))
	for i, a := range answers {
		if i > 0 {
			b.WriteByte('\n')
		}
		u.writeOOMs(&b, s, a, o)
	}
	if len(answers) == 0 {
		b.WriteString("no device held memory\n")
	}
	return b.String()
}

func (u *ui) writeOOMs(b *strings.Builder, s *snapshot.Snapshot, a deviceOOM, o *oomOptions) {
	device := fmt.Sprintf("device %d", a.timeline.Device.Index)
	if len(a.Events) == 0 {
		fmt.Fprintf(b, "%s: no allocation failed in the history, which is %s\n", u.style(bold, device), historyText(a.timeline))
		return
	}
	if a.Earlier > 0 {
		fmt.Fprintf(b, "%s: the last %s of %s are explained; --last shows more\n\n", device,
			plural(len(a.Events), "failure"), units.Count(a.Earlier+len(a.Events)))
	}
	for i, x := range a.Events {
		if i > 0 {
			b.WriteByte('\n')
		}
		title := fmt.Sprintf("%s out of memory at %s; history %s", device, eventText(a.timeline, x.Moment.Event, x.Moment.Time), a.timeline.History)
		b.WriteString(u.style(bold, title) + "\n")
		u.writeOOM(b, s, x, o)
	}
	u.writeHelp(b, a)
}

func (u *ui) writeOOM(b *strings.Builder, s *snapshot.Snapshot, x *attribution.OOM, o *oomOptions) {
	b.WriteString(u.oomAccounts(x))
	u.paragraph(b, "", u.style(alarm, x.Verdict.String())+": "+x.Sentence())
	u.heading(b, "who held memory, requested bytes")
	b.WriteString(u.holders(x, o))
	if x.Free > 0 {
		u.heading(b, "free memory by pool and stream")
		b.WriteString(u.poolTable(s, x))
	}
	if len(x.Pins) > 0 {
		u.heading(b, "which line keeps the free memory from being given back")
		b.WriteString(u.pinTable(x, o))
	}
	if len(x.Notes) > 0 {
		u.heading(b, "what this rests on")
		for _, n := range x.Notes {
			u.paragraph(b, "- ", units.Safe(n))
		}
	}
}

// oomAccounts are the numbers of one event.
func (u *ui) oomAccounts(x *attribution.OOM) string {
	t := newTable(left, right, right, left)
	size := func(name string, n int64, remark string) { t.row("  "+name, units.Bytes(n), units.Exact(n), remark) }
	width := len("  largest usable free block") + 10 + len(units.Exact(max(x.DeviceFree, x.Reserved))) + 3*columnGap
	size("asked for", x.Asked, location(x.File, x.Line, x.Function, u.width-width))
	if x.FromDevice != x.Asked {
		size("from the device", x.FromDevice, "what PyTorch's message names")
	}
	size("device free", x.DeviceFree, "")
	size("reserved", x.Reserved, "")
	size("allocated", x.Allocated, "")
	size("free in the cache", x.Free, "")
	size("largest usable free block", x.LargestUsable, "")
	size("limit", x.Limit.Low, x.LimitText())
	if x.OutsideKnown {
		size("outside this allocator", x.Outside, "")
	}
	return t.String()
}

func (u *ui) heading(b *strings.Builder, text string) {
	b.WriteString("\n" + u.style(bold, text) + "\n")
}

// paragraph wraps a sentence under its first word.
func (u *ui) paragraph(b *strings.Builder, mark, text string) {
	indent := strings.Repeat(" ", len(mark))
	for i, line := range wrap(strings.SplitAfter(text, " "), u.width-len(mark)) {
		if i > 0 {
			mark = indent
		}
		b.WriteString(mark + line + "\n")
	}
}

func (u *ui) holders(x *attribution.OOM, o *oomOptions) string {
	table := x.Holders
	shown := shownRows(table, &o.options)
	t := newTable(right, right, right, left, left)
	kinds, widest := make([]string, shown), 0
	for i := range kinds {
		kinds[i] = partsText(x.Parts[i])
		widest = max(widest, units.Width(kinds[i]))
	}
	room := u.width - numbersWidth(table) - widest - columnGap
	for i, r := range table.Rows[:shown] {
		t.row(units.Bytes(r.Bytes), units.Percent(r.Bytes, table.Total), units.Count(r.Count), kinds[i], location(r.File, r.Line, r.Function, room))
	}
	if bytes, count := rest(table, shown); shown < len(table.Rows) {
		t.row(units.Bytes(bytes), units.Percent(bytes, table.Total), units.Count(count), "", ellipsis+" "+plural(len(table.Rows)-shown, "more row"))
	}
	t.row(units.Bytes(table.Total), units.Percent(table.Total, table.Total), "", "", u.style(bold, "total"))
	return t.String()
}

// partsText names what a row is for, the largest part first.
func partsText(parts []attribution.Part) string {
	if len(parts) == 0 {
		return attribution.Unknown.String()
	}
	text := parts[0].Category.String()
	if len(parts) > 1 {
		text += " +" + units.Count(len(parts)-1)
	}
	return text
}

func (u *ui) poolTable(s *snapshot.Snapshot, x *attribution.OOM) string {
	t := newTable(right, right, right, right, left)
	t.header("free", "largest", "reserved", "segments", "pool and stream")
	for _, p := range x.Pools {
		t.row(units.Bytes(p.Free), units.Bytes(p.LargestFree), units.Bytes(p.Reserved), units.Count(p.Segments), poolText(s, p))
	}
	return t.String()
}

func poolText(s *snapshot.Snapshot, p attribution.PoolFree) string {
	text := "default pool"
	if id := poolID(s, p.Pool); id != (snapshot.PoolID{}) {
		text = fmt.Sprintf("private pool (%d, %d)", id[0], id[1])
	}
	if p.Small {
		text += ", requests up to 1 MiB"
	} else {
		text += ", larger requests"
	}
	if p.Expandable {
		text += ", expandable"
	}
	if h := streamHandle(s, p.Stream); h != 0 {
		text += fmt.Sprintf(", stream %#x", h)
	}
	return text
}

func (u *ui) pinTable(x *attribution.OOM, o *oomOptions) string {
	t := newTable(right, right, right, right, left)
	t.header("free", "alone", "held", "segments", "line")
	shown := o.rows.limit(len(x.Pins))
	if shown == len(x.Pins)-1 && !o.rows.given {
		shown++
	}
	const numbers = 4 * (9 + columnGap)
	for _, p := range x.Pins[:shown] {
		t.row(units.Bytes(p.Bytes), units.Bytes(p.Alone), units.Bytes(p.Held), units.Count(p.Segments), location(p.File, p.Line, p.Function, u.width-numbers))
	}
	var bytes int64
	for _, p := range x.Pins[shown:] {
		bytes += p.Bytes
	}
	if bytes > 0 {
		t.row(units.Bytes(bytes), "", "", "", ellipsis+" "+plural(len(x.Pins)-shown, "more line"))
	}
	return t.String()
}

// writeHelp tells what would have helped.
func (u *ui) writeHelp(b *strings.Builder, a deviceOOM) {
	u.heading(b, "what would have helped")
	if a.Untried != "" {
		u.paragraph(b, "- ", "settings: "+a.Untried)
	}
	if c := a.Control; c != nil && c.Helps() {
		u.paragraph(b, "- ", "the replay under the recorded settings serves what failed, so the following is uncertain")
	}
	var others []string
	for i := range a.Remedies {
		r := &a.Remedies[i]
		if r.Helps() {
			u.paragraph(b, "- ", "PYTORCH_CUDA_ALLOC_CONF="+r.Conf+": "+r.Text()+" (by replay)")
			continue
		}
		others = append(others, r.Conf)
	}
	if len(others) > 0 {
		u.paragraph(b, "- ", "not by themselves: "+strings.Join(others, ", "))
	}
	last := a.Events[len(a.Events)-1]
	u.paragraph(b, "- ", fmt.Sprintf("a limit of %s or more: it serves the last request as things were", units.AtLeastMiB(last.Enough())))
	for _, f := range a.Findings {
		text := units.Bytes(f.Bytes)
		if f.UpperBound {
			text = "up to " + text
		}
		text += ": " + f.Title
		if f.File != "" {
			text += " (" + location(f.File, f.Line, f.Function, u.width/2) + ")"
		}
		u.paragraph(b, "- ", units.Safe(text+". "+f.Do))
	}
}
