package budget

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// smallPlan is an estimate that takes milliseconds.
const smallPlan = `base: {layers: 2, hidden: 256, heads: 4, vocab: 8192, batch: 8, seq: 256, attention: eager}
configurations:
  - name: plain
  - {name: ckpt, set: {checkpoint: full}}
gpus:
  - {name: large, memory: 40GiB, price_per_hour: 2}
  - {name: small, memory: 600MiB, price_per_hour: 0.5, utilisation: 50%}
overhead: 200MiB
`

func mustPlan(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := ParsePlan("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRun(t testing.TB, text string) *PlanResult {
	t.Helper()
	r, err := mustPlan(t, text).Run(PlanInput{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParsePlanErrors(t *testing.T) {
	gpus := "gpus: [{card: h100}]\n"
	for _, c := range []struct{ text, want string }{
		{"bsae: {}\n" + gpus, "plan.yaml:1: bsae: unknown key of a plan; did you mean base"},
		{"utilization: 90%\n" + gpus, "plan.yaml:1: utilization: unknown key of a plan; did you mean utilisation"},
		{gpus + "margin: 5 percent\n", `plan.yaml:2: margin: "5 percent" is not a part such as 20% or 0.2`},
		{gpus + "margin: 20\n", `plan.yaml:2: margin: "20" is more than the whole; write 20% for a percentage`},
		{gpus + "utilisation: 0\n", `plan.yaml:2: utilisation: "0": must be above 0 and at most 100%`},
		{gpus + "overhead: 620\n", `plan.yaml:2: overhead: "620" has no unit; write it like 620GiB, or 620 B for bytes`},
		{gpus + "overhead: 620 potatoes\n", `plan.yaml:2: overhead: "620 potatoes": not a size: unknown unit "potatoes"; use B, KiB, MiB, GiB, TiB, KB, MB, GB or TB`},
		{"gpus: [{card: h10}]\n", "plan.yaml:1: gpus: card: \"h10\" is not a card that is known here; did you mean h100; for another card give its memory and a name"},
		{"gpus:\n  - price_per_hour: 2\n", "plan.yaml:2: gpus: memory: not given; name a known card with card: a100-80gb, or give memory: 80GiB and a name"},
		{"gpus:\n  - memory: 80GiB\n", "plan.yaml:2: gpus: name: a card of one's own needs one, for the tables"},
		{"gpus:\n  - card: h100\n    price_per_hour: 2 USD\n", `plan.yaml:3: gpus: price_per_hour: "2 USD" is not a number such as 1.80; it has no unit`},
		{"gpus:\n  - card: h100\n  - card: h100\n", `plan.yaml:3: name: "h100" is also the GPU of line 2; give one of them a name`},
		{gpus + "runs:\n  - {hours: 3, step_time: 2s}\n", "plan.yaml:3: runs: a run says one of hours, tokens_per_second and step_time; this one says 2 of them"},
		{gpus + "runs:\n  - {gpu: h200, hours: 3}\n", `plan.yaml:3: gpu: "h200" is not in this plan; did you mean h100`},
		{gpus + "runs:\n  - {step_time: 350}\n", `plan.yaml:3: runs: step_time: "350" is not a time such as 350ms, 1.2s or 2m`},
		{gpus + "runs:\n  - {step_time: 350ms}\n", "plan.yaml:3: step_time: says how fast, but work has neither steps nor tokens to say how much; add work: {steps: 100000}"},
		{gpus + "sensitivity:\n  seq: 900..800\n", `plan.yaml:3: sensitivity: seq: "900..800": a range goes from the smaller to the larger`},
		{gpus + "sensitivity:\n  batch: {4: 60%, 8: 60%}\n", "plan.yaml:3: sensitivity: batch: the probabilities add up to 120%, more than 100%"},
		{gpus + "sensitivity:\n  fragmentation: 0.9..1.1\n", `plan.yaml:3: sensitivity: fragmentation: "0.9..1.1": reserved memory is at least the allocated, so the range begins at 1 or above and rises`},
		{gpus + "sensitivity:\n  draws: 5\n", "plan.yaml:3: sensitivity: draws: 5; from 100 to 1,000,000"},
		{gpus + "promise: {gpu: h900}\n", `plan.yaml:2: promise: gpu: "h900" is not in this plan; did you mean h100`},
		{"margin: 5%\n", "plan.yaml:1: gpus: not given; list the cards that are to be compared, such as - card: a100-80gb"},
		{"model: a\nconfig: b\n" + gpus, "plan.yaml:1: model: memory comes from a fitted model or from the settings of config, not both"},
		{gpus + "ladder:\n  - name: less\n", "plan.yaml:3: ladder: a step needs a name and set, such as {name: checkpointing, set: {checkpoint: full}}"},
	} {
		if _, err := ParsePlan("plan.yaml", []byte(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestPlanSettingErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"base:\n  layers: 2\n  hiden: 3\ngpus: [{card: h100}]\n", "plan.yaml:3: hiden: unknown setting; did you mean hidden"},
		{"base:\n  layers: 2\n  hidden: 100\n  heads: 3\n  vocab: 10\n  batch: 1\n  seq: 8\ngpus: [{card: h100}]\n", "plan.yaml:4: heads: 3 does not divide hidden 100"},
		{"base: {params: 7B}\ngpus: [{card: h100}]\n", "only the number of parameters is known"},
		{strings.Replace(smallPlan, "seq: 256", "seq: 256, gpus: 4", 1) + "", ""},
		{strings.Replace(strings.Replace(smallPlan, "seq: 256", "seq: 256, gpus: 4", 1), "price_per_hour: 2}", "count: 2}", 1), "plan.yaml:6: count: 2, but plain says gpus: 4; say it in one place"},
		{smallPlan + "sensitivity:\n  precision:\n    bf17: 5%\n", `plan.yaml:11: precision: "bf17" is not known; did you mean bf16`},
	} {
		_, err := mustPlan(t, c.text).Run(PlanInput{})
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestPlanCost compares with figures worked out by hand.
func TestPlanCost(t *testing.T) {
	r := mustRun(t, smallPlan+`work: {tokens: 3_600_000}
utilisation: 80%
runs:
  - {hours: 10}
  - {configuration: ckpt, tokens_per_second: 50, source: measured}
  - {configuration: ckpt, gpu: small, step_time: 2s}
`)
	for i, want := range []struct {
		hours, paid, total float64
		source             string
	}{
		{10, 12.5, 25, "estimated"}, // 10 / 0.8 × 2
		{10, 20, 10, "estimated"},   // 10 / 0.5 × 0.5
		{20, 25, 50, "measured"},    // 3.6e6 / 50 / 3600
		{1758 * 2 / 3600., 1758 * 4 / 3600., 1758 * 2 / 3600., "estimated"}, // ⌈3.6e6 / (8 × 256)⌉ steps
	} {
		c := r.Rows[i].Cost
		if math.Abs(c.Hours-want.hours) > 1e-9 || math.Abs(c.PaidHours-want.paid) > 1e-9 || math.Abs(c.Total-want.total) > 1e-9 || c.Source != want.source || c.Missing != "" {
			t.Errorf("row %d: %+v, want %+v", i, c, want)
		}
	}
	if got, want := r.Rows[0].Cost.Text, "10 h / 80% = 12.5 h × 2.00 = 25.00"; got != want {
		t.Errorf("arithmetic %q, want %q", got, want)
	}
	if got, want := r.Rows[3].Cost.HoursText, "3,600,000 tokens / 2,048 a step = 1,758 steps × 2 s / 3,600 s = 0.977 h"; got != want {
		t.Errorf("hours %q, want %q", got, want)
	}
}

func TestCostOfSeveralGPUs(t *testing.T) {
	r := mustRun(t, strings.Replace(smallPlan, "price_per_hour: 2}", "price_per_hour: 2, count: 4}", 1)+"currency: EUR\nruns: [{hours: 3}]\n")
	if got, want := r.Rows[0].Cost.Text, "3 h × 4 GPUs = 12 GPU-h × 2.00 = 24.00 EUR"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMarginals(t *testing.T) {
	row := func(total, hours float64) PlanRow {
		return PlanRow{Fit: Fits, Cost: Cost{Total: total, PaidHours: hours, GPUs: 1}}
	}
	rows := []PlanRow{row(100, 50), row(60, 80), row(90, 90), row(200, 25), {Fit: FitsNot}}
	got := marginals(rows)
	want := []Marginal{
		{Row: 1, StepRow: -1},
		{Row: 2, Extra: 30, Saved: -10, StepRow: -1, Dominated: true},
		{Row: 0, Extra: 40, Saved: 30, PerHour: 40. / 30, StepExtra: 40, StepSaved: 30, StepRow: 1},
		{Row: 3, Extra: 140, Saved: 55, PerHour: 140. / 55, StepExtra: 100, StepSaved: 25, StepRow: 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestMoney(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.07: "0.07", 0.0312: "0.0312", 1234.5: "1,234.50", 98765432.1: "98,765,432.10"} {
		if got := Money(v, ""); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// A linearPlace needs memory in proportion to the sequence length, 1 MiB a token.
type linearPlace struct{}

func (linearPlace) memory(v variation) (planMemory, error) {
	if v.Seq == 0 {
		v.Seq = 1000
	}
	return planMemory{Peak: v.Seq << 20, Reserved: v.Seq << 20, Prediction: &Prediction{Reserved: &ReservedRange{}}}, nil
}
func (linearPlace) number(key string) int64                 { return map[string]int64{keySeq: 1000}[key] }
func (linearPlace) word(string) string                      { return "" }
func (l linearPlace) with([]PlanSetting) (planPlace, error) { return l, nil }
func (linearPlace) seqStep() int64                          { return 1 }
func (linearPlace) hiddenStep() int64                       { return 1 }
func (linearPlace) most(string) int64                       { return 0 }

// studyOf draws over a linear place.
func studyOf(t *testing.T, vary PlanVary, card int64) *Risk {
	t.Helper()
	m, _ := linearPlace{}.memory(variation{})
	s := &riskStudy{p: &Plan{Vary: vary}, place: linearPlace{}, base: m, overhead: 100 << 20, measured: true}
	if err := s.setUp(); err != nil {
		t.Fatal(err)
	}
	g, err := s.newSurrogate()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.run(g, card, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMonteCarloClosedForm compares with the distributions of sums that are known.
func TestMonteCarloClosedForm(t *testing.T) {
	const draws = 200_000
	near := func(name string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
	// Uniform alone: 800 to 1,200 tokens and 100 MiB.
	r := studyOf(t, PlanVary{Draws: draws, Seed: 7, Seq: &Span{0.8, 1.2, true}, ModelError: 0}, 1200<<20)
	near("exceed", r.Exceed, 100./401, 0.004)
	near("low", float64(r.Need.Low>>20), 100+800+0.025*400, 2)
	near("high", float64(r.Need.High>>20), 100+800+0.975*400, 2)
	// Normal alone.
	r = studyOf(t, PlanVary{Draws: draws, Seed: 7, ModelError: 0.1}, 1150<<20)
	sigma := 0.1 / distuv.UnitNormal.Quantile(0.975)
	near("exceed", r.Exceed, 1-distuv.Normal{Sigma: sigma}.CDF(0.05), 0.004)
	near("high", float64(r.Need.High>>20), 1200, 3)
	// Two uniforms of the same width add up to a triangle.
	r = studyOf(t, PlanVary{Draws: draws, Seed: 7, Seq: &Span{800, 1200, false}, Overhead: &Span{0, 400 << 20, false}, ModelError: 0}, 1500<<20)
	near("exceed", r.Exceed, 100.*100/2/(400*400), 0.002)
	near("median", float64(r.Need.Median>>20), 1200, 3)
	if r.Inputs[0].Swing()>>20 < 375 || r.Inputs[0].Swing()>>20 > 385 {
		t.Errorf("swing %d MiB, want 380", r.Inputs[0].Swing()>>20)
	}
}

func TestMonteCarloDeterministic(t *testing.T) {
	vary := PlanVary{Draws: 5000, Seed: 3, Seq: &Span{0.8, 1.2, true}, ModelError: 0.1}
	a, b := studyOf(t, vary, 1200<<20), studyOf(t, vary, 1200<<20)
	if a.Exceed != b.Exceed || a.Need != b.Need || !slices.Equal(a.Bins, b.Bins) {
		t.Error("two runs of a seed differ")
	}
	vary.Seed = 4
	if c := studyOf(t, vary, 1200<<20); c.Need == a.Need {
		t.Error("two seeds draw the same")
	}
	sum := 0
	for _, bin := range a.Bins {
		sum += bin.Draws
	}
	if sum != 5000 {
		t.Errorf("the histogram has %d draws", sum)
	}
}

// TestEstimateError holds the default error of an estimate to the measured sweep.
func TestEstimateError(t *testing.T) {
	f, err := os.Open("../testdata/sweep.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	points, err := ReadPoints(f, "sweep")
	if err != nil {
		t.Fatal(err)
	}
	outside, ratios := 0, 0
	for i := range points {
		p := &points[i]
		set := map[string]string{"gpu": "h200"}
		for k, v := range p.Numbers {
			if k != keyParams {
				set[k] = number(v)
			}
		}
		for k, v := range p.Words {
			set[k] = v
		}
		c, err := DefaultConfig().With(set)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Estimate(c)
		if err != nil {
			t.Fatal(err)
		}
		if e := float64(p.Reserved)/float64(l.Reserved) - 1; math.Abs(e) > estimateError {
			outside++
			t.Logf("%v: reserved %+.1f%%", p.Keys(), 100*e)
		}
		if float64(p.Reserved)/float64(p.Peak) > fragmentationHigh {
			ratios++
		}
	}
	if 20*outside > len(points) {
		t.Errorf("%d of %d points are off by more than the default error", outside, len(points))
	}
	if 20*ratios > len(points) {
		t.Errorf("%d of %d points have more fragmentation than the default", ratios, len(points))
	}
}

func TestPlanLadder(t *testing.T) {
	r := mustRun(t, smallPlan)
	found := false
	for _, l := range r.Ladders {
		need := l.From
		for _, s := range l.Steps {
			if s.Unknown != "" {
				t.Errorf("%s: %s", s.Name, s.Unknown)
			}
			if s.Taken != (s.Frees > 0) || s.Need != need-s.Frees {
				t.Errorf("%s: frees %d of %d, needs %d, taken %v", s.Name, s.Frees, need, s.Need, s.Taken)
			}
			if s.Taken {
				need = s.Need
			}
			if s.Fits != (s.Need <= l.Goal) {
				t.Errorf("%s: needs %d of %d: %v", s.Name, s.Need, l.Goal, s.Fits)
			}
		}
		if last := len(l.Steps) - 1; !l.Reserve && l.Fits {
			found = true
			if !l.Steps[last].Fits || slices.ContainsFunc(l.Steps[:last], func(s LadderStep) bool { return s.Fits && s.Taken }) {
				t.Errorf("the ladder does not end at the first step that fits: %+v", l.Steps)
			}
		}
	}
	if !found {
		t.Error("no ladder makes something fit; the plan of this test is to have one")
	}
}

// TestPlanOrder: of cards that differ in size only, the larger is never more likely to
// be exceeded, and memory does not depend on it.
func TestPlanOrder(t *testing.T) {
	r := mustRun(t, smallPlan+"sensitivity: {seq: 20%, hidden: 15%, batch: {16: 10%}, precision: {bf16-amp: 20%}}\n")
	for i := 0; i < len(r.Rows); i += 2 {
		large, small := &r.Rows[i], &r.Rows[i+1]
		if large.Risk.Exceed > small.Risk.Exceed || large.Risk.Need != small.Risk.Need || large.Need != small.Need {
			t.Errorf("%s: %+v and %+v", large.Configuration, large.Risk.Need, small.Risk.Need)
		}
	}
	if r.Answer != 1 && r.Answer != 3 && r.Rows[r.Answer].GPU != "large" {
		t.Errorf("answer %d", r.Answer)
	}
}

func TestNothingFits(t *testing.T) {
	r := mustRun(t, strings.Replace(strings.Replace(smallPlan, "40GiB", "250MiB", 1), "600MiB", "240MiB", 1))
	if r.Answer != -1 || len(r.Problems()) == 0 {
		t.Errorf("answer %d, problems %v", r.Answer, r.Problems())
	}
	if c := r.Commitment(""); c.Holds || !strings.Contains(c.Verdict, "cannot be promised") {
		t.Errorf("verdict %q", c.Verdict)
	}
}

// TestPlanBudget: the gates that a plan writes are read back, and are those promised.
func TestPlanBudget(t *testing.T) {
	r := mustRun(t, smallPlan+"promise: {configuration: plain, gpu: large, memory: 500MiB, tolerance: 10%, owner: \"a: b\\n# c\"}\n")
	var b bytes.Buffer
	if err := r.WriteBudget(&b); err != nil {
		t.Fatal(err)
	}
	gates, err := ParseGates("budget.yaml", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if g := gates.Gates[0]; g.Max.Value != 500<<20*110/100 || g.Subject != "peak.reserved_bytes" {
		t.Errorf("gate %+v", g)
	}
	if c := r.Commitment("x"); c.Promise != 500<<20 || c.Trigger != 550<<20 {
		t.Errorf("promise %d, trigger %d", c.Promise, c.Trigger)
	}
}

// TestCommitmentCloses: the table of the baseline adds up to the peak.
func TestCommitmentCloses(t *testing.T) {
	r := mustRun(t, smallPlan)
	c := r.Commitment("budget.yaml")
	for _, s := range c.Sections {
		if s.Title != "Baseline" {
			continue
		}
		rows := s.Tables[0].Rows
		sum := int64(0)
		for i, row := range rows {
			n, err := parseSize(row[0])
			if err != nil {
				t.Fatal(err)
			}
			if i == len(rows)-1 {
				if sum != n || n != r.Rows[r.Promised].Peak {
					t.Errorf("lines %d, total %d, peak %d", sum, n, r.Rows[r.Promised].Peak)
				}
			}
			sum += n
		}
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(smallPlan))
	if data, err := os.ReadFile("../examples/plan.yaml"); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := ParsePlan("plan.yaml", data); err == nil && (len(p.GPUs) == 0 || len(p.Configurations) == 0) {
			t.Error("a plan without GPUs or configurations")
		}
	})
}
