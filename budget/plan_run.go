package budget

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
)

// A PlanFit says how a configuration fits a card.
type PlanFit string

// How a configuration may fit.
const (
	Fits        PlanFit = "fits"         // with the margin
	FitsTight   PlanFit = "tight"        // but the margin is not free
	FitsTensors PlanFit = "tensors_only" // its tensors would; with what the allocator holds beyond them it does not
	FitsNot     PlanFit = "no"
)

// A PlanRow is a configuration on a card. Sizes are bytes of one GPU.
type PlanRow struct {
	Configuration, GPU string
	Card               int64 // memory
	Peak               int64 // of tensors
	Reserved           int64 // by PyTorch
	Overhead           int64 // outside of PyTorch
	Need               int64 // Reserved + Overhead
	Free               int64 // Card − Need; negative for what is missing
	Fit                PlanFit
	Cost               Cost
	Risk               *Risk

	configuration, gpu int
	memory             planMemory
	place              planPlace
}

// Short is what is missing to fit with the margin.
func (r *PlanRow) Short(margin float64) int64 {
	return max(0, r.Need-int64(float64(r.Card)*(1-margin)))
}

// PlanInput is what a plan refers to.
type PlanInput struct {
	Model     *MemoryModel // fitted; nil for an estimate
	ModelName string
	Config    *Config // what Base is on top of; nil for DefaultConfig
}

// A PlanResult is a plan that was worked out.
type PlanResult struct {
	Plan      *Plan
	Source    string // where memory is known from
	Fitted    bool
	Check     *CheckJSON // of the fitted model
	Overheads []OverheadLine
	Rows      []PlanRow
	Marginals []Marginal

	Answer   int // the row to choose; −1 when nothing fits
	Why      string
	Promised int // the row of the commitment: the plan's, or Answer, or the nearest to fitting
	Ladders  []Ladder
	Notes    []string
}

// An OverheadLine is memory of a card outside of PyTorch.
type OverheadLine struct {
	Name   string
	Bytes  int64
	Source string
}

// Run works a plan out.
func (p *Plan) Run(in PlanInput) (*PlanResult, error) {
	r := &PlanResult{Plan: p, Fitted: in.Model != nil, Answer: -1}
	r.Source = "estimate, nothing measured"
	if in.Model != nil {
		r.Source = fmt.Sprintf("fitted model of %d points", len(in.Model.Points))
		r.Check = in.Model.Checked()
	}
	for i := range p.Configurations {
		for j := range p.GPUs {
			row, err := p.row(in, i, j)
			if err != nil {
				return nil, err
			}
			r.Rows = append(r.Rows, row)
		}
	}
	r.overheads()
	if err := r.risks(); err != nil {
		return nil, err
	}
	r.Marginals = marginals(r.Rows)
	r.choose()
	r.ladders()
	r.remarks()
	return r, nil
}

func (p *Plan) row(in PlanInput, i, j int) (PlanRow, error) {
	c, g := &p.Configurations[i], &p.GPUs[j]
	row := PlanRow{Configuration: c.Name, GPU: g.Name, Card: g.Bytes, configuration: i, gpu: j}
	var err error
	if in.Model != nil {
		row.place, err = p.modelPlace(in.Model, *c)
	} else {
		start := DefaultConfig()
		if in.Config != nil {
			start = *in.Config
		}
		row.place, err = p.estimatePlace(start, *c, g)
	}
	if err != nil {
		return row, err
	}
	if row.memory, err = row.place.memory(variation{}); err != nil {
		return row, p.errorAt(c.Line, "%s: %w", c.Name, err)
	}
	row.Peak, row.Reserved = row.memory.Peak, p.reservedOf(&row.memory)
	row.Cost = p.cost(c, g, row.place)
	row.Overhead = sumOverhead(p.outside(row.memory.Ledger, row.Cost.GPUs))
	row.judge(p.Margin)
	return row, nil
}

func (s *Span) middle() float64 { return (s.Low + s.High) / 2 }

func (row *PlanRow) judge(margin float64) {
	row.Need = row.Reserved + row.Overhead
	row.Free = row.Card - row.Need
	switch {
	case row.Short(margin) == 0:
		row.Fit = Fits
	case row.Free >= 0:
		row.Fit = FitsTight
	case row.Peak+row.Overhead <= row.Card:
		row.Fit = FitsTensors
	default:
		row.Fit = FitsNot
	}
}

// outside lists what a card needs beside PyTorch's allocator.
func (p *Plan) outside(l *Ledger, gpus int64) []OverheadLine {
	if p.Overhead >= 0 {
		return []OverheadLine{{"outside of PyTorch", p.Overhead, cmp.Or(p.OverheadSource, "as the plan says")}}
	}
	typical := Ledger{Config: Config{GPUs: gpus}}
	typical.overhead(Card{Name: "any"})
	if l != nil {
		typical.Overhead = l.Overhead
	}
	var out []OverheadLine
	for _, x := range typical.Overhead {
		out = append(out, OverheadLine{x.Name, x.AtPeak, "not measured for this plan; " + x.Formula})
	}
	return out
}

func sumOverhead(list []OverheadLine) (sum int64) {
	for _, x := range list {
		sum += x.Bytes
	}
	return sum
}

