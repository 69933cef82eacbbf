package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/snapshot"
	"github.com/snapview/snapview/viewer"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reportOptions are what report adds to the common options.
type reportOptions struct {
	options
	out string
}

func newReportOptions() *reportOptions { return &reportOptions{} }

func (o *reportOptions) register(flags *pflag.FlagSet) {
	o.options.register(flags, tableRows, "`N` lines of code in the summary, 0 for all (default: as many as fit ten lines)")
	flags.StringVarP(&o.out, "output", "o", "", "write to `FILE.html`, \"-\" for stdout (default: named after the input, here)")
}

func newReport() *cobra.Command {
	o := newReportOptions()
	cmd := &cobra.Command{
		Use:   "report FILE…",
		Short: "Write an HTML report that opens anywhere, and print a summary",
		Long: `Write one HTML file per snapshot: the memory curve by category, what can be
changed, who holds memory at the peak and at the end, a flame graph, the
segments and the accounts. Per profiler
trace: the curve by category, tables by line, operator, module and kernel, flame
graphs, steps, and what the trace lacks. Per memory timeline: its curve. Per training log:
curves, trend and verdict; snapview log joins several. It loads nothing from anywhere else.
A summary goes to stdout.`,
		Example: `  snapview report snapshot.pickle
  snapview report snapshot.pickle.gz -o report.html
  snapview report rank*.pickle
  snapview report trace.json.gz`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd, o, args) },
	}
	o.register(cmd.Flags())
	return cmd
}

func runReport(cmd *cobra.Command, o *reportOptions, names []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if o.out == "" && cmd.Flags().Changed("output") {
		return usagef("-o: no name given; name a file, or leave -o out")
	}
	outputs, err := o.outputs(names)
	if err != nil {
		return err
	}
	if o.out == "-" {
		return reportToStdout(cmd.Context(), u, o, names[0])
	}
	reports := []any{}
	for i, name := range names {
		sum, err := writeReport(cmd.Context(), u, o, name, outputs[i])
		if err != nil {
			return err
		}
		if o.json {
			reports = append(reports, sum.asJSON(&o.options))
			continue
		}
		if i > 0 {
			fmt.Fprintln(u.out)
		}
		if _, err := fmt.Fprint(u.out, sum.text(u, &o.options)); err != nil {
			return err
		}
	}
	switch {
	case !o.json:
		return nil
	case len(reports) == 1:
		return writeJSON(u.out, reports[0])
	}
	return writeJSON(u.out, reports)
}

