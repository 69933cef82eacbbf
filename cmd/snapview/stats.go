package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

func newStats() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "stats FILE",
		Short: "The accounts of each device: reserved, allocated, requested, free, peak",
		Long: `The accounts of each device at the moment of the snapshot, equal to the byte to
torch.cuda.memory_stats(), and the peak of the recorded history.`,
		Example: `  snapview stats snapshot.pickle
  snapview stats snapshot.pickle.gz --json --device 0`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runStats(cmd, o, args[0]) },
	}
	o.register(cmd.Flags(), 0, "at most `N` devices, 0 for all")
	return cmd
}

func runStats(cmd *cobra.Command, o *options, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	s, err := u.open(name, o)
	if err != nil {
		return err
	}
	devices, err := o.device.pick(s)
	if err != nil {
		return inFile(name, err)
	}
	devices = devices[:o.limit(len(devices))]
	timelines := make([]*snapshot.Timeline, len(devices))
	for i, d := range devices {
		timelines[i] = s.Timeline(d)
	}
	if o.json {
		return writeJSON(u.out, statsJSON(s, timelines))
	}
	_, err = fmt.Fprint(u.out, u.statsText(s, timelines))
	return err
}

// snapshotStats is the JSON of stats for a snapshot.
type snapshotStats struct {
	Kind     string          `json:"kind"`
	Partial  string          `json:"partial,omitempty"`
	File     string          `json:"file"`
	Format   string          `json:"format"`
	Devices  []deviceStats   `json:"devices"`
	Host     *deviceStats    `json:"host,omitempty"` // pinned host memory, when recorded
	Settings json.RawMessage `json:"allocator_settings"`
	Warnings []string        `json:"warnings,omitempty"`
}

// deviceStats are the accounts of one device, bytes unless named otherwise.
type deviceStats struct {
	Device           int        `json:"device"`
	Reserved         int64      `json:"reserved_bytes"`
	Allocated        int64      `json:"allocated_bytes"`
	Active           int64      `json:"active_bytes"`
	Requested        int64      `json:"requested_bytes"`
	RoundingWaste    int64      `json:"rounding_waste_bytes"`
	InactiveSplit    int64      `json:"inactive_split_bytes"`
	Releasable       int64      `json:"releasable_bytes"`
	ExpandableFree   int64      `json:"expandable_free_bytes"`
	PendingFree      int64      `json:"pending_free_bytes"`
	LargestFreeBlock int64      `json:"largest_free_block_bytes"`
	Segments         int        `json:"segments"`
	Blocks           int        `json:"blocks"`
	Events           int        `json:"events"`
	History          string     `json:"history"`
	Unreconciled     int64      `json:"unreconciled_bytes"`
	Peak             *peakStats `json:"peak,omitempty"` // absent without a history
}

// peakStats are the maxima of the recorded history. The requested and the
// reserved curve reach theirs at different events.
type peakStats struct {
	Requested     int64 `json:"requested_bytes"`
	Reserved      int64 `json:"reserved_bytes"`
	Event         int   `json:"event"` // of the requested peak, -1 for the start of the history
	Time          int64 `json:"time_us"`
	ReservedEvent int   `json:"reserved_event"`
	ReservedTime  int64 `json:"reserved_time_us"`
}

func statsJSON(s *snapshot.Snapshot, timelines []*snapshot.Timeline) snapshotStats {
	out := snapshotStats{
		Kind: "snapshot", Partial: partialText(s), File: s.Source.Name, Format: formatText(s.Source),
		Devices: []deviceStats{}, Settings: settingsJSON(s.Settings), Warnings: s.Warnings,
	}
	for _, t := range timelines {
		out.Devices = append(out.Devices, accounts(t))
	}
	if s.Host != nil {
		host := accounts(s.Timeline(s.Host))
		out.Host = &host
	}
	return out
}

func accounts(t *snapshot.Timeline) deviceStats {
	a := t.Device.Stats()
	d := deviceStats{
		Device: t.Device.Index, Reserved: a.Reserved, Allocated: a.Allocated, Active: a.Active, Requested: a.Requested,
		RoundingWaste: a.RoundingWaste, InactiveSplit: a.InactiveSplit, Releasable: a.Releasable,
		ExpandableFree: a.ExpandableFree, PendingFree: a.PendingFree, LargestFreeBlock: a.LargestFreeBlock,
		Segments: a.Segments, Blocks: a.Blocks, Events: a.Events,
		History: t.History.String(), Unreconciled: t.Unreconciled,
	}
	if hasHistory(t) {
		d.Peak = &peakStats{
			Requested: t.Peak.Bytes, Reserved: t.PeakReserved.Bytes,
			Event: t.Peak.Event, Time: t.Peak.Time,
			ReservedEvent: t.PeakReserved.Event, ReservedTime: t.PeakReserved.Time,
		}
	}
	return d
}

// hasHistory reports whether allocations were recorded as they happened.
// Without that a peak would be a guess.
func hasHistory(t *snapshot.Timeline) bool { return t.History >= snapshot.HistoryTruncated }

func (u *ui) statsText(s *snapshot.Snapshot, timelines []*snapshot.Timeline) string {
	var b strings.Builder
	b.WriteString(u.partialLine(s))
	b.WriteString(sourceLine(s) + "\n")
	for _, t := range timelines {
		fmt.Fprintf(&b, "\n%s\n%s", u.style(bold, fmt.Sprintf("device %d", t.Device.Index)), accountsTable(t))
	}
	if s.Host != nil {
		fmt.Fprintf(&b, "\n%s\n%s", u.style(bold, "pinned host memory"), accountsTable(s.Timeline(s.Host)))
	}
	if len(timelines) == 0 {
		b.WriteString("\nno device holds memory or has a history\n")
	}
	b.WriteString("\nallocator settings: " + cutRight(settingsText(s.Settings), u.width-20) + "\n")
	return b.String()
}

// accountsTable is the accounts of one device for reading: a name, the size in
// the unit that suits it, the exact bytes and a remark.
func accountsTable(t *snapshot.Timeline) string {
	a := t.Device.Stats()
	table := newTable(left, right, right, left)
	size := func(name string, bytes int64, remark string) {
		table.row("  "+name, units.Bytes(bytes), units.Exact(bytes), remark)
	}
	size("reserved", a.Reserved, plural(a.Segments, "segment")+", "+plural(a.Blocks, "block"))
	size("allocated", a.Allocated, "held by tensors")
	size("active", a.Active, "allocated and pending free")
	size("requested", a.Requested, "what the tensors asked for")
	size("rounding waste", a.RoundingWaste, "allocated, not asked for")
	size("pending free", a.PendingFree, "freed, still used by a stream")
	size("inactive split", a.InactiveSplit, "free, between used blocks")
	size("releasable", a.Releasable, "free, empty_cache returns it")
	size("expandable free", a.ExpandableFree, "free, in expandable segments")
	size("largest free block", a.LargestFreeBlock, "the largest free piece")
	if hasHistory(t) {
		size("peak requested", t.Peak.Bytes, eventText(t, t.Peak.Event, t.Peak.Time))
		size("peak reserved", t.PeakReserved.Bytes, eventText(t, t.PeakReserved.Event, t.PeakReserved.Time))
	}
	if t.Unreconciled != 0 {
		size("unreconciled", t.Unreconciled, "history and segments disagree by this")
	}
	return table.String() + "  history: " + historyText(t) + "\n"
}
