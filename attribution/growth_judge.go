package attribution

import (
	"math"
	"slices"
	"strings"
)

const (
	// negligible is the growth per step, relative to what is held, below which a
	// climbing curve is no leak: less than 1 % in 100,000 steps.
	negligible = 1e-7

	// negligibleSoFar is how much of what is held such a rate may have added up to.
	negligibleSoFar = 0.01

	// negligibleInAll is the same for all of a run that was seen.
	negligibleInAll = 0.002

	// noticeable is the part by which reserved memory must rise after its
	// warm-up to be called growth.
	noticeable = 0.1

	// cacheWarmUp is how many points the allocator's cache may take to reach its
	// size: the second training step is the first with optimizer state during
	// its forward and backward.
	cacheWarmUp = 2
)

// Judge says whether memory leaks.
//
// It is a leak when allocated bytes climb beyond their noise and their last
// digit after the warm-up, and still do at the end. Reserved or peak bytes that
// rise while allocated bytes do not are the allocator's cache, which follows the
// largest inputs so far. What rose and stopped is steady.
func Judge(in GrowthInput) Growth {
	g := Growth{Unit: in.Unit, Allocated: Fit(in.Allocated), Reserved: Fit(in.Reserved), Peak: Fit(in.Peak)}
	if g.Unit == "" {
		g.Unit = "step"
	}
	if g.Allocated.Points == 0 {
		g.judgeReserved(&in)
		return g
	}
	a := &g.Allocated
	g.Shape, g.BytesPerStep, g.Low, g.High = a.Shape, a.BytesPerStep, a.Low, a.High
	switch {
	case a.Course == TooShort:
		g.tooShort()
	case a.Course == Slowing:
		g.slowing()
	case a.Course == Restless:
		g.restless()
	case a.Course == Climbing && !g.isNegligible():
		if other, ok := g.followed(&in); ok {
			g.inputsRise(in, other)
			break
		}
		g.leaks()
	default:
		g.staysLevel(in)
	}
	return g
}

// isNegligible goes by the rate where a step is a step. How much work a snapshot
// or a second stands for is not known; there it goes by what grew in all.
func (g *Growth) isNegligible() bool {
	a := &g.Allocated
	switch g.Unit {
	case "step", "iteration":
		return a.BytesPerStep < negligible*a.End && a.Grown < negligibleSoFar*a.End
	}
	return a.Grown < negligibleInAll*a.End
}

// A cacheRise is what a curve rose by after the first points, beyond a rise of
// allocated bytes.
type cacheRise struct {
	name   string
	bytes  float64
	to     float64
	stairs int
	last   float64 // step of the last rise
	ended  bool    // flat for the second half or more
}

// riseOfCache looks at reserved bytes, and without them at the peaks.
func riseOfCache(in *GrowthInput) (r cacheRise, ok bool) {
	s := in.Reserved
	if len(s.Steps) == 0 {
		s = in.Peak
	}
	x, y := usable(s)
	if len(y) < fewest || len(in.Reserved.Steps) == 0 && slices.Min(y[2*len(y)/3:]) <= slices.Max(y[:cacheWarmUp]) {
		return r, false // too few, or peaks that come and go
	}
	r.name = nameOr(s.Name, "reserved")
	base := slices.Max(y[:cacheWarmUp])
	high, same := base, tolerance(y, s.Resolution)
	for i := cacheWarmUp; i < len(y); i++ {
		if y[i] > high+max(same, 0.002*high) {
			r.stairs++
			r.last = x[i]
			high = y[i]
		}
	}
	r.to, r.bytes = high, high-base
	r.ended = 2*r.last < x[0]+x[len(x)-1]
	if _, held := usable(in.Allocated); len(held) > cacheWarmUp {
		r.bytes -= max(0, slices.Max(held)-slices.Max(held[:cacheWarmUp]))
	}
	return r, r.bytes > noticeable*base
}

// judgeReserved judges without allocated bytes: by reserved ones, unless the peak
// of tensors climbs below them.
func (g *Growth) judgeReserved(in *GrowthInput) {
	r, name := &g.Reserved, nameOr(in.Reserved.Name, "reserved")
	climbs := g.Peak.Course == Climbing && g.Peak.Grown > negligibleInAll*g.Peak.End
	if r.Points == 0 || climbs && r.Course != Climbing {
		r, name = &g.Peak, nameOr(in.Peak.Name, "peak")
	}
	g.Shape, g.ByPeak = r.Shape, r == &g.Peak
	switch r.Course {
	case TooShort:
		g.reservedTooShort(r, name)
	case Level, Falling, Settled:
		g.Verdict = Steady
		g.Why = stays(r, name, g.Unit)
	default:
		g.reservedGrows(r, name)
	}
}

// nameOr is a series' name for reading.
func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return strings.ReplaceAll(name, "_", " ")
}

// tiny is what tensors hold more when inputs grow, as a part of what is then
// reserved more: the input itself, beside all that is worked out from it.
const tiny = 0.01

// A followedCurve is one that rises whenever allocated bytes do, by far more.
type followedCurve struct {
	name  string
	grown float64
}

// mostly is the part of their rises at which curves must rise together: the
// highest peak so far may be that of another phase than the one inputs are in.
const mostly = 0.75

// followed reports whether allocated bytes rise where reserved bytes or the peak
// do, by a tiny part of that. Then inputs grow, and what is measured is the input
// that is alive at that moment; a leak is not tied to them.
func (g *Growth) followed(in *GrowthInput) (followedCurve, bool) {
	x, y := usable(in.Allocated)
	rises := (&fitter{x: x, y: y, tolerance: tolerance(y, in.Allocated.Resolution)}).corners()
	for _, other := range []struct {
		s *Series
		t *Trend
		n string
	}{{&in.Reserved, &g.Reserved, "reserved"}, {&in.Peak, &g.Peak, "peak"}} {
		if other.t.Points < fewest || g.Allocated.Grown > tiny*other.t.Grown {
			continue
		}
		ox, oy := usable(*other.s)
		corners := (&fitter{x: ox, y: oy, tolerance: tolerance(oy, other.s.Resolution)}).corners()
		together := 0
		for _, i := range rises {
			from, to := x[i-1], x[min(i+1, len(x)-1)]
			if slices.ContainsFunc(corners, func(c int) bool { return ox[c] >= from && ox[c] <= to }) {
				together++
			}
		}
		if float64(together) >= mostly*float64(len(rises)) {
			from, _ := slices.BinarySearch(ox, g.Allocated.First)
			grown := max(other.t.Grown, oy[len(oy)-1]-oy[min(from, len(oy)-1)])
			return followedCurve{nameOr(other.s.Name, other.n), grown}, true
		}
	}
	return followedCurve{}, false
}

func round(bytes float64) int64 { return int64(math.Round(bytes)) }
