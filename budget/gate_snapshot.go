package budget

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// SnapshotCapture returns what gates can judge of a snapshot. Devices that were
// never used are left out.
func SnapshotCapture(file string, s *snapshot.Snapshot) *Capture {
	c := &Capture{File: file, Kind: "snapshot"}
	if s.Partial != nil {
		c.Notes = append(c.Notes, "the file was not read to its end: its numbers are at least what is shown")
	}
	for _, d := range s.Devices {
		t := s.Timeline(d)
		source := newSnapshotSource(s, t)
		if len(d.Segments) == 0 && t.Peak.Bytes == 0 && t.PeakReserved.Bytes == 0 && source.ooms() == 0 {
			continue
		}
		if t.History == snapshot.HistoryTruncated && s.Partial == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("device %d: the history is truncated, so its peak is at least the highest that was seen", d.Index))
		}
		c.Devices = append(c.Devices, &CaptureDevice{strconv.Itoa(d.Index), newLeakSource(source)})
	}
	return c
}

// snapshotSource answers for one device of a snapshot. What takes time is
// worked out when it is first asked for.
type snapshotSource struct {
	snap     *snapshot.Snapshot
	timeline *snapshot.Timeline
	stats    snapshot.Stats
	classify func() *attribution.Classification
	exact    func() *allocator.Replay // nil unless it reproduces the record
}

func newSnapshotSource(s *snapshot.Snapshot, t *snapshot.Timeline) *snapshotSource {
	return &snapshotSource{
		snap: s, timeline: t, stats: t.Device.Stats(),
		classify: sync.OnceValue(func() *attribution.Classification { return attribution.Classify(s, t) }),
		exact: sync.OnceValue(func() *allocator.Replay {
			if r := allocator.Exact(s, t); r.Check.Exact {
				return r
			}
			return nil
		}),
	}
}

func (x *snapshotSource) ooms() (n int64) {
	for i := range x.timeline.Device.Events {
		if x.timeline.Device.Events[i].Action == snapshot.OOM {
			n++
		}
	}
	return n
}

// noPeak says why the peak is not known, "" when it is.
func (x *snapshotSource) noPeak() string {
	t := x.timeline
	switch {
	case t.History == snapshot.HistoryNone || t.History == snapshot.HistoryStateOnly:
		return fmt.Sprintf("the peak is not known: the history is %s; record it with torch.cuda.memory._record_memory_history()", t.History)
	case t.Unreconciled != 0 || t.UnreconciledReserved != 0:
		return fmt.Sprintf("the peak is not known: the history contradicts itself or the segments by %s requested and %s reserved",
			units.Bytes(t.Unreconciled), units.Bytes(t.UnreconciledReserved))
	}
	return ""
}

// seen is a number at the peak: at least that when the history may have missed
// a higher one.
func (x *snapshotSource) seen(n int64) Number {
	return Number{Value: n, AtLeast: x.timeline.History == snapshot.HistoryTruncated || x.timeline.OpenEnd}
}

// replayed is a peak in block sizes, which a history does not record.
func (x *snapshotSource) replayed(peak func(*allocator.Replay) int64) Number {
	if x.timeline.OpenEnd {
		return missing("block sizes at the peak are not known: the file was not read to its end")
	}
	r := x.exact()
	if r == nil {
		return missing("block sizes at the peak are not known: a replay of the allocator does not reproduce this history")
	}
	return x.seen(peak(r))
}

func (x *snapshotSource) number(stat string) (Number, bool) {
	n, ok := x.known(stat)
	if x.snap.Partial != nil && n.Missing == "" {
		n.AtLeast = true
	}
	return n, ok
}

