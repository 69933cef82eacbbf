package viewer

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// ranksData is what the scripts draw of a page of ranks. Colours and formatters
// are added by assets/js/ranks.js.
type ranksData struct {
	Bars json.RawMessage `json:"bars,omitempty"`
	Heat *heatData       `json:"heat,omitempty"`
}

// heatData is the option of the heat map; its rows are of column, row, bytes
// above the median, and bytes.
type heatData struct {
	Chart json.RawMessage `json:"chart"`
	Scale int64           `json:"scale"` // the largest difference
}

// A rankColumn stands for one rank or, when there are too many, for
// neighbouring ones: its numbers are then of the one that differs most.
type rankColumn struct {
	Label string
	Rows  []int // indices into RankSet.Rows
}

// rankColumns are the ranks that are compared, in at most limit columns.
func rankColumns(r *attribution.RankReport, limit int) []rankColumn {
	var rows []int
	for i := range r.Rows {
		if !r.Rows[i].Stray {
			rows = append(rows, i)
		}
	}
	size := (len(rows) + limit - 1) / limit
	var out []rankColumn
	for part := range slices.Chunk(rows, max(size, 1)) {
		labels := make([]string, len(part))
		for k, i := range part {
			labels[k] = r.Rows[i].Label
		}
		out = append(out, rankColumn{attribution.RankRanges(labels, 1), part})
	}
	return out
}

// largest is the row of a column with the highest value.
func (c *rankColumn) largest(value func(row int) int64) int {
	best := c.Rows[0]
	for _, i := range c.Rows {
		if value(i) > value(best) {
			best = i
		}
	}
	return best
}

// axisChart is a chart of the library that has axes.
type axisChart interface {
	SetGlobalOptions(...charts.GlobalOpts) *charts.RectChart
	Validate()
	JSON() map[string]interface{}
}

// setRankAxis gives a chart what both charts of ranks have.
func setRankAxis(c axisChart, id string, labels []string) {
	c.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true)}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "20", Top: "12", Bottom: "44", ContainLabel: opts.Bool(true)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Data: labels, AxisLabel: &opts.AxisLabel{HideOverlap: opts.Bool(true)}}),
		charts.WithDataZoomOpts(opts.DataZoom{Type: "slider", FilterMode: "filter"}, opts.DataZoom{Type: "inside", FilterMode: "filter"}),
	)
}

// chartOption is what echarts draws a chart from; encoding/json escapes what
// could end a script element.
func chartOption(c axisChart) (json.RawMessage, error) {
	c.Validate()
	out, err := json.Marshal(c.JSON())
	if err != nil {
		return nil, fmt.Errorf("chart of ranks: %w", err)
	}
	return out, nil
}

// rankBars are the bars of what each rank holds, by category.
type rankBars struct {
	Label, Note string
	Layers      []layerView
	Static      *staticBars
}

// newRankBars draws the categories of each rank over one another, and what it
// reserves as a line.
func newRankBars(r *attribution.RankReport, columns []rankColumn, html *texts) (*rankBars, json.RawMessage, error) {
	if len(columns) == 0 {
		return nil, nil, nil
	}
	var used []attribution.Category
	for _, k := range layerOrder {
		if slices.ContainsFunc(r.Categories, func(n attribution.RankNumber) bool { return n.Name == k.String() && n.Max > 0 }) {
			used = append(used, k)
		}
	}
	v := &rankBars{Label: fmt.Sprintf("Bars of what each of %s holds %s, by category", plural(len(r.Rows), "rank"), atText(r))}
	if len(columns[0].Rows) > 1 {
		v.Note = fmt.Sprintf("Each bar stands for up to %d neighbouring ranks: the one that holds most.", len(columns[0].Rows))
	}
	labels := make([]string, len(columns))
	source := make([][]any, len(columns))
	var top int64
	total := func(i int) int64 { return r.Totals(i).Sum() }
	for k := range columns {
		row := columns[k].largest(total)
		labels[k] = html.name(columns[k].Label)
		cells := []any{labels[k]}
		for _, c := range used {
			cells = append(cells, r.Totals(row)[c])
		}
		source[k] = append(cells, r.Rows[row].PeakReserved)
		top = max(top, total(row), r.Rows[row].PeakReserved)
	}
	bar := charts.NewBar()
	setRankAxis(bar, "ranks-bars", labels)
	bar.SetXAxis(labels) // which else replaces them by nothing
	step, high := byteScale(top)
	bar.SetGlobalOptions(charts.WithYAxisOpts(opts.YAxis{Type: "value", Max: high, MinInterval: float64(step), MaxInterval: float64(step)}))
	bar.AddDataset(opts.Dataset{Source: source})
	for i, c := range used {
		name := categoryText(c.String())
		v.Layers = append(v.Layers, layerView{Class: layerColour(c.String()), Name: name})
		bar.AddSeries(name, nil, charts.WithSeriesId(layerColour(c.String())), charts.WithEncodeOpts(opts.Encode{X: 0, Y: i + 1}), charts.WithBarChartOpts(opts.BarChart{Stack: "held"}))
	}
	reserved := charts.NewLine()
	reserved.AddSeries("reserved", nil, charts.WithSeriesId("reserved"), charts.WithEncodeOpts(opts.Encode{X: 0, Y: len(used) + 1}),
		charts.WithLineChartOpts(opts.LineChart{Step: "middle", ShowSymbol: opts.Bool(len(columns) == 1)}))
	bar.Overlap(reserved)
	v.Static = drawBars(r, used, top)
	option, err := chartOption(bar)
	return v, option, err
}

