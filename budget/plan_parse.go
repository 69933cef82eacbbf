package budget

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snapview/snapview/internal/units"
)

// ParsePlan reads a plan. Errors say the line.
func ParsePlan(name string, data []byte) (*Plan, error) {
	root, err := parseFile(name, data)
	if err != nil {
		return nil, err
	}
	f, err := root.fields("a plan")
	if err != nil {
		return nil, err
	}
	p := &Plan{File: name, Overhead: -1, Margin: planMargin,
		Vary:    PlanVary{Draws: planDraws, Seed: planSeed, ModelError: -1},
		Promise: PlanPromise{Tolerance: planTolerance, MaxProbability: planProbability}}
	read(f, "title", &p.Title, node.name)
	read(f, "currency", &p.Currency, node.name)
	read(f, "model", &p.ModelFile, node.name)
	read(f, "config", &p.ConfigFile, node.name)
	read(f, "base", &p.Base, node.settings)
	read(f, "configurations", &p.Configurations, listOf(planConfiguration))
	read(f, "gpus", &p.GPUs, listOf(planGPU))
	read(f, "work", &p.Work, planWork)
	read(f, "runs", &p.Runs, listOf(planRun))
	read(f, "utilisation", &p.Utilisation, node.share)
	read(f, "overhead", &p.Overhead, node.size)
	read(f, "overhead_source", &p.OverheadSource, node.name)
	read(f, "margin", &p.Margin, node.part)
	read(f, "sensitivity", &p.Vary, p.Vary.parse)
	read(f, "ladder", &p.Ladder, listOf(planStep))
	read(f, "promise", &p.Promise, p.Promise.parse)
	if err := f.done(); err != nil {
		return nil, err
	}
	if len(p.Configurations) == 0 {
		p.Configurations = []PlanConfiguration{{Name: "base", Line: root.yaml.Line}}
	}
	return p, p.check(f)
}

// check finds what does not go together.
func (p *Plan) check(f *fields) error {
	at := func(key string, format string, args ...any) error {
		if n, ok := f.values[key]; ok {
			return n.errorf(key+": "+format, args...)
		}
		return f.errorf(key+": "+format, args...)
	}
	switch {
	case p.ModelFile != "" && p.ConfigFile != "":
		return at("model", "memory comes from a fitted model or from the settings of config, not both")
	case len(p.GPUs) == 0:
		return at("gpus", "not given; list the cards that are to be compared, such as - card: a100-80gb")
	case len(p.GPUs)*len(p.Configurations) > mostPairs:
		return at("gpus", "%d GPUs × %d configurations; the limit is %d pairs", len(p.GPUs), len(p.Configurations), mostPairs)
	case p.OverheadSource != "" && p.Overhead < 0:
		return at("overhead_source", "says where a number is from that is not given; add overhead: 620MiB")
	}
	if err := p.distinct(); err != nil {
		return err
	}
	for i := range p.Runs {
		if err := p.checkRun(&p.Runs[i]); err != nil {
			return err
		}
	}
	return p.known(p.Promise.Line, "promise: ", p.Promise.Configuration, p.Promise.GPU)
}

// distinct checks that names tell configurations and GPUs apart.
func (p *Plan) distinct() error {
	seen := map[string]int{}
	for _, c := range p.Configurations {
		if first, twice := seen[c.Name]; twice {
			return p.errorAt(c.Line, "name: %s is also the configuration of line %d", quote(c.Name), first)
		}
		seen[c.Name] = c.Line
	}
	clear(seen)
	for _, g := range p.GPUs {
		if first, twice := seen[g.Name]; twice {
			return p.errorAt(g.Line, "name: %s is also the GPU of line %d; give one of them a name", quote(g.Name), first)
		}
		seen[g.Name] = g.Line
	}
	return nil
}

func (p *Plan) checkRun(r *PlanRun) error {
	if err := p.known(r.Line, "", r.Configuration, r.GPU); err != nil {
		return err
	}
	switch {
	case r.TokensPerSecond > 0 && p.Work.Tokens == 0:
		return p.errorAt(r.Line, "tokens_per_second: says how fast, but work has no tokens to say how much; add work: {tokens: 10B}")
	case r.StepSeconds > 0 && p.Work.Steps == 0 && p.Work.Tokens == 0:
		return p.errorAt(r.Line, "step_time: says how fast, but work has neither steps nor tokens to say how much; add work: {steps: 100000}")
	}
	return nil
}

