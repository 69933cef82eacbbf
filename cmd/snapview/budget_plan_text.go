package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// planText answers first; then come the tables.
func (u *ui) planText(r *budget.PlanResult) string {
	var b strings.Builder
	u.planVerdict(&b, r)
	b.WriteString("\n" + u.planTable(r))
	u.planCosts(&b, r)
	u.planRisk(&b, r)
	for i := range r.Ladders {
		u.planLadder(&b, r, &r.Ladders[i])
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range r.Notes {
		u.factLines(&b, "note", words(units.Safe(n))...)
	}
	return b.String()
}

func planRowName(row *budget.PlanRow) string {
	name := row.Configuration + " on "
	if row.Cost.GPUs > 1 {
		name += fmt.Sprintf("%d × ", row.Cost.GPUs)
	}
	return units.Safe(name + row.GPU)
}

func (u *ui) planVerdict(b *strings.Builder, r *budget.PlanResult) {
	currency := r.Plan.Currency
	if r.Answer < 0 {
		row := &r.Rows[r.Promised]
		b.WriteString(u.style(alarm, "NOTHING FITS") + " with " + sharePercent(r.Plan.Margin) + " of the card free; nearest is " + planRowName(row) + ", " +
			units.Bytes(row.Short(r.Plan.Margin)) + " short\n")
	} else {
		row := &r.Rows[r.Answer]
		b.WriteString(u.style(bold, planRowName(row)) + ", " + r.Why + "\n")
		if row.Cost.Missing == "" {
			u.factLines(b, "cost", words(budget.Money(row.Cost.Total, currency)+": "+row.Cost.Text)...)
		} else {
			u.factLines(b, "cost", words("not known: "+row.Cost.Missing)...)
		}
		u.factLines(b, "needs", words(fmt.Sprintf("%s of %s: %s reserved + %s outside of PyTorch; %s free", units.Bytes(row.Need), units.Bytes(row.Card),
			units.Bytes(row.Reserved), units.Bytes(row.Overhead), units.Bytes(row.Free)))...)
		u.factLines(b, "risk", words(fmt.Sprintf("%s to need more than the card has; %s in 95%% of %s draws (seed %d)", row.Risk.ExceedText(),
			sizeRange(row.Risk.Need.Low, row.Risk.Need.High), units.Count(row.Risk.Draws), r.Plan.Vary.Seed))...)
	}
	if problems := r.Problems(); len(problems) > 0 && r.Answer >= 0 {
		u.factLines(b, "promise", words(units.Safe("cannot be made for "+planRowName(&r.Rows[r.Promised])+": "+strings.Join(problems, "; ")))...)
	} else if r.Answer >= 0 && r.Promised != r.Answer {
		u.factLines(b, "promise", words("is for "+planRowName(&r.Rows[r.Promised])+", as the plan says")...)
	}
	u.factLines(b, "source", words(planSource(r))...)
}

// planSource says where memory is known from, and how good that is.
func planSource(r *budget.PlanResult) string {
	if c := r.Check; c != nil {
		return fmt.Sprintf("%s; left-out points were predicted within %s (median), %s at worst", r.Source, errorPercent(c.Median), errorPercent(c.Worst))
	}
	return r.Source
}

// sharePercent is a part that a person wrote: "5%".
func sharePercent(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*v), ".0") + "%"
}

