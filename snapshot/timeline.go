package snapshot

import "math"

// HistoryState says how much of the past a snapshot holds, and so what an
// answer about the past rests on.
type HistoryState uint8

const (
	HistoryNone         HistoryState = iota // no history and no stacks
	HistoryStateOnly                        // no allocation was recorded as it happened, but live memory has stacks
	HistoryTruncated                        // the history begins after the first allocation, or its end is missing
	HistoryInconsistent                     // the events contradict each other or the state of the dump (see Timeline.Unreconciled)
	HistoryComplete                         // the history begins at nothing and ends at the dump
)

func (h HistoryState) String() string {
	switch h {
	case HistoryStateOnly:
		return "state-only"
	case HistoryTruncated:
		return "truncated"
	case HistoryInconsistent:
		return "inconsistent"
	case HistoryComplete:
		return "complete"
	}
	return "none"
}

const (
	// BeforeHistory is the birth of an allocation older than the history.
	BeforeHistory int32 = -1
	// AliveAtEnd stands for an event that did not happen in the history: the
	// allocation was alive, or had not been given up, when it ended.
	AliveAtEnd int32 = math.MaxInt32
)

// An Allocation is one piece of memory from its birth to its release. It is
// live after event i when Born ≤ i < Freed.
type Allocation struct {
	Addr      uint64
	Requested int64 // bytes the program asked for
	Size      int64 // bytes of its block; 0 when unknown: only blocks of the end state say it

	Born          int32 // index of its alloc event, or BeforeHistory
	FreeRequested int32 // index of its free_requested event, or AliveAtEnd
	Freed         int32 // index of its free_completed event, or AliveAtEnd

	// Stack is where it was allocated. NoStack for memory that is older than
	// the history and was freed in it: the stack of a free event may be the
	// site of the free or of the allocation, and the file does not say which.
	Stack StackID
	Label LabelID
	Block int32 // index into Device.Blocks when alive at the dump, else −1

	Stream, Pool uint16
}

// A Point is a place on a curve.
type Point struct {
	Event int   // index of the event that led here; −1: before the first event
	Time  int64 // µs since the epoch, 0 when not recorded
	Bytes int64
}

// A Timeline is the history of a device replayed: every allocation with its
// birth and release, and the curves of requested and reserved bytes.
//
// The curves are anchored at their end, which segments and blocks say exactly;
// what remains when the history is taken back from there is the baseline, the
// memory older than the history. Both ends and both peaks equal memory_stats()
// whenever the history is complete.
//
// When the end of the history is missing (OpenEnd) that anchor would be wrong,
// since blocks may stem from, and allocations may have ended in, the lost part.
// The replay then starts from what the recorded part proves to have existed
// before it, and so its curves and baselines are lower bounds.
type Timeline struct {
	Device      *Device
	History     HistoryState
	Allocations []Allocation // those older than the history first, then in order of birth

	BaselineRequested int64 // requested bytes before the first event
	BaselineReserved  int64 // reserved bytes before the first event
	EndRequested      int64 // as the blocks of the dump say, see Stats.Requested
	EndReserved       int64 // as the segments of the dump say, see Stats.Reserved

	// Unreconciled is by how many requested bytes the replay and the dump
	// disagree, summed over addresses without regard to sign: blocks that no
	// event explains although the history touched their address, allocations
	// never freed that have no block, requests of another size, addresses
	// allocated or freed twice; and by how much the requested curve rises above
	// the reserved one, which no allocator can do. 0 for a consistent file. For
	// OpenEnd the two cannot be compared and only contradictions within the
	// history count.
	//
	// The live set at the end holds exactly the blocks of the dump all the
	// same, of the size that they say: what else does not reconcile is born or
	// freed at the last event.
	Unreconciled int64

	// UnreconciledReserved is likewise by how many reserved bytes the segment
	// events contradict each other and the segments: addresses mapped twice or
	// unmapped twice, mapped at the end without a segment, or segments where
	// all was unmapped. When these cancel out it is at least what the reserved
	// curve ends away from EndReserved because it cannot fall below zero.
	UnreconciledReserved int64

	Peak         Point // first event at which requested bytes are highest, or the start
	PeakReserved Point // likewise for reserved bytes

	OpenEnd        bool // the end of the history is missing (see Snapshot.Partial)
	UnmatchedFrees int  // free events of memory that is older than the history

	hasStacks bool // an allocation has a stack
}

// maxEvents keeps event indices below AliveAtEnd.
const maxEvents = math.MaxInt32 - 1

