package main

import (
	"math"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/trainlog"
)

// logRun is the JSON of log for one run: that of leaks, and the curves.
type logRun struct {
	Kind         string       `json:"kind"`
	Partial      string       `json:"partial,omitempty"`
	Run          string       `json:"run,omitempty"`
	Rank         *int         `json:"rank,omitempty"`
	Device       *int         `json:"device,omitempty"`
	Process      string       `json:"process,omitempty"`
	Restart      int          `json:"restart"`
	Verdict      string       `json:"verdict"`
	Shape        string       `json:"shape"`
	BytesPerStep int64        `json:"bytes_per_step"`
	Low          int64        `json:"low_bytes_per_step"`
	High         int64        `json:"high_bytes_per_step"`
	StepUnit     string       `json:"step_unit"`
	Why          string       `json:"why"`
	Need         string       `json:"need,omitempty"`
	Suspects     []struct{}   `json:"suspects"` // logs name no lines
	Series       []logSeries  `json:"series"`
	Outside      *logOutside  `json:"outside,omitempty"`
	Capacity     int64        `json:"capacity_bytes,omitempty"`
	Room         *logRoom     `json:"room,omitempty"`
	Retries      *logCounter  `json:"alloc_retries,omitempty"`
	OOMs         *logCounter  `json:"ooms,omitempty"`
	Failed       int          `json:"failed_allocations"`
	Failures     []logFailure `json:"failures"`
	Warnings     []string     `json:"warnings"`
	Notes        []string     `json:"notes"`
	Files        []logFile    `json:"files"`
	Unreadable   int          `json:"unreadable_lines"`
}

type logSeries struct {
	Name       string   `json:"name"`
	File       string   `json:"file,omitempty"` // absent for what was worked out of several
	Judged     bool     `json:"judged"`
	Points     int      `json:"points"`
	Values     int      `json:"values"`
	First      int64    `json:"first_bytes"`
	Last       int64    `json:"last_bytes"`
	Lowest     int64    `json:"min_bytes"`
	Highest    int64    `json:"max_bytes"`
	Slope      int64    `json:"slope_bytes_per_step"`
	Low        int64    `json:"slope_low_bytes_per_step"`
	High       int64    `json:"slope_high_bytes_per_step"`
	Shape      string   `json:"shape"`
	Course     string   `json:"course"`
	StepUnit   string   `json:"step_unit"`
	FirstStep  float64  `json:"first_step"`
	LastStep   float64  `json:"last_step"`
	Resolution int64    `json:"resolution_bytes"`
	Unit       *logUnit `json:"unit,omitempty"`
}

// logUnit is how the printed unit was read.
type logUnit struct {
	Printed string `json:"printed"`
	Kilo    int    `json:"kilo"` // 1000 or 1024
	Basis   string `json:"basis"`
	Reason  string `json:"reason,omitempty"`
}

type logOutside struct {
	Last       int64 `json:"last_bytes"`
	Median     int64 `json:"median_bytes"`
	Lowest     int64 `json:"min_bytes"`
	Highest    int64 `json:"max_bytes"`
	Samples    int   `json:"samples"`
	ByTime     bool  `json:"joined_by_time"`
	UpperBound bool  `json:"upper_bound"`
}

type logRoom struct {
	Left  int64   `json:"left_bytes"`
	Steps float64 `json:"steps"`
}

type logCounter struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

type logFailure struct {
	Line      int64    `json:"line"`
	Step      *float64 `json:"step,omitempty"`
	Requested int64    `json:"requested_bytes"`
	Free      *int64   `json:"device_free_bytes,omitempty"`
	Capacity  *int64   `json:"capacity_bytes,omitempty"`
	Allocated *int64   `json:"allocated_bytes,omitempty"`
	Reserved  *int64   `json:"reserved_bytes,omitempty"`
}

