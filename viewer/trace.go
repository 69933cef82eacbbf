package viewer

// Trace is everything a report of a profiler trace shows. [NewTrace] fills it
// from a decoded trace; a library user may fill it from elsewhere. Sizes are
// bytes, times and durations ns; times count from the start of the trace.
type Trace struct {
	Name    string // what the file is called
	Format  string // "profiler trace, zstd"
	Bytes   int64  // decoded bytes, 0 when unknown
	Version string // of snapview, shown in the footer; may be empty

	Partial  string    // why the file could not be read to its end; "" when it was
	Repaired int       // places where damage was read around
	Repairs  []string  // the kinds of damage, in words
	Settings []Setting // of the profiler: profile_memory …
	Facts    []string  // what else the file is about: events, hardware, rank
	Wall     int64     // from the first event to the last
	Verdict  Verdict

	Memory   []TraceMemory // by device, the one that matters most first
	Tables   []TraceTable
	Flames   []TraceFlame
	Kernels  []TraceDevice // work of each device
	Gaps     []TraceGap    // the longest, of all devices
	Steps    []TraceStep
	Findings []Finding
	Notes    []TraceNote // how the numbers were obtained, and what is missing

	Stacks Stacks // resolves stack ids; nil when there are none
}

// TraceMemory is the memory of one device.
type TraceMemory struct {
	Name                    string // "CUDA 0"
	Baseline                int64  // live before profiling began
	Peak, ReservedPeak, End int64
	Allocated, Freed        int64 // sums over the trace
	PeakTime                int64
	Events, OOMs            int
	HasTotals               bool // the events carry the allocator's own totals
	Unreconciled            int64
	Curve                   []TracePoint
	Categories              []string // names of TracePoint.Categories
	AtPeak                  []int64  // bytes by category at the peak
	CategoryNote            string   // how sure the categories are
	Marks                   []Mark   // times in µs
}

// TracePoint is a point of the memory curve.
type TracePoint struct {
	Time                int64
	Allocated, Reserved int64
	Categories          []int64 // in the order of TraceMemory.Categories; nil when not known
}

// TraceTable is a table of the report.
type TraceTable struct {
	Name, Title string   // an id, and the words on its tab
	Intro       string   // a sentence on what the rows are
	Noun        string   // what a row is: "line"
	Verb        string   // what rows do with the first column: "hold"; "allocate" or "take" when empty
	Columns     []Column // the first decides the order and the shares
	Rows        []TraceRow
	Total       int64 // of the first column, unattributed included
	Functions   bool  // rows name a function beside the place
}

// Column is a column of numbers.
type Column struct {
	Head, Meaning string
	Unit          Unit
}

// Unit is what a number counts.
type Unit uint8

const (
	InBytes Unit = iota
	InTime       // ns
	InCount
)

// TraceRow is a row of a table: numbers in the order of the columns, and what
// they belong to.
type TraceRow struct {
	Frame         // of a line; otherwise only Function, the name of the row
	Backward bool // the backward of what is named
	Values   []int64
	Stack    uint32 // an example; 0 for none
}

// TraceFlame is a flame graph. Flame.Bytes are ns when Unit is InTime.
type TraceFlame struct {
	Name, Title, Intro string
	Unit               Unit
	Root               *Flame
}

// TraceDevice is what a device did. Busy and Idle add up to Span.
type TraceDevice struct {
	Name             string
	Span, Busy, Idle int64
	Count            int
	Parts            []TracePart // of Span
	Streams          []TraceStream
}

// TracePart is a share of a device's time.
type TracePart struct {
	Class, Name string // Class is a colour of the style sheet
	Time        int64
}

// TraceStream is the work of one stream.
type TraceStream struct {
	Name                               string
	Count                              int
	Busy, Compute, Communication, Copy int64
}

// TraceGap is a time in which a device had nothing to do.
type TraceGap struct {
	Device                string
	Start, Dur            int64
	Before, After, During string // work around it, and what the host did
}

// TraceStep is a training step.
type TraceStep struct {
	Name                 string
	Start, Dur           int64
	Peak, Allocated      int64
	Device, Busy, Idle   int64 // time of the device's work, and whether it had any
	HasMemory, HasDevice bool
}

// Finding is a point of the doctor's list.
type Finding struct{ Severity, Title, Detail, Fix string }

// TraceNote is a sentence on the numbers; Tone is "ok", "note" or "bad".
type TraceNote struct{ Tone, Text string }
