package snapshot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/value"
)

// maxStackFrames bounds one call stack.
const maxStackFrames = 1 << 16

// frame turns the items of a frame dict into an entry of Snapshot.Frames.
func (b *builder) frame(items []value.Value) (value.Value, bool, error) {
	k := frameKey{file: wordEmpty, function: wordEmpty, fx: noFX}
	for i := 0; i+1 < len(items); i += 2 {
		id, ok := items[i].StringID()
		if !ok {
			continue
		}
		var err error
		switch v := items[i+1]; id {
		case keyFilename:
			k.file, err = b.word(v)
		case keyName:
			k.function, err = b.word(v)
		case keyLine:
			k.line, err = b.line(v)
		case keyFXOp:
			k.fx.op = b.textID(v)
		case keyFXName:
			k.fx.name = b.textID(v)
		case keyFXTarget:
			k.fx.target = b.textID(v)
		case keyFXTrace:
			k.fx.trace = b.textID(v)
		}
		if err != nil {
			return value.Nil, false, fmt.Errorf("%s: %w", b.h.Strings.Text(id), err)
		}
	}
	return value.MakeExt(classFrame, int(b.internFrame(k))), true, nil
}

// word returns the string id of a name; None, as some writers give, is empty.
func (b *builder) word(v value.Value) (uint32, error) {
	if v == value.Nil {
		return wordEmpty, nil
	}
	id, ok := v.StringID()
	if !ok {
		return 0, fmt.Errorf("want a string, have %s", b.h.Describe(v))
	}
	return id, nil
}

func (b *builder) line(v value.Value) (int32, error) {
	if v == value.Nil {
		return 0, nil
	}
	// Generated code has line -1, which the C++ side writes as an unsigned number.
	n, err := b.h.Uint64(v)
	if err != nil {
		return 0, err
	}
	return int32(max(math.MinInt32, min(int64(n), math.MaxInt32))), nil
}

func (b *builder) internFrame(k frameKey) FrameID {
	if id, ok := b.frames[k]; ok {
		return id
	}
	f := Frame{File: b.name(k.file), Function: b.name(k.function), Line: k.line}
	if k.fx != noFX {
		s := &b.h.Strings
		f.FX = &FXFrame{s.Text(k.fx.op), s.Text(k.fx.name), s.Text(k.fx.target), s.Text(k.fx.trace)}
	}
	id := FrameID(len(b.snap.Frames))
	b.snap.Frames = append(b.snap.Frames, f)
	b.frames[k] = id
	return id
}

// stack returns the id of a list of frames. The list is replaced by its id, so
// that everything that shares it finds the id at once.
func (b *builder) stack(v value.Value) (StackID, error) {
	v = b.h.Resolve(v)
	if id, ok := v.IsExt(classStack); ok {
		return StackID(id), nil
	}
	if v == value.Nil {
		return NoStack, nil
	}
	if k, ok := b.h.Container(v); !ok || k != value.List && k != value.Tuple {
		return NoStack, fmt.Errorf("want a list of frames, have %s", b.h.Describe(v))
	}
	items := b.h.Items(v)
	if len(items) == 0 {
		b.h.Replace(v, value.MakeExt(classStack, int(NoStack)))
		return NoStack, nil
	}
	if len(items) > maxStackFrames {
		return NoStack, fmt.Errorf("a stack of %d frames is over the limit of %d", len(items), maxStackFrames)
	}
	recent := b.recentStack(items)
	if !slices.Equal(recent.items, items) {
		frames, err := b.framesOf(items)
		if err != nil {
			return NoStack, err
		}
		recent.items = append(recent.items[:0], items...)
		recent.id = b.internStack(frames)
	}
	id := recent.id
	b.h.Replace(v, value.MakeExt(classStack, int(id)))
	return id, nil
}

// recentStack is where the id of a list with these items is kept. PyTorch writes
// a new list for every allocation but shares the frames in it: the same items
// are the same stack, and need not be looked at one by one.
func (b *builder) recentStack(items []value.Value) *recentStack {
	hash := uint64(len(items))
	for _, item := range items {
		hash = (hash ^ uint64(item)) * 0x9E3779B97F4A7C15
	}
	return &b.recent[hash>>(64-recentBits)]
}

const recentBits = 10

type recentStack struct {
	items []value.Value
	id    StackID
}

// framesOf returns the frames of a list, valid until the next call.
func (b *builder) framesOf(items []value.Value) ([]FrameID, error) {
	frames := b.scratch[:0]
	for i, item := range items {
		id, err := b.frameOf(item)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		frames = append(frames, id)
	}
	b.scratch = frames
	return frames, nil
}

// frameOf returns the frame an item of a stack stands for: a record, a dict
// that was filled key by key (protocol 0), or a line of a printed traceback.
func (b *builder) frameOf(item value.Value) (FrameID, error) {
	v := b.h.Resolve(item)
	if id, ok := v.IsExt(classFrame); ok {
		return FrameID(id), nil
	}
	if id, ok := v.StringID(); ok {
		frame, known := b.printed[id]
		if !known {
			frame = b.printedFrame(b.h.Strings.Text(id))
			b.printed[id] = frame
		}
		return frame, nil
	}
	if k, ok := b.h.Container(v); !ok || k != value.Dict {
		return 0, fmt.Errorf("want a frame, have %s", b.h.Describe(v))
	}
	record, _, err := b.frame(b.h.Items(v))
	if err != nil {
		return 0, err
	}
	b.h.Replace(item, record)
	_, id, _ := record.Ext()
	return FrameID(id), nil
}

// printedFrame reads a frame given as text: `File "model.py", line 12, in
// forward` as Python prints it, `model.py:12:forward`, or anything else as a
// function name.
func (b *builder) printedFrame(text string) FrameID {
	file, line, function := "", int32(0), strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(function, `File "`); ok {
		if f, rest, ok := strings.Cut(rest, `", line `); ok {
			number, name, _ := strings.Cut(rest, ", in ")
			name, _, _ = strings.Cut(name, "\n")
			if n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32); err == nil {
				file, line, function = f, int32(n), name
			}
		}
	} else if parts := strings.SplitN(function, ":", 3); len(parts) == 3 {
		if n, err := strconv.ParseInt(parts[1], 10, 32); err == nil {
			file, line, function = parts[0], int32(n), parts[2]
		}
	}
	s := &b.h.Strings
	return b.internFrame(frameKey{file: s.InternString(file), function: s.InternString(function), line: line, fx: noFX})
}

// internStack returns the id of an equal stack or adds it. Equal hashes of
// different stacks move on to the next free number.
func (b *builder) internStack(frames []FrameID) StackID {
	hash := uint64(len(frames))
	for _, f := range frames {
		hash = (hash ^ uint64(f)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	for {
		id, ok := b.stacks[hash]
		if !ok {
			id = b.snap.Stacks.Add(frames)
			b.stacks[hash] = id
			return id
		}
		if slices.Equal(b.snap.Stacks.Frames(id), frames) {
			return id
		}
		hash++
	}
}
