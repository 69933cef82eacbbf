package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/snapview/snapview/profiler"
)

// microseconds is a time in ns that JSON shows in µs: whole where it is whole,
// with three decimals otherwise.
type microseconds int64

func (m microseconds) MarshalJSON() ([]byte, error) {
	whole, part := int64(m)/1000, int64(m)%1000
	if part == 0 {
		return strconv.AppendInt(nil, whole, 10), nil
	}
	sign := ""
	if m < 0 {
		sign, whole, part = "-", -whole, -part
	}
	digits := strconv.FormatInt(1000+part, 10)[1:]
	return []byte(sign + strconv.FormatInt(whole, 10) + "." + digits), nil
}

// traceTable is the JSON of trace.
type traceTable struct {
	File              string        `json:"file"`
	Partial           string        `json:"partial,omitempty"`
	Repaired          int           `json:"repaired,omitempty"`
	Repairs           []traceRepair `json:"repairs,omitempty"`
	By                string        `json:"by"`
	TorchCompat       bool          `json:"torch_compat"`
	AllRows           int           `json:"total_rows"`
	Rows              []traceRow    `json:"rows"`
	Unattributed      int64         `json:"unattributed_bytes"`
	UnattributedFreed int64         `json:"unattributed_freed_bytes"`
	UnattributedNet   int64         `json:"unattributed_device_net_bytes"`
	UnattributedCPU   int64         `json:"unattributed_cpu_net_bytes"`
	Notes             []string      `json:"notes,omitempty"`
}

// A traceRepair is damage that was read around.
type traceRepair struct {
	Kind   string `json:"kind"`
	Offset int64  `json:"offset"`
	Lost   int    `json:"lost_events,omitempty"`
}

// traceRow is a row of trace. Pointers are left out where the kind of table
// does not have the number.
type traceRow struct {
	Name     string          `json:"name"`
	Stack    []string        `json:"stack,omitempty"` // innermost first
	Shapes   json.RawMessage `json:"input_shapes,omitempty"`
	File     string          `json:"file,omitempty"`
	Line     int32           `json:"line,omitempty"`
	Function string          `json:"function,omitempty"`
	Module   string          `json:"module,omitempty"`
	Backward bool            `json:"backward,omitempty"`
	Count    int             `json:"count"`

	SelfCPU          microseconds `json:"self_cpu_time_us"`
	CPU              microseconds `json:"cpu_time_us"`
	SelfDevice       microseconds `json:"self_device_time_us"`
	DeviceTime       microseconds `json:"device_time_us"`
	SelfCPUMemory    int64        `json:"self_cpu_memory_bytes"`
	CPUMemory        int64        `json:"cpu_memory_bytes"`
	SelfDeviceMemory int64        `json:"self_device_memory_bytes"`
	DeviceMemory     int64        `json:"device_memory_bytes"`
	Flops            int64        `json:"flops"`
	Kernels          int          `json:"kernels"`

	Allocated *int64 `json:"allocated_bytes,omitempty"`
	Freed     *int64 `json:"freed_bytes,omitempty"`
	Allocs    *int   `json:"allocations,omitempty"`
	Frees     *int   `json:"frees,omitempty"`
	Peak      *int64 `json:"peak_bytes,omitempty"`
	Kept      *int64 `json:"kept_bytes,omitempty"`
}

func (o *traceOptions) traceJSON(t *profiler.Trace, table profiler.Table) traceTable {
	out := traceTable{
		File: t.Source.Name, Partial: tracePartial(t), Repaired: t.Repaired, Repairs: traceRepairs(t),
		By: table.By.String(), TorchCompat: o.compat, AllRows: len(table.Rows), Rows: []traceRow{},
		Unattributed: table.Unattributed, UnattributedFreed: table.UnattributedFreed,
		UnattributedNet: table.UnattributedDevice, UnattributedCPU: table.UnattributedCPU, Notes: table.Notes,
	}
	shown := table.Rows[:o.rows.limit(len(table.Rows))]
	for i := range shown {
		out.Rows = append(out.Rows, o.rowJSON(&shown[i], table.By))
	}
	return out
}

func (o *traceOptions) rowJSON(r *profiler.Row, by profiler.By) traceRow {
	out := traceRow{
		Name: r.Name, Stack: r.Stack, File: r.File, Line: r.Line, Function: r.Function, Module: r.Module, Backward: r.Backward,
		Count: r.Count, SelfCPU: microseconds(r.SelfCPU), CPU: microseconds(r.CPU),
		SelfDevice: microseconds(r.SelfDevice), DeviceTime: microseconds(r.DeviceTime),
		SelfCPUMemory: r.SelfCPUMemory, CPUMemory: r.CPUMemory, SelfDeviceMemory: r.SelfDeviceMemory, DeviceMemory: r.DeviceMemory,
		Flops: r.Flops, Kernels: r.Kernels,
	}
	if by == profiler.ByShape {
		out.Shapes = json.RawMessage("[]")
		if json.Valid([]byte(r.Shapes)) {
			out.Shapes = json.RawMessage(r.Shapes)
		}
	}
	if !o.compat && by != profiler.ByKernel {
		out.Allocated, out.Freed, out.Allocs, out.Frees = &r.Allocated, &r.Freed, &r.Allocs, &r.Frees
		out.Peak, out.Kept = &r.Peak, &r.Kept
	}
	return out
}

// tracePartial says why a trace is not whole, "" when it is.
func tracePartial(t *profiler.Trace) string {
	if t.Partial == nil {
		return ""
	}
	return strings.Join(strings.Fields(t.Partial.Error()), " ")
}

func traceRepairs(t *profiler.Trace) []traceRepair {
	var list []traceRepair
	for _, r := range t.Repairs {
		list = append(list, traceRepair{r.Kind, r.Offset, r.Lost})
	}
	return list
}

// traceFormat names the encoding: "chrome trace, zstd".
func traceFormat(t *profiler.Trace) string {
	return strings.Join(append([]string{"chrome trace"}, t.Source.Compression...), ", ")
}
