package viewer

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// Limits on what the page of a trace holds, chosen so that MaxBytes holds.
const (
	maxTracePoints = 1200 // points of all memory curves; a point has a number per category
	maxTraceRows   = 200  // rows of one table
	maxTraceTables = 8
	maxTraceFlames = 3
	maxSteps       = 200
	maxFindings    = 40
	maxGapRows     = 12
	maxStreamRows  = 64
	maxLayers      = 12
	maxCurves      = 8
)

// traceView is what the template of a trace prints.
type traceView struct {
	Policy string
	CSS    template.CSS
	Boot   template.JS

	Title, Name, Version string
	Dir, Base            string
	Facts                []string
	Partial              string
	Verdict              Verdict
	Alerts               int // findings that say something is wrong
	Numbers              []number
	Curves               []curveView
	Tables               []gridView
	Flames               []flameView
	Kernels              []busyView
	Gaps                 []gapView
	Steps                []stepView
	MoreSteps            int
	Tabs                 []tabView
	Findings             []Finding
	MoreFindings         int
	Ledgers              []ledgerView
	Notes                []note
	Settings             []Setting
}

type tabView struct{ ID, Title, Text string }

// curveView is the curve of one device. Its fields are those that the curve of
// a snapshot has.
type curveView struct {
	ID, Name, Text string
	Static         *staticCurve
	HasChart       bool
	CurveLabel     string
	CurveNote      string
	PeakText       string
	MarkKeys       []markKey
	Layers         []layerView
	LayerNote      string
}

// layerView is a category in the legend, with its bytes at the peak.
type layerView struct{ Class, Name, Text, Exact, Percent string }

// gridView is a table of many columns of numbers.
type gridView struct {
	Name, Title, Intro string
	Noun               string
	Columns            []columnView
	Rows               []gridRow
	Unit, Verb         string
	Total              int64
	Functions          bool
	More               string
}

type columnView struct {
	Head, Meaning string
	First         bool
}

type gridRow struct {
	rowView
	After string // a word behind the function
	Cells []cellView
}

type cellView struct {
	Head        string
	Raw         int64
	Text, Exact string
	First       bool
}

type flameView struct{ Name, Title, Intro, Hint, Text string }

type busyView struct {
	Name, Text string
	Parts      []part
	Streams    []streamView
}

type streamView struct{ Name, Count, Busy, Share, Compute, Communication, Copy string }

type gapView struct{ Device, Start, Dur, Before, After, During string }

type stepView struct{ Name, Start, Dur, Peak, Allocated, Device, Busy, Idle string }

type ledgerView struct {
	Name                                                    string
	Baseline, Allocated, Freed, Peak, End, Reserved, Events string
}

// tracePage lays out a trace: the HTML view and the data for the scripts.
func tracePage(tr *Trace) (*traceView, *pageData, error) {
	html := &texts{left: textBudget}
	b := newBuilder(tr.Stacks)
	v := &traceView{
		Policy: policy(), CSS: template.CSS(reportCSS), Boot: template.JS(bootJS),
		Name: html.name(tr.Name), Version: html.name(tr.Version), Partial: html.value(tr.Partial),
		Verdict: Verdict{tr.Verdict.Tone, html.value(tr.Verdict.Text)},
		Numbers: traceNumbers(tr, html), Facts: traceFacts(tr, html),
	}
	v.Dir, v.Base = splitPlace(v.Name)
	v.Title = v.Base + " · snapview"
	if err := v.addMemory(tr, b, html); err != nil {
		return nil, nil, err
	}
	for _, t := range tr.Tables[:min(len(tr.Tables), maxTraceTables)] {
		v.addTable(t, b, html)
	}
	v.addKernels(tr, html)
	for _, f := range tr.Flames[:min(len(tr.Flames), maxTraceFlames)] {
		v.addFlame(f, b, html)
	}
	v.addSteps(tr, html)
	v.addFindings(tr, html)
	for _, n := range tr.Notes {
		v.Notes = append(v.Notes, note{n.Tone, html.value(n.Text)})
	}
	for _, s := range tr.Settings[:min(len(tr.Settings), maxSettings)] {
		v.Settings = append(v.Settings, Setting{html.name(s.Key), html.value(s.Value)})
	}
	if b.dropped > 0 {
		v.Notes = append(v.Notes, note{"note", fmt.Sprintf("To keep the page small, %s of rows are left out.", plural(b.dropped, "example stack"))})
	}
	return v, &b.data, nil
}

