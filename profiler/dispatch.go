package profiler

import (
	"cmp"
	"slices"
)

// Table is the profiler's table of a kind. Rows are sorted by memory, then time,
// the largest first.
func (t *Trace) Table(o TableOptions) Table {
	switch {
	case o.TorchCompat && o.By <= ByStack:
		return t.keyAverages(o)
	case o.By == ByCategory:
		return t.categoryTable(o)
	case o.By == ByKernel:
		return t.kernelTable(o)
	}
	return t.attribute(o)
}

// sortRows puts rows with the most memory of their own first, then those with
// the most time; the others keep their order.
func sortRows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.SelfDeviceMemory, a.SelfDeviceMemory),
			cmp.Compare(b.SelfCPUMemory, a.SelfCPUMemory),
			cmp.Compare(b.SelfDevice, a.SelfDevice),
			cmp.Compare(b.SelfCPU, a.SelfCPU))
	})
}
