package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configOptions say which configuration is meant: files, then flags.
type configOptions struct {
	set   map[string]string
	flags map[string]*settingFlag
	keys  bool
}

// A settingFlag is a setting as a flag; With reads its value.
type settingFlag struct {
	setting budget.Setting
	value   string
}

func (f *settingFlag) String() string { return f.value }

func (f *settingFlag) Set(s string) error {
	f.value = s
	return nil
}

// Type is what help calls the value.
func (f *settingFlag) Type() string {
	switch {
	case f.setting.IsFlag():
		return "bool"
	case len(f.setting.Words) > 0:
		return "WORD"
	case f.setting.IsNumber():
		return "N"
	}
	return "NAME"
}

// shownSettings are those with a flag that help lists; all others have one too.
var shownSettings = []string{"model", "params", "batch", "seq", "precision", "optimizer", "attention", "checkpoint", "accumulation",
	"layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "lora_rank", "gpus", "zero", "tensor", "pipeline", "offload", "gpu"}

func (o *configOptions) register(flags *pflag.FlagSet) {
	o.set, o.flags = map[string]string{}, map[string]*settingFlag{}
	shown := map[string]bool{}
	for _, name := range shownSettings {
		shown[name] = true
	}
	for _, s := range budget.Settings() {
		name := strings.ReplaceAll(s.Name, "_", "-")
		help := s.Help
		if len(s.Words) > 0 && !s.IsFlag() {
			help += ": " + strings.Join(s.Known(), ", ")
		}
		v := &settingFlag{setting: s}
		o.flags[s.Name] = v
		flags.Var(v, name, help)
		if s.IsFlag() {
			flags.Lookup(name).NoOptDefVal = "true"
		}
		if !shown[s.Name] {
			_ = flags.MarkHidden(name)
		}
	}
	flags.StringToStringVar(&o.set, "set", nil, "`KEY=VALUE` of a setting; --keys lists them")
	flags.Lookup("set").DefValue = ""
	flags.BoolVar(&o.keys, "keys", false, "list the settings that files, flags and --set know")
}

// read puts the configuration together.
func (o *configOptions) read(cmd *cobra.Command, u *ui, files []string) (budget.Config, error) {
	c := budget.DefaultConfig()
	for _, name := range files {
		var err error
		c, err = readWith(u, name, func(r io.Reader, name string) (budget.Config, error) {
			data, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
			if err != nil {
				return c, err
			}
			return c.Read(name, data)
		})
		if err != nil {
			return c, err
		}
	}
	set := map[string]string{}
	for name, value := range o.flags {
		if cmd.Flags().Changed(strings.ReplaceAll(name, "_", "-")) {
			set[name] = value.value
		}
	}
	c, err := c.With(set)
	if err != nil {
		return c, usagef("--%w", err)
	}
	c, err = c.With(o.set)
	if err != nil {
		return c, usagef("--set: %w", err)
	}
	return c, nil
}

// maxConfig is a size beyond which a file is no configuration; the reader says so.
const maxConfig = 4 << 20

// estimateOptions are those of budget estimate.
type estimateOptions struct {
	configOptions
	json   bool
	rows   rowsFlag
	colour string
}

func newBudgetEstimate() *cobra.Command {
	o := &estimateOptions{}
	cmd := &cobra.Command{
		Use:   "estimate [CONFIG…]",
		Short: "The memory of a training step, line by line, from its configuration",
		Long: `Works out what a training step takes, tensor by tensor, and where its peak is. The
step is acted out on a model of PyTorch's caching allocator, in the order in which
PyTorch allocates and frees, so that no rule of thumb is needed; every line has its
formula and its figures. Nothing is measured.

CONFIG is YAML or JSON with settings (--keys lists them), or the config.json of a
Hugging Face model. Later files, then flags, change what earlier ones say.`,
		Example: `  snapview budget estimate --model llama-3-8b --batch 1 --seq 4096 --precision mixed --zero 3 --gpus 8
  snapview budget estimate config.json --batch 8 --seq 512 --precision bf16-amp --gpu a100-80gb
  snapview budget estimate --layers 12 --hidden 768 --heads 12 --vocab 50257 --batch 8 --seq 1024
  snapview budget estimate train.yaml --set checkpoint=full --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetEstimate(cmd, o, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.configOptions.register(flags)
	o.rows.n = estimateRows
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.VarP(&o.rows, "rows", "n", "at most `N` lines of tensors, 0 for all (default 24)")
	flags.StringVar(&o.colour, "color", "auto", "`WHEN` to colour the text: auto, always or never")
	return cmd
}

const estimateRows = 24

func runBudgetEstimate(cmd *cobra.Command, o *estimateOptions, args []string) error {
	u, err := newUI(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o.colour)
	if err != nil {
		return err
	}
	if o.keys {
		_, err := fmt.Fprint(u.out, u.settingsText())
		return err
	}
	if err := named(args); err != nil {
		return err
	}
	c, err := o.read(cmd, u, args)
	if err != nil {
		return err
	}
	l, err := budget.Estimate(c)
	if err != nil {
		return usagef("%w", err)
	}
	if o.json {
		return writeJSON(u.out, estimateJSON(&l))
	}
	_, err = fmt.Fprint(u.out, u.estimateText(&l, o.rows))
	return err
}

// settingsText lists the settings with what they may be.
func (u *ui) settingsText() string {
	var b strings.Builder
	group := ""
	for _, s := range budget.Settings() {
		if s.Group != group {
			if group != "" {
				b.WriteString("\n")
			}
			group = s.Group
			b.WriteString(u.style(bold, group) + "\n")
		}
		help := s.Help
		if len(s.Words) > 0 {
			help += ": " + strings.Join(s.Known(), ", ")
		}
		for i, line := range wrap(words(help), u.width-keyIndent) {
			name := ""
			if i == 0 {
				name = "  " + s.Name
			}
			b.WriteString(strings.TrimRight(pad(name, keyIndent)+line, " ") + "\n")
		}
	}
	models := strings.Join(budget.KnownModels(), ", ")
	b.WriteString("\n" + u.style(bold, "known models") + "\n")
	for _, line := range wrap(afterCommas(models), u.width-2) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	var cards []string
	for _, c := range budget.Cards() {
		cards = append(cards, c.Name+" ("+units.Bytes(c.Bytes)+")")
	}
	b.WriteString("\n" + u.style(bold, "known cards") + "\n")
	for _, line := range wrap(afterCommas(strings.Join(cards, ", ")), u.width-2) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// keyIndent is where the text of a setting begins.
const keyIndent = 20