// traceFacts are what the file is, in a few words each.
func traceFacts(tr *Trace, t *texts) []string {
	var out []string
	if tr.Format != "" {
		out = append(out, t.name(tr.Format))
	}
	if tr.Bytes > 0 {
		out = append(out, units.Bytes(tr.Bytes)+" of data")
	}
	for _, f := range tr.Facts {
		out = append(out, t.name(f))
	}
	if tr.Repaired > 0 {
		text := plural(tr.Repaired, "repair")
		if len(tr.Repairs) > 0 {
			text += ": " + t.name(strings.Join(tr.Repairs, ", "))
		}
		out = append(out, text)
	}
	return out
}

func (v *traceView) addMemory(tr *Trace, b *builder, html *texts) error {
	devices := min(len(tr.Memory), maxCurves)
	for i := range tr.Memory[:devices] {
		m := &tr.Memory[i]
		v.Ledgers = append(v.Ledgers, newLedgerView(m, html))
		if len(m.Curve) == 0 {
			continue
		}
		c, data, err := traceCurve(m, "m"+strconv.Itoa(i), devices, b, html)
		if err != nil {
			return err
		}
		v.Curves = append(v.Curves, c)
		b.data.Devices = append(b.data.Devices, data)
	}
	return nil
}

func newLedgerView(m *TraceMemory, html *texts) ledgerView {
	l := ledgerView{
		Name: html.name(m.Name), Baseline: units.Bytes(m.Baseline), Allocated: units.Bytes(m.Allocated), Freed: units.Bytes(m.Freed),
		Peak: units.Bytes(m.Peak), End: units.Bytes(m.End), Reserved: "–", Events: units.Count(m.Events),
	}
	if m.ReservedPeak > 0 {
		l.Reserved = units.Bytes(m.ReservedPeak)
	}
	return l
}

func (v *traceView) addTable(t TraceTable, b *builder, html *texts) {
	if len(t.Rows) == 0 || len(t.Columns) == 0 {
		return
	}
	g := gridView{Name: t.Name, Title: t.Title, Intro: html.value(t.Intro), Noun: t.Noun, Total: t.Total, Functions: t.Functions, Verb: "allocate"}
	if t.Columns[0].Unit == InTime {
		g.Unit, g.Verb = "ns", "take"
	}
	if t.Verb != "" {
		g.Verb = t.Verb
	}
	for i, c := range t.Columns {
		g.Columns = append(g.Columns, columnView{c.Head, c.Meaning, i == 0})
	}
	largest := int64(1)
	for _, r := range t.Rows {
		largest = max(largest, r.Values[0])
	}
	for i, r := range t.Rows[:min(len(t.Rows), maxTraceRows)] {
		g.Rows = append(g.Rows, gridRowOf(&t, r, i, largest, b, html))
	}
	if left := len(t.Rows) - maxTraceRows; left > 0 {
		g.More = plural(left, "smaller row") + " are not part of this page."
	}
	v.Tables = append(v.Tables, g)
	v.Tabs = append(v.Tabs, tabView{t.Name, t.Title, units.Count(len(t.Rows))})
}

func gridRowOf(t *TraceTable, r TraceRow, rank int, largest int64, b *builder, html *texts) gridRow {
	var row gridRow
	row.rowView = tableRow(Row{Frame: r.Frame, Bytes: r.Values[0]}, t.Total, largest, html)
	row.Percent = max(0, row.Percent)
	if !t.Functions {
		row.Base, row.Place = row.Function, row.Function
		if row.Special {
			row.Base, row.Place, row.Where = "", "", row.Function
		}
	}
	if r.Backward && t.Functions {
		row.After = "backward"
	} else if r.Backward {
		row.Tag = "backward"
	}
	row.Rank = rank + 1
	if r.Stack != 0 {
		row.Node = b.stack(r.Stack)
	}
	row.Openable = row.Node != 0
	if row.Openable && rank < openStacks {
		row.Frames, row.More = stackView(b.stacks.Stack(r.Stack), html)
	}
	for i, c := range t.Columns {
		text, exact := amount(r.Values[i], c.Unit)
		row.Cells = append(row.Cells, cellView{c.Head, r.Values[i], text, exact, i == 0})
	}
	return row
}

