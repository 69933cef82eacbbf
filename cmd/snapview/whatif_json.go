package main

import (
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/snapshot"
)

// whatifAnswer is the JSON of whatif for one device, bytes unless named otherwise.
type whatifAnswer struct {
	Device      int              `json:"device"`
	Partial     string           `json:"partial,omitempty"`
	History     string           `json:"history"`
	Recorded    recordedRun      `json:"recorded"`
	SelfCheck   selfCheck        `json:"self_check"`
	LowerBound  int64            `json:"lower_bound_bytes"`
	Limit       int64            `json:"limit_bytes,omitempty"`
	Guessed     bool             `json:"limit_guessed,omitempty"`
	LimitLow    int64            `json:"limit_low_bytes,omitempty"`
	LimitHigh   int64            `json:"limit_high_bytes,omitempty"`
	ReplayError int64            `json:"replay_error_bytes,omitempty"`
	Baseline    whatifReplay     `json:"baseline"`
	AllReplays  int              `json:"total_replays"` // before -n
	Replays     []whatifReplay   `json:"replays"`
	Recommended *recommendedConf `json:"recommendation"` // null when requests fail under all or later events are missing
	Fits        []smallestFit    `json:"smallest_fit"`
	Notes       []string         `json:"notes,omitempty"`
}

type recordedRun struct {
	Conf          string `json:"conf"`
	PeakReserved  int64  `json:"peak_reserved_bytes"`
	PeakRequested int64  `json:"peak_requested_bytes"`
	PeakAllocated int64  `json:"peak_allocated_bytes,omitempty"` // when the replay is exact
	OOMs          int    `json:"ooms"`
}

type selfCheck struct {
	Exact       bool   `json:"exact"`
	Difference  int64  `json:"difference_bytes"`
	Divergences int    `json:"divergences"`
	Event       int    `json:"event"` // of the first divergence, -1 for none
	Reason      string `json:"reason,omitempty"`
	Rebuilt     bool   `json:"start_rebuilt"`
}

type whatifReplay struct {
	Conf              string    `json:"conf"`
	NotModelled       bool      `json:"not_modelled,omitempty"`
	PeakReserved      int64     `json:"peak_reserved_bytes"`
	PeakAllocated     int64     `json:"peak_allocated_bytes"`
	PeakActive        int64     `json:"peak_active_bytes"`
	PeakInactiveSplit int64     `json:"peak_inactive_split_bytes"`
	EndReserved       int64     `json:"end_reserved_bytes"`
	Segments          int       `json:"segments"` // at the end, as a snapshot lists them
	DeviceAllocs      int       `json:"device_allocs"`
	DeviceFrees       int       `json:"device_frees"`
	DeviceCalls       int       `json:"device_calls"`
	Retries           int       `json:"alloc_retries"`
	OOMs              int       `json:"ooms"`
	Rescued           int       `json:"rescued"` // failed in the recorded run and served here
	FirstOOM          *firstOOM `json:"first_oom,omitempty"`
}

// firstOOM is the moment at which a program that does not catch the error ends.
type firstOOM struct {
	Event     int   `json:"event"`
	Reserved  int64 `json:"reserved_bytes"`
	Allocated int64 `json:"allocated_bytes"`
}

type recommendedConf struct {
	Conf        string   `json:"conf"`
	Environment string   `json:"environment"` // the line to set, "" for no change
	Change      bool     `json:"change"`
	Why         []string `json:"why"`
}

type smallestFit struct {
	Conf  string `json:"conf"`
	Bytes int64  `json:"bytes"`
	Card  int    `json:"gpu_gb,omitempty"` // absent when none is large enough
}

// whatifJSON is one object for one device and a list otherwise.
func whatifJSON(s *snapshot.Snapshot, answers []deviceAdvice, o *whatifOptions) any {
	list := make([]whatifAnswer, len(answers))
	for i, a := range answers {
		list[i] = a.json(s, o)
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (a deviceAdvice) json(s *snapshot.Snapshot, o *whatifOptions) whatifAnswer {
	t, check := a.recorded.Timeline, a.recorded.Check
	out := whatifAnswer{
		Device: t.Device.Index, Partial: partialText(s), History: t.History.String(),
		Recorded: recordedRun{Conf: a.recorded.Settings.Name(), PeakReserved: t.PeakReserved.Bytes, PeakRequested: t.Peak.Bytes,
			OOMs: len(oomEvents(t.Device))},
		SelfCheck:  selfCheck{check.Exact, check.Difference, check.Divergences, check.Event, check.Reason, check.Rebuilt},
		LowerBound: a.LowerBound, Limit: a.Limit, Guessed: a.Guessed, LimitLow: a.Low, LimitHigh: a.High, ReplayError: a.Error,
		Baseline: replayJSON(a.Baseline), AllReplays: len(a.Replays), Replays: []whatifReplay{},
		Recommended: a.recommendation(), Notes: a.Notes,
	}
	out.Fits = []smallestFit{}
	if check.Exact {
		out.Recorded.PeakAllocated = a.recorded.PeakAllocated
	}
	for _, r := range a.Replays[:o.rows.limit(len(a.Replays))] {
		out.Replays = append(out.Replays, replayJSON(r))
	}
	for i := range a.Fits {
		f := &a.Fits[i]
		out.Fits = append(out.Fits, smallestFit{f.Settings.Name(), f.Bytes, f.Card})
	}
	return out
}

func replayJSON(r *allocator.Result) whatifReplay {
	out := whatifReplay{
		Conf: r.Settings.Name(), PeakReserved: r.PeakReserved, PeakAllocated: r.PeakAllocated, PeakActive: r.PeakActive,
		PeakInactiveSplit: r.PeakInactiveSplit, EndReserved: r.Reserved, Segments: r.Ranges,
		DeviceAllocs: r.DeviceAllocs, DeviceFrees: r.DeviceFrees, DeviceCalls: r.DeviceCalls(),
		Retries: r.Retries, OOMs: r.OOMs, Rescued: r.Rescued,
	}
	out.NotModelled = !r.Modelled()
	if r.OOMs > 0 {
		out.FirstOOM = &firstOOM{r.FirstOOM, r.AtOOM.Reserved, r.AtOOM.Allocated}
	}
	return out
}

func (a deviceAdvice) recommendation() *recommendedConf {
	if a.Best == nil {
		return nil
	}
	out := &recommendedConf{Conf: a.Best.Settings.Name(), Change: a.Best != a.Baseline, Why: a.Why}
	if out.Change {
		out.Environment = environmentLine(out.Conf)
	}
	return out
}
