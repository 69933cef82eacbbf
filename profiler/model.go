package profiler

// A Trace is one profiler trace: what torch.profiler exported, in columns.
//
// Times and durations are integer nanoseconds, sizes are bytes. Times are as in
// the file: since the Unix epoch, or since Meta.BaseTime in newer files. Text is
// stored once and referred to by index.
type Trace struct {
	Meta Meta

	Names   []string // interned text, indexed by Name; entry 0 is ""
	Threads []Thread // indexed by ThreadID

	Host   []HostEvent   // operators, annotations, runtime calls and overhead, in file order
	Frames []Frame       // Python functions and nn.Module calls, in file order
	Device []DeviceEvent // kernels, copies, fills and GPU spans of annotations, in file order
	Memory []MemoryEvent // allocations and frees, in file order; OOM marks among them
	Arrows []Arrow       // ends of the arrows from forward to backward operators
	Marks  []Mark        // instants such as "Iteration Start: PyTorch Profiler"

	Counts   Counts
	Source   Source
	Repairs  []Repair // damage that was read around, at most MaxRepairs of them
	Repaired int      // all of them

	// Partial is set when the file ended or broke before its end and the
	// caller asked for what could be read.
	Partial error

	lazy lazy // what tables derive from the columns
}

// Source says where a trace came from.
type Source struct {
	Name        string
	Compression []string // outermost first
	Bytes       int64    // decoded bytes
}

// Counts are numbers of events by what they are, kept or not.
type Counts struct {
	Events    int // all entries of traceEvents
	Flows     int // ends of arrows from launches to kernels (ac2g), which correlation ids say too
	Other     int // events of kinds that are not kept
	Malformed int // events left out: without a time, or with a size or device out of range
}

// Meta is the header of a trace.
type Meta struct {
	SchemaVersion int
	BaseTime      int64 // baseTimeNanoseconds: added to every time gives the epoch; 0 when absent
	ProfileMemory bool  // profile_memory=True
	WithStack     bool
	WithModules   bool
	WithFlops     bool
	RecordShapes  bool
	TraceName     string
	Devices       []DeviceProperties
	Rank, World   int        // distributedInfo; -1 and 0 when absent
	All           []KeyValue // further keys of one value, in file order
}

// DeviceProperties is an entry of deviceProperties.
type DeviceProperties struct {
	ID          int
	Name        string
	TotalMemory int64 // bytes
	SMs         int
}

// KeyValue is a metadata entry; Value is its JSON text, strings bare.
type KeyValue struct{ Key, Value string }

// Name indexes Trace.Names.
type Name uint32

// ThreadID indexes Trace.Threads.
type ThreadID uint32

// A Thread is a pair of pid and tid as the file writes them: a thread of the
// process, or device and stream for device events.
type Thread struct {
	PID, TID string
	Label    string // thread_name metadata
	Process  string // process_name metadata
}

// HostKind says what a HostEvent is.
type HostKind uint8

const (
	Operator   HostKind = iota // cpu_op; Operator in files of 2021
	Annotation                 // user_annotation: record_function, ProfilerStep#n, Optimizer.step#…
	Runtime                    // cuda_runtime, cuda_driver, xpu_runtime …: calls into the device's library
	Overhead                   // work of the profiler itself
)

// A HostEvent is a span on a thread of the process.
type HostEvent struct {
	Start, Dur  int64 // ns
	Sequence    int64 // Sequence number of autograd; NoSequence when absent
	External    int64 // External id, -1 when absent
	Correlation int64 // correlation id of runtime calls, -1 when absent
	Name        Name
	Shapes      Name // JSON text of Input Dims
	Concrete    Name // JSON text of Concrete Inputs, kept for operators whose flops need it
	Stack       Name // Call stack: frames joined by ";", innermost first
	Thread      ThreadID
	FwdThread   uint32 // Fwd thread id: torch's own number of the forward thread, 0 when absent
	Index       int32  // Ev Idx: order of recording, -1 when absent
	Kind        HostKind
	Unfinished  bool // still open when the profiler stopped
}

// NoSequence marks operators without a sequence number.
const NoSequence = -1

// End returns the time at which the span ends.
func (e *HostEvent) End() int64 { return e.Start + e.Dur }

// A Frame is a call of a Python function or nn.Module.
type Frame struct {
	Start, Dur int64 // ns
	ID, Parent int32 // Python id and Python parent id; Parent is -1 at a root
	Module     int32 // Python module id, -1 when not a module
	Name       Name  // "file.py(12): function", "nn.Module: Linear_0" or "<built-in …>"
	Thread     ThreadID
	Index      int32 // Ev Idx, -1 when absent
}

// DeviceKind says what a DeviceEvent is.
type DeviceKind uint8

const (
	Kernel DeviceKind = iota
	Memcpy
	Memset
	DeviceAnnotation // gpu_user_annotation: the span of the kernels of an annotation
	Collective       // collective_comm and other device work
)

// isKernel reports whether work of this kind counts as a kernel: copies and
// fills do not.
func (k DeviceKind) isKernel() bool { return k == Kernel || k == Collective }

// A DeviceEvent is a span on a stream of a device.
type DeviceEvent struct {
	Start, Dur  int64 // ns
	Correlation int64 // -1 when absent
	External    int64 // -1 when absent
	Bytes       int64 // of copies and fills
	Name        Name
	Thread      ThreadID // the pid and tid of the file: device and stream
	Device      int32    // args device, or the pid
	Stream      int32    // args stream, or the tid
	Kind        DeviceKind
}

// End returns the time at which the span ends.
func (e *DeviceEvent) End() int64 { return e.Start + e.Dur }

// DeviceType is c10::DeviceType as memory events carry it.
type DeviceType int8

// A MemoryEvent is a [memory] instant: an allocation (Bytes > 0) or a free, or
// an [OutOfMemory] mark.
type MemoryEvent struct {
	Time      int64 // ns
	Addr      uint64
	Bytes     int64
	Allocated int64 // Total Allocated after the event; NoTotal when absent
	Reserved  int64 // Total Reserved after the event; NoTotal when absent
	Stack     Name  // Call stack, when recorded
	Thread    ThreadID
	Index     int32 // Ev Idx, -1 when absent
	Device    int16 // Device Id; -1 for the CPU
	Type      DeviceType
	OOM       bool
}

// NoTotal marks totals that the file does not give (before PyTorch 1.10).
const NoTotal = -1

// An Arrow is one end of a fwdbwd flow.
type Arrow struct {
	ID     int64
	Time   int64 // ns
	Thread ThreadID
	Start  bool // at the forward operator
}

// A Mark is an instant.
type Mark struct {
	Time   int64 // ns
	Name   Name
	Thread ThreadID
}

// A Repair is damage that was read around.
type Repair struct {
	Kind   string // "control character", "bad escape", "quote inside a string", …
	Offset int64  // decoded bytes before it
	Lost   int    // events lost by it
}

// MaxRepairs bounds how many repairs are kept one by one.
const MaxRepairs = 1000