// amount prints a number of a table, short and exact.
func amount(n int64, u Unit) (text, exact string) {
	switch u {
	case InBytes:
		return units.Bytes(n), units.Exact(n)
	case InTime:
		return durationText(n), units.Count(n) + " ns"
	}
	return units.Count(n), ""
}

// durationText prints ns, with three digits also below a microsecond's tenth.
// The scripts print times the same way (assets/js/base.js).
func durationText(ns int64) string {
	switch {
	case ns < 0 && ns > -1<<62:
		return "-" + durationText(-ns)
	case ns < 1000:
		return strconv.FormatInt(ns, 10) + " ns"
	case ns < 999_500:
		us := float64(ns) / 1000
		return strconv.FormatFloat(us, 'f', 2-digitsBeyondOne(us), 64) + " µs"
	}
	return units.Duration((ns + 500) / 1000)
}

// digitsBeyondOne is how many digits more than one v has before its point, when
// three are shown.
func digitsBeyondOne(v float64) int {
	switch {
	case v < 9.995:
		return 0
	case v < 99.95:
		return 1
	}
	return 2
}

func (v *traceView) addFlame(f TraceFlame, b *builder, html *texts) {
	if f.Root == nil || f.Root.Bytes <= 0 {
		return
	}
	view := flameView{Name: f.Name, Title: f.Title, Intro: html.value(f.Intro), Hint: "bytes", Text: units.Bytes(f.Root.Bytes)}
	data := b.flame(reduceFlame(f.Root, maxFlameNodes/maxTraceFlames))
	data.Noun = "allocation"
	if f.Unit == InTime {
		view.Hint, view.Text = "time", durationText(f.Root.Bytes)
		data.Unit, data.Noun = "ns", "kernel"
	}
	if b.data.Flames == nil {
		b.data.Flames = map[string]flame{}
	}
	b.data.Flames[f.Name] = data
	v.Flames = append(v.Flames, view)
	v.Tabs = append(v.Tabs, tabView{f.Name, f.Title, view.Text})
}

func (v *traceView) addKernels(tr *Trace, html *texts) {
	for _, d := range tr.Kernels[:min(len(tr.Kernels), maxDevices)] {
		k := busyView{Name: html.name(d.Name), Text: fmt.Sprintf("busy %s of %s (%s), %s of work",
			durationText(d.Busy), durationText(d.Span), units.Percent(d.Busy, d.Span), plural(d.Count, "piece"))}
		for _, p := range d.Parts {
			if p.Time <= 0 || d.Span <= 0 {
				continue
			}
			k.Parts = append(k.Parts, part{Class: p.Class, Name: p.Name, Text: durationText(p.Time), Exact: units.Count(p.Time) + " ns",
				Percent: 100 * float64(p.Time) / float64(d.Span), PercentText: units.Percent(p.Time, d.Span)})
		}
		for _, s := range d.Streams[:min(len(d.Streams), maxStreamRows)] {
			k.Streams = append(k.Streams, streamView{html.name(s.Name), units.Count(s.Count), durationText(s.Busy), units.Percent(s.Busy, d.Span),
				durationText(s.Compute), durationText(s.Communication), durationText(s.Copy)})
		}
		v.Kernels = append(v.Kernels, k)
	}
	if len(v.Kernels) == 0 {
		return
	}
	for _, g := range tr.Gaps[:min(len(tr.Gaps), maxGapRows)] {
		v.Gaps = append(v.Gaps, gapView{html.name(g.Device), sinceStart(g.Start), durationText(g.Dur), html.name(g.Before), html.name(g.After), html.name(g.During)})
	}
	v.Tabs = append(v.Tabs, tabView{"busy", "Busy", units.Percent(tr.Kernels[0].Busy, tr.Kernels[0].Span)})
}

