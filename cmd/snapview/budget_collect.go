package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

// budgetCollectOptions are what budget collect adds to the common options.
type budgetCollectOptions struct {
	options
	set      map[string]string
	out, csv string
}

func newBudgetCollect() *cobra.Command {
	o := &budgetCollectOptions{}
	cmd := &cobra.Command{
		Use:   "collect -o POINTS --set KEY=VALUE SNAPSHOT…",
		Short: "Add runs to a table of measured points, from their snapshots",
		Long: `Reads the peak of allocated and of reserved memory and the peaks of the phases of a
training step from memory snapshots, and adds a line for each to a table of points,
which snapview budget fit fits. A snapshot that is in the table under the same keys is
replaced. Record at least two steps, from before the model is built.

--set names what the runs were: batch, seq and whatever else differs between runs.`,
		Example: `  snapview budget collect -o points.jsonl --set batch=8 --set seq=512 run_b8.pickle
  snapview budget fit points.jsonl -o model.json`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return runBudgetCollect(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags, 0, "")
	flags.Lookup("rows").Hidden = true
	flags.Lookup("partial").Hidden = true
	flags.StringToStringVar(&o.set, "set", nil, "`KEY=VALUE` of the runs, such as batch=8; may be given several times")
	flags.StringVarP(&o.out, "output", "o", "", "`FILE` of points to add to, made if it is not there")
	flags.StringVar(&o.csv, "csv", "", "also write the whole table as comma-separated values to `FILE`")
	return cmd
}

func runBudgetCollect(cmd *cobra.Command, o *budgetCollectOptions, names []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if o.out == "" || o.out == "-" {
		return usagef("%s needs -o, the file of points to add to", cmd.CommandPath())
	}
	table, err := readTable(o.out)
	if err != nil {
		return err
	}
	var rows []collectRow
	for _, name := range names {
		found, err := u.collect(name, o)
		if err != nil {
			return err
		}
		replaced, err := table.Add(found.Point)
		if err != nil {
			return inFile(name, err)
		}
		for _, n := range found.Notes {
			u.note(name, n)
		}
		rows = append(rows, newCollectRow(&found, replaced))
	}
	if _, err := writeFile(cmd.Context(), o.out, table.Write); err != nil {
		return inFile(o.out, err)
	}
	if err := o.writeCSV(cmd); err != nil {
		return err
	}
	if o.json {
		return writeJSON(u.out, collectJSON{o.out, table.Len(), rows})
	}
	_, err = fmt.Fprint(u.out, u.collectText(rows, o.out, table.Len()))
	return err
}

// readTable reads the table to add to; a file that is not there is empty.
func readTable(path string) (*budget.PointTable, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkFolder(path); err != nil {
			return nil, err
		}
		return budget.ReadTable(nil, path)
	}
	if err != nil {
		return nil, inFile(path, withoutName(err))
	}
	return budget.ReadTable(data, path)
}

// collect measures one snapshot.
func (u *ui) collect(name string, o *budgetCollectOptions) (budget.Collected, error) {
	var none budget.Collected
	if name == "-" {
		return none, usagef("-: a point names the file that it comes from; save the snapshot to a file")
	}
	s, err := u.loadSnapshot(name, &o.options)
	if err != nil {
		return none, err
	}
	t, err := o.timeline(s, name)
	if err != nil {
		return none, err
	}
	found, err := budget.CollectPoint(s, t, o.set)
	if err != nil {
		return none, inFile(name, err)
	}
	found.File = filepath.ToSlash(filepath.Clean(name))
	if found.SHA256, err = fileHash(name); err != nil {
		return none, inFile(name, err)
	}
	return found, nil
}

// timeline is that of the device that held most, or the one asked for.
func (o *budgetCollectOptions) timeline(s *snapshot.Snapshot, name string) (*snapshot.Timeline, error) {
	timelines, err := replay(s, name, &o.options)
	if err != nil {
		return nil, err
	}
	var most *snapshot.Timeline
	for _, t := range timelines {
		if most == nil || t.PeakReserved.Bytes > most.PeakReserved.Bytes {
			most = t
		}
	}
	if most == nil {
		return nil, inFile(name, fmt.Errorf("no device with memory or history"))
	}
	return most, nil
}

func fileHash(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", withoutName(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", withoutName(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeCSV writes the table that was just written once more.
func (o *budgetCollectOptions) writeCSV(cmd *cobra.Command) error {
	if o.csv == "" {
		return nil
	}
	f, err := os.Open(o.out)
	if err != nil {
		return inFile(o.out, withoutName(err))
	}
	defer f.Close()
	points, err := budget.ReadPoints(f, o.out)
	if err != nil {
		return err
	}
	_, err = writeFile(cmd.Context(), o.csv, func(w io.Writer) error { return budget.WriteCSV(w, points) })
	if err != nil {
		return inFile(o.csv, err)
	}
	return nil
}

// collectJSON is the JSON of budget collect; sizes are bytes, 0 where not known.
type collectJSON struct {
	File   string       `json:"file"`
	Points int          `json:"measured_points"`
	Rows   []collectRow `json:"rows"`
}

type collectRow struct {
	File     string   `json:"file"`
	Keys     []string `json:"keys"`
	Replaced bool     `json:"replaced"`
	Peak     int64    `json:"peak_bytes"`
	Reserved int64    `json:"reserved_bytes"`
	Forward  int64    `json:"peak_forward_bytes"`
	Backward int64    `json:"peak_backward_bytes"`
	Step     int64    `json:"peak_step_bytes"`
	Notes    []string `json:"notes,omitempty"`
}

func newCollectRow(c *budget.Collected, replaced bool) collectRow {
	return collectRow{c.File, c.Keys(), replaced, c.Peak, c.Reserved, c.Phases.Forward, c.Phases.Backward, c.Phases.Step, c.Notes}
}

func (u *ui) collectText(rows []collectRow, out string, points int) string {
	var b strings.Builder
	replaced := 0
	table := newTable(right, right, right, right, right, left)
	table.header("peak", "reserved", "forward", "backward", "step", "snapshot")
	for _, r := range rows {
		if r.Replaced {
			replaced++
		}
		table.row(sizeOrDash(r.Peak), sizeOrDash(r.Reserved), sizeOrDash(r.Forward), sizeOrDash(r.Backward), sizeOrDash(r.Step), units.Safe(filepath.Base(r.File)))
	}
	head := plural(len(rows)-replaced, "point") + " added"
	if replaced > 0 {
		head += ", " + units.Count(replaced) + " replaced"
	}
	b.WriteString(u.style(bold, head) + fmt.Sprintf(": %s now has %s\n", units.Safe(out), plural(points, "point")))
	b.WriteString(table.String())
	return b.String()
}

func sizeOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return units.Bytes(n)
}
