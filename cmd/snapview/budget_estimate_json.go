package main

import "github.com/snapview/snapview/budget"

// estimateTable is the JSON of budget estimate; sizes are bytes.
type estimateTable struct {
	Config  map[string]string `json:"config"` // settings that are not at their defaults
	Params  int64             `json:"parameters"`
	Trained int64             `json:"trained_parameters"`

	Totals map[budget.Class]int64 `json:"totals"` // of total_bytes
	Total  int64                  `json:"total_bytes"`
	Per    map[budget.Class]int64 `json:"per_gpu"` // of per_gpu_bytes
	PerGPU int64                  `json:"per_gpu_bytes"`
	Full   map[budget.Class]int64 `json:"full"`
	Peak   estimatePeak           `json:"peak"`
	Phases []estimatePeak         `json:"phases"`
	Stage  *int64                 `json:"pipeline_stage,omitempty"`

	Reserved int64          `json:"reserved_bytes,omitempty"` // absent when the architecture is not known
	Steps    []estimateLine `json:"steps"`
	Overhead []estimateLine `json:"overhead"`
	Cards    []estimateCard `json:"cards"`

	NotIncluded []string `json:"not_included"`
	Notes       []string `json:"notes,omitempty"`
}

type estimatePeak struct {
	Phase     budget.Step `json:"phase"`
	Bytes     int64       `json:"bytes"`
	Allocated int64       `json:"allocated_bytes"`
	At        string      `json:"at"`

	Totals map[budget.Class]int64 `json:"totals"` // of bytes
}

type estimateLine struct {
	Class    budget.Class  `json:"class"`
	Category string        `json:"category"`
	Name     string        `json:"name"`
	Formula  string        `json:"formula"`
	Numbers  string        `json:"numbers"`
	Bytes    int64         `json:"bytes"`
	AtPeak   int64         `json:"at_peak_bytes"`
	Count    int64         `json:"count"`
	Phases   []budget.Step `json:"phases"`
}

type estimateCard struct {
	Card  string `json:"card"`
	Bytes int64  `json:"memory_bytes"`
	Needs int64  `json:"needs_bytes"`
	Fits  bool   `json:"fits"`
}

func estimateJSON(l *budget.Ledger) estimateTable {
	t := estimateTable{
		Config: l.Config.Given(), Params: l.Params, Trained: l.Trained, Totals: classTotals(l.Whole), Total: l.Total, Per: classTotals(l.Totals), PerGPU: l.PerGPU,
		Full: classTotals(l.Full), Peak: peakJSON(l.Peak), Reserved: l.Reserved, Steps: linesJSON(l.Lines), Overhead: linesJSON(l.Overhead),
		Cards: []estimateCard{}, NotIncluded: l.NotIncluded, Notes: l.Notes,
	}
	if l.Config.Pipeline > 1 {
		t.Stage = &l.Stage
	}
	for _, p := range l.Peaks {
		t.Phases = append(t.Phases, peakJSON(p))
	}
	for _, c := range l.Cards() {
		t.Cards = append(t.Cards, estimateCard{c.Card.Name, c.Card.Bytes, c.Needs, c.Fits()})
	}
	return t
}

// classTotals has every class, also those without bytes.
func classTotals(t budget.Totals) map[budget.Class]int64 {
	all := map[budget.Class]int64{}
	for _, c := range budget.Classes() {
		all[c] = t[c]
	}
	return all
}

func peakJSON(p budget.StepPeak) estimatePeak {
	return estimatePeak{p.Step, p.Bytes, p.Allocated, p.At, classTotals(p.Totals)}
}

func linesJSON(lines []budget.Line) []estimateLine {
	out := []estimateLine{}
	for _, x := range lines {
		out = append(out, estimateLine{x.Class, x.Category.String(), x.Name, x.Formula, x.Numbers, x.Bytes, x.AtPeak, x.Count, x.Steps})
	}
	return out
}
