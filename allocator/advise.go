package allocator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// A Question asks which settings a program should run under.
type Question struct {
	Settings []Settings // to try, in this order; empty for those worth trying, ranked
	Limit    int64      // bytes that the program may reserve; 0 for as much as it had
}

// Advice is what replays of a recorded run say about settings. Bytes.
type Advice struct {
	LowerBound int64 // most that was live at once, a request that failed included: no settings reserve less

	Recorded int64 // peak of reserved bytes of the recorded run
	Error    int64 // by how much a replay under the recorded settings misses that peak; 0 when it is not known

	Limit    int64 // that the replays ran under, 0 for none
	Guessed  bool  // Limit is not from the question but from requests that were short of memory
	Low      int64 // of a guessed limit: it lies between the two
	High     int64
	Baseline *Result
	Replays  []*Result

	Best  *Result // what to run under, Baseline included; nil when nothing fits into Limit or later events are missing
	Why   []string
	Fits  []Fit // least memory for Baseline, and for Best where that is another
	Notes []string
}

// Advise replays the recorded run under other settings and compares them with
// the recorded ones.
func (r *Replay) Advise(q Question) *Advice {
	a := &Advice{LowerBound: r.lowerBound(), Limit: q.Limit, Recorded: r.Timeline.PeakReserved.Bytes}
	if a.Limit == 0 && r.Pressure.High > 0 {
		a.Low, a.High = r.Pressure.Low, r.Pressure.High
		a.Limit, a.Guessed = a.Low+(a.High-a.Low)/2, true
	}
	sets := q.Settings
	if len(sets) == 0 {
		sets = r.candidates(a.Limit > 0)
	}
	results := r.replays(append([]Settings{r.Settings}, sets...), a.Limit)
	a.Baseline, a.Replays = results[0], results[1:]
	if q.Limit == 0 && !r.Timeline.OpenEnd {
		a.Error = distance(a.Baseline.PeakReserved, a.Recorded)
	}
	if len(q.Settings) == 0 {
		slices.SortStableFunc(a.Replays, byOutcome)
	}
	if r.Timeline.OpenEnd {
		a.Why = []string{"later events are missing: peaks are at least these, and no settings are recommended"}
	} else {
		a.decide(r)
	}
	a.Notes = r.notes(a, q)
	return a
}

// decide chooses the settings and says why. Settings that need more memory than
// the recorded ones are not chosen, however little they reserve without a limit.
func (a *Advice) decide(r *Replay) {
	a.Best = a.choose()
	a.Fits = r.fits(a)
	a.Why = a.tradeOff()
	if a.Best == nil || a.Best == a.Baseline || a.Baseline.OOMs > 0 || len(a.Fits) < 2 {
		return
	}
	more := a.Fits[1].Bytes - a.Fits[0].Bytes
	switch precision := a.Baseline.PeakReserved / fitSteps; {
	case more > precision:
		a.Why = []string{fmt.Sprintf("%s reserves less while memory is plenty, but the run fits in %s only, and under the recorded settings in %s",
			a.Best.Settings.Name(), units.Bytes(a.Fits[1].Bytes), units.Bytes(a.Fits[0].Bytes))}
		a.Best = a.Baseline
	case more >= -precision:
		a.Why = append(a.Why, "shrinks the cache; the run needs the same memory")
	}
}

// lowerBound is the most that was live at once, or asked for beside what was
// live when a request failed. Memory counts until its free is asked for.
func (r *Replay) lowerBound() int64 {
	most := r.Timeline.Peak.Bytes
	if !r.failed() {
		return most
	}
	events := r.Timeline.Device.Events
	change := make([]int64, len(events)+1) // of live bytes, one behind: before the history comes first
	for i := range r.Timeline.Allocations {
		a := &r.Timeline.Allocations[i]
		size := max(a.Requested, 0)
		change[max(a.Born, -1)+1] += size
		if end := min(a.FreeRequested, a.Freed); int(end) < len(events) {
			change[max(end, -1)+1] -= size
		}
	}
	live := change[0]
	for i := range events {
		live += change[i+1]
		if events[i].Action == snapshot.OOM {
			most = max(most, live+requested(&events[i]))
		}
	}
	return most
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
// come within 1 % of the best outcome, the recorded ones before all others and
// whenever less is saved than 1 % or than the replay misses the record by. It
// returns nil when requests fail under all of them.
func (a *Advice) choose() *Result {
	all := a.modelled()
	best := slices.MinFunc(all, byOutcome)
	if best.OOMs > 0 {
		return nil
	}
	percent := a.Baseline.PeakReserved / 100
	near := slices.DeleteFunc(all, func(r *Result) bool {
		return r.OOMs > 0 || r.PeakReserved-best.PeakReserved > percent
	})
	if near[0] == a.Baseline {
		return a.Baseline
	}
	best = slices.MinFunc(near, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Settings.count(), b.Settings.count()), cmp.Compare(a.DeviceCalls(), b.DeviceCalls()),
			cmp.Compare(a.PeakReserved, b.PeakReserved))
	})
	if a.Baseline.OOMs == 0 && min(a.Baseline.PeakReserved, a.Recorded)-best.PeakReserved < max(percent, a.Error) {
		return a.Baseline
	}
	return best
}

// modelled are the replays that can be compared, Baseline first.
func (a *Advice) modelled() []*Result {
	out := []*Result{a.Baseline}
	for _, r := range a.Replays {
		if r.Modelled() {
			out = append(out, r)
		}
	}
	return out
}

// Modelled reports whether the model follows all of the settings.
func (r *Result) Modelled() bool { return len(r.Settings.Warnings) == 0 }

// DeviceCalls is how often the device was asked for memory or given some back:
// what a replay costs in time. Giving back waits for the device (cudaFree).
func (r *Result) DeviceCalls() int { return r.DeviceAllocs + r.DeviceFrees }

// notes are sentences about what the answer rests on.
func (r *Replay) notes(a *Advice, q Question) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch {
	case r.Check.Exact:
	case r.Timeline.OpenEnd:
		add("later events are missing: the replays end with the last event read, and their peaks are at least what is said")
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
	if e := r.limited(); e != nil {
		add("the device was not full when a request for %s failed, %s was free: the process was limited, "+
			"by set_per_process_memory_fraction or another limit; raising it is the first remedy", units.Bytes(requested(e)), units.Bytes(e.DeviceFree()))
	}
	if r.Settings.GCThreshold > 0 && a.Limit == 0 {
		add("%s is set and no limit is known: collection works against a limit only and is not replayed", keyGC)
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

// limited returns the last failed request if the device had far more than that
// free, at least four times as much, else nil.
func (r *Replay) limited() *snapshot.Event {
	events := r.Timeline.Device.Events
	for i := len(events) - 1; i >= 0; i-- {
		if e := &events[i]; e.Action == snapshot.OOM {
			if e.DeviceFree()/4 > max(requested(e), largeSegment) {
				return e
			}
			return nil
		}
	}
	return nil
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
