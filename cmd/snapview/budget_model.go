package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// modelOptions are the options of the commands about measured points.
type modelOptions struct {
	json   bool
	colour string
	set    map[string]string
}

func (o *modelOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.StringVar(&o.colour, "color", "auto", "`WHEN` to colour the text: auto, always or never")
}

func (o *modelOptions) registerSet(flags *pflag.FlagSet) {
	flags.StringToStringVar(&o.set, "set", nil, "`KEY=VALUE` of the configuration, such as batch=8; may be given several times")
}

func (o *modelOptions) start(cmd *cobra.Command) (*ui, error) {
	return newUI(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o.colour)
}

// readWith reads the file called name, decompressed.
func readWith[T any](u *ui, name string, read func(io.Reader, string) (T, error)) (T, error) {
	var none T
	f, err := u.openFile(name)
	if err != nil {
		return none, err
	}
	defer f.Close()
	v, err := read(f, displayName(name))
	if err != nil {
		return none, inFile(name, err)
	}
	return v, nil
}

// checkModelOutput refuses to replace a file that is no model: a shell pattern after
// -o would otherwise destroy the points it matched first.
func checkModelOutput(cmd *cobra.Command, path string) error {
	switch {
	case path == "" && cmd.Flags().Changed("output"):
		return usagef("-o: no name given; name a file, or leave -o out")
	case path == "":
		return nil
	case path == "-":
		return usagef("-o -: the answer itself goes to stdout; name a file, or use --json")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkFolder(path)
	case err != nil || info.Size() == 0 && info.Mode().IsRegular() || !info.IsDir() && !info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return usagef("%s: is a directory; name a file with -o", path)
	}
	f, err := input.Open(path)
	if err != nil {
		return inFile(path, err)
	}
	defer f.Close()
	if !budget.IsModel(f.Head) {
		return usagef("%s: is there and no fitted model; name another file with -o", path)
	}
	return nil
}

// factLines writes a name and what is said about it, wrapped beside it.
func (u *ui) factLines(b *strings.Builder, name string, parts ...string) {
	for _, line := range wrap(parts, u.width-factIndent) {
		b.WriteString(strings.TrimRight(pad(name, factIndent)+line, " ") + "\n")
		name = ""
	}
}

// errorPercent is an error as a percentage with two significant digits: "0.22%".
func errorPercent(v float64) string {
	v *= 100
	switch {
	case v >= 9.95 || v <= -9.95:
		return fmt.Sprintf("%.0f%%", v)
	case v >= 0.995 || v <= -0.995:
		return fmt.Sprintf("%.1f%%", v)
	}
	return fmt.Sprintf("%.2f%%", v)
}

// runText names a point: its line and its keys.
func runText(p *budget.Point) string {
	text := strings.Join(p.Keys(), " ")
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: ", p.Line) + text
	}
	return units.Safe(text)
}
