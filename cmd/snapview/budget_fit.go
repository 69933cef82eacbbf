package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

// budgetFitOptions are what budget fit adds.
type budgetFitOptions struct {
	modelOptions
	out        string
	confidence float64
}

func newBudgetFit() *cobra.Command {
	o := &budgetFitOptions{}
	cmd := &cobra.Command{
		Use:   "fit POINTS",
		Short: "A model of peak memory from measured runs",
		Long: `Fits a physical model to measured points: bytes per parameter, per token and layer,
per pair of tokens, per logit. Each coefficient starts from a textbook figure and goes
where the points say. It is judged by points that were left out.

POINTS holds one JSON object a line, with the keys of a run and its peak of allocated
memory in bytes or as text:

  {"batch": 8, "seq": 512, "peak": "31.4 GiB", "reserved": "34 GiB"}

batch, seq, layers, hidden, heads, vocab, params, attention, checkpoint, precision and
optimizer are understood; other keys may be added. Peaks of the phases (peak_forward,
peak_backward, peak_step, after_backward, init) make the model surer. snapview budget
collect writes such a file from snapshots.`,
		Example: `  snapview budget fit points.jsonl -o model.json
  snapview budget predict model.json --set batch=16 --set seq=1024`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetFit(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags)
	flags.StringVarP(&o.out, "output", "o", "", "write the model to `FILE.json`")
	flags.Float64Var(&o.confidence, "confidence", budget.DefaultConfidence, "`PART` of new points that intervals are to hold, 0.5 to 0.99")
	return cmd
}

func runBudgetFit(cmd *cobra.Command, o *budgetFitOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if !(o.confidence >= 0.5 && o.confidence <= 0.99) {
		return usagef("--confidence %g: must be between 0.5 and 0.99", o.confidence)
	}
	if err := checkModelOutput(cmd, o.out); err != nil {
		return err
	}
	points, err := readWith(u, name, budget.ReadPoints)
	if err != nil {
		return err
	}
	m, err := budget.Fit(points, budget.FitOptions{Confidence: o.confidence})
	if err != nil {
		return inFile(name, err)
	}
	if o.out != "" {
		if _, err := writeFile(cmd.Context(), o.out, func(w io.Writer) error { return m.Write(w) }); err != nil {
			return inFile(o.out, err)
		}
	}
	if o.json {
		return writeJSON(u.out, m.File())
	}
	_, err = fmt.Fprint(u.out, u.fitText(m, o.out))
	return err
}

func (u *ui) fitText(m *budget.MemoryModel, out string) string {
	var b strings.Builder
	c := m.Check
	b.WriteString(u.style(bold, fmt.Sprintf("predicts the peak within %s (median), %s at worst", errorPercent(c.Median), errorPercent(c.Worst))))
	b.WriteString("\n")
	u.factLines(&b, "judged", fmt.Sprintf("by %d-fold cross-validation ", c.Folds), "of "+plural(len(m.Points), "point"))
	u.factLines(&b, "worst", strings.SplitAfter(runText(&m.Points[c.WorstPoint]), " ")...)
	u.factLines(&b, "interval", fmt.Sprintf("%s of %d left-out points lie in it, ", percentOf(c.Covered, len(m.Points)), len(m.Points)),
		fmt.Sprintf("which should be %s; ", percentText(m.Confidence)), fmt.Sprintf("it is ±%s on average", errorPercent(c.Width)))
	if len(m.Points) < budget.FewPoints {
		u.factLines(&b, "", words(fmt.Sprintf("from fewer than %d points it rests on normal errors, and can hardly be checked", budget.FewPoints))...)
	}
	u.factLines(&b, "again", fmt.Sprintf("%d other divisions into %d folds: ", c.Divisions, c.Folds),
		fmt.Sprintf("median %s to %s, ", errorPercent(c.OtherMedians[0]), errorPercent(c.OtherMedians[1])), fmt.Sprintf("worst %s, ", errorPercent(c.OtherWorst)),
		fmt.Sprintf("interval holds %s to %s, mean %s", percentText(c.OtherCoverage[0]), percentText(c.OtherCoverage[2]), percentText(c.OtherCoverage[1])))
	if r := m.Reserved; r != nil {
		u.factLines(&b, "reserved", reservedParts(c)...)
		u.factLines(&b, "", reservedFormula(r)...)
	} else {
		u.factLines(&b, "reserved", "not in the points: ", "what the allocator holds beyond tensors cannot be predicted")
	}
	b.WriteString("\n" + u.termTable(m) + u.termRemarks(m))
	b.WriteString("\n" + u.combinationTable(c) + u.misfitText(m))
	if out != "" {
		u.factLines(&b, "model", units.Safe(out)+"; ", "snapview budget predict "+units.Safe(shellWord(out))+" --set KEY=VALUE")
	}
	return b.String()
}

// reservedParts say how good the model of reserved memory is.
func reservedParts(c *budget.FitCheck) []string {
	if c.ReservedOf == 0 {
		return []string{"in too few points to check"}
	}
	return []string{fmt.Sprintf("within %s (median), %s at worst; ", errorPercent(c.ReservedMedian), errorPercent(c.ReservedWorst)),
		fmt.Sprintf("interval holds %s of %d", percentOf(c.ReservedCovered, c.ReservedOf), c.ReservedOf)}
}

// percentOf is a share in whole percent.
func percentOf(part, whole int) string { return percentText(float64(part) / float64(max(1, whole))) }

func percentText(v float64) string { return strconv.FormatFloat(v*100, 'f', 0, 64) + "%" }

func reservedFormula(r *budget.ReservedModel) []string {
	parts := []string{fmt.Sprintf("= %.2f × peak ", r.Factor), "+ " + units.Bytes(int64(r.Fixed))}
	if r.PerParam > 0 {
		parts = append(parts, fmt.Sprintf(" + %.2f B × P", r.PerParam))
	}
	if r.PerLogit > 0 {
		parts = append(parts, fmt.Sprintf(" + %.2f B × b·s·V", r.PerLogit))
	}
	return parts
}

// termTable has a row for every coefficient that some point has and that is not 0.
// On a narrow terminal the textbook's figure goes.
func (u *ui) termTable(m *budget.MemoryModel) string {
	rows := [][]string{{"bytes", "per", "textbook", "rests on", "term"}}
	for i := range m.Terms {
		t := &m.Terms[i]
		if !t.Used || t.Zero {
			continue
		}
		book := "-"
		if t.Textbook > 0 {
			book = strconv.FormatFloat(t.Textbook, 'g', 3, 64)
		}
		rows = append(rows, []string{termBytes(t), t.Unit, book, string(t.Basis()), termText(t)})
	}
	wide := termRows(rows, right, left, right, left, left)
	if widest(wide) <= u.width {
		return wide
	}
	for i := range rows {
		rows[i] = slices.Delete(rows[i], 2, 3)
	}
	return termRows(rows, right, left, left, left)
}

// termRows makes a table whose first row is the header.
func termRows(rows [][]string, alignments ...text.Align) string {
	table := newTable(alignments...)
	table.header(rows[0]...)
	for _, r := range rows[1:] {
		table.row(r...)
	}
	return table.String()
}

// termBytes is a coefficient: a size where the unit is one byte, else bytes per unit.
func termBytes(t *budget.FittedTerm) string {
	if t.Unit == "1" {
		return units.Bytes(int64(t.Bytes))
	}
	return budget.CoefficientText(t.Bytes)
}

func termText(t *budget.FittedTerm) string {
	name := t.Name
	if len(t.When) > 0 {
		name += " (" + shortWords(t.When) + ")"
	}
	return units.Safe(name)
}

// shortWords leaves the keys out of words such as attention=eager that say enough
// without.
func shortWords(all []string) string {
	short := make([]string, len(all))
	for i, w := range all {
		key, word, _ := strings.Cut(w, "=")
		switch {
		case word == "true":
			short[i] = key
		case word == "false":
			short[i] = "no " + key
		case len(word) < 3:
			short[i] = w
		default:
			short[i] = word
		}
	}
	return strings.Join(short, ", ")
}

// termRemarks explain the table and say what is not in it.
func (u *ui) termRemarks(m *budget.MemoryModel) string {
	var b strings.Builder
	var absent []string
	untold := false
	for i := range m.Terms {
		t := &m.Terms[i]
		if t.Used && t.Zero {
			absent = append(absent, termText(t))
		}
		untold = untold || t.Used && t.Basis() == budget.NotTold
	}
	u.factLines(&b, "", words(unitLegend(m))...)
	if untold {
		u.factLines(&b, "", words("not told apart: the points vary this only together with another term; their sum is right, the parts may not be")...)
	}
	if len(absent) > 0 {
		u.factLines(&b, "no sign", words("of "+strings.Join(absent, ", "))...)
	}
	return b.String()
}

// unitLegend says what the letters of the units mean, of those that occur.
func unitLegend(m *budget.MemoryModel) string {
	legend := []struct{ symbol, meaning string }{{"b", "batch"}, {"s", "seq"}, {"h", "hidden"}, {"L", "layers"}, {"a", "heads"}, {"V", "vocab"}, {"P", "params"}}
	var out []string
	for _, l := range legend {
		used := slices.ContainsFunc(m.Terms, func(t budget.FittedTerm) bool {
			return slices.ContainsFunc(strings.FieldsFunc(t.Unit, func(r rune) bool { return strings.ContainsRune("·²()−", r) }), func(s string) bool { return s == l.symbol })
		})
		if used {
			out = append(out, l.symbol+" "+l.meaning)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, ", ")
}

// combinationTable is the errors by combination of words.
func (u *ui) combinationTable(c *budget.FitCheck) string {
	if len(c.Combinations) < 2 {
		return ""
	}
	table := newTable(right, right, right, right, right, left)
	table.header("points", "median", "worst", "bias", "alone*", "words")
	alone := false
	for _, x := range c.Combinations {
		left := "-"
		if x.HasAlone() {
			left, alone = errorPercent(x.AloneWorst), true
		}
		table.row(units.Count(x.Points), errorPercent(x.Median), errorPercent(x.Worst), signedPercent(x.Bias), left, units.Safe(shortWords(x.Words)))
	}
	var b strings.Builder
	b.WriteString(table.String())
	if alone {
		u.factLines(&b, "", words("* worst when all points with these words are left out: what the textbook and the other words give")...)
	}
	return b.String()
}

func signedPercent(v float64) string {
	if v > 0 {
		return "+" + errorPercent(v)
	}
	return errorPercent(v)
}

// misfitText lists the points that do not fit.
func (u *ui) misfitText(m *budget.MemoryModel) string {
	var b strings.Builder
	misfits := m.Check.Misfits
	if len(misfits) == 0 {
		u.factLines(&b, "misfits", "none: no point is far from what the others say")
		return b.String()
	}
	b.WriteString("\n" + u.style(alarm, plural(len(misfits), "point")+" far from what the others say") + ": measured wrongly, or something that the keys do not tell\n")
	table := newTable(right, right, right, left)
	table.header("measured", "predicted", "error", "point")
	const most = 10
	for _, x := range misfits[:min(most, len(misfits))] {
		p := &m.Points[x.Point]
		table.row(units.Bytes(p.Peak), units.Bytes(x.Predicted), signedPercent(x.Error), runText(p))
	}
	b.WriteString(table.String())
	if more := len(misfits) - most; more > 0 {
		b.WriteString(ellipsis + " " + plural(more, "more point") + "\n")
	}
	return b.String()
}
