package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A LeakOutcome is what became of a leak.
type LeakOutcome uint8

const (
	LeakUnclear LeakOutcome = iota // too little to go by, or no leak in either
	LeakGone
	LeakSmaller
	LeakSame
	LeakWorse // or there was none before
)

var leakOutcomeNames = [...]string{"unclear", "gone", "smaller", "same", "worse"}

// String returns the name as in JSON.
func (o LeakOutcome) String() string { return leakOutcomeNames[o] }

// LeakChange compares a run with the same program after a change.
type LeakChange struct {
	Device        int
	Outcome       LeakOutcome
	Unit          string  // "step", "snapshot", …: of both slopes
	Before, After float64 // bytes per unit
	Why           string  // one sentence with the numbers
	Lines         []LineChange
}

// A LineChange is a suspect of either run.
type LineChange struct {
	File, Function string
	Line           int32   // as in the run before, or after when it is new
	Before, After  float64 // bytes per unit; 0 when it is no suspect there
}

// CompareLeaks says whether a leak is gone. A steady run proves it only when it
// is long enough that the old slope would have shown.
func CompareLeaks(before, after *LeakReport) LeakChange {
	c := LeakChange{Device: after.Device}
	x, y, unit, ok := commonRates(before, after)
	c.Before, c.After, c.Unit = x.slope, y.slope, unit
	c.Lines = compareLines(before, after, x.factor, y.factor)
	switch {
	case after.Growth.Verdict == Leak && (before.Growth.Verdict == Steady || before.Growth.Verdict == CacheGrowth):
		c.Outcome = LeakWorse
		c.Why = fmt.Sprintf("no leak before: %s; after, %s", before.Growth.Why, after.Growth.Why)
	case before.Growth.Verdict != Leak:
		c.Why = "no leak before: " + before.Growth.Why
	case !ok:
		c.Why = fmt.Sprintf("the slopes cannot be compared: one is by %s, the other by %s", before.Growth.Unit, after.Growth.Unit)
	case after.Growth.Verdict == Leak:
		c.compareSlopes()
	case after.Growth.Verdict == Inconclusive:
		c.Why = fmt.Sprintf("it was %s %s; after, %s; needed: %s", sizeText(c.Before), per(unit), after.Growth.Why, after.Growth.Need)
	default:
		c.proveGone(before, after, y.factor)
	}
	return c
}

// A rate is a slope in some unit; factor turns the report's own into it.
type rate struct{ slope, factor float64 }

// commonRates brings both slopes to one unit: their own, or training steps
// where the growth a step is known of files.
func commonRates(before, after *LeakReport) (x, y rate, unit string, ok bool) {
	a, b := before.Growth.Unit, after.Growth.Unit
	if a == b && (a != "snapshot" || before.StepsPerSnapshot == after.StepsPerSnapshot) {
		return rate{before.Growth.BytesPerStep, 1}, rate{after.Growth.BytesPerStep, 1}, a, true
	}
	perStep := func(r *LeakReport) (rate, bool) {
		switch {
		case r.Growth.Unit == "step":
			return rate{r.Growth.BytesPerStep, 1}, true
		case r.BytesPerStep != 0 && r.Growth.BytesPerStep != 0:
			return rate{r.BytesPerStep, r.BytesPerStep / r.Growth.BytesPerStep}, true
		case r.StepsPerSnapshot > 0:
			return rate{r.BytesPerStep, 1 / float64(r.StepsPerSnapshot)}, true
		}
		return rate{r.Growth.BytesPerStep, 1}, false
	}
	x, okX := perStep(before)
	y, okY := perStep(after)
	return x, y, "step", okX && okY
}

func (c *LeakChange) compareSlopes() {
	switch ratio := c.After / c.Before; {
	case ratio < 0.9:
		c.Outcome = LeakSmaller
	case ratio <= 1.1:
		c.Outcome = LeakSame
	default:
		c.Outcome = LeakWorse
	}
	c.Why = fmt.Sprintf("%s %s before, %s after", sizeText(c.Before), per(c.Unit), sizeText(c.After))
}

// proveGone asks how much the old slope would have added to the new run.
func (c *LeakChange) proveGone(before, after *LeakReport, factor float64) {
	g := &after.Growth
	rounds := g.Allocated.Last - g.Allocated.First
	expected := c.Before / factor * rounds
	grown := max(0, g.Allocated.High*rounds)
	if g.Allocated.Course == Level && g.Allocated.Rises == 0 {
		grown = 0
	}
	period := before.Growth.Allocated.Period
	switch {
	case rounds < 1 || period > 1 && rounds < 2*period && before.Growth.Unit == g.Unit:
		c.Why = fmt.Sprintf("it was %s %s; after, %s, which is too short to tell", sizeText(c.Before), per(c.Unit), g.Why)
	case grown < 0.1*expected:
		c.Outcome = LeakGone
		c.Why = fmt.Sprintf("%s %s before; after, %s, where the old slope would have added %s", sizeText(c.Before), per(c.Unit), g.Why, sizeText(expected))
	default:
		c.Why = fmt.Sprintf("it was %s %s; after, %s, but up to %s of growth cannot be ruled out, and the old slope would have added %s",
			sizeText(c.Before), per(c.Unit), g.Why, sizeText(grown), sizeText(expected))
	}
}

// compareLines joins the suspects of both by line, or by function where the
// line moved.
func compareLines(before, after *LeakReport, x, y float64) (list []LineChange) {
	taken := make([]bool, len(after.Suspects))
	find := func(match func(*Suspect) bool) int {
		for j := range after.Suspects {
			if !taken[j] && match(&after.Suspects[j]) {
				return j
			}
		}
		return -1
	}
	for i := range before.Suspects {
		b := &before.Suspects[i]
		change := LineChange{File: b.File, Function: b.Function, Line: b.Line, Before: x * b.BytesPerStep}
		j := find(func(s *Suspect) bool { return s.File == b.File && s.Line == b.Line && s.Function == b.Function })
		if j < 0 {
			j = find(func(s *Suspect) bool {
				return s.File == b.File && s.Function == b.Function && s.Category == b.Category && math.Abs(s.BytesPerStep*y-change.Before) < 0.1*change.Before
			})
		}
		if j >= 0 {
			taken[j] = true
			change.After = y * after.Suspects[j].BytesPerStep
		}
		list = append(list, change)
	}
	for j := range after.Suspects {
		if s := &after.Suspects[j]; !taken[j] {
			list = append(list, LineChange{File: s.File, Function: s.Function, Line: s.Line, After: y * s.BytesPerStep})
		}
	}
	slices.SortStableFunc(list, func(a, b LineChange) int {
		return cmp.Compare(max(b.Before, b.After), max(a.Before, a.After))
	})
	return list
}
