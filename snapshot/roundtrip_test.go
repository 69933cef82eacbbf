package snapshot

import (
	"testing"

	"pgregory.net/rapid"
)

// encode writes a snapshot as the document that PyTorch would dump for it.
// Stacks and frames are shared as they are in a real file.
func encode(s *Snapshot) doc {
	e := encoder{s: s}
	for i := range s.Frames {
		f := &s.Frames[i]
		d := frame(f.File, int(f.Line), f.Function)
		if f.FX != nil {
			d = append(d, kv("fx_node_op", f.FX.Op, "fx_node_name", f.FX.Name, "fx_node_target", f.FX.Target, "fx_original_trace", f.FX.OriginalTrace)...)
		}
		e.frames = append(e.frames, &shared{d})
	}
	for id := range s.Stacks.Len() {
		var frames list
		for _, f := range s.Stacks.Frames(StackID(id)) {
			frames = append(frames, e.frames[f])
		}
		e.stacks = append(e.stacks, &shared{frames})
	}
	var segments, traces, annotations list
	for _, d := range s.Devices {
		for i := range d.Segments {
			segments = append(segments, e.segment(d, i))
		}
		for len(traces) < d.Index {
			traces = append(traces, list{})
		}
		events := list{}
		for i := range d.Events {
			events = append(events, e.event(&d.Events[i]))
		}
		traces = append(traces, events)
	}
	for _, a := range s.Annotations {
		stage := map[bool]string{true: "START", false: "END"}[a.Start]
		annotations = append(annotations, kv("name", a.Name, "stage", stage, "device", a.Device, "time_us", a.Time))
	}
	return kv("segments", segments, "device_traces", traces, "external_annotations", annotations)
}

type encoder struct {
	s              *Snapshot
	frames, stacks []*shared
}

func (e *encoder) pool(i uint16) tuple { return tuple{e.s.Pools[i][0], e.s.Pools[i][1]} }

func (e *encoder) segment(d *Device, i int) doc {
	seg := &d.Segments[i]
	var blocks list
	for _, b := range d.SegmentBlocks(i) {
		requested := b.Requested
		if b.State == Inactive {
			requested = 12345 // stale, as in real files
		}
		blocks = append(blocks, e.label(kv("address", b.Addr, "size", b.Size, "requested_size", requested,
			"state", b.State.String(), "frames", e.stacks[b.Stack]), b.Label))
	}
	kind := map[bool]string{true: "small", false: "large"}[seg.Small]
	return kv("device", d.Index, "address", seg.Addr, "total_size", seg.Total, "stream", e.s.Streams[seg.Stream], "segment_type", kind,
		"segment_pool_id", e.pool(seg.Pool), "is_expandable", seg.Expandable, "frames", e.stacks[seg.Stack], "blocks", blocks)
}

func (e *encoder) event(ev *Event) doc {
	d := kv("action", ev.Action.String())
	if ev.Action == OOM {
		d = d.with("device_free", ev.DeviceFree())
	} else {
		d = d.with("addr", ev.Addr)
	}
	d = append(d, kv("size", ev.Size, "stream", e.s.Streams[ev.Stream], "time_us", ev.Time, "pool_id", e.pool(ev.Pool), "frames", e.stacks[ev.Stack])...)
	return e.label(d, ev.Label)
}

func (e *encoder) label(d doc, id LabelID) doc {
	l := e.s.Labels[id]
	compiled := l.CompileContext
	if compiled == "" {
		compiled = "N/A"
	}
	d = d.with("compile_context", compiled).with("user_metadata", l.UserMetadata)
	if l.ForwardStack != NoStack {
		d = d.with("forward_frames", e.stacks[l.ForwardStack])
	}
	return d
}

