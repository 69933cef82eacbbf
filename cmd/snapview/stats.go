package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

// statsOptions are what stats adds to the common options.
type statsOptions struct {
	options
	timeline string // of the same run as the trace; "" for none
}

func newStats() *cobra.Command {
	o := &statsOptions{}
	cmd := &cobra.Command{
		Use:   "stats FILE",
		Short: "The accounts of each device: reserved, allocated, requested, free, peak",
		Long: `The accounts of each device at the moment of the snapshot, equal to the byte to
torch.cuda.memory_stats(), and the peak of the recorded history.

Of a profiler trace: the memory of each device over the trace, and its kernels;
with --timeline also how its categories agree with PyTorch's own, in bytes at the
peak. Of a memory timeline (export_memory_timeline): its categories at the peak
and at the end.`,
		Example: `  snapview stats snapshot.pickle
  snapview stats snapshot.pickle.gz --json --device 0
  snapview stats trace.json.gz --timeline run.timeline.raw.json.gz`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runStats(cmd, o, args[0]) },
	}
	o.register(cmd.Flags(), 0, "the first `N` devices, 0 for all (default all)")
	cmd.Flags().StringVar(&o.timeline, "timeline", "", "compare a trace with the memory timeline in `FILE`, of the same run")
	return cmd
}

func runStats(cmd *cobra.Command, o *statsOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	f, err := u.openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Kind == input.ChromeTrace {
		return u.traceStats(f, name, o)
	}
	if isTimeline(f) {
		return u.timelineStats(f, name, &o.options)
	}
	if o.timeline != "" {
		return usagef("--timeline: only a profiler trace can be compared with a memory timeline")
	}
	s, err := u.readSnapshot(f, name, &o.options)
	if err != nil {
		return err
	}
	timelines, err := replay(s, name, &o.options)
	if err != nil {
		return err
	}
	shown := timelines[:o.rows.limit(len(timelines))]
	if o.json {
		return writeJSON(u.out, statsJSON(s, shown))
	}
	_, err = fmt.Fprint(u.out, u.statsText(s, shown, len(timelines)-len(shown)))
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
	FirstTime        int64      `json:"first_time_us,omitempty"` // absent when the file has no times
	LastTime         int64      `json:"last_time_us,omitempty"`
	History          string     `json:"history"`
	Unreconciled     int64      `json:"unreconciled_bytes"`
	UnreconciledHeld int64      `json:"unreconciled_reserved_bytes"`
	Peak             *peakStats `json:"peak,omitempty"` // absent without a history
	OOM              []oomEvent `json:"oom"`
}

// An oomEvent is an allocation that failed.
type oomEvent struct {
	Event      int   `json:"event"`
	Time       int64 `json:"time_us"`
	Requested  int64 `json:"requested_bytes"`
	DeviceFree int64 `json:"device_free_bytes"` // as the device said
}

// peakStats are the maxima of the recorded history, or the state of the dump
// where that is higher. The requested and the reserved curve reach theirs at
// different events.
type peakStats struct {
	Requested     int64 `json:"requested_bytes"`
	Reserved      int64 `json:"reserved_bytes"`
	Allocated     int64 `json:"allocated_bytes,omitempty"` // absent when the replay does not reproduce the record
	Active        int64 `json:"active_bytes,omitempty"`
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
		out.Devices = append(out.Devices, accounts(t, findBlockPeaks(s, t)))
	}
	if s.Host != nil {
		host := accounts(s.Timeline(s.Host), nil) // pinned memory has another allocator
		out.Host = &host
	}
	return out
}

func accounts(t *snapshot.Timeline, blocks *blockPeaks) deviceStats {
	a := t.Device.Stats()
	d := deviceStats{
		Device: t.Device.Index, Reserved: a.Reserved, Allocated: a.Allocated, Active: a.Active, Requested: a.Requested,
		RoundingWaste: a.RoundingWaste, InactiveSplit: a.InactiveSplit, Releasable: a.Releasable,
		ExpandableFree: a.ExpandableFree, PendingFree: a.PendingFree, LargestFreeBlock: a.LargestFreeBlock,
		Segments: a.Segments, Blocks: a.Blocks, Events: a.Events,
		History: t.History.String(), Unreconciled: t.Unreconciled, UnreconciledHeld: t.UnreconciledReserved,
	}
	d.FirstTime, d.LastTime = timeSpan(t)
	if hasHistory(t) {
		requested, reserved := peaks(t)
		d.Peak = &peakStats{
			Requested: requested.Bytes, Reserved: reserved.Bytes,
			Event: requested.Event, Time: requested.Time,
			ReservedEvent: reserved.Event, ReservedTime: reserved.Time,
		}
	}
	if blocks != nil {
		d.Peak.Allocated, d.Peak.Active = blocks.allocated, blocks.active
	}
	d.OOM = oomEvents(t.Device)
	return d
}

func oomEvents(d *snapshot.Device) []oomEvent {
	list := []oomEvent{}
	for i := range d.Events {
		if e := &d.Events[i]; e.Action == snapshot.OOM {
			list = append(list, oomEvent{i, e.Time, e.Size, e.DeviceFree()})
		}
	}
	return list
}

// hasHistory reports whether allocations were recorded as they happened.
// Without that a peak would be a guess.
func hasHistory(t *snapshot.Timeline) bool { return t.History >= snapshot.HistoryTruncated }

