package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/snapview/snapview/viewer"
	"github.com/spf13/cobra"
)

// phasesOptions are what phases adds to the common options.
type phasesOptions struct {
	options
	before, forward, backward, step string
	out                             string
}

func newPhases() *cobra.Command {
	o := &phasesOptions{}
	cmd := &cobra.Command{
		Use:   "phases --before A --backward B --step C [--forward F]",
		Short: "Parameters, gradients, optimizer state and activations from snapshots around a step",
		Long: `What a training step needs, from three snapshots of one run: with the model
built, after a backward, and after the optimizer's step. Allocations are followed
from one to the next by their birth in the history that they share.

Activations are what the forward saved for the backward, worked out from the
history between the first two snapshots, or from one taken after the forward.`,
		Example: `  snapview phases --before init.pickle --backward backward.pickle --step step.pickle
  snapview phases --before init.pickle --forward forward.pickle --backward backward.pickle --step step.pickle --json`,
		Args: noFiles,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPhases(cmd, o) },
	}
	flags := cmd.Flags()
	o.register(flags, 10, "at most `N` lines of code, 0 for all (default 10)")
	flags.StringVar(&o.before, "before", "", "snapshot `FILE` with the model built, before the forward")
	flags.StringVar(&o.forward, "forward", "", "snapshot `FILE` after the forward (optional)")
	flags.StringVar(&o.backward, "backward", "", "snapshot `FILE` after the backward")
	flags.StringVar(&o.step, "step", "", "snapshot `FILE` after the optimizer's step")
	flags.StringVarP(&o.out, "output", "o", "", "also write a page to `FILE.html`")
	return cmd
}

func runPhases(cmd *cobra.Command, o *phasesOptions) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	names := []string{o.before, o.forward, o.backward, o.step}
	for i, flag := range []string{"--before", "", "--backward", "--step"} {
		if flag != "" && names[i] == "" {
			return usagef("phases needs %s; see snapview phases --help", flag)
		}
	}
	if err := o.checkPage(cmd, o.out, names); err != nil {
		return err
	}
	var files [4]*snapshot.Snapshot
	for i, name := range names {
		if name == "" {
			continue
		}
		if files[i], err = u.loadSnapshot(name, &o.options); err != nil {
			return err
		}
	}
	in := attribution.PhaseInput{Before: files[0], Forward: files[1], Backward: files[2], Step: files[3]}
	results, err := o.threePhases(in)
	if err != nil {
		return err
	}
	for _, r := range results {
		for _, n := range r.Notes {
			u.note(o.backward, deviceNote(r.Device, len(results), n))
		}
	}
	if o.out != "" {
		page := phasesPage(names, results)
		if err := u.writeExtraPage(cmd, o.out, func(w io.Writer) error { return viewer.WritePage(w, page) }); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(u.out, phasesJSON(files[:], results, &o.options))
	}
	_, err = fmt.Fprint(u.out, u.partialLines(files[:])+u.threePhasesText(results, &o.options))
	return err
}

// threePhases answers for the devices of the step that the backward has too.
func (o *phasesOptions) threePhases(in attribution.PhaseInput) ([]attribution.PhaseResult, error) {
	devices, err := sharedDevices(in.Backward, in.Step, o.device)
	if err != nil {
		return nil, err
	}
	var results []attribution.PhaseResult
	var idle error
	for _, d := range devices {
		in.Device = d
		r, err := attribution.ThreePhases(in)
		switch {
		case errors.Is(err, attribution.ErrSameMoment) && len(devices) > 1:
			idle = err // the run may compute on another device
		case err != nil:
			return nil, err
		default:
			results = append(results, r)
		}
	}
	if len(results) == 0 {
		return nil, idle
	}
	return results, nil
}

