package viewer

import (
	"slices"
	"strconv"

	"github.com/snapview/snapview/profiler"
)

// kernels gathers what the devices did, and the longest times they did nothing.
func (g *gatherer) kernels(stats profiler.KernelStats) (out []TraceDevice, gaps []TraceGap) {
	for _, d := range stats.Devices {
		if d.Count == 0 || !g.keep(int(d.Device)) {
			continue
		}
		name := "GPU " + strconv.Itoa(int(d.Device))
		k := TraceDevice{Name: name, Span: d.End - d.Start, Busy: d.Busy, Idle: d.Idle, Count: d.Count}
		copies := d.Busy - d.Compute - d.Exposed
		k.Parts = []TracePart{
			{"p0", "compute", d.Compute - d.Overlap}, {"p1", "compute and communication at once", d.Overlap},
			{"p2", "communication alone", d.Exposed}, {"p4", "copies and fills alone", copies}, {"p3", "idle", d.Idle},
		}
		for _, s := range d.Streams {
			k.Streams = append(k.Streams, TraceStream{"stream " + strconv.Itoa(int(s.Stream)), s.Count, s.Busy, s.Compute, s.Communication, s.Copy})
		}
		out = append(out, k)
		for _, gap := range d.Gaps {
			gaps = append(gaps, TraceGap{
				Device: name, Start: g.since(gap.Start), Dur: gap.Dur,
				Before: g.deviceWork(gap.Before), After: g.deviceWork(gap.After), During: g.meanwhile(gap),
			})
		}
	}
	return out, gaps
}

func (g *gatherer) deviceWork(i int32) string {
	if i < 0 || int(i) >= len(g.t.Device) {
		return "–"
	}
	return g.t.Names[g.t.Device[i].Name]
}

// meanwhile says what the host did in a gap.
func (g *gatherer) meanwhile(gap profiler.Gap) string {
	text := ""
	if gap.Host >= 0 && int(gap.Host) < len(g.t.Host) {
		text = g.t.Names[g.t.Host[gap.Host].Name]
	}
	if gap.Frame >= 0 && int(gap.Frame) < len(g.t.Frames) {
		if frame := g.t.Names[g.t.Frames[gap.Frame].Name]; text == "" {
			text = frame
		} else {
			text += ", in " + frame
		}
	}
	if text == "" {
		return "not known"
	}
	return text
}

func (g *gatherer) steps() []TraceStep {
	var out []TraceStep
	for _, s := range g.t.Steps() {
		out = append(out, TraceStep{
			Name: s.Name, Start: g.since(s.Start), Dur: s.End - s.Start, Peak: s.Peak, Allocated: s.Allocated,
			Device: s.KernelTime, Busy: s.DeviceBusy, Idle: s.DeviceIdle, HasMemory: s.HasMemory, HasDevice: s.HasDeviceEvents,
		})
	}
	return out
}

// tables gathers the tables by line, operator, module and kernel.
func (g *gatherer) tables() []TraceTable {
	var out []TraceTable
	if t := g.held(); t.names() {
		out = append(out, t)
	}
	for _, k := range []struct {
		by           profiler.By
		title, intro string
	}{
		{profiler.ByLine, "Lines", "Lines of your code: the innermost on the stack that is not in an installed package. Backward work belongs to the forward line that caused it."},
		{profiler.ByOp, "Operators", "Operators, with what they allocate and launch themselves."},
		{profiler.ByModule, "Modules", "Modules (nn.Module), with what runs in them and in no module inside."},
	} {
		// Without stacks every line is "(no stack)", which the doctor explains.
		if t := g.table(k.by); t.names() {
			t.Title, t.Intro = k.title, k.intro
			out = append(out, t)
		}
	}
	if t := g.kernelTable(); len(t.Rows) > 0 {
		out = append(out, t)
	}
	return out
}

// names reports whether a row of the table names anything.
func (t *TraceTable) names() bool {
	return slices.ContainsFunc(t.Rows, func(r TraceRow) bool { return r.Kind != SpecialFrame })
}

// A measure is a column and where its number is.
type measure struct {
	Column
	of func(*profiler.Row) int64
}

