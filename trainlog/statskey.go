package trainlog

import "strings"

// statsMetrics are the figures of torch.cuda.memory_stats() that make curves;
// all names are those of its flat form, without "_bytes.all".
var statsMetrics = map[string][2]Metric{ // current, peak
	"allocated":      {Allocated, PeakAllocated},
	"reserved":       {Reserved, PeakReserved},
	"active":         {Active, PeakActive},
	"requested":      {Requested, numMetrics},
	"inactive_split": {InactiveSplit, numMetrics},
}

// Counters of memory_stats().
const (
	retriesKey = "num_alloc_retries"
	oomsKey    = "num_ooms"
)

// statsKey reads a name such as "allocated_bytes.all.current", whatever a logger
// put before it. isStats also holds for names of memory_stats() that make no curve.
func statsKey(name string) (m Metric, isStats, isCurve bool) {
	what, rest, ok := strings.Cut(name, "_bytes.")
	if !ok {
		return 0, false, false
	}
	if at := strings.LastIndexAny(what, "./ :"); at >= 0 {
		what = what[at+1:]
	}
	both, ok := statsMetrics[what]
	if !ok {
		return 0, false, false
	}
	pool, moment, _ := strings.Cut(rest, ".")
	switch {
	case pool == "all" && moment == "current":
		return both[0], true, true
	case pool == "all" && moment == "peak" && both[1] != numMetrics:
		return both[1], true, true
	}
	return 0, true, false
}
