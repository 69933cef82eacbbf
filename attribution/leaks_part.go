package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// A growthPart is what one kind of rounds of a history shows.
type growthPart struct {
	rounds
	levels
	c        *Classification
	growth   Growth
	suspects []Suspect // lines that keep memory
	growing  []Suspect // lines whose memory is replaced by more
	lines    []*heldLine
	work     roundWork
	small    []Suspect // suspects too small to matter
	filled   []filledLine
	keeping  []*heldLine // lines of suspects
	swelling []*heldLine // lines of growing

	undecided   bool // what grows is the cache of a generation, or a leak
	inputsSwell bool // what grows are inputs
}

func newGrowthPart(c *Classification, r rounds) *growthPart {
	p := &growthPart{rounds: r, levels: levelsAt(c.Timeline, &r), c: c}
	p.growth = Judge(p.judged())
	if p.floor {
		p.judgeFloor()
		return p
	}
	p.lines, p.work = heldLines(c, &p.rounds)
	p.findSuspects()
	p.decide()
	p.giveBack()
	p.rank()
	return p
}

// input are the curves to judge. The first peak is that of all that came before
// the first round, too.
func (p *growthPart) input() GrowthInput {
	in := GrowthInput{Allocated: p.series("requested", p.requested), Reserved: p.series("reserved", p.reserved), Unit: p.unit}
	if p.floor {
		in.Allocated = p.series("requested", p.least)
	}
	if len(p.events) > 1 {
		in.Peak = Series{Name: "peak", Steps: p.numbers[1:], Bytes: p.peak[1:]}
	}
	return in
}

// judged is input without reserved bytes of a history that contradicts itself
// about them: what it says then is no growth.
func (p *growthPart) judged() GrowthInput {
	in := p.input()
	if p.contradictsReserved() {
		in.Reserved = Series{}
	}
	return in
}

// contradictsReserved reports whether reserved bytes are off by enough to look
// like growth of the cache.
func (p *growthPart) contradictsReserved() bool {
	t := p.c.Timeline
	return float64(t.UnreconciledReserved) > noticeable*float64(t.EndReserved)
}

func (p *growthPart) curves() []Series {
	in := p.input()
	return []Series{in.Allocated, in.Reserved, in.Peak}
}

// judgeFloor takes back what equal stretches of a history cannot show: a model
// that is built grows as well.
func (p *growthPart) judgeFloor() {
	if p.growth.Verdict == Leak || p.growth.Verdict == Inconclusive {
		p.growth = noRounds(p.c)
	}
}

// decide brings the verdict on the whole and the suspects together: a leak is
// memory that is kept. What grows and is not kept is replaced by more each time.
func (p *growthPart) decide() {
	g := &p.growth
	kept := slopes(p.suspects)
	switch {
	case g.Verdict == Leak && 2*kept >= g.BytesPerStep:
		if kept >= g.Low && kept <= g.High && g.Low < g.High {
			p.blame() // lines are less restless than the whole
		}
		p.suspects = append(p.suspects, p.growing...)
	case g.Verdict == Leak && 2*p.keptInAll() >= g.BytesPerStep: // many lines, each too little to be told
	case g.Verdict == Leak:
		p.judgeGrowing()
	case g.Allocated.Course == TooShort:
		p.suspects = p.keptSoFar()
		return
	case p.keepsMore(kept):
		p.blame()
	}
	if g.Verdict != Leak {
		p.small, p.suspects = p.suspects, nil
	}
}

// keptCurve is what all lines together had at the end of a round and the one
// before.
func (p *growthPart) keptCurve() []float64 {
	total := make([]float64, len(p.events))
	for _, l := range p.lines {
		for i, v := range l.curves(len(total)).kept {
			total[i] += v
		}
	}
	return total
}

// keptInAll is the slope of what all lines keep, 0 when it does not climb.
func (p *growthPart) keptInAll() float64 {
	if t := Fit(Series{Steps: p.numbers[1:], Bytes: p.keptCurve()[1:]}); t.Course == Climbing {
		return t.BytesPerStep
	}
	return 0
}

func slopes(list []Suspect) (sum float64) {
	for i := range list {
		sum += list[i].BytesPerStep
	}
	return sum
}

// keepsMore reports whether lines keep so much that it is a leak although the
// curve of the whole is too restless, or still warms up, and other lines do not
// give up as much. They must explain what the whole gained lately.
func (p *growthPart) keepsMore(slope float64) bool {
	if slope <= 0 || slope < negligible*p.growth.Allocated.End {
		return false
	}
	n := len(p.events)
	half, total := n/2, p.keptCurve()
	rounds := p.numbers[n-1] - p.numbers[half]
	return total[n-1]-total[half] >= slope*rounds/2 && (p.growth.Allocated.Course != Slowing || 2*slope*rounds >= p.requested[n-1]-p.requested[half])
}

