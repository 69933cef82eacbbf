package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// A Reconciliation sets an estimate against a measured snapshot, by what memory
// is for. Bytes are requested bytes.
type Reconciliation struct {
	Ledger Ledger
	Device int

	// States are what a model keeps: the most of each that the history shows at
	// the end of a phase, against the ledger.
	States []ReconciledRow
	// Peak divides the peak; the rows sum to PeakRow. Empty without a history.
	Peak    []ReconciledRow
	PeakRow ReconciledRow
	// Phases are the highest points of the last step that the history has whole.
	Phases []ReconciledRow

	Notes []string
}

// A ReconciledRow is one figure of both.
type ReconciledRow struct {
	Name      string
	Estimated int64
	Measured  int64
	Residual  []Residual // what the difference consists of, as far as known
}

// Difference is how much more was measured.
func (r *ReconciledRow) Difference() int64 { return r.Measured - r.Estimated }

// A Residual is a part of a difference and what explains it.
type Residual struct {
	Bytes int64
	Text  string
	// Settings, when not empty, would make the estimate agree.
	Settings map[string]string
}

// Rows of a reconciliation. What lives within a step is one row: whether a tensor
// is an activation or a temporary is a matter of what is asked.
const (
	rowParameters    = "parameters"
	rowGradients     = "gradients"
	rowStates        = "optimizer state"
	rowWithin        = "activations and temporaries"
	rowWorkspaces    = "workspaces"
	rowCommunication = "communication"
	rowBuffers       = "buffers of the model"
	rowOther         = "unknown"
)

var peakRows = []string{rowParameters, rowGradients, rowStates, rowWithin, rowWorkspaces, rowCommunication, rowBuffers, rowOther}

// rowOf is the row that a category is counted in.
func rowOf(c attribution.Category) string {
	switch c {
	case attribution.Parameter:
		return rowParameters
	case attribution.Buffer:
		return rowBuffers
	case attribution.Gradient:
		return rowGradients
	case attribution.OptimizerState:
		return rowStates
	case attribution.Workspace:
		return rowWorkspaces
	case attribution.Communication:
		return rowCommunication
	case attribution.Unknown:
		return rowOther
	}
	return rowWithin
}

// Reconcile compares the estimate of a configuration with a classified snapshot.
func Reconcile(c Config, cl *attribution.Classification) (Reconciliation, error) {
	l, err := Estimate(c)
	if err != nil {
		return Reconciliation{}, err
	}
	r := Reconciliation{Ledger: l, Device: cl.Timeline.Device.Index}
	r.states(cl)
	if len(cl.Timeline.Device.Events) > 0 {
		r.peak(cl)
		r.phases(cl)
	} else {
		r.note("no history was recorded: only what is alive at the end can be compared")
	}
	r.explain()
	return r, nil
}

func (r *Reconciliation) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// states takes, for each kind, the most at the end of any phase: gradients are
// complete when a backward ends, optimizer state when a step does.
func (r *Reconciliation) states(cl *attribution.Classification) {
	events := []int{-1}
	for _, p := range cl.Phases {
		events = append(events, p.Last)
	}
	end := cl.At(snapshot.Moment{Name: "end", Event: len(cl.Timeline.Device.Events) - 1})
	most := map[string]int64{}
	for _, totals := range append(cl.Along(slices.Compact(events)), end) {
		for name, bytes := range byRow(totals) {
			most[name] = max(most[name], bytes)
		}
	}
	full := map[string]int64{}
	for _, x := range r.Ledger.Lines {
		full[rowOf(x.Category)] += x.Bytes
	}
	for _, name := range []string{rowParameters, rowGradients, rowStates} {
		r.States = append(r.States, ReconciledRow{Name: name, Estimated: full[name], Measured: most[name]})
	}
}

func byRow(t attribution.Totals) map[string]int64 {
	rows := map[string]int64{}
	for c, bytes := range t {
		rows[rowOf(attribution.Category(c))] += bytes
	}
	return rows
}

// peak divides both peaks.
func (r *Reconciliation) peak(cl *attribution.Classification) {
	p := cl.Timeline.Peak
	measured := byRow(cl.At(snapshot.Moment{Name: "peak", Event: p.Event, Time: p.Time}))
	estimated := map[string]int64{}
	for _, x := range r.Ledger.Lines {
		if x.Name != roundingName {
			estimated[rowOf(x.Category)] += x.AtPeak
		}
	}
	for _, name := range peakRows {
		if estimated[name] != 0 || measured[name] != 0 {
			r.Peak = append(r.Peak, ReconciledRow{Name: name, Estimated: estimated[name], Measured: measured[name]})
		}
	}
	r.PeakRow = ReconciledRow{Name: "peak", Estimated: r.Ledger.Peak.Bytes, Measured: p.Bytes}
}