// Timeline replays the history of d, which must belong to s. It takes one pass
// over the events and allocates one Allocation per alloc event.
func (s *Snapshot) Timeline(d *Device) *Timeline {
	stats := d.Stats()
	if s.eventsMayLackEnd() {
		return d.openTimeline(stats)
	}
	t := d.closedTimeline(stats)
	if s.Partial != nil && len(d.Events) > 0 {
		if t.Unreconciled != 0 || t.UnreconciledReserved != 0 {
			return d.openTimeline(stats)
		}
		t.History = min(t.History, HistoryTruncated)
	}
	return t
}

// eventsMayLackEnd reports whether the file broke before or within the events.
// PyTorch writes allocator_settings and external_annotations after them, so a
// file that got that far has them all (Timeline checks that by reconciling).
func (s *Snapshot) eventsMayLackEnd() bool {
	return s.Partial != nil && !s.Settings.Present && len(s.Annotations) == 0
}

// closedTimeline anchors the replay at the state of the dump.
func (d *Device) closedTimeline(stats Stats) *Timeline {
	r := newReplay(d)
	r.run()
	corrected := r.settle(d)
	t := &Timeline{Device: d, EndRequested: stats.Requested, EndReserved: stats.Reserved}
	end := min(stats.Reserved, 4*replayLimit)
	t.BaselineReserved = max(end-r.reserved.net, -r.reserved.low, 0)
	t.UnreconciledReserved = max(r.reserve.lost, distance(t.BaselineReserved+r.reserved.net, stats.Reserved))
	t.Unreconciled = addBytes(r.lost, r.olderBytes+r.gap-t.BaselineReserved)
	t.take(r)
	if corrected {
		t.findPeak()
	}
	t.History = r.history(d, t)
	return t
}

// openTimeline leaves the end of the replay open and takes as the baseline only
// what the events themselves prove: memory that they free without having
// allocated it, and enough reserved memory to hold everything live.
func (d *Device) openTimeline(stats Stats) *Timeline {
	if len(d.Events) == 0 {
		return d.closedTimeline(stats) // no history to speak of: only the state that was read
	}
	r := newReplay(d)
	r.run()
	t := &Timeline{Device: d, EndRequested: stats.Requested, EndReserved: stats.Reserved, OpenEnd: true}
	r.checkOlder()
	t.Unreconciled, t.UnreconciledReserved = r.lost, r.reserve.lost
	t.BaselineReserved = max(r.olderBytes+r.gap, -r.reserved.low, 0)
	t.take(r)
	t.History = min(r.history(d, t), HistoryTruncated)
	return t
}

// take moves the results of a replay into t. BaselineReserved must be set.
func (t *Timeline) take(r *replay) {
	t.BaselineRequested = r.olderBytes
	t.UnmatchedFrees = r.unmatched
	t.hasStacks = r.hasStacks()
	t.Allocations = r.allocations()
	t.Peak = t.point(r.requested.highAt, t.BaselineRequested+r.requested.high)
	t.PeakReserved = t.point(r.reserved.highAt, t.BaselineReserved+r.reserved.high)
}

// findPeak finds the requested peak from the allocations, for a replay whose
// end had to be corrected.
func (t *Timeline) findPeak() {
	now := t.BaselineRequested
	high, at := now, int32(-1)
	for i, delta := range t.requestedDeltas() {
		if now += delta; now > high {
			high, at = now, int32(i)
		}
	}
	t.Peak = t.point(at, high)
}

func (t *Timeline) point(event int32, bytes int64) Point {
	return Point{Event: int(event), Time: t.timeAt(int(event)), Bytes: bytes}
}

// timeAt returns the time of an event; that of the first event for the start.
func (t *Timeline) timeAt(event int) int64 {
	if len(t.Device.Events) == 0 {
		return 0
	}
	return t.Device.Events[max(event, 0)].Time
}

// lastEvent is the index of the last event, −1 without a history.
func (t *Timeline) lastEvent() int { return min(len(t.Device.Events), maxEvents) - 1 }

// requestedDeltas returns the change of the live requested bytes at each event.
func (t *Timeline) requestedDeltas() []int64 {
	deltas := make([]int64, t.lastEvent()+1)
	for i := range t.Allocations {
		a := &t.Allocations[i]
		if a.Born != BeforeHistory {
			deltas[a.Born] += a.Requested
		}
		if a.Freed != AliveAtEnd {
			deltas[a.Freed] -= a.Requested
		}
	}
	return deltas
}

// distance returns |a − b| of two numbers that are not negative.
func distance(a, b int64) int64 { return max(a, b) - min(a, b) }