// sharedDevices are the devices with memory or history that both snapshots have.
func sharedDevices(a, b *snapshot.Snapshot, flag deviceFlag) ([]int, error) {
	if _, err := flag.pick(a); err != nil {
		return nil, err
	}
	devices, err := flag.pick(b)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, d := range devices {
		idle := flag == allDevices && len(d.Segments) == 0 && len(d.Events) == 0
		if !idle && slices.ContainsFunc(a.Devices, func(x *snapshot.Device) bool { return x.Index == d.Index }) {
			out = append(out, d.Index)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s and %s have no device in common: give snapshots of one rank", displayName(a.Source.Name), displayName(b.Source.Name))
	}
	return out, nil
}

// loadSnapshot opens and reads the file called name.
func (u *ui) loadSnapshot(name string, o *options) (*snapshot.Snapshot, error) {
	f, err := u.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return u.readSnapshot(f, name, o)
}

// checkPage checks the argument of -o before any work is done.
func (o *options) checkPage(cmd *cobra.Command, out string, inputs []string) error {
	switch {
	case out == "" && cmd.Flags().Changed("output"):
		return usagef("-o: no name given; name a file, or leave -o out")
	case out == "":
		return nil
	case out == "-":
		return usagef("-o -: the answer itself goes to stdout; name a file")
	}
	return checkOutput(out, slices.DeleteFunc(slices.Clone(inputs), func(s string) bool { return s == "" }))
}

// writeExtraPage writes an HTML page beside the answer on stdout.
func (u *ui) writeExtraPage(cmd *cobra.Command, path string, write func(io.Writer) error) error {
	if _, err := writeFile(cmd.Context(), path, write); err != nil {
		return inFile(path, err)
	}
	return nil
}

func deviceNote(device, devices int, text string) string {
	if devices == 1 {
		return text
	}
	return fmt.Sprintf("device %d: %s", device, text)
}

// phasesTable is the JSON of phases for one device; bytes are requested bytes.
type phasesTable struct {
	Device     int              `json:"device"`
	Partial    string           `json:"partial,omitempty"`
	Totals     map[string]int64 `json:"totals"`
	Total      int64            `json:"total_bytes"`
	Peak       phasesPeak       `json:"peak"`
	Boundaries []phasesBoundary `json:"boundaries"`
	Exact      bool             `json:"exact"`
	AllRows    int              `json:"total_rows"` // before -n
	Rows       []phasesRow      `json:"rows"`
	Notes      []string         `json:"notes,omitempty"`
}

type phasesPeak struct {
	Phase string `json:"phase"`
	Bytes int64  `json:"bytes"`
}

type phasesBoundary struct {
	Phase         string `json:"phase"`
	Bytes         int64  `json:"bytes"`
	Reconstructed bool   `json:"reconstructed"`
}

type phasesRow struct {
	Category string `json:"category"`
	File     string `json:"file"`
	Line     int32  `json:"line"`
	Function string `json:"function"`
	Bytes    int64  `json:"bytes"`
	Count    int    `json:"count"`
}

// phasesJSON is one object for one device and a list otherwise.
func phasesJSON(files []*snapshot.Snapshot, results []attribution.PhaseResult, o *options) any {
	tables := make([]phasesTable, len(results))
	for i, r := range results {
		t := phasesTable{
			Device: r.Device, Partial: partialTexts(files), Totals: map[string]int64{}, Total: r.Total, Peak: phasesPeak{r.Peak.Phase, r.Peak.Bytes},
			Exact: r.Exact, AllRows: len(r.Rows), Rows: []phasesRow{}, Notes: r.Notes,
		}
		for _, c := range attribution.Categories() {
			t.Totals[c.String()] = r.Totals[c]
		}
		for _, b := range r.Boundaries {
			t.Boundaries = append(t.Boundaries, phasesBoundary{b.Phase, b.Bytes, b.Reconstructed})
		}
		for _, x := range r.Rows[:o.rows.limit(len(r.Rows))] {
			t.Rows = append(t.Rows, phasesRow{x.Category.String(), x.File, x.Line, x.Function, x.Bytes, x.Count})
		}
		tables[i] = t
	}
	if len(tables) == 1 {
		return tables[0]
	}
	return tables
}

func (u *ui) threePhasesText(results []attribution.PhaseResult, o *options) string {
	var b strings.Builder
	for i := range results {
		r := &results[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		title := fmt.Sprintf("device %d: %s", r.Device, phasesTitle(r))
		if r.Peak.Bytes > 0 {
			title += fmt.Sprintf(", peak %s%s", units.Bytes(r.Peak.Bytes), inPhase(r.Peak.Phase))
		}
		b.WriteString(u.style(bold, title) + "\n")
		b.WriteString(u.phaseTotals(r))
		b.WriteString("\n" + u.wrapped(phaseBoundaries(r)) + "\n")
		b.WriteString(u.phaseRows(r, o))
	}
	return b.String()
}

// phasesTitle calls it a training step only when the history shows one.
func phasesTitle(r *attribution.PhaseResult) string {
	switch {
	case r.Wrong != "":
		return "a snapshot is of another phase than it was given as (see the notes)"
	case r.SeenStep:
		return "a training step"
	}
	return "what changed around a step that the history does not show"
}

// partialTexts says which of the files could not be read to their end and why;
// "" when all could.
func partialTexts(files []*snapshot.Snapshot) string {
	var texts []string
	for _, s := range files {
		if s == nil || s.Partial == nil {
			continue
		}
		if text := displayName(s.Source.Name) + ": " + partialText(s); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// partialLines head the text output when a file is not whole.
func (u *ui) partialLines(files []*snapshot.Snapshot) string {
	text := partialTexts(files)
	if text == "" {
		return ""
	}
	return u.style(alarm, "PARTIAL") + " " + units.Safe(text) + "\n"
}

func inPhase(phase string) string {
	switch phase {
	case "":
		return ""
	case "before":
		return " before the forward"
	}
	return " in the " + phase
}

func (u *ui) phaseTotals(r *attribution.PhaseResult) string {
	t := newTable(right, right, left)
	t.header("requested", "share", "category")
	for _, c := range attribution.Categories() {
		if n := r.Totals[c]; n != 0 {
			t.row(units.Bytes(n), units.Percent(n, r.Total), c.String())
		}
	}
	t.row(units.Bytes(r.Total), units.Percent(r.Total, r.Total), u.style(bold, "total"))
	return t.String()
}

// phaseBoundaries says what was alive between the phases.
func phaseBoundaries(r *attribution.PhaseResult) string {
	var parts []string
	for _, b := range r.Boundaries {
		name := "after the " + b.Phase
		if b.Phase == "before" {
			name = "before"
		}
		parts = append(parts, name+" "+units.Bytes(b.Bytes))
	}
	return "alive " + strings.Join(parts, ", ")
}

func (u *ui) phaseRows(r *attribution.PhaseResult, o *options) string {
	shown := o.rows.limit(len(r.Rows))
	if shown == len(r.Rows)-1 && !o.rows.given {
		shown++
	}
	t := newTable(right, right, left, left)
	t.header("requested", "blocks", "category", "line")
	const numbers = 40 // columns that the others take
	for _, x := range r.Rows[:shown] {
		t.row(units.Bytes(x.Bytes), units.Count(x.Count), x.Category.String(), location(x.File, x.Line, x.Function, u.width-numbers))
	}
	if shown < len(r.Rows) {
		var bytes int64
		var count int
		for _, x := range r.Rows[shown:] {
			bytes, count = bytes+x.Bytes, count+x.Count
		}
		t.row(units.Bytes(bytes), units.Count(count), "", ellipsis+" "+plural(len(r.Rows)-shown, "more row"))
	}
	return t.String()
}

// phasesPage lays the results out for the viewer.
func phasesPage(names []string, results []attribution.PhaseResult) viewer.Page {
	p := viewer.Page{Title: "a training step", Version: currentVersion().Version}
	for i, flag := range []string{"before", "forward", "backward", "step"} {
		if names[i] != "" {
			p.Facts = append(p.Facts, flag+": "+displayName(names[i]))
		}
	}
	for i := range results {
		p.Sections = append(p.Sections, viewer.PhaseSection(&results[i]))
	}
	return p
}
