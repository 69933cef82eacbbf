package profiler

import (
	"reflect"
	"strings"
	"testing"
)

func TestUnion(t *testing.T) {
	got := union([]interval{{5, 9}, {0, 2}, {1, 3}, {9, 10}, {20, 20}, {12, 15}, {13, 14}})
	want := intervals{{0, 3}, {5, 10}, {12, 15}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	if n := got.length(); n != 11 {
		t.Errorf("length %d", n)
	}
	if n := got.overlap(intervals{{2, 6}, {9, 13}, {14, 30}}); n != 1+1+1+1+1 {
		t.Errorf("overlap %d", n)
	}
	if n := got.within(2, 13); n != 1+5+1 {
		t.Errorf("within %d", n)
	}
}

// work is a trace with kernels of two streams, launches and a span of an
// annotation that must not count.
func work() *Trace {
	tr := &Trace{Names: []string{"", "gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD", "## step ##", "aten::mm", "cudaLaunchKernel", "aten::wait"},
		Threads: []Thread{{PID: "1", TID: "1"}, {PID: "0", TID: "7"}, {PID: "0", TID: "8"}}}
	add := func(name Name, kind DeviceKind, stream int32, start, dur, correlation, bytes int64) {
		tr.Device = append(tr.Device, DeviceEvent{Name: name, Kind: kind, Stream: stream, Start: start, Dur: dur, Correlation: correlation, Bytes: bytes, External: -1})
	}
	add(4, DeviceAnnotation, 7, 0, 1000, -1, 0)
	add(1, Kernel, 7, 100, 50, 1, 0)
	add(2, Kernel, 8, 120, 60, 2, 0) // communicates 120–180, 30 of it while computing
	add(1, Kernel, 7, 300, 100, 3, 0)
	add(3, Memcpy, 7, 400, 20, 4, 4096)
	add(1, Kernel, 7, 430, 10, -1, 0) // launched before the trace
	host := func(name Name, kind HostKind, start, dur, correlation int64) {
		tr.Host = append(tr.Host, HostEvent{Name: name, Kind: kind, Start: start, Dur: dur, Correlation: correlation})
	}
	host(5, Operator, 80, 20, -1)
	host(6, Runtime, 85, 5, 1)
	host(6, Runtime, 92, 5, 2)
	host(7, Operator, 170, 100, -1) // what the thread did in the gap 180–300
	host(5, Operator, 275, 20, -1)
	host(6, Runtime, 280, 5, 3)
	host(6, Runtime, 290, 5, 4)
	tr.Frames = []Frame{{Start: 0, Dur: 500, ID: 1, Parent: -1, Module: -1}, {Start: 160, Dur: 120, ID: 2, Parent: 1, Module: -1}}
	return tr
}

func TestKernelStats(t *testing.T) {
	s := work().KernelStats()
	if len(s.Devices) != 1 || s.Unlinked != 1 {
		t.Fatalf("%+v", s)
	}
	d := s.Devices[0]
	if d.Count != 5 || d.Time != 240 || d.Start != 100 || d.End != 440 || d.Busy != 210 || d.Idle != 130 {
		t.Errorf("count %d time %d from %d to %d busy %d idle %d", d.Count, d.Time, d.Start, d.End, d.Busy, d.Idle)
	}
	if d.Compute != 160 || d.Communication != 60 || d.Overlap != 30 || d.Exposed != 30 || d.Copy != 20 || d.CopyBytes != 4096 {
		t.Errorf("%+v", d)
	}
	if len(d.Streams) != 2 || d.Streams[0].Busy != 180 || d.Streams[1].Communication != 60 || d.Streams[1].Count != 1 {
		t.Errorf("streams %+v", d.Streams)
	}
	if len(d.Gaps) != 2 {
		t.Fatalf("gaps %+v", d.Gaps)
	}
	if want := (Gap{Start: 180, Dur: 120, Before: 2, After: 3, Host: 3, HostTime: 90, Frame: 1}); d.Gaps[0] != want {
		t.Errorf("gap %+v, want %+v", d.Gaps[0], want)
	}
	if g := d.Gaps[1]; g.Dur != 10 || g.Host != -1 || g.Frame != -1 {
		t.Errorf("gap of a kernel without a launch: %+v", g)
	}
}

func TestKernels(t *testing.T) {
	rows := work().Kernels(false)
	if len(rows) != 3 || rows[0].Name != "gemm" || rows[0].Count != 3 || rows[0].Time != 160 || rows[0].Min != 10 || rows[0].Max != 100 || rows[0].Stream != AllStreams {
		t.Errorf("%+v", rows)
	}
	if !rows[1].Communication || rows[2].Bytes != 4096 {
		t.Errorf("%+v", rows)
	}
	if by := work().Kernels(true); len(by) != 3 || by[1].Stream != 8 {
		t.Errorf("%+v", by)
	}
	table := work().kernelTable(TableOptions{By: ByKernel})
	if len(table.Rows) != 3 || table.Rows[0].SelfDevice != 160 || table.Rows[0].Kernels != 3 || !strings.Contains(table.Notes[0], "4.00 KiB") {
		t.Errorf("%+v", table)
	}
	if empty := new(Trace).kernelTable(TableOptions{}); len(empty.Notes) != 1 {
		t.Errorf("%+v", empty)
	}
}

func TestIsCommunication(t *testing.T) {
	for name, want := range map[string]bool{"ncclDevKernel_AllReduce_Sum_f32_RING_LL": true, "ncclKernel_AllGather": true, "rcclGenericKernel": true,
		"nccl:all_reduce": true, "gloo:broadcast": true, "oneccl_allreduce": true, "sm90_xmma_gemm": false, "vectorized_elementwise_kernel": false} {
		if isCommunication(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
