package viewer

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// Rows and frames written as HTML for readers without scripts.
const (
	leastRows    = 12 // rows per table, whatever the number of devices
	openStacks   = 10 // rows whose stack is part of the HTML
	stackFrames  = 48 // frames of such a stack
	maxSettings  = 60
	maxRangeRows = 120
)

// pageView is what the template prints. Its strings are already short and
// visible; html/template makes them inert.
type pageView struct {
	Policy string
	CSS    template.CSS
	Boot   template.JS

	Title, Name, Version string
	Dir, Base            string // of Name
	Facts                []string
	Conf                 string
	Notes                []note
	Settings             []Setting
	HasSettings          bool
	NotReached           bool // the file broke off before the settings
	MoreSettings         int
	Devices              []*deviceView
	LeftOut              []string // devices that are not drawn
	Idle                 string   // devices without memory and events, in a sentence
	Ranges               []rangeView
	MoreRanges           int
}

// Many reports whether the page needs a switch between devices.
func (p *pageView) Many() bool { return len(p.Devices) > 1 }

type deviceView struct {
	ID, Name, Short string
	Verdict         Verdict
	Numbers         []number
	Parts           []part
	ReservedText    string
	ReservedExact   string
	HasChart        bool
	HasTime         bool
	Static          *staticCurve
	CurveLabel      string // for screen readers
	CurveNote       string
	PeakText        string
	MarkKeys        []markKey
	Layers          []layerView // categories in the curve
	LayerNote       string
	Bars            []barView    // what the memory is for, by moment
	Advice, Top     []adviceView // findings, all and the first
	MapColours      []layerView  // categories of blocks
	When            string       // the state of the segments: "at the end", "when dumped"
	Moments         []momentView
	Groups          []groupView
	Fragmentation   *fragView
	OOM             *oomView
	Accounts        []account
	HistoryAccounts []account
	Notes           []note
	reductions      []note
}

// number is one of the headline figures.
type number struct {
	Name, Text, Exact, Sub string
	Main                   bool
	Raw                    int64
}

// part is a share of reserved.
type part struct {
	Class, Name, Text, Exact string
	Percent                  float64
	PercentText              string
}

type momentView struct {
	Name, Title string
	Text, Exact string
	When        string
	Note        string
	Raw         int64
	Rows        []rowView
	Rest        *rowView // what the rows beyond the limit hold together
	HasFlame    bool
	RowCount    string
}

type rowView struct {
	Rank              int
	Raw               int64
	Text, Exact       string
	Percent           float64
	PercentText       string
	Count             int
	CountText         string
	Dir, Base, Line   string
	Place             string // file:line, to copy
	Tag               string // a word behind the place
	Class, Evidence   string // colour of the tag, and what it rests on
	Where             string // instead of a place: "native code", "–"
	Function          string
	Node              int32
	Frames            []frameView
	More              int // frames not written
	Special, Openable bool
}

type frameView struct {
	Class, Function, Place string
}

type groupView struct {
	Label                      string
	Segments                   string
	Bytes, Exact               string
	Used, Pending, Free        string
	FreePercent                string
	LargestFree                string
	Private, Expandable, Small bool
}

type account struct{ Name, Text, Exact, Meaning string }

type rangeView struct{ Name, From, Took, Device string }

