package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

func newBudgetPredict() *cobra.Command {
	o := &modelOptions{}
	cmd := &cobra.Command{
		Use:   "predict MODEL --set KEY=VALUE",
		Short: "The peak of a configuration, from a fitted model",
		Long: `Predicts the peak of memory of one configuration, with an interval, from a model of
snapview budget fit (or from the points themselves). The keys are those of the points;
what is the same in every point may be left out.`,
		Example: `  snapview budget predict model.json --set batch=16 --set seq=1024
  snapview budget predict model.json --set batch=16,seq=1024,attention=sdpa --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetPredict(cmd, o, args[0]) },
	}
	o.register(cmd.Flags())
	o.registerSet(cmd.Flags())
	return cmd
}

func runBudgetPredict(cmd *cobra.Command, o *modelOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	m, err := readWith(u, name, budget.ReadModel)
	if err != nil {
		return err
	}
	p, err := m.Predict(o.set)
	if err != nil {
		return usagef("--set: %w", err)
	}
	if o.json {
		return writeJSON(u.out, predictionJSON(&p))
	}
	_, err = fmt.Fprint(u.out, u.predictionText(&p, m))
	return err
}

// predictJSON is the JSON of budget predict; sizes are bytes.
type predictJSON struct {
	Peak         int64             `json:"peak_bytes"`
	Low          int64             `json:"low_bytes"`
	High         int64             `json:"high_bytes"`
	Confidence   float64           `json:"confidence"`
	Phase        string            `json:"phase"`
	Moment       string            `json:"moment"`
	Phases       map[string]int64  `json:"phases"`
	Reserved     *predictReserved  `json:"reserved,omitempty"`
	Extrapolated bool              `json:"extrapolated"`
	Parts        []predictPartJSON `json:"parts"`
	Notes        []string          `json:"notes,omitempty"`
}

type predictReserved struct {
	Bytes int64 `json:"reserved_bytes"`
	Low   int64 `json:"low_bytes"`
	High  int64 `json:"high_bytes"`
}

type predictPartJSON struct {
	Name    string       `json:"name"`
	Class   string       `json:"class"`
	Formula string       `json:"formula"`
	Numbers string       `json:"numbers"`
	Bytes   int64        `json:"bytes"`
	Basis   budget.Basis `json:"basis"`
}

func predictionJSON(p *budget.Prediction) predictJSON {
	out := predictJSON{Peak: p.Peak, Low: p.Low, High: p.High, Confidence: p.Confidence, Phase: p.Phase, Moment: p.Moment,
		Phases: map[string]int64{}, Extrapolated: p.Extrapolated, Parts: []predictPartJSON{}, Notes: p.Notes}
	for _, x := range p.Phases {
		out.Phases[x.Phase] = x.Bytes
	}
	if r := p.Reserved; r != nil {
		out.Reserved = &predictReserved{r.Bytes, r.Low, r.High}
	}
	for _, x := range p.Parts {
		out.Parts = append(out.Parts, predictPartJSON{x.Name, x.Class, x.Formula, x.Numbers, x.Bytes, x.Basis})
	}
	return out
}

func (u *ui) predictionText(p *budget.Prediction, m *budget.MemoryModel) string {
	var b strings.Builder
	b.WriteString(u.style(bold, "peak "+units.Bytes(p.Peak)) + " in the " + p.Phase + ": " + sizeRange(p.Low, p.High) + " with " + percentText(p.Confidence) + " confidence\n")
	if p.Extrapolated {
		b.WriteString(u.style(alarm, "EXTRAPOLATED") + " beyond what was measured; the interval is wider for it\n")
	}
	if r := p.Reserved; r != nil {
		u.factLines(&b, "reserved", units.Bytes(r.Bytes)+", ", sizeRange(r.Low, r.High))
	} else {
		u.factLines(&b, "reserved", "not in the points; ", "the allocator holds more than tensors do")
	}
	var phases []string
	for _, x := range p.Phases {
		phases = append(phases, x.Phase+" "+units.Bytes(x.Bytes)+", ")
	}
	phases[len(phases)-1] = strings.TrimSuffix(phases[len(phases)-1], ", ")
	u.factLines(&b, "phases", phases...)
	for _, n := range p.Notes {
		u.factLines(&b, "note", words(n)...)
	}
	b.WriteString("\n" + u.partTable(p))
	if c := m.Checked(); c != nil {
		u.factLines(&b, "model", words(fmt.Sprintf("%s; left-out points were predicted within %s (median), %s at worst", plural(len(m.Points), "point"),
			errorPercent(c.Median), errorPercent(c.Worst)))...)
	}
	return b.String()
}

func sizeRange(low, high int64) string { return units.Bytes(low) + " to " + units.Bytes(high) }

// arithmetic is the formula and its figures; a plain size has only one of them.
func arithmetic(x *budget.PredictedPart) string {
	if x.Formula == x.Numbers {
		return x.Numbers
	}
	return x.Formula + " = " + x.Numbers
}

// partTable has a row for each term at the peak. Where it is too wide the formula
// goes, and then what the figures rest on.
func (u *ui) partTable(p *budget.Prediction) string {
	rows := [][]string{{"bytes", "share", "rests on", "arithmetic", "at the " + p.Moment}}
	for _, x := range p.Parts {
		rows = append(rows, []string{units.Bytes(x.Bytes), units.Percent(x.Bytes, p.Peak), string(x.Basis), arithmetic(&x), units.Safe(x.Name)})
	}
	rows = append(rows, []string{units.Bytes(p.Peak), "100.0%", "", "", "total"})
	wide := termRows(rows, right, right, left, left, left)
	if widest(wide) <= u.width {
		return wide
	}
	for i, x := range p.Parts {
		rows[i+1][3] = x.Numbers
	}
	if text := termRows(rows, right, right, left, left, left); widest(text) <= u.width {
		return text
	}
	for i := range rows {
		rows[i] = slices.Delete(rows[i], 2, 3)
	}
	return termRows(rows, right, right, left, left)
}
