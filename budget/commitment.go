package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// A Commitment is what a plan promises, as a document: what is promised, on what that
// rests, what happens when it is not kept, and how that is measured. All its numbers
// are from the plan or follow from it.
type Commitment struct {
	Title    string
	Verdict  string
	Holds    bool // the promised configuration fits, and nothing that the plan limits is exceeded
	Facts    []string
	Sections []DocSection

	Card    int64 // of the promised row
	Promise int64 // of reserved memory
	Trigger int64 // above which the fallback begins
	Bound   int64 // upper end of the 95 % interval of reserved memory
	Bins    []Bin // of what is needed, and of it what the allocator holds
	Need    Spread
	Bars    []CostBar
}

// A DocSection is a part of a document.
type DocSection struct {
	Title  string
	Text   []string // paragraphs
	Points []string // a list
	Tables []DocTable
	Code   []string // commands
	Chart  DocChart
}

// A DocChart names a chart that goes with a section.
type DocChart string

// Charts.
const (
	NoChart           DocChart = ""
	DistributionChart DocChart = "distribution"
	CostChart         DocChart = "cost"
)

// A DocTable is a table of text; Right says which columns hold numbers.
type DocTable struct {
	Lead  string // what it shows, in a sentence; may be empty
	Head  []string
	Right []bool
	Rows  [][]string
}

// A CostBar is what a row costs.
type CostBar struct {
	Name     string
	Cost     float64
	Text     string
	Promised bool
}

// Commitment writes the document of the promised row. budgetFile is what holds CI to
// it; "" when none is written.
func (r *PlanResult) Commitment(budgetFile string) *Commitment {
	row := &r.Rows[r.Promised]
	w := &r.Plan.Promise
	c := &Commitment{Card: row.Card, Bins: row.Risk.Bins, Need: row.Risk.Need}
	c.Title = "Memory commitment"
	if r.Plan.Title != "" {
		c.Title += ": " + r.Plan.Title
	}
	c.Promise, c.Trigger, c.Bound = r.promise()
	problems := r.problems()
	c.Holds = len(problems) == 0
	what := fmt.Sprintf("%s on %s", row.Configuration, r.cardText(row))
	if c.Holds {
		c.Verdict = fmt.Sprintf("%s: at most %s of reserved memory on each GPU, with a probability of %s to need more than the card has", what, units.Bytes(c.Promise), row.Risk.ExceedText())
	} else {
		c.Verdict = what + " cannot be promised: " + strings.Join(problems, "; ")
	}
	c.Facts = append(c.Facts, "plan "+r.Plan.File, "memory: "+r.Source)
	if w.Owner != "" {
		c.Facts = append(c.Facts, "owner "+w.Owner)
	}
	c.Sections = []DocSection{r.slaSection(c), r.hardwareSection(row), r.baselineSection(row), r.riskSection(row), r.costSection(c), r.fallbackSection(c), r.auditSection(c, budgetFile), r.unknownSection()}
	return c
}

// promise is the reserved memory that is promised, the amount above which the
// fallback begins, and the upper end of the interval.
func (r *PlanResult) promise() (promise, trigger, bound int64) {
	row := &r.Rows[r.Promised]
	promise = cmp.Or(r.Plan.Promise.Memory, row.Reserved)
	return promise, int64(math.Floor(float64(promise) * (1 + r.Plan.Promise.Tolerance))), row.Risk.Reserved.High
}

// problems are why the promised row cannot be promised.
func (r *PlanResult) problems() (list []string) {
	row := &r.Rows[r.Promised]
	w := &r.Plan.Promise
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if row.Fit != Fits {
		add("it is %s above what the card leaves with a margin of %s", units.Bytes(row.Short(r.Plan.Margin)), percentOf(r.Plan.Margin))
	}
	if row.Risk.Exceed > w.MaxProbability {
		add("the probability to exceed the card is %s, more than %s", row.Risk.ExceedText(), percentOf(w.MaxProbability))
	}
	if promise, trigger, _ := r.promise(); promise < row.Reserved {
		add("the promised %s is less than the predicted %s", units.Bytes(promise), units.Bytes(row.Reserved))
	} else if trigger+row.Overhead > row.Card {
		add("%s of the promise and the %s outside of PyTorch are more than the card has", percentOf(1+w.Tolerance), units.Bytes(row.Overhead))
	}
	if w.MaxCost > 0 && row.Cost.Missing == "" && row.Cost.Total > w.MaxCost {
		add("it costs %s, more than %s", Money(row.Cost.Total, r.Plan.Currency), Money(w.MaxCost, r.Plan.Currency))
	}
	if w.MaxHours > 0 && row.Cost.PaidHours > w.MaxHours {
		add("it takes %s, more than %s", HoursText(row.Cost.PaidHours), HoursText(w.MaxHours))
	}
	return list
}

