package snapshot

import (
	"math"
	"strconv"
	"sync/atomic"
)

// A Snapshot is one memory snapshot: the state of the caching allocator at the
// moment of the dump and, when it was recorded, the history that led there.
//
// Frames, stacks, streams and pools are stored once and referred to by index.
// Sizes are bytes (int64), addresses are device addresses (uint64), times are
// microseconds since the Unix epoch.
type Snapshot struct {
	// Devices holds one entry per device that has segments or events, in
	// order of the device index.
	Devices []*Device

	// Host describes pinned host memory (host_segments and host_traces,
	// written by recent PyTorch with record_host=True); nil when absent.
	Host *Device

	Frames  []Frame  // indexed by FrameID
	Stacks  Stacks   // indexed by StackID
	Streams []uint64 // raw stream handles, indexed by Event.Stream and Segment.Stream; entry 0 is the default stream, see also OtherStreams
	Pools   []PoolID // memory pools, indexed by Event.Pool and Segment.Pool; entry 0 is the default pool (0, 0)
	Labels  []Label  // indexed by LabelID; entry 0 is empty

	Annotations []Annotation // external_annotations, in file order
	Settings    Settings

	Source   Source
	Warnings []string // oddities that did not stop decoding, one plain sentence each

	// Partial is set when the file ended or broke before its end and the
	// caller asked for what could be read (see Options.Partial). A snapshot
	// with Partial set must never be shown as complete.
	Partial error

	index atomic.Pointer[frameIndex] // what frames.go derives from Frames, on first use
}

// Source says where a snapshot came from.
type Source struct {
	Name         string   // path, or "-" for standard input
	Format       string   // "pickle protocol 4", "JSON", …
	Compression  []string // outermost first, e.g. ["zstd"]; empty for none
	Bytes        int64    // decoded (uncompressed) bytes read
	SegmentsOnly bool     // the file is a bare segment list: it cannot hold a history
}

// A Device is the allocator of one device.
type Device struct {
	Index    int
	Segments []Segment
	Blocks   []Block // all blocks, grouped by segment in address order
	Events   []Event // in list order, which is the order of things: times repeat

	// RingSize is the history's maximum length when the file says it
	// (trace_alloc_max_entries), else 0. Overflowed reports that the file
	// itself says that older events were lost (trace_alloc_overflowed).
	RingSize   int64
	Overflowed bool
}

// SegmentBlocks returns the blocks that tile segment i, in address order.
func (d *Device) SegmentBlocks(i int) []Block {
	s := &d.Segments[i]
	return d.Blocks[s.FirstBlock : s.FirstBlock+s.NumBlocks]
}

// A Segment is one device allocation, or one contiguous mapped range of an
// expandable segment.
type Segment struct {
	Addr       uint64
	Total      int64 // total_size: bytes held from the device (mapped bytes if expandable)
	FirstBlock int32 // index of its first block in Device.Blocks
	NumBlocks  int32
	Stack      StackID // where the segment was created; NoStack when not recorded
	Stream     uint16  // index into Snapshot.Streams
	Pool       uint16  // index into Snapshot.Pools
	Small      bool    // segment_type "small": serves requests up to 1 MiB
	Expandable bool
}

// A Block is a range of a segment.
type Block struct {
	Addr      uint64
	Size      int64 // rounded size
	Requested int64 // what was asked for; 0 for inactive blocks, where the file's value is stale
	Stack     StackID
	Label     LabelID
	Segment   int32 // index into Device.Segments
	State     BlockState
}

// BlockState is what a block is used for at the moment of the snapshot.
type BlockState uint8

const (
	Inactive    BlockState = iota // free, cached by the allocator
	Allocated                     // held by a tensor ("active_allocated")
	PendingFree                   // freed by the program, still in use by a stream ("active_pending_free", "active_awaiting_free")
)

func (s BlockState) String() string {
	switch s {
	case Allocated:
		return "active_allocated"
	case PendingFree:
		return "active_pending_free"
	}
	return "inactive"
}

// An Event is one entry of the allocator's history.
type Event struct {
	Addr   uint64 // for OOM: bytes the device still had free (see DeviceFree)
	Size   int64  // requested bytes; for segment events the bytes of the segment or pages
	Time   int64  // µs since the epoch; 0 when not recorded. Not unique, never a key
	Stack  StackID
	Label  LabelID
	Stream uint16 // index into Snapshot.Streams
	Pool   uint16 // index into Snapshot.Pools; 0 also when the file does not say
	Action Action
}