// known checks names of configurations and GPUs; empty ones are not given.
func (p *Plan) known(line int, before, configuration, gpu string) error {
	find := func(key, name string, names []string) error {
		if name == "" || slices.Contains(names, name) {
			return nil
		}
		hint := "known are " + strings.Join(names, ", ")
		if near, ok := nearest(name, names); ok {
			hint = "did you mean " + near
		}
		return p.errorAt(line, "%s%s: %s is not in this plan; %s", before, key, quote(name), units.Safe(hint))
	}
	var configurations, gpus []string
	for _, c := range p.Configurations {
		configurations = append(configurations, c.Name)
	}
	for _, g := range p.GPUs {
		gpus = append(gpus, g.Name)
	}
	return errors.Join(find("configuration", configuration, configurations), find("gpu", gpu, gpus))
}

func (p *Plan) errorAt(line int, format string, args ...any) error {
	return &FileError{p.File, line, fmt.Errorf(format, args...)}
}

// listOf reads a list with a reader of its items.
func listOf[T any](item func(node) (T, error)) func(node) ([]T, error) {
	return func(n node) ([]T, error) {
		items, err := n.list()
		if err != nil {
			return nil, err
		}
		out := make([]T, len(items))
		for i, x := range items {
			if out[i], err = item(x); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// name is text that is not empty and short enough for a table.
func (n node) name() (string, error) {
	text, err := n.text()
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "", n.errorf("nothing where a text belongs")
	case len(text) > 200:
		return "", n.errorf("a text of %d bytes; at most 200", len(text))
	}
	return strings.TrimSpace(text), nil
}

// settings are the keys of a mapping with their values as written.
func (n node) settings() ([]PlanSetting, error) {
	f, err := n.fields("a mapping of settings")
	if err != nil {
		return nil, err
	}
	var out []PlanSetting
	for _, k := range f.keys {
		value, err := f.values[k.yaml.Value].text()
		if err != nil {
			return nil, underKey(k.yaml.Value, err)
		}
		out = append(out, PlanSetting{k.yaml.Value, value, k.yaml.Line})
	}
	return out, nil
}

// part is a part of a whole: 5% or 0.05, below 1.
func (n node) part() (float64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	v, err := parsePart(text)
	if err != nil {
		return 0, n.errorf("%w", err)
	}
	if v >= 1 {
		return 0, n.errorf("%s: must be below 100%%", quote(text))
	}
	return v, nil
}

// share is a part above 0 and at most 1.
func (n node) share() (float64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	v, err := parsePart(text)
	if err == nil && (v <= 0 || v > 1) {
		err = fmt.Errorf("%s: must be above 0 and at most 100%%", quote(text))
	}
	if err != nil {
		return 0, n.errorf("%w", err)
	}
	return v, nil
}

func parsePart(text string) (float64, error) {
	plain, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(plain), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s is not a part such as 20%% or 0.2", quote(text))
	case v < 0:
		return 0, fmt.Errorf("%s: cannot be negative", quote(text))
	case percent:
		return v / 100, nil
	case v > 1:
		return 0, fmt.Errorf("%s is more than the whole; write %s%% for a percentage", quote(text), strings.TrimSpace(text))
	}
	return v, nil
}

func (n node) size() (int64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	v, err := parseSize(text)
	if err != nil {
		return 0, n.errorf("%w", err)
	}
	return v, nil
}

// positive is a number above 0 without a unit.
func (n node) positive() (float64, error) {
	v, err := n.decimal()
	if err == nil && v <= 0 {
		return 0, n.errorf("%s: must be above 0", n.kind())
	}
	return v, err
}

// decimal is a number that is not negative.
func (n node) decimal() (float64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.Abs(v) > 1e15:
		return 0, n.errorf("%s is not a number such as 1.80; it has no unit", quote(text))
	case v < 0:
		return 0, n.errorf("%s: cannot be negative", quote(text))
	}
	return v, nil
}

func (n node) countAbove0() (int64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	v, err := ParseCount(text)
	switch {
	case err != nil:
	case v < 1:
		err = fmt.Errorf("%s: must be 1 or more", quote(text))
	case v > mostWork:
		err = fmt.Errorf("%s: larger than any run", quote(text))
	}
	if err != nil {
		return 0, n.errorf("%w", err)
	}
	return v, nil
}

// seconds reads a time with its unit.
func (n node) seconds() (float64, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(text), " ", ""))
	if err != nil || d <= 0 {
		return 0, n.errorf("%s is not a time such as 350ms, 1.2s or 2m", quote(text))
	}
	return d.Seconds(), nil
}

