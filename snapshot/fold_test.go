package snapshot

import (
	"reflect"
	"testing"
)

// foldable is live memory of every kind, under a history of the given state.
func foldable() *handmade {
	h := newHandmade()
	user, again := h.stack(libLine, userLine), h.stack(libOuter, userLine)
	other := h.stack(Frame{File: "/home/me/train.py", Line: 8, Function: "step"})
	load := h.stack(Frame{File: "/home/me/data.py", Line: 1, Function: "load"})
	native := h.stack(unwind, gather, emptyOp)
	for i, a := range []struct {
		size  int64
		stack StackID
	}{{100, user}, {300, again}, {50, other}, {50, load}, {7, native}, {20, NoStack}, {30, h.stack(unnamed)}} {
		h.event(Alloc, uint64(i+1), a.size, a.stack)
	}
	return h
}

// older adds memory older than the history, with and without a stack.
func (h *handmade) older() *handmade {
	for i := range uint64(7) {
		h.segment(i+1, false, Block{Size: 1 << 20, State: Allocated, Requested: h.dev.Events[i].Size})
	}
	h.segment(1<<40, false, Block{Size: 512, Requested: 3, State: Allocated}, Block{Size: 512, Requested: 4, State: Allocated, Stack: 1})
	return h
}

func TestFold(t *testing.T) {
	const train, data = "/home/me/train.py", "/home/me/data.py"
	lib, libOut := libLine.File, libOuter.File
	tests := []struct {
		name string
		h    *handmade
		at   string
		by   By
		want []Row
	}{
		{"by line", foldable(), "6", ByLine, []Row{
			{train, 7, "step", 2, 400, 2}, {"", 0, AutogradThread, 0, 50, 2}, {data, 1, "load", 4, 50, 1}, {train, 8, "step", 3, 50, 1},
			{"??", 0, "at::detail::empty_generic()", 5, 7, 1}}},
		{"by frame", foldable(), "6", ByFrame, []Row{
			{libOut, 1, "_call_impl", 2, 300, 1}, {lib, 9, "forward", 1, 100, 1}, {data, 1, "load", 4, 50, 1}, {train, 8, "step", 3, 50, 1},
			{"??", 0, "??", 6, 30, 1}, {"", 0, AutogradThread, 0, 20, 1}, {"??", 0, "at::detail::empty_generic()", 5, 7, 1}}},
		{"by function", foldable(), "6", ByFunction, []Row{
			{train, 0, "step", 2, 450, 3}, {"", 0, AutogradThread, 6, 50, 2}, {data, 0, "load", 4, 50, 1},
			{"??", 0, "at::detail::empty_generic()", 5, 7, 1}}},
		{"by file", foldable(), "6", ByFile, []Row{
			{train, 0, "", 2, 450, 3}, {"", 0, AutogradThread, 6, 50, 2}, {data, 0, "", 4, 50, 1}, {"", 0, NativeCode, 5, 7, 1}}},
		{"by stack", foldable(), "6", ByStack, []Row{
			{train, 7, "step", 2, 300, 1}, {train, 7, "step", 1, 100, 1}, {data, 1, "load", 4, 50, 1}, {train, 8, "step", 3, 50, 1},
			{"", 0, AutogradThread, 6, 30, 1}, {"", 0, AutogradThread, 0, 20, 1}, {"??", 0, "at::detail::empty_generic()", 5, 7, 1}}},
		{"an earlier moment", foldable(), "1", ByFunction, []Row{{train, 0, "step", 2, 400, 2}}},
		{"the start", foldable(), "start", ByLine, nil},
		{"older memory", foldable().older(), "start", ByLine, []Row{{train, 7, "step", 1, 4, 1}, {"", 0, OlderMemory, 0, 3, 1}}},
		{"older memory at the end", foldable().older(), "end", ByFile, []Row{
			{train, 0, "", 2, 454, 4}, {"", 0, AutogradThread, 6, 50, 2}, {data, 0, "", 4, 50, 1}, {"", 0, NativeCode, 5, 7, 1}, {"", 0, OlderMemory, 0, 3, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.h.dev.Segments == nil { // nothing to reconcile with: end the history openly
				for i := range tt.h.dev.Events {
					e := tt.h.dev.Events[i]
					tt.h.segment(e.Addr, false, Block{Size: 1, Requested: e.Size, State: Allocated})
				}
			}
			tl := tt.h.timeline()
			got := tt.h.Fold(tl, mustMoment(t, tl, tt.at), tt.by)
			if tt.by == ByLine || tt.by == ByFunction || tt.by == ByFile {
				// Which stack stands for a row of several special stacks is of no interest.
				for i := range got.Rows {
					if got.Rows[i].Function == AutogradThread {
						got.Rows[i].Stack = tt.want[i].Stack
					}
				}
			}
			if !reflect.DeepEqual(got.Rows, tt.want) {
				t.Errorf("\n got %+v\nwant %+v", got.Rows, tt.want)
			}
			if want := liveBytes(tl, got.Moment.Event); got.Total != want {
				t.Errorf("total %d, want %d", got.Total, want)
			}
		})
	}
}

func TestFoldWithoutStacks(t *testing.T) {
	h := newHandmade()
	h.segment(1, false, Block{Size: 512, Requested: 5, State: Allocated})
	tl := h.timeline()
	if got := h.Fold(tl, mustMoment(t, tl, "end"), ByLine).Rows; len(got) != 1 || got[0] != (Row{Function: NoStackKnown, Bytes: 5, Count: 1}) {
		t.Errorf("without a history: %+v", got)
	}
	h.event(Alloc, 99, 7, NoStack)
	h.segment(99, false, Block{Size: 512, Requested: 7, State: Allocated})
	tl = h.timeline()
	want := []Row{{Function: NoStackKnown, Bytes: 7, Count: 1}, {Function: OlderMemory, Bytes: 5, Count: 1}}
	if got := h.Fold(tl, mustMoment(t, tl, "end"), ByLine).Rows; !reflect.DeepEqual(got, want) {
		t.Errorf("with a history: %+v, want %+v", got, want)
	}
}

// Equal text is one row, however often its frames and stacks are stored.
func TestFoldMergesEqualText(t *testing.T) {
	h := newHandmade()
	h.Frames = []Frame{userLine, userLine}
	for i := range uint64(2) {
		h.event(Alloc, i+1, 5, h.Stacks.Add([]FrameID{FrameID(i)}))
		h.segment(i+1, false, Block{Size: 1, Requested: 5, State: Allocated})
	}
	tl := h.timeline()
	m := mustMoment(t, tl, "end")
	for by := ByLine; by <= ByStack; by++ {
		if got := h.Fold(tl, m, by).Rows; len(got) != 1 || got[0].Bytes != 10 || got[0].Count != 2 {
			t.Errorf("by %v: %+v", by, got)
		}
	}
	if root := h.Flame(tl, m, 0); len(root.Children) != 1 || root.Children[0].Bytes != 10 {
		t.Errorf("flame: %+v", root.Children)
	}
}

func TestParseBy(t *testing.T) {
	for by := ByLine; by <= ByStack; by++ {
		if got, err := ParseBy(by.String()); err != nil || got != by {
			t.Errorf("%v: %v, %v", by, got, err)
		}
	}
	if got, err := ParseBy(" Line"); err != nil || got != ByLine {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ParseBy("weight"); err == nil {
		t.Error("no error")
	}
}
