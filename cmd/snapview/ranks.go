package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/viewer"
	"github.com/spf13/cobra"
)

// ranksOptions are what ranks adds to the common options.
type ranksOptions struct {
	options
	at, match, memory, out string
}

func newRanks() *cobra.Command {
	o := &ranksOptions{}
	cmd := &cobra.Command{
		Use:   "ranks DIR|FILE…",
		Short: "Many ranks: one row each, which is unusual and by which line, totals over all",
		Long: `Compare the memory snapshots of the ranks of a job, one file or more a rank, in
folders or named. Which rank limits the job, which one is unusual and by which
lines, what the ranks hold together.

The rank comes from the file's name (rank3, r03, worker2, node1_gpu3, tp1_pp0),
else from a number by which names differ, else from the device; where none tells,
files are numbered in order. Of several snapshots of a rank (rank0_forward,
rank0_end, iteration_10/rank0) those are compared that most ranks have, the last
of these; --at picks others.

Each rank is compared at its own peak, or at the end when a history shows none.
Unusual is what lies far from the median of the ranks with equal parameters, as
measured by the median absolute deviation. Files are read several at a time as
far as --memory allows.`,
		Example: `  snapview ranks memory_snapshots/
  snapview ranks memory_snapshots/ --at iteration_10 -o ranks.html
  snapview ranks oom_rank*.pickle --json`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return runRanks(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags, tableRows, "at most `N` rows of each table, 0 for all (default 20)")
	flags.StringVar(&o.at, "at", "", "of several snapshots of a rank those named `NAME`, in full or in part")
	flags.StringVar(&o.match, "match", "", "only files whose path holds `TEXT`, or matches it when it has * or ?")
	flags.StringVar(&o.memory, "memory", "", "let reading take up to `SIZE`, such as 8GiB (default half of what is free)")
	flags.StringVarP(&o.out, "output", "o", "", "also write a page to `FILE.html`")
	return cmd
}

func runRanks(cmd *cobra.Command, o *ranksOptions, args []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if slices.Contains(args, "-") {
		return usagef("-: ranks reads folders and files, not standard input; see %s --help", cmd.CommandPath())
	}
	bound, err := o.bound()
	if err != nil {
		return err
	}
	if err := o.checkPage(cmd, o.out, args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := u.readRanks(ctx, o, args, bound)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := u.writeExtraPage(cmd, o.out, func(w io.Writer) error { return viewer.WriteRanks(w, ranksPage(&r, args)) }); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(u.out, newRanksJSON(&r, o))
	}
	_, err = fmt.Fprint(u.out, u.ranksText(&r, o))
	return err
}

// bound is how much memory reading may take, in bytes.
func (o *ranksOptions) bound() (int64, error) {
	if o.memory == "" {
		return availableMemory() / 2, nil
	}
	n, err := units.ParseBytes(o.memory)
	if err != nil {
		return 0, usagef("--memory: %w", err)
	}
	if n == 0 {
		return 0, usagef("--memory: reading takes some memory; give a size such as 8GiB")
	}
	return n, nil
}

// readRanks finds, reads and compares. It fails when nothing could be read.
func (u *ui) readRanks(ctx context.Context, o *ranksOptions, args []string, bound int64) (attribution.RankReport, error) {
	var none attribution.RankReport
	sources, skipped, err := attribution.FindRanks(ctx, args, o.match)
	if err != nil {
		return none, ranksError(err, "--match")
	}
	// The collector works harder as the bound is neared, instead of letting the
	// heap grow to a multiple of what is in use.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(bound))
	bar := u.newProgress(plural(len(sources), "snapshot"))
	defer bar.finish()
	set, err := attribution.ReadRanks(ctx, sources, skipped, attribution.RankOptions{
		At: o.at, Device: int(o.device), Partial: o.partial, Memory: bound, Progress: bar.update,
	})
	bar.finish()
	if err != nil {
		return none, ranksError(err, "--at")
	}
	if len(set.Rows) == 0 {
		return none, nothingRead(&set, args, o)
	}
	return attribution.Ranks(set), nil
}

// ranksError says which flag was wrong.
func ranksError(err error, flag string) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return usagef("%s: %w", flag, err)
}

// nothingRead says why there is no rank to show.
func nothingRead(set *attribution.RankSet, args []string, o *ranksOptions) error {
	where := strings.Join(args[:min(len(args), 3)], ", ")
	switch n := len(set.Failed); {
	case n == 1:
		return inFile(set.Failed[0].File, set.Failed[0].Err)
	case n > 1:
		return fmt.Errorf("none of %d snapshots could be read; the first: %w", n, inFile(set.Failed[0].File, set.Failed[0].Err))
	case o.device != allDevices:
		return usagef("--device %d: no snapshot has it", o.device)
	case set.Skipped.Files() > 0:
		hint := ""
		if set.Skipped[input.ChromeTrace.Describe()] > 0 {
			hint = "; for traces see snapview trace"
		}
		return fmt.Errorf("%s: no memory snapshot among %s (%s); ranks compares what torch.cuda.memory._dump_snapshot writes%s",
			where, plural(set.Skipped.Files(), "file"), skippedText(set.Skipped), hint)
	case o.match != "":
		return fmt.Errorf("%s: no file matches --match %s", where, o.match)
	}
	return fmt.Errorf("%s: no files; name the folder that the ranks wrote to", where)
}

// skippedText lists what folders hold besides snapshots: "8 × a chrome trace".
func skippedText(s attribution.RankSkipped) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s × %s", units.Count(s[kind]), kind))
	}
	return strings.Join(parts, ", ")
}
