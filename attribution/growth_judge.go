package attribution

import (
	"fmt"
	"math"

	"github.com/snapview/snapview/internal/units"
)

// negligible is the growth per step, relative to what is held, below which a
// climbing curve is no leak: less than 1 % in 100,000 steps.
const negligible = 1e-7

// Judge says whether memory leaks.
//
// It is a leak when allocated bytes climb beyond their noise and their last
// digit after the warm-up, and still do at the end. Reserved or peak bytes that
// rise while allocated bytes do not are the allocator's cache, which follows the
// largest inputs so far.
func Judge(in GrowthInput) Growth {
	g := Growth{Unit: in.Unit, Allocated: Fit(in.Allocated), Reserved: Fit(in.Reserved), Peak: Fit(in.Peak)}
	if g.Unit == "" {
		g.Unit = "step"
	}
	if len(in.Allocated.Steps) == 0 {
		g.judgeReserved()
		return g
	}
	a := &g.Allocated
	g.Shape, g.BytesPerStep, g.Low, g.High = a.Shape, a.BytesPerStep, a.Low, a.High
	switch {
	case a.Course == TooShort:
		g.tooShort()
	case a.Course == Climbing && g.isNegligible():
		g.Verdict = Steady
		g.Why = fmt.Sprintf("allocated grows by %s a %s, less than 1 %% of the %s held in 100,000 %ss",
			units.Bytes(round(a.BytesPerStep)), g.Unit, units.Bytes(round(a.End)), g.Unit)
	case a.Course == Climbing:
		g.Verdict = Leak
		g.Why = fmt.Sprintf("allocated climbs by %s a %s (%s) and still does at the end", units.Bytes(round(a.BytesPerStep)), g.Unit, interval(a))
	case a.Course == Slowing:
		g.Why = fmt.Sprintf("allocated rose by %s, less and less", units.Bytes(round(a.Grown)))
		g.Need = fmt.Sprintf("run at least %.0f more %ss: a cache that fills stops, a leak does not", math.Ceil(a.Last-a.First), g.Unit)
	default:
		g.notLeaking()
	}
	return g
}

func (g *Growth) isNegligible() bool {
	return g.Unit == "step" && g.Allocated.BytesPerStep < negligible*g.Allocated.End
}

func (g *Growth) tooShort() {
	a := &g.Allocated
	switch {
	case a.Points < fewest:
		g.Why = fmt.Sprintf("%d %ss are too few for a trend", a.Points, g.Unit)
		g.Need = fmt.Sprintf("at least %d %ss after the first", fewest, g.Unit)
	default:
		g.Why = fmt.Sprintf("allocated rose %d× by %s in %d %ss", a.Rises, units.Bytes(round(a.Grown)), a.Points, g.Unit)
		g.Need = "a longer run: three rises at regular intervals are a trend"
	}
}

// notLeaking tells cache growth from steady memory.
func (g *Growth) notLeaking() {
	a := &g.Allocated
	held := fmt.Sprintf("allocated stays at %s", units.Bytes(round(a.End)))
	if a.Course == Settled {
		held = fmt.Sprintf("allocated rose to %s and stopped", units.Bytes(round(a.End)))
	}
	if r, name := g.growing(); r != nil {
		g.Verdict, g.Shape = CacheGrowth, r.Shape
		g.Why = fmt.Sprintf("%s; %s rises by %s in %d stairs: it follows the largest inputs so far", held, name, units.Bytes(round(r.Grown)), r.Rises)
		return
	}
	g.Verdict = Steady
	g.Why = fmt.Sprintf("%s over %d %ss", held, a.Points, g.Unit)
}

// growing returns the curve of reserved or peak bytes that rises noticeably
// after the warm-up.
func (g *Growth) growing() (*Trend, string) {
	for _, c := range []struct {
		t    *Trend
		name string
	}{{&g.Reserved, "reserved"}, {&g.Peak, "peak"}} {
		if c.t.Points >= fewest && c.t.Rises > 0 && c.t.Grown > 0.01*c.t.End {
			return c.t, c.name
		}
	}
	return nil, ""
}

// judgeReserved judges without allocated bytes.
func (g *Growth) judgeReserved() {
	r, name := &g.Reserved, "reserved"
	if r.Points == 0 {
		r, name = &g.Peak, "peak"
	}
	g.Shape = r.Shape
	switch r.Course {
	case TooShort:
		g.Why = fmt.Sprintf("%d %ss of %s memory are too few for a trend", r.Points, g.Unit, name)
		g.Need = "a longer run with allocated bytes"
	case Level, Falling, Settled:
		g.Verdict = Steady
		g.Why = fmt.Sprintf("%s stays at %s", name, units.Bytes(round(r.End)))
	default:
		g.Why = fmt.Sprintf("%s grows by %s a %s, which may be a leak or the cache of the allocator", name, units.Bytes(round(r.BytesPerStep)), g.Unit)
		g.Need = "allocated bytes (torch.cuda.memory_allocated) decide"
	}
}

func interval(t *Trend) string {
	return fmt.Sprintf("95 %%: %s to %s", units.Bytes(round(t.Low)), units.Bytes(round(t.High)))
}

func round(bytes float64) int64 { return int64(math.Round(bytes)) }
