package snapshot

import (
	"errors"
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/internal/value"
)

// ErrNotSnapshot is wrapped by the error for data that decodes but is no
// memory snapshot.
var ErrNotSnapshot = errors.New("not a memory snapshot")

// finish picks a snapshot from the decoded root. With lenient, entries of the
// wrong kind are passed over: an unfinished document may hold some.
func (b *builder) finish(root value.Value, lenient bool) error {
	kind, ok := b.h.Container(root)
	switch {
	case ok && kind == value.List:
		return b.segmentList(root, lenient)
	case ok && kind == value.Dict:
		return b.document(root, lenient)
	}
	return fmt.Errorf("%w: it holds %s", ErrNotSnapshot, b.h.Describe(b.h.Resolve(root)))
}

// segmentList reads what torch.cuda.memory_snapshot() returns.
func (b *builder) segmentList(root value.Value, lenient bool) error {
	items := b.h.Items(root)
	if err := b.count(len(items)); err != nil {
		return err
	}
	for i, item := range items {
		if _, err := b.items(item); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
		if _, ok := b.h.Get(item, "blocks"); !ok && !lenient {
			return fmt.Errorf("%w: it holds a list of %d items, and [%d] (%s) is no segment with blocks", ErrNotSnapshot, len(items), i, b.h.Describe(b.h.Resolve(item)))
		}
	}
	b.snap.Source.SegmentsOnly = true
	set := deviceSet{}
	if err := b.segments(set, root, "", lenient); err != nil {
		return err
	}
	b.snap.Devices = set.sorted()
	return nil
}

func (b *builder) document(root value.Value, lenient bool) error {
	segments, hasSegments := b.h.Get(root, "segments")
	traces, hasTraces := b.h.Get(root, "device_traces")
	if !hasSegments && !hasTraces {
		if lenient {
			return nil
		}
		return fmt.Errorf("%w: it holds a dict without segments and device_traces%s", ErrNotSnapshot, b.keyHint(root))
	}
	set := deviceSet{}
	if err := b.segments(set, segments, "segments", lenient); err != nil {
		return err
	}
	if err := b.traces(set, traces, "device_traces", lenient); err != nil {
		return err
	}
	if err := b.annotations(root, lenient); err != nil {
		return err
	}
	if err := b.settings(root); err != nil && !lenient {
		return err
	}
	b.ring(set, root)
	b.snap.Devices = set.sorted()
	return b.host(root, lenient)
}

// keyHint lists the first keys of a dict, to tell a person what the file is.
func (b *builder) keyHint(root value.Value) string {
	items := b.h.Items(root)
	if len(items) == 0 {
		return " (it is empty)"
	}
	hint := " (its keys:"
	for i := 0; i < len(items) && i < 10; i += 2 {
		hint += " " + units.Safe(b.show(b.textID(items[i])))
	}
	if len(items) > 10 {
		hint += " …"
	}
	return hint + ")"
}

// A deviceSet collects devices by index.
type deviceSet map[int]*Device

func (s deviceSet) get(index int) *Device {
	d, ok := s[index]
	if !ok {
		d = &Device{Index: index}
		s[index] = d
	}
	return d
}

func (s deviceSet) sorted() []*Device {
	devices := make([]*Device, 0, len(s))
	for _, d := range s {
		devices = append(devices, d)
	}
	slices.SortFunc(devices, func(a, b *Device) int { return a.Index - b.Index })
	return devices
}

// traces reads one list of events per device; the position is the device index.
func (b *builder) traces(set deviceSet, traces value.Value, path string, lenient bool) error {
	lists, err := b.list(traces, lenient)
	if err != nil {
		return fmt.Errorf("%s%w", path, err)
	}
	for i, list := range lists {
		events, err := b.history(list, lenient)
		if err != nil {
			return fmt.Errorf("%s[%d]%w", path, i, err)
		}
		if len(events) > 0 {
			set.get(i).Events = events
		}
	}
	return nil
}

// list returns the items of a list; None counts as an empty one.
func (b *builder) list(v value.Value, lenient bool) ([]value.Value, error) {
	k, ok := b.h.Container(v)
	if v != value.Nil && !lenient && (!ok || k != value.List && k != value.Tuple) {
		return nil, fmt.Errorf(": want a list, have %s", b.h.Describe(b.h.Resolve(v)))
	}
	if k == value.Dict {
		return nil, nil
	}
	return b.h.Items(v), nil
}

