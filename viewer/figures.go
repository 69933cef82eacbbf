package viewer

import (
	"github.com/snapview/snapview/internal/units"
)

// headline is the row of large figures on the first view.
func headline(d *Device) []number {
	st, h := d.Stats, d.History
	peak := number{Name: "Peak", Text: "unknown", Sub: "no history recorded", Main: true}
	end := number{Name: "End", Main: true, Raw: st.Requested, Text: units.Bytes(st.Requested), Exact: units.Exact(st.Requested), Sub: "requested, when dumped"}
	if h.CutOff {
		peak.Sub = "history not reached"
		end.Name, end.Sub = "Dumped", "requested, at least"
	}
	reservedSub := h.when()
	if h.Known() {
		peak = number{Name: "Peak", Main: true, Raw: h.Peak.Bytes, Text: units.Bytes(h.Peak.Bytes), Exact: units.Exact(h.Peak.Bytes), Sub: "requested, " + eventText(h.Peak)}
		end.Raw, end.Text, end.Exact = h.End, units.Bytes(h.End), units.Exact(h.End)
		reservedSub = "peak " + units.Bytes(h.PeakReserved.Bytes)
		if h.LowerBound() {
			peak.Name, reservedSub = "Peak, at least", "peak at least "+units.Bytes(h.PeakReserved.Bytes)
		}
	}
	if h.OpenEnd {
		// The cards that follow come from the segments, which tell of a later
		// moment than the last event that was read.
		end = number{Name: "Last event read", Main: true, Raw: h.Last, Text: units.Bytes(h.Last), Exact: units.Exact(h.Last), Sub: "requested, at least"}
		reservedSub = h.when()
		if h.End > h.Peak.Bytes {
			peak.Raw, peak.Text, peak.Exact, peak.Sub = h.End, units.Bytes(h.End), units.Exact(h.End), "requested, when dumped"
		}
	}
	inBlocks := "in blocks, " + h.when()
	if st.PendingFree > 0 {
		inBlocks = "and " + units.Bytes(st.PendingFree) + " pending free"
	}
	free, freeSub, splitSub := st.Free(), units.Percent(st.Free(), st.Reserved)+" of reserved", "free, but in gaps"
	if h.OpenEnd {
		freeSub, splitSub = units.Percent(free, st.Reserved)+", "+h.when(), "in gaps, "+h.when()
	}
	return []number{
		peak,
		end,
		{Name: "Reserved", Main: true, Raw: st.Reserved, Text: units.Bytes(st.Reserved), Exact: units.Exact(st.Reserved), Sub: reservedSub},
		{Name: "Allocated", Raw: st.Allocated, Text: units.Bytes(st.Allocated), Exact: units.Exact(st.Allocated), Sub: inBlocks},
		{Name: "Cached free", Raw: free, Text: units.Bytes(free), Exact: units.Exact(free), Sub: freeSub},
		{Name: "Inactive split", Raw: st.InactiveSplit, Text: units.Bytes(st.InactiveSplit), Exact: units.Exact(st.InactiveSplit), Sub: splitSub},
	}
}

// when names the moment that the segments tell of. It is the end of the history
// unless that is missing.
func (h History) when() string {
	if h.OpenEnd || h.CutOff {
		return "when dumped"
	}
	return "at the end"
}

func eventText(p Point) string {
	if p.Event < 0 {
		return "before the first event"
	}
	return "event " + units.Count(p.Event)
}

// stateNames name the states of blocks, in the order of BlockState.
var stateNames = [numStates]string{"allocated", "pending free", "inactive split", "releasable", "expandable free"}

// reservedParts splits reserved into what it is used for. The parts close:
// every reserved byte is in exactly one.
func reservedParts(st Stats) []part {
	sizes := [numStates]int64{st.Allocated, st.PendingFree, st.InactiveSplit, st.Releasable, st.ExpandableFree}
	var out []part
	for i, n := range sizes {
		if n == 0 || st.Reserved <= 0 {
			continue
		}
		out = append(out, part{
			Class: "s" + string(rune('0'+i)), Name: stateNames[i], Text: units.Bytes(n), Exact: units.Exact(n),
			Percent: 100 * float64(n) / float64(st.Reserved), PercentText: units.Percent(n, st.Reserved),
		})
	}
	return out
}

