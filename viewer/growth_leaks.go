package viewer

import (
	"fmt"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// LeakSection draws the growth of a device over the steps of a snapshot, or
// over snapshots.
func LeakSection(r *attribution.LeakReport) GrowthSection {
	s := GrowthSection{Heading: fmt.Sprintf("Device %d", r.Device), Growth: r.Growth, Suspects: r.Suspects, Hints: r.Hints}
	for _, c := range r.Curves {
		s.Curves = append(s.Curves, leakCurve(c, &r.Growth))
	}
	if e := r.Epoch; e != nil {
		s.Figures = append(s.Figures, Fact{"An epoch", units.Signed(e.Bytes), stepsText(float64(e.Steps), r.Growth.Unit)})
		s.Notes = append(s.Notes, fmt.Sprintf("an epoch is %s: %s", stepsText(float64(e.Steps), r.Growth.Unit), e.Evidence))
	}
	if r.Rounds.Count > 0 {
		s.Notes = append(s.Notes, roundsNote(&r.Rounds))
	}
	s.Notes = append(s.Notes, r.Notes...)
	return s
}

// roundsNote says at which moments memory was compared.
func roundsNote(r *attribution.Rounds) string {
	text := fmt.Sprintf("memory was compared at the same point of %s, told apart by %s", stepsText(float64(r.Count), r.Unit), r.How)
	if r.File != "" {
		text += fmt.Sprintf(" %s:%d", r.File, r.Line)
	}
	return text
}

// leakCurve joins a curve with its trend.
func leakCurve(s attribution.Series, g *attribution.Growth) GrowthCurve {
	switch s.Name {
	case "allocated":
		return GrowthCurve{Series: s, Trend: g.Allocated, Judged: true}
	case "reserved":
		return GrowthCurve{Series: s, Trend: g.Reserved, Judged: true}
	case "peak":
		return GrowthCurve{Series: s, Trend: g.Peak, Judged: true}
	}
	return GrowthCurve{Series: s, Trend: attribution.Fit(s)}
}