// blame makes the suspects' slope that of the whole.
func (p *growthPart) blame() {
	n := len(p.events)
	sum := make([]float64, n)
	for i := range p.suspects {
		for k, v := range p.suspects[i].Curve.Bytes {
			sum[n-len(p.suspects[i].Curve.Bytes)+k] += v
		}
	}
	t := Fit(p.series("kept", sum))
	a := &p.growth.Allocated
	start := slices.Index(p.numbers, t.First)
	a.BytesPerStep, a.Low, a.High, a.Shape, a.Course, a.Period, a.Rises, a.Grown = t.BytesPerStep, t.Low, t.High, t.Shape, Climbing, t.Period, t.Rises, t.Grown
	a.First, a.Last, a.WarmUp, a.Points = t.First, t.Last, t.WarmUp, t.Points
	a.Start, a.Noise = residuals(p.numbers[max(start, 0):], p.requested[max(start, 0):], t.BytesPerStep)
	g := &p.growth
	g.Shape, g.BytesPerStep, g.Low, g.High = t.Shape, t.BytesPerStep, t.Low, t.High
	g.leaks()
	g.Need = ""
}

// giveBack takes a leak back when the end of the history shows that what the
// rounds piled up was freed after the last of them, and the rest was not: the
// cache of a generation, or a list that is emptied at the end of an epoch.
func (p *growthPart) giveBack() {
	n := len(p.events)
	if n == 0 || p.growth.Verdict != Leak && !p.undecided {
		return
	}
	var piled, left int64
	for _, l := range p.keeping {
		then, now := p.leftOf(l)
		piled, left = piled+then, left+now
	}
	for _, l := range p.swelling {
		then, _ := p.leftOf(l)
		piled, left = piled+then, left+min(then, p.bornSince(l))
	}
	rest := int64(p.requested[n-1]) - piled
	if piled > 0 && 5*left < piled && 3*(p.c.Timeline.EndRequested-left) >= rest {
		p.growth.givenBack(piled-left, p.unit, p.count())
		p.suspects, p.undecided = nil, false
	}
}

// leftOf returns what a line had gained at the end of the last round, and how
// much of that was still alive when the history ended.
func (p *growthPart) leftOf(l *heldLine) (then, now int64) {
	for _, h := range l.held {
		if h.first == 0 || int(h.last) < len(p.events) {
			continue
		}
		then += h.bytes
		if p.c.Timeline.Allocations[h.index].Freed == snapshot.AliveAtEnd {
			now += h.bytes
		}
	}
	return then, now
}

// bornSince is what a line holds at the end of the history that is younger than
// the first round.
func (p *growthPart) bornSince(l *heldLine) int64 {
	bytes := l.live
	for _, h := range l.held {
		if h.first == 0 && p.c.Timeline.Allocations[h.index].Freed == snapshot.AliveAtEnd {
			bytes -= h.bytes
		}
	}
	return bytes
}

// judgeGrowing is asked when memory grows because what replaces other memory is
// larger each time. With inputs that grow, a round allocates much more each time
// than what is left after it.
func (p *growthPart) judgeGrowing() {
	g := &p.growth
	switch {
	case Fit(p.series("", p.work.bytes)).BytesPerStep > 3*g.BytesPerStep:
		p.inputsSwell = true
		g.inputsGrow(p.judged())
	case !p.training:
		p.undecided = true
		g.Verdict = Inconclusive
		g.Why = "what is held grows from one iteration to the next by being replaced with more, as the cache of one generation does"
		g.Need = "a history of several generations: their cache ends with them, a leak does not"
	case 2*slopes(p.growing) < g.BytesPerStep:
		g.Verdict = Inconclusive
		g.Why += ", but no line keeps it"
		g.Need = fmt.Sprintf("a longer history, %d %ss or more", 2*p.count(), p.unit)
	default:
		p.suspects = append(p.suspects, p.growing...)
	}
}

// rank sorts the suspects and leaves out those that do not matter.
func (p *growthPart) rank() {
	least := 0.005 * slopes(p.suspects)
	p.suspects = slices.DeleteFunc(p.suspects, func(s Suspect) bool { return s.BytesPerStep < least })
	slices.SortStableFunc(p.suspects, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(math.Round(b.BytesPerStep), math.Round(a.BytesPerStep)), cmp.Compare(b.Live, a.Live),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function))
	})
}

// notes say what the answer rests on and what is missing.
func (p *growthPart) notes() (list []string) {
	switch p.c.Timeline.History {
	case snapshot.HistoryTruncated:
		list = append(list, fmt.Sprintf("the history begins within the run: growth is that of its %s; lines of older memory are not known", count(len(p.events), p.unit)))
	case snapshot.HistoryInconsistent:
		list = append(list, "the history contradicts itself or the end of the file; take the curves with care")
	}
	if p.contradictsReserved() {
		list = append(list, fmt.Sprintf("reserved bytes are off by up to %s, and do not count in the verdict", units.Bytes(p.c.Timeline.UnreconciledReserved)))
	}
	if p.growth.Verdict == Leak && 2*slopes(p.suspects) < p.growth.BytesPerStep {
		list = append(list, fmt.Sprintf("the lines below explain %s of the growth %s; the rest is spread over many", sizeText(slopes(p.suspects)), per(p.unit)))
	}
	return list
}
