package input

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decisive are the keys of a root object that settle its kind. Those of a trace
// may stand in any order: some versions write the header after the events.
var decisive = map[string]Kind{
	"segments": SnapshotJSON, "device_traces": SnapshotJSON, "allocator_settings": SnapshotJSON,
	"external_annotations": SnapshotJSON, "host_segments": SnapshotJSON, "host_traces": SnapshotJSON,

	"traceEvents": ChromeTrace, "deviceProperties": ChromeTrace, "computeProperties": ChromeTrace,
	"baseTimeNanoseconds": ChromeTrace, "distributedInfo": ChromeTrace, "displayTimeUnit": ChromeTrace,
	"profile_memory": ChromeTrace, "with_stack": ChromeTrace, "record_shapes": ChromeTrace,
	"with_flops": ChromeTrace, "with_modules": ChromeTrace, "traceName": ChromeTrace,
}

// elementKeys are the keys that settle the kind of a root list by its elements.
var elementKeys = map[string]Kind{
	"total_size": SegmentListJSON, "blocks": SegmentListJSON, "segment_type": SegmentListJSON,
	"ph": ChromeTrace,
}

// errUndecided ends the scan of a value whose kind cannot be told.
var errUndecided = errors.New("undecided")

// jsonScan reads the start of a JSON document that head cuts off anywhere.
type jsonScan struct {
	*jsontext.Decoder
	head  []byte
	stats bool // a key names a figure of memory
	keys  int  // how many keys were read
}

// byJSON recognises JSON by structure. Text that merely begins like JSON
// ("[2024-05-01 12:00] step 1") is Unknown here.
func byJSON(head []byte) Kind {
	s := &jsonScan{head: head}
	s.Decoder = jsontext.NewDecoder(bytes.NewReader(head),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	kind, err := s.root()
	switch {
	case kind != Unknown:
		return kind
	case s.stats:
		return StatsJSONL
	case err != nil && s.keys > 0:
		return s.damaged(err)
	case err == nil && s.restIsJSON(), s.cut(err) && isBracket(head):
		return JSON
	}
	return Unknown
}

// root scans the first value. A nil error means that it ended within head.
func (s *jsonScan) root() (Kind, error) {
	switch s.PeekKind() {
	case '{':
		return s.object(decisive)
	case '[':
		s.ReadToken()
		return s.list()
	}
	return Unknown, errUndecided
}

// object scans an object until a key decides.
func (s *jsonScan) object(deciding map[string]Kind) (Kind, error) {
	if _, err := s.ReadToken(); err != nil {
		return Unknown, err
	}
	for s.PeekKind() == '"' {
		key, err := s.ReadToken()
		if err != nil {
			return Unknown, err
		}
		s.keys++
		name := key.String()
		if kind, ok := deciding[name]; ok {
			return kind, nil
		}
		s.stats = s.stats || isFigure(name)
		if err := s.SkipValue(); err != nil {
			return Unknown, err
		}
	}
	_, err := s.ReadToken()
	return Unknown, err
}

// list scans a root list by its first elements.
func (s *jsonScan) list() (Kind, error) {
	switch s.PeekKind() {
	case ']':
		_, err := s.ReadToken()
		if err == nil && s.restIsJSON() {
			return SegmentListJSON, nil
		}
		return Unknown, err
	case '[':
		return s.timeline()
	}
	const enough = 8 // elements that lack a deciding key are rare: metadata first
	for range enough {
		if s.PeekKind() != '{' {
			break
		}
		if kind, err := s.object(elementKeys); kind != Unknown || err != nil {
			return kind, err
		}
	}
	return Unknown, s.finish()
}

// finish skips to the end of the list it is in.
func (s *jsonScan) finish() error {
	for s.PeekKind() != ']' {
		if err := s.SkipValue(); err != nil {
			return err
		}
	}
	_, err := s.ReadToken()
	return err
}

// timeline tells [times, sizes] from [[ns, action, bytes, category], …]. Times are
// microseconds since 1970 and many; an action is 0 to 4.
func (s *jsonScan) timeline() (Kind, error) {
	const earliest = 1e12 // microseconds; in January 1970, so smaller numbers are no times
	s.ReadToken()
	var numbers []float64
	for len(numbers) < 5 && s.PeekKind() == '0' {
		token, err := s.ReadToken()
		if err != nil {
			return Unknown, err
		}
		v, _ := token.Float() // out of range is no time and no action either
		numbers = append(numbers, v)
	}
	ended := s.PeekKind() == ']'
	switch {
	case ended && len(numbers) == 4 && numbers[1] >= 0 && numbers[1] <= 4:
		return MemoryTimelineRaw, nil
	case len(numbers) == 5 && numbers[0] >= earliest:
		return MemoryTimeline, nil
	}
	if err := s.finish(); err != nil {
		return Unknown, err
	}
	if few := len(numbers) == 0 || numbers[0] >= earliest; few && ended && s.PeekKind() == '[' {
		return MemoryTimeline, nil // the list of sizes follows
	}
	return Unknown, s.finish()
}

// isFigure reports whether a key names a figure that memory_stats() or a
// training loop prints.
func isFigure(key string) bool {
	for _, part := range []string{"allocated", "reserved_bytes", "active_bytes", "requested_bytes", "num_ooms", "num_alloc_retries", "gpu_mem", "gpu_memory", "memory_reserved", "mem_reserved", "max_memory"} {
		if strings.Contains(strings.ToLower(key), part) {
			return true
		}
	}
	return false
}

// damaged decides about an object that stopped being JSON, or whose deciding key
// lies beyond head: the words of a trace or snapshot in it are evidence enough.
func (s *jsonScan) damaged(err error) Kind {
	has := func(words ...string) bool {
		for _, w := range words {
			if !bytes.Contains(s.head, []byte(w)) {
				return false
			}
		}
		return true
	}
	switch {
	case has(`"traceEvents"`), has(`"ph"`, `"ts"`):
		return ChromeTrace
	case has(`"device_traces"`), has(`"segments"`, `"total_size"`):
		return SnapshotJSON
	case has(`"total_size"`, `"blocks"`):
		return SegmentListJSON
	case s.cut(err):
		return JSON
	}
	return Unknown
}

// cut reports whether err only says that head ended.
func (s *jsonScan) cut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// restIsJSON reports whether only space or another value follows: "[0] warm-up" is text.
func (s *jsonScan) restIsJSON() bool {
	rest := bytes.TrimLeft(s.head[s.InputOffset():], " \t\r\n")
	return len(rest) == 0 || isBracket(rest)
}

func isBracket(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
