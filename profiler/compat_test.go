package profiler

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/internal/input"
)

const captures = "../testdata/traces"

// captureNames are the traces in testdata.
func captureNames(t testing.TB) []string {
	t.Helper()
	const suffix = ".trace.json.zst"
	paths, err := filepath.Glob(filepath.Join(captures, "*"+suffix))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces in %s: %v", captures, err)
	}
	for i := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(paths[i]), suffix)
	}
	return paths
}

func openCapture(t testing.TB, name string) *Trace {
	t.Helper()
	tr, err := Open(filepath.Join(captures, name+".trace.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// An oracleRow is a row of key_averages() as torch returned it in the process
// that recorded the trace. Times are µs.
type oracleRow struct {
	Key              string   `json:"key"`
	Stack            []string `json:"stack"`
	Shapes           string   `json:"input_shapes"`
	Count            int64    `json:"count"`
	SelfCPU          float64  `json:"self_cpu_time_total"`
	CPU              float64  `json:"cpu_time_total"`
	SelfDevice       float64  `json:"self_device_time_total"`
	DeviceTime       float64  `json:"device_time_total"`
	SelfCPUMemory    int64    `json:"self_cpu_memory_usage"`
	CPUMemory        int64    `json:"cpu_memory_usage"`
	SelfDeviceMemory int64    `json:"self_device_memory_usage"`
	DeviceMemory     int64    `json:"device_memory_usage"`
	Flops            int64    `json:"flops"`
}

type oracle struct {
	Averages []oracleRow `json:"averages"`
	ByShape  []oracleRow `json:"by_shape"`
	ByStack  []oracleRow `json:"by_stack5"`
}

func openOracle(t testing.TB, name string) oracle {
	t.Helper()
	f, err := input.Open(filepath.Join(captures, name+".oracle.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// cells are the numbers of a row; the first four are times in ns.
type cells [10]int64

var cellNames = [...]string{"self CPU", "CPU", "self device", "device", "count", "self CPU memory", "CPU memory",
	"self device memory", "device memory", "flops"}

func (r oracleRow) cells() cells {
	ns := func(us float64) int64 { return int64(us*1000 + 0.5) }
	return cells{ns(r.SelfCPU), ns(r.CPU), ns(r.SelfDevice), ns(r.DeviceTime), r.Count, r.SelfCPUMemory, r.CPUMemory,
		r.SelfDeviceMemory, r.DeviceMemory, r.Flops}
}

func (r Row) cells() cells {
	return cells{r.SelfCPU, r.CPU, r.SelfDevice, r.DeviceTime, int64(r.Count), r.SelfCPUMemory, r.CPUMemory,
		r.SelfDeviceMemory, r.DeviceMemory, r.Flops}
}

func (c cells) plus(d cells) cells {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// near reports whether numbers are equal but for the float64 in which torch
// sums times: 2 ns a call.
func (c cells) near(d cells) (cell string, ok bool) {
	for i := range c {
		slack := int64(0)
		if i < 4 {
			slack = min(1000, 2*max(1, d[4]))
		}
		if distance(c[i], d[i]) > slack {
			return cellNames[i], false
		}
	}
	return "", true
}

// TestKeyAverages compares every cell with what torch returned.
func TestKeyAverages(t *testing.T) {
	for _, name := range captureNames(t) {
		tr, want := openCapture(t, name), openOracle(t, name)
		for by, rows := range map[By][]oracleRow{ByOp: want.Averages, ByShape: want.ByShape, ByStack: want.ByStack} {
			t.Run(fmt.Sprint(name, " by ", by), func(t *testing.T) {
				if by == ByOp && len(rows) == 0 {
					t.Fatal("the oracle has no rows")
				}
				if len(rows) > 0 {
					compareRows(t, tr.Table(TableOptions{By: by, TorchCompat: true}).Rows, rows)
				}
			})
		}
	}
}

func compareRows(t *testing.T, got []Row, want []oracleRow) {
	t.Helper()
	have, expect := make(map[string]cells), make(map[string]cells)
	for _, r := range got {
		k := fmt.Sprintf("%q %s %q", r.Name, r.Shapes, r.Stack)
		have[k] = have[k].plus(r.cells())
	}
	for _, r := range want {
		k := fmt.Sprintf("%q %s %q", r.Key, r.Shapes, r.Stack)
		expect[k] = expect[k].plus(r.cells())
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for _, k := range slices.Sorted(maps.Keys(expect)) {
		if cell, ok := have[k].near(expect[k]); !ok {
			t.Errorf("%s: %s differs\nhave %v\nwant %v", k, cell, have[k], expect[k])
		}
	}
}
