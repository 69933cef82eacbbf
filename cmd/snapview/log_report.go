package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/trainlog"
	"github.com/snapview/snapview/viewer"
)

// isLog reports whether a file holds memory figures as text.
func isLog(f *input.File) bool {
	switch f.Kind {
	case input.StatsJSONL, input.SMICSV, input.MemorySummary, input.TrainingLog:
		return true
	}
	return false
}

// logReport is the report of a training log.
type logReport struct{ *logAnswer }

// openLogReport reads an opened log.
func (u *ui) openLogReport(f *input.File, name string, o *options) (report, error) {
	bar := u.newProgress(name)
	defer bar.finish()
	l, err := trainlog.Read(f, trainlog.Options{Name: displayName(name), Progress: bar.update})
	bar.finish()
	a := &logAnswer{}
	switch {
	case err == nil:
	case l != nil && o.partial && len(l.Series) > 0:
		a.partial = append(a.partial, err.Error())
	default:
		return nil, inFile(name, err)
	}
	a.logs = []*trainlog.Log{l}
	if err := a.judge(o); err != nil {
		return nil, err
	}
	return logReport{a}, nil
}

func (r logReport) write(w io.Writer) error { return viewer.WriteGrowth(w, logPage(r.logAnswer)) }

func (r logReport) written(_ *options, output string, size int64) (reportSummary, error) {
	return logSummary{r.logAnswer, output, size}, nil
}

// A logSummary is what report prints about a log.
type logSummary struct {
	*logAnswer
	report string
	size   int64
}

// logReportJSON is the JSON of report: that of log, and where the report is.
type logReportJSON struct {
	Report string `json:"report"`
	Bytes  int64  `json:"report_bytes"`
	Runs   any    `json:"log"`
}

func (s logSummary) asJSON(o *options) any {
	return logReportJSON{s.report, s.size, logsJSON(s.logAnswer, o)}
}

// text is the verdict and the curves that it rests on.
func (s logSummary) text(u *ui, o *options) string {
	r := s.Worst()
	l := s.logs[0]
	var forms []string
	for _, f := range l.Forms {
		forms = append(forms, f.String())
	}
	lines := []string{fmt.Sprintf("%s: training log (%s)", units.Safe(l.Name), strings.Join(forms, " and "))}
	if len(s.Runs) > 1 {
		lines = append(lines, u.summaryLines("run", []string{fmt.Sprintf("%s, the gravest of %d", s.runName(r), len(s.Runs))})...)
	}
	lines = append(lines, u.summaryLines("verdict", words(shapedVerdict(&r.Growth)+": "+r.Growth.Why))...)
	for _, c := range shownCurves(r, o) {
		if c.Judged {
			lines = append(lines, u.summaryLines("", []string{curveSummary(c)})...)
		}
	}
	for _, w := range r.Warnings {
		lines = append(lines, u.summaryLines("!", words(units.Safe(w)))...)
	}
	if n := l.Unreadable.Count; n > 0 {
		lines = append(lines, u.summaryLines("note", []string{plural(n, "line") + " could not be read"})...)
	}
	lines = append(lines, u.summaryLines("more", []string{"snapview log " + units.Safe(shellWord(l.Name))})...)
	if s.report != "-" {
		lines = append(lines, u.style(bold, "report  "+units.Safe(s.report))+" ("+units.Bytes(s.size)+")")
	}
	return strings.Join(lines, "\n") + "\n"
}

// curveSummary is a curve on a line.
func curveSummary(c *attribution.LogCurve) string {
	return fmt.Sprintf("%-10s %s %s to %s", curveName(c), sparkline(c.Series.Steps, c.Series.Bytes, 24), sizeText(c.First), sizeText(c.Last))
}
