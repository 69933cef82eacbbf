package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/snapview/snapview/internal/units"
)

// A Cost is what a configuration costs on a card. The rule: paid hours are the hours
// at full speed divided by the utilisation, GPU-hours are those times the GPUs, and
// the cost is those times the price.
type Cost struct {
	GPUs      int64
	Hours     float64 // at full speed; 0 when not known
	HoursText string  // how they come about
	Source    string  // measured, estimated or what the plan says
	Use       float64 // the utilisation
	PaidHours float64
	GPUHours  float64
	Price     float64
	Priced    bool
	Total     float64
	Text      string // the arithmetic
	Missing   string // why there is no cost; "" when there is one
}

// cost works a pair out.
func (p *Plan) cost(c *PlanConfiguration, g *PlanGPU, place planPlace) Cost {
	out := Cost{GPUs: max(1, g.Count, place.number("gpus")), Use: cmp.Or(g.Percent, p.Utilisation, 1), Price: g.Price, Priced: g.Priced}
	run := p.run(c.Name, g.Name)
	if run == nil {
		out.Missing = "no run in the plan says how long it takes"
	} else {
		out.Hours, out.HoursText = p.hours(run, place, out.GPUs)
		out.Source = run.Source
		out.PaidHours = out.Hours / out.Use
		out.GPUHours = out.PaidHours * float64(out.GPUs)
		out.Total = out.GPUHours * out.Price
	}
	if out.Missing == "" && !g.Priced {
		out.Missing = "the plan has no price_per_hour for it"
	}
	out.Text = out.arithmetic(p.Currency)
	return out
}

// run finds the run of a pair: that which names both before one that names the
// configuration, before one that names the GPU.
func (p *Plan) run(configuration, gpu string) *PlanRun {
	best, rank := (*PlanRun)(nil), -1
	for i := range p.Runs {
		r := &p.Runs[i]
		if r.Configuration != "" && r.Configuration != configuration || r.GPU != "" && r.GPU != gpu {
			continue
		}
		n := 0
		if r.Configuration != "" {
			n += 2
		}
		if r.GPU != "" {
			n++
		}
		if n > rank {
			best, rank = r, n
		}
	}
	return best
}

// hours of a run at full speed, and how they come about.
func (p *Plan) hours(r *PlanRun, place planPlace, gpus int64) (float64, string) {
	switch {
	case r.Hours > 0:
		return r.Hours, HoursText(r.Hours)
	case r.TokensPerSecond > 0:
		h := float64(p.Work.Tokens) / r.TokensPerSecond / 3600
		return h, fmt.Sprintf("%s tokens / %s tokens/s / 3,600 s = %s", units.Count(p.Work.Tokens), decimalText(r.TokensPerSecond), HoursText(h))
	}
	steps, how := p.Work.Steps, ""
	if steps == 0 {
		perStep := place.number(keyBatch) * place.number(keySeq) * place.number("accumulation") * max(1, place.number("replicas"))
		if _, fitted := place.(*modelPlace); fitted {
			perStep *= gpus // the points are of one GPU; the others do the same
		}
		perStep = max(1, perStep)
		steps = ceilDiv(p.Work.Tokens, perStep)
		how = fmt.Sprintf("%s tokens / %s a step = ", units.Count(p.Work.Tokens), units.Count(perStep))
	}
	h := float64(steps) * r.StepSeconds / 3600
	return h, fmt.Sprintf("%s%s steps × %s s / 3,600 s = %s", how, units.Count(steps), decimalText(r.StepSeconds), HoursText(h))
}

// arithmetic is the cost with its figures.
func (c *Cost) arithmetic(currency string) string {
	if c.Hours == 0 {
		return ""
	}
	text := HoursText(c.Hours)
	if c.Use != 1 {
		text += " / " + percentOf(c.Use) + " = " + HoursText(c.PaidHours)
	}
	if c.GPUs > 1 {
		text += fmt.Sprintf(" × %d GPUs = %s GPU-h", c.GPUs, decimalText(c.GPUHours))
	}
	if c.Priced {
		text += " × " + Money(c.Price, "") + " = " + Money(c.Total, currency)
	}
	return text
}

// HoursText prints hours: "44.4 h".
func HoursText(h float64) string { return decimalText(h) + " h" }

// decimalText has three significant digits or more, grouped.
func decimalText(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return humanize.Comma(int64(math.Round(v)))
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Money prints an amount with cents, and the currency when there is one.
func Money(v float64, currency string) string {
	digits := 2
	if cents := math.Abs(v) * 100; cents < 10 && math.Abs(cents-math.Round(cents)) > 1e-9 {
		digits = 4
	}
	text := humanize.FormatFloat("#,###."+strings.Repeat("#", digits), v)
	if currency != "" {
		text += " " + units.Safe(currency)
	}
	return text
}

// A Marginal is what a dearer choice buys.
type Marginal struct {
	Row       int     // of PlanResult.Rows
	Extra     float64 // cost above the cheapest
	Saved     float64 // paid hours less than the cheapest; negative for more
	PerHour   float64 // of each hour saved; 0 when none is
	StepExtra float64 // above the choice before it that is worth considering
	StepSaved float64
	StepRow   int  // that choice; −1 for none
	Dominated bool // dearer and not faster than another
}

// marginals compare the choices that fit, the cheapest first.
func marginals(rows []PlanRow) []Marginal {
	var order []int
	for i := range rows {
		if rows[i].Fit == Fits && rows[i].Cost.Missing == "" {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rows[a].Cost.Total, rows[b].Cost.Total), cmp.Compare(rows[a].Cost.PaidHours, rows[b].Cost.PaidHours))
	})
	var out []Marginal
	before := -1
	for n, i := range order {
		m := Marginal{Row: i, StepRow: -1}
		if n > 0 {
			least := &rows[order[0]].Cost
			m.Extra, m.Saved = rows[i].Cost.Total-least.Total, least.PaidHours-rows[i].Cost.PaidHours
			if m.Saved > 0 {
				m.PerHour = m.Extra / m.Saved
			}
			step := &rows[before].Cost
			m.Dominated = rows[i].Cost.PaidHours >= step.PaidHours
			if !m.Dominated {
				m.StepRow, m.StepExtra, m.StepSaved = before, rows[i].Cost.Total-step.Total, step.PaidHours-rows[i].Cost.PaidHours
			}
		}
		if !m.Dominated {
			before = i
		}
		out = append(out, m)
	}
	return out
}
