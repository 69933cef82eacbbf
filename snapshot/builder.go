package snapshot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/value"
)

// Classes of records that stand for dicts and lists once they are understood.
const (
	classFrame uint8 = iota + 1
	classEvent
	classStack
)

// maxSize is the largest size accepted for anything, in bytes (4 PiB): more is
// damage, and sums of such numbers would overflow.
const maxSize = 1 << 52

// A builder gives meaning to decoded values. The dicts of events and frames
// are taken over while they are read; the rest is picked from the tree at the end.
type builder struct {
	h      *value.Heap
	snap   *Snapshot
	frames map[frameKey]FrameID
	stacks map[uint64]StackID // by hash of the frames
	events []Event            // of all devices, in file order

	streams map[uint64]uint16
	pools   map[PoolID]uint16
	labels  map[Label]LabelID
	// labelOf finds the label of the same four values without building its text.
	labelOf map[labelKey]LabelID
	warned  map[string]bool
	scratch []FrameID

	// progress returns raw bytes read and in all (-1 when unknown); grownAt
	// and grownLen are what it and the length were when events last grew.
	progress func() (read, total int64)
	grownAt  int64
	grownLen int
}

type frameKey struct {
	file, function uint32
	line           int32
	fx             FXFrame
}

type labelKey struct{ compile, metadata, category, forward value.Value }

func newBuilder(progress func() (read, total int64)) *builder {
	b := &builder{
		progress: progress,
		h:        &value.Heap{},
		snap:     &Snapshot{Streams: []uint64{0}, Pools: []PoolID{{}}, Labels: []Label{{}}},
		frames:   make(map[frameKey]FrameID),
		stacks:   make(map[uint64]StackID),
		streams:  map[uint64]uint16{0: 0},
		pools:    map[PoolID]uint16{{}: 0},
		labels:   map[Label]LabelID{{}: 0},
		labelOf:  make(map[labelKey]LabelID),
		warned:   make(map[string]bool),
	}
	internWords(&b.h.Strings)
	return b
}

// Dict implements the Shaper of the pickle and JSON readers.
func (b *builder) Dict(items []value.Value) (value.Value, bool, error) {
	switch items[0] {
	case value.MakeStr(keyAction):
		return b.event(items)
	case value.MakeStr(keyName), value.MakeStr(keyFilename), value.MakeStr(keyLine):
		if hasKey(items, keyFilename) {
			return b.frame(items)
		}
		return value.Nil, false, nil
	}
	// Other writers order keys differently.
	if hasKey(items, keyAction) && (hasKey(items, keySize) || hasKey(items, keyAddr)) {
		return b.event(items)
	}
	if hasKey(items, keyFilename) && hasKey(items, keyLine) {
		return b.frame(items)
	}
	return value.Nil, false, nil
}

func hasKey(items []value.Value, key uint32) bool {
	for i := 0; i+1 < len(items); i += 2 {
		if items[i] == value.MakeStr(key) {
			return true
		}
	}
	return false
}

// event turns the items of an event dict into a row.
func (b *builder) event(items []value.Value) (value.Value, bool, error) {
	var e Event
	var label labelKey
	var err error
	for i := 0; i+1 < len(items); i += 2 {
		id, ok := items[i].StringID()
		if !ok {
			continue
		}
		v := items[i+1]
		switch id {
		case keyAction:
			e.Action, err = b.action(v)
		case keyAddr:
			e.Addr, err = b.h.Uint64(v)
		case keySize:
			e.Size, err = b.size(v)
		case keyStream:
			e.Stream, err = b.stream(v)
		case keyTime:
			e.Time, err = b.h.Int64(v)
		case keyFrames:
			e.Stack, err = b.stack(v)
		case keyPoolID:
			e.Pool, err = b.pool(v)
		case keyDeviceFree:
			var n int64
			n, err = b.size(v)
			e.Addr = uint64(n)
		case keyCompileContext:
			if v != value.MakeStr(wordNotAvailable) && v != value.MakeStr(wordEmpty) {
				label.compile = v
			}
		case keyUserMetadata:
			if v != value.MakeStr(wordEmpty) {
				label.metadata = v
			}
		case keyCategory:
			label.category = v
		case keyForwardFrames:
			label.forward = v
		}
		if err != nil {
			return value.Nil, false, fmt.Errorf("%s: %w", b.h.Strings.Text(id), err)
		}
	}
	if label != (labelKey{}) {
		if e.Label, err = b.label(label); err != nil {
			return value.Nil, false, err
		}
	}
	if len(b.events) == math.MaxInt32 {
		return value.Nil, false, fmt.Errorf("more than %d events", math.MaxInt32)
	}
	if len(b.events) == cap(b.events) {
		b.growEvents()
	}
	b.events = append(b.events, e)
	return value.MakeExt(classEvent, len(b.events)-1), true, nil
}