// phases compares the highest points within a step.
func (r *Reconciliation) phases(cl *attribution.Classification) {
	kinds := map[attribution.PhaseKind]Step{attribution.Forward: ForwardStep, attribution.Backward: BackwardStep, attribution.Optimizer: OptimizerStep}
	whole := 0
	for _, s := range cl.Steps {
		has := map[Step]bool{}
		for _, p := range cl.Phases {
			if p.Step == s.Number {
				has[kinds[p.Kind]] = true
			}
		}
		if has[ForwardStep] && has[BackwardStep] && has[OptimizerStep] {
			whole = s.Number
		}
	}
	if whole == 0 {
		return
	}
	most := map[Step]int64{}
	for _, p := range cl.Phases {
		if step, ok := kinds[p.Kind]; ok && p.Step == whole {
			most[step] = max(most[step], p.Peak.Bytes)
		}
	}
	for _, p := range r.Ledger.Peaks {
		r.Phases = append(r.Phases, ReconciledRow{Name: string(p.Step), Estimated: p.Bytes, Measured: most[p.Step]})
	}
	if whole == 1 {
		r.note("the history has one step only; in a first step the optimizer's states are made, and the peak is lower for it")
	}
}

// guesses are settings that a configuration easily has otherwise than the run.
var guesses = []map[string]string{
	{"tied": "true"}, {"tied": "false"}, {"qkv_bias": "true"}, {"qkv_bias": "false"}, {"head_bias": "true"}, {"gated": "true"}, {"gated": "false"},
	{"optimizer": "adamw", "optimizer_kernel": ""}, {"optimizer": "adamw", "optimizer_kernel": "fused"}, {"optimizer": "sgd", "momentum": "true"},
	{"optimizer": "sgd", "momentum": "false"}, {"optimizer": "lion"},
	{"precision": "fp32"}, {"precision": "bf16-amp"}, {"precision": "bf16"}, {"precision": "bf16-master"},
	{"attention": "eager"}, {"attention": "sdpa"}, {"checkpoint": "none"}, {"checkpoint": "full"}, {"checkpoint": "selective"},
	{"dropout": "0"}, {"dropout": "0.1"}, {"keep_logits": "true"}, {"keep_grads": "true"}, {"style": "plain"}, {"style": "transformers"}, {"accumulation": "2"}, {"frozen": "true"},
}

// explain says what the differences consist of.
func (r *Reconciliation) explain() {
	for i := range r.States {
		r.explainState(&r.States[i])
	}
	r.explainPeak()
}

// explainState looks for one setting that would close the row to the byte.
func (r *Reconciliation) explainState(row *ReconciledRow) {
	d := row.Difference()
	if d == 0 {
		return
	}
	if row.Measured == 0 {
		row.Residual = append(row.Residual, Residual{Bytes: d, Text: "nothing of it in the snapshot: " + absence[row.Name]})
		return
	}
	for _, g := range guesses {
		if other, ok := r.under(g); ok && other.full(row.Name) == row.Measured {
			row.Residual = append(row.Residual, Residual{Bytes: d, Text: "with " + settingsOf(g) + " the estimate would be the same to the byte", Settings: g})
			return
		}
	}
	if row.Name == rowParameters {
		r.explainRows(row)
		return
	}
	row.Residual = append(row.Residual, Residual{Bytes: d, Text: "not explained by one setting"})
}

var absence = map[string]string{
	rowParameters: "is it of another device or process?",
	rowGradients:  "was it dumped before a backward, or after zero_grad, without a history?",
	rowStates:     "was it dumped before the first step of the optimizer?",
}

// explainRows tries whether the difference is a whole number of embedding rows.
func (r *Reconciliation) explainRows(row *ReconciledRow) {
	c := &r.Ledger.Config
	d, size := row.Difference(), c.policy().weight.bytesOf(c.Model.Hidden)
	if size > 0 && d%size == 0 {
		row.Residual = append(row.Residual, Residual{Bytes: d, Text: fmt.Sprintf("as large as %+d rows of an embedding (h × %d B); check vocab and positions", d/size, size/c.Model.Hidden)})
		return
	}
	row.Residual = append(row.Residual, Residual{Bytes: d, Text: "not explained by one setting; other models count too"})
}

