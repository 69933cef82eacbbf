package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

// budgetMaxBatchOptions are what budget max-batch adds.
type budgetMaxBatchOptions struct {
	modelOptions
	gpu, overhead string
	over          string
	step          int
}

func newBudgetMaxBatch() *cobra.Command {
	o := &budgetMaxBatchOptions{}
	cmd := &cobra.Command{
		Use:   "max-batch MODEL --gpu SIZE --set KEY=VALUE",
		Short: "The largest batch that fits a GPU, from a fitted model",
		Long: `Finds the largest batch that fits a GPU: safe, so that the upper end of the interval
fits, and likely, so that the middle does. What has to fit is reserved memory where the
points have it. --over searches another number, such as seq.

--overhead is memory of the GPU that PyTorch's allocator does not get: the CUDA context
and libraries, and other processes. nvidia-smi less reserved memory says how much.`,
		Example: `  snapview budget max-batch model.json --gpu 80GiB --set seq=1024
  snapview budget max-batch model.json --gpu 24GiB --over seq --set batch=1 --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetMaxBatch(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags)
	o.registerSet(flags)
	flags.StringVar(&o.gpu, "gpu", "", "memory of the GPU: a `SIZE` such as 80GiB")
	flags.StringVar(&o.overhead, "overhead", "1GiB", "`SIZE` outside of PyTorch's allocator")
	flags.StringVar(&o.over, "over", "batch", "`KEY` that is searched for")
	flags.IntVar(&o.step, "multiple", 1, "only multiples of `N`")
	return cmd
}

func runBudgetMaxBatch(cmd *cobra.Command, o *budgetMaxBatchOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	q, err := o.question(cmd)
	if err != nil {
		return err
	}
	m, err := readWith(u, name, budget.ReadModel)
	if err != nil {
		return err
	}
	a, err := m.MaxBatch(q)
	if err != nil {
		return usagef("%w", err)
	}
	if o.json {
		return writeJSON(u.out, maxBatchAnswer(&a, q))
	}
	_, err = fmt.Fprint(u.out, u.maxBatchText(&a, q))
	return err
}

func (o *budgetMaxBatchOptions) question(cmd *cobra.Command) (budget.BatchQuestion, error) {
	q := budget.BatchQuestion{Over: o.over, Set: o.set, Step: o.step}
	if o.gpu == "" {
		return q, usagef("%s needs --gpu, such as --gpu 80GiB", cmd.CommandPath())
	}
	var err error
	if q.GPU, err = units.ParseBytes(o.gpu); err != nil {
		return q, usagef("--gpu: %w", err)
	}
	if q.Overhead, err = units.ParseBytes(o.overhead); err != nil {
		return q, usagef("--overhead: %w", err)
	}
	if o.step < 1 || o.step > 1<<16 {
		return q, usagef("--multiple %d: must be from 1 to %s", o.step, units.Count(1<<16))
	}
	if q.GPU < leastLimit {
		return q, usagef("--gpu %s: less than 2 MiB, which no run fits in; add a unit, such as %sGiB", o.gpu, strings.TrimRight(o.gpu, " bB"))
	}
	return q, nil
}

// maxBatchJSON is the JSON of budget max-batch; sizes are bytes.
type maxBatchJSON struct {
	Over     string       `json:"over"`
	GPU      int64        `json:"gpu_bytes"`
	Overhead int64        `json:"overhead_bytes"`
	Usable   int64        `json:"usable_bytes"`
	Basis    string       `json:"basis"`
	Safe     maxLimitJSON `json:"safe"`
	Likely   maxLimitJSON `json:"likely"`
	Tensors  maxLimitJSON `json:"tensors"`
	Notes    []string     `json:"notes,omitempty"`
}

type maxLimitJSON struct {
	Value int          `json:"value"`
	Fits  *predictJSON `json:"fits,omitempty"`
	Next  int          `json:"next,omitempty"`
	Fails *predictJSON `json:"fails,omitempty"`
}

func maxBatchAnswer(a *budget.BatchAnswer, q budget.BatchQuestion) maxBatchJSON {
	out := maxBatchJSON{Over: a.Over, GPU: q.GPU, Overhead: q.Overhead, Usable: a.Usable, Basis: basisOf(a),
		Safe: limitJSON(a.Safe), Likely: limitJSON(a.Likely), Tensors: limitJSON(a.Tensors), Notes: a.Notes}
	return out
}

func basisOf(a *budget.BatchAnswer) string {
	if a.Reserved {
		return "reserved"
	}
	return "allocated"
}

func limitJSON(l budget.BatchLimit) maxLimitJSON {
	out := maxLimitJSON{Value: l.Value, Next: l.Next}
	if l.Fits != nil {
		p := predictionJSON(l.Fits)
		out.Fits = &p
	}
	if l.Fails != nil {
		p := predictionJSON(l.Fails)
		out.Fails = &p
	}
	return out
}

func (u *ui) maxBatchText(a *budget.BatchAnswer, q budget.BatchQuestion) string {
	var b strings.Builder
	over := units.Safe(a.Over)
	switch {
	case a.Likely.Value == 0:
		b.WriteString(u.style(alarm, fmt.Sprintf("%s %d does not fit", over, a.Likely.Next)) + ": it needs " + units.Bytes(a.Short()) + " more\n")
	case a.Safe.Value == 0:
		b.WriteString(u.style(bold, fmt.Sprintf("%s %s may fit", over, units.Count(a.Likely.Value))) + "; no value is safe: the interval reaches beyond the GPU\n")
	case a.Safe.Value == a.Likely.Value:
		b.WriteString(u.style(bold, fmt.Sprintf("%s %s fits", over, units.Count(a.Safe.Value))) + "\n")
	default:
		b.WriteString(u.style(bold, fmt.Sprintf("%s %s is safe", over, units.Count(a.Safe.Value))) + fmt.Sprintf(", %s is likely to fit\n", units.Count(a.Likely.Value)))
	}
	u.factLines(&b, "GPU", units.Bytes(q.GPU)+" - ", units.Bytes(q.Overhead)+" outside of PyTorch (--overhead) ", "= "+units.Bytes(a.Usable)+" for "+basisOf(a)+" memory")
	b.WriteString("\n" + u.limitTable(a))
	for _, n := range a.Notes {
		u.factLines(&b, "note", words(n)...)
	}
	return b.String()
}

// limitTable has a row for the last value that fits and the first that does not, for
// each of the limits.
func (u *ui) limitTable(a *budget.BatchAnswer) string {
	shown := map[int]*budget.Prediction{}
	for _, l := range []budget.BatchLimit{a.Safe, a.Likely, a.Tensors} {
		if l.Fits != nil {
			shown[l.Value] = l.Fits
		}
		if l.Fails != nil {
			shown[l.Next] = l.Fails
		}
	}
	table := newTable(right, right, left, right, left, left)
	table.header(units.Safe(a.Over), "peak", "interval", "reserved", "interval", "")
	far := false
	for _, v := range slices.Sorted(maps.Keys(shown)) {
		p := shown[v]
		reserved, span, star := "-", "", ""
		if p.Reserved != nil {
			reserved, span = units.Bytes(p.Reserved.Bytes), sizeRange(p.Reserved.Low, p.Reserved.High)
		}
		if p.Extrapolated {
			star, far = "*", true
		}
		table.row(units.Count(v)+star, units.Bytes(p.Peak), sizeRange(p.Low, p.High), reserved, span, a.Judge(p))
	}
	text := table.String()
	if far {
		text += pad("", factIndent) + "* beyond what was measured\n"
	}
	return text
}
