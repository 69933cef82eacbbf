package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

// tableRows is how many rows of a table are printed unless -n says otherwise.
const tableRows = 20

// topOptions are what top adds to the common options.
type topOptions struct {
	options
	by, at string
}

func newTop() *cobra.Command {
	o := &topOptions{}
	cmd := &cobra.Command{
		Use:   "top FILE",
		Short: "Who holds memory at a moment: by line, function, category, module or stack",
		Long: `Who holds memory at a moment, in requested bytes. Rows sum to the total.

--by line     the innermost line of your code (not of an installed package)
--by frame    the innermost line of any kind
--by function, file, stack
--by category parameter, gradient, optimizer_state, activation …, as far as
              stacks, lifetimes and sizes tell
--by module   the module that was running, as file::function of its forward,
              or by its own name where the file's metadata has module names

Of a profiler trace: what its allocations hold, --by line, op, module, stack or
category, --at end, peak or a time.

` + momentHelp,
		Example: `  snapview top snapshot.pickle --at peak
  snapview top snapshot.pickle --by stack -n 3
  snapview top snapshot.pickle --by category --at peak
  snapview top snapshot.pickle --by file -n 0 --json
  snapview top trace.json --at peak --by category`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runTop(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags, tableRows, "at most `N` rows, 0 for all (default 20)")
	flags.StringVar(&o.by, "by", "line", "`WHAT` to fold by: line, frame, function, file, stack, category or module")
	flags.StringVar(&o.at, "at", "end", "`MOMENT`: end, start, peak, oom, an event or a time")
	return cmd
}

func runTop(cmd *cobra.Command, o *topOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	by, byErr := parseFold(o.by)
	if _, err := profiler.ParseBy(o.by); byErr != nil && err != nil {
		return usagef("--by: %w", byErr)
	}
	at, err := parseMoment(o.at)
	if err != nil {
		return err
	}
	f, err := u.openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Kind == input.ChromeTrace {
		return u.traceTop(f, name, o, at)
	}
	if err := refuseTimeline(f, name); err != nil {
		return err
	}
	if byErr != nil {
		return usagef("--by: %w", byErr)
	}
	s, err := u.readSnapshot(f, name, &o.options)
	if err != nil {
		return err
	}
	timelines, err := replay(s, name, &o.options)
	if err != nil {
		return err
	}
	tops, err := u.foldDevices(s, o.device.withoutIdle(timelines), by, at)
	if err != nil {
		return inFile(name, err)
	}
	if o.json {
		return writeJSON(u.out, topJSON(s, tops, &o.options))
	}
	_, err = fmt.Fprint(u.out, u.topText(s, tops, &o.options))
	return err
}

// A deviceTop is the answer of top for one device.
type deviceTop struct {
	timeline *snapshot.Timeline
	table    snapshot.Table // its By holds for what by is plain
	by       fold
}

// foldDevices answers for each device. One that does not have the moment is
// left out with a note, as long as another has it.
func (u *ui) foldDevices(s *snapshot.Snapshot, timelines []*snapshot.Timeline, by fold, at string) ([]deviceTop, error) {
	var tops []deviceTop
	var missing []error
	for _, t := range timelines {
		top, err := foldTimeline(s, t, by, at)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		tops = append(tops, top)
	}
	if len(tops) == 0 && len(missing) > 0 {
		return nil, missing[0]
	}
	for _, err := range missing {
		u.note(s.Source.Name, err.Error())
	}
	for _, top := range tops {
		if caveat := unsoundCaveat(top.timeline); caveat != "" {
			u.note(s.Source.Name, caveat)
		}
		if caveat := peakCaveat(top.timeline); at == "peak" && caveat != "" {
			u.note(s.Source.Name, caveat)
		}
	}
	return tops, nil
}

// foldTimeline folds what is live at a moment.
func foldTimeline(s *snapshot.Snapshot, t *snapshot.Timeline, by fold, at string) (deviceTop, error) {
	m, err := findMoment(t, at)
	if err != nil {
		return deviceTop{}, err
	}
	return deviceTop{t, by.table(s, t, m), by}, nil
}

// topTable is the JSON of top for one device; bytes are requested bytes.
type topTable struct {
	Device  int      `json:"device"`
	Partial string   `json:"partial,omitempty"`
	History string   `json:"history"`
	At      atMoment `json:"at"`
	By      string   `json:"by"`
	Total   int64    `json:"total_bytes"`
	AllRows int      `json:"total_rows"` // before -n
	Rows    []topRow `json:"rows"`
}

type atMoment struct {
	Moment string `json:"moment"`
	Event  int    `json:"event"` // live after this event; -1 for before the first
	Time   int64  `json:"time_us"`
}

type topRow struct {
	File     string     `json:"file"`
	Line     int32      `json:"line"`
	Function string     `json:"function"`
	Stack    []topFrame `json:"stack,omitempty"`    // innermost first; only by stack
	Category string     `json:"category,omitempty"` // only by category
	Module   string     `json:"module,omitempty"`   // only by module
	Bytes    int64      `json:"bytes"`
	Count    int        `json:"count"`
}

type topFrame struct {
	File     string `json:"file"`
	Line     int32  `json:"line"`
	Function string `json:"function"`
}

// topJSON is one object for one device and a list otherwise.
func topJSON(s *snapshot.Snapshot, tops []deviceTop, o *options) any {
	tables := make([]topTable, len(tops))
	for i, t := range tops {
		tables[i] = t.json(s, o)
	}
	if len(tables) == 1 {
		return tables[0]
	}
	return tables
}

func (t deviceTop) json(s *snapshot.Snapshot, o *options) topTable {
	m := t.table.Moment
	out := topTable{
		Device: t.timeline.Device.Index, Partial: partialText(s), History: t.timeline.History.String(),
		At: atMoment{m.Name, m.Event, m.Time}, By: t.by.String(),
		Total: t.table.Total, AllRows: len(t.table.Rows), Rows: []topRow{},
	}
	for _, r := range t.table.Rows[:o.rows.limit(len(t.table.Rows))] {
		row := topRow{File: r.File, Line: r.Line, Function: r.Function, Bytes: r.Bytes, Count: r.Count}
		t.by.name(&row)
		if t.by.plain(snapshot.ByStack) {
			for _, f := range stackFrames(s, r.Stack) {
				row.Stack = append(row.Stack, topFrame{f.File, f.Line, f.Function})
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// stackFrames returns the frames of a stack, innermost first.
func stackFrames(s *snapshot.Snapshot, id snapshot.StackID) []*snapshot.Frame {
	var frames []*snapshot.Frame
	for _, f := range s.Stacks.Frames(id) {
		frames = append(frames, &s.Frames[f])
	}
	return frames
}

func (u *ui) topText(s *snapshot.Snapshot, tops []deviceTop, o *options) string {
	var b strings.Builder
	b.WriteString(u.partialLine(s))
	for i, t := range tops {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(u.style(bold, t.title()) + "\n")
		if t.by.plain(snapshot.ByStack) {
			b.WriteString(u.stacksText(s, t.table, o))
		} else {
			b.WriteString(u.rowsText(t.table, t.by.String(), o))
		}
	}
	if len(tops) == 0 {
		b.WriteString("no device held memory\n")
	}
	return b.String()
}

// title says when, and what the answer rests on.
func (t deviceTop) title() string {
	return fmt.Sprintf("device %d %s; history %s", t.timeline.Device.Index, momentText(t.timeline, t.table.Moment), t.timeline.History)
}

// shownRows is how many rows are printed: unless -n says so, never all but one,
// since the line that stands for the rest would take the last one's place.
func shownRows(table snapshot.Table, o *options) int {
	shown := o.rows.limit(len(table.Rows))
	if shown == len(table.Rows)-1 && !o.rows.given {
		return len(table.Rows)
	}
	return shown
}

// rest sums the rows from shown on.
func rest(table snapshot.Table, shown int) (bytes int64, count int) {
	for _, r := range table.Rows[shown:] {
		bytes += r.Bytes
		count += r.Count
	}
	return bytes, count
}

func (u *ui) rowsText(table snapshot.Table, by string, o *options) string {
	shown := shownRows(table, o)
	t := newTable(right, right, right, left)
	t.header("requested", "share", "blocks", by)
	room := u.width - numbersWidth(table)
	var blocks int
	for _, r := range table.Rows[:shown] {
		t.row(units.Bytes(r.Bytes), units.Percent(r.Bytes, table.Total), units.Count(r.Count), location(r.File, r.Line, r.Function, room))
		blocks += r.Count
	}
	if bytes, count := rest(table, shown); shown < len(table.Rows) {
		t.row(units.Bytes(bytes), units.Percent(bytes, table.Total), units.Count(count), ellipsis+" "+plural(len(table.Rows)-shown, "more row"))
		blocks += count
	}
	t.row(units.Bytes(table.Total), units.Percent(table.Total, table.Total), units.Count(blocks), u.style(bold, totalText(table, shown)))
	return t.String()
}

// totalText closes a table.
func totalText(table snapshot.Table, shown int) string {
	if shown == len(table.Rows) {
		return "total, " + plural(shown, "row")
	}
	return fmt.Sprintf("total, %s of %s shown", units.Count(shown), plural(len(table.Rows), "row"))
}

// numbersWidth is the width of the three number columns with their gaps.
func numbersWidth(table snapshot.Table) int {
	bytes, share, count, total := len("requested"), len("100.0%"), len("blocks"), 0
	for _, r := range table.Rows {
		bytes = max(bytes, units.Width(units.Bytes(r.Bytes)))
		total += r.Count
	}
	bytes = max(bytes, units.Width(units.Bytes(table.Total)))
	count = max(count, len(units.Count(total)))
	return bytes + share + count + 3*columnGap
}

func (u *ui) stacksText(s *snapshot.Snapshot, table snapshot.Table, o *options) string {
	var b strings.Builder
	shown := shownRows(table, o)
	for _, r := range table.Rows[:shown] {
		head := fmt.Sprintf("%s requested  %s  %s", units.Bytes(r.Bytes), units.Percent(r.Bytes, table.Total), plural(r.Count, "block"))
		b.WriteString("\n" + u.style(bold, head) + "\n")
		u.writeStack(&b, s, r)
	}
	b.WriteByte('\n')
	if bytes, count := rest(table, shown); shown < len(table.Rows) {
		fmt.Fprintf(&b, "%s  %s  %s  %s %s\n", units.Bytes(bytes), units.Percent(bytes, table.Total), plural(count, "block"),
			ellipsis, plural(len(table.Rows)-shown, "more stack"))
	}
	fmt.Fprintf(&b, "%s  %s\n", units.Bytes(table.Total), strings.ReplaceAll(totalText(table, shown), "row", "stack"))
	return b.String()
}
