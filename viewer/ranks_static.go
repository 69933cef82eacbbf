package viewer

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// The drawings of ranks for readers without scripts. They have fewer columns
// than the charts.

// staticBars are the bars as one area a category, in SVG units.
type staticBars struct {
	Width, Height, Left, Right, Bottom int
	Ticks                              []svgTick
	Layers                             []layerPath
	Reserved                           template.HTMLAttr
	First, Last                        string
}

// drawBars draws bars from the bottom category to the top one.
func drawBars(r *attribution.RankReport, used []attribution.Category, most int64) *staticBars {
	columns := rankColumns(r, maxStaticColumns)
	step, top := byteScale(most)
	s := &staticBars{Width: svgWidth, Height: svgHeight, Left: svgLeft, Right: svgWidth - svgRight, Bottom: svgHeight - svgBottom,
		First: "rank " + columns[0].Label, Last: "rank " + columns[len(columns)-1].Label}
	if len(columns) == 1 {
		s.Last = ""
	}
	y := func(v int64) float64 {
		return svgHeight - svgBottom - float64(v)/float64(top)*(svgHeight-svgTop-svgBottom)
	}
	for v := int64(0); v <= top; v += step {
		s.Ticks = append(s.Ticks, svgTick{Y: num(y(v)), TextY: num(y(v) + 4), Label: tickText(v)})
	}
	width := float64(svgWidth-svgLeft-svgRight) / float64(len(columns))
	layers := make([]strings.Builder, len(used))
	var reserved strings.Builder
	for x := range columns {
		row := columns[x].largest(func(i int) int64 { return r.Totals(i).Sum() })
		left, bar := float64(svgLeft)+width*float64(x), width*.84
		if len(columns) > 60 {
			bar = width
		}
		var below int64
		for k, c := range used {
			n := r.Totals(row)[c]
			if n <= 0 {
				continue
			}
			fmt.Fprintf(&layers[k], "M%s,%sh%sV%sh-%sZ", num(left), num(y(below)), num(bar), num(y(below+n)), num(bar))
			below += n
		}
		fmt.Fprintf(&reserved, "M%s,%sh%s", num(left), num(y(r.Rows[row].PeakReserved)), num(bar))
	}
	for k, c := range used {
		s.Layers = append(s.Layers, layerPath{layerColour(c.String()), dAttr(layers[k].String())})
	}
	s.Reserved = dAttr(reserved.String())
	return s
}

// staticHeat is the heat map as one path a colour.
type staticHeat struct {
	Width, Height, Left, Right, Bottom int
	Names                              []svgTick
	Shades                             []layerPath
	First, Last                        string
}

// heatShades are how many colours there are above and below the median.
const heatShades = 5

const heatLabels, heatRowHeight = 190, 22 // SVG units

func drawHeat(r *attribution.RankReport, rows []attribution.RankDifference, names []string, scale int64) *staticHeat {
	columns := rankColumns(r, maxStaticColumns)
	s := &staticHeat{Width: svgWidth, Height: heatRowHeight*len(rows) + svgBottom, Left: heatLabels, Right: svgWidth - svgRight, Bottom: heatRowHeight * len(rows),
		First: "rank " + columns[0].Label, Last: "rank " + columns[len(columns)-1].Label}
	width := float64(s.Right-s.Left) / float64(len(columns))
	shades := make([]strings.Builder, 2*heatShades+1)
	for y := range rows {
		top := heatRowHeight * (len(rows) - 1 - y)
		s.Names = append(s.Names, svgTick{TextY: num(float64(top) + 15), Label: units.Ellipsis(names[y], 26)})
		for x := range columns {
			above := rows[y].Above[furthest(&rows[y], &columns[x])]
			fmt.Fprintf(&shades[shadeOf(above, scale)], "M%s,%dh%sv%dh-%sZ", num(float64(s.Left)+width*float64(x)), top+1, num(width), heatRowHeight-2, num(width))
		}
	}
	for k := range shades {
		if shades[k].Len() > 0 {
			s.Shades = append(s.Shades, layerPath{fmt.Sprintf("h%d", k), dAttr(shades[k].String())})
		}
	}
	return s
}

// shadeOf is the colour of a difference: heatShades in the middle, 0 for far
// below. Any difference that would round to none has the first shade.
func shadeOf(above, scale int64) int {
	if above == 0 || scale <= 0 {
		return heatShades
	}
	n := int(float64(above) / float64(scale) * heatShades)
	switch {
	case n == 0 && above > 0:
		n = 1
	case n == 0:
		n = -1
	}
	return heatShades + n
}