type logFile struct {
	Name       string       `json:"name"`
	Forms      []string     `json:"forms"`
	Lines      int64        `json:"lines"`
	Unreadable int          `json:"unreadable_lines"`
	Examples   []logExample `json:"unreadable_examples,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

type logExample struct {
	Line int64  `json:"line"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

// logsJSON is one object for one run, and a list for several.
func logsJSON(a *logAnswer, o *options) any {
	n := len(a.Runs)
	if o.rows.given {
		n = o.rows.limit(n)
	}
	list := make([]logRun, n)
	for i := range list {
		list[i] = runJSON(a, &a.Runs[i], o)
	}
	if len(a.Runs) == 1 {
		return list[0]
	}
	return list
}

func runJSON(a *logAnswer, r *attribution.LogRun, o *options) logRun {
	g := &r.Growth
	out := logRun{
		Kind: "log", Partial: strings.Join(a.partial, "; "), Run: r.Name, Rank: known(r.Rank), Device: known(r.Device), Process: r.Process, Restart: r.Restart,
		Verdict: g.Verdict.String(), Shape: g.Shape.String(), BytesPerStep: whole(g.BytesPerStep), Low: whole(g.Low), High: whole(g.High),
		StepUnit: g.Unit, Why: g.Why, Need: g.Need, Suspects: []struct{}{}, Series: []logSeries{},
		Capacity: r.Capacity, Retries: counterJSON(r.Retries), OOMs: counterJSON(r.OOMs), Failed: r.Failed, Failures: []logFailure{},
		Warnings: append([]string{}, r.Warnings...), Notes: append(append([]string{}, r.Notes...), a.Notes...), Files: []logFile{},
	}
	n := len(r.Curves)
	if o.rows.given {
		n = o.rows.limit(n)
	}
	for i := range r.Curves[:n] {
		out.Series = append(out.Series, seriesJSON(&r.Curves[i]))
	}
	if x := r.Outside; x != nil {
		out.Outside = &logOutside{whole(x.Last), whole(x.Median), whole(x.Low), whole(x.High), x.Samples, x.Joined, x.UpperBound}
	}
	if r.Room != nil {
		out.Room = &logRoom{r.Room.Left, finite(r.Room.Steps)}
	}
	for _, f := range r.Failures {
		out.Failures = append(out.Failures, failureJSON(f))
	}
	for _, l := range a.logs {
		for _, name := range r.Files {
			if l.Name == name {
				out.Files = append(out.Files, fileJSON(l))
				out.Unreadable += l.Unreadable.Count
			}
		}
	}
	return out
}

// known is nil for a rank or device that the log does not tell.
func known(n int) *int {
	if n == trainlog.Unknown {
		return nil
	}
	return &n
}

// finite is v, or 0 for what JSON has no number for.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func counterJSON(c attribution.LogCounter) *logCounter {
	if !c.Known {
		return nil
	}
	return &logCounter{c.First, c.Last}
}

func seriesJSON(c *attribution.LogCurve) logSeries {
	out := logSeries{
		Name: c.Series.Name, File: c.File, Judged: c.Judged, Points: c.Points, Values: c.Values,
		First: whole(c.First), Last: whole(c.Last), Lowest: whole(c.Low), Highest: whole(c.High),
		Slope: whole(c.Trend.BytesPerStep), Low: whole(c.Trend.Low), High: whole(c.Trend.High),
		Shape: c.Trend.Shape.String(), Course: c.Trend.Course.String(), StepUnit: c.Unit, Resolution: whole(math.Ceil(c.Series.Resolution)),
	}
	if n := len(c.Series.Steps); n > 0 {
		out.FirstStep, out.LastStep = c.Series.Steps[0], c.Series.Steps[n-1]
	}
	if c.Log != nil {
		out.Unit = &logUnit{c.Log.Unit.Text, int(c.Log.Base()), c.Log.Basis.String(), c.Log.Reason}
	}
	return out
}

func failureJSON(f trainlog.Failure) logFailure {
	bytes := func(v float64) *int64 {
		if math.IsNaN(v) {
			return nil
		}
		n := whole(v)
		return &n
	}
	out := logFailure{Line: f.Line, Requested: whole(f.Asked), Free: bytes(f.Free), Capacity: bytes(f.Total), Allocated: bytes(f.Allocated), Reserved: bytes(f.Reserved)}
	if !math.IsNaN(f.Step) {
		out.Step = &f.Step
	}
	return out
}

func fileJSON(l *trainlog.Log) logFile {
	out := logFile{Name: l.Name, Forms: []string{}, Lines: l.Lines, Unreadable: l.Unreadable.Count, Notes: l.Notes}
	for _, f := range l.Forms {
		out.Forms = append(out.Forms, f.String())
	}
	for _, e := range l.Unreadable.Examples {
		out.Examples = append(out.Examples, logExample{e.Line, e.Text, e.Why})
	}
	return out
}
