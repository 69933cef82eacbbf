package attribution

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/internal/units"
)

// A Remedy is the outcome of the same requests under other settings, with the
// limit that held.
type Remedy struct {
	Conf         string // value of PYTORCH_CUDA_ALLOC_CONF; "" for the defaults
	Limit        int64  // on reserved bytes, in the replay
	Served       int    // of the requests that failed in the recorded run
	Failed       int    // requests that fail in the replay, wherever
	PeakReserved int64

	// Conditional: it helps if the limit, which is not known, is at least Limit.
	Conditional bool
}

// Helps reports whether all requests are served.
func (r *Remedy) Helps() bool { return r.Failed == 0 && r.Served > 0 }

// maxRemedyEvents bounds the replays of other settings.
const maxRemedyEvents = 20_000_000

// try replays the requests under other settings, where that can help: what does
// not fit in one piece fits under no settings.
func (r *OOMReport) try(replay *allocator.Replay, o OOMOptions) {
	var limit Limit
	fragmented := false
	for _, x := range r.Events {
		if x.Limit.Low > limit.Low {
			limit = x.Limit
		}
		fragmented = fragmented || x.Verdict == Fragmented
	}
	events := len(replay.Timeline.Device.Events)
	sets := remedySettings(replay.Settings, limit.How != LimitDevice)
	switch {
	case !fragmented:
		r.Untried = "no allocator setting serves what would not fit in one piece"
		return
	case events*(4*len(sets)+1) > maxRemedyEvents || o.MaxReplayed > 0 && events*(4*len(sets)+1) > o.MaxReplayed:
		r.Untried = fmt.Sprintf("%s events are too many to replay under several settings here", units.Count(events))
		return
	}
	control := tryOne(replay, replay.Settings, limit, limit.Low)
	r.Control = &control
	for _, set := range sets {
		r.Remedies = append(r.Remedies, tryWithin(replay, set, limit))
	}
	slices.SortStableFunc(r.Remedies, func(a, b Remedy) int {
		return cmp.Or(boolCompare(!a.Helps(), !b.Helps()), cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.PeakReserved, b.PeakReserved))
	})
}

// tryWithin replays under the lowest limit that the file admits and, where that
// fails, under higher ones.
func tryWithin(replay *allocator.Replay, set allocator.Settings, limit Limit) Remedy {
	least := tryOne(replay, set, limit, limit.Low)
	if least.Helps() || limit.Known() {
		return least
	}
	most := tryOne(replay, set, limit, limit.High-1)
	if !most.Helps() {
		return least
	}
	// Between the two, every limit that is told was tried.
	const mib, tries = 1 << 20, 10
	for low, n := least.Limit, 0; most.Limit-low > mib && n < tries; n++ {
		at := max(low+1, (low+(most.Limit-low)/2)/mib*mib)
		if between := tryOne(replay, set, limit, at); between.Helps() {
			most = between
		} else {
			low = at
		}
	}
	most.Conditional = true
	return most
}

func tryOne(replay *allocator.Replay, set allocator.Settings, limit Limit, bytes int64) Remedy {
	limits := allocator.Limits{Fraction: bytes}
	if limit.How == LimitDevice {
		limits = allocator.Limits{Device: bytes}
	}
	w := replay.WhatIf(set, allocator.Options{Limits: limits})
	return Remedy{Conf: set.String(), Limit: bytes, Served: w.Rescued, Failed: w.OOMs, PeakReserved: w.PeakReserved}
}

// TrySettings replays the requests without a limit under settings that are known
// to help against fragmentation, least reserved first. It returns nothing where
// that takes replaying more than most events.
func TrySettings(replay *allocator.Replay, most int) []Remedy {
	sets := remedySettings(replay.Settings, false)
	if len(replay.Timeline.Device.Events)*len(sets) > most {
		return nil
	}
	var out []Remedy
	for _, set := range sets {
		out = append(out, tryOne(replay, set, Limit{}, 0))
	}
	slices.SortStableFunc(out, func(a, b Remedy) int { return cmp.Compare(a.PeakReserved, b.PeakReserved) })
	return out
}

// remedySettings are changes to the recorded settings that are known to help
// against fragmentation.
func remedySettings(recorded allocator.Settings, fraction bool) []allocator.Settings {
	var out []allocator.Settings
	with := func(change func(*allocator.Settings)) {
		s := recorded
		change(&s)
		if s.String() != recorded.String() {
			out = append(out, s)
		}
	}
	with(func(s *allocator.Settings) { s.Expandable = true })
	for _, mib := range []int64{32, 64, 128} {
		with(func(s *allocator.Settings) { s.MaxSplitSize = mib << 20 })
	}
	if fraction {
		with(func(s *allocator.Settings) { s.GCThreshold = .8 })
	}
	with(func(s *allocator.Settings) {
		for i := range s.Roundup {
			s.Roundup[i] = 8
		}
	})
	return out
}
