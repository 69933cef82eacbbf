package main

import (
	"github.com/snapview/snapview/budget"
)

// checkReport is the JSON of check.
type checkReport struct {
	Result   string        `json:"result"` // "pass", "fail" or "error"
	Budget   string        `json:"budget,omitempty"`
	Baseline string        `json:"baseline,omitempty"`
	Passed   int           `json:"passed"`
	Exceeded int           `json:"exceeded"`
	Warned   int           `json:"warned"`
	Skipped  int           `json:"skipped"`
	Unjudged int           `json:"unjudged"`
	NoMatch  int           `json:"no_match"`
	Files    []checkFile   `json:"files"`
	Gates    []checkGate   `json:"gates"`
	Growth   []checkGrowth `json:"growth"`
}

type checkFile struct {
	File  string   `json:"file"`
	Kind  string   `json:"kind,omitempty"`
	Error string   `json:"error,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

type checkGate struct {
	Name     string            `json:"name"`
	Owner    string            `json:"owner,omitempty"`
	Note     string            `json:"note,omitempty"`
	Line     int               `json:"budget_line,omitempty"`
	Kind     string            `json:"kind"`
	Subject  string            `json:"subject"`
	At       string            `json:"at,omitempty"`
	Severity string            `json:"severity"`
	Optional bool              `json:"optional"`
	Status   budget.GateStatus `json:"status"`
	Why      string            `json:"why,omitempty"`
	Total    int               `json:"total_checks"`
	Exceeded int               `json:"exceeded_checks"`
	Checks   []checkCheck      `json:"checks"`
}

// checkCheck is one limit on one subject. Value, limit, margin and before are
// bytes, counts, shares of 1 or words, as unit says.
type checkCheck struct {
	File    string            `json:"file"`
	Device  string            `json:"device"`
	Subject string            `json:"subject,omitempty"`
	Place   *checkPlace       `json:"place,omitempty"`
	Rule    budget.GateRule   `json:"rule,omitempty"`
	Status  budget.GateStatus `json:"status"`
	Why     string            `json:"why,omitempty"`
	Unit    string            `json:"unit"`
	Value   any               `json:"value"` // null when not known
	AtLeast bool              `json:"at_least,omitempty"`
	Limit   any               `json:"limit"`
	Margin  any               `json:"margin,omitempty"`
	Before  *int64            `json:"before,omitempty"`
	AtMost  bool              `json:"before_at_most,omitempty"`
	Lines   []checkLine       `json:"lines,omitempty"`
}

type checkPlace struct {
	File      string `json:"file"`
	Line      int32  `json:"line"`
	Function  string `json:"function"`
	MovedFrom int32  `json:"moved_from_line,omitempty"`
}

type checkLine struct {
	checkPlace
	Category string `json:"category,omitempty"`
	Bytes    int64  `json:"bytes"`
	Delta    *int64 `json:"delta_bytes,omitempty"` // absent without a baseline
	New      bool   `json:"new,omitempty"`
}

// checkGrowth is what changed on a device since the baseline.
type checkGrowth struct {
	File       string         `json:"file"`
	Device     string         `json:"device"`
	Run        string         `json:"baseline_run"`
	At         string         `json:"at"`
	Before     int64          `json:"before_bytes"`
	After      int64          `json:"after_bytes"`
	Delta      int64          `json:"delta_bytes"`
	Summary    []string       `json:"summary"`
	Rows       []diffRow      `json:"rows"`
	Categories []diffCategory `json:"categories"`
	Settings   []diffSetting  `json:"settings"`
}

func checkJSON(a *checkAnswer) checkReport {
	word, _ := a.verdict()
	out := checkReport{
		Result: map[string]string{"PASS": "pass", "FAIL": "fail", "ERROR": "error"}[word], Budget: a.budget, Baseline: a.baseline,
		Passed: a.Count(budget.GatePassed), Exceeded: a.Count(budget.GateExceeded), Warned: a.Count(budget.GateWarned),
		Skipped: a.Count(budget.GateSkipped), Unjudged: a.Count(budget.GateUnjudged), NoMatch: a.Count(budget.GateNoMatch),
		Files: []checkFile{}, Gates: []checkGate{}, Growth: []checkGrowth{},
	}
	for _, f := range a.Files {
		file := checkFile{File: f.Name, Kind: f.Kind, Notes: f.Notes}
		if f.Err != nil {
			file.Error = errorLine(f.Err)
		}
		out.Files = append(out.Files, file)
	}
	for i := range a.Gates {
		out.Gates = append(out.Gates, gateJSON(&a.Gates[i]))
	}
	for i := range a.Growth {
		out.Growth = append(out.Growth, growthJSON(&a.Growth[i]))
	}
	return out
}

func gateJSON(r *budget.GateResult) checkGate {
	g := r.Gate
	out := checkGate{Name: g.Name, Owner: g.Owner, Note: g.Note, Line: g.Line, Kind: g.Kind.String(), Subject: g.Subject, At: g.At,
		Severity: "fail", Optional: g.Optional, Status: r.Status, Why: r.Why, Total: r.Total, Exceeded: r.Exceeded, Checks: []checkCheck{}}
	if g.Warn {
		out.Severity = "warn"
	}
	for i := range r.Checks {
		out.Checks = append(out.Checks, oneCheckJSON(g, &r.Checks[i]))
	}
	return out
}

func oneCheckJSON(g *budget.Gate, c *budget.GateCheck) checkCheck {
	out := checkCheck{File: c.Capture, Device: c.Device, Subject: c.Subject, Rule: c.Rule, Status: c.Status, Why: c.Why,
		Unit: g.Unit(), AtLeast: c.Value.AtLeast, AtMost: c.AtMost}
	if c.Place != nil {
		place := placeJSON(*c.Place)
		out.Place = &place
	}
	switch {
	case c.Rule == budget.RuleAllow:
		out.Value, out.Limit = c.Word, g.Allow
	case c.Value.Missing == "":
		out.Value = numberJSON(c.Value)
		if c.Rule != budget.RuleForbid && c.Status != budget.GateUnjudged && c.Status != budget.GateSkipped {
			out.Limit, out.Margin = numberJSON(c.Limit), c.Margin()
			if c.Value.Whole > 0 {
				out.Margin = float64(c.Margin()) / 10000
			}
		}
	}
	if c.HasBefore {
		out.Before = &c.Before
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		line := checkLine{placeJSON(l.GatePlace), l.Category, l.Bytes, nil, l.New}
		if l.Grew {
			line.Delta = &l.Delta
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// numberJSON is an integer, or a share of 1 with four decimals.
func numberJSON(n budget.Number) any {
	if n.Whole > 0 {
		return float64(int64(float64(n.Value)/float64(n.Whole)*10000+.5)) / 10000
	}
	return n.Value
}

func placeJSON(p budget.GatePlace) checkPlace {
	return checkPlace{p.File, p.Line, p.Function, p.MovedFrom}
}

func growthJSON(g *budget.Growth) checkGrowth {
	out := checkGrowth{File: g.Capture, Device: g.Device, Run: g.Run, At: g.Moment, Before: g.Before, After: g.After, Delta: g.Delta,
		Summary: append([]string{}, g.Summary...), Rows: []diffRow{}, Categories: append([]diffCategory{}, categoryDeltasJSON(g.Categories)...), Settings: []diffSetting{}}
	for i := range g.Rows {
		if g.Rows[i].Delta != 0 {
			out.Rows = append(out.Rows, diffRowJSON(&g.Rows[i]))
		}
	}
	for _, s := range g.Settings {
		out.Settings = append(out.Settings, diffSetting(s))
	}
	return out
}
