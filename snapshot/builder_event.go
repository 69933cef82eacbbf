package snapshot

import (
	"fmt"
	"math"

	"github.com/snapview/snapview/internal/prefault"
	"github.com/snapview/snapview/internal/value"
)

// An eventLayout says where the items of an event dict have the value of each
// key. Writers give events the same keys in the same order, so it seldom changes.
type eventLayout struct {
	keys []value.Value
	at   [lastEventKey + 1]int // 0: the dict does not have the key
}

// layoutOf returns the layout of items, valid until the next call.
func (b *builder) layoutOf(items []value.Value) *eventLayout {
	l := &b.layout
	if len(l.keys) == len(items)/2 {
		i := 0
		for i < len(l.keys) && items[2*i] == l.keys[i] {
			i++
		}
		if i == len(l.keys) {
			return l
		}
	}
	*l = eventLayout{keys: l.keys[:0]}
	for i := 0; i+1 < len(items); i += 2 {
		l.keys = append(l.keys, items[i])
		if id, ok := items[i].StringID(); ok && id <= lastEventKey {
			l.at[id] = i + 1 // of equal keys the last, as Python keeps it
		}
	}
	return l
}

// value returns the value of a key, None when the dict does not have it.
func (l *eventLayout) value(items []value.Value, key uint32) value.Value {
	if i := l.at[key]; i > 0 {
		return items[i]
	}
	return value.Nil
}

// event turns the items of an event dict into a row. A value of None is as if
// the key were missing.
func (b *builder) event(items []value.Value) (value.Value, bool, error) {
	l := b.layoutOf(items)
	var e Event
	key, err := b.columns(&e, l, items)
	if err != nil {
		return value.Nil, false, fmt.Errorf("%s: %w", knownWords[key], err)
	}
	if e.Label, err = b.eventLabel(l, items); err != nil {
		return value.Nil, false, err
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

// columns fills all of e but its label. An error is about the value of key.
func (b *builder) columns(e *Event, l *eventLayout, items []value.Value) (key uint32, err error) {
	if e.Action, err = b.action(l.value(items, keyAction)); err != nil {
		return keyAction, err
	}
	if v := l.value(items, keyAddr); v != value.Nil {
		if e.Addr, err = b.h.Uint64(v); err != nil {
			return keyAddr, err
		}
	}
	if v := l.value(items, keySize); v != value.Nil {
		limit := int64(maxSize)
		if e.Action == OOM {
			limit = maxRequest
		}
		if e.Size, err = b.sizeUpTo(v, limit); err != nil {
			return keySize, err
		}
	}
	if v := l.value(items, keyStream); v != value.Nil {
		if e.Stream, err = b.stream(v); err != nil {
			return keyStream, err
		}
	}
	if v := l.value(items, keyTime); v != value.Nil {
		if e.Time, err = b.h.Int64(v); err != nil {
			return keyTime, err
		}
	}
	if v := l.value(items, keyFrames); v != value.Nil {
		if e.Stack, err = b.stack(v); err != nil {
			return keyFrames, err
		}
	}
	if v := l.value(items, keyPoolID); v != value.Nil {
		if e.Pool, err = b.pool(v); err != nil {
			return keyPoolID, err
		}
	}
	if v := l.value(items, keyDeviceFree); v != value.Nil {
		free, err := b.size(v)
		if err != nil {
			return keyDeviceFree, err
		}
		e.Addr = uint64(free)
	}
	return 0, nil
}

func (b *builder) eventLabel(l *eventLayout, items []value.Value) (LabelID, error) {
	k := labelKey{
		compile:  l.value(items, keyCompileContext),
		metadata: l.value(items, keyUserMetadata),
		category: l.value(items, keyCategory),
		forward:  l.value(items, keyForwardFrames),
	}
	if k.compile == value.MakeStr(wordNotAvailable) || k.compile == value.MakeStr(wordEmpty) {
		k.compile = value.Nil
	}
	if k.metadata == value.MakeStr(wordEmpty) {
		k.metadata = value.Nil
	}
	if k == (labelKey{}) {
		return 0, nil
	}
	return b.label(k)
}

// eventStep is how many events get room at a time, while the memory for as many
// after them is prepared.
const eventStep = 1 << 16

// growEvents makes room for more events.
func (b *builder) growEvents() {
	n := len(b.events)
	if n == len(b.room) {
		b.moveEvents()
	}
	end := min(n+eventStep, len(b.room))
	b.events = b.room[:n:end]
	prefault.Soon(b.room[end:min(end+eventStep, len(b.room))])
}

// moveEvents takes room for as many events as the rest of the file will hold at
// the rate of late, so that the longest column is not copied again and again.
func (b *builder) moveEvents() {
	const (
		first  = 1 << 10 // events to begin with
		least  = 16      // bytes of the file that an event takes at least
		margin = 1.2     // room that is never written to costs nothing, moving the column does
	)
	n := len(b.events)
	more := int64(max(n, first))
	if read, total := b.progress(); total > read && n >= first && read > b.grownAt {
		rest := float64(total-read) / float64(read-b.grownAt) * float64(n-b.grownLen)
		if n > 8*first {
			more = max(more/4, min(int64(rest*margin), (total-read)/least))
		}
		b.grownAt, b.grownLen = read, n
	}
	// Not slices.Grow, which writes zeros to all of the new room: for a long
	// history that is as slow as reading it.
	b.room = make([]Event, n+int(more))
	copy(b.room, b.events)
}

func (b *builder) action(v value.Value) (Action, error) {
	id, ok := v.StringID()
	if !ok {
		return ActionUnknown, fmt.Errorf("want a string, have %s", b.h.Describe(v))
	}
	if n := int(id) - firstAction; n >= 0 && n < len(actionWords) {
		return actionWords[n].action, nil
	}
	b.warn("events of kind %q are not known and are left out of the accounts", b.show(id))
	return ActionUnknown, nil
}
