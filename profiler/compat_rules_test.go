package profiler

import (
	"fmt"
	"strings"
	"testing"
)

// rulesTable is the table of a small trace, whose entries are given as JSON.
func rulesTable(t *testing.T, o TableOptions, entries ...string) map[string]Row {
	t.Helper()
	tr, err := Read(strings.NewReader(`{"schemaVersion": 1, "traceEvents": [`+strings.Join(entries, ",\n")+`]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.TorchCompat = true
	rows := make(map[string]Row)
	for _, r := range tr.Table(o).Rows {
		if _, ok := rows[r.Name]; ok {
			t.Fatalf("two rows of %s", r.Name)
		}
		rows[r.Name] = r
	}
	return rows
}

// op is an operator on thread tid from start to end, in µs.
func op(name string, tid, start, end, external int) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": %q, "pid": 1, "tid": %d, "ts": %d, "dur": %d, "args": {"External id": %d}}`,
		name, tid, start, end-start, external)
}

func kernel(name string, start, end, external int) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %d, "dur": %d, "args": {"External id": %d, "correlation": 900, "device": 0, "stream": 7}}`,
		name, start, end-start, external)
}

func memory(name string, tid, time, bytes int) string {
	return fmt.Sprintf(`{"ph": "i", "cat": "cpu_instant_event", "name": %q, "pid": 1, "tid": %d, "ts": %d, "args": {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": %d, "Total Allocated": 0, "Total Reserved": 0}}`,
		name, tid, time, bytes)
}

func wantRow(t *testing.T, rows map[string]Row, want Row) {
	t.Helper()
	got := rows[want.Name]
	got.Shapes, got.Stack = "", nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\nhave %+v\nwant %+v", want.Name, got, want)
	}
}

func TestCompatFoldsTheSameName(t *testing.T) {
	rows := rulesTable(t, TableOptions{},
		op("a", 1, 0, 100, 1), op("a", 1, 10, 90, 2), op("a", 1, 20, 80, 3), op("b", 1, 30, 40, 4), op("b", 1, 50, 60, 5),
		kernel("k", 200, 210, 2), kernel("k", 210, 230, 3))
	wantRow(t, rows, Row{Name: "a", Count: 1, SelfCPU: 80_000, CPU: 100_000, SelfDevice: 20_000, DeviceTime: 20_000, Kernels: 1})
	wantRow(t, rows, Row{Name: "b", Count: 2, SelfCPU: 20_000, CPU: 20_000})
	wantRow(t, rows, Row{Name: "k", Count: 2, SelfDevice: 30_000, DeviceTime: 30_000})
}

func TestCompatKeepsSiblingsOfTheSameName(t *testing.T) {
	rows := rulesTable(t, TableOptions{}, op("a", 1, 0, 100, 1), op("a", 1, 10, 20, 2), op("a", 1, 30, 40, 3))
	wantRow(t, rows, Row{Name: "a", Count: 3, SelfCPU: 100_000, CPU: 120_000})
}

func TestCompatMemoryOfAnyThread(t *testing.T) {
	rows := rulesTable(t, TableOptions{},
		op("waits", 1, 0, 100, 1), op("works", 2, 10, 20, 2),
		memory("[memory]", 2, 20, 64), memory("[memory]", 2, 0, 1), memory("[memory]", 2, 100, 2), memory("[memory]", 2, 101, 1000))
	wantRow(t, rows, Row{Name: "waits", Count: 1, SelfCPU: 100_000, CPU: 100_000, SelfDeviceMemory: 67, DeviceMemory: 67})
	wantRow(t, rows, Row{Name: "works", Count: 1, SelfCPU: 10_000, CPU: 10_000, SelfDeviceMemory: 64, DeviceMemory: 64})
	wantRow(t, rows, Row{Name: "[memory]", Count: 1, SelfDeviceMemory: 1000, DeviceMemory: 1000})
}

func TestCompatFailureIsAChild(t *testing.T) {
	rows := rulesTable(t, TableOptions{}, op("a", 1, 0, 100, 1), memory("[OutOfMemory]", 1, 50, 64))
	wantRow(t, rows, Row{Name: "a", Count: 1, SelfCPU: 100_000, CPU: 100_000, SelfDeviceMemory: -64})
	wantRow(t, rows, Row{Name: "[OutOfMemory]", Count: 1, SelfDeviceMemory: 64, DeviceMemory: 64})
}

