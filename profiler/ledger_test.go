package profiler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestDeviceTypeString(t *testing.T) {
	for d, want := range map[DeviceType]string{0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 20: "privateuse1", 99: "99", -3: "-3"} {
		if got := d.String(); got != want {
			t.Errorf("DeviceType(%d) is %q, want %q", int8(d), got, want)
		}
	}
}

func memoryTrace(events ...MemoryEvent) *Trace {
	return &Trace{Names: []string{""}, Threads: []Thread{{}}, Memory: events}
}

// event is an event on device 0.
func event(time, bytes, allocated, reserved int64) MemoryEvent {
	return MemoryEvent{Time: time, Bytes: bytes, Allocated: allocated, Reserved: reserved, Type: 1}
}

func TestLedger(t *testing.T) {
	oom := event(25, 1000, 40, 64)
	oom.OOM = true
	for name, c := range map[string]struct {
		events []MemoryEvent
		want   Ledger
	}{
		"not in order of time": {
			[]MemoryEvent{event(30, -20, 20, 32), event(10, 10, 20, 32), event(20, 20, 40, 64)},
			Ledger{Baseline: 10, Peak: 40, PeakTime: 20, ReservedPeak: 64, End: 20, Allocated: 30, Freed: 20, Events: 3, HasTotals: true},
		},
		"baseline is the peak": {
			[]MemoryEvent{event(10, -50, 50, 128), event(20, 10, 60, 128)},
			Ledger{Baseline: 100, Peak: 100, PeakTime: 10, ReservedPeak: 128, End: 60, Allocated: 10, Freed: 50, Events: 2, HasTotals: true},
		},
		"a failure is no allocation": {
			[]MemoryEvent{event(10, 40, 40, 64), oom, event(30, -40, 0, 64)},
			Ledger{Peak: 40, PeakTime: 10, ReservedPeak: 64, Allocated: 40, Freed: 40, Events: 2, OOMs: 1, HasTotals: true},
		},
		"totals that contradict the events": {
			[]MemoryEvent{event(10, 40, 40, 64), event(20, 10, 45, 64)},
			Ledger{Peak: 45, PeakTime: 20, ReservedPeak: 64, End: 45, Allocated: 50, Events: 2, HasTotals: true, Unreconciled: 5},
		},
		"without totals": {
			[]MemoryEvent{event(10, 40, NoTotal, NoTotal), event(20, -10, NoTotal, NoTotal)},
			Ledger{Peak: 40, PeakTime: 10, End: 30, Allocated: 40, Freed: 10, Events: 2},
		},
		"beyond the range": {
			[]MemoryEvent{event(10, math.MaxInt64, NoTotal, NoTotal), event(20, math.MaxInt64, NoTotal, NoTotal), event(30, math.MinInt64, NoTotal, NoTotal)},
			Ledger{Peak: math.MaxInt64, PeakTime: 10, End: -1, Allocated: math.MaxInt64, Freed: math.MaxInt64, Events: 3, Unreconciled: math.MaxInt64},
		},
	} {
		c.want.Type = 1
		got := memoryTrace(c.events...).Ledgers()
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s:\nhave %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestLedgersByDevice(t *testing.T) {
	second, cpu, other := event(1, 8, 8, 8), event(1, 8, 8, 0), event(2, 8, 16, 0)
	second.Device = 1
	cpu.Type, cpu.Device = 0, -1
	other.Type = 0 // the CPU under its other number
	var names []string
	for _, l := range memoryTrace(second, event(1, 8, 8, 8), cpu, other).Ledgers() {
		names = append(names, fmt.Sprint(l.Type, " ", l.Device, " ", l.Events))
	}
	if got, want := strings.Join(names, ", "), "cpu -1 2, cuda 0 1, cuda 1 1"; got != want {
		t.Errorf("devices %s, want %s", got, want)
	}
}

// TestCurve checks that a reduced curve keeps its ends and both peaks.
func TestCurve(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var events []MemoryEvent
	allocated := int64(500)
	for i := range int64(5000) {
		bytes := random.Int64N(200) - min(allocated, 100)
		allocated += bytes
		events = append(events, event(i, bytes, allocated, random.Int64N(1<<40)))
	}
	tr := memoryTrace(events...)
	l := tr.Ledgers()[0]
	whole, curve := tr.Curve(l, 0), tr.Curve(l, 300)
	if len(whole) != len(events)+1 || len(curve) > 300 || len(curve) < 100 {
		t.Fatalf("%d and %d points", len(whole), len(curve))
	}
	if whole[0].Allocated != l.Baseline || curve[0] != whole[0] || curve[len(curve)-1] != whole[len(whole)-1] {
		t.Error("the ends are lost")
	}
	highest := slices.MaxFunc(curve, func(a, b MemoryPoint) int { return int(a.Allocated - b.Allocated) })
	if highest.Allocated != l.Peak {
		t.Errorf("peak %d, want %d", highest.Allocated, l.Peak)
	}
	if !slices.ContainsFunc(curve, func(p MemoryPoint) bool { return p.Reserved == l.ReservedPeak }) {
		t.Error("the reserved peak is lost")
	}
	if !slices.IsSortedFunc(curve, func(a, b MemoryPoint) int { return int(a.Time - b.Time) }) {
		t.Error("points are out of order")
	}
	if tr.Curve(Ledger{Type: 6}, 10) != nil {
		t.Error("a curve of a device that is not there")
	}
}

// TestCaptureLedgers checks on real traces that totals and events agree.
func TestCaptureLedgers(t *testing.T) {
	for _, name := range captureNames(t) {
		for _, l := range openCapture(t, name).Ledgers() {
			if !l.HasTotals || l.Unreconciled != 0 || l.Baseline+l.Allocated-l.Freed != l.End {
				t.Errorf("%s: %+v does not add up", name, l)
			}
		}
	}
}