// planTable has a row for each configuration on each card.
func (u *ui) planTable(r *budget.PlanResult) string {
	rows := [][]string{{"", "needs", "of card", "free", "tensors", "reserved", "exceeds", "hours", "cost", "configuration"}}
	for i := range r.Rows {
		row := &r.Rows[i]
		hours, cost := "?", "?"
		if row.Cost.Hours > 0 {
			hours = strings.TrimSuffix(budget.HoursText(row.Cost.PaidHours), " h")
		}
		if row.Cost.Missing == "" {
			cost = budget.Money(row.Cost.Total, "")
		}
		word := map[budget.PlanFit]string{budget.Fits: "fits", budget.FitsTight: "TIGHT", budget.FitsTensors: "NO", budget.FitsNot: "NO"}[row.Fit]
		switch {
		case i == r.Answer:
			word = "fits *"
		case row.Fit == budget.Fits && row.Risk.Exceed > r.Plan.Promise.MaxProbability:
			word = "RISKY"
		}
		rows = append(rows, []string{word, units.Bytes(row.Need), units.Bytes(row.Card), units.Bytes(row.Free), units.Bytes(row.Peak), units.Bytes(row.Reserved), row.Risk.ExceedText(), hours, cost, planRowName(row)})
	}
	text := termRows(rows, left, right, right, right, right, right, right, right, right, left)
	if widest(text) > u.width { // reserved is what is needed less a constant, tensors are in the JSON
		for i, row := range rows {
			rows[i] = append(append([]string(nil), row[:4]...), row[6:]...)
		}
		text = termRows(rows, left, right, right, right, right, right, right, left)
	}
	return text
}

// planCosts is what a dearer choice buys, for those that are not just dearer.
func (u *ui) planCosts(b *strings.Builder, r *budget.PlanResult) {
	name := "faster"
	for _, m := range r.Marginals {
		if text := r.MarginalText(m); text != "" && !m.Dominated {
			if name != "" {
				b.WriteString("\n")
			}
			u.factLines(b, name, words(units.Safe(text))...)
			name = ""
		}
	}
}

// planRisk is what drives the need of the promised row.
func (u *ui) planRisk(b *strings.Builder, r *budget.PlanResult) {
	row := &r.Rows[r.Promised]
	b.WriteString("\nwhat moves the need of " + planRowName(row) + ", one at a time\n")
	rows := [][]string{{"by", "from", "at", "to", "at", "input"}}
	for i := range row.Risk.Inputs {
		in := &row.Risk.Inputs[i]
		rows = append(rows, []string{units.Bytes(in.Swing()), units.Bytes(in.NeedLow), in.Low, units.Bytes(in.NeedHigh), in.High, in.Name})
	}
	if len(rows) == 1 {
		b.WriteString("nothing varies in this plan\n")
		return
	}
	b.WriteString(termRows(rows, right, right, right, right, right, left))
	if row.Risk.Surrogate != "" {
		u.factLines(b, "note", words(row.Risk.Surrogate)...)
	}
}

func (u *ui) planLadder(b *strings.Builder, r *budget.PlanResult, l *budget.Ladder) {
	row := &r.Rows[l.Row]
	switch {
	case l.Reserve:
		b.WriteString("\nif it needs more: steps for " + planRowName(row) + "\n")
	case l.Fits:
		b.WriteString("\nsteps until " + planRowName(row) + " fits\n")
	default:
		b.WriteString("\nno step makes " + planRowName(row) + " fit\n")
	}
	if len(l.Steps) == 0 {
		b.WriteString("no step applies to it\n")
		return
	}
	rows := [][]string{{"frees", "then needs", "fits", "step", "settings"}}
	var costs []string
	for _, s := range l.Steps {
		switch {
		case s.Unknown != "":
			rows = append(rows, []string{"?", "?", "?", units.Safe(s.Name), units.Safe(s.Change)})
			costs = append(costs, s.Name+" cannot be worked out: "+s.Unknown)
			continue
		case !s.Taken:
			rows = append(rows, []string{units.Bytes(s.Frees), units.Bytes(s.Need), "left out", units.Safe(s.Name), units.Safe(s.Change)})
			continue
		}
		fits := "no"
		if s.Fits {
			fits = "yes"
		}
		rows = append(rows, []string{units.Bytes(s.Frees), units.Bytes(s.Need), fits, units.Safe(s.Name), units.Safe(s.Change)})
		costs = append(costs, s.Name+": "+cmp.Or(s.Cost, "what it costs is not said"))
	}
	b.WriteString(termRows(rows, right, right, left, left, left))
	if l == &r.Ladders[0] {
		for i, c := range costs {
			u.factLines(b, []string{"costs", ""}[min(i, 1)], words(units.Safe(c))...)
		}
	}
}
