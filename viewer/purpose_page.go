package viewer

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// Limits on findings: all are few, and a stranger's file must not make many.
const (
	maxAdvice = 24
	topAdvice = 3 // below the verdict
	maxParts  = 3 // categories told of one row
)

// barView is what the memory is for at one moment.
type barView struct {
	Title, Text, Exact string
	Parts              []part
}

// adviceView is a finding.
type adviceView struct {
	ID, Tone, Title, Why, Do, Evidence string
	Text, Exact, Share, Of             string
	Dir, Base, Place, Function         string
	Sure                               string
}

// addPurpose lays out categories and findings.
func (v *deviceView) addPurpose(d *Device, data *deviceData, devices int, b *builder, html *texts) {
	layers := d.Categories[:min(len(d.Categories), maxLayers)]
	if v.HasChart {
		for _, name := range layers {
			data.Layers = append(data.Layers, layerData{b.texts.name(name), layerColour(name)})
			v.Layers = append(v.Layers, layerView{Class: layerColour(name), Name: html.name(categoryText(name))})
		}
	}
	v.LayerNote = html.value(d.CategoryNote)
	for i := range d.Moments {
		if bar := momentBar(&d.Moments[i], html); len(bar.Parts) > 0 {
			v.Bars = append(v.Bars, bar)
		}
	}
	for i, a := range d.Findings[:min(len(d.Findings), share(maxAdvice, devices, topAdvice))] {
		v.Advice = append(v.Advice, adviceOf(d, a, fmt.Sprintf("%s-f%d", v.ID, i), html))
	}
	v.Top = v.Advice[:min(len(v.Advice), topAdvice)]
}

func momentBar(m *Moment, html *texts) barView {
	bar := barView{Title: m.Title, Text: units.Bytes(m.Total), Exact: units.Exact(m.Total)}
	for _, p := range m.Parts[:min(len(m.Parts), maxLayers)] {
		if p.Bytes <= 0 || m.Total <= 0 {
			continue
		}
		bar.Parts = append(bar.Parts, part{
			Class: layerColour(p.Category), Name: html.name(categoryText(p.Category)), Text: units.Bytes(p.Bytes), Exact: units.Exact(p.Bytes),
			Percent: 100 * float64(p.Bytes) / float64(m.Total), PercentText: units.Percent(p.Bytes, m.Total),
		})
	}
	return bar
}

func adviceOf(d *Device, a Advice, id string, html *texts) adviceView {
	whole, of := d.History.Peak.Bytes, "of the peak"
	if !d.History.Known() {
		whole, of = d.Stats.Requested, "of what is requested"
	}
	if a.Reserved {
		whole, of = d.Stats.Reserved, "of reserved"
	}
	v := adviceView{
		ID: id, Tone: "note", Title: html.value(a.Title), Why: html.value(a.Why), Do: html.value(a.Do), Evidence: html.value(upperFirst(a.Evidence)),
		Text: units.Bytes(a.Bytes), Exact: units.Exact(a.Bytes), Share: units.Percent(a.Bytes, whole), Of: of,
		Sure: fmt.Sprintf("%.0f %% sure", 100*a.Confidence),
	}
	if a.Info {
		v.Tone = "info"
	}
	if a.UpperBound && !a.Info {
		v.Text = "up to " + v.Text
	}
	row := tableRow(Row{Frame: a.Frame}, 1, 1, html)
	v.Dir, v.Base, v.Place, v.Function = row.Dir, row.Base+row.Line, row.Place, row.Function
	return v
}

func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// partsText tells what a row's memory is for: "activation", or where it is for
// several things "activation 96.0 MiB, temporary 2.00 MiB".
func partsText(parts []Part) string {
	if len(parts) == 1 {
		return categoryText(parts[0].Category)
	}
	var out []string
	for i, p := range parts {
		if i == maxParts {
			out = append(out, "…")
			break
		}
		out = append(out, categoryText(p.Category)+" "+units.Bytes(p.Bytes))
	}
	return strings.Join(out, ", ")
}

// evidenceText tells on what the categories of a row rest.
func evidenceText(parts []Part) string {
	var out []string
	for i, p := range parts {
		if i == maxParts {
			break
		}
		if p.Evidence == "" {
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s (%.0f %% sure)", categoryText(p.Category), p.Evidence, 100*p.Confidence))
	}
	return strings.Join(out, "; ")
}

// mapColours are the categories of the blocks of a map, for its legend.
func mapColours(groups []segGroup) []layerView {
	var used [len(layerOrder)]bool
	for _, g := range groups {
		for _, s := range g.Segments {
			for i := range s.Blocks {
				if k := categoryIndex(s.Blocks[i].Category); k >= 0 {
					used[k] = true
				}
			}
		}
	}
	var out []layerView
	for i, k := range layerOrder {
		if used[i] {
			out = append(out, layerView{Class: layerColour(k.String()), Name: categoryText(k.String())})
		}
	}
	return out
}