// peaks are the highest requested and reserved bytes that the file proves. Where
// the end of the history is missing, the state of the dump may be higher than
// any event that was read; such a point lies one event past the last.
func peaks(t *snapshot.Timeline) (requested, reserved snapshot.Point) {
	requested, reserved = t.Peak, t.PeakReserved
	if !t.OpenEnd {
		return requested, reserved
	}
	_, last := timeSpan(t)
	past := len(t.Device.Events)
	if t.EndRequested > requested.Bytes {
		requested = snapshot.Point{Event: past, Time: last, Bytes: t.EndRequested}
	}
	if t.EndReserved > reserved.Bytes {
		reserved = snapshot.Point{Event: past, Time: last, Bytes: t.EndReserved}
	}
	return requested, reserved
}

// pointText says where a peak lies.
func pointText(t *snapshot.Timeline, p snapshot.Point) string {
	if p.Event >= len(t.Device.Events) {
		return "after the events read"
	}
	return eventText(t, p.Event, p.Time)
}

// statsText prints the accounts; more devices were left out.
func (u *ui) statsText(s *snapshot.Snapshot, timelines []*snapshot.Timeline, more int) string {
	var b strings.Builder
	b.WriteString(u.partialLine(s))
	b.WriteString(sourceLine(s) + "\n")
	for _, t := range timelines {
		b.WriteString("\n" + u.deviceAccounts(t, findBlockPeaks(s, t), fmt.Sprintf("device %d", t.Device.Index)))
	}
	if more > 0 {
		b.WriteString("\n" + ellipsis + " " + plural(more, "more device") + "\n")
	}
	if s.Host != nil {
		b.WriteString("\n" + u.deviceAccounts(s.Timeline(s.Host), nil, "pinned host memory"))
	}
	if len(timelines) == 0 {
		b.WriteString("\nno device holds memory or has a history\n")
	}
	settings := append([]string{"allocator settings: "}, afterCommas(settingsText(s))...)
	b.WriteString("\n" + strings.Join(wrap(settings, u.width-2), "\n  ") + "\n")
	return b.String()
}

// deviceAccounts are the accounts of a device under its name, or one line when
// there is nothing to account for.
func (u *ui) deviceAccounts(t *snapshot.Timeline, blocks *blockPeaks, name string) string {
	if !isIdle(t) {
		return u.style(bold, name) + "\n" + u.accountsTable(t, blocks)
	}
	history := "no history"
	if len(t.Device.Events) > 0 {
		history = "history " + historyText(t)
	}
	return u.style(bold, name) + ": no memory, " + history + "\n"
}

// accountsTable is the accounts of one device for reading: a name, the size in
// the unit that suits it, the exact bytes and a remark.
func (u *ui) accountsTable(t *snapshot.Timeline, blocks *blockPeaks) string {
	a := t.Device.Stats()
	room := u.width - accountsWidth(t)
	table := newTable(left, right, right, left)
	size := func(name string, bytes int64, remark string) {
		table.row("  "+name, units.Bytes(bytes), units.Exact(bytes), remark)
	}
	// A remark that only explains a name gives way on a narrow terminal.
	explained := func(name string, bytes int64, remark string) {
		if units.Width(remark) > room {
			remark = ""
		}
		size(name, bytes, remark)
	}
	size("reserved", a.Reserved, plural(a.Segments, "segment")+", "+plural(a.Blocks, "block"))
	explained("allocated", a.Allocated, "held by tensors")
	explained("active", a.Active, "allocated + pending free")
	explained("requested", a.Requested, "asked for, of the active")
	explained("rounding waste", a.RoundingWaste, "allocated, not asked for")
	explained("pending free", a.PendingFree, "freed, used by a stream")
	explained("inactive split", a.InactiveSplit, "free, between used ones")
	explained("releasable", a.Releasable, "free, for empty_cache()")
	explained("expandable free", a.ExpandableFree, "free, expandable segments")
	explained("largest free block", a.LargestFreeBlock, "most a request can reuse")
	if hasHistory(t) {
		requested, reserved := peaks(t)
		size("peak requested"+atLeastName(t), requested.Bytes, pointText(t, requested))
		if blocks != nil {
			explained("peak allocated"+atLeastName(t), blocks.allocated, "replayed, as recorded")
		}
		if blocks != nil && blocks.active != blocks.allocated {
			explained("peak active"+atLeastName(t), blocks.active, "replayed, as recorded")
		}
		size("peak reserved"+atLeastName(t), reserved.Bytes, pointText(t, reserved))
	}
	if t.Unreconciled != 0 {
		explained("unreconciled", t.Unreconciled, "requested, history against blocks")
	}
	if t.UnreconciledReserved != 0 {
		explained(unreconciledReserved, t.UnreconciledReserved, "history against segments")
	}
	return table.String() + "  history: " + historyText(t) + "\n"
}

// unreconciledReserved is the longest name of an account; few devices have it.
const unreconciledReserved = "unreconciled reserved"

// accountsWidth is the width of the columns before the remarks, with their gaps.
func accountsWidth(t *snapshot.Timeline) int {
	name := len("  largest free block")
	if hasHistory(t) {
		name = max(name, len("  peak requested"+atLeastName(t)))
	}
	if t.UnreconciledReserved != 0 {
		name = max(name, len("  "+unreconciledReserved))
	}
	_, reserved := peaks(t)
	return name + len("1.00 GiB") + len(units.Exact(max(reserved.Bytes, t.EndReserved))) + 3*columnGap
}

// atLeastName follows the name of a peak that may have been higher before or
// after what was recorded, or that contradicts the rest of the file.
func atLeastName(t *snapshot.Timeline) string {
	switch t.History {
	case snapshot.HistoryTruncated:
		return ", at least"
	case snapshot.HistoryInconsistent:
		return ", uncertain"
	}
	return ""
}
