package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
	"github.com/snapview/snapview/viewer"
)

func isTimeline(f *input.File) bool {
	return f.Kind == input.MemoryTimeline || f.Kind == input.MemoryTimelineRaw
}

// refuseTimeline says what a memory timeline cannot answer.
func refuseTimeline(f *input.File, name string) error {
	if !isTimeline(f) {
		return nil
	}
	return inFile(name, fmt.Errorf("it is %s, which has categories and no operators or lines: use snapview stats or report, or the trace of the same run", f.Kind.Describe()))
}

// readTimeline reads what export_memory_timeline wrote.
func (u *ui) readTimeline(f *input.File, name string, o *options) (*profiler.MemoryTimeline, error) {
	tl, err := profiler.ReadTimelineFrom(f)
	if err == nil && tl.Partial != nil && !o.partial {
		err = fmt.Errorf("%w; --partial shows what was read", tl.Partial)
	}
	if err != nil {
		return nil, inFile(name, err)
	}
	if o.device != allDevices {
		return nil, inFile(name, usagef("--device: a memory timeline does not say which device it is of"))
	}
	tl.Name = displayName(name)
	return tl, nil
}

// timelineJSON is the JSON of stats for a memory timeline. Times are µs.
type timelineJSON struct {
	Kind       string           `json:"kind"`
	Partial    string           `json:"partial,omitempty"`
	File       string           `json:"file"`
	Raw        bool             `json:"raw"`
	Points     int              `json:"points"`
	Negative   int              `json:"negative_points"`
	Start      microseconds     `json:"start_us"`
	Peak       int64            `json:"peak_bytes"`
	PeakTime   microseconds     `json:"peak_time_us"`
	End        int64            `json:"end_bytes"`
	Categories []timelineAmount `json:"categories"`
}

// timelineAmount is the memory of one category at the peak and at the end.
type timelineAmount struct {
	Category string `json:"category"`
	Peak     int64  `json:"peak_bytes"`
	End      int64  `json:"end_bytes"`
}

func timelineOf(tl *profiler.MemoryTimeline) timelineJSON {
	out := timelineJSON{Kind: "memory_timeline", File: tl.Name, Raw: tl.Raw, Points: len(tl.Points), Negative: tl.Negative, Categories: []timelineAmount{}}
	if tl.Partial != nil {
		out.Partial = strings.Join(strings.Fields(tl.Partial.Error()), " ")
	}
	if len(tl.Points) == 0 {
		return out
	}
	peak, end := &tl.Points[tl.Peak], &tl.Points[len(tl.Points)-1]
	out.Start, out.PeakTime = microseconds(tl.Points[0].Time), microseconds(peak.Time)
	out.Peak, out.End = peak.Total(), end.Total()
	for k := range peak.Bytes {
		if peak.Bytes[k] != 0 || end.Bytes[k] != 0 {
			out.Categories = append(out.Categories, timelineAmount{profiler.Category(k).String(), peak.Bytes[k], end.Bytes[k]})
		}
	}
	return out
}

// timelineStats answers stats for a memory timeline.
func (u *ui) timelineStats(f *input.File, name string, o *options) error {
	tl, err := u.readTimeline(f, name, o)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(u.out, timelineOf(tl))
	}
	_, err = fmt.Fprint(u.out, u.timelineText(timelineOf(tl)))
	return err
}

func (u *ui) timelineText(tl timelineJSON) string {
	var b strings.Builder
	if tl.Partial != "" {
		b.WriteString(u.style(alarm, "PARTIAL") + " " + units.Safe(tl.Partial) + "\n")
	}
	fmt.Fprintf(&b, "%s: memory timeline, %s\n\n", units.Safe(tl.File), plural(tl.Points, "point"))
	w := newTable(right, right, right, left)
	w.header("at the peak", "share", "at the end", "category")
	for _, c := range tl.Categories {
		w.row(units.Bytes(c.Peak), units.Percent(c.Peak, tl.Peak), units.Bytes(c.End), c.Category)
	}
	w.row(units.Bytes(tl.Peak), units.Percent(tl.Peak, tl.Peak), units.Bytes(tl.End), u.style(bold, "total; peak at +"+nanoseconds(int64(tl.PeakTime-tl.Start))))
	b.WriteString(w.String())
	if tl.Negative > 0 {
		b.WriteString(plural(tl.Negative, "point") + " with a category below zero: the profiler lost track of a tensor\n")
	}
	return b.String()
}

// timelineReport is the report of a memory timeline.
type timelineReport struct {
	timeline *profiler.MemoryTimeline
	report   string // path, "-" for stdout
	size     int64  // of the report, bytes
}

func (r *timelineReport) write(w io.Writer) error {
	return viewer.WriteTrace(w, viewer.NewTimeline(r.timeline, viewer.Options{Version: currentVersion().Version}))
}

func (r *timelineReport) written(_ *options, report string, size int64) (reportSummary, error) {
	r.report, r.size = report, size
	return r, nil
}

func (r *timelineReport) text(u *ui, _ *options) string {
	text := u.timelineText(timelineOf(r.timeline))
	if r.report != "-" {
		text += u.style(bold, "report  "+units.Safe(r.report)) + " (" + units.Bytes(r.size) + ")\n"
	}
	return text
}

func (r *timelineReport) asJSON(*options) any {
	return struct {
		Report string `json:"report"`
		Bytes  int64  `json:"report_bytes"`
		timelineJSON
	}{r.report, r.size, timelineOf(r.timeline)}
}
