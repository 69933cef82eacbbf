package viewer

import (
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// Geometry of a static plot. The picture is stretched to the width of the page;
// its labels are text of the page beside it, so that they can be read at any
// width.
const plotWidth, plotHeight = 1000, 300

// staticPlot is a plot without scripts, ready for the template.
type staticPlot struct {
	Label  string // for screen readers
	Bands  []staticPath
	Fits   []staticPath
	Lines  []staticPath
	WarmUp *staticSpan
	Marks  []staticPath
	Grid   template.HTMLAttr
	YTicks []staticTick
	XTicks []staticTick
}

type staticPath struct {
	Class string
	Path  template.HTMLAttr
	Dots  template.HTMLAttr // "" for none
}

type staticSpan struct{ X, Width string }

// staticTick is a label; At is in percent from the left or the bottom.
type staticTick struct {
	At, Text   string
	Start, End bool // at the edge, where it must not be centred
}

func (p *plot) static(label string, marks []GrowthMark) *staticPlot {
	axis := p.axis()
	x := func(step float64) float64 {
		if p.last <= p.first {
			return plotWidth / 2
		}
		return clampTo((step-p.first)/(p.last-p.first)*plotWidth, 1e5)
	}
	y := func(bytes float64) float64 {
		return clampTo((axis.High-bytes)/(axis.High-axis.Low)*plotHeight, 1e5)
	}
	s := &staticPlot{Label: label}
	for _, b := range p.bands {
		s.Bands = append(s.Bands, staticPath{Class: b.class, Path: bandPath(b, x, y)})
	}
	for _, l := range p.fits {
		s.Fits = append(s.Fits, staticPath{Class: l.class, Path: dAttr(straightPath(l.pts, x, y))})
	}
	for _, l := range p.lines {
		path := staticPath{Class: l.class, Path: dAttr(straightPath(reducePoints(l.pts, plotPoints), x, y))}
		if len(l.pts) <= fewPoints {
			path.Dots = dotsPath(l.pts, x, y)
		}
		s.Lines = append(s.Lines, path)
	}
	if p.warmUp != nil {
		from, till := x(p.warmUp[0]), x(p.warmUp[1])
		s.WarmUp = &staticSpan{num(from), num(till - from)}
	}
	for _, m := range marks {
		s.Marks = append(s.Marks, staticPath{Class: string(m.Kind), Path: dAttr("M" + num(x(m.Step)) + ",0V" + strconv.Itoa(plotHeight))})
	}
	s.addTicks(p, axis, y)
	return s
}

func (s *staticPlot) addTicks(p *plot, axis plotAxis, y func(float64) float64) {
	var grid strings.Builder
	for i := range int(math.Round((axis.High-axis.Low)/axis.Step)) + 1 {
		v := axis.Low + float64(i)*axis.Step
		at := y(v)
		grid.WriteString("M0," + num(at) + "H" + strconv.Itoa(plotWidth))
		s.YTicks = append(s.YTicks, staticTick{At: num(100 - at/plotHeight*100), Text: axis.label(v)})
	}
	s.Grid = dAttr(grid.String())
	for _, step := range stepTicks(p.first, p.last) {
		at := 50.0
		if p.last > p.first {
			at = (step - p.first) / (p.last - p.first) * 100
		}
		s.XTicks = append(s.XTicks, staticTick{At: num(at), Text: stepText(step, p.unit), Start: at < 4 && p.last > p.first, End: at > 96})
	}
}

func straightPath(pts []plotPoint, x, y func(float64) float64) string {
	var b strings.Builder
	for i, pt := range pts {
		command := "L"
		if i == 0 {
			command = "M"
		}
		b.WriteString(command + num(x(pt.step)) + "," + num(y(pt.bytes)))
	}
	return b.String()
}

// dotsPath draws points as lines of no length with round ends, which stay round
// when the picture is stretched.
func dotsPath(pts []plotPoint, x, y func(float64) float64) template.HTMLAttr {
	var b strings.Builder
	for _, pt := range pts {
		b.WriteString("M" + num(x(pt.step)) + "," + num(y(pt.bytes)) + "h0")
	}
	return dAttr(b.String())
}

func bandPath(b plotBand, x, y func(float64) float64) template.HTMLAttr {
	keep := keepExtremes(len(b.low), plotPoints, func(i int) float64 { return b.low[i].bytes }, func(i int) float64 { return b.high[i].bytes })
	there := straightPath(pick(b.high, keep), x, y)
	var back strings.Builder
	for i := len(keep) - 1; i >= 0; i-- {
		pt := b.low[keep[i]]
		back.WriteString("L" + num(x(pt.step)) + "," + num(y(pt.bytes)))
	}
	return dAttr(there + back.String() + "Z")
}

// stepTicks are at most about six round steps.
func stepTicks(first, last float64) []float64 {
	if last <= first {
		return []float64{first}
	}
	step := math.Pow(10, math.Floor(math.Log10((last-first)/5)))
	for _, f := range []float64{2, 5, 10} {
		if (last-first)/step <= 6 {
			break
		}
		step = math.Pow(10, math.Floor(math.Log10((last-first)/5))) * f
	}
	if last-first >= 1 {
		step = max(1, step)
	}
	var out []float64
	for i := math.Ceil(first / step); i*step <= last && len(out) < 12; i++ {
		out = append(out, i*step)
	}
	return out
}

// stepText is a step as the label of an axis: a number, or a time for seconds.
func stepText(v float64, unit string) string {
	if unit == "second" && v == 0 {
		return "0 s"
	}
	if unit == "second" {
		return units.Duration(int64(math.Round(clampTo(v, 1e12) * 1e6)))
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return units.Count(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// sparkline is the curve of a row, ready for the template.
type sparkline struct{ Path template.HTMLAttr }

const sparkWidth, sparkHeight = 100, 24

// newSparkline draws a series from zero up. It is nil without points.
func newSparkline(pts []plotPoint) *sparkline {
	if len(pts) < 2 || pts[len(pts)-1].step <= pts[0].step {
		return nil
	}
	pts = reducePoints(pts, 48)
	first, last, top := pts[0].step, pts[len(pts)-1].step, 1.0
	for _, pt := range pts {
		top = max(top, pt.bytes)
	}
	x := func(step float64) float64 { return (step - first) / (last - first) * sparkWidth }
	y := func(bytes float64) float64 { return 1 + (1-bytes/top)*(sparkHeight-2) }
	return &sparkline{dAttr(straightPath(pts, x, y))}
}
