package viewer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/snapview/snapview/attribution"
)

//go:embed assets/growth.html.tmpl
var growthSource string

var growthTemplate = sync.OnceValue(func() *template.Template { return parsePage(growthSource) })

// A GrowthPage is a report of how memory grows over steps or snapshots, from
// snapshots or from training logs. Text may be a stranger's.
type GrowthPage struct {
	Name    string   // what was read: a file, or "4 snapshots"
	Facts   []string // what it is, in a few words each
	Version string   // of snapview, shown in the footer; may be empty

	Changes  []GrowthChange // a run before and after a fix; drawn first
	Sections []GrowthSection
	Unread   []UnreadLines
	Notes    []string // on all sections, one sentence each
}

// A GrowthSection is the answer for one device, rank or file.
type GrowthSection struct {
	Heading string // "Device 0"
	Growth  attribution.Growth
	Curves  []GrowthCurve // at most maxGrowthLines are drawn, all are listed
	Marks   []GrowthMark

	Suspects []attribution.Suspect // most bytes per step first
	Hints    []attribution.Hint
	Figures  []Fact       // more headline figures
	Tables   []PlainTable // what explains the answer

	Room     *attribution.Room // how long the growth can go on; nil when not known
	Warnings []string          // what to act on besides the verdict, one sentence each
	Notes    []string          // what the answer rests on and what is missing, one sentence each
}

// A Fact is a figure with its name and a remark.
type Fact struct{ Name, Text, Remark string }

// A GrowthCurve is a curve and its trend. What it is drawn like depends on its
// name, as of attribution.Series and trainlog.Metric; "outside" is drawn as a
// band above reserved.
type GrowthCurve struct {
	Series attribution.Series
	Trend  attribution.Trend
	Judged bool   // the verdict rests on it
	Unit   string // of its steps; "" for that of the verdict. A curve over others is only listed
	Source string // the file it is from, when there are several
	Points int    // measured, when Series holds fewer
}

// A GrowthMark is something that happened at a step: MarkOOM, MarkRetry or
// MarkAnnotate.
type GrowthMark struct {
	Kind  MarkKind
	Label string
	Step  float64
}

// A GrowthChange compares a device before and after a change of the program.
type GrowthChange struct {
	Heading       string  // "Device 0"
	Badge         string  // the answer in a word or two: "fixed"
	Verdict       Verdict // Tone "ok", "note" or "bad"
	Unit          string  // of the steps of both curves
	Before, After GrowthCurve
	Tables        []PlainTable // lines before and after
	Notes         []string
}

// UnreadLines are lines of a log that look like figures of memory and could not
// be read.
type UnreadLines struct {
	File     string
	Count    int
	Examples []UnreadLine
}

// An UnreadLine is an example of such lines.
type UnreadLine struct {
	Line      int // from 1
	Text, Why string
}

// WriteGrowth writes the page to w. It is complete in itself and at most
// MaxBytes long.
func WriteGrowth(w io.Writer, p GrowthPage) error {
	view, data, err := growthPage(&p)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return writePage(w, growthTemplate(), view, data)
}
