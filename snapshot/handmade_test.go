package snapshot

import "testing"

// handmade builds small snapshots for tests: one device, frames and stacks by
// name.
type handmade struct {
	*Snapshot
	dev    *Device
	frames map[Frame]FrameID
}

func newHandmade() *handmade {
	d := &Device{}
	return &handmade{
		Snapshot: &Snapshot{Devices: []*Device{d}, Streams: []uint64{0}, Pools: []PoolID{{}}, Labels: []Label{{}}},
		dev:      d,
		frames:   map[Frame]FrameID{},
	}
}

// stack adds a stack, innermost frame first.
func (h *handmade) stack(frames ...Frame) StackID {
	ids := make([]FrameID, len(frames))
	for i, f := range frames {
		id, ok := h.frames[f]
		if !ok {
			id = FrameID(len(h.Frames))
			h.Frames = append(h.Frames, f)
			h.frames[f] = id
		}
		ids[i] = id
	}
	return h.Stacks.Add(ids)
}

// py adds the stack of one user line.
func (h *handmade) py(line int32) StackID {
	return h.stack(Frame{File: "/home/me/train.py", Line: line, Function: "step"})
}

// segment adds a segment that its blocks tile from addr on; their address,
// segment and the segment's size are filled in.
func (h *handmade) segment(addr uint64, expandable bool, blocks ...Block) {
	d := h.dev
	seg := Segment{Addr: addr, FirstBlock: int32(len(d.Blocks)), NumBlocks: int32(len(blocks)), Expandable: expandable}
	for _, b := range blocks {
		b.Addr, b.Segment = addr+uint64(seg.Total), int32(len(d.Segments))
		seg.Total += b.Size
		d.Blocks = append(d.Blocks, b)
	}
	d.Segments = append(d.Segments, seg)
}

// event appends an event, 10 µs after the one before.
func (h *handmade) event(a Action, addr uint64, size int64, stack StackID) {
	d := h.dev
	d.Events = append(d.Events, Event{Action: a, Addr: addr, Size: size, Stack: stack, Time: 1_700_000_000_000_000 + 10*int64(len(d.Events))})
}

func (h *handmade) timeline() *Timeline { return h.Timeline(h.dev) }

// checkTimeline tests what holds for every timeline, whatever the file says.
func checkTimeline(t interface {
	Helper()
	Errorf(string, ...any)
}, tl *Timeline) {
	t.Helper()
	last := tl.lastEvent()
	curve := tl.Curve(0)
	if len(curve) != last+2 {
		t.Errorf("curve has %d points, want %d", len(curve), last+2)
	}
	var high, highReserved int64 = -1, -1
	var at, atReserved int
	for i, p := range curve {
		if p.Event != i-1 {
			t.Errorf("point %d is of event %d", i, p.Event)
		}
		if p.Requested < 0 || p.Reserved < 0 {
			t.Errorf("event %d: negative: requested %d, reserved %d", p.Event, p.Requested, p.Reserved)
		}
		if p.Requested > high {
			high, at = p.Requested, p.Event
		}
		if p.Reserved > highReserved {
			highReserved, atReserved = p.Reserved, p.Event
		}
	}
	if tl.Peak.Bytes != high || tl.Peak.Event != at {
		t.Errorf("peak %+v, curve has %d at %d", tl.Peak, high, at)
	}
	if tl.PeakReserved.Bytes != highReserved || tl.PeakReserved.Event != atReserved {
		t.Errorf("reserved peak %+v, curve has %d at %d", tl.PeakReserved, highReserved, atReserved)
	}
	for i := range tl.Allocations {
		a := &tl.Allocations[i]
		if i > 0 && a.Born < tl.Allocations[i-1].Born {
			t.Errorf("allocation %d is born before the one before it", i)
		}
		if a.Born < BeforeHistory || int(a.Born) > last || a.Freed < a.Born || a.Freed != AliveAtEnd && int(a.Freed) > last {
			t.Errorf("allocation %d lives from %d to %d of %d events", i, a.Born, a.Freed, last+1)
		}
	}
}

func liveBytes(tl *Timeline, event int) (sum int64) {
	for a := range tl.Live(Moment{Event: event}) {
		sum += a.Requested
	}
	return sum
}

func mustMoment(t *testing.T, tl *Timeline, spec string) Moment {
	t.Helper()
	m, err := tl.Moment(spec)
	if err != nil {
		t.Fatalf("Moment(%q): %v", spec, err)
	}
	return m
}
