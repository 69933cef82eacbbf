package budget

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// Estimate works out the ledger of a training step, by acting the step out on a
// model of the caching allocator.
func Estimate(c Config) (Ledger, error) {
	if err := c.Check(); err != nil {
		return Ledger{}, err
	}
	card := Card{}
	if c.GPU != "" {
		card, _ = FindCard(c.GPU) // Check has found it
	}
	c.settle()
	l := estimateOn(c, card)
	if l.largest > mostTensor {
		return Ledger{}, c.tooMuch()
	}
	l.Total, l.Whole = l.PerGPU, l.Totals
	if whole := c.undivided(); whole != c {
		undivided := estimateOn(whole, card)
		if undivided.largest > mostTensor {
			return Ledger{}, c.tooMuch()
		}
		l.Total, l.Whole = undivided.PerGPU, undivided.Totals
	}
	l.overhead(card)
	l.assumed()
	l.heldLogits(card)
	l.advise()
	l.notIncluded()
	return l, nil
}

// settle fills in what follows from the rest.
func (c *Config) settle() {
	m := &c.Model
	m.Style = m.style()
	if m.Arch == GPT && m.Positions == 0 && !m.Rotary && m.sized() {
		m.Positions = c.Seq
	}
	c.resolveTied()
}

// resolveTied decides whether the output layer is tied to the embedding where
// the number of parameters says so.
func (c *Config) resolveTied() {
	m := &c.Model
	if m.Params == 0 || !m.sized() || m.Head != LMHead || m.ParamCount() == m.Params {
		return
	}
	other := *m
	other.Tied = !m.Tied
	if other.ParamCount() == m.Params {
		*m = other
	}
}

// undivided is the same work on one GPU.
func (c Config) undivided() Config {
	c.GPUs, c.Tensor, c.Pipeline, c.Context, c.Expert = 1, 1, 1, 1, 1
	c.ZeRO, c.SeqPar, c.Offload = 0, false, NoOffload
	return c
}

// estimateOn is the ledger of the most loaded stage.
func estimateOn(c Config, card Card) Ledger {
	best := stageLedger(&c, card, 0)
	if c.Pipeline > 1 {
		if last := stageLedger(&c, card, c.Pipeline-1); last.PerGPU > best.PerGPU {
			best = last
		}
	}
	return best
}

// stageLedger acts out two steps: the second is like all that follow, since the
// optimizer's states and the allocator's memory are there.
func stageLedger(c *Config, card Card, stage int64) Ledger {
	p := newProgram(c, card, stage)
	o := &optimizer{}
	l := Ledger{Config: *c, Stage: stage, Simulated: c.Model.sized()}
	for _, x := range p.order {
		if x.trained {
			l.Trained += x.whole.elements()
		}
	}
	l.Params = c.Model.ParamCount() + p.adapterCount()
	if l.Simulated {
		p.trainStep(o)
		p.forget()
		p.trainStep(o)
		l.Reserved = p.memory.PeakReserved
	} else {
		p.statesOnly(o)
	}
	l.collect(p)
	l.largest = p.largest
	return l
}

// statesOnly is a step of a model of which only the size is known: no forward,
// gradients all at once, and the optimizer.
func (p *program) statesOnly(o *optimizer) {
	p.enter(OptimizerStep)
	p.where = "optimizer step"
	for _, l := range p.order {
		if l.trained && l.main == nil {
			own := l.shape
			if p.c.ZeRO >= 2 {
				own = p.sharded(l)
			}
			l.grad = p.alloc(GradientClass, attribution.Gradient, "gradients", own, l.gradType)
		}
	}
	o.step(p)
	p.settle()
}

func (p *program) adapterCount() (n int64) {
	for _, l := range p.order {
		if strings.HasPrefix(l.line, "weights of LoRA") {
			n += l.param.Count()
		}
	}
	return n
}

