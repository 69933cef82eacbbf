package trainlog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A seriesKey tells curves apart. Figures printed in another unit are another
// curve, as one of the two may have to be decided on.
type seriesKey struct {
	Source
	metric   Metric
	unit     Unit
	spelling string // of changes, as each is of another stage, and of what is called like another on its line
}

// A building is a curve that is still read. As only the end of the log tells
// whether its steps are of use, it is built over steps and over the order of
// lines at once.
type building struct {
	Series
	key     seriesKey
	next    *building // the curve of the figure after its last one
	program *program
	tracker *tracker // whose runs it is of
	byStep  *curve
	byOrder *curve
	own     int // values with a step on their own line
	stepBy  StepBy
	seen    map[float64]bool // some of the values
	timed   int              // values with a time
	sampled bool             // from a table of GPUs
}

const maxSeen = 256

// take adds a figure to its curve. own says that the step is on its line.
func (r *reader) take(f *figure, own bool) {
	source := r.now.Source
	if f.device != Unknown {
		source.Device = f.device
	}
	if f.rank > 0 {
		source.Rank = f.rank - 1
	}
	if f.total {
		r.total(source, f)
		return
	}
	if !f.isPossible() {
		r.unreadable(r.current, "an impossible amount of memory")
		return
	}
	t := r.steps()
	source.Run = t.run
	key := seriesKey{Source: source, metric: f.metric, unit: f.unit}
	if f.metric == Change || f.distinct {
		key.spelling = withoutNumbers(f.spelling)
	}
	b := r.find(&key)
	if b == nil {
		if len(r.order) >= MaxSeries {
			r.log.LeftOut++
			return
		}
		b = newBuilding(key, f, t)
		r.series[key] = b
		r.order = append(r.order, b)
	}
	if r.latest != nil {
		r.latest.next = b
	}
	r.latest = b
	t.used = true
	b.take(f, t, own, r.now)
}

// find returns the curve of a key. Lines repeat, so it mostly is the one that
// followed the last time.
func (r *reader) find(key *seriesKey) *building {
	if r.latest != nil && r.latest.next != nil && r.latest.next.key == *key {
		return r.latest.next
	}
	return r.series[*key]
}

func newBuilding(key seriesKey, f *figure, t *tracker) *building {
	b := &building{
		key:     key,
		Series:  Series{Metric: key.metric, Source: key.Source, Unit: key.unit, Spelling: f.spelling},
		program: f.program, tracker: t,
		byStep: newCurve(key.metric.lowest()), byOrder: newCurve(key.metric.lowest()),
		seen: map[float64]bool{},
	}
	return b
}

func (b *building) take(f *figure, t *tracker, own bool, now moment) {
	b.Count++
	b.digits = max(b.digits, f.digits)
	b.sampled = f.sampled
	b.grain = max(b.grain, f.grain)
	if len(b.seen) < maxSeen {
		b.seen[f.value] = true
	}
	if !math.IsNaN(now.at) {
		b.timed++
		b.Zoned = now.zoned
	}
	p := Point{Bytes: f.value, Time: now.at}
	p.Step = float64(b.Count - 1)
	b.byOrder.add(p)
	if !t.known {
		return
	}
	p.Step = t.step
	if b.byStep.isOpen && b.stepBy != t.by { // steps began to be printed after epochs
		b.byStep = newCurve(b.byStep.lowest)
		b.own = 0
	}
	b.stepBy = t.by
	if b.byStep.add(p) {
		b.Merged++
	}
	if own {
		b.own++
	}
}

// finish closes all curves and decides their units.
func (r *reader) finish() *Log {
	r.log.Lines = r.line
	for f, found := range r.forms {
		if found {
			r.log.Forms = append(r.log.Forms, Form(f))
		}
	}
	r.numberRuns()
	for _, b := range r.order {
		run, ok := b.tracker.number(b.Run)
		if !ok {
			continue // of a loop beside the training
		}
		b.Run = run
		b.finish()
		r.log.Series = append(r.log.Series, &b.Series)
	}
	r.agreeOnUnits()
	if r.log.LeftOut > 0 {
		r.log.Notes = append(r.log.Notes, fmt.Sprintf("%d figures were left out, as there are more than %d curves", r.log.LeftOut, MaxSeries))
	}
	return &r.log
}

func (b *building) finish() {
	b.byStep.close()
	b.byOrder.close()
	if b.stepsServe() {
		b.StepBy, b.curve = b.stepBy, b.byStep
	} else {
		b.StepBy, b.curve = ByOrder, b.byOrder
		if b.sampled {
			b.StepBy = BySample
		}
		b.Merged = 0
		if b.timed == b.Count {
			b.overTime()
		}
	}
	b.unitDecision()
}

// stepsServe reports whether the steps tell the values apart. Those that stand
// on lines before may be of another thing, such as "step 1 of 3: loading".
func (b *building) stepsServe() bool {
	const each = 64 // values within a step
	switch {
	case b.byStep.count == 0 || b.byStep.count == 1 && b.Count > 1 && b.own < b.Count:
		return false
	case 2*b.own >= b.Count, b.byStep.count == b.Count:
		return true
	}
	return b.byStep.count >= 4 && b.byStep.count*each >= b.Count
}

