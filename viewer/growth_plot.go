package viewer

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/snapview/snapview/attribution"
)

// Limits on what is drawn of curves over steps.
const (
	maxGrowthPoints = 8000 // of all lines of a page, for the scripts
	maxGrowthLines  = 6    // of one plot
	plotPoints      = 500  // of one line, without scripts
	fewPoints       = 64   // up to which each point is marked
	farthest        = 1e15 // bytes and steps beyond are nonsense and drawn there
)

// A plot is a chart of bytes over steps. It is drawn by echarts and, for readers
// without scripts and for paper, as SVG (growth_static.go).
type plot struct {
	id, unit string
	lines    []plotLine
	bands    []plotBand
	fits     []plotLine  // trends
	focused  int         // lines, from the first, that the axis near is for
	warmUp   *[2]float64 // steps from and till
	marks    []GrowthMark

	first, last float64  // steps at the left and the right
	zero        plotAxis // from zero to the highest
	near        plotAxis // around what the verdict is about
	isNear      bool     // what is shown first
	nearName    string   // what the axis near is called
}

// A plotLine is a line through points. Its class says what it looks like
// (report.css, assets/js/growth.js).
type plotLine struct {
	name, class string
	resolution  float64
	pts         []plotPoint
}

type plotPoint struct{ step, bytes float64 }

// A plotBand lies between two lines over the same steps.
type plotBand struct {
	name, class string
	low, high   []plotPoint
}

// lineClasses are the looks of curves that are drawn, and which curves have
// them: of each look one curve is drawn.
var lineClasses = []struct {
	class string
	names []string
}{
	{"allocated", []string{"allocated", "active", "requested"}},
	{"reserved", []string{"reserved", "peak_reserved"}},
	{"peak", []string{"peak", "peak_active"}},
	{"used", []string{"process_used", "device_used", "used", "peak_used"}},
}

// otherLooks is the number of looks that other curves have.
const otherLooks = 4

