package viewer

// changeArticle lays out a comparison before and after a change.
func changeArticle(c *GrowthChange, id string, pages int, html *texts) (*growthArticle, *plot) {
	a := &growthArticle{
		ID: id, Heading: html.name(c.Heading), Badge: html.name(c.Badge), Per: per(c.Unit), PlotTitle: "Before and after, from their first " + c.Unit,
		Verdict: Verdict{c.Verdict.Tone, html.value(c.Verdict.Text)}, Notes: html.sentences(c.Notes, maxGrowthNotes),
		Tables: growthTables(c.Tables, pages, html),
	}
	for _, x := range []struct {
		when  string
		curve *GrowthCurve
	}{{"before", &c.Before}, {"after", &c.After}} {
		if !hasPoints(&x.curve.Series) {
			continue
		}
		row := newSeriesRow(x.curve, c.Unit, html)
		row.Name = x.when + ": " + row.Name
		a.Series = append(a.Series, row)
		n := slopeNumber(&x.curve.Trend, c.Unit)
		n.Name, n.Main = "Growth "+x.when, x.when == "after"
		a.Numbers = append(a.Numbers, growthNumber{n, false})
	}
	return a, changePlot(id, c, pages, html)
}

// changePlot draws both curves from their first step.
func changePlot(id string, c *GrowthChange, pages int, html *texts) *plot {
	p := &plot{id: id, unit: c.Unit}
	for _, x := range []struct {
		class string
		curve GrowthCurve
	}{{"before", c.Before}, {"after", c.After}} {
		pts := points(&x.curve.Series)
		if len(pts) == 0 {
			continue
		}
		first := pts[0].step
		for i := range pts {
			pts[i].step -= first
		}
		p.addTrend(&x.curve.Trend, x.class, first)
		p.lines = append(p.lines, plotLine{x.class + ": " + html.name(curveText(x.curve.Series.Name)), x.class, x.curve.Series.Resolution, pts})
	}
	if len(p.lines) == 0 {
		return nil
	}
	p.focused, p.nearName = len(p.lines), "The growth"
	p.frame()
	p.isNear = p.isFlat()
	p.reduce(share(maxGrowthPoints, pages*len(p.lines), 60))
	return p
}
