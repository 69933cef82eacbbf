package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

// checkOptions are what check adds to the common options.
type checkOptions struct {
	options
	budget, baseline   string
	update             bool
	maxPeak, maxGrowth string
	junit, markdown    string // files; "-" is standard output
}

func newCheck() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Hold captures to a memory budget: a gate for CI",
		Long: `Judges snapshots, profiler traces and memory timelines by the gates of a budget
file, and by what an earlier capture needed. When memory grew, the lines that grew
are named. docs/budget-file.md lists the keys of a budget.

--baseline takes a file that --update wrote, or another capture. Without --budget
and --max-growth, the peaks and the end may then grow by 2%, and categories and
lines that grew are warned of. --max-peak and --max-growth are gates of their own,
with or without a budget.

--markdown alone prints to stdout, --markdown=FILE writes a file; with --junit
and --json all are written, whether the gates pass or not.

Exit codes: 0 all gates pass, 3 a gate is exceeded; 1 a file cannot be read, the
budget is wrong, or a gate cannot be judged; 2 wrong command line.`,
		Example: `  snapview check snapshot.pickle --max-peak 40GiB
  snapview check snapshot.pickle --baseline baseline.yaml --update
  snapview check snapshot.pickle --baseline baseline.yaml
  snapview check snapshot.pickle --budget budget.yaml --markdown=comment.md --junit junit.xml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runCheck(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags, 10, "at most `N` lines of what changed on a device, 0 for all (default 10)")
	flags.StringVar(&o.budget, "budget", "", "judge by the gates in `FILE`")
	flags.StringVar(&o.baseline, "baseline", "", "judge growth against `FILE`: a baseline, or a capture")
	flags.BoolVar(&o.update, "update", false, "write the baseline from these captures, and judge nothing")
	flags.StringVar(&o.maxPeak, "max-peak", "", "the reserved peak may be `SIZE` at most, such as 40GiB")
	flags.StringVar(&o.maxGrowth, "max-growth", "", "the peaks may grow by `AMOUNT` at most, such as 5% or 200MiB")
	flags.StringVar(&o.markdown, "markdown", "", "print Markdown for a pull-request comment, or with --markdown=`FILE` write it to one")
	flags.Lookup("markdown").NoOptDefVal = "-"
	flags.StringVar(&o.junit, "junit", "", "write JUnit XML to `FILE`")
	return cmd
}

func runCheck(cmd *cobra.Command, o *checkOptions, names []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if err := named(names); err != nil {
		return err
	}
	job, err := u.newCheckJob(o, names)
	if err != nil {
		return err
	}
	if err := o.checkOutputs(job); err != nil {
		return err
	}
	if o.update {
		return u.updateBaseline(cmd, o, job)
	}
	baseline, err := u.readBaseline(o, job.baseline)
	if err != nil {
		return err
	}
	report, err := u.judge(o, job, baseline)
	if err != nil {
		return err
	}
	for _, f := range report.Files {
		for _, note := range f.Notes {
			u.note(f.Name, note)
		}
	}
	if err := u.writeCheck(cmd, o, &checkAnswer{job, report}); err != nil {
		return err
	}
	return verdictError(report)
}

// verdictError is the error that a report ends the program with.
func verdictError(report *budget.GateReport) error {
	err := report.Err()
	if errors.Is(err, budget.ErrExceeded) {
		return codedError{exitGate, err}
	}
	if len(report.Files) == 1 && report.Files[0].Err != nil {
		return report.Files[0].Err
	}
	return err
}

// A checkJob is what to judge, and by what.
type checkJob struct {
	files    []string
	gates    []budget.Gate
	budget   string // the name of the file, "" for none
	baseline string // likewise
}

func (u *ui) newCheckJob(o *checkOptions, files []string) (*checkJob, error) {
	job := &checkJob{files: files, budget: o.budget, baseline: o.baseline}
	if o.budget == "-" && slices.Contains(files, "-") {
		return nil, usagef("standard input can be the budget or a capture, not both; name a file for one")
	}
	if i := slices.IndexFunc(files, func(name string) bool { return strings.HasSuffix(name, ".md") }); i >= 0 && o.markdown == "-" {
		return nil, usagef("%s is no capture; --markdown=%[1]s, with the sign, writes the comment to it", files[i])
	}
	if o.budget != "" {
		gates, err := u.readBudget(o.budget)
		if err != nil {
			return nil, err
		}
		job.gates = gates.Gates
		if job.baseline == "" && gates.Baseline != "" {
			job.baseline = besideFile(o.budget, gates.Baseline)
		}
		if len(files) == 0 {
			if job.files, err = budgetFiles(o.budget, gates.Files); err != nil {
				return nil, err
			}
		}
	}
	if o.budget == "" && job.baseline != "" && o.maxGrowth == "" {
		job.gates = budget.DefaultGates()
	}
	if err := o.quickGates(job); err != nil {
		return nil, err
	}
	switch {
	case len(job.files) == 0 && o.budget != "":
		return nil, usagef("check needs a capture to judge, named here or under files in the budget; see snapview check --help")
	case len(job.files) == 0:
		return nil, usagef("check needs a file; see snapview check --help")
	case o.update && job.baseline == "":
		return nil, usagef("--update: name the file to write with --baseline, or under baseline in the budget")
	case len(job.gates) == 0:
		return nil, usagef("check needs something to judge by: --budget, --baseline, --max-peak or --max-growth; see snapview check --help")
	case o.maxGrowth != "" && job.baseline == "":
		return nil, usagef("--max-growth: growth against what? name a baseline with --baseline")
	}
	if twice := repeated(job.files); twice != "" {
		return nil, usagef("%s: named twice", twice)
	}
	return job, nil
}

// repeated is the first name that is there twice, "" for none.
func repeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// quickGates adds the gates that flags ask for.
func (o *checkOptions) quickGates(job *checkJob) error {
	for _, quick := range []struct {
		flag, value string
		gates       func(string) ([]budget.Gate, error)
	}{{"--max-peak", o.maxPeak, budget.MaxPeakGates}, {"--max-growth", o.maxGrowth, budget.MaxGrowthGates}} {
		if quick.value == "" {
			continue
		}
		gates, err := quick.gates(quick.value)
		if err != nil {
			return usagef("%s: %w", quick.flag, err)
		}
		job.gates = append(job.gates, gates...)
	}
	return nil
}

// judge reads the captures one after the other. One that cannot be read is part
// of the report.
func (u *ui) judge(o *checkOptions, job *checkJob, baseline *budget.Baseline) (*budget.GateReport, error) {
	checker := budget.NewGateChecker(job.gates, baseline, len(job.files))
	var have []string
	for _, name := range job.files {
		c, err := u.readCapture(name, &o.options)
		if err != nil {
			checker.Fail(displayName(name), err)
			if len(job.files) > 1 {
				fmt.Fprintln(u.err, "snapview: "+errorLine(err))
			}
			continue
		}
		for _, d := range c.Devices {
			have = append(have, d.ID)
		}
		c.Devices = o.device.pickCaptured(c.Devices)
		checker.Add(c)
	}
	if o.device != allDevices && len(have) > 0 && !slices.Contains(have, strconv.Itoa(int(o.device))) {
		slices.Sort(have)
		return nil, usagef("--device %d: no capture has it; there are %v", o.device, slices.Compact(have))
	}
	return checker.Report(), nil
}

// pickCaptured leaves the devices that the flag asks for.
func (d deviceFlag) pickCaptured(devices []*budget.CaptureDevice) []*budget.CaptureDevice {
	if d == allDevices {
		return devices
	}
	return slices.DeleteFunc(devices, func(c *budget.CaptureDevice) bool { return c.ID != strconv.Itoa(int(d)) })
}

// readCapture reads a file that gates can judge. One that is not whole is an
// error unless --partial is given, traces too: what is missing may be the peak.
func (u *ui) readCapture(name string, o *options) (*budget.Capture, error) {
	f, err := u.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	whole := *o
	whole.device = allDevices
	switch {
	case f.Kind == input.ChromeTrace:
		t, err := u.readTrace(f, name)
		if err != nil {
			return nil, err
		}
		if t.Partial != nil && !o.partial {
			return nil, inFile(name, fmt.Errorf("%w; --partial judges what was read", t.Partial))
		}
		return budget.TraceCapture(displayName(name), t), nil
	case isTimeline(f):
		tl, err := u.readTimeline(f, name, &whole)
		if err != nil {
			return nil, err
		}
		return budget.TimelineCapture(displayName(name), tl), nil
	}
	s, err := u.readSnapshot(f, name, &whole)
	if err != nil {
		return nil, err
	}
	return budget.SnapshotCapture(displayName(name), s), nil
}

// A checkAnswer is what the outputs are written from.
type checkAnswer struct {
	*checkJob
	*budget.GateReport
}

// writeCheck writes every output that was asked for. The files come first: the
// text may end in a closed pipe.
func (u *ui) writeCheck(cmd *cobra.Command, o *checkOptions, a *checkAnswer) error {
	markdown := func(w io.Writer) error { return writeCheckMarkdown(w, a, o) }
	junit := func(w io.Writer) error { return writeCheckJUnit(w, a) }
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{{o.markdown, markdown}, {o.junit, junit}} {
		switch out.path {
		case "":
		case "-":
			if err := out.write(u.out); err != nil {
				return err
			}
		default:
			if _, err := writeFile(cmd.Context(), out.path, out.write); err != nil {
				return inFile(out.path, err)
			}
		}
	}
	switch {
	case o.json:
		return writeJSON(u.out, checkJSON(a))
	case o.markdown == "-" || o.junit == "-":
		return nil
	}
	_, err := fmt.Fprint(u.out, u.checkText(a, o))
	return err
}

// updateBaseline writes the baseline and says what it changes.
func (u *ui) updateBaseline(cmd *cobra.Command, o *checkOptions, job *checkJob) error {
	var captures []*budget.Capture
	for _, name := range job.files {
		c, err := u.readCapture(name, &o.options)
		if err != nil {
			return err
		}
		if c.Devices = o.device.pickCaptured(c.Devices); len(c.Devices) == 0 {
			return inFile(name, errors.New("no device held memory in it, so there is nothing to write"))
		}
		captures = append(captures, c)
	}
	baseline := budget.NewBaseline(job.baseline, captures...)
	baseline.Shorten()
	size, err := writeFile(cmd.Context(), job.baseline, baseline.Write)
	if err != nil {
		return inFile(job.baseline, err)
	}
	if o.json {
		return writeJSON(u.out, baselineWritten{job.baseline, size, len(captures)})
	}
	_, err = fmt.Fprintf(u.out, "%s: written from %s (%s)\n", units.Safe(job.baseline), plural(len(captures), "capture"), units.Bytes(size))
	return err
}

// baselineWritten is the JSON of --update.
type baselineWritten struct {
	Baseline string `json:"baseline"`
	Bytes    int64  `json:"baseline_bytes"`
	Captures int    `json:"captures"`
}
