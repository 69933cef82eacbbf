package allocator

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// Options of a what-if replay.
type Options struct {
	Limits    Limits
	Points    int  // samples of the fragmentation curve, 0 for none
	StopAtOOM bool // end the replay at the first request that fails
}

// A Result is the outcome of the same requests under other settings.
type Result struct {
	Settings Settings
	Limits   Limits
	Stats

	Ranges   int   // contiguous ranges of device memory at the end, as a snapshot lists segments
	FirstOOM int   // event of the first request that failed, −1 for none or one older than the history; see OOMs
	AtOOM    Stats // the accounts at that moment: a program that does not catch the error ends there
	Rescued  int   // requests that failed in the recorded run and are served here

	Curve []FragPoint
}

// WhatIf replays the requests of the history, in the recorded order and with the
// recorded frees and empty_cache calls, under other settings and limits.
// Addresses are made up. A request that fails is left out and the replay goes
// on. Memory older than the history is requested first, lowest address first:
// the order in which it once was is not known.
func (r *Replay) WhatIf(set Settings, o Options) *Result {
	w := newWhatif(r, set, o)
	for _, a := range r.older() {
		w.alloc(-1, int(a))
	}
	for i := range w.events {
		if o.StopAtOOM && w.m.OOMs > 0 {
			break
		}
		w.m.space.now = int32(i)
		w.event(i)
		w.curve.take(i, w.m)
	}
	return w.finish()
}

type whatif struct {
	*Replay
	m       *Model
	events  []snapshot.Event
	out     *Result
	blockOf []int32 // block of each live allocation, 0 when not served
	parked  []int32 // allocations given up and not yet completed; stale entries allowed
	next    int     // of releases
	curve   sampler
}

func newWhatif(r *Replay, set Settings, o Options) *whatif {
	w := &whatif{Replay: r, m: NewModel(set, o.Limits), events: r.Timeline.Device.Events,
		out: &Result{Settings: set, Limits: o.Limits, FirstOOM: -1}, blockOf: make([]int32, len(r.lane))}
	w.m.sync = w.completeParked
	w.m.space = newDeviceSpace(w.events)
	w.curve = newSampler(len(w.events), o.Points)
	return w
}

func (w *whatif) event(i int) {
	a := int(w.of[i]) - 1
	switch e := &w.events[i]; e.Action {
	case snapshot.Alloc:
		if a >= 0 {
			w.alloc(i, a)
		}
	case snapshot.FreeRequested:
		if a >= 0 && w.blockOf[a] != 0 {
			w.freeRequested(i, a)
		}
	case snapshot.FreeCompleted:
		if a >= 0 && w.blockOf[a] != 0 {
			w.m.FreeCompleted(w.blockOf[a])
			w.blockOf[a] = 0
		}
	case snapshot.OOM:
		w.retry(i, e)
	case snapshot.SegmentFree, snapshot.SegmentUnmap:
		w.release(int32(i))
	}
}

func (w *whatif) alloc(i, a int) {
	key := w.lane[a]
	b := w.m.Malloc(w.m.Lane(key.pool, key.stream), w.Timeline.Allocations[a].Requested)
	if b == 0 {
		w.failed(i)
	}
	w.blockOf[a] = b
}

func (w *whatif) failed(i int) {
	if w.out.FirstOOM < 0 {
		w.out.FirstOOM, w.out.AtOOM = i, w.m.Stats
	}
}

// freeRequested parks an allocation unless its free completes at once.
func (w *whatif) freeRequested(i, a int) {
	w.m.FreeRequested(w.blockOf[a])
	if i+1 < len(w.events) && w.of[i+1] == w.of[i] {
		return
	}
	if len(w.parked) == cap(w.parked) {
		w.parked = slices.DeleteFunc(w.parked, func(p int32) bool { return w.blockOf[p] == 0 })
	}
	w.parked = append(w.parked, int32(a))
}

func (w *whatif) completeParked() {
	for _, a := range w.parked {
		if w.blockOf[a] != 0 {
			w.m.FreeCompleted(w.blockOf[a])
			w.blockOf[a] = 0
		}
	}
	w.parked = w.parked[:0]
}

// retry asks again for what failed in the recorded run. What came of it there is
// not known, so what is served here is given back at once.
func (w *whatif) retry(i int, e *snapshot.Event) {
	b := w.m.Malloc(w.m.Lane(e.Pool, e.Stream), requested(e))
	if b == 0 {
		w.failed(i)
		return
	}
	w.out.Rescued++
	w.m.FreeCompleted(b)
}

func (w *whatif) release(i int32) {
	if w.next >= len(w.releases) || w.releases[w.next].event != i {
		return
	}
	w.m.EmptyCache()
	for _, p := range w.releases[w.next].pools {
		w.m.ReleasePool(p)
	}
	w.next++
}

func (w *whatif) finish() *Result {
	w.out.Stats, w.out.Curve = w.m.Stats, w.curve.points
	w.out.Ranges = w.m.ranges()
	return w.out
}

// ranges counts the contiguous ranges of device memory.
func (m *Model) ranges() int {
	n := 0
	for s := range m.segments {
		gap := true
		for b := m.segments[s].head; b != 0; b = m.blocks[b].next {
			if gap && !m.blocks[b].unmapped {
				n++
			}
			gap = m.blocks[b].unmapped
		}
	}
	return n
}
