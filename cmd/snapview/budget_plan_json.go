package main

import "github.com/snapview/snapview/budget"

// planJSON is the JSON of budget plan; sizes are bytes, parts are of 1.
type planJSON struct {
	Title        string           `json:"title,omitempty"`
	Source       string           `json:"source"`
	Currency     string           `json:"currency,omitempty"`
	Seed         uint64           `json:"seed"`
	Draws        int              `json:"draws"`
	Margin       float64          `json:"margin"`
	Answer       *int             `json:"answer"`
	Why          string           `json:"why,omitempty"`
	Rows         []planRowJSON    `json:"rows"`
	Marginal     []planExtraJSON  `json:"marginal"`
	Overheads    []planLineJSON   `json:"overheads"`
	Commitment   planPromiseJSON  `json:"commitment"`
	Ladders      []planLadderJSON `json:"ladders"`
	Notes        []string         `json:"notes,omitempty"`
	DocumentFile string           `json:"commitment_file,omitempty"`
	BudgetFile   string           `json:"budget_file,omitempty"`
}

type planRowJSON struct {
	Configuration string       `json:"configuration"`
	GPU           string       `json:"gpu"`
	GPUs          int64        `json:"gpus"`
	Card          int64        `json:"card_bytes"`
	Peak          int64        `json:"peak_bytes"`
	Reserved      int64        `json:"reserved_bytes"`
	Overhead      int64        `json:"overhead_bytes"`
	Need          int64        `json:"need_bytes"`
	Free          int64        `json:"free_bytes"`
	Fit           string       `json:"fit"`
	Cost          planCostJSON `json:"cost"`
	Risk          planRiskJSON `json:"risk"`
}

type planCostJSON struct {
	Hours       float64  `json:"hours"`
	HoursText   string   `json:"hours_arithmetic,omitempty"`
	Source      string   `json:"hours_source,omitempty"`
	Utilisation float64  `json:"utilisation"`
	PaidHours   float64  `json:"paid_hours"`
	GPUHours    float64  `json:"gpu_hours"`
	Price       *float64 `json:"price_per_hour"`
	Total       *float64 `json:"total"`
	Text        string   `json:"arithmetic,omitempty"`
	Missing     string   `json:"missing,omitempty"`
}

type planRiskJSON struct {
	Exceed    float64         `json:"exceed_probability"`
	ExceedMax float64         `json:"exceed_probability_below"`
	Need      planSpreadJSON  `json:"need"`
	Reserved  planSpreadJSON  `json:"reserved"`
	Inputs    []planInputJSON `json:"inputs"`
	Bins      []planBinJSON   `json:"histogram"`
	Surrogate string          `json:"surrogate,omitempty"`
}

type planSpreadJSON struct {
	Low    int64 `json:"low_bytes"`
	Median int64 `json:"median_bytes"`
	High   int64 `json:"high_bytes"`
}

type planInputJSON struct {
	Name     string `json:"name"`
	Text     string `json:"distribution"`
	Low      string `json:"low"`
	High     string `json:"high"`
	NeedLow  int64  `json:"need_low_bytes"`
	NeedHigh int64  `json:"need_high_bytes"`
}

type planBinJSON struct {
	From  int64 `json:"from_bytes"`
	To    int64 `json:"to_bytes"`
	Draws int   `json:"draws"`
}

type planExtraJSON struct {
	Row       int     `json:"row"`
	Extra     float64 `json:"extra_cost"`
	Saved     float64 `json:"hours_saved"`
	PerHour   float64 `json:"cost_per_hour_saved"`
	Dominated bool    `json:"dominated"`
}

type planLineJSON struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"`
}

type planPromiseJSON struct {
	Row      int      `json:"row"`
	Promise  int64    `json:"promised_bytes"`
	Trigger  int64    `json:"fallback_above_bytes"`
	Bound    int64    `json:"upper_bound_bytes"`
	Holds    bool     `json:"holds"`
	Problems []string `json:"problems,omitempty"`
}

