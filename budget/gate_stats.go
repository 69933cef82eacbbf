package budget

// gateUnit is what a number of a capture counts.
type gateUnit uint8

const (
	unitBytes gateUnit = iota
	unitCount
	unitShare // a part of a whole, 0 to 1
	unitWord  // no number but one of a few words
)

// A gateStat is a number, or a word, that gates can judge. Its name is that of
// stats --json, with a dot before what is nested there; numbers of a trace begin
// with "trace.", since some have the name of a snapshot's and mean something else.
type gateStat struct {
	name, title string
	unit        gateUnit
	moment      string // of which the lines that hold memory explain it: "peak", "end", "steps" for all, or ""
}

var gateStats = []gateStat{
	{"peak.requested_bytes", "peak requested", unitBytes, "peak"},
	{"peak.allocated_bytes", "peak allocated", unitBytes, "peak"},
	{"peak.active_bytes", "peak active", unitBytes, "peak"},
	{"peak.reserved_bytes", "peak reserved", unitBytes, "peak"},
	{"peak.fragmentation", "reserved beyond the allocated peak", unitShare, ""},
	{"requested_bytes", "requested at the end", unitBytes, "end"},
	{"allocated_bytes", "allocated at the end", unitBytes, "end"},
	{"active_bytes", "active at the end", unitBytes, "end"},
	{"reserved_bytes", "reserved at the end", unitBytes, "end"},
	{"unused_bytes", "reserved and not allocated at the end", unitBytes, ""},
	{"fragmentation", "share of reserved not allocated at the end", unitShare, ""},
	{"inactive_split_bytes", "inactive split", unitBytes, ""},
	{"releasable_bytes", "releasable", unitBytes, ""},
	{"expandable_free_bytes", "expandable free", unitBytes, ""},
	{"pending_free_bytes", "pending free", unitBytes, ""},
	{"rounding_waste_bytes", "rounding waste", unitBytes, ""},
	{"largest_free_block_bytes", "largest free block", unitBytes, ""},
	{"segments", "segments", unitCount, ""},
	{"blocks", "blocks", unitCount, ""},
	{"oom_events", "allocations that failed", unitCount, "peak"},
	{"unreconciled_bytes", "unreconciled requested bytes", unitBytes, ""},
	{"unreconciled_reserved_bytes", "unreconciled reserved bytes", unitBytes, ""},
	{"history", "history", unitWord, ""},
	{"leaks.verdict", "growth over the steps", unitWord, "steps"},
	{"leaks.bytes_per_step", "growth per step", unitBytes, "steps"},
	{"trace.peak_bytes", "peak allocated in the trace", unitBytes, "peak"},
	{"trace.reserved_peak_bytes", "peak reserved in the trace", unitBytes, "peak"},
	{"trace.baseline_bytes", "allocated before the trace", unitBytes, ""},
	{"trace.end_bytes", "allocated at the end of the trace", unitBytes, "end"},
	{"trace.allocated_bytes", "sum of allocations in the trace", unitBytes, ""},
	{"trace.freed_bytes", "sum of frees in the trace", unitBytes, ""},
	{"trace.memory_events", "memory events in the trace", unitCount, ""},
	{"trace.oom_events", "allocations that failed in the trace", unitCount, "peak"},
	{"trace.unreconciled_bytes", "unreconciled bytes of the trace", unitBytes, ""},
}

// inBaseline reports whether a baseline keeps the stat: shares follow from bytes,
// words are not compared, and growth over steps is growth by itself.
func (s *gateStat) inBaseline() bool {
	return (s.unit == unitBytes || s.unit == unitCount) && s.moment != "steps"
}

// findStat returns the stat of a name.
func findStat(name string) (gateStat, bool) {
	for _, s := range gateStats {
		if s.name == name {
			return s, true
		}
	}
	return gateStat{}, false
}

// StatNames are the numbers and words that a gate of the kind stat can judge.
func StatNames() []string {
	names := make([]string, len(gateStats))
	for i, s := range gateStats {
		names[i] = s.name
	}
	return names
}
