package snapshot

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/internal/value"
)

// Classes of records that stand for dicts and lists once they are understood.
const (
	classFrame uint8 = iota + 1
	classEvent
	classStack
)

const (
	// maxSize is the largest size accepted for anything in memory, in bytes
	// (4 PiB): more is damage. All segments together may not hold more
	// either, so that no sum overflows.
	maxSize = 1 << 52
	// maxRequest is the largest request that can end out of memory: PyTorch
	// itself refuses more than 1 EiB.
	maxRequest = 1 << 60
	// maxRendered bounds what is kept of containers that are rendered as text,
	// in bytes: a few shared ones could expand without limit.
	maxRendered = 16 << 20
	// freeWork bounds, together with the bytes of the file, what is picked from
	// the tree: each entry of a list costs entryWork, each key of a dict 1. A
	// list or dict in a pickle may be referred to again and again at two bytes
	// each, while a real file takes at least 20 bytes for an entry and 3 for a key.
	freeWork  = 1 << 18
	entryWork = 4
	// maxName bounds the names of files and functions, in bytes: longer ones,
	// which no program has, lose their middle. A file may share one long name
	// among any number of frames.
	maxName = 4 << 10
)

// A builder gives meaning to decoded values. The dicts of events and frames
// are taken over while they are read; the rest is picked from the tree at the end.
type builder struct {
	h      *value.Heap
	snap   *Snapshot
	frames map[frameKey]FrameID
	stacks map[uint64]StackID // by hash of the frames
	events []Event            // of all devices, in file order
	room   []Event            // where they lie, and what is left for more
	layout eventLayout        // of the event before

	streams map[uint64]uint16
	pools   map[PoolID]uint16
	labels  map[labelText]LabelID
	// labelOf finds the label of the same four values without building its text.
	labelOf map[labelKey]LabelID
	warned  map[string]bool
	clean   map[uint32]uint32  // the string that stands for one as valid UTF-8, by id
	names   map[uint32]string  // texts of at most maxName, by string id
	shown   map[uint32]string  // texts as messages show them, by string id
	printed map[uint32]FrameID // frames that were given as text, by string id
	scratch []FrameID
	recent  [1 << recentBits]recentStack

	// lastPair is the pool_id that was seen last, and lastPool its index.
	lastPair value.Value
	lastPool uint16

	rendered int   // bytes of text made of containers
	held     int64 // bytes of all segments
	work     int64 // what was picked from the tree, see freeWork

	// progress returns raw bytes read and in all (-1 when unknown); grownAt
	// and grownLen are what it and the length were when events last grew.
	progress func() (read, total int64)
	grownAt  int64
	grownLen int
}

type frameKey struct {
	file, function uint32
	line           int32
	fx             fxKey
}

// fxKey is an FXFrame by string ids.
type fxKey struct{ op, name, target, trace uint32 }

var noFX = fxKey{wordEmpty, wordEmpty, wordEmpty, wordEmpty}

// labelKey is a label as the file has it, and labelText by the ids of its strings.
type (
	labelKey  struct{ compile, metadata, category, forward value.Value }
	labelText struct {
		compile, metadata, category uint32
		forward                     StackID
	}
)