// measures are the columns that the trace can fill; the first orders the rows.
func (g *gatherer) measures() []measure {
	all := []measure{
		{Column{"Allocated", "bytes allocated, whether freed or not", InBytes}, func(r *profiler.Row) int64 { return r.Allocated }},
		{Column{"Kept", "net bytes still there after its calls returned, summed over calls", InBytes}, func(r *profiler.Row) int64 { return r.Kept }},
		{Column{"Peak", "highest net bytes while a call ran", InBytes}, func(r *profiler.Row) int64 { return r.Peak }},
	}
	if !g.hasMemory {
		all = nil
	}
	if g.hasDevice {
		all = append(all, measure{Column{"GPU time", "time of the kernels it launched itself", InTime}, func(r *profiler.Row) int64 { return r.SelfDevice }})
	}
	if !g.hasDevice || !g.hasMemory {
		all = append(all, measure{Column{"CPU time", "its own time on the CPU", InTime}, func(r *profiler.Row) int64 { return r.SelfCPU }})
	}
	return append(all, measure{Column{"Calls", "how often it was called", InCount}, func(r *profiler.Row) int64 { return int64(r.Count) }})
}

func (g *gatherer) table(by profiler.By) TraceTable {
	table := g.t.Table(profiler.TableOptions{By: by})
	measures := g.measures()
	out := TraceTable{Name: by.String(), Noun: nounOf(by), Functions: by == profiler.ByLine}
	for _, m := range measures {
		out.Columns = append(out.Columns, m.Column)
	}
	for i := range table.Rows {
		r := &table.Rows[i]
		row := TraceRow{Frame: rowFrame(r, by), Backward: r.Backward, Stack: g.stacks.id(r.Stack)}
		for _, m := range measures {
			row.Values = append(row.Values, m.of(r))
		}
		if !slices.ContainsFunc(row.Values, func(v int64) bool { return v != 0 }) {
			continue // neither memory nor time, and never called
		}
		out.Total += row.Values[0]
		out.Rows = append(out.Rows, row)
	}
	if g.hasMemory {
		out.Total += table.Unattributed
		if table.Unattributed > 0 {
			row := TraceRow{Frame: Frame{Function: "(outside every operator)", Kind: SpecialFrame}, Values: make([]int64, len(measures))}
			row.Values[0] = table.Unattributed
			out.Rows = append(out.Rows, row)
		}
	}
	sortTrace(out.Rows)
	return out
}

// held is who holds the memory of the first device at its peak.
func (g *gatherer) held() TraceTable {
	if !g.hasMemory {
		return TraceTable{}
	}
	l := g.ledgers[0]
	c := g.categories
	if c.Type != l.Type || c.Device != l.Device {
		c = g.t.CategorizeDevice(l.Type, l.Device)
	}
	table, err := g.t.Live(&c, l.PeakTime, profiler.ByLine)
	if err != nil {
		return TraceTable{}
	}
	out := TraceTable{
		Name: "held", Title: "Held at the peak", Noun: "line", Verb: "hold", Functions: true,
		Intro:   "Who holds the memory of " + memoryName(l.Type, l.Device) + " at the peak, by line of your code. What the backward allocated belongs to the forward line that caused it.",
		Columns: []Column{{"Bytes", "bytes live at the peak", InBytes}, {"Blocks", "allocations live at the peak", InCount}},
	}
	for i := range table.Rows {
		r := &table.Rows[i]
		out.Rows = append(out.Rows, TraceRow{Frame: rowFrame(r, profiler.ByLine), Backward: r.Backward, Values: []int64{r.Kept, int64(r.Count)}, Stack: g.stacks.id(r.Stack)})
		out.Total += r.Kept
	}
	return out
}

func nounOf(by profiler.By) string {
	if by == profiler.ByOp {
		return "operator"
	}
	return by.String()
}

// rowFrame is what a row is about.
func rowFrame(r *profiler.Row, by profiler.By) Frame {
	switch {
	case by == profiler.ByLine && r.File != "":
		return Frame{File: r.File, Line: r.Line, Function: r.Function}
	case by == profiler.ByModule && r.Module != "":
		return Frame{Function: r.Module}
	case by == profiler.ByOp && r.Name != "":
		return Frame{Function: r.Name}
	case r.Name != "":
		return Frame{Function: r.Name, Kind: SpecialFrame}
	}
	return Frame{Function: "(no " + nounOf(by) + ")", Kind: SpecialFrame}
}

func (g *gatherer) kernelTable() TraceTable {
	out := TraceTable{
		Name: "kernel", Title: "Kernels", Noun: "kernel", Intro: "Work of the devices by name: kernels, copies, fills and collectives.",
		Columns: []Column{{"GPU time", "sum of durations", InTime}, {"Count", "how many", InCount}, {"Mean", "mean duration", InTime}, {"Longest", "longest duration", InTime}},
	}
	for _, k := range g.t.Kernels(false) {
		out.Rows = append(out.Rows, TraceRow{Frame: Frame{Function: k.Name}, Values: []int64{k.Time, int64(k.Count), k.Time / int64(max(1, k.Count)), k.Max}})
		out.Total += k.Time
	}
	return out
}
