package main

import (
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

// diffOptions are what diff adds to the common options.
type diffOptions struct {
	options
	by, at, out string
}

func newDiff() *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "What changed between two snapshots: by line, function, file, module or category",
		Long: `What B holds and A does not, and the other way round, in requested bytes. The two
may be of one run or of two. A device that one of them lacks held nothing there;
two snapshots of one device each are compared whatever its index. Rows sum to the change. A line that moved within its
function counts as the same line.

` + momentHelp,
		Example: `  snapview diff before.pickle after.pickle
  snapview diff before.pickle after.pickle --at peak --by function
  snapview diff before.pickle after.pickle -n 0 --json`,
		Args: twoFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags, tableRows, "at most `N` rows, 0 for all (default 20)")
	flags.StringVar(&o.by, "by", "line", "`WHAT` to compare: line, frame, function, file, module or category")
	flags.StringVar(&o.at, "at", "end", "`MOMENT`: end, start, peak, oom, an event or a time")
	flags.StringVarP(&o.out, "output", "o", "", "also write a page to `FILE.html`")
	return cmd
}

func twoFiles(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usagef("%s needs two files, not %d; see %[1]s --help", cmd.CommandPath(), len(args))
	}
	if args[0] == "-" && args[1] == "-" {
		return usagef("standard input can be only one of the two; name a file for the other")
	}
	return named(args)
}

func runDiff(cmd *cobra.Command, o *diffOptions, names []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	by, err := attribution.ParseDiffBy(o.by)
	if err != nil {
		return usagef("--by: %w", err)
	}
	at, err := parseMoment(o.at)
	if err != nil {
		return err
	}
	if err := o.checkPage(cmd, o.out, names); err != nil {
		return err
	}
	var files [2]*snapshot.Snapshot
	for i, name := range names {
		if files[i], err = u.loadSnapshot(name, &o.options); err != nil {
			return err
		}
	}
	results, err := o.compare(files[0], files[1], attribution.DiffOptions{At: at, By: by})
	if err != nil {
		return err
	}
	for _, r := range results {
		for _, n := range r.Notes {
			u.note(names[1], deviceNote(r.Device, len(results), n))
		}
	}
	if o.out != "" {
		page := diffPage(names, results)
		if err := u.writeExtraPage(cmd, o.out, func(w io.Writer) error { return viewer.WritePage(w, page) }); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(u.out, diffJSON(files[:], results, &o.options))
	}
	_, err = fmt.Fprint(u.out, u.partialLines(files[:])+u.diffText(results, &o.options))
	return err
}

