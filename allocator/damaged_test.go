package allocator

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// TestCut replays what is left of captures when the head of the history is lost.
func TestCut(t *testing.T) {
	runs, exact := 0, 0
	eachCapture(t, 3, func(path string, s *snapshot.Snapshot, d *snapshot.Device) {
		all := d.Events
		for _, fraction := range []float64{0.1, 0.33, 0.5, 0.77, 0.95} {
			d.Events = all[int(fraction*float64(len(all))):]
			if len(d.Events) == 0 {
				continue
			}
			x := newExact(s, s.Timeline(d))
			x.run(len(x.events), nil)
			verify(t, x.m)
			x.finish()
			if runs++; x.Check.Exact {
				exact++
			} else {
				t.Logf("%s without the first %.0f %%: %+v", path, 100*fraction, x.Check)
			}
		}
	})
	if exact*100 < runs*95 {
		t.Errorf("only %d of %d cut histories replay exactly", exact, runs)
	}
}

// TestDamaged replays histories with events lost, repeated and changed: nothing
// panics, and blocks, segments and lists stay consistent.
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	eachCapture(t, 7, func(_ string, s *snapshot.Snapshot, d *snapshot.Device) {
		all := d.Events
		for range 6 {
			d.Events = damage(rng, slices.Clone(all))
			tl := s.Timeline(d)
			x := newExact(s, tl)
			x.run(len(x.events), nil)
			structure(t, x.m)
			r := Exact(s, tl)
			r.At(len(d.Events) / 2)
			r.Curve(20)
			for _, conf := range []string{"", "expandable_segments:True", "max_split_size_mb:20"} {
				set, _ := ParseConf(conf)
				r.WhatIf(set, Options{Points: 50, Limits: Limits{Fraction: 1 << 29}})
			}
		}
	})
}

func damage(rng *rand.Rand, ev []snapshot.Event) []snapshot.Event {
	for range 1 + rng.IntN(20) {
		if len(ev) == 0 {
			break
		}
		i, j := rng.IntN(len(ev)), rng.IntN(len(ev))
		switch rng.IntN(8) {
		case 0:
			ev = slices.Delete(ev, i, i+1)
		case 1:
			ev = slices.Insert(ev, i, ev[j])
		case 2:
			ev[i].Size = []int64{0, -1, 1, 1 << 20, 1 << 62, -1 << 63, 512}[rng.IntN(7)]
		case 3:
			ev[i].Addr = ev[j].Addr
		case 4:
			ev[i].Addr += []uint64{512, 1 << 20, 1 << 63, ^uint64(0)}[rng.IntN(4)]
		case 5:
			ev[i].Action = ev[j].Action
		case 6:
			ev[i], ev[j] = ev[j], ev[i]
		case 7:
			ev[i].Stream = ev[j].Stream
		}
	}
	return ev
}
