package main

import (
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// oomDevice is the JSON of oom for one device; sizes are bytes.
type oomDevice struct {
	Device   int          `json:"device"`
	Partial  string       `json:"partial,omitempty"`
	History  string       `json:"history"`
	Exact    bool         `json:"exact"` // the replay agrees with the record
	Earlier  int          `json:"earlier_events"`
	Events   []oomAnswer  `json:"events"`
	Remedies []oomRemedy  `json:"remedies"`
	Untried  string       `json:"untried,omitempty"`
	Findings []oomFinding `json:"findings"`
}

type oomAnswer struct {
	Event         int              `json:"event"`
	Time          int64            `json:"time_us"`
	Asked         int64            `json:"requested_bytes"`
	File          string           `json:"file"`
	Line          int32            `json:"line"`
	Function      string           `json:"function"`
	DeviceFree    int64            `json:"device_free_bytes"`
	Reserved      int64            `json:"reserved_bytes"`
	Allocated     int64            `json:"allocated_bytes"`
	Active        int64            `json:"active_bytes"`
	LargestUsable int64            `json:"largest_free_block_bytes"`
	LargestFree   int64            `json:"largest_free_block_anywhere_bytes"`
	Free          int64            `json:"free_bytes"`
	InactiveSplit int64            `json:"inactive_split_bytes"`
	Elsewhere     int64            `json:"free_elsewhere_bytes"`
	Verdict       string           `json:"verdict"`
	ShortBy       int64            `json:"short_by_bytes"`
	Room          int64            `json:"room_bytes"`
	Limit         oomLimit         `json:"limit"`
	Undecided     bool             `json:"undecided"`
	Deciding      int64            `json:"deciding_limit_bytes"`
	Outside       *int64           `json:"outside_bytes,omitempty"`
	Total         int64            `json:"total_bytes"`
	AllRows       int              `json:"total_rows"`
	Rows          []oomRow         `json:"rows"`
	Totals        map[string]int64 `json:"totals"`
	Pins          []oomPin         `json:"pins"`
	Pools         []oomPool        `json:"pools"`
	Notes         []string         `json:"notes"`
}

type oomLimit struct {
	Low    int64  `json:"at_least_bytes"`
	High   int64  `json:"below_bytes"`
	Source string `json:"source"`
}

type oomRow struct {
	topRow
	Category string           `json:"category"`
	Parts    map[string]int64 `json:"categories"`
}

type oomPin struct {
	File     string `json:"file"`
	Line     int32  `json:"line"`
	Function string `json:"function"`
	Bytes    int64  `json:"bytes"`
	Alone    int64  `json:"alone_bytes"`
	Held     int64  `json:"held_bytes"`
	Segments int    `json:"segments"`
}

type oomPool struct {
	Pool        snapshot.PoolID `json:"pool"`
	Stream      uint64          `json:"stream"`
	Small       bool            `json:"small"`
	Expandable  bool            `json:"expandable"`
	Segments    int             `json:"segments"`
	Reserved    int64           `json:"reserved_bytes"`
	Free        int64           `json:"free_bytes"`
	LargestFree int64           `json:"largest_free_block_bytes"`
}

type oomRemedy struct {
	Conf         string `json:"conf"`
	Helps        bool   `json:"helps"`
	Limit        int64  `json:"limit_bytes"`
	Conditional  bool   `json:"conditional"`
	Served       int    `json:"served"`
	Failed       int    `json:"failed"`
	PeakReserved int64  `json:"peak_reserved_bytes"`
}

type oomFinding struct {
	ID         string  `json:"id"`
	Title      string  `json:"title"`
	Bytes      int64   `json:"bytes"`
	Reserved   bool    `json:"reserved"`
	UpperBound bool    `json:"upper_bound"`
	File       string  `json:"file"`
	Line       int32   `json:"line"`
	Function   string  `json:"function"`
	Why        string  `json:"why"`
	Do         string  `json:"do"`
	Evidence   string  `json:"evidence"`
	Confidence float32 `json:"confidence"`
}

// oomJSON is one object for one device and a list otherwise.
func oomJSON(s *snapshot.Snapshot, answers []deviceOOM, o *oomOptions) any {
	out := make([]oomDevice, len(answers))
	for i, a := range answers {
		out[i] = a.json(s, o)
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

func (a deviceOOM) json(s *snapshot.Snapshot, o *oomOptions) oomDevice {
	out := oomDevice{
		Device: a.timeline.Device.Index, Partial: partialText(s), History: a.timeline.History.String(),
		Exact: a.Check.Exact, Earlier: a.Earlier, Events: []oomAnswer{}, Remedies: []oomRemedy{}, Untried: a.Untried, Findings: []oomFinding{},
	}
	for _, x := range a.Events {
		out.Events = append(out.Events, oomEventJSON(s, x, o))
	}
	for _, r := range a.Remedies {
		out.Remedies = append(out.Remedies, oomRemedy{r.Conf, r.Helps(), r.Limit, r.Conditional, r.Served, r.Failed, r.PeakReserved})
	}
	for _, f := range a.Findings {
		out.Findings = append(out.Findings, oomFinding{f.ID, f.Title, f.Bytes, f.Reserved, f.UpperBound, f.File, f.Line, f.Function, f.Why, f.Do, f.Evidence, f.Confidence})
	}
	return out
}

func oomEventJSON(s *snapshot.Snapshot, x *attribution.OOM, o *oomOptions) oomAnswer {
	out := oomAnswer{
		Event: x.Moment.Event, Time: x.Moment.Time, Asked: x.Asked, File: x.File, Line: x.Line, Function: x.Function,
		DeviceFree: x.DeviceFree, Reserved: x.Reserved, Allocated: x.Allocated, Active: x.Active,
		LargestUsable: x.LargestUsable, LargestFree: x.LargestFree, Free: x.Free, InactiveSplit: x.InactiveSplit, Elsewhere: x.FreeElsewhere,
		Verdict: x.Verdict.String(), ShortBy: x.ShortBy, Room: x.Room,
		Limit:     oomLimit{x.Limit.Low, x.Limit.High, x.Limit.How.String()},
		Undecided: x.Undecided(), Deciding: x.DecidingLimit(),
		Total: x.Holders.Total, AllRows: len(x.Holders.Rows), Rows: []oomRow{}, Totals: categoryBytes(x.Totals),
		Pins: []oomPin{}, Pools: []oomPool{}, Notes: append([]string{}, x.Notes...),
	}
	if x.OutsideKnown {
		out.Outside = &x.Outside
	}
	for i, r := range x.Holders.Rows[:o.jsonRows(len(x.Holders.Rows))] {
		row := oomRow{topRow: topRow{File: r.File, Line: r.Line, Function: r.Function, Bytes: r.Bytes, Count: r.Count}, Category: attribution.Unknown.String(), Parts: map[string]int64{}}
		for k, p := range x.Parts[i] {
			row.Parts[p.Category.String()] = p.Bytes
			if k == 0 {
				row.Category = p.Category.String()
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for _, p := range x.Pins[:o.jsonRows(len(x.Pins))] {
		out.Pins = append(out.Pins, oomPin{p.File, p.Line, p.Function, p.Bytes, p.Alone, p.Held, p.Segments})
	}
	for _, p := range x.Pools {
		out.Pools = append(out.Pools, oomPool{poolID(s, p.Pool), streamHandle(s, p.Stream), p.Small, p.Expandable, p.Segments, p.Reserved, p.Free, p.LargestFree})
	}
	return out
}

// jsonRows is how many of n rows to list in JSON: all, unless -n says so.
func (o *oomOptions) jsonRows(n int) int {
	if !o.rows.given {
		return n
	}
	return o.rows.limit(n)
}

func categoryBytes(t attribution.Totals) map[string]int64 {
	out := map[string]int64{}
	for _, c := range attribution.Categories() {
		if t[c] != 0 {
			out[c.String()] = t[c]
		}
	}
	return out
}

func poolID(s *snapshot.Snapshot, i uint16) snapshot.PoolID {
	if int(i) < len(s.Pools) {
		return s.Pools[i]
	}
	return snapshot.PoolID{}
}

func streamHandle(s *snapshot.Snapshot, i uint16) uint64 {
	if int(i) < len(s.Streams) {
		return s.Streams[i]
	}
	return 0
}
