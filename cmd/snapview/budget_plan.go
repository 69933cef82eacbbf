package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/viewer"
	"github.com/spf13/cobra"
)

// budgetPlanOptions are the flags of budget plan.
type budgetPlanOptions struct {
	modelOptions
	model      string
	out        string
	budgetOut  string
	draws      int
	seed       uint64
	requireFit bool
	example    bool
}

//go:embed plan_example.yaml
var planExample string

func newBudgetPlan() *cobra.Command {
	o := &budgetPlanOptions{}
	cmd := &cobra.Command{
		Use:   "plan PLAN",
		Short: "Which configuration on which GPU, at what cost, how sure, and what is promised",
		Long: `Works out a plan: configurations × GPUs, with what each needs, what it costs, and how
likely it is to need more than the card has, by Monte Carlo with a fixed seed; what to
change when memory does not suffice, and what that frees; and a commitment document.
--example prints a plan to start from.

Memory comes from a fitted model (snapview budget fit) or from the estimate. -o writes
the commitment, as Markdown or as a page by the end of the name; --budget-out writes the
gates that snapview check holds runs to.

A plan that nothing fits is an answer, with exit code 0; --require-fit makes it a gate,
with exit code 3 when the promised configuration cannot be promised.`,
		Example: `  snapview budget plan --example > plan.yaml
  snapview budget plan plan.yaml
  snapview budget plan plan.yaml --model model.json -o plan.html --budget-out budget.yaml
  snapview budget plan plan.yaml --require-fit --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.example && len(args) == 0 {
				return nil
			}
			return oneFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetPlan(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags)
	flags.StringVar(&o.model, "model", "", "a fitted model (or points): `FILE` instead of the plan's model")
	flags.StringVarP(&o.out, "output", "o", "", "write the commitment to `FILE.md` or FILE.html")
	flags.StringVar(&o.budgetOut, "budget-out", "", "write the gates for snapview check to `FILE.yaml`")
	flags.IntVar(&o.draws, "draws", 0, "`N` draws of the simulation (default that of the plan, 10000)")
	flags.Uint64Var(&o.seed, "seed", 0, "`SEED` of the simulation (default that of the plan, 1)")
	flags.BoolVar(&o.requireFit, "require-fit", false, "exit with 3 when the promised configuration cannot be promised")
	flags.BoolVar(&o.example, "example", false, "print a plan with comments, and do nothing else")
	return cmd
}

func runBudgetPlan(cmd *cobra.Command, o *budgetPlanOptions, args []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if o.example {
		_, err := io.WriteString(u.out, planExample)
		return err
	}
	if err := o.check(cmd); err != nil {
		return err
	}
	r, err := o.run(cmd, u, args[0])
	if err != nil {
		return err
	}
	if err := o.write(cmd, r); err != nil {
		return err
	}
	if o.json {
		err = writeJSON(u.out, o.planJSON(r))
	} else {
		_, err = fmt.Fprint(u.out, u.planText(r)+o.writtenText())
	}
	if err != nil {
		return err
	}
	if problems := r.Problems(); o.requireFit && len(problems) > 0 {
		return codedError{exitGate, errors.New("the plan cannot be promised: " + strings.Join(problems, "; "))}
	}
	return nil
}

// check refuses flags that would fail after the work, or destroy a file.
func (o *budgetPlanOptions) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("draws") && (o.draws < 100 || o.draws > 1_000_000) {
		return usagef("--draws %d: from 100 to 1,000,000", o.draws)
	}
	if cmd.Flags().Changed("output") {
		switch ext := strings.ToLower(filepath.Ext(o.out)); ext {
		case ".md", ".html":
		default:
			return usagef("-o %s: name a file that ends in .md or .html", o.out)
		}
		if err := mayReplace(o.out, "-o", "# Memory commitment", "<!DOCTYPE html>"); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("budget-out") {
		return mayReplace(o.budgetOut, "--budget-out", budget.BudgetHead)
	}
	return nil
}

// mayReplace refuses to write over a file that did not come from here: it has to begin
// like one that did.
func mayReplace(path, flag string, heads ...string) error {
	if path == "" {
		return usagef("%s: no name given; name a file, or leave it out", flag)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkFolder(path)
	case err == nil && info.IsDir():
		return usagef("%s: is a directory; name a file with %s", path, flag)
	case err != nil || !info.Mode().IsRegular() || info.Size() == 0:
		return nil // writing tells
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	begin := make([]byte, 64)
	n, _ := io.ReadFull(f, begin)
	for _, head := range heads {
		if bytes.HasPrefix(begin[:n], []byte(head)) {
			return nil
		}
	}
	return usagef("%s: is there and was not written by budget plan; name another file with %s", path, flag)
}

// run reads the plan and what it refers to, and works it out.
func (o *budgetPlanOptions) run(cmd *cobra.Command, u *ui, name string) (*budget.PlanResult, error) {
	data, err := readWith(u, name, readSmall)
	if err != nil {
		return nil, err
	}
	p, err := budget.ParsePlan(displayName(name), data)
	if err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("draws") {
		p.Vary.Draws = o.draws
	}
	if cmd.Flags().Changed("seed") {
		p.Vary.Seed = o.seed
	}
	in := budget.PlanInput{ModelName: beside(name, p.ModelFile)}
	if o.model != "" {
		in.ModelName = o.model
	}
	if in.ModelName != "" {
		if in.Model, err = readWith(u, in.ModelName, budget.ReadModel); err != nil {
			return nil, err
		}
	}
	if file := beside(name, p.ConfigFile); file != "" {
		data, err := readWith(u, file, readSmall)
		if err != nil {
			return nil, err
		}
		c, err := budget.ParseConfig(displayName(file), data)
		if err != nil {
			return nil, err
		}
		in.Config = &c
	}
	return p.Run(in)
}

// readSmall reads a file that a person writes, and no more than is needed to tell that
// one is too large.
func readSmall(r io.Reader, _ string) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, maxConfig+1))
}

// beside is a path that a file names, relative to that file.
func beside(file, path string) string {
	if path == "" || filepath.IsAbs(path) || file == "-" {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// write writes the documents that were asked for.
func (o *budgetPlanOptions) write(cmd *cobra.Command, r *budget.PlanResult) error {
	if o.budgetOut != "" {
		if _, err := writeFile(cmd.Context(), o.budgetOut, r.WriteBudget); err != nil {
			return inFile(o.budgetOut, err)
		}
	}
	if o.out == "" {
		return nil
	}
	c := r.Commitment(o.budgetOut)
	_, err := writeFile(cmd.Context(), o.out, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(o.out), ".md") {
			return writeCommitmentMarkdown(w, c)
		}
		return viewer.WriteCommitment(w, c, currentVersion().Version)
	})
	if err != nil {
		return inFile(o.out, err)
	}
	return nil
}

func (o *budgetPlanOptions) writtenText() string {
	var b strings.Builder
	if o.out != "" {
		b.WriteString("\ncommitment " + displayName(o.out) + "\n")
	}
	if o.budgetOut != "" {
		if o.out == "" {
			b.WriteString("\n")
		}
		b.WriteString("gates      " + displayName(o.budgetOut) + ", for snapview check FILE --budget " + shellWord(o.budgetOut) + "\n")
	}
	return b.String()
}
