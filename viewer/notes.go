package viewer

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
)

// note is one sentence on how the numbers came about; Tone is "ok", "note" or
// "bad".
type note struct{ Tone, Text string }

const howToRecord = "To record one, call torch.cuda.memory._record_memory_history() before the work and _dump_snapshot() after it."

// fileNotes are about the file as a whole.
func fileNotes(s *Snapshot, t *texts) []note {
	var out []note
	if s.Partial != "" {
		out = append(out, note{"bad", "The file could not be read to its end, so everything here may be incomplete: " + t.value(s.Partial)})
	}
	const most = 20
	for i, w := range s.Warnings {
		if i == most {
			out = append(out, note{"note", fmt.Sprintf("%s are not listed.", plural(len(s.Warnings)-most, "further warning"))})
			break
		}
		out = append(out, note{"note", t.value(w)})
	}
	return out
}

// deviceNotes tell how a device's numbers came about and what is missing.
func deviceNotes(d *Device, v *deviceView) []note {
	out := []note{historyNote(d)}
	h := d.History
	if h.Known() {
		out = append(out, reconcileNote(h))
		how := "Curve and tables count requested bytes (what tensors asked for); the accounts of the end also count blocks, which are rounded up. Peaks of allocated and active bytes need a replay of the allocator and are not shown here."
		if h.OpenEnd {
			how = "Curve and tables count requested bytes (what tensors asked for) up to the last event read; cards and accounts that say \"when dumped\" come from the segments, which tell of the later moment of the dump, and count blocks, which are rounded up."
		}
		out = append(out, note{"ok", how})
	}
	out = append(out, stackNotes(d)...)
	out = append(out, v.reductions...)
	out = append(out, note{"ok", "Not visible in any snapshot: memory taken outside PyTorch's caching allocator, such as the CUDA context, NCCL buffers and other libraries. nvidia-smi therefore shows more than reserved."})
	return out
}

func reconcileNote(h History) note {
	switch {
	case h.OpenEnd:
		return note{"bad", "The end of the history is missing, so it cannot be checked against the segments."}
	case h.Unreconciled != 0 || h.UnreconciledReserved != 0:
		return note{"bad", fmt.Sprintf("The replayed history and the segments disagree by %s requested and %s reserved (unreconciled). Trust the accounts of the end; take the curve with care.", units.Exact(h.Unreconciled), units.Exact(h.UnreconciledReserved))}
	}
	return note{"ok", "Replaying the history ends exactly at the state of the segments: 0 bytes are unreconciled."}
}

func historyNote(d *Device) note {
	h := d.History
	if h.CutOff {
		return note{"bad", "The file breaks off before its history, if it has one: there is no curve and no peak, and segments may be missing."}
	}
	switch h.State {
	case "complete":
		return note{"ok", fmt.Sprintf("The history is complete: its %s begin with an empty allocator, so the peak is exact.", plural(d.Stats.Events, "event"))}
	case "inconsistent":
		return note{"bad", fmt.Sprintf("The history is inconsistent: its %s contradict each other or the segments, so the peak is not certain. The accounts of the end are right.", plural(d.Stats.Events, "event"))}
	case "truncated":
		if h.OpenEnd {
			return note{"bad", fmt.Sprintf("The file breaks off within the history: %s of it could be read, and its newest events are missing. The peak may have come later, and all bytes on the curve and in the tables are the least there can have been.", plural(d.Stats.Events, "event"))}
		}
		if h.Damaged && h.Baseline == 0 && h.BaselineReserved == 0 && !h.Overflowed {
			return note{"note", fmt.Sprintf("The file could not be read to its end. The %s that were read begin with an empty allocator and lead to the state of the segments, so probably none is missing.", plural(d.Stats.Events, "event"))}
		}
		why := "recording began late, or older events were pushed out of the ring"
		if h.Overflowed {
			why = "the file says that older events were pushed out of the ring"
		}
		if h.RingSize > 0 {
			why += fmt.Sprintf(" (max_entries=%d)", h.RingSize)
		}
		return note{"note", fmt.Sprintf("The history is truncated: %s. %s were already requested before its first event; they are recovered by working backwards from the end. A higher peak may have come earlier.", why, units.Bytes(h.Baseline))}
	case "state-only":
		return note{"note", "Only the state was recorded (enabled=\"state\"): blocks have stacks, but no allocation was recorded as it happened, so there is no curve and no peak. " + howToRecord}
	}
	if h.SegmentsOnly {
		return note{"note", "The file is a bare segment list, which cannot hold a history: there is no curve and no peak. " + howToRecord}
	}
	return note{"note", "No history was recorded: there is no curve and no peak, only the state at the end. " + howToRecord}
}

// stackNotes say which memory cannot be traced to a line, and why.
func stackNotes(d *Device) []note {
	var out []note
	for _, m := range d.Moments {
		var without, before int64
		for _, r := range m.Rows {
			switch {
			case r.File != "":
			case r.Function == "(before the history)":
				before += r.Bytes
			case r.Function == "(no stack)":
				without += r.Bytes
			}
		}
		if before > 0 {
			out = append(out, note{"note", fmt.Sprintf("%s, %s (%s) are older than the history and have no stack. Start recording before the model is built to see who holds them.", m.Title, units.Bytes(before), units.Percent(before, m.Total))})
		}
		if without > 0 {
			out = append(out, note{"note", fmt.Sprintf("%s, %s (%s) have no stack. _record_memory_history(context=\"all\", stacks=\"all\") records one for every allocation.", m.Title, units.Bytes(without), units.Percent(without, m.Total))})
		}
	}
	return out
}
