package attribution

import "github.com/snapview/snapview/snapshot"

// placeKey is the text of a row: where memory was allocated.
type placeKey struct {
	File     string
	Line     int32
	Function string
}

// A placer names where allocations come from, the way that snapshot.Fold does,
// and remembers the answer for each stack.
type placer struct {
	snap  *snapshot.Snapshot
	by    DiffBy
	known map[snapshot.StackID]placeKey
	empty string // without a usable frame
	older string // older than the history and without a stack
}

func newPlacer(s *snapshot.Snapshot, t *snapshot.Timeline, by DiffBy) *placer {
	p := &placer{snap: s, by: by, known: map[snapshot.StackID]placeKey{}, empty: snapshot.NoStackKnown}
	for i := range t.Allocations {
		if t.Allocations[i].Stack != snapshot.NoStack {
			p.empty = snapshot.AutogradThread
			break
		}
	}
	p.older = p.empty
	if t.History == snapshot.HistoryTruncated || t.History == snapshot.HistoryInconsistent {
		p.older = snapshot.OlderMemory
	}
	return p
}

func (p *placer) of(a *snapshot.Allocation) placeKey {
	if p.by == DiffByModule {
		return placeKey{Function: ModuleOf(p.snap, a)}
	}
	if a.Stack == snapshot.NoStack && a.Born == snapshot.BeforeHistory {
		return placeKey{Function: p.older}
	}
	k, ok := p.known[a.Stack]
	if !ok {
		k = p.name(a.Stack)
		p.known[a.Stack] = k
	}
	return k
}

func (p *placer) name(id snapshot.StackID) placeKey {
	pick := p.snap.UserFrame
	if p.by == DiffByFrame {
		pick = p.innermost
	}
	at, ok := pick(id)
	if !ok {
		return placeKey{Function: p.empty}
	}
	f := &p.snap.Frames[at]
	k := placeKey{f.File, f.Line, f.Function}
	switch p.by {
	case DiffByFunction:
		k.Line = 0
	case DiffByFile:
		k.Line, k.Function = 0, ""
		if k.File == "??" {
			k.File = ""
		}
	}
	if k.File == "" && k.Function == "" {
		k.Function = snapshot.NativeCode
	}
	return k
}

// innermost is the innermost frame that has a name and is not part of the
// recording, as far as there is one.
func (p *placer) innermost(id snapshot.StackID) (snapshot.FrameID, bool) {
	frames := p.snap.Trimmed(id)
	for _, f := range frames {
		if frame := &p.snap.Frames[f]; frame.IsPython() || frame.Function != "" && frame.Function != "??" {
			return f, true
		}
	}
	if len(frames) > 0 {
		return frames[0], true
	}
	return 0, false
}
