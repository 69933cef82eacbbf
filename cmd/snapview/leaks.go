package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/viewer"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leaksOptions are what leaks adds to the common options.
type leaksOptions struct {
	options
	out           string
	before, after fileGroup
}

// leaksRows is how many suspects are listed unless -n says otherwise.
const leaksRows = 10

func newLeaks() *cobra.Command {
	o := &leaksOptions{}
	cmd := &cobra.Command{
		Use:   "leaks FILE…",
		Short: "Does memory grow from step to step or from file to file, and which lines keep it",
		Long: `Whether memory leaks, the allocator's cache grows, or all is steady; with the
slope, its 95 % interval, and the lines whose memory is kept.

One file: its training steps are compared, or the iterations of a loop that runs
forwards, by what is alive at the same point of each. Several files: snapshots of
one run, such as one after each epoch, are compared in order of time, by line and
by allocation. A warm-up, what fills up once and what is given back later is no
leak.

--before and --after say whether a change of the program cured a leak. Each takes
the files behind it, up to the other.`,
		Example: `  snapview leaks snapshot.pickle
  snapview leaks epoch*.pickle -o growth.html
  snapview leaks --before old*.pickle --after new*.pickle`,
		Args: func(cmd *cobra.Command, args []string) error { return o.checkArgs(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return runLeaks(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags, leaksRows, "at most `N` suspects, 0 for all (default 10; all with --json)")
	flags.StringVarP(&o.out, "output", "o", "", "also write the curves to `FILE.html`")
	o.before.flags, o.after.flags = flags, flags
	flags.Var(&o.before, "before", "the `FILES…` of the program before a change")
	flags.Var(&o.after, "after", "the `FILES…` of the program after it")
	return cmd
}

// A fileGroup is a flag that takes the files behind it up to the next such
// flag: a shell expands old*.pickle into many.
type fileGroup struct {
	flags *pflag.FlagSet
	named []string // given to the flag itself
	from  int      // how many arguments stand before the flag
	given bool
}

func (g *fileGroup) String() string { return "" }
func (g *fileGroup) Type() string   { return "FILES" }

func (g *fileGroup) Set(s string) error {
	if !g.given {
		g.from = g.flags.NArg()
	}
	g.given = true
	g.named = append(g.named, s)
	return nil
}

// split divides the arguments among the two groups.
func (o *leaksOptions) split(args []string) (before, after []string) {
	b, a := args[o.before.from:], args[o.after.from:]
	if o.before.from <= o.after.from {
		b = args[o.before.from:o.after.from]
	} else {
		a = args[o.after.from:o.before.from]
	}
	return slices.Concat(o.before.named, b), slices.Concat(o.after.named, a)
}

func (o *leaksOptions) checkArgs(cmd *cobra.Command, args []string) error {
	switch {
	case !o.before.given && !o.after.given:
		return someFiles(cmd, args)
	case !o.before.given:
		return usagef("--after needs --before with the files of the program before the change")
	case !o.after.given:
		return usagef("--before needs --after with the files of the program after the change")
	case min(o.before.from, o.after.from) > 0:
		return usagef("%s stands before --before and --after, and so in neither", args[0])
	}
	before, after := o.split(args)
	return named(slices.Concat(before, after))
}

func runLeaks(cmd *cobra.Command, o *leaksOptions, args []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	before, after := []string(nil), args
	if o.before.given {
		before, after = o.split(args)
	}
	if err := o.checkPage(cmd, o.out, slices.Concat(before, after)); err != nil {
		return err
	}
	a := leaksAnswer{names: after}
	if a.reports, err = u.judgeLeaks(after, o, &a.partial); err != nil {
		return err
	}
	if o.before.given {
		old, err := u.judgeLeaks(before, o, &a.partial)
		if err != nil {
			return err
		}
		if err := a.compare(old); err != nil {
			return err
		}
	}
	if o.out != "" {
		if err := u.writeExtraPage(cmd, o.out, func(w io.Writer) error { return viewer.WriteGrowth(w, leaksPage(&a)) }); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(u.out, leaksJSON(&a, &o.options))
	}
	_, err = fmt.Fprint(u.out, u.leaksText(&a, &o.options))
	return err
}

// A leaksAnswer is what leaks found.
type leaksAnswer struct {
	names   []string
	reports []attribution.LeakReport // by device
	before  []attribution.LeakReport // with --before: those of the same devices
	changes []attribution.LeakChange
	partial []string // files that were not read to their end, and why
}

// compare joins the devices of both programs. One device each are compared
// whatever their indices.
func (a *leaksAnswer) compare(old []attribution.LeakReport) error {
	var reports []attribution.LeakReport
	for _, r := range a.reports {
		i := slices.IndexFunc(old, func(b attribution.LeakReport) bool { return b.Device == r.Device })
		if len(old) == 1 && len(a.reports) == 1 {
			i = 0
		}
		if i < 0 {
			continue
		}
		reports = append(reports, r)
		a.before = append(a.before, old[i])
		a.changes = append(a.changes, attribution.CompareLeaks(&old[i], &r))
	}
	if len(reports) == 0 {
		return usagef("the files before and after have no device in common")
	}
	a.reports = reports
	return nil
}

// judgeLeaks reads the files one after another and keeps of each only what
// comparing takes.
func (u *ui) judgeLeaks(names []string, o *leaksOptions, partial *[]string) ([]attribution.LeakReport, error) {
	byDevice := map[int][]*attribution.LeakFile{}
	var devices []int
	short := shortNames(names)
	var missing error
	for i, name := range names {
		s, err := u.loadSnapshot(name, &o.options)
		if err != nil {
			return nil, err
		}
		if s.Partial != nil {
			*partial = append(*partial, displayName(name)+": "+partialText(s))
		}
		timelines, err := replay(s, name, &o.options)
		if err != nil {
			if len(names) == 1 || exitCode(err) != exitUsage {
				return nil, err
			}
			missing = err
			continue
		}
		for _, t := range o.device.withoutIdle(timelines) {
			if caveat := unsoundCaveat(t); caveat != "" {
				u.note(name, caveat)
			}
			d := t.Device.Index
			if byDevice[d] == nil {
				devices = append(devices, d)
			}
			byDevice[d] = append(byDevice[d], attribution.NewLeakFile(short[i], attribution.Classify(s, t)))
		}
	}
	if len(devices) == 0 && missing != nil {
		return nil, missing
	}
	slices.Sort(devices)
	var reports []attribution.LeakReport
	for _, d := range devices {
		r := attribution.LeaksAcross(byDevice[d])
		if n := len(byDevice[d]); n < len(names) {
			r.Notes = append(r.Notes, fmt.Sprintf("%d of %d files have memory on device %d", n, len(names), d))
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// shortNames are the files' names without folders, where these tell them apart.
func shortNames(names []string) []string {
	short, seen := make([]string, len(names)), map[string]bool{}
	for i, name := range names {
		short[i] = filepath.Base(displayName(name))
		if seen[short[i]] {
			return names
		}
		seen[short[i]] = true
	}
	return short
}