func planConfiguration(n node) (PlanConfiguration, error) {
	c := PlanConfiguration{Line: n.yaml.Line}
	f, err := n.fields("a configuration of the plan")
	if err != nil {
		return c, err
	}
	read(f, "name", &c.Name, node.name)
	read(f, "set", &c.Set, node.settings)
	if err := f.done(); err != nil {
		return c, err
	}
	if c.Name == "" {
		return c, n.errorf("name: a configuration needs one, for the tables")
	}
	return c, nil
}

func planStep(n node) (PlanStep, error) {
	s := PlanStep{Line: n.yaml.Line}
	f, err := n.fields("a step of the ladder")
	if err != nil {
		return s, err
	}
	read(f, "name", &s.Name, node.name)
	read(f, "set", &s.Set, node.settings)
	if err := f.done(); err != nil {
		return s, err
	}
	if s.Name == "" || len(s.Set) == 0 {
		return s, n.errorf("a step needs a name and set, such as {name: checkpointing, set: {checkpoint: full}}")
	}
	return s, nil
}

// planGPU reads a card, by its name or with its memory.
func planGPU(n node) (PlanGPU, error) {
	g := PlanGPU{Line: n.yaml.Line}
	f, err := n.fields("a GPU of the plan")
	if err != nil {
		return g, err
	}
	var card string
	read(f, "card", &card, node.name)
	read(f, "name", &g.Name, node.name)
	read(f, "memory", &g.Bytes, node.size)
	read(f, "like", &g.Like, node.name)
	read(f, "count", &g.Count, node.countAbove0)
	read(f, "price_per_hour", &g.Price, node.decimal)
	read(f, "utilisation", &g.Percent, node.share)
	if err := f.done(); err != nil {
		return g, err
	}
	_, g.Priced = f.values["price_per_hour"]
	return g, g.findCard(f, card)
}

// likeCard stands in for a card that is not known where the workspaces of cuBLAS
// are concerned.
const likeCard = "h100"

func (g *PlanGPU) findCard(f *fields, card string) error {
	find := func(key, name string) (Card, error) {
		c, err := FindCard(name)
		if err != nil {
			return c, f.values[key].errorf("%s: %w; for another card give its memory and a name", key, err)
		}
		return c, nil
	}
	var err error
	switch {
	case card != "" && g.Like != "":
		return f.values["like"].errorf("like: is for a card that is not known; %s is", card)
	case card != "":
		g.Card, err = find("card", card)
		if g.Bytes == 0 {
			g.Bytes = g.Card.Bytes
		}
		if g.Name == "" {
			g.Name = g.Card.Name
		}
		return err
	case g.Bytes == 0:
		return f.errorf("memory: not given; name a known card with card: a100-80gb, or give memory: 80GiB and a name")
	case g.Name == "":
		return f.errorf("name: a card of one's own needs one, for the tables")
	case g.Like == "":
		g.Like = likeCard
		g.Card, err = FindCard(likeCard)
		return err
	}
	g.Card, err = find("like", g.Like)
	return err
}

func planWork(n node) (PlanWork, error) {
	w := PlanWork{}
	f, err := n.fields("the work of a plan")
	if err != nil {
		return w, err
	}
	read(f, "tokens", &w.Tokens, node.countAbove0)
	read(f, "steps", &w.Steps, node.countAbove0)
	return w, f.done()
}

func planRun(n node) (PlanRun, error) {
	r := PlanRun{Line: n.yaml.Line, Source: "estimated"}
	f, err := n.fields("a run of the plan")
	if err != nil {
		return r, err
	}
	read(f, "configuration", &r.Configuration, node.name)
	read(f, "gpu", &r.GPU, node.name)
	read(f, "hours", &r.Hours, node.positive)
	read(f, "tokens_per_second", &r.TokensPerSecond, node.positive)
	read(f, "step_time", &r.StepSeconds, node.seconds)
	read(f, "source", &r.Source, node.name)
	if err := f.done(); err != nil {
		return r, err
	}
	given := 0
	for _, v := range []float64{r.Hours, r.TokensPerSecond, r.StepSeconds} {
		if v > 0 {
			given++
		}
	}
	if given != 1 {
		return r, n.errorf("a run says one of hours, tokens_per_second and step_time; this one says %d of them", given)
	}
	return r, nil
}

