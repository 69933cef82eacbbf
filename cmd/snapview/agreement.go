package main

import (
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// traceAgreement compares the categories of a trace with those of a memory
// timeline of the same run, in bytes at the timeline's peak.
type traceAgreement struct {
	File       string              `json:"file"`
	Time       microseconds        `json:"time_us"`
	Same       int64               `json:"same_bytes"`
	Total      int64               `json:"total_bytes"`
	SameNamed  int64               `json:"same_named_bytes"`
	Named      int64               `json:"named_bytes"`
	Categories []agreementCategory `json:"categories"`
}

type agreementCategory struct {
	Category string `json:"category"`
	Trace    int64  `json:"trace_bytes"`
	Timeline int64  `json:"timeline_bytes"`
}

// compareTimeline compares with the timeline that --timeline names; nil without.
func (u *ui) compareTimeline(t *profiler.Trace, o *statsOptions) (*traceAgreement, error) {
	if o.timeline == "" {
		return nil, nil
	}
	f, err := u.openFile(o.timeline)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	whole := o.options
	whole.device = allDevices
	tl, err := u.readTimeline(f, o.timeline, &whole)
	if err != nil {
		return nil, err
	}
	c := t.Categorize()
	if o.device != allDevices && c.Device != int(o.device) {
		c = t.CategorizeDevice(c.Type, int(o.device))
	}
	a := profiler.CompareTimeline(c, tl)
	out := &traceAgreement{File: tl.Name, Time: microseconds(a.Time), Same: a.Same, Total: a.Total, SameNamed: a.SameNamed, Named: a.Named, Categories: []agreementCategory{}}
	for k := range a.Ours {
		if a.Ours[k] != 0 || a.Theirs[k] != 0 {
			out.Categories = append(out.Categories, agreementCategory{profiler.Category(k).String(), a.Ours[k], a.Theirs[k]})
		}
	}
	return out, nil
}

func (u *ui) agreementText(a *traceAgreement) string {
	w := newTable(right, right, left)
	w.header("trace", "timeline", "category")
	for _, c := range a.Categories {
		w.row(units.Bytes(c.Trace), units.Bytes(c.Timeline), c.Category)
	}
	return u.style(bold, "at the peak of "+units.Safe(a.File)) + "\n" + w.String() +
		"the same category for " + units.Percent(a.Same, a.Total) + " of the bytes, " +
		units.Percent(a.SameNamed, a.Named) + " of those the timeline names\n"
}
