package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// A heldLine is what a line has at the ends of rounds.
type heldLine struct {
	place placeKey
	held  []stay
	live  int64 // requested bytes at the end of the history
	count int   // allocations of live
}

// roundWork is what was allocated in each round, whether or not it outlived it.
type roundWork struct{ bytes, count []float64 }

// A stay is an allocation that is alive at the ends of the rounds from first
// to last−1.
type stay struct {
	first, last int32
	index       int32 // in Timeline.Allocations
	bytes       int64
}

// heldLines sorts the allocations that are alive at the end of any round by
// line, in order of first appearance. Most allocations of a history are not. It
// also counts what was allocated in each round.
func heldLines(c *Classification, r *rounds) (lines []*heldLine, done roundWork) {
	slots := c.slots(r.events)
	n := int32(len(r.events))
	done = roundWork{make([]float64, n), make([]float64, n)}
	slot := func(event int32) int32 {
		if int(event)+1 >= len(slots) {
			return n
		}
		return slots[event+1]
	}
	places := newPlacer(c.Snapshot, c.Timeline, DiffByLine)
	at := map[placeKey]*heldLine{}
	for i := range c.Timeline.Allocations {
		a := &c.Timeline.Allocations[i]
		first, last := slot(a.Born), slot(a.Freed)
		if a.Born >= 0 && first < n {
			done.bytes[first] += float64(a.Requested)
			done.count[first]++
		}
		alive := a.Freed == snapshot.AliveAtEnd
		if first >= last && !alive {
			continue
		}
		key := places.of(a)
		l := at[key]
		if l == nil {
			l = &heldLine{place: key}
			at[key] = l
			lines = append(lines, l)
		}
		if alive {
			l.live += a.Requested
			l.count++
		}
		if first < last {
			l.held = append(l.held, stay{first, last, int32(i), a.Requested})
		}
	}
	return lines, done
}

// lineCurves are what a line has at the end of each round.
type lineCurves struct {
	held  []float64 // bytes
	kept  []float64 // bytes that were there at the end of the round before, too
	count []float64 // allocations of held
}

func (l *heldLine) curves(n int) lineCurves {
	c := lineCurves{make([]float64, n), make([]float64, n), make([]float64, n)}
	add := func(curve []float64, first, last int32, v float64) {
		if int(first) < n && first < last {
			curve[first] += v
			if int(last) < n {
				curve[last] -= v
			}
		}
	}
	for _, h := range l.held {
		add(c.held, h.first, h.last, float64(h.bytes))
		add(c.kept, h.first+1, h.last, float64(h.bytes))
		add(c.count, h.first, h.last, 1)
	}
	for _, curve := range [...][]float64{c.held, c.kept, c.count} {
		for i := 1; i < n; i++ {
			curve[i] += curve[i-1]
		}
	}
	return c
}

// most lines and stacks are fitted; more would be noise, and cost time.
const mostFitted = 256

// findSuspects fits the lines that hold more at the end than at first.
func (p *growthPart) findSuspects() {
	n := len(p.events)
	if n < fewest {
		return
	}
	for _, l := range p.candidates() {
		curves := l.curves(n)
		held, kept := p.series("", curves.held), Series{Steps: p.numbers[1:], Bytes: curves.kept[1:]}
		t := Fit(held)
		if t.Course == Climbing {
			if count := Fit(p.series("", curves.count)); count.Course == Climbing {
				p.accuse(l, held, t)
				continue
			}
			if !l.outlives(n) {
				p.growing = append(p.growing, p.suspect(l, held, t, false))
				p.swelling = append(p.swelling, l)
				continue
			}
		}
		switch t = Fit(kept); t.Course {
		case Climbing:
			p.accuse(l, kept, t)
		case Settled, Level:
			p.fill(l, kept, curves.held)
		}
	}
}

// accuse adds a line that keeps memory.
func (p *growthPart) accuse(l *heldLine, curve Series, t Trend) {
	p.suspects = append(p.suspects, p.suspect(l, curve, t, true))
	p.keeping = append(p.keeping, l)
}

// fill notes a line that grew noticeably and stopped; curve is what it kept, held
// all it had.
func (p *growthPart) fill(l *heldLine, curve Series, held []float64) {
	y := curve.Bytes
	end := y[len(y)-1]
	if category := p.categoryOf(l.keptSince(len(p.events))); isModel(category) || end-y[0] < 0.01*p.growth.Allocated.End {
		return
	}
	slack := 0.02 * (end - y[0])
	full := slices.IndexFunc(y, func(v float64) bool { return v >= end-slack })
	if slices.Min(y[full:]) < end-slack || slices.Max(y) > end+slack {
		return // emptied since
	}
	p.filled = append(p.filled, filledLine{l.place, slices.Min(held[len(held)-len(y)+full:]), curve.Steps[full]})
}

// A filledLine grew up to a step and stopped.
type filledLine struct {
	place placeKey
	bytes float64
	until float64
}

// outlives reports whether most of what a line gained is still there a round
// later.
func (l *heldLine) outlives(n int) bool {
	c := l.curves(n)
	return 2*(c.kept[n-1]-c.kept[1]) > c.held[n-1]-c.held[0]
}