// rankHeat is the map of what differs.
type rankHeat struct {
	Label, Note string
	Low, High   string // the ends of the scale
	Height      int    // px
	Static      *staticHeat
	Equal       bool // nothing differs enough to be drawn
}

// newRankHeat draws how far each number of each rank is from the median of its
// group.
func newRankHeat(r *attribution.RankReport, columns []rankColumn, html *texts) (*rankHeat, *heatData, error) {
	if len(columns) < 2 {
		return nil, nil, nil
	}
	rows, scale := visibleDifferences(r)
	data, names, labels := &heatData{Scale: scale}, make([]string, len(rows)), make([]string, len(columns))
	source := [][]int64{}
	for y := range rows {
		names[y] = html.name(differenceName(&rows[y]))
		for x := range columns {
			i := furthest(&rows[y], &columns[x])
			source = append(source, []int64{int64(x), int64(y), rows[y].Above[i], rows[y].Values[i]})
		}
	}
	v := &rankHeat{
		Label: fmt.Sprintf("Map of how far %s of %s are from the median", plural(len(rows), "number"), plural(len(r.Rows), "rank")),
		Low:   units.Signed(-data.Scale), High: units.Signed(data.Scale), Equal: data.Scale == 0,
	}
	if v.Equal {
		return v, nil, nil
	}
	v.Note, v.Height = heatNote(r, columns), 70+22*len(rows)
	v.Static = drawHeat(r, rows, names, data.Scale)
	heat := charts.NewHeatMap()
	for x := range columns {
		labels[x] = html.name(columns[x].Label)
	}
	setRankAxis(heat, "ranks-heat", labels)
	heat.SetGlobalOptions(charts.WithYAxisOpts(opts.YAxis{Type: "category", Data: names}))
	heat.AddDataset(opts.Dataset{Source: source})
	heat.AddSeries("difference", nil, charts.WithSeriesId("difference"), charts.WithEncodeOpts(opts.Encode{X: 0, Y: 1}))
	var err error
	data.Chart, err = chartOption(heat)
	return v, data, err
}

// visibleDifferences are the rows of the map, from the bottom, and the largest
// difference. What would show no colour is left out.
func visibleDifferences(r *attribution.RankReport) (rows []attribution.RankDifference, scale int64) {
	most := func(d *attribution.RankDifference) int64 {
		if len(d.Above) == 0 {
			return 0
		}
		return max(slices.Max(d.Above), -slices.Min(d.Above))
	}
	all := r.Differences(maxHeatLines)
	for i := range all {
		scale = max(scale, most(&all[i]))
	}
	for i := range slices.Backward(all) {
		if most(&all[i]) >= scale/50 || i < 2 {
			rows = append(rows, all[i])
		}
	}
	return rows, scale
}

// furthest is the row of a column that lies furthest from the median.
func furthest(d *attribution.RankDifference, c *rankColumn) int {
	return c.largest(func(i int) int64 { return max(d.Above[i], -d.Above[i]) })
}

// differenceName is a row of the heat map in a few words.
func differenceName(d *attribution.RankDifference) string {
	switch d.Name {
	case "line":
		return d.Line.ShortPlace()
	case "peak_reserved_bytes", "reserved_bytes":
		return "reserved, at most"
	case "peak_requested_bytes", "requested_bytes":
		return "requested"
	}
	return categoryText(d.Name)
}

func heatNote(r *attribution.RankReport, columns []rankColumn) string {
	note := "Bytes above or below the median of the ranks."
	if len(r.Groups) > 1 {
		note = "Bytes above or below the median of the ranks with equal parameters."
	}
	if n := len(columns[0].Rows); n > 1 {
		note += fmt.Sprintf(" A column stands for up to %d ranks: the one that is furthest from it.", n)
	}
	return note
}
