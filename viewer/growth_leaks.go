package viewer

import (
	"fmt"

	"github.com/snapview/snapview/attribution"
)

// LeakSection draws the growth of a device over the steps of a snapshot, or
// over snapshots.
func LeakSection(r *attribution.LeakReport) GrowthSection {
	s := GrowthSection{Heading: fmt.Sprintf("Device %d", r.Device), Growth: r.Growth, Suspects: r.Suspects, Hints: r.Hints, Notes: r.Notes}
	for _, c := range r.Curves {
		s.Curves = append(s.Curves, NewGrowthCurve(c, &r.Growth))
	}
	return s
}

// NewGrowthCurve joins a curve with its trend: that of the verdict, or its own.
func NewGrowthCurve(s attribution.Series, g *attribution.Growth) GrowthCurve {
	switch s.Name {
	case "allocated":
		return GrowthCurve{s, g.Allocated}
	case "reserved":
		return GrowthCurve{s, g.Reserved}
	case "peak":
		return GrowthCurve{s, g.Peak}
	}
	return GrowthCurve{s, attribution.Fit(s)}
}