// Problems are why the promised row cannot be promised; none when it can.
func (r *PlanResult) Problems() []string { return r.problems() }

// ExceedText is the probability to exceed the card: with none of the draws above it,
// what it is below with 95 % confidence.
func (r *Risk) ExceedText() string {
	switch {
	case r.Exceed == 0:
		return "below " + percentOf(math.Ceil(r.ExceedMax*1e4)/1e4)
	case r.Exceed == 1:
		return "100%"
	case r.Exceed > 0.9995:
		return "above 99.9%"
	case r.Exceed < 0.01:
		return percentOf(r.Exceed)
	}
	return percentOf(math.Round(r.Exceed*1e3) / 1e3)
}

func (r *PlanResult) cardText(row *PlanRow) string {
	if row.Cost.GPUs > 1 {
		return fmt.Sprintf("%d × %s", row.Cost.GPUs, row.GPU)
	}
	return row.GPU
}

func (r *PlanResult) slaSection(c *Commitment) DocSection {
	row := &r.Rows[r.Promised]
	w := &r.Plan.Promise
	rows := [][]string{
		{"reserved memory on each GPU", units.Bytes(c.Promise), units.Exact(c.Promise), promiseSource(r)},
		{"fallback begins above", units.Bytes(c.Trigger), units.Exact(c.Trigger), percentOf(1+w.Tolerance) + " of the promise"},
		{"upper bound of reserved memory", units.Bytes(c.Bound), units.Exact(c.Bound), "upper end of the 95% interval of the simulation"},
		{"needed with what is outside of PyTorch", units.Bytes(row.Need), units.Exact(row.Need), fmt.Sprintf("%s + %s", units.Bytes(row.Reserved), units.Bytes(row.Overhead))},
		{"free on the card", units.Bytes(row.Free), units.Exact(row.Free), fmt.Sprintf("%s - %s; %s are to stay free", units.Bytes(row.Card), units.Bytes(row.Need), percentOf(r.Plan.Margin))},
		{"probability to need more than the card has", row.Risk.ExceedText(), "", fmt.Sprintf("%s draws, seed %d; allowed %s", units.Count(row.Risk.Draws), r.Plan.Vary.Seed, percentOf(w.MaxProbability))},
	}
	limit := func(text string, max float64, show string) string {
		if max > 0 {
			return text + "; limit " + show
		}
		return text
	}
	if row.Cost.Hours > 0 {
		rows = append(rows, []string{"hours paid for", HoursText(row.Cost.PaidHours), "", limit(row.Cost.HoursText+" ("+row.Cost.Source+")", w.MaxHours, HoursText(w.MaxHours))})
	} else {
		rows = append(rows, []string{"hours", "not known", "", row.Cost.Missing})
	}
	if row.Cost.Missing == "" {
		rows = append(rows, []string{"cost", Money(row.Cost.Total, r.Plan.Currency), "", limit(row.Cost.Text, w.MaxCost, Money(w.MaxCost, r.Plan.Currency))})
	} else if row.Cost.Hours > 0 {
		rows = append(rows, []string{"cost", "not known", "", row.Cost.Missing})
	}
	return DocSection{Title: "What is promised", Tables: []DocTable{{"", []string{"Line", "Value", "Exactly", "Rests on"}, []bool{false, true, true}, rows}}}
}

func promiseSource(r *PlanResult) string {
	if r.Plan.Promise.Memory > 0 {
		return "as the plan says; predicted " + units.Bytes(r.Rows[r.Promised].Reserved)
	}
	return r.Source
}