// overTime replaces the count of values by the seconds since the first.
func (b *building) overTime() {
	start := b.curve.first().Time
	last := math.Inf(-1)
	points := []*Point{}
	for i := range b.curve.groups {
		g := &b.curve.groups[i]
		if g.first.Time < last {
			return // the clock went back
		}
		last = g.first.Time
		points = append(points, &g.first, &g.low, &g.high, &g.last)
	}
	for _, p := range points {
		p.Step = p.Time - start
	}
	b.StepBy = ByTime
}

// unitDecision settles how many bytes the unit has: by what the values can be,
// by the program that prints such lines, or by habit.
func (b *building) unitDecision() {
	if b.Unit.Power == 0 || b.Unit.Binary {
		b.SetBase(1024, Stated, "")
		return
	}
	values := make([]float64, 0, len(b.seen))
	for v := range b.seen {
		values = append(values, v)
	}
	b.decide(values)
	switch {
	case b.base != 0:
	case b.program != nil && b.program.base != 0:
		b.SetBase(b.program.base, Program, fmt.Sprintf("%s prints in units of %s", b.program.name, b.Unit.SizeText(b.program.base)))
	default:
		b.SetBase(habit, Assumed, fmt.Sprintf("1 %s is taken for %s, which nothing in the log says", b.Unit.Text, b.Unit.SizeText(habit)))
	}
}

// agreeOnUnits gives the size of a unit that some curves of the log prove to the
// others, as one program prints them.
func (r *reader) agreeOnUnits() {
	var proof *Series
	for _, s := range r.log.Series {
		if s.Basis != Pages {
			continue
		}
		if proof != nil && proof.base != s.base {
			return
		}
		proof = s
	}
	if proof == nil {
		return
	}
	for _, s := range r.log.Series {
		if s.Basis == Assumed {
			s.SetBase(proof.base, Pages, fmt.Sprintf("1 %s is %s: %s would not be whole segments of PyTorch's allocator otherwise", s.Unit.Text, s.Unit.SizeText(proof.base), proof.Metric))
		}
	}
}

// total keeps the size of a GPU.
func (r *reader) total(source Source, f *figure) {
	base, assumed := float64(habit), f.unit.Power > 0 && !f.unit.Binary
	if f.program != nil && f.program.base != 0 {
		base, assumed = f.program.base, false
	}
	bytes := f.value * math.Pow(base, float64(f.unit.Power))
	if !(bytes > 0 && bytes < mostBytes) {
		return
	}
	for i := range r.log.Totals {
		if r.log.Totals[i].Source == source {
			r.log.Totals[i] = Total{source, bytes, assumed}
			return
		}
	}
	if len(r.log.Totals) < MaxSeries {
		r.log.Totals = append(r.log.Totals, Total{source, bytes, assumed})
	}
}

// count keeps the value of a counter.
func (r *reader) count(retries, ooms float64) {
	t, source := r.steps(), r.now.Source
	source.Run = t.run
	i, ok := r.counters[source]
	if !ok {
		if len(r.log.Counters) >= MaxSeries {
			return
		}
		i = len(r.log.Counters)
		r.counters[source] = i
		r.log.Counters = append(r.log.Counters, Counters{Source: source, FirstRetries: whole(retries), FirstOOMs: whole(ooms), tracker: t})
	}
	t.used = true
	c := &r.log.Counters[i]
	if !math.IsNaN(retries) {
		c.Retries = whole(retries)
	}
	if !math.IsNaN(ooms) {
		c.OOMs = whole(ooms)
	}
}

// numberRuns gives failures and counters the numbers of the runs that they are of,
// which only the end of the log tells, and joins the counters of each.
func (r *reader) numberRuns() {
	for i := range r.log.Failures {
		f := &r.log.Failures[i]
		f.Run, _ = f.tracker.number(f.Run)
		f.tracker = nil
	}
	slices.SortStableFunc(r.log.Failures, func(a, b Failure) int { return cmp.Compare(a.Line, b.Line) })
	for i := range r.log.FailedOf {
		f := &r.log.FailedOf[i]
		f.Run, _ = f.tracker.number(f.Run)
		f.tracker = nil
	}
	var joined []Counters
	for _, c := range r.log.Counters {
		c.Run, _ = c.tracker.number(c.Run)
		c.tracker = nil
		if i := slices.IndexFunc(joined, func(x Counters) bool { return x.Source == c.Source }); i >= 0 {
			joined[i].Retries, joined[i].OOMs = max(joined[i].Retries, c.Retries), max(joined[i].OOMs, c.OOMs)
			continue
		}
		joined = append(joined, c)
	}
	r.log.Counters = joined
}

// whole turns a count into an integer, 0 when there is none.
func whole(v float64) int64 {
	if !(v >= 0 && v < 1<<53) {
		return 0
	}
	return int64(v)
}
