package viewer

import (
	"fmt"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// OOM explains the last allocation that failed.
type OOM struct {
	Frame    // the line that asked
	Verdict  string
	Sentence string
	Short    string // the verdict in a few words
	ShortBy  int64  // bytes missing even in one piece
	Figures  []Figure
	Trials   []Trial
	Untried  string // why no settings were tried
	Enough   int64  // the limit that would have served it as things were
	Notes    []string
}

// Figure is a named size.
type Figure struct {
	Name   string
	Bytes  int64
	Remark string
}

// maxReplayed bounds the events replayed for the what-if table of a report; the
// command oom tries more.
const maxReplayed = 400_000

// addOOM takes over the explanation of the last event.
func (d *Device) addOOM(r *attribution.OOMReport) {
	if len(r.Events) == 0 {
		return
	}
	x := r.Events[len(r.Events)-1]
	out := &OOM{
		Frame: newFrame(x.File, x.Function, x.Line), Verdict: x.Verdict.String(), Sentence: x.Sentence(),
		Short: verdictText(x), Untried: r.Untried, Enough: x.Enough(), ShortBy: x.ShortBy, Notes: x.Notes, Trials: newTrials(r.Remedies),
	}
	out.Figures = []Figure{
		{"asked for", x.Asked, ""}, {"device free", x.DeviceFree, "as the device reported"},
		{"reserved", x.Reserved, ""}, {"allocated", x.Allocated, ""}, {"free in the cache", x.Free, ""},
		{"largest usable free block", x.LargestUsable, "of the request's pool, stream and size class"},
		{"limit", x.Limit.Low, x.LimitText()},
	}
	d.OOM = out
}

// verdictText is the verdict in a few words.
func verdictText(x *attribution.OOM) string {
	if x.Verdict == attribution.Fragmented {
		return fmt.Sprintf("fragmentation: in one piece, what was free would have sufficed, but the largest usable block had %s", units.Bytes(x.LargestUsable))
	}
	return fmt.Sprintf("a lack of capacity: even in one piece, what was free is %s short", units.Bytes(x.ShortBy))
}

// oomView is the panel.
type oomView struct {
	Verdict, Sentence, Tone string
	By                      rowView
	Figures                 []account
	Trials                  []trialView
	Untried, Enough         string
	Notes                   []string
	Of                      string
}

// oomPanel lays out an explanation.
func oomPanel(d *Device, html *texts) *oomView {
	x := d.OOM
	if x == nil {
		return nil
	}
	v := &oomView{
		Verdict: html.value(x.Verdict), Sentence: html.value(x.Sentence), Tone: "bad", By: tableRow(Row{Frame: x.Frame}, 1, 1, html),
		Trials: trialViews(x.Trials, html), Untried: html.value(x.Untried), Enough: units.AtLeastMiB(x.Enough),
	}
	if f := d.Failure; f != nil && f.Of > 1 {
		v.Of = fmt.Sprintf("This is the last of %s failures.", units.Count(f.Of))
	}
	for _, f := range x.Figures {
		v.Figures = append(v.Figures, account{f.Name, units.Bytes(f.Bytes), units.Exact(f.Bytes), html.value(f.Remark)})
	}
	for _, n := range x.Notes {
		v.Notes = append(v.Notes, html.value(n))
	}
	return v
}
