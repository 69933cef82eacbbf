package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/viewer"
)

// logPage gathers the page of what logs say.
func logPage(a *logAnswer) viewer.GrowthPage {
	p := viewer.GrowthPage{Name: logsName(a), Version: currentVersion().Version, Notes: a.Notes}
	for _, l := range a.logs {
		var forms []string
		for _, f := range l.Forms {
			forms = append(forms, f.String())
		}
		p.Facts = append(p.Facts, fmt.Sprintf("%s: %s, %s", filepath.Base(l.Name), strings.Join(forms, " and "), plural(int(l.Lines), "line")))
		p.Notes = append(p.Notes, l.Notes...)
		if l.Unreadable.Count > 0 {
			u := viewer.UnreadLines{File: l.Name, Count: l.Unreadable.Count}
			for _, e := range l.Unreadable.Examples {
				u.Examples = append(u.Examples, viewer.UnreadLine{Line: int(e.Line), Text: e.Text, Why: e.Why})
			}
			p.Unread = append(p.Unread, u)
		}
	}
	p.Notes = append(p.Notes, a.partial...)
	for i := range a.Runs {
		p.Sections = append(p.Sections, logSection(&a.Runs[i], a.runName(&a.Runs[i]), len(a.logs) > 1))
	}
	return p
}

// logsName is a file's name, or how many there are.
func logsName(a *logAnswer) string {
	if len(a.logs) == 1 {
		return a.logs[0].Name
	}
	return plural(len(a.logs), "log")
}

func logSection(r *attribution.LogRun, name string, several bool) viewer.GrowthSection {
	s := viewer.GrowthSection{Heading: strings.ToUpper(name[:1]) + name[1:], Growth: r.Growth, Room: r.Room, Warnings: r.Warnings, Notes: r.Notes}
	for i := range r.Curves {
		c := &r.Curves[i]
		drawn := viewer.GrowthCurve{Series: c.Series, Trend: c.Trend, Judged: c.Judged, Unit: c.Unit, Points: c.Points}
		if several && c.File != "" {
			drawn.Source = filepath.Base(c.File)
		}
		s.Curves = append(s.Curves, drawn)
	}
	if x := r.Outside; x != nil {
		remark := plural(x.Samples, "sample")
		if x.UpperBound {
			remark += ", upper bound"
		}
		s.Figures = append(s.Figures, viewer.Fact{Name: "Outside PyTorch", Text: sizeText(x.Median), Remark: remark})
	}
	for _, f := range r.Failures {
		if !math.IsNaN(f.Step) {
			s.Marks = append(s.Marks, viewer.GrowthMark{Kind: viewer.MarkOOM, Label: "out of memory, asked for " + sizeText(f.Asked), Step: f.Step})
		}
	}
	return s
}