func (r *PlanResult) hardwareSection(row *PlanRow) DocSection {
	s := DocSection{Title: "Hardware"}
	g := &r.Plan.GPUs[row.gpu]
	rows := [][]string{
		{"card", row.GPU},
		{"memory", units.Bytes(row.Card) + " (" + units.Exact(row.Card) + ")"},
		{"GPUs of the job", units.Count(row.Cost.GPUs)},
	}
	if g.Priced {
		rows = append(rows, []string{"price of a GPU for an hour", Money(g.Price, r.Plan.Currency)})
	} else {
		rows = append(rows, []string{"price of a GPU for an hour", "the plan does not say it"})
	}
	for _, o := range r.Plan.outside(row.memory.Ledger, row.Cost.GPUs) {
		rows = append(rows, []string{o.Name, units.Bytes(o.Bytes) + " (" + o.Source + ")"})
	}
	s.Tables = []DocTable{{"", []string{"What", "Value"}, nil, rows}}
	return s
}

// leastLine is the part of the peak below which a line is not listed by itself.
const leastLine = 500

func (r *PlanResult) baselineSection(row *PlanRow) DocSection {
	s := DocSection{Title: "Baseline"}
	s.Text = append(s.Text, row.Configuration+": "+strings.Join(r.settingsOf(row), ", ")+".")
	if r.Plan.ConfigFile != "" {
		s.Text = append(s.Text, "These change "+r.Plan.ConfigFile+".")
	}
	t := DocTable{"", []string{"Bytes at the peak", "Share", "Class", "Tensors", "Formula", "Figures"}, []bool{true, true}, nil}
	add := func(bytes int64, class, name, formula, figures string) {
		t.Rows = append(t.Rows, []string{units.Exact(bytes), units.Percent(bytes, row.Peak), class, name, formula, figures})
	}
	rest, more := int64(0), 0
	if l := row.memory.Ledger; l != nil {
		s.Text = append(s.Text, fmt.Sprintf("The source is an estimate: a step is acted out on a model of PyTorch's allocator. Its peak is in the %s, at %s.", l.Peak.Step, l.Peak.At))
		for _, x := range l.Lines {
			if x.AtPeak*leastLine < l.PerGPU {
				rest += x.AtPeak
				more++
				continue
			}
			formula, figures := x.Formula, x.Numbers
			if x.AtPeak != x.Bytes {
				formula, figures = "of "+formula, figures+"; at the peak a part of these "+units.Exact(x.Bytes)
			}
			add(x.AtPeak, string(x.Class), x.Name, formula, figures)
		}
	} else if p := row.memory.Prediction; p != nil {
		s.Text = append(s.Text, r.fittedText(p))
		for _, x := range p.Parts {
			if x.Bytes*leastLine < p.Peak {
				rest += x.Bytes
				more++
				continue
			}
			add(x.Bytes, x.Class, x.Name, x.Formula, x.Numbers)
		}
	}
	if more > 0 {
		add(rest, "", units.Count(more)+" of less than 0.2% each", "", "")
	}
	add(row.Peak, "", "peak of allocated memory", "", "")
	s.Tables = []DocTable{t}
	s.Text = append(s.Text, fmt.Sprintf("The allocator then holds %s: %s beyond the peak, in blocks that are free or not filled.", units.Bytes(row.Reserved), units.Bytes(row.Reserved-row.Peak)))
	return s
}

// settingsOf lists the settings of a row, those of the base that it changes left out.
func (r *PlanResult) settingsOf(row *PlanRow) (out []string) {
	own := r.Plan.Configurations[row.configuration].Set
	for _, x := range r.Plan.Base {
		if !slices.ContainsFunc(own, func(o PlanSetting) bool { return sameSetting(o.Key, x.Key) }) {
			out = append(out, x.Key+"="+x.Value)
		}
	}
	for _, x := range own {
		out = append(out, x.Key+"="+x.Value)
	}
	return out
}

func sameSetting(a, b string) bool {
	x, known := setting(a)
	y, too := setting(b)
	return known && too && x.Name == y.Name || keyName(a) == keyName(b)
}

