package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// tracePartialLine heads the text about a trace that is not whole.
func (u *ui) tracePartialLine(t *profiler.Trace) string {
	if t.Partial == nil {
		return ""
	}
	return u.style(alarm, "PARTIAL") + " " + units.Safe(tracePartial(t)) + "\n"
}

// traceText prints a table.
func (u *ui) traceText(t *profiler.Trace, table profiler.Table, o *traceOptions) string {
	var b strings.Builder
	b.WriteString(u.tracePartialLine(t))
	title := "by " + table.By.String()
	if o.compat {
		title += ", as key_averages() counts: sums are no ledger"
	}
	b.WriteString(u.style(bold, traceLine(t)+", "+title) + "\n")
	if len(table.Rows) == 0 {
		b.WriteString("no rows\n")
		return b.String()
	}
	shown := o.rows.limit(len(table.Rows))
	if shown == len(table.Rows)-1 && !o.rows.given {
		shown = len(table.Rows)
	}
	rows, hidden := table.Rows[:shown], table.Rows[shown:]
	columns := fitColumns(nonZero(table), table.Rows, o.sort, u.width)
	if table.By == profiler.ByStack {
		b.WriteString(u.traceStacks(rows, columns))
		b.WriteString("\n" + u.traceClosing(table, rows, hidden, columns))
		return b.String()
	}
	b.WriteString(u.traceRows(table, rows, hidden, columns))
	return b.String()
}

// traceRows prints rows as a table, then what is hidden and the sums.
func (u *ui) traceRows(table profiler.Table, rows, hidden []profiler.Row, columns []traceColumn) string {
	room := u.width - columnsWidth(columns, table.Rows)
	w := newTable(traceAlignments(columns)...)
	w.header(append(traceHeads(columns), table.By.String())...)
	for i := range rows {
		w.row(append(traceCells(columns, &rows[i]), traceName(&rows[i], room))...)
	}
	u.closeTrace(w, table, rows, hidden, columns, room)
	return w.String()
}

// traceClosing is the closing lines alone, over the columns that have a sum.
func (u *ui) traceClosing(table profiler.Table, rows, hidden []profiler.Row, columns []traceColumn) string {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c traceColumn) bool { return !c.sums })
	w := newTable(traceAlignments(columns)...)
	w.header(append(traceHeads(columns), "")...)
	u.closeTrace(w, table, rows, hidden, columns, u.width-columnsWidth(columns, table.Rows))
	return w.String()
}

// closeTrace adds what is hidden, what no operator did, and the sums of all,
// which are those of the ledger.
func (u *ui) closeTrace(w *textTable, table profiler.Table, rows, hidden []profiler.Row, columns []traceColumn, room int) {
	if len(hidden) > 0 {
		w.row(append(traceSums(columns, hidden), ellipsis+" "+plural(len(hidden), "more row"))...)
	}
	all := table.Rows[:len(table.Rows):len(table.Rows)]
	outside := outsideRow(&table)
	if slices.ContainsFunc(columns, func(c traceColumn) bool { return c.value(&outside) != 0 }) {
		w.row(append(traceSums(columns, []profiler.Row{outside}), cutRight("(outside of every operator)", room))...)
		all = append(all, outside)
	}
	w.row(append(traceSums(columns, all), u.style(bold, traceTotal(rows, hidden)))...)
}

// outsideRow is the memory that was allocated and freed outside of every
// operator.
func outsideRow(table *profiler.Table) profiler.Row {
	return profiler.Row{
		Allocated: table.Unattributed, Freed: table.UnattributedFreed,
		SelfDeviceMemory: table.UnattributedDevice, SelfCPUMemory: table.UnattributedCPU,
	}
}

func traceTotal(rows, hidden []profiler.Row) string {
	if len(hidden) == 0 {
		return "total, " + plural(len(rows), "row")
	}
	return fmt.Sprintf("total, %s of %s shown", units.Count(len(rows)), plural(len(rows)+len(hidden), "row"))
}

func traceAlignments(columns []traceColumn) []text.Align {
	list := make([]text.Align, len(columns)+1)
	for i := range columns {
		list[i] = right
	}
	list[len(columns)] = left
	return list
}

func traceHeads(columns []traceColumn) []string {
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
	}
	return heads
}

func traceCells(columns []traceColumn, r *profiler.Row) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.text(c.value(r))
	}
	return cells
}

// traceSums are the sums of columns over rows, empty where a sum means nothing.
func traceSums(columns []traceColumn, rows []profiler.Row) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		if !c.sums {
			continue
		}
		var sum int64
		for k := range rows {
			sum += c.value(&rows[k])
		}
		cells[i] = c.text(sum)
	}
	return cells
}

// traceName is what a row stands for, in at most width columns.
func traceName(r *profiler.Row, width int) string {
	tail := ""
	if r.Backward {
		tail = " (backward)"
	}
	width -= units.Width(tail)
	switch {
	case r.File != "":
		return location(r.File, r.Line, r.Function, width) + tail
	case r.Shapes != "":
		return cutRight(units.Safe(r.Name)+" "+units.Safe(r.Shapes), width) + tail
	}
	return units.Ellipsis(units.Safe(r.Name), width) + tail
}

// traceStacks prints each row with its stack, innermost first.
func (u *ui) traceStacks(rows []profiler.Row, columns []traceColumn) string {
	const indent = "    "
	var b strings.Builder
	for i := range rows {
		r := &rows[i]
		b.WriteString("\n" + u.style(bold, traceName(r, u.width)) + "\n")
		var parts []string
		for k, cell := range traceCells(columns, r) {
			if columns[k].value(r) != 0 {
				parts = append(parts, columns[k].head+" "+cell+"  ")
			}
		}
		b.WriteString("  " + strings.Join(wrap(parts, u.width-2), "\n  ") + "\n")
		for _, frame := range r.Stack {
			b.WriteString(indent + units.Ellipsis(units.Safe(frame), u.width-len(indent)) + "\n")
		}
	}
	return b.String()
}
