package trainlog

// A Metric is what a curve shows.
type Metric uint8

const (
	Allocated     Metric = iota // what tensors hold: torch.cuda.memory_allocated()
	Reserved                    // what the allocator holds: memory_reserved(), once memory_cached()
	Active                      // allocated and not yet reusable
	Requested                   // allocated before rounding
	InactiveSplit               // free parts of segments in use
	PeakAllocated               // max_memory_allocated(): since the run began, or since the peak was reset
	PeakReserved                // max_memory_reserved()
	PeakActive                  // the most that was active
	Used                        // "memory", without saying whose or of which kind
	PeakUsed                    // the most of that
	DeviceUsed                  // all memory in use on a GPU, by whichever process
	ProcessUsed                 // of that, a process's
	DeviceFree                  // what is left of a GPU
	Outside                     // of a process or GPU, what PyTorch does not hold
	Change                      // by how much allocated bytes changed over a stage of the run
	numMetrics
)

var metricNames = [numMetrics]string{
	"allocated", "reserved", "active", "requested", "inactive_split", "peak", "peak_reserved", "peak_active",
	"used", "peak_used", "device_used", "process_used", "device_free", "outside", "change",
}

// String returns the name as in JSON.
func (m Metric) String() string { return metricNames[m] }

// IsPeak reports whether a curve of the metric holds maxima.
func (m Metric) IsPeak() bool {
	return m == PeakAllocated || m == PeakReserved || m == PeakActive || m == PeakUsed
}

// peak is the metric's maximum.
func (m Metric) peak() Metric {
	switch m {
	case Allocated, Requested:
		return PeakAllocated
	case Reserved:
		return PeakReserved
	case Active:
		return PeakActive
	case Used, DeviceUsed, ProcessUsed:
		return PeakUsed
	}
	return m
}

// lowest reports which of several values within one step counts: of what
// tensors hold it is the lowest, as that stays from step to step; of the others
// it is the highest.
func (m Metric) lowest() bool {
	switch m {
	case Allocated, Active, Requested, DeviceFree:
		return true
	}
	return false
}