// page lays out a snapshot: the HTML view and the data for the scripts.
func page(s *Snapshot) (*pageView, *pageData, error) {
	html := &texts{left: textBudget}
	b := newBuilder(s.Stacks)
	p := &pageView{
		Policy: policy(), CSS: template.CSS(reportCSS), Boot: template.JS(bootJS),
		Name: html.name(s.Name), Version: html.name(s.Version),
		Conf: html.value(s.Conf), HasSettings: s.HasSettings,
		Notes: fileNotes(s, html),
	}
	p.Dir, p.Base = splitPlace(p.Name)
	p.Title = p.Base + " · snapview"
	p.Facts = facts(s, html)
	p.addSettings(s, html)
	p.addRanges(s, html)
	p.NotReached = s.Partial != "" && !s.HasSettings
	devices, idle := activeDevices(s.Devices)
	p.Idle = idleSentence(idle, html)
	n := min(len(devices), maxDevices)
	for i, d := range devices {
		if i >= maxDevices {
			p.LeftOut = append(p.LeftOut, fmt.Sprintf("%s: reserved %s", html.name(d.Name), units.Bytes(d.Stats.Reserved)))
			if i == 4*maxDevices {
				break
			}
			continue
		}
		v, data, err := device(d, "d"+strconv.Itoa(i), n, b, html)
		if err != nil {
			return nil, nil, err
		}
		p.Devices = append(p.Devices, v)
		b.data.Devices = append(b.data.Devices, data)
	}
	if b.dropped > 0 {
		p.Notes = append(p.Notes, note{"note", fmt.Sprintf("To keep the page small, %s of blocks and rows are shown by their line only.", plural(b.dropped, "call stack"))})
	}
	return p, &b.data, nil
}

// facts are what the file is, in a few words each.
func facts(s *Snapshot, t *texts) []string {
	var out []string
	if s.Format != "" {
		out = append(out, t.name(s.Format))
	}
	if s.Bytes > 0 {
		out = append(out, units.Bytes(s.Bytes)+" of data")
	}
	devices, idle := activeDevices(s.Devices)
	if len(idle) > 0 {
		out = append(out, fmt.Sprintf("%s of %s in use", units.Count(len(devices)), plural(len(s.Devices), "device")))
	} else {
		out = append(out, plural(len(devices), "device"))
	}
	if len(devices) == 0 {
		return out
	}
	events := 0
	state := devices[0].History.State
	for _, d := range devices {
		events += d.Stats.Events
		if d.History.State != state {
			state = "mixed"
		}
	}
	if state == "none" || state == "state-only" {
		return append(out, "history: "+state)
	}
	text := "history: " + state + ", " + plural(events, "event")
	if len(devices) > 1 {
		text += " in all"
	}
	return append(out, text)
}

// activeDevices separates the devices that have something to show.
func activeDevices(all []Device) (active, idle []*Device) {
	for i := range all {
		if d := &all[i]; d.Idle() {
			idle = append(idle, d)
		} else {
			active = append(active, d)
		}
	}
	return active, idle
}

// idleSentence names the devices that have nothing to show.
func idleSentence(idle []*Device, t *texts) string {
	const most = 8
	var names []string
	for i, d := range idle {
		if i == most {
			names = append(names, plural(len(idle)-most, "further device"))
			break
		}
		names = append(names, t.name(d.Name))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " held no memory, and no event was recorded on it."
	}
	return joinAnd(names) + " held no memory, and no events were recorded on them."
}

func (p *pageView) addSettings(s *Snapshot, t *texts) {
	for i, kv := range s.Settings {
		if i == maxSettings {
			p.MoreSettings = len(s.Settings) - maxSettings
			return
		}
		if kv.Value == "" {
			kv.Value = "(not set)"
		}
		p.Settings = append(p.Settings, Setting{t.name(kv.Key), t.value(kv.Value)})
	}
}

func (p *pageView) addRanges(s *Snapshot, t *texts) {
	for i, a := range s.Annotations {
		if i == maxRangeRows {
			p.MoreRanges = len(s.Annotations) - maxRangeRows
			return
		}
		r := rangeView{Name: t.name(a.Name), From: sinceText(a.Start), Took: units.Duration(a.End - a.Start), Device: "–"}
		if a.Open {
			r.Took = "end not recorded"
		}
		if a.Device >= 0 {
			r.Device = strconv.Itoa(a.Device)
		}
		p.Ranges = append(p.Ranges, r)
	}
}