// compare answers for the devices that either snapshot has. Two snapshots of
// one device each are compared whatever its index: they may be of two ranks.
func (o *diffOptions) compare(a, b *snapshot.Snapshot, d attribution.DiffOptions) ([]attribution.DiffResult, error) {
	first, err := o.devicesOf(a, b)
	if err != nil {
		return nil, err
	}
	second, err := o.devicesOf(b, a)
	if err != nil {
		return nil, err
	}
	devices := slices.Concat(first, second)
	slices.Sort(devices)
	devices = slices.Compact(devices)
	if len(first) == 1 && len(second) == 1 {
		devices, d.First = second, &first[0]
	}
	if len(devices) == 0 {
		devices = []int{0} // nothing was allocated in either
	}
	var results []attribution.DiffResult
	for _, device := range devices {
		d.Device = device
		r, err := attribution.Diff(a, b, d)
		if err != nil {
			return nil, usagef("--at %s: %w", d.At, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// devicesOf are the devices of s to compare: those with memory or history, or
// the one that was asked for, which at least one of the two must have.
func (o *diffOptions) devicesOf(s, other *snapshot.Snapshot) ([]int, error) {
	if o.device != allDevices {
		if _, err := o.device.pick(s); err != nil {
			if _, missing := o.device.pick(other); missing != nil {
				return nil, err
			}
		}
		return []int{int(o.device)}, nil
	}
	var out []int
	for _, d := range s.Devices {
		if len(d.Segments) > 0 || len(d.Events) > 0 {
			out = append(out, d.Index)
		}
	}
	return out, nil
}

// diffTable is the JSON of diff for one device; bytes are requested bytes.
type diffTable struct {
	Device     int            `json:"device"`
	First      *int           `json:"device_before,omitempty"` // in A, when it is another one
	Partial    string         `json:"partial,omitempty"`
	At         [2]atMoment    `json:"at"` // in A and in B
	By         string         `json:"by"`
	Before     int64          `json:"before_bytes"`
	After      int64          `json:"after_bytes"`
	Delta      int64          `json:"delta_bytes"`
	Summary    []string       `json:"summary"`
	AllRows    int            `json:"total_rows"` // before -n
	Rows       []diffRow      `json:"rows"`
	Categories []diffCategory `json:"categories"`
	Headlines  []diffHeadline `json:"headlines"`
	Settings   []diffSetting  `json:"settings"`
	Notes      []string       `json:"notes,omitempty"`
}

type diffRow struct {
	File        string `json:"file"`
	Line        int32  `json:"line"`
	Function    string `json:"function"`
	Category    string `json:"category"`
	Before      int64  `json:"before_bytes"`
	After       int64  `json:"after_bytes"`
	Delta       int64  `json:"delta_bytes"`
	BeforeCount int    `json:"before_count"`
	AfterCount  int    `json:"after_count"`
	Status      string `json:"status"`
	MovedFrom   int32  `json:"moved_from_line,omitempty"`

	Categories []diffCategory `json:"categories,omitempty"` // when there are several
}

type diffCategory struct {
	Category string `json:"category"`
	Before   int64  `json:"before_bytes"`
	After    int64  `json:"after_bytes"`
	Delta    int64  `json:"delta_bytes"`
}

type diffHeadline struct {
	Name   string `json:"name"`
	Before int64  `json:"before_bytes"`
	After  int64  `json:"after_bytes"`
	Delta  int64  `json:"delta_bytes"`
}

type diffSetting struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// diffJSON is one object for one device and a list otherwise.
func diffJSON(files []*snapshot.Snapshot, results []attribution.DiffResult, o *options) any {
	tables := make([]diffTable, len(results))
	for i := range results {
		tables[i] = newDiffTable(&results[i], o)
		tables[i].Partial = partialTexts(files)
	}
	if len(tables) == 1 {
		return tables[0]
	}
	return tables
}

func newDiffTable(r *attribution.DiffResult, o *options) diffTable {
	t := diffTable{
		Device: r.Device, By: r.By.String(), Before: r.Before, After: r.After, Delta: r.Delta, Summary: r.Summary, AllRows: len(r.Rows),
		Rows: []diffRow{}, Categories: []diffCategory{}, Headlines: []diffHeadline{}, Settings: []diffSetting{}, Notes: r.Notes,
	}
	for i, m := range r.At {
		t.At[i] = atMoment{m.Name, m.Event, m.Time}
	}
	if r.First != r.Device {
		t.First = &r.First
	}
	for _, x := range r.Rows[:o.rows.limit(len(r.Rows))] {
		t.Rows = append(t.Rows, diffRowJSON(&x))
	}
	t.Categories = append(t.Categories, categoryDeltasJSON(r.Categories)...)
	for _, h := range r.Headlines {
		t.Headlines = append(t.Headlines, diffHeadline{h.Name, h.Before, h.After, h.Delta})
	}
	for _, s := range r.Settings {
		t.Settings = append(t.Settings, diffSetting(s))
	}
	return t
}

func diffRowJSON(x *attribution.DiffRow) diffRow {
	row := diffRow{x.File, x.Line, x.Function, x.Category.String(), x.Before, x.After, x.Delta,
		x.BeforeCount, x.AfterCount, x.Status.String(), x.MovedFrom, nil}
	if len(x.Mix) > 1 {
		row.Categories = categoryDeltasJSON(x.Mix)
	}
	return row
}

func categoryDeltasJSON(list []attribution.CategoryDelta) (out []diffCategory) {
	for _, c := range list {
		out = append(out, diffCategory{c.Category.String(), c.Before, c.After, c.Delta})
	}
	return out
}

func (u *ui) diffText(results []attribution.DiffResult, o *options) string {
	var b strings.Builder
	for i := range results {
		if i > 0 {
			b.WriteByte('\n')
		}
		r := &results[i]
		b.WriteString(u.style(bold, diffTitle(r)) + "\n")
		for _, s := range r.Summary {
			b.WriteString(u.wrapped(s))
		}
		if len(r.Headlines) > 0 {
			b.WriteString("\n" + u.diffHeadlines(r))
		}
		b.WriteString("\n" + u.diffRows(r, o))
		if len(r.Settings) > 0 {
			b.WriteString("\n" + u.diffSettings(r))
		}
	}
	return b.String()
}

func diffTitle(r *attribution.DiffResult) string {
	at := r.At[1].Name
	if r.At[0].Name != at {
		at = "event"
	}
	switch at {
	case "end", "peak", "start":
		at = "at the " + at
	case "oom":
		at = "at the last out-of-memory"
	default:
		at = fmt.Sprintf("after events %s and %s", units.Count(r.At[0].Event), units.Count(r.At[1].Event))
	}
	device := fmt.Sprintf("device %d", r.Device)
	if r.First != r.Device {
		device = fmt.Sprintf("device %d of A with device %d of B,", r.First, r.Device)
	}
	return fmt.Sprintf("%s %s: %s to %s, %s", device, at, units.Bytes(r.Before), units.Bytes(r.After), units.Signed(r.Delta))
}

// wrapped breaks a sentence of the summary between two of its places.
func (u *ui) wrapped(text string) string {
	var b strings.Builder
	width := 0
	for i, part := range strings.SplitAfter(text, ", ") {
		w := units.Width(part)
		if i > 0 && width+w > u.width {
			b.WriteString("\n    ")
			width = 4
		}
		b.WriteString(part)
		width += w
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (u *ui) diffHeadlines(r *attribution.DiffResult) string {
	t := newTable(right, right, right, left)
	t.header("change", "before", "after", "number")
	for _, h := range r.Headlines {
		if h.Before != 0 || h.After != 0 {
			t.row(units.Signed(h.Delta), units.Bytes(h.Before), units.Bytes(h.After), h.Title)
		}
	}
	return t.String()
}

func (u *ui) diffRows(r *attribution.DiffResult, o *options) string {
	rows := r.Rows
	if i := slices.IndexFunc(rows, func(x attribution.DiffRow) bool { return x.Delta == 0 }); i >= 0 && !o.rows.given {
		rows = rows[:i] // the rest is the same; -n shows it
	}
	shown := o.rows.limit(len(rows))
	if shown == len(rows)-1 && !o.rows.given {
		shown++
	}
	t := newTable(right, right, right, left, left, left)
	category := func(x *attribution.DiffRow) string {
		if more := len(x.Mix) - 1; more > 0 {
			return fmt.Sprintf("%s +%d", x.Category, more)
		}
		return x.Category.String()
	}
	switch {
	case r.By == attribution.DiffByCategory:
		category = func(*attribution.DiffRow) string { return "" } // the rows are named so
		t.header("change", "before", "after", "status", "", "category")
	case !slices.ContainsFunc(rows, func(x attribution.DiffRow) bool { return x.Category != attribution.Unknown }):
		category = func(*attribution.DiffRow) string { return "" }
		t.header("change", "before", "after", "status", "", r.By.String())
	default:
		t.header("change", "before", "after", "status", "category", r.By.String())
	}
	const numbers = 61 // columns that the others take
	for _, x := range rows[:shown] {
		tail := ""
		if x.MovedFrom != 0 {
			tail = fmt.Sprintf(" (was line %d)", x.MovedFrom)
		}
		t.row(units.Signed(x.Delta), units.Bytes(x.Before), units.Bytes(x.After), x.Status.String(), category(&x),
			location(x.File, x.Line, x.Function, max(u.width-numbers-len(tail), 8))+tail)
	}
	if shown < len(r.Rows) {
		var delta, before, after int64
		for _, x := range r.Rows[shown:] {
			delta, before, after = delta+x.Delta, before+x.Before, after+x.After
		}
		t.row(units.Signed(delta), units.Bytes(before), units.Bytes(after), "", "", ellipsis+" "+plural(len(r.Rows)-shown, "more row"))
	}
	t.row(units.Signed(r.Delta), units.Bytes(r.Before), units.Bytes(r.After), "", "", u.style(bold, "total, "+plural(len(r.Rows), "row")))
	return t.String()
}

func (u *ui) diffSettings(r *attribution.DiffResult) string {
	t := newTable(left, left, left)
	t.header("setting", "before", "after")
	for _, s := range r.Settings {
		t.row(units.Safe(s.Key), units.Safe(orNone(s.Before)), units.Safe(orNone(s.After)))
	}
	return t.String()
}

func orNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// diffPage lays the results out for the viewer.
func diffPage(names []string, results []attribution.DiffResult) viewer.Page {
	p := viewer.Page{Title: "what changed", Version: currentVersion().Version,
		Facts: []string{"before: " + displayName(names[0]), "after: " + displayName(names[1])}}
	for i := range results {
		if r := &results[i]; r.First != r.Device {
			p.Facts = append(p.Facts, fmt.Sprintf("device %d before, device %d after", r.First, r.Device))
		}
		p.Sections = append(p.Sections, viewer.DiffSection(&results[i]))
	}
	return p
}
