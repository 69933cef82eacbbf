package main

import (
	"math"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// leaksReport is the JSON of leaks for one device.
type leaksReport struct {
	Kind     string         `json:"kind"`
	Device   int            `json:"device"`
	Partial  string         `json:"partial,omitempty"`
	Verdict  string         `json:"verdict"`
	Shape    string         `json:"shape"`
	PerStep  int64          `json:"bytes_per_step"`
	Low      int64          `json:"low_bytes_per_step"`
	High     int64          `json:"high_bytes_per_step"`
	StepUnit string         `json:"step_unit"`
	Why      string         `json:"why"`
	Need     string         `json:"need,omitempty"`
	Rounds   leaksRounds    `json:"rounds"`
	WarmUp   int            `json:"warm_up_steps"`
	Period   float64        `json:"period_steps,omitempty"`
	Epoch    *leaksEpoch    `json:"epoch,omitempty"`
	InFile   *float64       `json:"bytes_per_training_step,omitempty"`
	All      int            `json:"total_suspects"` // before -n
	Suspects []leaksSuspect `json:"suspects"`
	Hints    []leaksHint    `json:"hints"`
	Series   []leaksSeries  `json:"series"`
	Files    []leaksFile    `json:"files,omitempty"`
	Notes    []string       `json:"notes"`
	Change   *leaksChange   `json:"change,omitempty"`
	Before   *leaksReport   `json:"before,omitempty"`
}

type leaksRounds struct {
	Count    int    `json:"count"`
	How      string `json:"how"`
	File     string `json:"file,omitempty"`
	Line     int32  `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
}

type leaksEpoch struct {
	Steps    int    `json:"steps"`
	Bytes    int64  `json:"bytes"`
	Evidence string `json:"evidence"`
}

type leaksSuspect struct {
	File     string      `json:"file"`
	Line     int32       `json:"line"`
	Function string      `json:"function"`
	Category string      `json:"category"`
	PerStep  int64       `json:"bytes_per_step"`
	Low      int64       `json:"low_bytes_per_step"`
	High     int64       `json:"high_bytes_per_step"`
	Live     int64       `json:"live_bytes"`
	Count    int         `json:"count"`
	Every    float64     `json:"every_steps"`
	AtATime  float64     `json:"kept_at_a_time"`
	Stack    []topFrame  `json:"stack"`
	Stacks   []leakStack `json:"stacks,omitempty"`
}

type leakStack struct {
	PerStep int64 `json:"bytes_per_step"`
	Live    int64 `json:"live_bytes"`
	Count   int   `json:"count"`
}

type leaksHint struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Evidence string `json:"evidence"`
	Do       string `json:"do,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int32  `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
}

type leaksSeries struct {
	Name   string `json:"name"`
	Points int    `json:"points"`
	First  int64  `json:"first_bytes"`
	Last   int64  `json:"last_bytes"`
	Slope  int64  `json:"slope_bytes_per_step"`
	Low    int64  `json:"slope_low_bytes_per_step"`
	High   int64  `json:"slope_high_bytes_per_step"`
	Course string `json:"course"`
}

type leaksFile struct {
	Name      string `json:"name"`
	Requested int64  `json:"requested_bytes"`
	Reserved  int64  `json:"reserved_bytes"`
	Peak      int64  `json:"peak_requested_bytes"`
	Steps     int    `json:"steps"`
	New       int64  `json:"new_bytes"`
	Kept      int64  `json:"kept_bytes"`
}

type leaksChange struct {
	Outcome  string       `json:"outcome"`
	StepUnit string       `json:"step_unit"`
	Before   int64        `json:"before_bytes_per_step"`
	After    int64        `json:"after_bytes_per_step"`
	Why      string       `json:"why"`
	Lines    []leaksMoved `json:"lines"`
}

type leaksMoved struct {
	File     string `json:"file"`
	Line     int32  `json:"line"`
	Function string `json:"function"`
	Before   int64  `json:"before_bytes_per_step"`
	After    int64  `json:"after_bytes_per_step"`
}

// leaksJSON is one object for one device and a list otherwise.
func leaksJSON(a *leaksAnswer, o *options) any {
	list := make([]leaksReport, len(a.reports))
	for i := range list {
		list[i] = newLeaksReport(&a.reports[i], o)
		list[i].Partial = strings.Join(a.partial, "; ")
		if a.changes != nil {
			before := newLeaksReport(&a.before[i], o)
			list[i].Before, list[i].Change = &before, newLeaksChange(&a.changes[i])
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func newLeaksReport(r *attribution.LeakReport, o *options) leaksReport {
	g := &r.Growth
	out := leaksReport{
		Kind: "leaks", Device: r.Device, Verdict: g.Verdict.String(), Shape: g.Shape.String(),
		PerStep: whole(g.BytesPerStep), Low: whole(g.Low), High: whole(g.High), StepUnit: g.Unit, Why: g.Why, Need: g.Need,
		Rounds: leaksRounds{r.Rounds.Count, r.Rounds.How, r.Rounds.File, r.Rounds.Line, r.Rounds.Function},
		WarmUp: g.Allocated.WarmUp, Period: g.Allocated.Period, All: len(r.Suspects),
		Suspects: []leaksSuspect{}, Hints: []leaksHint{}, Series: []leaksSeries{}, Notes: append([]string{}, r.Notes...),
	}
	if r.Epoch != nil {
		out.Epoch = &leaksEpoch{r.Epoch.Steps, r.Epoch.Bytes, r.Epoch.Evidence}
	}
	if r.BytesPerStep != 0 || r.StepsPerSnapshot > 0 {
		out.InFile = &r.BytesPerStep
	}
	n := len(r.Suspects)
	if o.rows.given {
		n = o.rows.limit(n)
	}
	for i := range r.Suspects[:n] {
		out.Suspects = append(out.Suspects, newLeaksSuspect(&r.Suspects[i]))
	}
	for _, h := range r.Hints {
		out.Hints = append(out.Hints, leaksHint{h.ID, h.Title, h.Evidence, h.Do, h.File, h.Line, h.Function})
	}
	for i, t := range [...]*attribution.Trend{&g.Allocated, &g.Reserved, &g.Peak} {
		if i < len(r.Curves) && len(r.Curves[i].Bytes) > 0 {
			s := &r.Curves[i]
			out.Series = append(out.Series, leaksSeries{s.Name, len(s.Bytes), whole(s.Bytes[0]), whole(s.Bytes[len(s.Bytes)-1]),
				whole(t.BytesPerStep), whole(t.Low), whole(t.High), t.Course.String()})
		}
	}
	for _, f := range r.Files {
		out.Files = append(out.Files, leaksFile{f.Name, f.Requested, f.Reserved, f.Peak, f.Steps, f.New, f.Kept})
	}
	return out
}

func newLeaksSuspect(s *attribution.Suspect) leaksSuspect {
	out := leaksSuspect{
		File: s.File, Line: s.Line, Function: s.Function, Category: s.Category.String(), PerStep: whole(s.BytesPerStep), Low: whole(s.Low), High: whole(s.High),
		Live: s.Live, Count: s.Count, Every: s.Every, AtATime: s.AtATime, Stack: leakFrames(s.Frames),
	}
	if len(s.Stacks) > 1 {
		for _, x := range s.Stacks {
			out.Stacks = append(out.Stacks, leakStack{whole(x.BytesPerStep), x.Live, x.Count})
		}
	}
	return out
}

func leakFrames(frames []snapshot.Frame) []topFrame {
	out := []topFrame{}
	for _, f := range frames {
		out = append(out, topFrame{f.File, f.Line, f.Function})
	}
	return out
}

func newLeaksChange(c *attribution.LeakChange) *leaksChange {
	out := &leaksChange{c.Outcome.String(), c.Unit, whole(c.Before), whole(c.After), c.Why, []leaksMoved{}}
	for _, l := range c.Lines {
		out.Lines = append(out.Lines, leaksMoved{l.File, l.Line, l.Function, whole(l.Before), whole(l.After)})
	}
	return out
}

// whole rounds to bytes.
func whole(v float64) int64 {
	if math.IsNaN(v) || math.Abs(v) >= math.MaxInt64 {
		return 0
	}
	return int64(math.Round(v))
}
