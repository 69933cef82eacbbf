package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// categoryTotals is what the memory of a device is for at a moment; all
// categories are there, and they sum to the total.
type categoryTotals struct {
	Device int              `json:"device"`
	At     atMoment         `json:"at"`
	Phase  string           `json:"phase,omitempty"` // "backward of step 2"
	Total  int64            `json:"total_bytes"`
	Totals map[string]int64 `json:"totals"`
}

func totalsJSON(c *attribution.Classification, m snapshot.Moment) categoryTotals {
	totals := c.At(m)
	out := categoryTotals{Device: c.Timeline.Device.Index, At: atMoment{m.Name, m.Event, m.Time}, Total: totals.Sum(), Totals: map[string]int64{}}
	for _, k := range attribution.Categories() {
		out.Totals[k.String()] = totals[k]
	}
	if p, ok := c.PhaseAt(m.Event); ok {
		out.Phase = p.Name
	}
	return out
}

// deviceFindings is the JSON of what can be changed.
type deviceFindings struct {
	Device int       `json:"device"`
	Rows   []finding `json:"rows"` // most bytes first, then what is only worth knowing
}

type finding struct {
	ID         string  `json:"id"`
	Title      string  `json:"title"`
	Bytes      int64   `json:"bytes"`
	Reserved   bool    `json:"reserved"`    // bytes nobody uses, not part of the peak
	UpperBound bool    `json:"upper_bound"` // at most that is freed
	Info       bool    `json:"info"`
	File       string  `json:"file"`
	Line       int32   `json:"line"`
	Function   string  `json:"function"`
	Evidence   string  `json:"evidence"`
	Why        string  `json:"why"`
	Do         string  `json:"do"`
	Confidence float64 `json:"confidence"`
}

func findingsJSON(c *attribution.Classification) deviceFindings {
	out := deviceFindings{Device: c.Timeline.Device.Index, Rows: []finding{}}
	for _, f := range attribution.Findings(c) {
		out.Rows = append(out.Rows, finding{f.ID, f.Title, f.Bytes, f.Reserved, f.UpperBound, f.Info, f.File, f.Line, f.Function,
			f.Evidence, f.Why, f.Do, float64(int(100*f.Confidence+.5)) / 100})
	}
	return out
}

// categoryParts are the largest categories in words.
func categoryParts(c *attribution.Classification, m snapshot.Moment) []string {
	totals := c.At(m)
	all := attribution.Categories()
	slices.SortStableFunc(all, func(a, b attribution.Category) int { return cmp.Compare(totals[b], totals[a]) })
	var parts []string
	for _, k := range all {
		if totals[k] == 0 {
			break
		}
		text := fmt.Sprintf("%s %s (%s)", k, units.Bytes(totals[k]), units.Percent(totals[k], totals.Sum()))
		if len(parts) > 0 {
			parts[len(parts)-1] += ","
			text = " " + text
		}
		parts = append(parts, text)
	}
	return parts
}

// findingParts is the first finding in words.
func findingParts(c *attribution.Classification) []string {
	found := attribution.Findings(c)
	if len(found) == 0 || found[0].Info {
		return nil
	}
	f := found[0]
	bound := ""
	if f.UpperBound {
		bound = "up to "
	}
	parts := []string{fmt.Sprintf("%s%s: %s", bound, units.Bytes(f.Bytes), f.Title)}
	if f.File != "" {
		parts = append(parts, fmt.Sprintf(" (%s:%d)", units.Safe(lastElement(f.File)), f.Line))
	}
	if len(found) > 1 {
		parts = append(parts, fmt.Sprintf("; %d more in the report", len(found)-1))
	}
	return parts
}

// oneLine is summaryLines cut to the parts that fit a line.
func (u *ui) oneLine(name string, parts []string) []string {
	lines := u.summaryLines(name, parts)
	if len(lines) > 1 {
		lines[0] = strings.TrimSuffix(lines[0], ",")
	}
	return lines[:min(len(lines), 1)]
}