func (v *traceView) addSteps(tr *Trace, html *texts) {
	if len(tr.Steps) == 0 {
		return
	}
	v.MoreSteps = max(0, len(tr.Steps)-maxSteps)
	for _, s := range tr.Steps[:len(tr.Steps)-v.MoreSteps] {
		row := stepView{Name: html.name(s.Name), Start: sinceStart(s.Start), Dur: durationText(s.Dur), Peak: "–", Allocated: "–", Device: "–", Busy: "–", Idle: "–"}
		if s.HasMemory {
			row.Peak, row.Allocated = units.Bytes(s.Peak), units.Bytes(s.Allocated)
		}
		if s.HasDevice {
			row.Device, row.Busy, row.Idle = durationText(s.Device), durationText(s.Busy), durationText(s.Idle)
		}
		v.Steps = append(v.Steps, row)
	}
	v.Tabs = append(v.Tabs, tabView{"steps", "Steps", units.Count(len(tr.Steps))})
}

func (v *traceView) addFindings(tr *Trace, html *texts) {
	v.MoreFindings = max(0, len(tr.Findings)-maxFindings)
	for _, f := range tr.Findings {
		if f.Severity == "bad" {
			v.Alerts++
		}
	}
	for _, f := range tr.Findings[:len(tr.Findings)-v.MoreFindings] {
		tone := f.Severity
		if tone != "ok" && tone != "bad" {
			tone = "note"
		}
		v.Findings = append(v.Findings, Finding{tone, html.value(f.Title), html.value(f.Detail), html.value(f.Fix)})
	}
}

func sinceStart(ns int64) string { return "+" + durationText(ns) }

// layerColour is the colour of a category, the same in every report.
func layerColour(category string) string {
	i := categoryIndex(category)
	if i < 0 {
		i = len(layerOrder) - 1 // that of unknown
	}
	return "c" + strconv.Itoa(i)
}

// traceCurve lays out the curve of one device.
func traceCurve(m *TraceMemory, id string, devices int, b *builder, html *texts) (curveView, *deviceData, error) {
	pts := reduceTrace(m.Curve, share(maxTracePoints, devices, 100))
	c := curveView{ID: id, Name: html.name(m.Name), Text: units.Bytes(m.Peak), HasChart: true, PeakText: "peak " + units.Bytes(m.Peak)}
	plain := make([]CurvePoint, len(pts))
	for i, p := range pts {
		plain[i] = CurvePoint{Event: int(p.Time / 1000), Time: p.Time / 1000, Requested: p.Allocated, Reserved: p.Reserved, Categories: p.Categories}
	}
	layers := min(len(m.Categories), maxLayers)
	chart, err := traceChart(id+"-curve", plain, layers)
	if err != nil {
		return c, nil, err
	}
	peak := Point{Event: int(m.PeakTime / 1000), Time: m.PeakTime / 1000, Bytes: m.Peak}
	data := &deviceData{ID: id, Axis: "time", Chart: json.RawMessage(chart), Flames: map[string]flame{}, Peak: &pointData{peak.Event, peak.Time, peak.Bytes, c.PeakText}}
	for i, name := range m.Categories[:layers] {
		colour := layerColour(name)
		data.Layers = append(data.Layers, layerData{b.texts.name(name), colour})
		l := layerView{Class: colour, Name: html.name(name)}
		if i < len(m.AtPeak) {
			l.Text, l.Exact = units.Bytes(m.AtPeak[i]), units.Exact(m.AtPeak[i])
			if m.AtPeak[i] != 0 {
				l.Percent = units.Percent(m.AtPeak[i], m.Peak)
			}
		}
		c.Layers = append(c.Layers, l)
	}
	c.LayerNote = html.value(m.CategoryNote)
	c.Static = drawTraceStatic(plain, m.Categories[:layers], peak)
	c.CurveLabel = fmt.Sprintf("Memory of %s over time: %s before profiling, peak %s at %s, %s at the end; reserved peak %s.",
		c.Name, units.Bytes(m.Baseline), units.Bytes(m.Peak), sinceStart(m.PeakTime), units.Bytes(m.End), units.Bytes(m.ReservedPeak))
	marks, legend, left := thinMarks(m.Marks, devices)
	c.MarkKeys = legend
	if len(pts) < m.Events {
		c.CurveNote = fmt.Sprintf("Drawn with %s of %s; the peak is exact.", plural(len(pts), "point"), plural(m.Events, "event"))
	}
	c.CurveNote = strings.TrimSpace(c.CurveNote + " " + left)
	for _, k := range marks {
		data.Marks = append(data.Marks, markData{k.Kind, b.texts.name(k.Label), k.Event, k.End, k.Time, k.Till})
	}
	return c, data, nil
}
