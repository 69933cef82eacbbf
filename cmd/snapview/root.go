package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `snapview shows where GPU memory went and which lines hold it. It reads the
memory snapshots that PyTorch writes (torch.cuda.memory._dump_snapshot) and the
segment lists of torch.cuda.memory_snapshot(), compressed or not. FILE may be
"-" for standard input.

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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newReport(), newStats(), newTop(), newVersion())
	return root
}

// checkBareArgs tells a mistyped command from a file that is not there.
func checkBareArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no file given; see snapview --help")
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
	rows    int
	partial bool
	colour  string
}

func (o *options) register(flags *pflag.FlagSet, rows int, rowsHelp string) {
	o.device = allDevices
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.Var(&o.device, "device", "only device `N`")
	flags.IntVarP(&o.rows, "rows", "n", rows, rowsHelp)
	flags.BoolVar(&o.partial, "partial", false, "use what can be read of a truncated or damaged file")
	flags.StringVar(&o.colour, "color", "auto", "`WHEN` to colour the text: auto, always or never")
}

func (o *options) check() error {
	if o.rows < 0 {
		return usagef("-n %d: a number of rows cannot be negative; 0 shows all", o.rows)
	}
	return nil
}

// limit cuts n rows to what -n allows.
func (o *options) limit(n int) int {
	if o.rows == 0 {
		return n
	}
	return min(n, o.rows)
}

// start checks the options and returns where to write.
func (o *options) start(cmd *cobra.Command) (*ui, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return newUI(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o.colour)
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s needs one file, not %d; see %[1]s --help", cmd.CommandPath(), len(args))
	}
	return nil
}

func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs a file; see %[1]s --help", cmd.CommandPath())
	}
	return nil
}

func noFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no file; see %[1]s --help", cmd.CommandPath())
	}
	return nil
}