// collect makes the ledger of what the tape saw.
func (l *Ledger) collect(p *program) {
	var top *peak
	for _, s := range Steps() {
		k := p.peaks[s]
		if k == nil {
			continue
		}
		at := StepPeak{Step: s, Bytes: k.requested, Allocated: k.allocated, At: k.where, Totals: Totals{}}
		for i, h := range k.live {
			at.Totals[p.labels[i].class] += h.bytes
		}
		l.Peaks = append(l.Peaks, at)
		if at.Bytes > l.Peak.Bytes {
			l.Peak, top = at, k
		}
	}
	l.Totals, l.Full = Totals{}, Totals{}
	for i := range p.lines {
		s := &p.lines[i]
		line := Line{Class: s.class, Category: s.category, Name: s.name, Bytes: s.most.bytes, Count: s.most.count}
		for _, x := range s.labels {
			if int(x) < len(top.live) {
				line.AtPeak += top.live[x].bytes
			}
		}
		for _, step := range Steps() {
			if s.steps&step.bit() != 0 {
				line.Steps = append(line.Steps, step)
			}
		}
		if line.Bytes == 0 || len(line.Steps) == 0 {
			continue
		}
		line.Formula, line.Numbers = p.formula(s, l)
		l.Lines = append(l.Lines, line)
		l.Totals[s.class] += line.AtPeak
		l.Full[s.class] += line.Bytes
	}
	l.roundingLine()
	order := Classes()
	slices.SortStableFunc(l.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Class), slices.Index(order, b.Class)), cmp.Compare(b.Bytes, a.Bytes))
	})
	l.PerGPU = l.Totals.Sum()
}

// roundingName is the line that leads from requested to allocated bytes.
const roundingName = "rounding to blocks of the allocator"

// roundingLine is what blocks have beyond what was asked for, which closes the
// gap to what PyTorch calls allocated.
func (l *Ledger) roundingLine() {
	extra := l.Peak.Allocated - l.Peak.Bytes
	if !l.Simulated || extra <= 0 {
		return
	}
	l.Lines = append(l.Lines, Line{
		Class: WorkspaceClass, Category: attribution.Unknown, Name: roundingName, Bytes: extra, AtPeak: extra, Count: 1,
		Formula: "blocks − tensors", Numbers: strconv.FormatInt(l.Peak.Allocated, 10) + " − " + strconv.FormatInt(l.Peak.Bytes, 10), Steps: []Step{l.Peak.Step},
	})
	l.Totals[WorkspaceClass] += extra
	l.Full[WorkspaceClass] += extra
}

// mostTerms is how many products a formula spells out.
const mostTerms = 6

// A lineTerm is tensors of one shape in a line.
type lineTerm struct {
	*label
	held
}

// formula is the most of a line in symbols and in figures.
func (p *program) formula(s *lineState, l *Ledger) (symbols, figures string) {
	p.keepParts(s)
	var terms []lineTerm
	var elements int64
	for i, x := range s.parts {
		if x.bytes > 0 {
			terms = append(terms, lineTerm{&p.labels[s.labels[i]], x})
			elements += x.count * terms[len(terms)-1].shape.elements()
		}
	}
	slices.SortStableFunc(terms, func(a, b lineTerm) int { return cmp.Compare(b.bytes, a.bytes) })
	each, n := " × "+perElement(terms[0].dtype), p.c.shards()
	mixed := slices.ContainsFunc(terms, func(x lineTerm) bool { return x.dtype != terms[0].dtype })
	switch {
	case mixed || len(terms) == 1:
	case elements == l.Trained:
		return "P" + each, units.Count(l.Trained) + each
	case n > 1 && elements >= l.Trained/n && elements <= l.Trained/n+int64(len(p.order)):
		return "P/N" + each, units.Count(elements) + each
	case len(terms) > mostTerms:
		return "elements" + each, units.Count(elements) + each
	}
	return join(terms, shape.symbols), join(terms, shape.figures)
}

// join adds the terms up, with the common count and size of an element outside.
func join(terms []lineTerm, product func(shape) string) string {
	same := true
	for _, x := range terms {
		same = same && x.count == terms[0].count && x.dtype == terms[0].dtype
	}
	times := func(n int64) string {
		if n == 1 {
			return ""
		}
		return strconv.FormatInt(n, 10) + " × "
	}
	var words []string
	for _, x := range terms {
		word := product(x.shape)
		if !same {
			word = times(x.count) + word + " × " + perElement(x.dtype)
		}
		words = append(words, word)
	}
	sum := strings.Join(words, " + ")
	if !same {
		return sum
	}
	if len(words) > 1 {
		sum = "(" + sum + ")"
	}
	return times(terms[0].count) + sum + " × " + perElement(terms[0].dtype)
}

// perElement is the size of an element.
func perElement(d DType) string {
	if d == NF4 {
		return "(1/2 + 1/64 + 1/4096) B"
	}
	return strconv.FormatInt(d.bytesOf(1), 10) + " B"
}
