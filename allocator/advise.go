package allocator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A Question asks which settings a program should run under.
type Question struct {
	Settings []Settings // to try, in this order; empty for those worth trying, ranked
	Limit    int64      // bytes that the program may reserve; 0 for as much as it had
}

// Advice is what replays of a recorded run say about settings. Bytes.
type Advice struct {
	LowerBound int64 // most that was live at once: no settings reserve less

	Limit    int64 // that the replays ran under, 0 for none
	Guessed  bool  // Limit is not from the question but from requests that were short of memory
	Baseline *Result
	Replays  []*Result

	Best  *Result // what to run under, Baseline included; nil when nothing fits into Limit
	Why   []string
	Fits  []Fit // least memory for Baseline, and for Best where that is another
	Notes []string
}

// Advise replays the recorded run under other settings and compares them with
// the recorded ones.
func (r *Replay) Advise(q Question) *Advice {
	a := &Advice{LowerBound: r.Timeline.Peak.Bytes, Limit: q.Limit}
	if a.Limit == 0 && r.Pressure.High > 0 {
		a.Limit, a.Guessed = r.Pressure.Low+(r.Pressure.High-r.Pressure.Low)/2, true
	}
	sets := q.Settings
	if len(sets) == 0 {
		sets = r.candidates(a.Limit > 0)
	}
	results := r.replays(append([]Settings{r.Settings}, sets...), a.Limit)
	a.Baseline, a.Replays = results[0], results[1:]
	a.Best = choose(a.Baseline, a.Replays)
	if len(q.Settings) == 0 {
		slices.SortStableFunc(a.Replays, byOutcome)
	}
	a.Why = a.tradeOff()
	a.Fits = r.fits(a)
	a.Notes = r.notes(a, q)
	return a
}

// replays runs what-if for each of sets, side by side.
func (r *Replay) replays(sets []Settings, limit int64) []*Result {
	out := make([]*Result, len(sets))
	sideBySide(len(sets), func(i int) {
		out[i] = r.WhatIf(sets[i], Options{Limits: limitsFor(&sets[i], limit)})
	})
	return out
}

// limitsFor bounds the device. Garbage collection only works with a memory
// fraction set, so settings that ask for it get that too.
func limitsFor(set *Settings, limit int64) Limits {
	l := Limits{Device: limit}
	if set.GCThreshold > 0 {
		l.Fraction = limit
	}
	return l
}

// candidates are the settings worth trying, without those of the record.
// max_split_size_mb and expandable_segments are not combined: a large hole that
// is rejected is never used again (pytorch issue 123548).
func (r *Replay) candidates(limited bool) []Settings {
	var out []Settings
	add := func(change func(*Settings)) {
		s := Default()
		s.Other = r.Settings.Other
		change(&s)
		if s.String() != r.Settings.String() {
			out = append(out, s)
		}
	}
	add(func(*Settings) {})
	add(func(s *Settings) { s.Expandable = true })
	for _, d := range []int64{4, 8} {
		add(func(s *Settings) { fill(s.Roundup[:], d) })
	}
	add(func(s *Settings) { s.Expandable = true; fill(s.Roundup[:], 4) })
	for _, size := range []int64{32, 64, 128, 256} {
		add(func(s *Settings) { s.MaxSplitSize = size * mib })
	}
	add(func(s *Settings) { s.MaxSplitSize = 128 * mib; fill(s.Roundup[:], 4) })
	if limited {
		add(func(s *Settings) { s.GCThreshold = 0.8 })
		add(func(s *Settings) { s.GCThreshold = 0.6 })
		add(func(s *Settings) { s.MaxSplitSize = 128 * mib; s.GCThreshold = 0.8 })
	}
	return out
}

// byOutcome puts first what fails least, then what reserves least, then what
// costs least.
func byOutcome(a, b *Result) int {
	return cmp.Or(
		cmp.Compare(a.OOMs, b.OOMs),
		cmp.Compare(a.PeakReserved, b.PeakReserved),
		cmp.Compare(a.DeviceCalls(), b.DeviceCalls()),
		cmp.Compare(a.Settings.count(), b.Settings.count()),
	)
}

// choose returns what to run under: the simplest and then cheapest settings that
// come within 1 % of the best outcome, the recorded ones before all others. It
// returns nil when requests fail under all of them.
func choose(baseline *Result, others []*Result) *Result {
	all := append([]*Result{baseline}, others...)
	best := slices.MinFunc(all, byOutcome)
	if best.OOMs > 0 {
		return nil
	}
	near := slices.DeleteFunc(all, func(r *Result) bool {
		return r.OOMs > 0 || r.PeakReserved-best.PeakReserved > baseline.PeakReserved/100
	})
	if near[0] == baseline {
		return baseline
	}
	return slices.MinFunc(near, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Settings.count(), b.Settings.count()), cmp.Compare(a.DeviceCalls(), b.DeviceCalls()),
			cmp.Compare(a.PeakReserved, b.PeakReserved))
	})
}

// DeviceCalls is how often the device was asked for memory or given some back:
// what a replay costs in time. Giving back waits for the device (cudaFree).
func (r *Result) DeviceCalls() int { return r.DeviceAllocs + r.DeviceFrees }

// notes are sentences about what the answer rests on.
func (r *Replay) notes(a *Advice, q Question) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch {
	case r.Check.Exact:
	case r.Check.Event >= 0:
		add("the replay under the recorded settings parts from the record at event %d: %s; take the other replays as estimates", r.Check.Event, r.Check.Reason)
	default:
		add("the replay under the recorded settings ends otherwise than the dump: %s; take the other replays as estimates", r.Check.Reason)
	}
	if r.Check.Rebuilt {
		add("the history is not complete: its start was rebuilt backwards from the dump, and peaks before it are not known")
	}
	if a.Guessed {
		add("the recorded run was short of memory when it needed more than %d MiB and at most %d MiB; the replays have %d MiB",
			r.Pressure.Low/mib, r.Pressure.High/mib, a.Limit/mib)
	}
	if r.failed() {
		add("what the program would have gone on to request after it ran out of memory is not in the file")
	}
	notes = append(notes, r.Settings.Warnings...)
	for i := range q.Settings {
		notes = append(notes, q.Settings[i].Warnings...)
		if q.Settings[i].GCThreshold > 0 && a.Limit == 0 {
			add("%s works against a memory limit only: without one it has no effect", keyGC)
		}
	}
	return unique(notes)
}

// failed reports whether a request of the recorded run failed.
func (r *Replay) failed() bool {
	return slices.ContainsFunc(r.Timeline.Device.Events, func(e snapshot.Event) bool { return e.Action == snapshot.OOM })
}

// unique drops repeated notes.
func unique(notes []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(notes, func(n string) bool {
		again := seen[n]
		seen[n] = true
		return again
	})
}
