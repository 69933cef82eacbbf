package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// A traceColumn is a number of a row.
type traceColumn struct {
	name   string // of --sort
	head   string
	value  func(*profiler.Row) int64
	text   func(int64) string
	sums   bool // values of different rows are of different things, so that their sum means something
	weight int  // columns of the least weight are left out where room is scarce
}

// traceColumns are all columns, in the order in which they are printed.
var traceColumns = []traceColumn{
	{"allocated", "allocated", func(r *profiler.Row) int64 { return r.Allocated }, units.Bytes, true, 9},
	{"freed", "freed", func(r *profiler.Row) int64 { return r.Freed }, units.Bytes, true, 8},
	{"peak", "peak", func(r *profiler.Row) int64 { return r.Peak }, units.Bytes, false, 6},
	{"kept", "kept, sum", func(r *profiler.Row) int64 { return r.Kept }, units.Bytes, false, 5},
	{"self-device-memory", "self dev mem", func(r *profiler.Row) int64 { return r.SelfDeviceMemory }, units.Bytes, true, 4},
	{"device-memory", "device mem", func(r *profiler.Row) int64 { return r.DeviceMemory }, units.Bytes, false, 3},
	{"self-cpu-memory", "self CPU mem", func(r *profiler.Row) int64 { return r.SelfCPUMemory }, units.Bytes, true, 4},
	{"cpu-memory", "CPU mem", func(r *profiler.Row) int64 { return r.CPUMemory }, units.Bytes, false, 2},
	{"self-device", "self device", func(r *profiler.Row) int64 { return r.SelfDevice }, nanoseconds, true, 7},
	{"device", "device", func(r *profiler.Row) int64 { return r.DeviceTime }, nanoseconds, false, 1},
	{"self-cpu", "self CPU", func(r *profiler.Row) int64 { return r.SelfCPU }, nanoseconds, true, 7},
	{"cpu", "CPU", func(r *profiler.Row) int64 { return r.CPU }, nanoseconds, false, 2},
	{"flops", "flops", func(r *profiler.Row) int64 { return r.Flops }, units.Count[int64], true, 0},
	{"kernels", "kernels", func(r *profiler.Row) int64 { return int64(r.Kernels) }, units.Count[int64], true, 0},
	{"count", "calls", func(r *profiler.Row) int64 { return int64(r.Count) }, units.Count[int64], true, 9},
}

func traceColumnNames() string {
	var names []string
	for _, c := range traceColumns {
		names = append(names, c.name)
	}
	return strings.Join(append(names, "name"), ", ")
}

// findColumn finds a column by its name, by its JSON key or by torch's name for it.
func findColumn(name string) (traceColumn, bool) {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	name = strings.ReplaceAll(name, "cuda", "device")
	for _, end := range []string{"-bytes", "-usage", "-us", "-total", "-time"} {
		name = strings.TrimSuffix(name, end)
	}
	i := slices.IndexFunc(traceColumns, func(c traceColumn) bool { return c.name == name })
	if i < 0 {
		return traceColumn{}, false
	}
	return traceColumns[i], true
}

// sortBy sorts rows by a column, the largest first, or by name. Rows that
// compare equal stay as they are, as do all when no column is given.
func sortBy(rows []profiler.Row, column string) {
	if column == "name" {
		slices.SortStableFunc(rows, func(a, b profiler.Row) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	if c, ok := findColumn(column); ok {
		slices.SortStableFunc(rows, func(a, b profiler.Row) int { return cmp.Compare(c.value(&b), c.value(&a)) })
	}
}

// headOf is what a column is called in a table. By category peak and kept are
// what was there at the peak and at the end.
func headOf(c traceColumn, by profiler.By) traceColumn {
	if by == profiler.ByCategory {
		switch c.name {
		case "peak":
			c.head, c.sums = "at peak", true
		case "kept":
			c.head, c.sums = "at end", true
		}
	}
	return c
}

// nonZero are the columns that say something in a table.
func nonZero(table profiler.Table) []traceColumn {
	var list []traceColumn
	for _, c := range traceColumns {
		if table.By == profiler.ByKernel && c.name != "self-device" && c.name != "count" {
			continue // all the same: a kernel calls nothing
		}
		if slices.ContainsFunc(table.Rows, func(r profiler.Row) bool { return c.value(&r) != 0 }) {
			list = append(list, headOf(c, table.By))
		}
	}
	return list
}

// leastName is the room that names need to be told apart, for a width.
func leastName(width int) int { return width * 3 / 8 }

// fitColumns leaves out columns of little weight until names have room. The one
// that rows are sorted by stays.
func fitColumns(columns []traceColumn, rows []profiler.Row, sorted string, width int) []traceColumn {
	by, _ := findColumn(sorted)
	for len(columns) > 1 && width-columnsWidth(columns, rows) < leastName(width) {
		least := -1
		for i, c := range columns {
			if c.name != by.name && (least < 0 || c.weight < columns[least].weight) {
				least = i
			}
		}
		columns = slices.Delete(slices.Clone(columns), least, least+1)
	}
	return columns
}

// columnsWidth is the width of columns with the gaps behind them, over these
// rows and their sum.
func columnsWidth(columns []traceColumn, rows []profiler.Row) int {
	total := 0
	for _, c := range columns {
		width, sum := units.Width(c.head), int64(0)
		for i := range rows {
			v := c.value(&rows[i])
			sum += v
			width = max(width, units.Width(c.text(v)))
		}
		if c.sums {
			width = max(width, units.Width(c.text(sum)))
		}
		total += width + columnGap
	}
	return total
}

// nanoseconds prints a duration in ns.
func nanoseconds(ns int64) string {
	if ns == 0 {
		return "0"
	}
	if us := (ns + 500) / 1000; us != 0 {
		return units.Duration(us)
	}
	return units.Count(ns) + " ns"
}