// accounts are the figures of the end state with their definitions.
func accounts(st Stats) []account {
	row := func(name string, n int64, meaning string) account {
		return account{name, units.Bytes(n), units.Exact(n), meaning}
	}
	return []account{
		row("reserved", st.Reserved, "All segments: what the allocator took from the device."),
		row("allocated", st.Allocated, "Blocks held by tensors, at their rounded size."),
		row("active", st.Active, "Allocated plus blocks freed by the program but still in use by a stream."),
		row("requested", st.Requested, "What was asked for in active blocks, before rounding."),
		row("rounding waste", st.RoundingWaste, "Allocated minus what the same blocks were asked for."),
		row("pending free", st.PendingFree, "Freed by the program, waiting for a stream to finish (record_stream)."),
		row("inactive split", st.InactiveSplit, "Free blocks that share their segment with others, outside expandable segments. Reusable by fitting requests, but empty_cache() cannot return them: this is fragmentation."),
		row("releasable", st.Releasable, "Free blocks alone in their segment. empty_cache() returns them to the device."),
		row("expandable free", st.ExpandableFree, "Free blocks in expandable segments, whose pages can be unmapped."),
		row("largest free block", st.LargestFree, "The largest request that could be served from the cache without new device memory, in its own pool and stream."),
		{"segments", units.Count(st.Segments), units.Count(st.Segments), "Pieces of device memory; for expandable segments, contiguous mapped ranges."},
		{"blocks", units.Count(st.Blocks), units.Count(st.Blocks), "Ranges that tile the segments."},
	}
}

// historyAccounts are the figures that come from the event history.
func historyAccounts(d *Device) []account {
	h := d.History
	if !h.Known() {
		return nil
	}
	row := func(name string, n int64, meaning string) account {
		return account{name, units.Bytes(n), units.Exact(n), meaning}
	}
	if h.OpenEnd {
		return []account{
			row("highest requested", h.Peak.Bytes, "The highest of what was read, first reached "+peakText(h.Peak)+"."),
			row("highest reserved", h.PeakReserved.Bytes, "The highest of what was read, first reached "+peakText(h.PeakReserved)+"."),
			row("last requested", h.Last, "At least: where the requested curve stands at the last event read."),
			row("last reserved", h.LastReserved, "At least: where the reserved curve stands at the last event read."),
			row("baseline requested", h.Baseline, "At least: requested before the first event, as far as the events read prove it."),
			row("baseline reserved", h.BaselineReserved, "At least: reserved before the first event."),
			row("unreconciled", h.Unreconciled, "Bytes on which the events that were read contradict each other."),
			{"events read", units.Count(d.Stats.Events), units.Count(d.Stats.Events), "Entries of the history, in the order they happened. Newer ones are missing."},
		}
	}
	return []account{
		row("peak requested", h.Peak.Bytes, "The highest point of the requested curve, first reached "+peakText(h.Peak)+"."),
		row("peak reserved", h.PeakReserved.Bytes, "The highest point of the reserved curve, first reached "+peakText(h.PeakReserved)+"."),
		row("end requested", h.End, "Where the requested curve ends."),
		row("end reserved", h.EndReserved, "Where the reserved curve ends."),
		row("baseline requested", h.Baseline, "Requested before the first event: the end minus the net of the history."),
		row("baseline reserved", h.BaselineReserved, "Reserved before the first event."),
		row("unreconciled", h.Unreconciled, "Bytes on which the replayed history and the blocks disagree. Zero means that the history explains the state to the byte."),
		{"events", units.Count(d.Stats.Events), units.Count(d.Stats.Events), "Entries of the history, in the order they happened."},
	}
}

func peakText(p Point) string {
	if p.Event < 0 {
		return "before the first event"
	}
	return "after event " + units.Count(p.Event)
}
