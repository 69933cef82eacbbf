package attribution

import (
	"fmt"
	"math"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// The sentences of Growth.Why and Growth.Need.

func (g *Growth) leaks() {
	a := &g.Allocated
	g.Verdict = Leak
	g.Why = fmt.Sprintf("what tensors hold climbs by %s %s (%s)", sizeText(g.BytesPerStep), per(g.Unit), g.Interval())
	if a.Shape == Staircase && a.Period > 0 {
		g.Why += fmt.Sprintf(", %s every %.4g %ss", sizeText(a.BytesPerStep*a.Period), a.Period, g.Unit)
	}
	if a.WarmUp >= fewest {
		g.Why += a.since(g.Unit) + ": " + sizeText(a.Grown)
	} else {
		g.Why += fmt.Sprintf(": %s over %s", sizeText(a.Grown), a.over(g.Unit))
	}
	g.Why += ", and still does at the end"
}

// since says where a trend begins: " since step 20".
func (t *Trend) since(unit string) string { return fmt.Sprintf(" since %s %.6g", unit, t.First) }

// per returns "a step", "an epoch" or "an iteration".
func per(unit string) string {
	if strings.HasPrefix(unit, "i") || strings.HasPrefix(unit, "e") {
		return "an " + unit
	}
	return "a " + unit
}

// over says how far a trend goes: "40 steps", or when not each step has a value
// "390 steps (40 values)".
func (t *Trend) over(unit string) string {
	if unit == "iteration" && t.Points > 1 {
		return count(int(math.Round(t.Last-t.First)), unit) // a loop is measured at its start, too
	}
	if t.Points < 2 || t.Last-t.First == float64(t.Points-1) {
		return count(t.Points, unit)
	}
	return fmt.Sprintf("%.4g %ss (%s)", t.Last-t.First, unit, count(t.Points, "value"))
}

// Interval prints Low and High: "95 %: 384 KiB to 390 KiB", or one of them when
// both read the same.
func (g *Growth) Interval() string {
	low, high := sizeText(g.Low), sizeText(g.High)
	if low == high {
		return "95 %: " + low
	}
	return "95 %: " + low + " to " + high
}

func (g *Growth) slowing() {
	a := &g.Allocated
	g.Why = fmt.Sprintf("what tensors hold rose by %s over %s, less and less", sizeText(a.Grown), a.over(g.Unit))
	g.Need = fmt.Sprintf("record at least %.0f %ss more: a cache that fills stops, a leak does not", math.Ceil(a.Last-a.First), g.Unit)
}

func (g *Growth) restless() {
	a := &g.Allocated
	g.Why = fmt.Sprintf("what tensors hold goes up and down between %s and %s, and is higher at the end: over %s that may be chance",
		sizeText(a.Lowest), sizeText(a.Highest), a.over(g.Unit))
	g.Need = fmt.Sprintf("a longer run, %.0f %ss or more, or figures of the same moment of each %s", 2*math.Ceil(a.Last-a.First+1), g.Unit, g.Unit)
}

func (g *Growth) tooShort() {
	a := &g.Allocated
	switch n := a.Points + a.WarmUp; {
	case n < fewest:
		g.Why = fmt.Sprintf("%s, too few for a trend", count(n, g.Unit))
		if n == 2 {
			g.Why = fmt.Sprintf("two %ss are a difference (%s), not a trend", g.Unit, units.Signed(round(a.BytesPerStep*(a.Last-a.First))))
		}
		g.Need = fmt.Sprintf("at least %d %ss; ten or more are better", fewest+1, g.Unit)
	default:
		g.Why = fmt.Sprintf("what tensors hold rose by %s in %s, %s", sizeText(a.Grown), a.over(g.Unit), times(a.Rises))
		g.Need = fmt.Sprintf("a longer run, %.0f %ss or more: three rises at regular intervals are a trend", 2*math.Ceil(a.Last-a.First+1), g.Unit)
	}
}

func times(n int) string {
	switch n {
	case 1:
		return "in one rise"
	case 2:
		return "in two rises"
	}
	return fmt.Sprintf("in %d rises", n)
}

// staysLevel tells cache growth from steady memory.
func (g *Growth) staysLevel(in GrowthInput) {
	g.Verdict = Steady
	if c := g.Allocated.Course; c != Climbing && c != Falling {
		g.BytesPerStep = 0
	}
	g.Why = stays(&g.Allocated, "what tensors hold", g.Unit)
	r, ok := riseOfCache(&in)
	if !ok {
		return
	}
	g.Verdict, g.Shape = CacheGrowth, Staircase
	until := fmt.Sprintf(" up to %s %.0f", g.Unit, r.last)
	if g.Unit == "stretch" {
		until = ""
	}
	verb := "rises"
	if r.ended {
		verb = "rose"
	}
	g.Why += fmt.Sprintf("; %s %s by %s to %s in %s%s: the cache follows the largest inputs so far",
		r.name, verb, sizeText(r.bytes), sizeText(r.to), count(r.stairs, "stair"), until)
}

// restless is the part of its highest value that a curve without a trend may vary
// by and be said to stay where it is.
const restless = 0.05

// stays says of a curve that it does not climb.
func stays(t *Trend, name, unit string) string {
	over := "over " + t.over(unit)
	switch {
	case unit == "stretch":
		return fmt.Sprintf("%s does not climb, whichever of %d equal stretches of the history is looked at", name, t.Points+t.WarmUp)
	case t.Course == Settled:
		return fmt.Sprintf("%s rose to %s and stopped there", name, sizeText(t.End))
	case t.Course == Falling:
		return fmt.Sprintf("%s falls to %s %s", name, sizeText(t.End), over)
	case t.Course == Climbing && unit != "step" && unit != "iteration":
		return fmt.Sprintf("%s grows by %s %s, only %s in all", name, sizeText(t.BytesPerStep), per(unit), sizeText(t.Grown))
	case t.Course == Climbing:
		return fmt.Sprintf("%s grows by %s %s, less than 1 %% of its %s in 100,000 %ss", name, sizeText(t.BytesPerStep), per(unit), sizeText(t.End), unit)
	case t.Shape == Periodic && t.Period == 0:
		return fmt.Sprintf("%s rises from %s to %s %s and returns", name, sizeText(t.Lowest), sizeText(t.Highest), over)
	case t.Shape == Periodic:
		return fmt.Sprintf("%s goes up and down between %s and %s every %.4g %ss", name, sizeText(t.Lowest), sizeText(t.Highest), t.Period, unit)
	case t.Highest-t.Lowest > restless*t.Highest:
		return fmt.Sprintf("%s goes up and down between %s and %s %s, without a trend", name, sizeText(t.Lowest), sizeText(t.Highest), over)
	}
	text := fmt.Sprintf("%s stays at %s %s", name, sizeText(t.End), over)
	if t.WarmUp > 0 {
		text += fmt.Sprintf(" after %d of warm-up", t.WarmUp)
	}
	return text
}

// inputsRise takes a leak back that follows the inputs.
func (g *Growth) inputsRise(in GrowthInput, other followedCurve) {
	grown := g.Allocated.Grown
	g.staysLevel(in)
	g.Shape = Staircase
	g.Why = fmt.Sprintf("what tensors hold rises by no more than %s over %s, when %s rises by %s: inputs grow, and the cache follows the largest so far",
		sizeText(grown), g.Allocated.over(g.Unit), other.name, sizeText(other.grown))
}

func (g *Growth) reservedTooShort(t *Trend, name string) {
	if !strings.Contains(name, "memory") {
		name += " memory"
	}
	g.Why = fmt.Sprintf("%s of %s, too few for a trend", count(t.Points+t.WarmUp, g.Unit), name)
	if t.Points == 0 {
		g.Why = "no memory curve to go by"
	}
	g.Need = fmt.Sprintf("allocated bytes (torch.cuda.memory_allocated) of at least %d %ss", fewest+1, g.Unit)
}

func (g *Growth) reservedGrows(t *Trend, name string) {
	other := "the cache of the allocator"
	if g.ByPeak {
		other = "inputs that grow"
	}
	g.Why = fmt.Sprintf("%s grows by %s %s, which may be a leak or %s", name, sizeText(t.BytesPerStep), per(g.Unit), other)
	g.Need = "allocated bytes (torch.cuda.memory_allocated), which tell the two apart"
}

// sizeText prints a number of bytes that may be a fraction.
func sizeText(bytes float64) string {
	if math.Abs(bytes) < 10 && bytes != math.Trunc(bytes) {
		return fmt.Sprintf("%.2g B", bytes)
	}
	return units.Bytes(round(bytes))
}

// inputsGrow takes a leak back that is none.
func (g *Growth) inputsGrow(in GrowthInput) {
	rate, peak := g.BytesPerStep, g.Peak.BytesPerStep
	g.staysLevel(in)
	g.Why = fmt.Sprintf("nothing is kept from one %s to the next, but inputs grow: the peak by %s %s, what is left after it by %s",
		g.Unit, sizeText(peak), per(g.Unit), sizeText(rate))
}

// givenBack takes a leak back that ended.
func (g *Growth) givenBack(bytes int64, unit string, rounds int) {
	g.Verdict, g.Shape, g.Need, g.BytesPerStep = Steady, Periodic, "", 0
	g.Why = fmt.Sprintf("what %s piled up was given back after the last: %s", count(rounds, unit), units.Bytes(bytes))
}
