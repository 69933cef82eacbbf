package budget

import (
	"math"
	"sync"

	"github.com/snapview/snapview/attribution"
)

// A leakSource adds the growth over the steps of a run to what a snapshot says.
type leakSource struct {
	*snapshotSource
	leaks func() *attribution.LeakReport
}

func newLeakSource(s *snapshotSource) *leakSource {
	return &leakSource{s, sync.OnceValue(func() *attribution.LeakReport {
		r := attribution.Leaks(s.classify())
		return &r
	})}
}

// number has growth in whole bytes, away from zero: what grows by less than a
// byte in a step still grows.
func (x *leakSource) number(stat string) (Number, bool) {
	if stat != "leaks.bytes_per_step" {
		return x.snapshotSource.number(stat)
	}
	g := x.leaks().Growth
	if g.Verdict == attribution.Inconclusive {
		return missing(unsureText(&g)), true
	}
	bytes := math.Ceil(math.Abs(g.BytesPerStep))
	return exactly(int64(math.Copysign(min(bytes, maxBaselineBytes), g.BytesPerStep))), true
}

func (x *leakSource) word(stat string) (word, unsure string, ok bool) {
	if stat != "leaks.verdict" {
		return x.snapshotSource.word(stat)
	}
	g := x.leaks().Growth
	return g.Verdict.String(), unsureText(&g), true
}

// unsureText is why growth cannot be told, "" when it can.
func unsureText(g *attribution.Growth) string {
	if g.Verdict != attribution.Inconclusive {
		return ""
	}
	return "not enough to tell growth: it takes " + g.Need
}

// suspects are the lines to blame for growth over the steps.
func (x *leakSource) suspects() (lines []GateLine) {
	for _, s := range x.leaks().Suspects {
		if len(lines) < shownLines {
			lines = append(lines, GateLine{GatePlace: GatePlace{File: s.File, Function: s.Function, Line: s.Line},
				Category: s.Category.String(), Bytes: s.Live, Delta: int64(math.Round(s.BytesPerStep)), Grew: true})
		}
	}
	return lines
}
