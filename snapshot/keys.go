package snapshot

import "github.com/snapview/snapview/internal/value"

// The keys and words of a snapshot, interned first and in this order, so that
// the string id of a known word is its constant.
const (
	keyAction = iota
	keyAddr
	keySize
	keyStream
	keyTime
	keyFrames
	keyCompileContext
	keyUserMetadata
	keyPoolID
	keyDeviceFree
	keyForwardFrames
	keyCategory
	keyFilename
	keyName
	keyLine
	keyFXOp
	keyFXName
	keyFXTarget
	keyFXTrace
	wordNotAvailable
	wordEmpty
	keyDevice
	keyAddress
	keyTotalSize
	keySegmentType
	keySegmentPoolID
	keyIsExpandable
	keyBlocks
	keyState
	keyRequestedSize
	keyHistory
	keyRealSize
	keyStage
	wordAllocated
	wordPendingFree
	wordAwaitingFree
	wordInactive
	wordSmall
	wordLarge
	wordStart
	firstAction // the names of actions follow, see actionWords
)

// lastEventKey ends the keys of an event.
const lastEventKey = keyCategory

var knownWords = [...]string{
	keyAction: "action", keyAddr: "addr", keySize: "size", keyStream: "stream", keyTime: "time_us",
	keyFrames: "frames", keyCompileContext: "compile_context", keyUserMetadata: "user_metadata",
	keyPoolID: "pool_id", keyDeviceFree: "device_free", keyForwardFrames: "forward_frames",
	keyCategory: "category", keyFilename: "filename", keyName: "name", keyLine: "line",
	keyFXOp: "fx_node_op", keyFXName: "fx_node_name", keyFXTarget: "fx_node_target", keyFXTrace: "fx_original_trace",
	wordNotAvailable: "N/A", wordEmpty: "", keyDevice: "device", keyAddress: "address",
	keyTotalSize: "total_size", keySegmentType: "segment_type", keySegmentPoolID: "segment_pool_id",
	keyIsExpandable: "is_expandable", keyBlocks: "blocks", keyState: "state", keyRequestedSize: "requested_size",
	keyHistory: "history", keyRealSize: "real_size", keyStage: "stage",
	wordAllocated: "active_allocated", wordPendingFree: "active_pending_free", wordAwaitingFree: "active_awaiting_free",
	wordInactive: "inactive", wordSmall: "small", wordLarge: "large", wordStart: "START",
}

// actionWords maps the names of actions, in the order of their string ids.
// "free" is the folded form that older tools write.
var actionWords = [...]struct {
	word   string
	action Action
}{
	{"alloc", Alloc}, {"free_requested", FreeRequested}, {"free_completed", FreeCompleted},
	{"segment_alloc", SegmentAlloc}, {"segment_free", SegmentFree}, {"segment_map", SegmentMap},
	{"segment_unmap", SegmentUnmap}, {"snapshot", SnapshotMark}, {"oom", OOM}, {"annotate", AnnotateMark},
	{"workspace_snapshot", WorkspaceSnapshot}, {"free", FreeCompleted},
}

// internWords makes the ids of known words equal to the constants above.
func internWords(s *value.Strings) {
	for _, w := range knownWords {
		s.InternString(w)
	}
	for _, a := range actionWords {
		s.InternString(a.word)
	}
}
