package viewer

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

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
