package viewer

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
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

// A plotAxis is a vertical axis with round labels, in a unit of Unit bytes and
// with so many decimals.
type plotAxis struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Step     float64 `json:"step"`
	Unit     float64 `json:"unit"`
	Name     string  `json:"name"`
	Decimals int     `json:"decimals"`
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

// frameTogether chooses the axes for a curve that is only of interest beside
// others: near is for all that PyTorch holds, which may be little of the GPU.
func (p *plot) frameTogether() {
	own := slices.IndexFunc(p.lines, func(l plotLine) bool { return l.class == "used" })
	if own <= 0 {
		own = len(p.lines)
	}
	p.focused, p.nearName = own, "What PyTorch holds"
	p.frame()
	_, high := p.focus()
	p.near = newAxis(p.zero.Low, high)
	p.isNear = high < 0.25*p.zero.High
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

// frame chooses the axes.
func (p *plot) frame() {
	var bottom, top float64
	p.first, p.last = math.Inf(1), math.Inf(-1)
	for _, l := range p.drawn() {
		for _, pt := range l.pts {
			bottom, top = min(bottom, pt.bytes), max(top, pt.bytes)
			p.first, p.last = min(p.first, pt.step), max(p.last, pt.step)
		}
	}
	p.zero = newAxis(min(0, bottom), top)
	low, high := p.focus()
	margin := max(high-low, 1) / 12
	from := low - margin
	if low >= 0 {
		from = max(0, from)
	}
	p.near = newAxis(from, high+margin)
}

// drawn are all lines, those of the bands too.
func (p *plot) drawn() []plotLine {
	all := slices.Concat(p.lines, p.fits)
	for _, b := range p.bands {
		if b.class == "outside" {
			all = append(all, plotLine{pts: b.high})
		}
	}
	return all
}

// focus is the range of the lines that decide and of their trends.
func (p *plot) focus() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range slices.Concat(p.lines[:p.focused], p.fits) {
		for _, pt := range l.pts {
			low, high = min(low, pt.bytes), max(high, pt.bytes)
		}
	}
	return low, high
}

// newAxis is an axis from below low to above high.
func newAxis(low, high float64) plotAxis {
	a := plotAxis{Unit: 1}
	for max(high, -low)/a.Unit >= 1024 {
		a.Unit *= 1024
	}
	_, a.Name, _ = strings.Cut(units.Bytes(int64(a.Unit)), " ")
	span := max(high-low, 4) / a.Unit
	exponent := int(math.Floor(math.Log10(span / 5)))
	step := math.Pow10(exponent)
	for _, f := range []float64{1, 2, 5, 10} {
		if step = math.Pow10(exponent) * f; span/step <= 5.5 {
			if f == 10 {
				exponent++
			}
			break
		}
	}
	a.Decimals = max(0, -exponent)
	a.Step = step * a.Unit
	a.Low, a.High = math.Floor(low/a.Step)*a.Step, math.Ceil(high/a.Step)*a.Step
	if a.High <= a.Low {
		a.High = a.Low + a.Step
	}
	return a
}

// label prints a place on the axis. The script prints it the same way
// (assets/js/growth.js).
func (a plotAxis) label(v float64) string {
	if math.Abs(v) < a.Step/2 {
		v = 0
	}
	return strconv.FormatFloat(v/a.Unit, 'f', a.Decimals, 64) + " " + a.Name
}

// isFlat reports whether the line that decides would look flat when drawn from
// zero.
func (p *plot) isFlat() bool {
	low, high := p.focus()
	return high-low < 0.2*p.zero.High
}

// hasChoice reports whether the two axes differ enough to choose from.
func (p *plot) hasChoice() bool {
	return p.isNear || p.near.High-p.near.Low < 0.7*p.zero.High
}

