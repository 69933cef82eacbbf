package viewer

import (
	"fmt"
	"slices"
	"sync"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// layerOrder is the order of the layers, from the bottom, as in the report of
// a trace: what lives long lies below what comes and goes.
var layerOrder = [attribution.NumCategories]attribution.Category{
	attribution.Parameter, attribution.Buffer, attribution.OptimizerState, attribution.Gradient,
	attribution.Input, attribution.Activation, attribution.Temporary, attribution.AutogradDetail,
	attribution.Workspace, attribution.Communication, attribution.Unknown,
}

// addPurpose fills in what the memory of a device is for.
func (d *Device) addPurpose(c *attribution.Classification, points int, clock clock) {
	d.CategoryNote = categoryNote(c)
	d.addLayers(c, points)
	for i := range d.Moments {
		d.Moments[i].addParts(c)
	}
	d.addBlockCategories(c)
	d.Marks = append(d.Marks, phaseMarks(c, clock)...)
	if d.History.Known() {
		if p, ok := c.PhaseAt(d.History.Peak.Event); ok && p.Kind != attribution.Between && len(c.Steps) > 0 {
			d.PeakPhase = p.Name
		}
	}
	for _, f := range attribution.Findings(c) {
		d.Findings = append(d.Findings, Advice{
			Frame: newFrame(f.File, f.Function, f.Line), Title: f.Title, Why: f.Why, Do: f.Do, Evidence: f.Evidence,
			Bytes: f.Bytes, Reserved: f.Reserved, UpperBound: f.UpperBound, Info: f.Info, Confidence: f.Confidence,
		})
	}
}

// addLayers divides the points of the curve, which are those that
// Timeline.Curve(points) gave. Layers that are empty throughout are left out.
func (d *Device) addLayers(c *attribution.Classification, points int) {
	if len(d.Curve) == 0 {
		return
	}
	curve := c.Curve(points)
	var used []attribution.Category
	for _, k := range layerOrder {
		if slices.ContainsFunc(curve, func(p attribution.CategoryPoint) bool { return p.Totals[k] != 0 }) {
			used = append(used, k)
			d.Categories = append(d.Categories, k.String())
		}
	}
	for i := range d.Curve {
		d.Curve[i].Categories = make([]int64, len(used))
		for j, k := range used {
			d.Curve[i].Categories[j] = curve[i].Totals[k]
		}
	}
}

// addParts divides a moment as a whole and each of its rows.
func (m *Moment) addParts(c *attribution.Classification) {
	table := snapshot.Table{Moment: snapshot.Moment{Event: m.Point.Event}}
	for _, r := range m.Rows {
		table.Rows = append(table.Rows, snapshot.Row{File: r.rawFile, Line: r.rawLine, Function: r.rawFunction})
	}
	for i, parts := range c.Parts(table) {
		for _, p := range parts {
			m.Rows[i].Parts = append(m.Rows[i].Parts, Part{p.Category.String(), p.Bytes, p.Evidence, p.Confidence})
		}
	}
	totals := c.At(table.Moment)
	for _, k := range layerOrder {
		if totals[k] != 0 {
			m.Parts = append(m.Parts, Part{Category: k.String(), Bytes: totals[k]})
		}
	}
}

// addBlockCategories says of the blocks of the dump what they are for.
func (d *Device) addBlockCategories(c *attribution.Classification) {
	device := c.Timeline.Device
	names := make([]string, len(device.Blocks))
	for i := range c.Timeline.Allocations {
		if b := c.Timeline.Allocations[i].Block; b >= 0 && int(b) < len(names) {
			names[b] = c.Labels[i].Category.String()
		}
	}
	for i := range d.Segments {
		blocks := d.Segments[i].Blocks
		first := int(device.Segments[i].FirstBlock)
		for j := range blocks {
			if blocks[j].State < InactiveSplit {
				blocks[j].Category = names[first+j]
			}
		}
	}
}

// phaseMarks are the forwards, backwards and optimizer steps.
func phaseMarks(c *attribution.Classification, clock clock) []Mark {
	var out []Mark
	events := c.Timeline.Device.Events
	for _, p := range c.Phases {
		if p.Kind == attribution.Setup || p.Kind == attribution.Between || p.Last <= p.First || p.Last >= len(events) {
			continue
		}
		out = append(out, Mark{Kind: MarkPhase, Label: p.Name, Event: p.First, End: p.Last,
			Time: clock.since(events[p.First].Time), Till: clock.since(events[p.Last].Time)})
	}
	return out
}

// categoryNote says what the categories rest on, by bytes at the peak.
func categoryNote(c *attribution.Classification) string {
	at, when := c.Timeline.Peak.Event, "at the peak"
	if c.Timeline.History <= snapshot.HistoryStateOnly {
		at, when = len(c.Timeline.Device.Events)-1, "when dumped"
	}
	var total, sure, unknown int64
	for i, a := range c.Live(snapshot.Moment{Event: at}) {
		total += a.Requested
		switch l := &c.Labels[i]; {
		case l.Category == attribution.Unknown:
			unknown += a.Requested
		case l.Confidence >= .9:
			sure += a.Requested
		}
	}
	note := fmt.Sprintf("A snapshot does not say what memory is for. Categories are inferred from stacks, lifetimes and sizes: %s, %s of the bytes are at least 90 %% sure", when, units.Percent(sure, total))
	if unknown > 0 {
		note += fmt.Sprintf(", and %s are unknown", units.Percent(unknown, total))
	}
	return note + "."
}

// purposeSentence tells when in a step the peak is and what most of it is for.
func purposeSentence(d *Device) string {
	var largest Part
	var total int64
	if len(d.Moments) > 0 {
		total = d.Moments[0].Total
		for _, p := range d.Moments[0].Parts {
			if p.Bytes > largest.Bytes {
				largest = p
			}
		}
	}
	known := largest.Bytes > 0 && largest.Category != attribution.Unknown.String()
	most := fmt.Sprintf("%s is its largest part with %s (%s)", categoryText(largest.Category), units.Bytes(largest.Bytes), units.Percent(largest.Bytes, total))
	switch {
	case d.PeakPhase != "" && known:
		return fmt.Sprintf("The peak is in %s; %s.", d.PeakPhase, most)
	case d.PeakPhase != "":
		return fmt.Sprintf("The peak is in %s.", d.PeakPhase)
	case d.History.Known() && known:
		return fmt.Sprintf("The largest part of the peak is %s with %s (%s).", categoryText(largest.Category), units.Bytes(largest.Bytes), units.Percent(largest.Bytes, total))
	}
	return ""
}

// categoryText is a category in running text: "optimizer state".
func categoryText(name string) string {
	switch name {
	case attribution.OptimizerState.String():
		return "optimizer state"
	case attribution.AutogradDetail.String():
		return "autograd detail"
	}
	return name
}

// categoryIndex is the place of a category among the layers, -1 for none.
func categoryIndex(name string) int {
	if i, ok := categoryPlaces()[name]; ok {
		return i
	}
	return -1
}

var categoryPlaces = sync.OnceValue(func() map[string]int {
	places := map[string]int{}
	for i, c := range layerOrder {
		places[c.String()] = i
	}
	return places
})
