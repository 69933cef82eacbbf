package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

// reconcileOptions are those of budget reconcile.
type reconcileOptions struct {
	options
	configOptions
	configs []string
}

func newBudgetReconcile() *cobra.Command {
	o := &reconcileOptions{}
	cmd := &cobra.Command{
		Use:   "reconcile SNAPSHOT --config CONFIG",
		Short: "How far the estimate of a configuration is from what a snapshot shows, and why",
		Long: `Sets the estimate of a configuration (as of budget estimate) against a memory snapshot
of the run: parameters, gradients and optimizer state to the byte, then the peak by
what memory is for, then each part of a step. Where they differ, settings are tried
that a configuration easily has wrong, and the one that closes the gap is named.`,
		Example: `  snapview budget reconcile snapshot.pickle --config train.yaml
  snapview budget reconcile snapshot.pickle --config config.json --batch 8 --seq 192 --gpu h200`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetReconcile(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&o.configs, "config", nil, "`FILE` with the configuration; may be given several times")
	o.options.register(flags, 0, "unused")
	_ = flags.MarkHidden("rows")
	o.configOptions.register(flags)
	return cmd
}

func runBudgetReconcile(cmd *cobra.Command, o *reconcileOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if err := named(o.configs); err != nil {
		return err
	}
	c, err := o.read(cmd, u, o.configs)
	if err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return usagef("%w", err)
	}
	f, err := u.openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := u.readSnapshot(f, name, &o.options)
	if err != nil {
		return err
	}
	timelines, err := replay(s, name, &o.options)
	if err != nil {
		return err
	}
	var answers []budget.Reconciliation
	for _, t := range o.device.withoutIdle(timelines) {
		r, err := budget.Reconcile(c, attribution.Classify(s, t))
		if err != nil {
			return usagef("%w", err)
		}
		answers = append(answers, r)
	}
	if o.json {
		return writeJSON(u.out, reconcileJSON(answers))
	}
	var b strings.Builder
	for i := range answers {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(u.reconcileText(&answers[i], len(answers) > 1))
	}
	_, err = fmt.Fprint(u.out, b.String())
	return err
}

// reconcileTable is the JSON of budget reconcile for one device; requested bytes.
type reconcileTable struct {
	Device int            `json:"device"`
	Closes bool           `json:"closes"` // parameters, gradients and optimizer state agree to the byte
	States []reconcileRow `json:"states"`
	Peak   *reconcileRow  `json:"peak,omitempty"`
	Rows   []reconcileRow `json:"rows"` // of the peak
	Phases []reconcileRow `json:"phases"`
	Notes  []string       `json:"notes,omitempty"`
}

type reconcileRow struct {
	Name       string              `json:"name"`
	Estimated  int64               `json:"estimated_bytes"`
	Measured   int64               `json:"measured_bytes"`
	Difference int64               `json:"difference_bytes"`
	Residual   []reconcileResidual `json:"residual"`
}

type reconcileResidual struct {
	Bytes    int64             `json:"bytes"`
	Text     string            `json:"text"`
	Settings map[string]string `json:"settings,omitempty"` // under which the estimate would agree
}

func reconcileJSON(answers []budget.Reconciliation) any {
	tables := make([]reconcileTable, len(answers))
	for i := range answers {
		r := &answers[i]
		tables[i] = reconcileTable{Device: r.Device, Closes: r.Closes(), States: reconcileRows(r.States), Rows: reconcileRows(r.Peak), Phases: reconcileRows(r.Phases), Notes: r.Notes}
		if len(r.Peak) > 0 {
			tables[i].Peak = &reconcileRows([]budget.ReconciledRow{r.PeakRow})[0]
		}
	}
	if len(tables) == 1 {
		return tables[0]
	}
	return tables
}

func reconcileRows(rows []budget.ReconciledRow) []reconcileRow {
	out := []reconcileRow{}
	for _, x := range rows {
		row := reconcileRow{x.Name, x.Estimated, x.Measured, x.Difference(), []reconcileResidual{}}
		for _, y := range x.Residual {
			row.Residual = append(row.Residual, reconcileResidual{y.Bytes, y.Text, y.Settings})
		}
		out = append(out, row)
	}
	return out
}

// reconcileText is the verdict, then the rows, then what explains them.
func (u *ui) reconcileText(r *budget.Reconciliation, several bool) string {
	var b strings.Builder
	if several {
		fmt.Fprintf(&b, "device %d\n", r.Device)
	}
	if r.Closes() {
		b.WriteString(u.style(bold, "parameters, gradients and optimizer state agree to the byte") + "\n")
	} else {
		worst := r.Worst()
		b.WriteString(u.style(alarm, worst.Name+" differ by "+units.Signed(worst.Difference())) + "\n")
	}
	if len(r.Peak) > 0 {
		b.WriteString("the peak was estimated at " + units.Bytes(r.PeakRow.Estimated) + " and measured at " + units.Bytes(r.PeakRow.Measured) + peakOff(r.PeakRow) + "\n")
	}
	b.WriteString("\n" + u.reconcileRowsText("what the model keeps", r.States))
	if len(r.Peak) > 0 {
		b.WriteString("\n" + u.reconcileRowsText("at the peak", append(r.Peak[:len(r.Peak):len(r.Peak)], r.PeakRow)))
	}
	if len(r.Phases) > 0 {
		b.WriteString("\n" + u.reconcileRowsText("highest point of", r.Phases))
	}
	b.WriteString(u.residualText(r))
	return b.String()
}

func (u *ui) reconcileRowsText(title string, rows []budget.ReconciledRow) string {
	t := newTable(left, right, right, right, right)
	t.header(title, "estimated", "measured", "difference", "")
	for _, x := range rows {
		t.row(x.Name, units.Bytes(x.Estimated), units.Bytes(x.Measured), units.Signed(x.Difference()), offBy(x))
	}
	return t.String()
}

func peakOff(r budget.ReconciledRow) string {
	if r.Difference() == 0 {
		return ": the same"
	}
	return ": " + units.Signed(r.Difference()) + ", " + offBy(r)
}

// offBy is a difference as a share of what was measured.
func offBy(r budget.ReconciledRow) string {
	if r.Measured == 0 || r.Difference() == 0 {
		return ""
	}
	return signedPercent(float64(r.Difference()) / float64(r.Measured))
}

// residualText lists what explains differences, the larger ones first.
func (u *ui) residualText(r *budget.Reconciliation) string {
	var b strings.Builder
	rows := append(append(r.States[:len(r.States):len(r.States)], r.PeakRow), r.Peak...)
	for _, x := range rows {
		for _, y := range x.Residual {
			if b.Len() == 0 {
				b.WriteString("\nwhy\n")
			}
			for i, line := range wrap(words(units.Signed(y.Bytes)+" of "+x.Name+": "+y.Text), u.width-2) {
				b.WriteString("  " + strings.Repeat("  ", min(i, 1)) + line + "\n")
			}
		}
	}
	for _, n := range r.Notes {
		u.factLines(&b, "note", words(n)...)
	}
	return b.String()
}