func (x *snapshotSource) known(stat string) (Number, bool) {
	s, t := &x.stats, x.timeline
	switch stat {
	case "peak.requested_bytes", "peak.reserved_bytes", "peak.allocated_bytes", "peak.active_bytes", "peak.fragmentation":
		return x.peak(stat), true
	case "requested_bytes":
		return exactly(s.Requested), true
	case "allocated_bytes":
		return exactly(s.Allocated), true
	case "active_bytes":
		return exactly(s.Active), true
	case "reserved_bytes":
		return exactly(s.Reserved), true
	case "unused_bytes":
		return exactly(s.Reserved - s.Allocated), true
	case "fragmentation":
		return share(exactly(s.Reserved-s.Allocated), exactly(s.Reserved)), true
	case "inactive_split_bytes":
		return exactly(s.InactiveSplit), true
	case "releasable_bytes":
		return exactly(s.Releasable), true
	case "expandable_free_bytes":
		return exactly(s.ExpandableFree), true
	case "pending_free_bytes":
		return exactly(s.PendingFree), true
	case "rounding_waste_bytes":
		return exactly(s.RoundingWaste), true
	case "largest_free_block_bytes":
		return exactly(s.LargestFreeBlock), true
	case "segments":
		return exactly(int64(s.Segments)), true
	case "blocks":
		return exactly(int64(s.Blocks)), true
	case "oom_events":
		return x.oomNumber(), true
	case "unreconciled_bytes":
		return exactly(t.Unreconciled), true
	case "unreconciled_reserved_bytes":
		return exactly(t.UnreconciledReserved), true
	}
	return Number{}, false
}

// oomNumber is how many allocations failed, which only a history tells.
func (x *snapshotSource) oomNumber() Number {
	n, t := x.ooms(), x.timeline
	if n == 0 && (t.History == snapshot.HistoryNone || t.History == snapshot.HistoryStateOnly) {
		return missing(fmt.Sprintf("whether an allocation failed is not known: the history is %s", t.History))
	}
	return x.seen(n)
}

func (x *snapshotSource) peak(stat string) Number {
	if why := x.noPeak(); why != "" {
		return missing(why)
	}
	t := x.timeline
	switch stat {
	case "peak.requested_bytes":
		return x.seen(max(t.Peak.Bytes, t.EndRequested))
	case "peak.reserved_bytes":
		return x.seen(max(t.PeakReserved.Bytes, t.EndReserved))
	case "peak.allocated_bytes":
		return x.replayed(func(r *allocator.Replay) int64 { return r.PeakAllocated })
	case "peak.active_bytes":
		return x.replayed(func(r *allocator.Replay) int64 { return r.PeakActive })
	}
	reserved, allocated := x.peak("peak.reserved_bytes"), x.peak("peak.allocated_bytes")
	if allocated.Missing != "" {
		return allocated
	}
	return share(exactly(reserved.Value-allocated.Value), reserved)
}

func (x *snapshotSource) word(stat string) (word, unsure string, ok bool) {
	if stat == "history" {
		return x.timeline.History.String(), "", true
	}
	return "", "", false
}

// moment finds a moment, or says why it is not known.
func (x *snapshotSource) moment(at string) (snapshot.Moment, string) {
	if at == atPeak {
		if why := x.noPeak(); why != "" {
			return snapshot.Moment{}, why
		}
	}
	m, err := x.timeline.Moment(at)
	if err != nil {
		return m, err.Error()
	}
	return m, ""
}

func (x *snapshotSource) totals(at string) (attribution.Totals, string) {
	m, missing := x.moment(at)
	if missing != "" {
		return attribution.Totals{}, missing
	}
	return x.classify().At(m), ""
}

func (x *snapshotSource) places(at string) ([]attribution.Place, string) {
	m, missing := x.moment(at)
	if missing != "" {
		return nil, missing
	}
	return x.classify().Places(x.snap.Fold(x.timeline, m, snapshot.ByLine)), ""
}

func (x *snapshotSource) findings() ([]attribution.Finding, bool) {
	return attribution.Findings(x.classify()), true
}

func (x *snapshotSource) settings() string { return x.snap.Settings.Conf }