func newBuilder(progress func() (read, total int64)) *builder {
	b := &builder{
		progress: progress,
		h:        &value.Heap{},
		snap:     &Snapshot{Streams: []uint64{0}, Pools: []PoolID{{}}, Labels: []Label{{}}},
		frames:   make(map[frameKey]FrameID),
		stacks:   make(map[uint64]StackID),
		streams:  map[uint64]uint16{0: 0},
		pools:    map[PoolID]uint16{{}: 0},
		labels:   map[labelText]LabelID{{wordEmpty, wordEmpty, wordEmpty, NoStack}: 0},
		labelOf:  make(map[labelKey]LabelID),
		warned:   make(map[string]bool),
		clean:    make(map[uint32]uint32),
		names:    make(map[uint32]string),
		shown:    make(map[uint32]string),
		printed:  make(map[uint32]FrameID),
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
		if hasKey(items, keyFilename) && !hasKey(items, keyStage) { // an annotation may have any key
			return b.frame(items)
		}
		return value.Nil, false, nil
	}
	if hasKey(items, keyStage) {
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

func (b *builder) size(v value.Value) (int64, error) { return b.sizeUpTo(v, maxSize) }

func (b *builder) sizeUpTo(v value.Value, limit int64) (int64, error) {
	n, err := b.h.Int64(v)
	if err == nil && (n < 0 || n > limit) {
		err = impossible(n)
	}
	return n, err
}

func impossible(size int64) error { return fmt.Errorf("a size of %d bytes is not possible", size) }

func (b *builder) stream(v value.Value) (uint16, error) {
	raw, err := b.h.Uint64(v)
	if err != nil || raw == 0 {
		return 0, err
	}
	i, ok := b.streams[raw]
	if !ok {
		if i = math.MaxUint16; len(b.snap.Streams) > math.MaxUint16 {
			return i, nil
		}
		if len(b.snap.Streams) == math.MaxUint16 {
			raw = OtherStreams
			b.warn("more than %d different streams: the rest are shown as one", math.MaxUint16-1)
		}
		i = uint16(len(b.snap.Streams))
		b.snap.Streams = append(b.snap.Streams, raw)
		b.streams[raw] = i
	}
	return i, nil
}

func (b *builder) pool(v value.Value) (uint16, error) {
	first, second, small := v.IntPair()
	if !small {
		id, err := b.poolPair(v)
		if err != nil {
			return 0, err
		}
		return b.internPool(id)
	}
	if v == b.lastPair {
		return b.lastPool, nil
	}
	i, err := b.internPool(PoolID{first, second})
	b.lastPair, b.lastPool = v, i
	return i, err
}

// poolPair reads a pair that is a list, or holds large or negative numbers.
func (b *builder) poolPair(v value.Value) (id PoolID, err error) {
	items := b.h.Items(v)
	if len(items) != len(id) {
		return id, fmt.Errorf("want a pair of integers, have %s", b.h.Describe(v))
	}
	for i := range id {
		if id[i], err = b.h.Int64(items[i]); err != nil {
			return id, err
		}
	}
	return id, nil
}

func (b *builder) internPool(id PoolID) (uint16, error) {
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
	t := labelText{wordEmpty, wordEmpty, wordEmpty, NoStack}
	if k.compile != value.Nil {
		t.compile = b.textID(k.compile)
	}
	if k.metadata != value.Nil {
		t.metadata = b.textID(k.metadata)
	}
	if k.category != value.Nil {
		t.category = b.textID(k.category)
	}
	if k.forward != value.Nil {
		var err error
		if t.forward, err = b.stack(k.forward); err != nil {
			return 0, fmt.Errorf("forward_frames: %w", err)
		}
	}
	id, ok := b.labels[t]
	if !ok {
		s := &b.h.Strings
		id = LabelID(len(b.snap.Labels))
		b.snap.Labels = append(b.snap.Labels, Label{s.Text(t.compile), s.Text(t.metadata), s.Text(t.category), t.forward})
		b.labels[t] = id
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

// text renders a value as valid UTF-8.
func (b *builder) text(v value.Value) string { return b.h.Strings.Text(b.textID(v)) }

// textID is text as a string id: each string is made valid once, however often
// the file refers to it. Containers are rendered as long as maxRendered allows.
func (b *builder) textID(v value.Value) uint32 {
	id, ok := v.StringID()
	if !ok {
		text := "…"
		if _, ok := b.h.Container(v); !ok || b.rendered <= maxRendered {
			text = b.h.Text(v)
			b.rendered += len(text)
		}
		id = b.h.Strings.InternString(text)
	}
	clean, ok := b.clean[id]
	if !ok {
		clean = id
		if text := b.h.Strings.Text(id); !utf8.ValidString(text) {
			clean = b.h.Strings.InternString(cleanText(text))
		}
		b.clean[id] = clean
	}
	return clean
}

// name returns the text of a string id with at most maxName bytes.
func (b *builder) name(id uint32) string {
	t, ok := b.names[id]
	if !ok {
		t = clipMiddle(b.text(value.MakeStr(id)))
		b.names[id] = t
	}
	return t
}

// show returns the text of a string id as a message shows it.
func (b *builder) show(id uint32) string {
	t, ok := b.shown[id]
	if !ok {
		t = units.Ellipsis(b.name(id), shownName)
		b.shown[id] = t
	}
	return t
}

// count is asked before n entries of a list are picked from the tree.
func (b *builder) count(n int) error { return b.spend(int64(n) * entryWork) }

// items returns the keys and values of a dict that are about to be looked through.
func (b *builder) items(dict value.Value) ([]value.Value, error) {
	items := b.h.Items(dict)
	return items, b.spend(int64(len(items) / 2))
}

// spend keeps the work in proportion to the file, see freeWork.
func (b *builder) spend(work int64) error {
	b.work += work
	if most := freeWork + b.snap.Source.Bytes; b.work > most {
		return fmt.Errorf("the file refers to the same lists again and again: more than its %d bytes can hold", b.snap.Source.Bytes)
	}
	return nil
}

// shownName is how much of a stranger's name a message shows, in characters.
const shownName = 40

// cleanText replaces bytes that are not UTF-8. Control characters stay: they
// are made inert where text is shown.
func cleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// clipMiddle keeps both ends of a text longer than maxName.
func clipMiddle(s string) string {
	if len(s) <= maxName {
		return s
	}
	const mark = "…"
	head := (maxName - len(mark)) / 2
	tail := len(s) - (maxName - len(mark) - head)
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + mark + s[tail:]
}