// under is the ledger with other settings.
func (r *Reconciliation) under(set map[string]string) (*Ledger, bool) {
	c, err := r.Ledger.Config.With(set)
	if err != nil || c == r.Ledger.Config {
		return nil, false
	}
	l, err := Estimate(c)
	return &l, err == nil
}

// full is the most of a row at once.
func (l *Ledger) full(row string) (n int64) {
	for _, x := range l.Lines {
		if rowOf(x.Category) == row {
			n += x.Bytes
		}
	}
	return n
}

func settingsOf(set map[string]string) string {
	var words []string
	for _, name := range ordered(keysOf(set)) {
		words = append(words, name+"="+set[name])
	}
	return strings.Join(words, " ")
}

func keysOf(set map[string]string) (names []string) {
	for name := range set {
		names = append(names, name)
	}
	return names
}

// near is a difference too small to look for its reason: labels, positions and
// masks of a few bytes a token are left out of the acted-out step.
const nearShare = 200 // a two-hundredth of the peak

// explainPeak says what the peak's difference is, and which setting would close
// it.
func (r *Reconciliation) explainPeak() {
	for i := range r.Peak {
		row := &r.Peak[i]
		d := row.Difference()
		switch {
		case d == 0:
		case row.Name == rowWorkspaces && r.Ledger.Config.GPU == "":
			row.Residual = append(row.Residual, Residual{Bytes: d, Text: "workspaces of cuBLAS depend on the card; name it with gpu", Settings: map[string]string{"gpu": "h200"}})
		case row.Name == rowBuffers:
			row.Residual = append(row.Residual, Residual{Bytes: d, Text: "position ids, masks and the like, which no ledger lists"})
		case row.Name == rowOther:
			row.Residual = append(row.Residual, Residual{Bytes: d, Text: "nothing tells what this memory is for"})
		case abs(d) < r.PeakRow.Measured/nearShare:
			row.Residual = append(row.Residual, Residual{Bytes: d, Text: "small tensors: labels, positions, masks, loss"})
		}
	}
	row := &r.PeakRow
	workspaces := r.difference(rowWorkspaces)
	d := row.Difference() - workspaces
	if abs(d) < max(row.Measured/nearShare, 1) {
		return
	}
	best, least := map[string]string(nil), abs(d)/2
	for _, g := range guesses {
		if other, ok := r.under(g); ok && r.keepsStates(other) {
			if left := abs(row.Measured - workspaces - other.Peak.Bytes + r.Ledger.rowAtPeak(rowWorkspaces) - other.rowAtPeak(rowWorkspaces)); left < least {
				best, least = g, left
			}
		}
	}
	if best != nil {
		row.Residual = append(row.Residual, Residual{Bytes: d, Settings: best,
			Text: fmt.Sprintf("with %s the estimate would be %s off", settingsOf(best), units.Bytes(least))})
		return
	}
	row.Residual = append(row.Residual, Residual{Bytes: d, Text: "not explained by one setting; the rows say where it is"})
}

// keepsStates reports whether the rows that agree still do under another ledger.
func (r *Reconciliation) keepsStates(l *Ledger) bool {
	for i := range r.States {
		if x := &r.States[i]; x.Difference() == 0 && l.full(x.Name) != x.Measured {
			return false
		}
	}
	return true
}

func (r *Reconciliation) difference(name string) int64 {
	for i := range r.Peak {
		if r.Peak[i].Name == name {
			return r.Peak[i].Difference()
		}
	}
	return 0
}

// rowAtPeak is what a row has at the peak.
func (l *Ledger) rowAtPeak(row string) (n int64) {
	for _, x := range l.Lines {
		if rowOf(x.Category) == row && x.Name != roundingName {
			n += x.AtPeak
		}
	}
	return n
}

func abs(n int64) int64 { return max(n, -n) }

// Closes reports whether parameters, gradients and optimizer state agree to the
// byte.
func (r *Reconciliation) Closes() bool {
	return !slices.ContainsFunc(r.States, func(x ReconciledRow) bool { return x.Difference() != 0 })
}

// Worst is the row of States whose difference is largest.
func (r *Reconciliation) Worst() ReconciledRow {
	return slices.MaxFunc(r.States, func(a, b ReconciledRow) int { return cmp.Compare(abs(a.Difference()), abs(b.Difference())) })
}
