package viewer

import (
	"fmt"
	"slices"

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
		s.Figures = append(s.Figures, Fact{"An epoch", units.Signed(e.Bytes), "of " + plural(e.Steps, "step")})
		s.Notes = append(s.Notes, fmt.Sprintf("an epoch is %s: %s", plural(e.Steps, "step"), e.Evidence))
	}
	if n := r.StepsPerSnapshot; n > 0 && r.BytesPerStep != 0 {
		s.Figures = append(s.Figures, Fact{"A training step", slopeText(r.BytesPerStep), plural(n, "step") + " a snapshot"})
	}
	if len(r.Files) > 1 {
		s.Tables = append(s.Tables, filesTable(r.Files))
	}
	if len(r.Curves) > 0 {
		s.Notes = append(s.Notes, "requested bytes are what tensors asked for, without the allocator's rounding; the peak is one of requested bytes")
	}
	s.Notes = append(s.Notes, r.Notes...)
	return s
}

// filesTable has a row for each snapshot.
func filesTable(files []attribution.FileGrowth) PlainTable {
	t := PlainTable{
		Title: "File by file",
		Head:  []string{"File", "Requested", "Reserved", "Steps since", "New", "New and kept to the end"}, Right: []bool{false, true, true, true, true, true},
	}
	for i, f := range files {
		row := []string{f.Name, units.Bytes(f.Requested), units.Bytes(f.Reserved), "–", "–", "–"}
		if f.Steps > 0 {
			row[3] = units.Count(f.Steps)
		}
		if i > 0 {
			row[4], row[5] = units.Bytes(f.New), units.Bytes(f.Kept)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// leakCurve joins a curve with its trend.
func leakCurve(s attribution.Series, g *attribution.Growth) GrowthCurve {
	switch s.Name {
	case "requested", "allocated":
		return GrowthCurve{Series: s, Trend: g.Allocated, Judged: true}
	case "reserved":
		return GrowthCurve{Series: s, Trend: g.Reserved, Judged: true}
	case "peak":
		return GrowthCurve{Series: s, Trend: g.Peak, Judged: true}
	}
	return GrowthCurve{Series: s, Trend: attribution.Fit(s)}
}

// outcomes are what a comparison is called, and its tone.
var outcomes = map[attribution.LeakOutcome]Verdict{
	attribution.LeakGone: {"ok", "Fixed"}, attribution.LeakSmaller: {"note", "Smaller, not gone"}, attribution.LeakSame: {"bad", "Still there"},
	attribution.LeakWorse: {"bad", "Worse"}, attribution.LeakUnclear: {"note", "Unclear"},
}

// LeakChangeSection draws a device before and after a change of the program.
func LeakChangeSection(c *attribution.LeakChange, before, after *attribution.LeakReport) GrowthChange {
	outcome := outcomes[c.Outcome]
	return GrowthChange{
		Heading: fmt.Sprintf("Device %d, before and after", c.Device), Badge: outcome.Text, Verdict: Verdict{outcome.Tone, sentence(c.Why)}, Unit: c.Unit,
		Before: heldCurve(before, c.Unit), After: heldCurve(after, c.Unit), Tables: []PlainTable{linesTable(c)},
	}
}

// heldCurve is what tensors hold over some unit: over training steps, when the
// report's snapshots are a known number of steps apart. It is empty when there
// is no way from one to the other.
func heldCurve(r *attribution.LeakReport, unit string) GrowthCurve {
	i := slices.IndexFunc(r.Curves, func(s attribution.Series) bool { return s.Name == "requested" })
	if i < 0 {
		return GrowthCurve{}
	}
	c := leakCurve(r.Curves[i], &r.Growth)
	switch n := float64(r.StepsPerSnapshot); {
	case r.Growth.Unit == unit:
		return c
	case r.Growth.Unit == "snapshot" && unit == "step" && n > 0:
		return c.stretched(n)
	}
	return GrowthCurve{}
}

// stretched is a curve with n steps for each one.
func (c GrowthCurve) stretched(n float64) GrowthCurve {
	c.Series.Steps = slices.Clone(c.Series.Steps)
	for i := range c.Series.Steps {
		c.Series.Steps[i] *= n
	}
	t := &c.Trend
	t.First, t.Last, t.Period = t.First*n, t.Last*n, t.Period*n
	t.BytesPerStep, t.Low, t.High = t.BytesPerStep/n, t.Low/n, t.High/n
	return c
}

// linesTable has the lines of both runs.
func linesTable(c *attribution.LeakChange) PlainTable {
	t := PlainTable{Title: "Lines before and after, bytes " + per(c.Unit), Head: []string{"Before", "After", "Line", "Function"}, Right: []bool{true, true}}
	for _, l := range c.Lines {
		at := attribution.DiffRow{File: l.File, Line: l.Line}
		t.Rows = append(t.Rows, []string{slopeText(l.Before), slopeText(l.After), where(&at), l.Function})
	}
	return t
}