// overheads keeps the lines of the row that has most of them.
func (r *PlanResult) overheads() {
	for i := range r.Rows {
		row := &r.Rows[i]
		if list := r.Plan.outside(row.memory.Ledger, row.Cost.GPUs); len(list) > len(r.Overheads) {
			r.Overheads = list
		}
	}
}

// risks draws for every row. Rows of a configuration on cards with as many GPUs share
// their grid: cards differ by their workspaces only.
func (r *PlanResult) risks() error {
	type shared struct {
		study *riskStudy
		grid  *surrogate
		base  planMemory
	}
	type key struct {
		configuration  int
		gpus, overhead int64
	}
	grids := map[key]*shared{}
	for i := range r.Rows {
		row := &r.Rows[i]
		k := key{row.configuration, row.Cost.GPUs, row.Overhead}
		g := grids[k]
		if g == nil {
			g = &shared{study: &riskStudy{p: r.Plan, place: row.place, base: row.memory, overhead: row.Overhead, measured: r.Plan.Overhead >= 0}, base: row.memory}
			err := g.study.setUp()
			if err == nil {
				g.grid, err = g.study.newSurrogate()
			}
			if err != nil {
				return err
			}
			grids[k] = g
		}
		var err error
		if row.Risk, err = g.study.run(g.grid, row.Card, float64(row.memory.Reserved-g.base.Reserved)); err != nil {
			return err
		}
	}
	return nil
}

// choose finds the row to recommend: of those that fit with the margin, and are as
// unlikely to exceed the card as wanted, the cheapest.
func (r *PlanResult) choose() {
	var fit, safe []int
	for i := range r.Rows {
		if r.Rows[i].Fit != Fits {
			continue
		}
		fit = append(fit, i)
		if r.Rows[i].Risk.Exceed <= r.Plan.Promise.MaxProbability {
			safe = append(safe, i)
		}
	}
	switch {
	case len(safe) > 0:
		r.Answer, r.Why = r.cheapest(safe)
		if len(safe) < len(fit) {
			r.Why += fmt.Sprintf(" and exceed their card in at most %s", percentOf(r.Plan.Promise.MaxProbability))
		}
	case len(fit) > 0:
		r.Answer = slices.MinFunc(fit, func(a, b int) int { return cmp.Compare(r.Rows[a].Risk.Exceed, r.Rows[b].Risk.Exceed) })
		r.Why = fmt.Sprintf("the least likely to exceed its card; none is below the %s that the plan allows", percentOf(r.Plan.Promise.MaxProbability))
	}
	r.Promised = r.Answer
	if w := r.Plan.Promise; w.Configuration != "" || w.GPU != "" {
		for i := range r.Rows {
			row := &r.Rows[i]
			if (w.Configuration == "" || row.Configuration == w.Configuration) && (w.GPU == "" || row.GPU == w.GPU) {
				r.Promised = i
				if r.Rows[i].Fit == Fits || i == r.Answer {
					break
				}
			}
		}
	}
	if r.Promised < 0 {
		nearest := 0
		for i := range r.Rows {
			if r.Rows[i].Short(r.Plan.Margin) < r.Rows[nearest].Short(r.Plan.Margin) {
				nearest = i
			}
		}
		r.Promised = nearest
	}
}

// cheapest is by cost where all have one, else by the price of an hour, else by the
// size of the card.
func (r *PlanResult) cheapest(rows []int) (int, string) {
	costs, prices := true, true
	for _, i := range rows {
		costs = costs && r.Rows[i].Cost.Missing == ""
		prices = prices && r.Rows[i].Cost.Priced
	}
	by := func(value func(*PlanRow) float64) int {
		return slices.MinFunc(rows, func(a, b int) int { return cmp.Compare(value(&r.Rows[a]), value(&r.Rows[b])) })
	}
	among := fmt.Sprintf(" of %s that fit", units.Count(len(rows)))
	switch {
	case costs:
		return by(func(x *PlanRow) float64 { return x.Cost.Total }), "the cheapest" + among
	case prices:
		return by(func(x *PlanRow) float64 { return x.Cost.Price * float64(x.Cost.GPUs) }), "hours are not known for all: the least price per hour" + among
	}
	return by(func(x *PlanRow) float64 { return float64(x.Card) }), "the plan does not price all: the smallest card" + among
}

func (r *PlanResult) remarks() {
	add := func(s string) { r.Notes = append(r.Notes, s) }
	if r.Plan.Overhead < 0 {
		add("memory outside of PyTorch is typical, not measured: measure nvidia-smi less reserved in one run, and give overhead")
	}
	for _, g := range r.Plan.GPUs {
		if g.Like != "" && !r.Fitted {
			add(fmt.Sprintf("%s: workspaces of cuBLAS as on %s", g.Name, g.Like))
		}
	}
	seen := map[string]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, n := range row.Risk.Notes {
			if !seen[n] {
				seen[n] = true
				add(n)
			}
		}
		if p := row.memory.Prediction; p != nil && p.Extrapolated && !seen[row.Configuration] {
			seen[row.Configuration] = true
			add(row.Configuration + " lies beyond what was measured; its interval is wider for it")
		}
	}
	if r.Fitted {
		for _, g := range r.Plan.GPUs {
			if g.Count > 1 {
				add("the points are of one GPU: several are taken to need the same each, and buffers of their communication are not in it")
				break
			}
		}
	}
}