// DeviceFree returns the free bytes the device reported at an OOM event.
func (e *Event) DeviceFree() int64 { return int64(e.Addr) }

// Action is the kind of an event, named as in the file.
type Action uint8

const (
	ActionUnknown Action = iota // an action this version does not know; kept so that indices stay those of the file
	Alloc
	FreeRequested
	FreeCompleted
	SegmentAlloc
	SegmentFree
	SegmentMap
	SegmentUnmap
	SnapshotMark
	OOM
	AnnotateMark
	WorkspaceSnapshot
)

var actionNames = [...]string{"unknown", "alloc", "free_requested", "free_completed", "segment_alloc",
	"segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "annotate", "workspace_snapshot"}

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "action " + strconv.Itoa(int(a))
}

// FrameID and StackID index Snapshot.Frames and Snapshot.Stacks.
type (
	FrameID uint32
	StackID uint32
	LabelID uint32
)

// NoStack is the stack of events and blocks recorded without one. It is a
// valid index: Stacks.Frames(NoStack) is empty.
const NoStack StackID = 0

// OtherStreams is the handle of the last of Snapshot.Streams when a file names
// more streams than can be told apart: it stands for all others.
const OtherStreams = math.MaxUint64

// A Frame is one level of a call stack, as recorded. Its text comes from the
// file and may hold anything; of a name longer than 4 KiB only both ends are
// kept, with "…" between them.
type Frame struct {
	File     string
	Function string
	Line     int32

	// FX holds the extra keys that torch.compile adds under
	// augment_with_fx_traces; nil when absent.
	FX *FXFrame
}

// FXFrame is the FX graph node a frame of generated code stands for.
type FXFrame struct{ Op, Name, Target, OriginalTrace string }

// Stacks holds call stacks, innermost frame first, each stored once.
type Stacks struct {
	frames []FrameID
	ends   []uint32 // ends[i] is the end of stack i in frames; stack 0 is empty
}

// Len returns the number of stacks, the empty one (NoStack) included.
func (s *Stacks) Len() int { return max(1, len(s.ends)) }

// Frames returns the frames of a stack, innermost first. The result must not
// be changed.
func (s *Stacks) Frames(id StackID) []FrameID {
	if id == NoStack || int(id) >= len(s.ends) {
		return nil
	}
	return s.frames[s.ends[id-1]:s.ends[id]]
}

// Add appends a stack without looking for an equal one and returns its id.
func (s *Stacks) Add(frames []FrameID) StackID {
	if len(s.ends) == 0 {
		s.ends = append(s.ends, 0)
	}
	if len(frames) == 0 {
		return NoStack
	}
	s.frames = append(s.frames, frames...)
	s.ends = append(s.ends, uint32(len(s.frames)))
	return StackID(len(s.ends) - 1)
}

// A Label is what else PyTorch recorded with an event or block. Equal labels
// are stored once.
type Label struct {
	CompileContext string  // compiled region, "" for none ("N/A" in the file)
	UserMetadata   string  // text set by the program (module names under component tracking); a dict is rendered as JSON
	Category       string  // kineto category, present in profile_plot output only
	ForwardStack   StackID // where the forward ran, for tensors of the backward
}

// A PoolID names a memory pool: (0, 0) is the default one, the first number is
// set by CUDA graph capture, the second by graph_pool_handle or MemPool.
type PoolID [2]int64

// An Annotation is one end of a record_function mark (external_annotations).
type Annotation struct {
	Name   string
	Start  bool // stage START; false for END
	Device int  // -1 when not recorded
	Time   int64
	Extra  []KeyValue // further keys, in file order
}

// KeyValue is a setting or metadata entry; Value is text as PyTorch would print it.
type KeyValue struct{ Key, Value string }

// Settings is allocator_settings: how the caching allocator was configured.
type Settings struct {
	Present bool // false for files older than the key

	Conf                   string  // PYTORCH_CUDA_ALLOC_CONF as given
	MaxSplitSize           int64   // bytes, -1 for no limit
	GCThreshold            float64 // garbage_collection_threshold, 0 for off
	ExpandableSegments     bool
	RoundupPower2Divisions []RoundupDivision // in file order (ascending sizes)

	All []KeyValue // every key of the file, in file order, nested ones as JSON
}

// RoundupDivision is one slot of roundup_power2_divisions.
type RoundupDivision struct {
	MiB       int64 // sizes from this power of two of MiB up to the next slot
	Divisions int64 // 0 for plain rounding
}