func device(d *Device, id string, devices int, b *builder, html *texts) (*deviceView, *deviceData, error) {
	v := &deviceView{
		ID: id, Name: html.name(d.Name), Short: html.name(d.Short),
		Verdict: Verdict{d.Verdict.Tone, html.value(d.Verdict.Text)},
		Numbers: headline(d), Parts: reservedParts(d.Stats),
		When:         d.History.when(),
		ReservedText: units.Bytes(d.Stats.Reserved), ReservedExact: units.Exact(d.Stats.Reserved),
		Accounts: accounts(d.Stats), HistoryAccounts: historyAccounts(d),
	}
	data := &deviceData{ID: id, Flames: map[string]flame{}}
	if err := v.addCurve(d, data, devices, b); err != nil {
		return nil, nil, err
	}
	v.addPurpose(d, data, devices, b, html)
	for i := range d.Moments {
		v.addMoment(&d.Moments[i], data, devices, b, html)
		if f := d.Failure; f != nil && f.Of > 1 && d.Moments[i].Name == "oom" {
			v.Moments[i].Note = fmt.Sprintf("Memory ran out %s times in this history; this is the last one.", units.Count(f.Of))
		}
	}
	v.addSegments(d, data, devices, b, html)
	v.addFragmentation(d, data, devices, b, html)
	v.OOM = oomPanel(d, html)
	v.Notes = deviceNotes(d, v)
	for i := range v.Notes {
		v.Notes[i].Text = html.value(v.Notes[i].Text)
	}
	return v, data, nil
}

func (v *deviceView) addCurve(d *Device, data *deviceData, devices int, b *builder) error {
	if !d.History.Known() || len(d.Curve) == 0 {
		return nil
	}
	limit := share(maxPoints, devices, 200)
	if len(d.Categories) > 0 {
		limit = share(maxLayered, devices, 100)
	}
	pts := reduceCurve(d.Curve, limit)
	chart, err := curveChart(v.ID+"-curve", pts, d.HasTime, len(d.Categories))
	if err != nil {
		return err
	}
	peak := d.History.Peak
	data.Chart = json.RawMessage(chart)
	v.HasChart, v.HasTime = true, d.HasTime
	v.PeakText = "peak " + units.Bytes(peak.Bytes)
	if d.History.LowerBound() {
		v.PeakText = "peak at least " + units.Bytes(peak.Bytes)
	}
	if d.History.OpenEnd {
		v.PeakText = "highest read " + units.Bytes(peak.Bytes)
	}
	data.Peak = &pointData{peak.Event, peak.Time, peak.Bytes, v.PeakText}
	v.Static = drawStatic(pts, peak)
	v.Static.addLayers(pts, d.Categories)
	v.CurveLabel = fmt.Sprintf("Memory over the events of the history: requested bytes peak at %s %s and are %s at the last event; reserved bytes peak at %s.",
		units.Bytes(peak.Bytes), peakText(peak), units.Bytes(pts[len(pts)-1].Requested), units.Bytes(d.History.PeakReserved.Bytes))
	if len(pts) < d.Stats.Events {
		v.CurveNote = fmt.Sprintf("Drawn with %s of %s; both peaks are exact.", plural(len(pts), "point"), plural(d.Stats.Events, "event"))
	}
	marks, legend, left := thinMarks(d.Marks, devices)
	v.MarkKeys = legend
	v.CurveNote = strings.TrimSpace(v.CurveNote + " " + left)
	for _, m := range marks {
		data.Marks = append(data.Marks, markData{m.Kind, b.texts.name(m.Label), m.Event, m.End, m.Time, m.Till})
	}
	return nil
}

func (v *deviceView) addSegments(d *Device, data *deviceData, devices int, b *builder, html *texts) {
	groups, merged := buildSegmentMap(d.Segments, share(maxBlocks, devices, 250))
	data.Map = b.segmentMap(groups)
	if anyCategory(groups) {
		v.MapColours = mapColours(groups)
	}
	if merged > 0 {
		v.reductions = append(v.reductions, note{"ok", fmt.Sprintf("In the segment map, neighbouring blocks below %s are drawn together by state; their sums are exact.", units.Bytes(merged))})
	}
	for _, g := range groups {
		v.Groups = append(v.Groups, groupView{
			Label: html.name(g.label()), Segments: units.Count(g.Stats.Segments),
			Bytes: units.Bytes(g.Stats.Bytes), Exact: units.Exact(g.Stats.Bytes),
			Used: units.Bytes(g.Stats.ByState[Allocated]), Pending: units.Bytes(g.Stats.ByState[PendingFree]),
			Free: units.Bytes(g.Stats.Free()), FreePercent: units.Percent(g.Stats.Free(), g.Stats.Bytes),
			LargestFree: units.Bytes(g.Stats.LargestFree),
			Private:     g.Pool != "", Expandable: g.Expandable, Small: g.Small,
		})
	}
}