// drawSnapshot makes any snapshot that a file can hold.
func drawSnapshot(t *rapid.T) *Snapshot {
	h := newHandmade()
	h.Streams = append(h.Streams, 1, 1<<63)
	h.Pools = append(h.Pools, PoolID{0, 1}, PoolID{1 << 40, 0}, PoolID{-1, 7})
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "a.py", "alloc", "N/A.", "<script>", "é"}), rapid.StringN(0, 300, 300))
	for range rapid.IntRange(0, 5).Draw(t, "stacks") {
		var frames []Frame
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			f := Frame{File: text.Draw(t, "file"), Function: text.Draw(t, "function"), Line: rapid.Int32().Draw(t, "line")}
			frames = append(frames, f)
		}
		h.stack(frames...)
	}
	stack := func() StackID { return StackID(rapid.IntRange(0, h.Stacks.Len()-1).Draw(t, "stack")) }
	h.Labels = append(h.Labels, Label{CompileContext: "0/1"}, Label{UserMetadata: "layers.0"}, Label{CompileContext: "1/0", ForwardStack: stack()})
	label := rapid.IntRange(0, 3)
	size := rapid.OneOf(rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<40))
	addr := rapid.Uint64()
	h.Devices = nil
	for index := range rapid.IntRange(1, 3).Draw(t, "devices") {
		d := &Device{Index: index}
		for range rapid.IntRange(0, 4).Draw(t, "segments") {
			seg := Segment{Addr: addr.Draw(t, "addr"), Stack: stack(), Stream: uint16(rapid.IntRange(0, 2).Draw(t, "stream")), Pool: uint16(rapid.IntRange(0, 3).Draw(t, "pool")),
				Small: rapid.Bool().Draw(t, "small"), Expandable: rapid.Bool().Draw(t, "expandable"), FirstBlock: int32(len(d.Blocks))}
			for range rapid.IntRange(1, 5).Draw(t, "blocks") {
				b := Block{Addr: seg.Addr + uint64(seg.Total), Size: size.Draw(t, "size"), Stack: stack(), Segment: int32(len(d.Segments)), Label: LabelID(label.Draw(t, "label") % 3),
					State: rapid.SampledFrom([]BlockState{Inactive, Allocated, PendingFree}).Draw(t, "state")}
				if b.State != Inactive {
					b.Requested = size.Draw(t, "requested")
				}
				seg.Total += b.Size
				seg.NumBlocks++
				d.Blocks = append(d.Blocks, b)
			}
			d.Segments = append(d.Segments, seg)
		}
		for range rapid.IntRange(0, 10).Draw(t, "events") {
			e := Event{Action: rapid.SampledFrom([]Action{Alloc, FreeRequested, FreeCompleted, SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap, SnapshotMark, OOM, AnnotateMark, WorkspaceSnapshot}).Draw(t, "action"),
				Addr: addr.Draw(t, "addr"), Size: size.Draw(t, "size"), Time: rapid.Int64().Draw(t, "time"), Stack: stack(), Label: LabelID(label.Draw(t, "label")),
				Stream: uint16(rapid.IntRange(0, 2).Draw(t, "stream")), Pool: uint16(rapid.IntRange(0, 3).Draw(t, "pool"))}
			if e.Action == OOM {
				e.Addr = uint64(size.Draw(t, "free"))
			}
			d.Events = append(d.Events, e)
		}
		if len(d.Segments)+len(d.Events) > 0 {
			h.Devices = append(h.Devices, d)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "annotations") {
		h.Annotations = append(h.Annotations, Annotation{Name: text.Draw(t, "name"), Start: rapid.Bool().Draw(t, "start"), Device: rapid.IntRange(-1, 3).Draw(t, "device"), Time: rapid.Int64().Draw(t, "time")})
	}
	return h.Snapshot
}

// What is written reads back equal, in both forms.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSnapshot(rt)
		want := describe(s)
		document := encode(s)
		if got := mustDescribe(t, toPickle(t, document)); got != want {
			rt.Errorf("pickle:\n%swant:\n%s", got, want)
		}
		if got := mustDescribe(t, toJSON(t, document)); got != want {
			rt.Errorf("JSON:\n%swant:\n%s", got, want)
		}
	})
}
