package allocator

import (
	"math/rand/v2"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// training records a made-up run of about that many events: parameters that
// stay, then steps of requests whose sizes vary and which are freed in another
// order.
func training(events int) (*snapshot.Snapshot, *snapshot.Timeline) {
	rng := rand.New(rand.NewPCG(5, 6))
	rec := newRecorder(Default())
	for range 300 {
		rec.malloc(512 << rng.IntN(14))
	}
	for len(rec.device.Events) < events {
		first := len(rec.live)
		for range 400 {
			rec.malloc(1 + rng.Int64N(512<<rng.IntN(17)))
		}
		for len(rec.live) > first {
			rec.free(first + rng.IntN(len(rec.live)-first))
		}
	}
	return rec.snapshot()
}

const benchEvents = 500_000

func perEvent(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportAllocs()
}

func BenchmarkExact(b *testing.B) {
	s, t := training(benchEvents)
	for b.Loop() {
		if r := Exact(s, t); !r.Check.Exact {
			b.Fatal(r.Check)
		}
	}
	perEvent(b, len(t.Device.Events))
}

func BenchmarkWhatIf(b *testing.B) {
	s, t := training(benchEvents)
	r := Exact(s, t)
	for _, conf := range []string{"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"} {
		b.Run(conf, func(b *testing.B) {
			set, err := ParseConf(conf)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				r.WhatIf(set, Options{})
			}
			perEvent(b, len(t.Device.Events))
		})
	}
}