func (v *deviceView) addMoment(m *Moment, data *deviceData, devices int, b *builder, html *texts) {
	mv := momentView{
		Name: m.Name, Title: m.Title, Raw: m.Total,
		Text: units.Bytes(m.Total), Exact: units.Exact(m.Total),
		RowCount: plural(len(m.Rows), "row"),
	}
	if m.Name != "end" {
		mv.When = "after event " + units.Count(m.Point.Event)
		if m.Point.Event < 0 {
			mv.When = "before the first event"
		}
	}
	most := share(maxRows, maxMoments*devices, leastRows)
	open := openStacks / devices
	var rest Row
	var largest int64 = 1
	if len(m.Rows) > 0 {
		largest = max(1, m.Rows[0].Bytes)
	}
	for i, r := range m.Rows {
		if i >= most {
			rest.Bytes += r.Bytes
			rest.Count += r.Count
			continue
		}
		row := tableRow(r, m.Total, largest, html)
		row.Rank = i + 1
		row.Node = b.stack(r.Stack)
		row.Openable = row.Node != 0
		if i < open && row.Openable {
			row.Frames, row.More = stackView(b.stacks.Stack(r.Stack), html)
		}
		mv.Rows = append(mv.Rows, row)
	}
	if len(m.Rows) > most {
		rest.Kind = SpecialFrame
		rest.Function = fmt.Sprintf("(%s more)", plural(len(m.Rows)-most, "line"))
		row := tableRow(rest, m.Total, largest, html)
		mv.Rest = &row
	}
	if m.Flame != nil && m.Flame.Bytes > 0 {
		mv.HasFlame = true
		data.Flames[m.Name] = b.flame(reduceFlame(m.Flame, share(maxFlameNodes, maxMoments*devices, 150)))
	}
	v.Moments = append(v.Moments, mv)
}

func tableRow(r Row, total, largest int64, t *texts) rowView {
	row := rowView{
		Raw: r.Bytes, Text: units.Bytes(r.Bytes), Exact: units.Exact(r.Bytes),
		PercentText: units.Percent(r.Bytes, total), Percent: 100 * float64(r.Bytes) / float64(largest),
		Count: r.Count, CountText: units.Count(r.Count),
		Function: t.name(r.Function), Special: r.Kind == SpecialFrame, Where: "–",
	}
	if r.Kind == NativeFrame {
		row.Where = "native code"
	}
	if len(r.Parts) > 0 {
		row.Tag, row.Class = t.name(partsText(r.Parts)), layerColour(r.Parts[0].Category)
		row.Evidence = t.name(evidenceText(r.Parts))
	}
	if r.File != "" {
		file := t.name(r.File)
		row.Dir, row.Base = splitPlace(file)
		row.Dir = lastDirs(row.Dir)
		row.Place = file
		if r.Line > 0 {
			row.Line = ":" + strconv.Itoa(int(r.Line))
			row.Place += row.Line
		}
	}
	return row
}

// lastDirs keeps the directory next to the file, which tells files apart.
func lastDirs(dir string) string {
	if dir == "" {
		return ""
	}
	_, last := splitPlace(dir)
	return last + "/"
}

func stackView(frames []Frame, t *texts) (out []frameView, more int) {
	for i, f := range frames {
		if i == stackFrames {
			return out, len(frames) - i
		}
		v := frameView{Class: "k" + strconv.Itoa(int(f.Kind)), Function: t.name(f.Function)}
		if f.File != "" {
			v.Place = t.name(f.File)
			if f.Line > 0 {
				v.Place += ":" + strconv.Itoa(int(f.Line))
			}
		}
		out = append(out, v)
	}
	return out, 0
}
