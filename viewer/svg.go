package viewer

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// Geometry of the static curve, in SVG units.
const (
	svgWidth, svgHeight = 1200, 320
	svgLeft, svgRight   = 78, 12
	svgTop, svgBottom   = 22, 26
	svgPoints           = 600
)

// staticCurve is the memory curve without scripts, ready for the template.
type staticCurve struct {
	Width, Height       int
	PlotLeft, PlotRight int
	PlotBottom          int
	Requested, Reserved template.HTMLAttr // the d attributes
	Area                template.HTMLAttr
	Ticks               []svgTick
	PeakX, PeakY        string
	PeakLabelX          string
	PeakAnchor          string
	First, Last         string
	Key                 string      // what the solid line is
	Layers              []layerPath // categories, the tallest first
	area                func([]CurvePoint) template.HTMLAttr
}

// layerPath is the area of a category.
type layerPath struct {
	Class string
	Path  template.HTMLAttr
}

type svgTick struct {
	Y     string
	TextY string
	Label string
}

func drawStatic(pts []CurvePoint, peak Point) *staticCurve {
	if len(pts) == 0 {
		return nil
	}
	pts = reduceCurve(pts, svgPoints)
	step, top := byteScale(curveMax(pts))
	first, last := pts[0].Event, pts[len(pts)-1].Event
	x := func(event int) float64 {
		return svgLeft + float64(event-first)/float64(max(1, last-first))*(svgWidth-svgLeft-svgRight)
	}
	y := func(v int64) float64 {
		return svgHeight - svgBottom - float64(v)/float64(top)*(svgHeight-svgTop-svgBottom)
	}
	s := &staticCurve{
		Width: svgWidth, Height: svgHeight,
		PlotLeft: svgLeft, PlotRight: svgWidth - svgRight, PlotBottom: svgHeight - svgBottom,
		First: "event " + units.Count(max(0, first)), Last: "event " + units.Count(last),
		PeakX: num(x(peak.Event)), PeakY: num(y(peak.Bytes)),
		PeakAnchor: "middle", PeakLabelX: num(x(peak.Event)), Key: "requested",
	}
	s.area = func(pts []CurvePoint) template.HTMLAttr {
		top := stepPath(pts, func(p CurvePoint) (float64, float64) { return x(p.Event), y(p.Requested) })
		return dAttr(top + "V" + strconv.Itoa(s.PlotBottom) + "H" + strconv.Itoa(svgLeft) + "Z")
	}
	switch px := x(peak.Event); {
	case px < svgLeft+90:
		s.PeakAnchor = "start"
	case px > svgWidth-svgRight-90:
		s.PeakAnchor = "end"
	}
	s.Requested = dAttr(stepPath(pts, func(p CurvePoint) (float64, float64) { return x(p.Event), y(p.Requested) }))
	s.Reserved = dAttr(stepPath(pts, func(p CurvePoint) (float64, float64) { return x(p.Event), y(p.Reserved) }))
	s.Area = s.area(pts)
	for v := int64(0); v <= top; v += step {
		s.Ticks = append(s.Ticks, svgTick{Y: num(y(v)), TextY: num(y(v) + 4), Label: tickText(v)})
	}
	return s
}

// addLayers draws categories as areas over one another: the sum of all behind,
// the first in front.
func (s *staticCurve) addLayers(pts []CurvePoint, layers []string) {
	layers = layers[:min(len(layers), maxLayers)]
	if s == nil || len(layers) == 0 {
		return
	}
	few := reduceCurve(pts, svgPoints/2)
	for top := len(layers); top > 0; top-- {
		sums := make([]CurvePoint, len(few))
		for i, p := range few {
			sums[i] = CurvePoint{Event: p.Event, Requested: sumOf(p.Categories[:min(top, len(p.Categories))])}
		}
		s.Layers = append(s.Layers, layerPath{layerColour(layers[top-1]), s.area(sums)})
	}
	s.Area = ""
}

// dAttr is safe: a path holds letters and numbers of our own making only.
func dAttr(path string) template.HTMLAttr { return template.HTMLAttr(`d="` + path + `"`) }

// stepPath draws a value that holds until the next point.
func stepPath(pts []CurvePoint, at func(CurvePoint) (x, y float64)) string {
	var b strings.Builder
	for i, p := range pts {
		x, y := at(p)
		if i == 0 {
			b.WriteString("M" + num(x) + "," + num(y))
			continue
		}
		b.WriteString("H" + num(x) + "V" + num(y))
	}
	return b.String()
}

func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}