// nearNote says what is different on the axis near.
func (p *plot) nearNote() string {
	var notes []string
	if p.near.Low != 0 {
		notes = append(notes, "The vertical axis does not start at zero.")
	}
	var above []string
	for _, l := range p.lines {
		if !slices.ContainsFunc(l.pts, func(pt plotPoint) bool { return pt.bytes <= p.near.High }) {
			above = append(above, l.name)
		}
	}
	if len(above) > 0 {
		notes = append(notes, "Beyond the axis: "+joinAnd(above)+".")
	}
	return strings.Join(notes, " ")
}

// axis is the one that is shown first.
func (p *plot) axis() plotAxis {
	if p.isNear {
		return p.near
	}
	return p.zero
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

// growthData is what the script needs beside the option of echarts.
type growthData struct {
	Unit   string           `json:"unit"`
	Zero   plotAxis         `json:"zero"`
	Near   plotAxis         `json:"near"`
	IsNear bool             `json:"is_near,omitempty"` // which of the two is shown first
	Lines  []string         `json:"lines"`             // their looks
	Bands  []string         `json:"bands,omitempty"`   // theirs
	Fits   []string         `json:"fits,omitempty"`    // theirs
	WarmUp *[2]float64      `json:"warm_up,omitempty"`
	Marks  []growthMarkData `json:"marks,omitempty"`

	Resolutions []int64 `json:"resolutions"` // of the lines, 0 for exact
}

type growthMarkData struct {
	Kind  MarkKind `json:"kind"`
	Label string   `json:"label"`
	Step  float64  `json:"step"`
}

// data is the plot for the script (assets/js/growth.js). A band is two series:
// an invisible one and, stacked on it, the area.
func (p *plot) data(marks []GrowthMark, t *texts) (*deviceData, error) {
	g := &growthData{Unit: t.name(p.unit), Zero: p.zero, Near: p.near, IsNear: p.isNear, WarmUp: p.warmUp}
	axis := p.axis()
	line := newLine(p.id+"-curve", byteAxis{axis.Low, axis.High, axis.Step})
	line.SetGlobalOptions(charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}))
	series := func(id, name string, pts []plotPoint, look opts.LineChart) {
		data := make([]opts.LineData, len(pts))
		for i, pt := range pts {
			// Bytes come first: of two axes of numbers, echarts stacks the first.
			data[i].Value = [2]float64{math.Round(pt.bytes), pt.step}
		}
		line.AddSeries(name, data, charts.WithSeriesId(id), charts.WithLineChartOpts(look), charts.WithEncodeOpts(opts.Encode{X: 1, Y: 0}))
	}
	for i, b := range p.bands {
		id := "band" + strconv.Itoa(i)
		heights := make([]plotPoint, len(b.low))
		for j := range heights {
			heights[j] = plotPoint{b.low[j].step, b.high[j].bytes - b.low[j].bytes}
		}
		series(id+" base", "", b.low, opts.LineChart{Stack: id, ShowSymbol: opts.Bool(false)})
		series(id, b.name, heights, opts.LineChart{Stack: id, ShowSymbol: opts.Bool(false)})
		g.Bands = append(g.Bands, b.class)
	}
	for i, l := range p.fits {
		series("fit"+strconv.Itoa(i), l.name, l.pts, opts.LineChart{ShowSymbol: opts.Bool(false)})
		g.Fits = append(g.Fits, l.class)
	}
	for i, l := range p.lines {
		series("line"+strconv.Itoa(i), t.name(l.name), l.pts, opts.LineChart{ShowSymbol: opts.Bool(len(l.pts) <= fewPoints), Symbol: "circle"})
		g.Lines, g.Resolutions = append(g.Lines, l.class), append(g.Resolutions, wholeBytes(l.resolution))
	}
	for _, m := range marks {
		g.Marks = append(g.Marks, growthMarkData{m.Kind, t.name(m.Label), m.Step})
	}
	chart, err := option(line)
	if err != nil {
		return nil, err
	}
	return &deviceData{ID: p.id, Chart: json.RawMessage(chart), Growth: g}, nil
}
