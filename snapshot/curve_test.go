package snapshot

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// spiky is a history whose curves move all the time, with lone spikes.
func spiky(events int) *handmade {
	h := newHandmade()
	rng := rand.New(rand.NewPCG(1, 2))
	var live []uint64
	next := uint64(1)
	for len(h.dev.Events) < events {
		switch n := rng.IntN(10); {
		case n == 0:
			h.event(SegmentAlloc, next<<20, int64(rng.IntN(1000)), 0)
		case n < 5 || len(live) == 0:
			h.event(Alloc, next, int64(rng.IntN(100)), 0)
			live = append(live, next)
			next++
		default:
			i := rng.IntN(len(live))
			h.event(FreeCompleted, live[i], 0, 0)
			live = slices.Delete(live, i, i+1)
		}
	}
	h.event(Alloc, 1<<40, 1_000_000, 0)
	h.event(FreeCompleted, 1<<40, 1_000_000, 0)
	return h
}

func TestCurveReduced(t *testing.T) {
	tl := spiky(5000).timeline()
	full := tl.Curve(0)
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 10, 33, 100, 1000, 4999, 5002, 5003, 9999} {
		got := tl.Curve(n)
		if len(got) > n || len(got) == 0 {
			t.Fatalf("Curve(%d) has %d points", n, len(got))
		}
		for i, p := range got {
			if p != full[p.Event+1] {
				t.Errorf("Curve(%d): %+v is not on the curve", n, p)
			}
			if i > 0 && p.Event <= got[i-1].Event {
				t.Errorf("Curve(%d): event %d after %d", n, p.Event, got[i-1].Event)
			}
		}
		has := func(event int) bool {
			return slices.ContainsFunc(got, func(p CurvePoint) bool { return p.Event == event })
		}
		if n >= 4 && !(has(-1) && has(tl.lastEvent()) && has(tl.Peak.Event) && has(tl.PeakReserved.Event)) {
			t.Errorf("Curve(%d) lacks the start, the end or a peak", n)
		}
		if !has(tl.Peak.Event) {
			t.Errorf("Curve(%d) lacks the peak", n)
		}
		if n >= 100 && n <= len(full) && len(got) < n/3 {
			t.Errorf("Curve(%d) uses only %d points", n, len(got))
		}
	}
}

// The lowest and highest value of every stretch survive.
func TestCurveKeepsExtremes(t *testing.T) {
	tl := spiky(5000).timeline()
	requested, reserved := tl.levels()
	const stretches = 10
	keep := extremes(requested, reserved, stretches, nil)
	n := len(requested)
	for s := range stretches {
		from, to := s*n/stretches, (s+1)*n/stretches
		var kept []int
		for _, p := range keep {
			if p >= from && p < to {
				kept = append(kept, p)
			}
		}
		for name, curve := range map[string][]int64{"requested": requested, "reserved": reserved} {
			var values []int64
			for _, p := range kept {
				values = append(values, curve[p])
			}
			if slices.Min(values) != slices.Min(curve[from:to]) || slices.Max(values) != slices.Max(curve[from:to]) {
				t.Errorf("stretch %d of %s lost an extreme", s, name)
			}
		}
	}
}

func TestCurveWithoutHistory(t *testing.T) {
	h := newHandmade()
	h.segment(1, false, Block{Size: 512, Requested: 10, State: Allocated})
	for _, n := range []int{-1, 0, 1, 100} {
		if got := h.timeline().Curve(n); len(got) != 1 || got[0] != (CurvePoint{Event: -1, Requested: 10, Reserved: 512}) {
			t.Errorf("Curve(%d) = %+v", n, got)
		}
	}
}
