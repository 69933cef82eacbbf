package allocator

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// outcome is a made-up result.
func outcome(conf string, reserved int64, ooms, calls int) *Result {
	set, err := ParseConf(conf)
	if err != nil {
		panic(err)
	}
	return &Result{Settings: set, Stats: Stats{PeakReserved: reserved * mib, OOMs: ooms, DeviceAllocs: calls}}
}

func TestChoose(t *testing.T) {
	const expandable, both = "expandable_segments:True", "expandable_segments:True,roundup_power2_divisions:4"
	for _, c := range []struct {
		name     string
		baseline *Result
		others   []*Result
		want     string // "none" for none
		recorded int64  // peak in MiB, 0 for that of the baseline
	}{
		{"a clear gain", outcome("", 1000, 0, 50), []*Result{outcome(expandable, 800, 0, 60), outcome("max_split_size_mb:64", 900, 0, 40)}, expandable, 0},
		{"under 1 % is no reason to change", outcome("", 1000, 0, 50), []*Result{outcome(expandable, 991, 0, 10)}, "", 0},
		{"simpler where equal within 1 %", outcome("", 1000, 0, 50), []*Result{outcome(both, 798, 0, 60), outcome(expandable, 800, 0, 90)}, expandable, 0},
		{"fewer calls where equal", outcome("", 1000, 0, 50), []*Result{outcome(expandable, 800, 0, 90), outcome("max_split_size_mb:64", 802, 0, 40)}, "max_split_size_mb:64", 0},
		{"what fails is no choice", outcome("", 900, 1, 50), []*Result{outcome(expandable, 990, 0, 90), outcome("max_split_size_mb:64", 800, 2, 40)}, expandable, 0},
		{"nothing fits", outcome("", 900, 3, 50), []*Result{outcome(expandable, 990, 1, 90)}, "none", 0},
		{"less than the replay misses the record by", outcome("", 792, 0, 50), []*Result{outcome(expandable, 770, 0, 50)}, "", 780},
		{"what is not modelled is no choice", outcome("", 1000, 0, 50), []*Result{outcome("no_such_key:1", 800, 0, 50)}, "", 0},
	} {
		got := "none"
		a := &Advice{Baseline: c.baseline, Replays: c.others, Recorded: cmp.Or(c.recorded*mib, c.baseline.PeakReserved)}
		a.Error = distance(a.Recorded, c.baseline.PeakReserved)
		if best := a.choose(); best != nil {
			got = best.Settings.Name()
		}
		if got != c.want {
			t.Errorf("%s: chose %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCardFor(t *testing.T) {
	const gib = 1024 * mib
	for bytes, want := range map[int64]int{1: 24, 21 * gib: 24, 22 * gib: 40, 40 * gib: 48, 73 * gib: 80, 74 * gib: 96, 130 * gib: 141, 170 * gib: 192, 200 * gib: 0} {
		if got := CardFor(bytes); got != want {
			t.Errorf("%d GiB: a card of %d GB, want %d", bytes/gib, got, want)
		}
	}
}

func exactReplay(t *testing.T, capture string) *Replay {
	t.Helper()
	s, d := load(t, filepath.Join(captures, capture+".pickle.zst"))
	return Exact(s, s.Timeline(d))
}

// TestAdvise asks about a workload that fragments memory: it fits into the memory
// it is said to, which is less than it reserves without a limit.
func TestAdvise(t *testing.T) {
	r := exactReplay(t, "sim_kvcache/default")
	a := r.Advise(Question{})
	if a.Best == nil || a.Best.Settings.Name() != "expandable_segments:True" || a.Limit != 0 {
		t.Fatalf("advice: %+v", a.Best)
	}
	if !slices.IsSortedFunc(a.Replays, byOutcome) {
		t.Error("the replays are not ranked")
	}
	if len(a.Fits) != 2 {
		t.Fatalf("fits: %+v", a.Fits)
	}
	for _, f := range a.Fits {
		enough := r.WhatIf(f.Settings, Options{Limits: Limits{Device: f.Bytes}})
		if enough.OOMs > 0 || f.Bytes < a.LowerBound || f.Bytes >= a.Baseline.PeakReserved {
			t.Errorf("%q fits in %d: %d requests fail there, %d bytes are live at once", f.Settings.Name(), f.Bytes, enough.OOMs, a.LowerBound)
		}
	}
}

// TestAdviseShort asks about a run that ran out of memory.
func TestAdviseShort(t *testing.T) {
	a := exactReplay(t, "sim_kvcache/default_lim1").Advise(Question{})
	if !a.Guessed || a.Limit < 1000*mib || a.Limit > 1040*mib {
		t.Errorf("the limit was 1 GiB and is taken for %d MiB", a.Limit/mib)
	}
	if a.Baseline.OOMs != 1 || a.Best == nil || a.Best.Rescued != 1 {
		t.Errorf("recorded settings: %d fail; advice %+v", a.Baseline.OOMs, a.Best)
	}
	if !strings.Contains(strings.Join(a.Notes, "\n"), "short of memory") {
		t.Errorf("notes: %q", a.Notes)
	}
}

// TestLaterFailures stops at the first request that fails only when asked to.
func TestLaterFailures(t *testing.T) {
	r := exactReplay(t, "sim_kvcache/default")
	limits := Limits{Device: 700 * mib}
	all, first := r.WhatIf(Default(), Options{Limits: limits}), r.WhatIf(Default(), Options{Limits: limits, StopAtOOM: true})
	if all.OOMs < 2 || first.OOMs != 1 || all.FirstOOM != first.FirstOOM || all.AtOOM != first.AtOOM {
		t.Errorf("%d and %d failures, the first at events %d and %d", all.OOMs, first.OOMs, all.FirstOOM, first.FirstOOM)
	}
}

// TestSlowFile replays a file made to be slow: segments freed and allocated in
// turn, each of which starts a search for the request behind them.
func TestSlowFile(t *testing.T) {
	d := &snapshot.Device{}
	for i := range 300_000 {
		action := snapshot.SegmentAlloc
		if i%2 == 1 {
			action = snapshot.SegmentFree
		}
		d.Events = append(d.Events, snapshot.Event{Action: action, Addr: 1 << 30, Size: 2 * mib})
	}
	s := &snapshot.Snapshot{Devices: []*snapshot.Device{d}, Streams: make([]uint64, 1), Pools: make([]snapshot.PoolID, 1), Labels: make([]snapshot.Label, 1)}
	x := newExact(s, s.Timeline(d))
	x.run(len(x.events), nil)
	if spent := maxSteps - x.m.steps; spent > maxSteps+len(d.Events) {
		t.Errorf("%d steps of at most %d", spent, maxSteps)
	}
}
