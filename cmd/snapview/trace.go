package main

import (
	"fmt"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
	"github.com/spf13/cobra"
)

// traceOptions are the options of trace. Its tables are of all devices.
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
operator runs. It knows --by op, shape and stack.

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
	o.rows.n = tableRows
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.VarP(&o.rows, "rows", "n", "at most `N` rows, 0 for all (default 20)")
	flags.StringVar(&o.colour, "color", "auto", "`WHEN` to colour the text: auto, always or never")
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
	table := t.Table(profiler.TableOptions{By: by, StackDepth: o.depth, TorchCompat: o.compat})
	sortBy(table.Rows, o.sort)
	for _, n := range table.Notes {
		u.note(name, n)
	}
	if o.json {
		return writeJSON(u.out, o.traceJSON(t, table))
	}
	_, err = fmt.Fprint(u.out, u.traceText(t, table, o))
	return err
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