func TestCompatPartialOverlap(t *testing.T) {
	// b outlasts a and so ends it; c begins as b ends and is not within it.
	rows := rulesTable(t, TableOptions{}, op("a", 1, 0, 50, 1), op("b", 1, 40, 60, 2), op("d", 1, 45, 48, 3), op("c", 1, 60, 60, 4))
	wantRow(t, rows, Row{Name: "a", Count: 1, SelfCPU: 50_000, CPU: 50_000})
	wantRow(t, rows, Row{Name: "b", Count: 1, SelfCPU: 17_000, CPU: 20_000})
	wantRow(t, rows, Row{Name: "c", Count: 1})
}

func TestCompatDropsAndRenames(t *testing.T) {
	unfinished := strings.Replace(op("open", 1, 3, 4, 9), `"External id"`, `"finished": false, "External id"`, 1)
	rows := rulesTable(t, TableOptions{}, op("aten::is_leaf", 1, 0, 1, 1), unfinished,
		op("ProfilerStep#1", 1, 5, 6, 2), op("ProfilerStep#2", 1, 6, 8, 3))
	if len(rows) != 1 {
		t.Errorf("rows %v", rows)
	}
	wantRow(t, rows, Row{Name: "ProfilerStep*", Count: 2, SelfCPU: 3000, CPU: 3000})
}

func TestCompatOverheadCopiesKernels(t *testing.T) {
	overhead := `{"ph": "X", "cat": "overhead", "name": "load", "pid": -1, "tid": 0, "ts": 10, "dur": 5}`
	rows := rulesTable(t, TableOptions{}, op("a", 1, 0, 100, 3_000_000_000), kernel("k", 200, 230, 3_000_000_000-1<<32), overhead)
	wantRow(t, rows, Row{Name: "a", Count: 1, SelfCPU: 95_000, CPU: 100_000, SelfDevice: 30_000, DeviceTime: 60_000, Kernels: 1})
	wantRow(t, rows, Row{Name: "load", Count: 1, SelfCPU: 5000, CPU: 5000, SelfDevice: 30_000, DeviceTime: 30_000, Kernels: 1})
}

// TestCompatSparseIDs takes ids too far apart for a list.
func TestCompatSparseIDs(t *testing.T) {
	rows := rulesTable(t, TableOptions{}, op("a", 1, 0, 1, 1), op("b", 1, 1, 2, 4_000_000_000), kernel("k", 5, 6, 4_000_000_000))
	wantRow(t, rows, Row{Name: "b", Count: 1, SelfCPU: 1000, CPU: 1000, SelfDevice: 1000, DeviceTime: 1000, Kernels: 1})
}

func TestShapeText(t *testing.T) {
	for dims, want := range map[string]string{
		"": "[]", "[]": "[]", "[[2,3],[],[4]]": "[[2, 3], [], [4]]", "[[[1], [2]], [3]]": "[[], [3]]", `[7, "x"]`: "[[], []]", "[[1": "[]",
	} {
		if got := shapeText(dims); got != want {
			t.Errorf("%q: %s, want %s", dims, got, want)
		}
	}
}

// TestCompatHostile takes times and sizes at the ends of their range.
func TestCompatHostile(t *testing.T) {
	far := `{"ph": "X", "cat": "cpu_op", "name": "far", "pid": 1, "tid": 1, "ts": -9223372036854775, "dur": 9223372036854775, "args": {"External id": 1}}`
	late := strings.ReplaceAll(strings.Replace(far, "-922", "922", 1), "far", "late")
	rows := rulesTable(t, TableOptions{}, far, late, memory("[memory]", 1, 1, 1<<62), memory("[memory]", 1, 2, 1<<62), memory("[memory]", 1, 3, 1<<62))
	if rows["far"].Count != 1 || rows["late"].Count != 1 {
		t.Errorf("rows %v", rows)
	}
}

// TestCompatFrameRing takes Python frames that call each other in a ring.
func TestCompatFrameRing(t *testing.T) {
	frame := func(id, parent int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "python_function", "name": "autograd/__init__ backward", "pid": 1, "tid": 1, "ts": 1, "dur": 100, "args": {"Python id": %d, "Python parent id": %d}}`, id, parent)
	}
	stacked := strings.Replace(op("a", 1, 0, 1000, 1), `"External id"`, `"Call stack": "x.py(1): f;y.py(2): g;", "External id"`, 1)
	overhead := `{"ph": "X", "cat": "overhead", "name": "load", "pid": -1, "tid": 0, "ts": 10, "dur": 5}`
	rows := rulesTable(t, TableOptions{By: ByStack, StackDepth: 1}, stacked, frame(1, 2), frame(2, 1), overhead)
	if got := fmt.Sprint(rows["a"].Stack, rows["load"].Stack); got != "[x.py(1): f] []" {
		t.Errorf("stacks %s", got)
	}
}