// outputs names the report of each input and checks that none destroys a file.
func (o *reportOptions) outputs(names []string) ([]string, error) {
	outputs := make([]string, len(names))
	switch {
	case o.out != "" && len(names) > 1:
		return nil, usagef("-o names one report, but there are %d files; leave it out to write one beside another", len(names))
	case o.out == "-":
		if o.json {
			return nil, usagef("-o - and --json both write to stdout; choose one")
		}
		return outputs, nil
	case o.out != "":
		outputs[0] = o.out
	default:
		outputs = reportNames(names)
	}
	taken := map[string]string{}
	for i, path := range outputs {
		if other, ok := taken[path]; ok {
			return nil, usagef("%s and %s would both be reported in %s; report one at a time with -o", other, names[i], path)
		}
		taken[path] = names[i]
		if err := checkOutput(path, names); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// reportNames names reports after their inputs, in the current folder. Inputs
// of the same name (a/end.pickle, b/end.pickle) get their folder's name too.
func reportNames(names []string) []string {
	seen := map[string]int{}
	for _, name := range names {
		seen[baseName(name)]++
	}
	outputs := make([]string, len(names))
	for i, name := range names {
		base := baseName(name)
		if folder := filepath.Base(filepath.Dir(name)); seen[base] > 1 && folder != "." && folder != "/" {
			base = folder + "-" + base
		}
		outputs[i] = base + ".html"
	}
	return outputs
}

// knownExtensions are what a snapshot's name ends in, possibly several of them.
var knownExtensions = []string{".pickle", ".pkl", ".json", ".jsonl", ".log", ".txt", ".csv", ".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz", ".lz4", ".snappy", ".s2"}

// baseName is a file's name without folders and known extensions.
func baseName(name string) string {
	if name == "-" {
		return "snapshot"
	}
	base := filepath.Base(name)
	for {
		short := base
		for _, e := range knownExtensions {
			if cut := len(short) - len(e); cut > 0 && strings.EqualFold(short[cut:], e) {
				short = short[:cut]
			}
		}
		if short == base {
			return base
		}
		base = short
	}
}

// A report is a page that can be written.
type report interface {
	write(w io.Writer) error
	// written tells where the page is and returns what to print about it.
	written(o *options, output string, size int64) (reportSummary, error)
}

// A reportSummary is what report prints.
type reportSummary interface {
	text(u *ui, o *options) string
	asJSON(o *options) any
}

// openReport reads the file called name, a snapshot or a trace.
func (u *ui) openReport(name string, o *options) (report, error) {
	f, err := u.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Kind == input.ChromeTrace {
		t, err := u.readTrace(f, name)
		if err != nil {
			return nil, err
		}
		return newTraceReport(t, name, o)
	}
	if isTimeline(f) {
		tl, err := u.readTimeline(f, name, o)
		if err != nil {
			return nil, err
		}
		return &timelineReport{timeline: tl}, nil
	}
	if isLog(f) {
		return u.openLogReport(f, name, o)
	}
	s, err := u.readSnapshot(f, name, o)
	if err != nil {
		return nil, err
	}
	timelines, err := replay(s, name, o)
	return &snapshotReport{snapshot: s, timelines: timelines, classes: newClassifier(s)}, err
}

// snapshotReport is the report of a memory snapshot.
type snapshotReport struct {
	snapshot  *snapshot.Snapshot
	timelines []*snapshot.Timeline
	classes   classifier
	verdicts  map[*snapshot.Timeline]string // why memory ran out, known once the page is written
}

func (r *snapshotReport) write(w io.Writer) error {
	page := newPage(r.snapshot, r.timelines, r.classes)
	r.verdicts = map[*snapshot.Timeline]string{}
	for i, t := range r.timelines { // the page has them in the same order
		if x := page.Devices[i].OOM; x != nil {
			r.verdicts[t] = oomVerdict(x)
		}
	}
	return viewer.WriteSnapshot(w, page)
}

func (r *snapshotReport) written(o *options, output string, size int64) (reportSummary, error) {
	sum, err := summarize(r.snapshot, r.timelines, r.classes, o, output, size)
	sum.verdicts = r.verdicts
	return sum, err
}

// writeReport reads the file called name and writes its report.
func writeReport(ctx context.Context, u *ui, o *reportOptions, name, output string) (reportSummary, error) {
	r, err := u.openReport(name, &o.options)
	if err != nil {
		return nil, err
	}
	size, err := writeFile(ctx, output, r.write)
	if err != nil {
		return nil, inFile(output, err)
	}
	return r.written(&o.options, output, size)
}

// reportToStdout writes the page to stdout and the summary to stderr.
func reportToStdout(ctx context.Context, u *ui, o *reportOptions, name string) error {
	if isTerminal(u.out) {
		return usagef("-o -: will not write HTML to a terminal; redirect stdout or name a file")
	}
	r, err := u.openReport(name, &o.options)
	if err != nil {
		return err
	}
	counter := &contextWriter{ctx: ctx, w: u.out}
	if err := r.write(counter); err != nil {
		return err
	}
	sum, err := r.written(&o.options, "-", counter.n)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(u.err, sum.text(u, &o.options))
	return err
}

// newPage gathers the report of the devices that were replayed.
func newPage(s *snapshot.Snapshot, timelines []*snapshot.Timeline, classes classifier) viewer.Snapshot {
	replayed := map[*snapshot.Device]*snapshot.Timeline{}
	for _, t := range timelines {
		replayed[t.Device] = t
	}
	o := viewer.Options{Version: currentVersion().Version, Classify: classes, Timeline: func(d *snapshot.Device) *snapshot.Timeline {
		if t, ok := replayed[d]; ok {
			return t
		}
		return s.Timeline(d)
	}}
	if len(timelines) < len(s.Devices) {
		o.Keep = func(index int) bool {
			return slices.ContainsFunc(timelines, func(t *snapshot.Timeline) bool { return t.Device.Index == index })
		}
	}
	return viewer.NewSnapshot(s, o)
}

// replay replays the history of the devices asked for.
func replay(s *snapshot.Snapshot, name string, o *options) ([]*snapshot.Timeline, error) {
	devices, err := o.device.pick(s)
	if err != nil {
		return nil, inFile(name, err)
	}
	timelines := make([]*snapshot.Timeline, len(devices))
	for i, d := range devices {
		timelines[i] = s.Timeline(d)
	}
	return timelines, nil
}
