package viewer

// Snapshot is everything a report of a memory snapshot shows. [NewSnapshot]
// fills it from a decoded snapshot; a library user may fill it from elsewhere.
// All sizes are bytes, all times µs.
type Snapshot struct {
	Name    string // what the file is called
	Format  string // "pickle protocol 4, zstd"
	Bytes   int64  // decoded bytes, 0 when unknown
	Version string // of snapview, shown in the footer; may be empty

	Partial string // why the file could not be read to its end; "" when it was

	Settings    []Setting    // allocator settings, in file order
	Conf        string       // PYTORCH_CUDA_ALLOC_CONF as given; "" for none
	HasSettings bool         // the file has allocator settings at all
	Annotations []Annotation // named ranges, in file order
	Warnings    []string     // oddities met while decoding, one sentence each

	Devices []Device
	Stacks  Stacks // resolves stack ids; nil when there are none
}

// Stacks resolves the stack ids used by rows and blocks. It is asked only for
// what is drawn.
type Stacks interface {
	// Stack returns the frames of a stack, innermost first.
	Stack(id uint32) []Frame
	// Line returns the one frame that stands for the stack (the user's line),
	// or a Frame without File whose Function is a special row such as
	// "(no stack)".
	Line(id uint32) Frame
}

// Frame is one level of a call stack.
type Frame struct {
	File     string
	Function string
	Line     int32
	Kind     FrameKind
}

// FrameKind says whose code a frame is; it decides the colour.
type FrameKind uint8

const (
	UserFrame    FrameKind = iota // Python outside installed packages
	LibraryFrame                  // Python of an installed package or the standard library
	NativeFrame                   // C++ and what has no file
	SpecialFrame                  // "(no stack)", "(other)" and the like
)

// Setting is one allocator setting as PyTorch would print it.
type Setting struct{ Key, Value string }

// Annotation is a named mark of the program: a range when End > Start.
type Annotation struct {
	Name       string
	Device     int   // -1 when not recorded
	Start, End int64 // µs since the device's first event
	Open       bool  // its end was not recorded
}

// Device is one device's results.
type Device struct {
	Name  string // "GPU 0", "pinned host memory"
	Short string // for the switcher: "GPU 0"

	Stats   Stats
	History History

	Curve    []CurvePoint // reduced or not; at most maxPoints are drawn
	Marks    []Mark
	HasTime  bool // the events carry times
	Moments  []Moment
	Segments []Segment
	Failure  *Failure // the last allocation that failed; nil when none did
	Verdict  Verdict

	// What the memory is for. Categories name the layers of the curve, from the
	// bottom; nil when nothing is classified.
	Categories   []string
	CategoryNote string   // on what the categories rest
	PeakPhase    string   // "backward of step 2"; "" when not known
	Findings     []Advice // most bytes first
	Duration     int64    // µs from the first to the last event

	// What the replay of the allocator tells; nil without a history.
	Fragmentation *Fragmentation
	OOM           *OOM // why the last failure happened
}

// Idle reports whether there is nothing to show of the device.
func (d *Device) Idle() bool {
	return d.Stats.Reserved == 0 && d.Stats.Segments == 0 && d.Stats.Events == 0
}

// Failure is an allocation for which there was no memory, and the state at that
// moment.
type Failure struct {
	Event      int
	Of         int   // how many there are in the history
	Asked      int64 // bytes
	Reserved   int64
	Requested  int64 // by live allocations
	DeviceFree int64 // as the device reported it; 0 when not recorded
}

// Stats are the accounts of the end state; DESIGN section 2 defines them.
type Stats struct {
	Reserved, Allocated, Active, Requested    int64
	InactiveSplit, Releasable, ExpandableFree int64
	PendingFree, RoundingWaste, LargestFree   int64
	Segments, Blocks, Events                  int
}

// Free is what the allocator holds and nobody uses.
func (s Stats) Free() int64 { return s.InactiveSplit + s.Releasable + s.ExpandableFree }

// History says what the event history tells.
type History struct {
	State                string // "complete", "inconsistent", "truncated", "state-only", "none"
	Peak, PeakReserved   Point  // of the requested and the reserved curve
	End, EndReserved     int64
	Baseline             int64 // requested bytes older than the history
	BaselineReserved     int64
	Unreconciled         int64 // bytes on which replay and blocks disagree; 0 is right
	UnreconciledReserved int64 // likewise for the reserved curve and the segments
	RingSize             int64 // the history's maximum length, 0 when unknown
	Overflowed           bool  // the file says that older events were lost
	SegmentsOnly         bool  // the file is a bare segment list
	OpenEnd              bool  // the newest events are missing: the file broke off within the history
	Last, LastReserved   int64 // where both curves stand at the last event that was read
	CutOff               bool  // the file broke off before it came to a history
	Damaged              bool  // the file could not be read to its end, whatever that cost
}

