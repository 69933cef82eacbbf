package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

// budgetCurveOptions are what budget curve adds.
type budgetCurveOptions struct {
	modelOptions
	over string
}

func newBudgetCurve() *cobra.Command {
	o := &budgetCurveOptions{}
	cmd := &cobra.Command{
		Use:   "curve MODEL --over KEY=FIRST..LAST --set KEY=VALUE",
		Short: "Memory against batch or sequence length, from a fitted model",
		Long: `Draws the predicted peak against one number, and says what each part of the curve is
made of: steep parts are activations, flat ones are weights, gradients and optimizer
state. Between two parts the peak moves to another moment of the step.`,
		Example: `  snapview budget curve model.json --over batch=1..64 --set seq=1024`,
		Args:    oneFile,
		RunE:    func(cmd *cobra.Command, args []string) error { return runBudgetCurve(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags)
	o.registerSet(flags)
	flags.StringVar(&o.over, "over", "", "`KEY=FIRST..LAST`, such as batch=1..64")
	return cmd
}

func runBudgetCurve(cmd *cobra.Command, o *budgetCurveOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if o.over == "" {
		return usagef("%s needs --over, such as --over batch=1..64", cmd.CommandPath())
	}
	key, first, last, err := budget.ParseRange(o.over)
	if err != nil {
		return usagef("--over: %w", err)
	}
	m, err := readWith(u, name, budget.ReadModel)
	if err != nil {
		return err
	}
	c, err := m.Curve(key, first, last, o.set)
	if err != nil {
		return usagef("%w", err)
	}
	if o.json {
		return writeJSON(u.out, curveAnswer(c))
	}
	_, err = fmt.Fprint(u.out, u.curveText(c))
	return err
}

// curveJSON is the JSON of budget curve; sizes are bytes.
type curveJSON struct {
	Over   string           `json:"over"`
	Points []curvePointJSON `json:"points"`
	Pieces []curvePieceJSON `json:"pieces"`
	Notes  []string         `json:"notes,omitempty"`
}

type curvePointJSON struct {
	Value        int    `json:"value"`
	Peak         int64  `json:"peak_bytes"`
	Low          int64  `json:"low_bytes"`
	High         int64  `json:"high_bytes"`
	Reserved     int64  `json:"reserved_bytes,omitempty"`
	Phase        string `json:"phase"`
	Extrapolated bool   `json:"extrapolated"`
}

type curvePieceJSON struct {
	First      int              `json:"first"`
	Last       int              `json:"last"`
	Kind       budget.PieceKind `json:"kind"`
	Phase      string           `json:"phase"`
	Moment     string           `json:"moment"`
	Straight   bool             `json:"straight"`
	Slope      int64            `json:"bytes_per_unit"`
	SlopeFirst int64            `json:"bytes_per_unit_first"`
	SlopeLast  int64            `json:"bytes_per_unit_last"`
}

func curveAnswer(c *budget.MemoryCurve) curveJSON {
	out := curveJSON{Over: c.Over, Notes: c.Notes}
	for i := range c.Values {
		v := &c.Values[i]
		p := curvePointJSON{Value: v.Value, Peak: v.Peak, Low: v.Low, High: v.High, Phase: v.Phase, Extrapolated: v.Extrapolated}
		if v.Reserved != nil {
			p.Reserved = v.Reserved.Bytes
		}
		out.Points = append(out.Points, p)
	}
	for _, p := range c.Pieces {
		out.Pieces = append(out.Pieces, curvePieceJSON{p.First, p.Last, p.Kind, p.Phase, p.Moment, p.Straight, p.Slope, p.SlopeFirst, p.SlopeLast})
	}
	return out
}

func (u *ui) curveText(c *budget.MemoryCurve) string {
	var b strings.Builder
	over := units.Safe(c.Over)
	first, last := &c.Values[0], &c.Values[len(c.Values)-1]
	b.WriteString(u.style(bold, fmt.Sprintf("%s %s to %s: peak %s to %s", over, units.Count(first.Value), units.Count(last.Value),
		units.Bytes(first.Peak), units.Bytes(last.Peak))) + "\n")
	for i, p := range c.Pieces {
		name := ""
		if i == 0 {
			name = "parts"
		}
		u.factLines(&b, name, words(pieceText(over, p))...)
	}
	for i := 1; i < len(c.Pieces); i++ {
		u.factLines(&b, "knee", words(fmt.Sprintf("after %s %s the peak moves from the %s to the %s", over, units.Count(c.Pieces[i-1].Last),
			c.Pieces[i-1].Moment, c.Pieces[i].Moment))...)
	}
	for _, n := range c.Notes {
		u.factLines(&b, "note", words(n)...)
	}
	b.WriteString("\n" + u.curvePlot(c))
	return b.String()
}

// pieceText says what a part of the curve is.
func pieceText(over string, p budget.CurvePiece) string {
	span := fmt.Sprintf("%s %s to %s", over, units.Count(p.First), units.Count(p.Last))
	if p.First == p.Last {
		span = over + " " + units.Count(p.First)
	}
	if p.Kind == budget.FlatPiece {
		return fmt.Sprintf("%s: flat, states (weights, gradients, optimizer) decide, in the %s", span, p.Phase)
	}
	if p.Straight {
		return fmt.Sprintf("%s: straight, activations add %s per %s, in the %s", span, units.Bytes(p.Slope), over, p.Phase)
	}
	return fmt.Sprintf("%s: bends up, activations add %s per %s at first and %s at last, in the %s", span, units.Bytes(p.SlopeFirst), over, units.Bytes(p.SlopeLast), p.Phase)
}

// plotRows is how many rows a plot has at most.
const plotRows = 33

// curvePlot is a table with a bar for each value, the interval's upper end marked.
func (u *ui) curvePlot(c *budget.MemoryCurve) string {
	every := (len(c.Values) + plotRows - 1) / plotRows
	step := c.Values[min(2, len(c.Values)-1)].Value - c.Values[min(1, len(c.Values)-2)].Value
	var shown []*budget.CurveValue
	most := int64(1)
	for i := range c.Values {
		if i == 0 || i == len(c.Values)-1 || c.Values[i].Value%(every*step) == 0 {
			shown = append(shown, &c.Values[i])
			most = max(most, c.Values[i].Peak)
		}
	}
	build := func(room int) string {
		table := newTable(right, right, left, right, left, left)
		table.header(units.Safe(c.Over), "peak", "interval", "reserved", "phase", "")
		for _, v := range shown {
			reserved, star := "-", ""
			if v.Reserved != nil {
				reserved = units.Bytes(v.Reserved.Bytes)
			}
			if v.Extrapolated {
				star = "*"
			}
			table.row(strconv.Itoa(v.Value)+star, units.Bytes(v.Peak), sizeRange(v.Low, v.High), reserved, v.Phase, strings.Repeat("█", int(float64(room)*float64(v.Peak)/float64(most))))
		}
		return table.String()
	}
	room := u.width - widest(build(0)) - columnGap
	return build(min(40, max(room, 8)))
}