// growEvents makes room for as many events as the rest of the file will hold at
// the rate of late, so that the longest column is not copied again and again.
func (b *builder) growEvents() {
	const first, least = 1 << 10, 16 // events to begin with, bytes an event takes at least
	n := len(b.events)
	more := int64(max(n, first))
	if read, total := b.progress(); total > read && n >= first && read > b.grownAt {
		rest := float64(total-read) / float64(read-b.grownAt) * float64(n-b.grownLen)
		if n > 8*first {
			more = max(more/4, min(int64(rest*1.02), (total-read)/least))
		}
		b.grownAt, b.grownLen = read, n
	}
	b.events = slices.Grow(b.events, int(more))
}

func (b *builder) action(v value.Value) (Action, error) {
	id, ok := v.StringID()
	if !ok {
		return ActionUnknown, fmt.Errorf("want a string, have %s", b.h.Describe(v))
	}
	if n := int(id) - firstAction; n >= 0 && n < len(actionWords) {
		return actionWords[n].action, nil
	}
	b.warn("events of kind %q are not known and are left out of the accounts", cleanText(b.h.Strings.Text(id)))
	return ActionUnknown, nil
}

func (b *builder) size(v value.Value) (int64, error) {
	n, err := b.h.Int64(v)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > maxSize {
		return 0, fmt.Errorf("a size of %d bytes is not possible", n)
	}
	return n, nil
}

func (b *builder) stream(v value.Value) (uint16, error) {
	raw, err := b.h.Uint64(v)
	if err != nil || raw == 0 {
		return 0, err
	}
	i, ok := b.streams[raw]
	if !ok {
		if len(b.snap.Streams) > math.MaxUint16 {
			return 0, fmt.Errorf("more than %d different streams", math.MaxUint16)
		}
		i = uint16(len(b.snap.Streams))
		b.snap.Streams = append(b.snap.Streams, raw)
		b.streams[raw] = i
	}
	return i, nil
}

func (b *builder) pool(v value.Value) (uint16, error) {
	items := b.h.Items(v)
	if len(items) != 2 {
		return 0, fmt.Errorf("want a pair of integers, have %s", b.h.Describe(v))
	}
	var id PoolID
	for i := range id {
		n, err := b.h.Int64(items[i])
		if err != nil {
			return 0, err
		}
		id[i] = n
	}
	i, ok := b.pools[id]
	if !ok {
		if len(b.snap.Pools) > math.MaxUint16 {
			return 0, fmt.Errorf("more than %d different memory pools", math.MaxUint16)
		}
		i = uint16(len(b.snap.Pools))
		b.snap.Pools = append(b.snap.Pools, id)
		b.pools[id] = i
	}
	return i, nil
}

func (b *builder) label(k labelKey) (LabelID, error) {
	if id, ok := b.labelOf[k]; ok {
		return id, nil
	}
	var l Label
	if k.compile != value.Nil {
		l.CompileContext = cleanText(b.h.Text(k.compile))
	}
	if k.metadata != value.Nil {
		l.UserMetadata = cleanText(b.h.Text(k.metadata))
	}
	if k.category != value.Nil {
		l.Category = cleanText(b.h.Text(k.category))
	}
	if k.forward != value.Nil {
		var err error
		if l.ForwardStack, err = b.stack(k.forward); err != nil {
			return 0, fmt.Errorf("forward_frames: %w", err)
		}
	}
	id, ok := b.labels[l]
	if !ok {
		id = LabelID(len(b.snap.Labels))
		b.snap.Labels = append(b.snap.Labels, l)
		b.labels[l] = id
	}
	b.labelOf[k] = id
	return id, nil
}

// warn adds a sentence to the snapshot's warnings, once.
func (b *builder) warn(format string, args ...any) {
	const most = 50
	w := fmt.Sprintf(format, args...)
	if !b.warned[w] && len(b.snap.Warnings) < most {
		b.warned[w] = true
		b.snap.Warnings = append(b.snap.Warnings, w)
	}
}

// cleanText replaces bytes that are not UTF-8. Control characters stay: they
// are made inert where text is shown.
func cleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