// curveText is the name of a curve for people.
func curveText(name string) string {
	switch name {
	case "process_used":
		return "process (nvidia-smi)"
	case "device_used":
		return "whole GPU (nvidia-smi)"
	case "outside":
		return "outside PyTorch"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// newPlot draws the curves of a section. Those with a look of their own come
// first; others are drawn only when there are none.
func newPlot(id string, s *GrowthSection, pages int, html *texts) *plot {
	p := &plot{id: id, unit: s.Growth.Unit, marks: s.Marks, focused: 1}
	drawn := s.comparable()
	for _, k := range lineClasses {
		if c := firstNamed(drawn, k.names); c != nil {
			p.add(&c.Series, k.class, html)
		}
	}
	if len(p.lines) == 0 {
		for _, c := range drawn {
			p.add(&c.Series, "other"+strconv.Itoa(len(p.lines)%otherLooks), html)
		}
	}
	if len(p.lines) == 0 {
		return nil
	}
	if d := s.deciding(); d != nil {
		look := "calm"
		if s.Growth.Verdict == attribution.Leak {
			look = "fit"
		}
		p.addTrend(&d.Trend, look, 0)
		p.addInterval(&d.Trend, look)
		p.addWarmUp(d)
	}
	p.addOutside(drawn)
	p.nearName = "The growth"
	if s.Growth.Verdict == attribution.Leak {
		p.frame()
		p.isNear = p.isFlat()
	} else {
		p.frameTogether()
	}
	p.reduce(share(maxGrowthPoints, pages*len(p.lines), 60))
	return p
}

// comparable are the curves over the steps of the verdict that have points,
// those that it rests on first.
func (s *GrowthSection) comparable() []*GrowthCurve {
	var out []*GrowthCurve
	for _, judged := range []bool{true, false} {
		for i := range s.Curves {
			if c := &s.Curves[i]; c.Judged == judged && (c.Unit == "" || c.Unit == s.Growth.Unit) && hasPoints(&c.Series) {
				out = append(out, c)
			}
		}
	}
	return out
}

// deciding is the curve that the verdict is about, as in attribution.Judge;
// nil when it has no trend.
func (s *GrowthSection) deciding() *GrowthCurve {
	for _, k := range lineClasses {
		if s.Growth.ByPeak && k.class != "peak" {
			continue
		}
		c := firstNamed(s.comparable(), k.names)
		if c != nil && c.Judged && c.Trend.Points > 1 {
			return c
		}
	}
	return nil
}

// firstNamed is the first curve with one of some names, nil for none.
func firstNamed(curves []*GrowthCurve, names []string) *GrowthCurve {
	i := slices.IndexFunc(curves, func(c *GrowthCurve) bool { return slices.Contains(names, c.Series.Name) })
	if i < 0 {
		return nil
	}
	return curves[i]
}

func (p *plot) add(s *attribution.Series, class string, html *texts) {
	if pts := points(s); len(pts) > 0 && len(p.lines) < maxGrowthLines {
		p.lines = append(p.lines, plotLine{html.name(curveText(s.Name)), class, s.Resolution, pts})
	}
}

func hasPoints(s *attribution.Series) bool {
	for i := range min(len(s.Steps), len(s.Bytes)) {
		if isFinite(s.Steps[i]) && isFinite(s.Bytes[i]) {
			return true
		}
	}
	return false
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// points are the finite points of a series in order of their steps.
func points(s *attribution.Series) []plotPoint {
	n := min(len(s.Steps), len(s.Bytes))
	pts := make([]plotPoint, 0, n)
	for i := range n {
		if isFinite(s.Steps[i]) && isFinite(s.Bytes[i]) {
			pts = append(pts, plotPoint{clampTo(s.Steps[i], farthest), clampTo(s.Bytes[i], farthest)})
		}
	}
	byStep := func(a, b plotPoint) int { return cmp.Compare(a.step, b.step) }
	if !slices.IsSortedFunc(pts, byStep) {
		slices.SortStableFunc(pts, byStep)
	}
	return pts
}

func clampTo(v, limit float64) float64 { return min(max(v, -limit), limit) }

// addTrend adds the line of a trend; its steps are shifted to the left.
func (p *plot) addTrend(t *attribution.Trend, class string, shift float64) {
	if !hasLine(t) {
		return
	}
	at := func(step float64) plotPoint { return plotPoint{step - shift, clampTo(t.At(step), farthest)} }
	p.fits = append(p.fits, plotLine{name: "trend", class: class, pts: []plotPoint{at(t.First), at(t.Last)}})
}

func hasLine(t *attribution.Trend) bool {
	return t.Points > 1 && t.Last > t.First && !math.IsInf(t.Last-t.First, 0)
}

// addInterval adds the band in which lines lie that cross the trend in its
// middle and have a slope of its interval.
func (p *plot) addInterval(t *attribution.Trend, look string) {
	if !hasLine(t) || bytesText(t.High) == bytesText(t.Low) { // no wider than the line
		return
	}
	middle := (t.First + t.Last) / 2
	band := plotBand{name: intervalName(t.Points) + " of the slope", class: look}
	for _, step := range []float64{t.First, middle, t.Last} {
		a, b := t.At(middle)+(step-middle)*t.Low, t.At(middle)+(step-middle)*t.High
		band.low = append(band.low, plotPoint{step, clampTo(min(a, b), farthest)})
		band.high = append(band.high, plotPoint{step, clampTo(max(a, b), farthest)})
	}
	p.bands = append(p.bands, band)
}

// leastForInterval is the number of points from which on a trend has an
// interval, see attribution.Trend.
const leastForInterval = 4

func (p *plot) addWarmUp(c *GrowthCurve) {
	if pts := points(&c.Series); c.Trend.WarmUp > 0 && len(pts) > 0 && pts[0].step < c.Trend.First {
		p.warmUp = &[2]float64{pts[0].step, c.Trend.First}
	}
}

// addOutside draws what is outside PyTorch as a band above reserved.
func (p *plot) addOutside(curves []*GrowthCurve) {
	outside := firstNamed(curves, []string{"outside"})
	base := slices.IndexFunc(p.lines, func(l plotLine) bool { return l.class == "reserved" })
	if outside == nil || base < 0 {
		return
	}
	band := plotBand{name: curveText("outside"), class: "outside"}
	for _, pt := range points(&outside.Series) {
		low := p.lines[base].at(pt.step)
		band.low = append(band.low, plotPoint{pt.step, low})
		band.high = append(band.high, plotPoint{pt.step, low + pt.bytes})
	}
	if len(band.low) > 1 {
		p.bands = append(p.bands, band)
	}
}

// at is the height of a line at a step, between two points on the straight
// line through them.
func (l *plotLine) at(step float64) float64 {
	i := sort.Search(len(l.pts), func(i int) bool { return l.pts[i].step >= step })
	switch {
	case i == len(l.pts):
		return l.pts[i-1].bytes
	case i == 0 || l.pts[i].step == step:
		return l.pts[i].bytes
	}
	a, b := l.pts[i-1], l.pts[i]
	return a.bytes + (b.bytes-a.bytes)*(step-a.step)/(b.step-a.step)
}

// reduce leaves each line about limit points.
func (p *plot) reduce(limit int) {
	for i := range p.lines {
		p.lines[i].pts = reducePoints(p.lines[i].pts, limit)
	}
	for i := range p.bands {
		b := &p.bands[i]
		keep := keepExtremes(len(b.low), limit, func(i int) float64 { return b.low[i].bytes }, func(i int) float64 { return b.high[i].bytes })
		b.low, b.high = pick(b.low, keep), pick(b.high, keep)
	}
}

func reducePoints(pts []plotPoint, limit int) []plotPoint {
	return pick(pts, keepExtremes(len(pts), limit, func(i int) float64 { return pts[i].bytes }))
}

func pick[T any](all []T, keep []int) []T {
	out := make([]T, len(keep))
	for i, k := range keep {
		out[i] = all[k]
	}
	return out
}
