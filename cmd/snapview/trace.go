package main

import (
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
	"github.com/spf13/cobra"
)

// traceOptions are what trace adds to the common options.
type traceOptions struct {
	options
	by, sort string
	depth    int
	compat   bool
}

func newTrace() *cobra.Command {
	o := &traceOptions{}
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "The profiler's table from a trace: by operator, stack, line, module, category or kernel",
		Long: `The table of a trace that torch.profiler exported: memory and time by operator,
by operator and input shapes, by stack, by line of your code, by nn.Module, by
what the memory is for, or by kernel.

Memory goes to the operator that allocates or frees it, on its own thread.
--torch-compat counts as key_averages() does: all memory of any thread while an
operator runs, so that memory counts more than once or not at all and no sum is
what a device held. It knows --by op, shape and stack.

allocated and freed are gross; self is without what a row calls. peak is the most
that was live while one call ran; kept is what calls left behind, summed over
calls, with what they called. --device N takes the memory of that device alone;
times stay those of all. A trace is read around damage, with notes, with or
without --partial.

--sort takes a column: ` + traceColumnNames() + `.
Without it the rows with the most memory come first, then those with the most time.`,
		Example: `  snapview trace trace.json
  snapview trace trace.json.gz --by line -n 10
  snapview trace trace.json --torch-compat --sort self-device
  snapview trace trace.json --by stack --stack-depth 3 --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runTrace(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags, tableRows, "at most `N` rows, 0 for all (default 20)")
	flags.Lookup("device").Usage = "memory of device `N` only"
	flags.Lookup("partial").Usage = "accepted: traces are always read around damage"
	flags.StringVar(&o.by, "by", "op", "`WHAT` a row is: op, shape, stack, line, module, category or kernel")
	flags.StringVar(&o.sort, "sort", "", "sort by this `COLUMN`, the largest first")
	flags.IntVar(&o.depth, "stack-depth", profiler.DefaultStackDepth, "frames that tell rows of --by stack apart")
	flags.BoolVar(&o.compat, "torch-compat", false, "count memory and time as key_averages() does")
	return cmd
}

func runTrace(cmd *cobra.Command, o *traceOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	by, err := o.check()
	if err != nil {
		return err
	}
	t, err := u.openTrace(name)
	if err != nil {
		return err
	}
	if err := o.device.keepMemory(t); err != nil {
		return inFile(name, err)
	}
	table := t.Table(profiler.TableOptions{By: by, StackDepth: o.depth, TorchCompat: o.compat})
	table.Rows = slices.DeleteFunc(table.Rows, saysNothing)
	sortBy(table.Rows, o.sort)
	table.Notes = append(table.Notes, o.moreNotes(t, table)...)
	for _, n := range table.Notes {
		u.note(name, n)
	}
	if o.json {
		return writeJSON(u.out, o.traceJSON(t, table))
	}
	_, err = fmt.Fprint(u.out, u.traceText(t, table, o))
	return err
}

// keepMemory leaves the memory of the device asked for in a trace.
func (d deviceFlag) keepMemory(t *profiler.Trace) error {
	if d == allDevices {
		return nil
	}
	ledgers, err := d.pickLedgers(t.Ledgers())
	if err != nil {
		return err
	}
	t.KeepMemory(func(e *profiler.MemoryEvent) bool {
		return slices.ContainsFunc(ledgers, func(l profiler.Ledger) bool { return l.Type == e.Type && l.Device == int(e.Device) })
	})
	return nil
}

// saysNothing reports whether all numbers of a row are zero.
func saysNothing(r profiler.Row) bool {
	return !slices.ContainsFunc(traceColumns, func(c traceColumn) bool { return c.value(&r) != 0 })
}

// moreNotes are notes on a table that depend on what was asked for.
func (o *traceOptions) moreNotes(t *profiler.Trace, table profiler.Table) []string {
	stacks := slices.ContainsFunc(table.Rows, func(r profiler.Row) bool { return len(r.Stack) > 0 })
	switch {
	case o.compat && table.By == profiler.ByStack && !stacks && len(table.Rows) > 0:
		return []string{"no operator carries its stack, so --torch-compat has none: record with with_stack=True and experimental_config=_ExperimentalConfig(verbose=True), or leave --torch-compat out"}
	case table.By == profiler.ByCategory:
		return assumedNote(t.Categorize())
	}
	return nil
}

// assumedNote says how much memory has its category by assumption alone.
func assumedNote(c profiler.Categories) []string {
	if n := c.AssumedBytes(); n > 0 {
		return []string{units.Bytes(n) + " from before the trace are never freed in it: their category is assumed"}
	}
	return nil
}

// check checks the options, before a large file is read for nothing.
func (o *traceOptions) check() (profiler.By, error) {
	by, err := profiler.ParseBy(o.by)
	if err != nil {
		return 0, usagef("--by: %w", err)
	}
	if o.compat && by > profiler.ByStack {
		return 0, usagef("--torch-compat: key_averages() has no table by %s; use --by op, shape or stack, or leave --torch-compat out", by)
	}
	if o.depth < 1 {
		return 0, usagef("--stack-depth %d: must be at least 1", o.depth)
	}
	if _, ok := findColumn(o.sort); o.sort != "" && !ok && o.sort != "name" {
		return 0, usagef("--sort %s: no such column; use %s", o.sort, traceColumnNames())
	}
	return by, nil
}

// openTrace reads the trace in the file called name.
func (u *ui) openTrace(name string) (*profiler.Trace, error) {
	f, err := u.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := refuseTimeline(f, name); err != nil {
		return nil, err
	}
	return u.readTrace(f, name)
}

// readTrace reads a trace. What was read around and where the file ends too
// early become notes: a trace is of use without a few of its events.
func (u *ui) readTrace(f *input.File, name string) (*profiler.Trace, error) {
	bar := u.newProgress(name)
	defer bar.finish()
	t, err := profiler.Read(f, profiler.Options{Name: displayName(name), Progress: bar.update})
	bar.finish()
	if err != nil {
		return nil, inFile(name, err)
	}
	if t.Partial != nil {
		u.note(name, t.Partial.Error())
	}
	u.noteRepairs(t, name)
	return t, nil
}

// noteRepairs says once for each kind of damage what was read around.
func (u *ui) noteRepairs(t *profiler.Trace, name string) {
	var kinds []string
	first, times, lost := map[string]int64{}, map[string]int{}, map[string]int{}
	for _, r := range t.Repairs {
		if times[r.Kind] == 0 {
			kinds = append(kinds, r.Kind)
			first[r.Kind] = r.Offset
		}
		times[r.Kind]++
		lost[r.Kind] += r.Lost
	}
	for _, kind := range kinds {
		text := fmt.Sprintf("read around damage, %s: %s, first at byte %d", plural(times[kind], "time"), kind, first[kind])
		if lost[kind] > 0 {
			text += ", " + plural(lost[kind], "event") + " lost"
		}
		u.note(name, text)
	}
	if more := t.Repaired - len(t.Repairs); more > 0 {
		u.note(name, "and "+plural(more, "more repair"))
	}
}

// traceLine says what a trace is.
func traceLine(t *profiler.Trace) string {
	text := fmt.Sprintf("%s: profiler trace (%s), %s", units.Safe(displayName(t.Source.Name)), traceFormat(t), plural(t.Counts.Events, "event"))
	if t.Meta.Rank >= 0 && t.Meta.World > 1 {
		text += fmt.Sprintf(", rank %d of %d", t.Meta.Rank, t.Meta.World)
	}
	return text
}