func (r *PlanResult) fittedText(p *Prediction) string {
	text := fmt.Sprintf("The source is a %s; the peak, in the %s, lies from %s to %s with %s confidence.", r.Source, p.Phase, units.Bytes(p.Low), units.Bytes(p.High), percentOf(p.Confidence))
	if c := r.Check; c != nil {
		text += fmt.Sprintf(" In %d-fold cross-validation the error at points that were left out was %s (median) and %s at worst.", c.Folds, percentOf(c.Median), percentOf(c.Worst))
		if c.Reserved != nil {
			text += fmt.Sprintf(" Of reserved memory it was %s and %s.", percentOf(c.Reserved.Median), percentOf(c.Reserved.Worst))
		}
	} else {
		text += " The model was not cross-validated."
	}
	if p.Extrapolated {
		text += " The configuration lies beyond what was measured."
	}
	return text
}

func (r *PlanResult) riskSection(row *PlanRow) DocSection {
	k := row.Risk
	s := DocSection{Title: "How sure that is", Chart: DistributionChart}
	s.Text = append(s.Text, fmt.Sprintf("The card needs %s to %s in 95%% of %s draws (median %s), and has %s; the probability to need more is %s.",
		units.Bytes(k.Need.Low), units.Bytes(k.Need.High), units.Count(k.Draws), units.Bytes(k.Need.Median), units.Bytes(row.Card), k.ExceedText()))
	if k.Surrogate != "" {
		s.Text = append(s.Text, upperFirst(k.Surrogate)+".")
	}
	t := DocTable{"", []string{"Moves the need by", "From", "To", "Input", "Distribution"}, []bool{true, true, true}, nil}
	for i := range k.Inputs {
		in := &k.Inputs[i]
		t.Rows = append(t.Rows, []string{units.Bytes(in.Swing()), units.Bytes(in.NeedLow) + " at " + in.Low, units.Bytes(in.NeedHigh) + " at " + in.High, in.Name, in.Text})
	}
	if len(t.Rows) > 0 {
		t.Lead = "One input at a time, the rest as configured, over the middle 95% of each:"
		s.Tables = []DocTable{t}
	} else {
		s.Text = append(s.Text, "The plan has nothing vary.")
	}
	return s
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (r *PlanResult) costSection(c *Commitment) DocSection {
	s := DocSection{Title: "What it costs", Chart: CostChart}
	t := DocTable{"", []string{"Configuration", "GPU", "Needs", "Free", "Fits", "Exceeds", "Cost", "Arithmetic"}, []bool{false, false, true, true, false, true, true}, nil}
	for i := range r.Rows {
		row := &r.Rows[i]
		cost := "not known"
		if row.Cost.Missing == "" {
			cost = Money(row.Cost.Total, r.Plan.Currency)
			if row.Fit == Fits {
				c.Bars = append(c.Bars, CostBar{row.Configuration + " on " + r.cardText(row), row.Cost.Total, cost, i == r.Promised})
			}
		}
		t.Rows = append(t.Rows, []string{row.Configuration, r.cardText(row), units.Bytes(row.Need), units.Bytes(row.Free), row.FitText(r.Plan.Margin), row.Risk.ExceedText(), cost, cmp.Or(row.Cost.Text, row.Cost.Missing)})
	}
	s.Tables = []DocTable{t}
	if len(c.Bars) == 0 {
		s.Chart = NoChart
	}
	s.Text = append(s.Text, "Cost = hours at full speed / utilisation × GPUs × price.")
	for _, m := range r.Marginals {
		if text := r.MarginalText(m); text != "" {
			s.Points = append(s.Points, text)
		}
	}
	return s
}

// MarginalText says what a dearer row buys; "" for the cheapest.
func (r *PlanResult) MarginalText(m Marginal) string {
	row := &r.Rows[m.Row]
	name := row.Configuration + " on " + r.cardText(row)
	least := &r.Rows[r.Marginals[0].Row]
	switch {
	case m.Row == r.Marginals[0].Row:
		return ""
	case m.Dominated:
		return fmt.Sprintf("%s: %s more, and not faster than a cheaper one", name, Money(m.Extra, r.Plan.Currency))
	}
	text := fmt.Sprintf("%s: %s more than %s on %s, %s saved, %s for each hour", name, Money(m.Extra, r.Plan.Currency), least.Configuration, r.cardText(least), HoursText(m.Saved), Money(m.PerHour, r.Plan.Currency))
	if m.StepRow != r.Marginals[0].Row {
		step := &r.Rows[m.StepRow]
		text += fmt.Sprintf("; %s more than %s on %s, %s saved", Money(m.StepExtra, r.Plan.Currency), step.Configuration, r.cardText(step), HoursText(m.StepSaved))
	}
	return text
}

// FitText says how a row fits.
func (row *PlanRow) FitText(margin float64) string {
	switch row.Fit {
	case Fits:
		return "yes"
	case FitsTight:
		return "tight: " + percentOf(margin) + " not free"
	case FitsTensors:
		return "only its tensors, " + units.Bytes(-row.Free) + " short"
	}
	return "no, " + units.Bytes(-row.Free) + " short"
}

func (r *PlanResult) fallbackSection(c *Commitment) DocSection {
	s := DocSection{Title: "Fallback"}
	s.Text = append(s.Text, fmt.Sprintf("When a measured run reserves more than %s (%s), %s of the promise, the next step of the ladder is taken, and the run is measured again. Above %s (%s), the bound, the run stops until the plan is made anew.",
		units.Bytes(c.Trigger), units.Exact(c.Trigger), percentOf(1+r.Plan.Promise.Tolerance), units.Bytes(max(c.Trigger, c.Bound)), units.Exact(max(c.Trigger, c.Bound))))
	if len(r.Ladders) == 0 || len(r.Ladders[0].Steps) == 0 {
		s.Text = append(s.Text, "No step of the ladder applies to this configuration.")
		return s
	}
	t := DocTable{"", []string{"Step", "Change", "Settings", "Frees", "Then needs", "Fits", "Costs"}, []bool{true, false, false, true, true}, nil}
	n := 0
	for _, x := range r.Ladders[0].Steps {
		number, fits := "-", "no"
		if x.Taken {
			n++
			number = units.Count(n)
		}
		if x.Fits {
			fits = "yes"
		}
		frees, need := units.Bytes(x.Frees), units.Bytes(x.Need)
		switch {
		case x.Unknown != "":
			frees, need, fits = "not known", "not known", x.Unknown
		case !x.Taken:
			fits = "left out: frees nothing"
		}
		t.Rows = append(t.Rows, []string{number, x.Name, x.Change, frees, need, fits, cmp.Or(x.Cost, "the plan does not say it")})
	}
	s.Tables = []DocTable{t}
	s.Text = append(s.Text, "Each step is on top of those before it. What it frees is by the same source as the baseline.")
	return s
}

func (r *PlanResult) auditSection(c *Commitment, budgetFile string) DocSection {
	s := DocSection{Title: "Audit"}
	s.Text = append(s.Text,
		"What counts is reserved memory of PyTorch's caching allocator on the most loaded GPU, at its highest in a history that begins before the model is built and holds at least two steps.",
		"The run records that with torch.cuda.memory._record_memory_history(), and torch.cuda.memory._dump_snapshot(\"step.pickle\") writes it.")
	s.Code = append(s.Code, "snapview stats step.pickle")
	if budgetFile != "" {
		s.Text = append(s.Text, fmt.Sprintf("%s holds a pipeline to it; the second command ends with exit code 3 when the promise is broken.", budgetFile))
		s.Code = append(s.Code, "snapview check step.pickle --budget "+budgetFile)
	} else {
		s.Text = append(s.Text, "No budget file was written with this document; --budget-out budget.yaml writes one for snapview check.")
	}
	return s
}

func (r *PlanResult) unknownSection() DocSection {
	s := DocSection{Title: "What is not known"}
	s.Points = append(s.Points, r.Notes...)
	row := &r.Rows[r.Promised]
	if l := row.memory.Ledger; l != nil {
		for _, n := range l.NotIncluded {
			s.Points = append(s.Points, "not included: "+n)
		}
	}
	if row.Cost.Source == "estimated" {
		s.Points = append(s.Points, "the hours are estimated")
	}
	if row.Cost.Use == 1 && row.Cost.Hours > 0 {
		s.Points = append(s.Points, "utilisation counts as 100%: the plan says nothing about waiting, restarts and evaluation")
	}
	if len(s.Points) == 0 {
		s.Points = []string{"nothing beyond the distributions above"}
	}
	return s
}