// LowerBound reports whether the peak may have been higher than the highest
// point that is known.
func (h History) LowerBound() bool { return h.State == "truncated" }

// Known reports whether there are events to speak of.
func (h History) Known() bool {
	return h.State == "complete" || h.State == "truncated" || h.Inconsistent()
}

// Inconsistent reports that the history contradicts itself or the segments, so
// that its peak is neither exact nor a bound.
func (h History) Inconsistent() bool { return h.State == "inconsistent" }

// Point is a moment on a curve.
type Point struct {
	Event int   // index in the history; -1 is before the first event
	Time  int64 // µs since the first event
	Bytes int64
}

// CurvePoint is one step of the memory curve.
type CurvePoint struct {
	Event               int
	Time                int64 // µs since the first event
	Requested, Reserved int64
	Categories          []int64 // by Device.Categories; sums to Requested
}

// Mark is a moment or range worth marking on the curve.
type Mark struct {
	Kind       MarkKind
	Label      string
	Event, End int   // End > Event for a range
	Time, Till int64 // µs since the first event
}

// MarkKind says what a mark stands for.
type MarkKind string

const (
	MarkOOM      MarkKind = "oom"      // an allocation failed
	MarkAnnotate MarkKind = "annotate" // the program annotated the history
	MarkRange    MarkKind = "range"    // a named range of the program (record_function)
	MarkSnapshot MarkKind = "snapshot" // a snapshot was taken
	MarkRetry    MarkKind = "retry"    // an allocation succeeded only after the cache was emptied
	MarkPhase    MarkKind = "phase"    // a forward, backward or optimizer step
)

// Moment is the live set at one moment, folded.
type Moment struct {
	Name  string // "peak", "end", "oom"
	Title string // "At the peak"
	Point Point
	Total int64
	Parts []Part // by category, in the order of Device.Categories
	Rows  []Row  // sorted by bytes, descending
	Flame *Flame
}

// Part is the bytes of one category.
type Part struct {
	Category   string
	Bytes      int64
	Evidence   string  // a phrase; "" for a sum over several kinds of evidence
	Confidence float32 // 0 to 1, with Evidence
}

// Advice is something that costs memory and can be changed.
type Advice struct {
	Frame                    // the line; a Frame without File when it has none
	Title, Why, Do, Evidence string
	Bytes                    int64
	Reserved                 bool // bytes nobody uses, not part of the peak
	UpperBound               bool // at most Bytes are freed
	Info                     bool // worth knowing rather than to be changed
	Confidence               float32
}

// Row is one row of "who holds the memory".
type Row struct {
	Frame
	rawFile, rawFunction string // as in the file, to find the row again
	rawLine              int32
	Bytes                int64
	Count                int
	Stack                uint32 // the heaviest stack of the row
	Parts                []Part // what its memory is for, most bytes first
}

// Flame is a tree of bytes by stack, outermost frame at the root.
type Flame struct {
	Frame
	Bytes    int64
	Count    int
	Children []*Flame
}

// Segment is a piece of device memory that the allocator holds.
type Segment struct {
	Addr       uint64
	Bytes      int64
	Pool       string // "" for the default pool
	Stream     string // "" for the default stream
	Small      bool
	Expandable bool
	Blocks     []Block // tile it in address order
}

// Block is a range of a segment.
type Block struct {
	Size, Requested int64
	Stack           uint32
	State           BlockState
	Unnamed         string // what to call it when its stack names no line, as in the tables
	Category        string // what it is for; "" when not classified
}

// BlockState is what a block is used for.
type BlockState uint8

const (
	Allocated      BlockState = iota // held by a tensor
	PendingFree                      // freed, still in use by a stream
	InactiveSplit                    // free, shares its segment with used blocks
	Releasable                       // free, alone in its segment
	ExpandableFree                   // free pages of an expandable segment
	numStates
)

// Verdict is the report in a sentence or two.
type Verdict struct {
	Tone string // "ok", "note", "bad"
	Text string
}