// candidates are the lines that grew, most first.
func (p *growthPart) candidates() []*heldLine {
	type grown struct {
		line *heldLine
		by   float64
	}
	var list []grown
	n := len(p.events)
	for _, l := range p.lines {
		c := l.curves(n)
		by := c.held[n-1] - slices.Min(c.held)
		if n > 2 {
			by = max(by, c.kept[n-1]-slices.Min(c.kept[1:]))
		}
		if by > 0 {
			list = append(list, grown{l, by})
		}
	}
	slices.SortStableFunc(list, func(a, b grown) int { return cmp.Compare(b.by, a.by) })
	var out []*heldLine
	for _, g := range list[:min(len(list), mostFitted)] {
		out = append(out, g.line)
	}
	return out
}

// keptSoFar are the lines that hold more than at first although that is too
// little to be called a trend: what is alive since an earlier round.
func (p *growthPart) keptSoFar() (list []Suspect) {
	n := len(p.events)
	if n < 3 {
		return nil
	}
	for _, l := range p.candidates() {
		c := l.curves(n)
		if s := p.categoryOf(l.keptSince(n)); isModel(s) {
			continue // optimizer state and the like are made in the first steps
		}
		if kept := c.kept[n-1] - c.kept[1]; kept > 0 && 2*kept >= c.held[n-1]-c.held[0] {
			held := p.series("", c.held)
			list = append(list, p.suspect(l, held, Fit(held), true))
		}
	}
	return list
}

// isModel reports whether a category is part of the model or its optimizer.
func isModel(c Category) bool {
	return c == Parameter || c == Buffer || c == Gradient || c == OptimizerState || c == Workspace
}

// suspect describes a line.
func (p *growthPart) suspect(l *heldLine, curve Series, t Trend, kept bool) Suspect {
	curve.Name = "held by the line"
	s := Suspect{
		File: l.place.File, Function: l.place.Function, Line: l.place.Line,
		BytesPerStep: t.BytesPerStep, Low: t.Low, High: t.High, Live: l.live, Count: l.count, Curve: curve, Every: 1,
	}
	if s.File == "??" {
		s.File = ""
	}
	born := l.keptSince(len(p.events))
	s.Category = p.categoryOf(born)
	s.Stacks = p.stacksOf(l, born)
	if len(s.Stacks) > 0 {
		s.Stack = s.Stacks[0].Stack
	}
	s.Frames = framesOf(p.c.Snapshot, s.Stack)
	if kept {
		s.Every, s.AtATime = rhythm(born)
	}
	return s
}

// keptSince are the stays of a line that were born in the rounds and lived
// past the end of the next; all stays when there are none.
func (l *heldLine) keptSince(n int) (out []stay) {
	for _, h := range l.held {
		if h.first > 0 && h.last > h.first+1 {
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		return l.held
	}
	return out
}

// rhythm returns the usual number of rounds between births and how many are
// born at a time.
func rhythm(born []stay) (every, atATime float64) {
	counts := map[int32]int{}
	for _, h := range born {
		counts[h.first]++
	}
	var rounds, gaps, sizes []float64
	for r, n := range counts {
		rounds, sizes = append(rounds, float64(r)), append(sizes, float64(n))
	}
	slices.Sort(rounds)
	for i := 1; i < len(rounds); i++ {
		gaps = append(gaps, rounds[i]-rounds[i-1])
	}
	return max(medianOf(gaps), 1), medianOf(sizes)
}

// categoryOf is the category with most bytes.
func (p *growthPart) categoryOf(held []stay) Category {
	var t Totals
	for _, h := range held {
		t[p.c.Labels[h.index].Category] += h.bytes
	}
	return t.largest()
}

// mostStacks is how many stacks of a suspect are told.
const mostStacks = 8

func (p *growthPart) stacksOf(l *heldLine, born []stay) (list []StackGrowth) {
	n := len(p.events)
	byText := map[string]*heldLine{}
	texts := stackTexts{snap: p.c.Snapshot}
	for _, h := range born {
		text := texts.of(p.c.Timeline.Allocations[h.index].Stack)
		if byText[text] == nil {
			byText[text] = &heldLine{}
		}
		byText[text].held = append(byText[text].held, h)
	}
	for _, part := range byText {
		g := StackGrowth{Stack: p.c.Timeline.Allocations[part.held[0].index].Stack}
		for _, h := range part.held {
			if p.c.Timeline.Allocations[h.index].Freed == snapshot.AliveAtEnd {
				g.Live += h.bytes
				g.Count++
			}
		}
		g.BytesPerStep = Fit(p.series("", part.curves(n).held)).BytesPerStep
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b StackGrowth) int {
		return cmp.Or(cmp.Compare(b.Live, a.Live), cmp.Compare(a.Stack, b.Stack))
	})
	return list[:min(len(list), mostStacks)]
}

// stackTexts tells stacks apart by the text of their frames: a file may store
// one stack more than once.
type stackTexts struct {
	snap  *snapshot.Snapshot
	known map[snapshot.StackID]string
}

func (x *stackTexts) of(id snapshot.StackID) string {
	text, ok := x.known[id]
	if !ok {
		var b strings.Builder
		for _, f := range x.snap.Stacks.Frames(id) {
			frame := &x.snap.Frames[f]
			fmt.Fprintf(&b, "%s\x00%d\x00%s\x00", frame.File, frame.Line, frame.Function)
		}
		if x.known == nil {
			x.known = map[snapshot.StackID]string{}
		}
		text = b.String()
		x.known[id] = text
	}
	return text
}

// framesOf copies the frames of a stack, so that they outlive its snapshot.
func framesOf(s *snapshot.Snapshot, id snapshot.StackID) (out []snapshot.Frame) {
	for _, f := range s.Trimmed(id) {
		out = append(out, s.Frames[f])
	}
	return out
}