func (v PlanVary) parse(n node) (PlanVary, error) {
	f, err := n.fields("the sensitivity of a plan")
	if err != nil {
		return v, err
	}
	draws := int64(v.Draws)
	seed := int64(v.Seed)
	read(f, "draws", &draws, node.countAbove0)
	read(f, "seed", &seed, node.countAbove0)
	read(f, "seq", &v.Seq, spanOf(number64))
	read(f, "hidden", &v.Hidden, spanOf(number64))
	read(f, "batch", &v.Batch, node.chances)
	read(f, "precision", &v.Precision, node.chances)
	read(f, "overhead", &v.Overhead, spanOf(size64))
	read(f, "fragmentation", &v.Fragmentation, node.ratios)
	read(f, "model_error", &v.ModelError, node.part)
	v.Draws, v.Seed = int(min(draws, mostDraws+1)), uint64(seed)
	if v.Draws > mostDraws || v.Draws < 100 {
		f.fail(f.values["draws"].errorf("draws: %d; from 100 to 1,000,000", draws))
	}
	return v, f.done()
}

func number64(text string) (float64, error) {
	n, err := ParseCount(text)
	return float64(n), err
}

func size64(text string) (float64, error) {
	n, err := parseSize(text)
	return float64(n), err
}

// spanOf reads 20%, which is that much less and more, or LOW..HIGH.
func spanOf(bound func(string) (float64, error)) func(node) (*Span, error) {
	return func(n node) (*Span, error) {
		text, err := n.text()
		if err != nil {
			return nil, err
		}
		low, high, isRange := strings.Cut(text, "..")
		if !isRange {
			v, err := parsePart(text)
			if err != nil || v >= 1 {
				return nil, n.errorf("%s is not a range such as 20%% (less and more) or 800..1200", quote(text))
			}
			return &Span{1 - v, 1 + v, true}, nil
		}
		s := &Span{}
		var errLow, errHigh error
		s.Low, errLow = bound(strings.TrimSpace(low))
		s.High, errHigh = bound(strings.TrimSpace(high))
		if err := errors.Join(errLow, errHigh); err != nil {
			return nil, n.errorf("%w", errors.Join(errLow, errHigh))
		}
		if s.Low > s.High || s.Low < 0 || s.High == 0 {
			return nil, n.errorf("%s: a range goes from the smaller to the larger", quote(text))
		}
		return s, nil
	}
}

// ratios reads the span of reserved over allocated memory.
func (n node) ratios() (*Span, error) {
	text, err := n.text()
	if err != nil {
		return nil, err
	}
	low, high, _ := strings.Cut(text, "..")
	s := &Span{}
	var errLow, errHigh error
	s.Low, errLow = strconv.ParseFloat(strings.TrimSpace(low), 64)
	s.High, errHigh = strconv.ParseFloat(strings.TrimSpace(high), 64)
	switch {
	case errLow != nil || errHigh != nil:
		return nil, n.errorf("%s is not a range of reserved over allocated memory such as 1.02..1.20", quote(text))
	case !(s.Low >= 1) || !(s.High >= s.Low) || s.High > 100:
		return nil, n.errorf("%s: reserved memory is at least the allocated, so the range begins at 1 or above and rises", quote(text))
	}
	return s, nil
}

// chances reads values with their probabilities.
func (n node) chances() ([]Chance, error) {
	f, err := n.fields("values with their probabilities")
	if err != nil {
		return nil, err
	}
	var out []Chance
	sum := 0.0
	for _, k := range f.keys {
		part, err := f.values[k.yaml.Value].share()
		if err != nil {
			return nil, underKey(k.yaml.Value, err)
		}
		sum += part
		out = append(out, Chance{k.yaml.Value, part, k.yaml.Line})
	}
	switch {
	case len(out) > 8:
		return nil, n.errorf("%d values; at most 8", len(out))
	case sum > 1+1e-9:
		return nil, n.errorf("the probabilities add up to %s, more than 100%%", percentOf(sum))
	}
	return out, nil
}

func (p PlanPromise) parse(n node) (PlanPromise, error) {
	p.Line = n.yaml.Line
	f, err := n.fields("the promise of a plan")
	if err != nil {
		return p, err
	}
	read(f, "configuration", &p.Configuration, node.name)
	read(f, "gpu", &p.GPU, node.name)
	read(f, "memory", &p.Memory, node.size)
	read(f, "tolerance", &p.Tolerance, node.part)
	read(f, "max_probability", &p.MaxProbability, node.part)
	read(f, "max_cost", &p.MaxCost, node.positive)
	read(f, "max_hours", &p.MaxHours, node.positive)
	read(f, "owner", &p.Owner, node.name)
	return p, f.done()
}

// percentOf is a part as a percentage: "5%", "12.5%", "0.04%".
func percentOf(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e4)/100, 'f', -1, 64) + "%"
}
