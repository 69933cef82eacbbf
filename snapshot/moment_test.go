package snapshot

import (
	"math"
	"strings"
	"testing"
)

func TestMoment(t *testing.T) {
	h := newHandmade()
	h.event(Alloc, 1, 10, 0)         // +0 µs
	h.event(OOM, 0, 99, 0)           // +10
	h.event(Alloc, 2, 20, 0)         // +20
	h.event(OOM, 0, 99, 0)           // +30
	h.event(FreeCompleted, 2, 20, 0) // +40
	h.dev.Events[3].Time = h.dev.Events[2].Time
	h.segment(1, false, Block{Size: 10, Requested: 10, State: Allocated})
	tl := h.timeline()
	const t0 = 1_700_000_000_000_000
	tests := []struct {
		spec string
		want Moment
	}{
		{"end", Moment{"end", 4, t0 + 40}},
		{" End ", Moment{"end", 4, t0 + 40}},
		{"", Moment{"end", 4, t0 + 40}},
		{"start", Moment{"start", -1, t0}},
		{"peak", Moment{"peak", 2, t0 + 20}},
		{"oom", Moment{"oom", 3, t0 + 20}},
		{"0", Moment{"event", 0, t0}},
		{"-1", Moment{"event", -1, t0}},
		{"4", Moment{"event", 4, t0 + 40}},
		{"+0s", Moment{"time", 0, t0}},
		{"+15us", Moment{"time", 1, t0 + 15}},
		{"0.02ms", Moment{"time", 3, t0 + 20}},
		{"40µs", Moment{"time", 4, t0 + 40}},
		{"@1700000000000012", Moment{"time", 1, t0 + 12}},
		{"1700000000000012", Moment{"time", 1, t0 + 12}},
	}
	for _, tt := range tests {
		if got, err := tl.Moment(tt.spec); err != nil || got != tt.want {
			t.Errorf("Moment(%q) = %+v, %v; want %+v", tt.spec, got, err, tt.want)
		}
	}
	for spec, part := range map[string]string{
		"5": "events 0 to 4", "-2": "events 0 to 4", "999999999999": "events 0 to 4", "99999999999999999999": "not known",
		"+5": "not known", "-1s": "not known", "nonsense": "not known", "@x": "not known", "+1h": "outside the history",
		"@12": "outside the history", "1699999999999999": "outside the history",
	} {
		if m, err := tl.Moment(spec); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Moment(%q) = %+v, %v; want an error with %q", spec, m, err, part)
		}
	}
}

func TestMomentWithoutHistoryOrTimes(t *testing.T) {
	h := newHandmade()
	h.segment(1, false, Block{Size: 10, Requested: 10, State: Allocated})
	tl := h.timeline()
	for _, spec := range []string{"end", "start"} {
		m := mustMoment(t, tl, spec)
		if m.Event != -1 || liveBytes(tl, m.Event) != 10 {
			t.Errorf("%s: %+v, %d bytes live", spec, m, liveBytes(tl, m.Event))
		}
	}
	for _, spec := range []string{"peak", "0", "oom", "+1s", "@5"} {
		if m, err := tl.Moment(spec); err == nil {
			t.Errorf("Moment(%q) = %+v without a history", spec, m)
		}
	}
	h.event(Alloc, 1, 10, 0)
	h.dev.Events[0].Time = 0
	if m, err := h.timeline().Moment("+1s"); err == nil || !strings.Contains(err.Error(), "no times") {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Events without a time, or with one before an earlier event's, do not upset
// the order of the list.
func TestMomentTimesOutOfOrder(t *testing.T) {
	h := newHandmade()
	for range 4 {
		h.event(SnapshotMark, 0, 0, 0)
	}
	for i, us := range []int64{0, 100, 90, 200} {
		h.dev.Events[i].Time = us
	}
	for spec, want := range map[string]int{"@100": 2, "@150": 2, "@200": 3} {
		if m := mustMoment(t, h.timeline(), spec); m.Event != want {
			t.Errorf("%s is after event %d, want %d", spec, m.Event, want)
		}
	}
}

func TestLiveStops(t *testing.T) {
	h := newHandmade()
	for i := range uint64(5) {
		h.event(Alloc, i, 1, 0)
	}
	n := 0
	for range h.timeline().Live(Moment{Event: 3}) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("got %d", n)
	}
}

// Times at the ends of an int64 do not wrap around.
func TestMomentAtExtremeTimes(t *testing.T) {
	h := newHandmade()
	for _, us := range []int64{math.MinInt64, math.MaxInt64 - 5, math.MaxInt64} {
		h.event(SnapshotMark, 0, 0, 0)
		h.dev.Events[len(h.dev.Events)-1].Time = us
	}
	if m, err := h.timeline().Moment("+1s"); err != nil || m.Event != 2 {
		t.Errorf("+1s beyond the largest time: %+v, %v", m, err)
	}
	h.dev.Events[0].Time = 1
	if _, err := h.timeline().Moment("@0"); err == nil || strings.Contains(err.Error(), "(-") {
		t.Errorf("a time before all: %v", err)
	}
}