// history returns the events of a list. Events that were read in a row, as they
// are in every real file, need no copy.
func (b *builder) history(list value.Value, lenient bool) ([]Event, error) {
	if first, n, ok := b.h.Run(list); ok {
		if i, ok := first.IsExt(classEvent); ok {
			if err := b.count(n); err != nil {
				return nil, fmt.Errorf(": %w", err)
			}
			return b.events[i : i+n : i+n], nil
		}
	}
	items, err := b.list(list, lenient)
	if err != nil {
		return nil, err
	}
	return b.rows(items, lenient)
}

// rows returns the events that items are.
func (b *builder) rows(items []value.Value, lenient bool) ([]Event, error) {
	if err := b.count(len(items)); err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	events := slices.Grow([]Event(nil), len(items))
	for i, item := range items {
		id, err := b.rowOf(item)
		if err != nil {
			if lenient {
				continue
			}
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		events = append(events, b.events[id])
	}
	return events, nil
}

// rowOf returns the row of an event: a record, or a dict filled key by key.
func (b *builder) rowOf(item value.Value) (int, error) {
	v := b.h.Resolve(item)
	if id, ok := v.IsExt(classEvent); ok {
		return id, nil
	}
	if k, ok := b.h.Container(v); !ok || k != value.Dict {
		return 0, fmt.Errorf("want an event, have %s", b.h.Describe(v))
	}
	items := b.h.Items(v)
	if !hasKey(items, keyAction) {
		return 0, fmt.Errorf("an event has no action")
	}
	record, _, err := b.event(items)
	if err != nil {
		return 0, err
	}
	b.h.Replace(item, record)
	_, id, _ := record.Ext()
	return id, nil
}

func (b *builder) segments(set deviceSet, list value.Value, path string, lenient bool) error {
	items, err := b.list(list, lenient)
	if err == nil {
		if err = b.count(len(items)); err != nil {
			err = fmt.Errorf(": %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("%s%w", path, err)
	}
	for i, item := range items {
		if err := b.segment(set, item); err != nil {
			if lenient {
				continue
			}
			return fmt.Errorf("%s[%d]%w", path, i, err)
		}
	}
	return nil
}

// segment reads one segment and its blocks into its device. Errors start with
// the path below the segment.
func (b *builder) segment(set deviceSet, v value.Value) error {
	if k, ok := b.h.Container(v); !ok || k != value.Dict {
		return fmt.Errorf(": want a segment, have %s", b.h.Describe(b.h.Resolve(v)))
	}
	var s Segment
	var device int64
	var blocks value.Value
	hasTotal := false
	items, err := b.items(v)
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	for i := 0; i+1 < len(items); i += 2 {
		id, ok := items[i].StringID()
		if !ok || items[i+1] == value.Nil { // as if the key were missing
			continue
		}
		var err error
		switch v := items[i+1]; id {
		case keyDevice:
			if device, err = b.h.Int64(v); err == nil && (device < -1 || device > 1<<16) {
				err = fmt.Errorf("%d is no device index", device)
			}
		case keyAddress:
			s.Addr, err = b.h.Uint64(v)
		case keyTotalSize:
			hasTotal = true
			s.Total, err = b.size(v)
		case keyStream:
			s.Stream, err = b.stream(v)
		case keySegmentType:
			s.Small = v == value.MakeStr(wordSmall)
		case keySegmentPoolID:
			s.Pool, err = b.pool(v)
		case keyIsExpandable:
			s.Expandable, err = b.h.Bool(v)
		case keyFrames:
			s.Stack, err = b.stack(v)
		case keyBlocks:
			blocks = v
		}
		if err != nil {
			return fmt.Errorf(".%s: %w", b.h.Strings.Text(id), err)
		}
	}
	d := set.get(int(device))
	s.FirstBlock = int32(len(d.Blocks))
	end, err := b.blocks(d, &s, blocks)
	if err != nil {
		d.Blocks = d.Blocks[:s.FirstBlock]
		return err
	}
	s.NumBlocks = int32(len(d.Blocks)) - s.FirstBlock
	var sizes, requested int64
	for _, block := range d.Blocks[s.FirstBlock:] {
		if sizes, requested = sizes+block.Size, requested+block.Requested; max(sizes, requested) > maxSize {
			break // more than hold accepts, and before the sums wrap
		}
	}
	if !hasTotal {
		s.Total = sizes
	}
	if err := b.hold(max(s.Total, sizes, requested)); err != nil {
		d.Blocks = d.Blocks[:s.FirstBlock]
		return fmt.Errorf(": %w", err)
	}
	if end-s.Addr != uint64(s.Total) && s.NumBlocks > 0 {
		b.warn("blocks of a segment do not cover it exactly (segment of %d bytes at 0x%x): the file may be damaged", s.Total, s.Addr)
	}
	d.Segments = append(d.Segments, s)
	return nil
}

// hold adds up what all segments hold, so that no sum overflows later.
func (b *builder) hold(bytes int64) error {
	if bytes > maxSize || b.held > maxSize-bytes {
		return fmt.Errorf("all segments together hold more than %d bytes, which is not possible", int64(maxSize))
	}
	b.held += bytes
	return nil
}

// blocks reads the blocks of a segment and returns the address where they end.
func (b *builder) blocks(d *Device, s *Segment, list value.Value) (end uint64, err error) {
	end = s.Addr
	items, err := b.list(list, false)
	if err != nil {
		return end, fmt.Errorf(".blocks%w", err)
	}
	if err := b.count(len(items)); err != nil {
		return end, fmt.Errorf(".blocks: %w", err)
	}
	for i, v := range items {
		block, err := b.block(v, end)
		if err != nil {
			return end, fmt.Errorf(".blocks[%d]%w", i, err)
		}
		if block.Addr < end {
			b.warn("blocks of a segment overlap (at 0x%x): the file may be damaged, and its sums with it", block.Addr)
		}
		block.Segment = int32(len(d.Segments))
		end = block.Addr + uint64(block.Size)
		d.Blocks = append(d.Blocks, block)
	}
	return end, nil
}

// block reads one block; next is its address in files that give none.
func (b *builder) block(v value.Value, next uint64) (Block, error) {
	block := Block{Addr: next}
	if k, ok := b.h.Container(v); !ok || k != value.Dict {
		return block, fmt.Errorf(": want a block, have %s", b.h.Describe(b.h.Resolve(v)))
	}
	var label labelKey
	var history value.Value
	hasRequested := false
	items, err := b.items(v)
	if err != nil {
		return block, fmt.Errorf(": %w", err)
	}
	for i := 0; i+1 < len(items); i += 2 {
		id, ok := items[i].StringID()
		if !ok || items[i+1] == value.Nil {
			continue
		}
		var err error
		switch v := items[i+1]; id {
		case keyAddress:
			block.Addr, err = b.h.Uint64(v)
		case keySize:
			block.Size, err = b.size(v)
		case keyRequestedSize:
			hasRequested = true
			block.Requested, err = b.size(v)
		case keyState:
			block.State, err = b.state(v)
		case keyFrames:
			block.Stack, err = b.stack(v)
		case keyHistory:
			history = v
		case keyCompileContext:
			if v != value.MakeStr(wordNotAvailable) && v != value.MakeStr(wordEmpty) {
				label.compile = v
			}
		case keyUserMetadata:
			if v != value.MakeStr(wordEmpty) {
				label.metadata = v
			}
		}
		if err != nil {
			return block, fmt.Errorf(".%s: %w", b.h.Strings.Text(id), err)
		}
	}
	if label != (labelKey{}) {
		if block.Label, err = b.label(label); err != nil {
			return block, err
		}
	}
	if !hasRequested {
		block.Requested = block.Size
		if err := b.legacy(&block, history); err != nil {
			return block, fmt.Errorf(".history: %w", err)
		}
	}
	if block.State == Inactive {
		block.Requested = 0 // what the file says is left from an earlier use
	}
	return block, nil
}

// legacy takes requested size and stack from the history list of blocks that
// PyTorch 1.13 and 2.0 wrote; its first entry is the allocation in force.
func (b *builder) legacy(block *Block, history value.Value) error {
	items := b.h.Items(history)
	if len(items) == 0 {
		return nil
	}
	if _, err := b.items(items[0]); err != nil {
		return err
	}
	if v, ok := b.h.Get(items[0], "real_size"); ok {
		n, err := b.size(v)
		if err != nil {
			return err
		}
		block.Requested = n
	}
	v, ok := b.h.Get(items[0], "frames")
	if !ok || block.Stack != NoStack {
		return nil
	}
	var err error
	block.Stack, err = b.stack(v)
	return err
}

func (b *builder) state(v value.Value) (BlockState, error) {
	switch v {
	case value.MakeStr(wordAllocated):
		return Allocated, nil
	case value.MakeStr(wordPendingFree), value.MakeStr(wordAwaitingFree):
		return PendingFree, nil
	case value.MakeStr(wordInactive):
		return Inactive, nil
	}
	id, ok := v.StringID()
	if !ok {
		return Inactive, fmt.Errorf("want a string, have %s", b.h.Describe(v))
	}
	return Inactive, fmt.Errorf("%q is no block state", b.show(id))
}
