package viewer

import "github.com/snapview/snapview/snapshot"

// deepest is how many frames of a stack are shown, from the innermost.
const deepest = 160

// snapshotStacks resolves the stack ids of a snapshot.
type snapshotStacks struct {
	s      *snapshot.Snapshot
	frames map[snapshot.FrameID]Frame
}

func newStacks(s *snapshot.Snapshot) *snapshotStacks {
	return &snapshotStacks{s: s, frames: map[snapshot.FrameID]Frame{}}
}

func (x *snapshotStacks) frame(id snapshot.FrameID) Frame {
	if f, ok := x.frames[id]; ok {
		return f
	}
	raw := &x.s.Frames[id]
	f := newFrame(raw.File, raw.Function, raw.Line)
	x.frames[id] = f
	return f
}

func (x *snapshotStacks) Stack(id uint32) []Frame {
	ids := x.s.Trimmed(snapshot.StackID(id))
	ids = ids[:min(len(ids), deepest)]
	out := make([]Frame, len(ids))
	for i, f := range ids {
		out[i] = x.frame(f)
	}
	return out
}

func (x *snapshotStacks) Line(id uint32) Frame {
	if f, ok := x.s.UserFrame(snapshot.StackID(id)); ok {
		return x.frame(f)
	}
	return Frame{Function: snapshot.NoStackKnown, Kind: SpecialFrame}
}
