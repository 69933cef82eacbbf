package snapshot

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// training is a synthetic history of that many events: a set of parameters that
// stays, then steps of a few hundred allocations that come and go.
func training(events int) *handmade {
	h := newHandmade()
	rng := rand.New(rand.NewPCG(3, 4))
	stacks := make([]StackID, 2000)
	for i := range stacks {
		frames := []Frame{unwind, gather, malloc}
		for depth := range 20 {
			frames = append(frames, Frame{File: libLine.File, Line: int32(rng.IntN(40)), Function: "forward"})
			if depth == 15 {
				frames = append(frames, Frame{File: "/home/me/train.py", Line: int32(i % 150), Function: "step"})
			}
		}
		stacks[i] = h.stack(frames...)
	}
	var live, free []uint64
	next := uint64(0x7f00_0000_0000)
	for len(h.dev.Events) < events {
		for range 300 {
			addr := next
			if n := len(free); n > 0 {
				addr, free = free[n-1], free[:n-1]
			} else {
				next += 512 << rng.IntN(8)
			}
			h.event(Alloc, addr, 512, stacks[rng.IntN(len(stacks))])
			live = append(live, addr)
		}
		for len(live) > 1000 {
			i := 500 + rng.IntN(len(live)-500)
			addr := live[i]
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			free = append(free, addr)
			h.event(FreeRequested, addr, 512, NoStack)
			h.event(FreeCompleted, addr, 512, NoStack)
		}
	}
	for _, addr := range live {
		h.segment(addr, false, Block{Size: 512, Requested: 512, State: Allocated})
	}
	return h
}

const benchEvents = 1_200_000

// perEvent reports the speed of a benchmark whose operation handles n events.
func perEvent(b *testing.B, n int) {
	b.SetBytes(int64(n) * int64(unsafe.Sizeof(Event{})))
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportAllocs()
}

func BenchmarkTimeline(b *testing.B) {
	h := training(benchEvents)
	for b.Loop() {
		h.timeline()
	}
	perEvent(b, len(h.dev.Events))
}

func BenchmarkCurve(b *testing.B) {
	h := training(benchEvents)
	tl := h.timeline()
	for b.Loop() {
		tl.Curve(2000)
	}
	perEvent(b, len(h.dev.Events))
}

func BenchmarkFold(b *testing.B) {
	h := training(benchEvents)
	tl := h.timeline()
	m, err := tl.Moment("peak")
	if err != nil {
		b.Fatal(err)
	}
	for by := ByLine; by <= ByStack; by++ {
		b.Run(by.String(), func(b *testing.B) {
			for b.Loop() {
				h.Fold(tl, m, by)
			}
			b.ReportAllocs()
		})
	}
}

func BenchmarkFlame(b *testing.B) {
	h := training(benchEvents)
	tl := h.timeline()
	m := Moment{Event: tl.lastEvent()}
	for b.Loop() {
		h.Flame(tl, m, 2000)
	}
	b.ReportAllocs()
}
