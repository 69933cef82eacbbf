package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `snapview shows where GPU memory went and which lines hold it. It reads the
memory snapshots that PyTorch writes (torch.cuda.memory._dump_snapshot) and the
segment lists of torch.cuda.memory_snapshot(), the traces that torch.profiler
exports, and training logs, compressed or not. FILE may be "-" for standard input.

snapview FILE alone is short for snapview report FILE.

Exit codes: 0 fine, 1 unreadable or bad input, 2 wrong command line, 3 a gate
failed.`

// run is the whole program over its arguments and streams; it returns the exit
// code. The error of a command is printed here and nowhere else.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "snapview: "+errorLine(err))
	}
	return exitCode(err)
}

func newRoot() *cobra.Command {
	o := newReportOptions()
	root := &cobra.Command{
		Use:   "snapview [command] FILE…",
		Short: "Show where GPU memory went",
		Long:  rootLong,
		Example: `  snapview snapshot.pickle
  snapview top snapshot.pickle --at peak`,
		Version:       currentVersion().Version,
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkBareArgs(cmd, args); err != nil {
				return err
			}
			return runReport(cmd, o, args)
		},
	}
	o.register(root.Flags())
	root.SetVersionTemplate(currentVersion().String() + "\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newReport(), newStats(), newTop(), newPhases(), newDiff(), newCategories(), newOOM(), newTrace(), newLeaks(),
		newLog(), newRanks(), newWhatif(), newBudget(), newCheck(), newVersion())
	return root
}

// flagError is the message about a flag that could not be parsed.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := invalid.GetFlag()
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand
		}
		return usagef("%s %s: %w; see %s --help", name, invalid.GetValue(), invalid.Unwrap(), cmd.CommandPath())
	}
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// checkBareArgs tells a mistyped command from a file that is not there.
func checkBareArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no file given; see snapview --help")
	}
	if err := named(args); err != nil {
		return err
	}
	word := args[0]
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, "./\\-") {
		return nil
	}
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return usagef("%s: no such command or file; did you mean snapview %s", word, near[0])
	}
	return usagef("%s: no such command or file; see snapview --help", word)
}

// Options that every command about files has.
type options struct {
	json    bool
	device  deviceFlag
	rows    rowsFlag
	partial bool
	colour  string
}

func (o *options) register(flags *pflag.FlagSet, rows int, rowsHelp string) {
	o.device = allDevices
	o.rows.n = rows
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.Var(&o.device, "device", "only device `N`")
	flags.VarP(&o.rows, "rows", "n", rowsHelp)
	flags.BoolVar(&o.partial, "partial", false, "use what can be read of a truncated or damaged file")
	flags.StringVar(&o.colour, "color", "auto", "`WHEN` to colour the text: auto, always or never")
}

// start checks the options and returns where to write.
func (o *options) start(cmd *cobra.Command) (*ui, error) {
	return newUI(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o.colour)
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s needs one file, not %d; see %[1]s --help", cmd.CommandPath(), len(args))
	}
	return named(args)
}

// named refuses an empty name, which an unset shell variable leaves, and standard
// input twice.
func named(args []string) error {
	if slices.Contains(args, "") {
		return usagef("a file name is empty; name a file, or - for standard input")
	}
	if at := slices.Index(args, "-"); at >= 0 && slices.Contains(args[at+1:], "-") {
		return usagef("-: standard input can be read only once; save it to a file and name that")
	}
	return nil
}

func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs a file; see %[1]s --help", cmd.CommandPath())
	}
	return named(args)
}

func noFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no file; see %[1]s --help", cmd.CommandPath())
	}
	return nil
}
