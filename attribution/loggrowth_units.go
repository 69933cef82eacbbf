package attribution

import (
	"fmt"
	"math"
	"path/filepath"
	"sort"

	"github.com/snapview/snapview/trainlog"
)

// settleUnits decides the size of units that are only assumed, by what other
// files of the group say about the same steps, or by the size of the GPU.
func (g *logGroup) settleUnits() {
	for _, l := range g.logs {
		for _, s := range l.Series {
			if !s.Ambiguous() {
				continue
			}
			base, reason, ok := g.compared(s)
			if !ok {
				continue
			}
			for _, other := range l.Series { // the same program printed them
				if other.Ambiguous() {
					other.SetBase(base, trainlog.Compared, reason)
				}
			}
		}
	}
}

// compared says which size of the unit makes a series agree with exact figures
// of the same steps.
func (g *logGroup) compared(s *trainlog.Series) (base float64, reason string, ok bool) {
	for _, l := range g.logs {
		for _, exact := range l.Series {
			if exact.Metric != s.Metric || exact.Basis != trainlog.Stated || exact.StepBy != s.StepBy || exact.StepBy == trainlog.ByOrder ||
				exact.Run != s.Run || exact.Rank != s.Rank && exact.Rank != trainlog.Unknown && s.Rank != trainlog.Unknown {
				continue
			}
			binary, decimal := agreement(s, exact, 1024), agreement(s, exact, 1000)
			const most, few = 0.9, 0.5
			switch {
			case binary >= most && decimal < few:
				base = 1024
			case decimal >= most && binary < few:
				base = 1000
			default:
				continue
			}
			return base, fmt.Sprintf("1 %s is %s, as %s in %s agrees only then", s.Unit.Text, s.Unit.SizeText(base), s.Metric, filepath.Base(l.Name)), true
		}
	}
	return 0, "", false
}

// agreement is the part of common steps at which a series is, with one size of
// its unit, what another says. NaN when there are too few.
func agreement(s, exact *trainlog.Series, base float64) float64 {
	const least = 3
	per := math.Pow(base, float64(s.Unit.Power)) / s.Scale()
	tolerance := s.Resolution()*per*2 + exact.Resolution() // the last digit may be cut or rounded
	points := exact.Points()
	common, same := 0, 0
	for _, p := range s.Points() {
		i := sort.Search(len(points), func(i int) bool { return points[i].Step >= p.Step })
		if i == len(points) || points[i].Step != p.Step {
			continue
		}
		common++
		if math.Abs(p.Bytes*per-points[i].Bytes) <= tolerance {
			same++
		}
	}
	if common < least {
		return math.NaN()
	}
	return float64(same) / float64(common)
}

// unitNotes says how large the printed units are and what that rests on, once
// for each file.
func unitNotes(curves []LogCurve) (notes []string) {
	seen := map[string]bool{}
	for _, c := range curves {
		if c.Log == nil || c.Log.Reason == "" || seen[c.File] {
			continue
		}
		seen[c.File] = true
		note := c.Log.Reason
		if c.Log.Ambiguous() {
			smaller := 1 - math.Pow(1000/1024.0, float64(c.Log.Unit.Power))
			note += fmt.Sprintf("; if it is %s, all sizes are %.0f%% smaller", c.Log.Unit.SizeText(1000), 100*smaller)
		}
		notes = append(notes, note)
	}
	return notes
}