type planLadderJSON struct {
	Row   int            `json:"row"`
	From  int64          `json:"need_bytes"`
	Goal  int64          `json:"goal_bytes"`
	Fits  bool           `json:"fits"`
	Steps []planStepJSON `json:"steps"`
}

type planStepJSON struct {
	Name    string `json:"name"`
	Change  string `json:"settings"`
	Cost    string `json:"costs,omitempty"`
	Frees   int64  `json:"frees_bytes"`
	Need    int64  `json:"need_bytes"`
	Peak    int64  `json:"peak_bytes"`
	Taken   bool   `json:"taken"`
	Fits    bool   `json:"fits"`
	Unknown string `json:"unknown,omitempty"`
}

func (o *budgetPlanOptions) planJSON(r *budget.PlanResult) planJSON {
	c := r.Commitment(o.budgetOut)
	out := planJSON{Title: r.Plan.Title, Source: r.Source, Currency: r.Plan.Currency, Seed: r.Plan.Vary.Seed, Draws: r.Plan.Vary.Draws, Margin: r.Plan.Margin,
		Why: r.Why, Rows: []planRowJSON{}, Marginal: []planExtraJSON{}, Overheads: []planLineJSON{}, Ladders: []planLadderJSON{}, Notes: r.Notes,
		Commitment:   planPromiseJSON{r.Promised, c.Promise, c.Trigger, c.Bound, c.Holds, r.Problems()},
		DocumentFile: o.out, BudgetFile: o.budgetOut}
	if r.Answer >= 0 {
		out.Answer = &r.Answer
	}
	for i := range r.Rows {
		out.Rows = append(out.Rows, planRow(&r.Rows[i]))
	}
	for _, m := range r.Marginals {
		out.Marginal = append(out.Marginal, planExtraJSON{m.Row, m.Extra, m.Saved, m.PerHour, m.Dominated})
	}
	for _, x := range r.Overheads {
		out.Overheads = append(out.Overheads, planLineJSON(x))
	}
	for _, l := range r.Ladders {
		j := planLadderJSON{Row: l.Row, From: l.From, Goal: l.Goal, Fits: l.Fits, Steps: []planStepJSON{}}
		for _, s := range l.Steps {
			j.Steps = append(j.Steps, planStepJSON{s.Name, s.Change, s.Cost, s.Frees, s.Need, s.Peak, s.Taken, s.Fits, s.Unknown})
		}
		out.Ladders = append(out.Ladders, j)
	}
	return out
}

func planRow(row *budget.PlanRow) planRowJSON {
	c, k := &row.Cost, row.Risk
	out := planRowJSON{Configuration: row.Configuration, GPU: row.GPU, GPUs: c.GPUs, Card: row.Card, Peak: row.Peak, Reserved: row.Reserved,
		Overhead: row.Overhead, Need: row.Need, Free: row.Free, Fit: string(row.Fit),
		Cost: planCostJSON{Hours: c.Hours, HoursText: c.HoursText, Source: c.Source, Utilisation: c.Use, PaidHours: c.PaidHours, GPUHours: c.GPUHours, Text: c.Text, Missing: c.Missing},
		Risk: planRiskJSON{Exceed: k.Exceed, ExceedMax: k.ExceedMax, Need: planSpreadJSON(k.Need), Reserved: planSpreadJSON(k.Reserved),
			Inputs: []planInputJSON{}, Bins: []planBinJSON{}, Surrogate: k.Surrogate}}
	if c.Priced {
		out.Cost.Price = &c.Price
	}
	if c.Missing == "" {
		out.Cost.Total = &c.Total
	}
	for _, in := range k.Inputs {
		out.Risk.Inputs = append(out.Risk.Inputs, planInputJSON(in))
	}
	for _, b := range k.Bins {
		out.Risk.Bins = append(out.Risk.Bins, planBinJSON(b))
	}
	return out
}
