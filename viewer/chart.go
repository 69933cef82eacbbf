package viewer

import (
	"encoding/json"
	"fmt"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// curveChart returns the echarts option of the memory curve. Colours,
// formatters and marks are added by the script (assets/js/curve.js), which
// knows the theme and which x axis is chosen.
//
// The option is marshalled by encoding/json, which escapes what could end a
// script element; go-echarts' own renderer does not.
//
// With layers, a row goes on with the bytes of each category, from which the
// script makes areas.
func curveChart(id string, pts []CurvePoint, hasTime bool, layers int) (json.RawMessage, error) {
	rows := curveRows(pts, hasTime)
	addCategories(rows, pts, min(layers, maxLayers))
	return lineChart(id, pts, [2]string{"requested", "reserved"}, rows)
}

// lineChart draws two lines over rows of event, time in µs, and the lines'
// values; what follows these in a row is for the script.
func lineChart(id string, pts []CurvePoint, names [2]string, rows [][]int64) (json.RawMessage, error) {
	step, top := byteScale(curveMax(pts))
	line := newLine(id, byteAxis{High: float64(top), Step: float64(step)})
	line.SetGlobalOptions(charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Left: "0", Top: "0"}))
	line.AddDataset(opts.Dataset{Source: rows})
	for i, name := range names {
		line.AddSeries(name, nil,
			charts.WithSeriesId(name),
			charts.WithEncodeOpts(opts.Encode{X: 0, Y: 2 + i}),
			charts.WithLineChartOpts(opts.LineChart{Step: "end", ShowSymbol: opts.Bool(false), Symbol: "circle"}),
		)
	}
	return option(line)
}

// byteAxis is a vertical axis in bytes and the distance of its labels.
type byteAxis struct{ Low, High, Step float64 }

// newLine is a chart of bytes over an axis that can be zoomed.
func newLine(id string, y byteAxis) *charts.Line {
	line := charts.NewLine()
	line.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "20", Top: "34", Bottom: "44", ContainLabel: opts.Bool(true)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "value", Min: "dataMin", Max: "dataMax", AxisLabel: &opts.AxisLabel{HideOverlap: opts.Bool(true)}}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Min: y.Low, Max: y.High, MinInterval: y.Step, MaxInterval: y.Step}),
		charts.WithDataZoomOpts(
			opts.DataZoom{Type: "slider", FilterMode: "none"},
			opts.DataZoom{Type: "inside", FilterMode: "none"},
		),
	)
	return line
}

// option is what echarts draws a chart from.
func option(line *charts.Line) (json.RawMessage, error) {
	line.Validate()
	out, err := json.Marshal(line.JSON())
	if err != nil {
		return nil, fmt.Errorf("memory curve: %w", err)
	}
	return out, nil
}

// curveRows is the data set: event, time in µs, requested, reserved.
func curveRows(pts []CurvePoint, hasTime bool) [][]int64 {
	rows := make([][]int64, len(pts))
	for i, p := range pts {
		rows[i] = []int64{int64(p.Event), 0, p.Requested, p.Reserved}
		if hasTime {
			rows[i][1] = p.Time
		}
	}
	return rows
}

// addCategories appends the bytes of each category to the rows of a data set.
func addCategories(rows [][]int64, pts []CurvePoint, layers int) {
	for i, p := range pts {
		bytes := make([]int64, layers)
		copy(bytes, p.Categories)
		rows[i] = append(rows[i], bytes...)
	}
}

func curveMax(pts []CurvePoint) int64 {
	var top int64
	for _, p := range pts {
		top = max(top, p.Requested, p.Reserved)
	}
	return top
}

// byteScale returns the distance of axis labels, a power of two so that they
// read 512 MiB and 1 GiB, and the top of the axis with room for a label.
func byteScale(top int64) (step, end int64) {
	step, top = 1, min(top, 1<<61) // beyond 2 EiB is nonsense that must not overflow
	for top/step > 5 {
		step *= 2
	}
	end = (top/step + 1) * step
	if end-top < end/12 {
		end += step
	}
	return step, end
}
