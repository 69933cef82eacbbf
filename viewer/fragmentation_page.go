package viewer

import (
	"fmt"
	"html/template"

	"github.com/snapview/snapview/internal/units"
)

// Rows of the tables about free memory.
const maxPins = 12

// fragView is the section about fragmentation.
type fragView struct {
	Curve     *fragCurve
	Label     string // of the curve
	Note      string
	Title     string
	Free      string
	Pins      []pinView
	More      string
	Pools     []poolView
	Waste     []wasteView
	Rounded   string
	Maps      []stateMapView
	Trials    []trialView // under other settings, where nothing failed
	TrialNote string
}

type pinView struct {
	Place                               rowView
	Bytes, Exact, Alone, Held, Segments string
	Percent                             float64
}

type poolView struct{ Label, Segments, Reserved, Free, Exact, Largest string }

type wasteView struct {
	Place               rowView
	Bytes, Exact, Count string
}

type stateMapView struct{ Name, Title, Reserved, ID string }

// fragCurve is the curve of free memory, drawn without scripts.
type fragCurve struct {
	Width, Height       int
	PlotLeft, PlotRight int
	PlotBottom          int
	Free, Split         template.HTMLAttr
	Ticks               []svgTick
	First, Last         string
}

const fragHeight = 190

func drawFragmentation(pts []FragPoint) *fragCurve {
	if len(pts) == 0 {
		return nil
	}
	var most int64
	for _, p := range pts {
		most = max(most, p.Free)
	}
	step, top := byteScale(most)
	first, last := pts[0].Event, pts[len(pts)-1].Event
	c := &fragCurve{Width: svgWidth, Height: fragHeight, PlotLeft: svgLeft, PlotRight: svgWidth - svgRight, PlotBottom: fragHeight - svgBottom,
		First: "event " + units.Count(max(0, first)), Last: "event " + units.Count(last)}
	y := func(v int64) float64 {
		return fragHeight - svgBottom - float64(v)/float64(top)*(fragHeight-svgTop-svgBottom)
	}
	line := func(value func(FragPoint) int64) template.HTMLAttr {
		steps := make([]CurvePoint, len(pts))
		for i, p := range pts {
			steps[i] = CurvePoint{Event: p.Event, Requested: value(p)}
		}
		return dAttr(stepPath(steps, func(p CurvePoint) (float64, float64) {
			return svgLeft + float64(p.Event-first)/float64(max(1, last-first))*(svgWidth-svgLeft-svgRight), y(p.Requested)
		}))
	}
	c.Free = line(func(p FragPoint) int64 { return p.Free })
	c.Split = line(func(p FragPoint) int64 { return p.InactiveSplit })
	for v := int64(0); v <= top; v += step {
		c.Ticks = append(c.Ticks, svgTick{Y: num(y(v)), TextY: num(y(v) + 4), Label: tickText(v)})
	}
	return c
}

// addFragmentation lays out the section and the maps of past moments.
func (v *deviceView) addFragmentation(d *Device, data *deviceData, devices int, b *builder, html *texts) {
	f := d.Fragmentation
	if f == nil {
		return
	}
	out := &fragView{Curve: drawFragmentation(f.Curve), Label: f.curveLabel(), Title: f.Title, Free: units.Bytes(f.Free), Rounded: units.Bytes(f.Rounded)}
	if len(f.Curve) > 0 && len(f.Curve) < d.Stats.Events {
		out.Note = fmt.Sprintf("Of each stretch of the history, the moment with most free memory is drawn: %s for %s.", plural(len(f.Curve), "point"), plural(d.Stats.Events, "event"))
	}
	if !f.Exact {
		out.Note += " The replay of the allocator and the record part ways, so this is approximate: " + html.value(f.Reason) + "."
	}
	var largest int64 = 1
	for i, p := range f.Pins {
		if i == maxPins {
			out.More = plural(len(f.Pins)-i, "more line")
			break
		}
		largest = max(largest, p.Bytes)
		out.Pins = append(out.Pins, pinView{tableRow(Row{Frame: p.Frame}, 1, 1, html), units.Bytes(p.Bytes), units.Exact(p.Bytes), units.Bytes(p.Alone), units.Bytes(p.Held), units.Count(p.Segments), 100 * float64(p.Bytes) / float64(largest)})
	}
	for _, p := range f.Pools[:min(len(f.Pools), maxGroups)] {
		out.Pools = append(out.Pools, poolView{html.name(p.Label), units.Count(p.Segments), units.Bytes(p.Reserved), units.Bytes(p.Free), units.Exact(p.Free), units.Bytes(p.LargestFree)})
	}
	for _, w := range f.Waste[:min(len(f.Waste), maxPins/2)] {
		out.Waste = append(out.Waste, wasteView{tableRow(Row{Frame: w.Frame}, 1, 1, html), units.Bytes(w.Bytes), units.Exact(w.Bytes), units.Count(w.Count)})
	}
	for _, m := range f.States {
		groups, _ := buildSegmentMap(m.Segments, share(maxBlocks, devices*(1+len(f.States)), 150))
		drawn := b.segmentMap(groups)
		if drawn == nil {
			continue
		}
		drawn.Name = m.Name
		data.Maps = append(data.Maps, drawn)
		out.Maps = append(out.Maps, stateMapView{m.Name, "Segments " + lowerFirst(m.Title), units.Bytes(m.Reserved), v.ID})
	}
	out.Trials, out.TrialNote = trialViews(f.Trials, html), html.value(f.TrialNote)
	v.Fragmentation = out
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]|0x20) + s[1:]
}
