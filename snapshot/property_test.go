package snapshot

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// memory is a naive allocator: what is live, by address.
type memory map[uint64]*piece

type piece struct {
	requested int64
	stack     StackID
	asked     bool // its free is requested
}

func (m memory) total() (sum int64) {
	for _, p := range m {
		sum += p.requested
	}
	return sum
}

func (m memory) byLine(h *handmade) map[[2]any]int64 {
	sums := map[[2]any]int64{}
	for _, p := range m {
		key := [2]any{"", int32(0)}
		if id, ok := h.UserFrame(p.stack); ok {
			key = [2]any{h.Frames[id].File, h.Frames[id].Line}
		}
		sums[key] += p.requested
	}
	return sums
}

// drawHistory runs a random program and records it from a random moment on. It
// returns the snapshot and the live set before the first and after each event.
// Stacks of memory freed in the history but older than it are lost, as in a
// real file.
func drawHistory(t *rapid.T) (*handmade, []memory) {
	h := newHandmade()
	stacks := []StackID{NoStack, h.py(1), h.py(2), h.stack(unwind, libLine, userLine), h.stack(emptyOp), h.stack(libLine)}
	begin := rapid.IntRange(0, 40).Draw(t, "begin")
	steps := rapid.IntRange(0, 120).Draw(t, "steps")
	live := memory{}
	var states []memory
	var older memory
	next := uint64(1)
	var freed []uint64
	record := func(i int, a Action, addr uint64, p *piece) {
		if i < begin {
			return
		}
		h.event(a, addr, p.requested, p.stack)
		states = append(states, maps.Clone(live))
	}
	for i := range steps {
		if i == begin {
			states = append(states, maps.Clone(live))
			older = maps.Clone(live)
		}
		addrs := make([]uint64, 0, len(live))
		for a := range live {
			addrs = append(addrs, a)
		}
		slices.Sort(addrs)
		op := rapid.IntRange(0, 9).Draw(t, "op")
		switch {
		case op < 5 || len(addrs) == 0:
			addr := next << 9
			if len(freed) > 0 && op%2 == 0 {
				addr, freed = freed[len(freed)-1], freed[:len(freed)-1]
			} else {
				next++
			}
			live[addr] = &piece{requested: rapid.Int64Range(1, 512).Draw(t, "size"), stack: rapid.SampledFrom(stacks).Draw(t, "stack")}
			record(i, Alloc, addr, live[addr])
		case op == 5:
			record(i, SnapshotMark, 0, &piece{})
		default:
			addr := rapid.SampledFrom(addrs).Draw(t, "addr")
			p := live[addr]
			if !p.asked {
				p.asked = true
				record(i, FreeRequested, addr, p)
			}
			if op < 9 {
				delete(live, addr)
				freed = append(freed, addr)
				record(i, FreeCompleted, addr, p)
			}
		}
	}
	if len(states) == 0 {
		states = append(states, maps.Clone(live))
	}
	for addr, p := range live {
		state := Allocated
		if p.asked {
			state = PendingFree
		}
		h.segment(addr, false, Block{Size: 512, Requested: p.requested, Stack: p.stack, State: state})
	}
	for _, addr := range freed {
		h.segment(addr, false, Block{Size: 512})
	}
	for addr, p := range older {
		if live[addr] != p {
			p.stack = NoStack
		}
	}
	return h, states
}

func TestTimelineAgainstNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, states := drawHistory(t)
		tl := h.timeline()
		checkTimeline(t, tl)
		if tl.Unreconciled != 0 {
			t.Fatalf("unreconciled %d", tl.Unreconciled)
		}
		if tl.BaselineRequested != states[0].total() {
			t.Fatalf("baseline %d, want %d", tl.BaselineRequested, states[0].total())
		}
		curve := tl.Curve(0)
		if end := curve[len(curve)-1].Requested; end != tl.EndRequested || end != states[len(states)-1].total() {
			t.Fatalf("ends at %d, want %d and %d", end, tl.EndRequested, states[len(states)-1].total())
		}
		for i, state := range states {
			m := Moment{Event: i - 1}
			if curve[i].Requested != state.total() {
				t.Fatalf("event %d: curve %d, want %d", i-1, curve[i].Requested, state.total())
			}
			seen := 0
			for a := range tl.Live(m) {
				p := state[a.Addr]
				if p == nil || p.requested != a.Requested || p.stack != a.Stack {
					t.Fatalf("event %d: live %+v, want %+v", i-1, *a, p)
				}
				seen++
			}
			if seen != len(state) {
				t.Fatalf("event %d: %d live, want %d", i-1, seen, len(state))
			}
		}
		checkFolds(t, h, tl, states)
		limit := rapid.IntRange(1, 60).Draw(t, "points")
		if n := len(tl.Curve(limit)); n > limit {
			t.Fatalf("Curve(%d) has %d points", limit, n)
		}
	})
}

// checkFolds compares the folds of the peak with the naive model.
func checkFolds(t *rapid.T, h *handmade, tl *Timeline, states []memory) {
	m, err := tl.Moment("peak")
	if (err != nil) != (tl.History == HistoryNone) {
		t.Fatalf("the peak of a history that is %v: %v", tl.History, err)
	}
	if err != nil {
		return
	}
	state := states[m.Event+1]
	want := state.byLine(h)
	for by := ByLine; by <= ByStack; by++ {
		table := h.Fold(tl, m, by)
		var bytes int64
		count := 0
		for i, r := range table.Rows {
			bytes += r.Bytes
			count += r.Count
			if i > 0 && compareRows(table.Rows[i-1], r) >= 0 {
				t.Fatalf("by %v: rows %d and %d out of order", by, i-1, i)
			}
			if by == ByLine {
				want[[2]any{r.File, r.Line}] -= r.Bytes
			}
		}
		if table.Total != tl.Peak.Bytes || bytes != table.Total || count != len(state) {
			t.Fatalf("by %v: total %d, rows %d in %d allocations; want %d in %d", by, table.Total, bytes, count, tl.Peak.Bytes, len(state))
		}
	}
	for key, rest := range want {
		if rest != 0 {
			t.Fatalf("%v: %d bytes off", key, rest)
		}
	}
	limit := rapid.IntRange(1, 20).Draw(t, "nodes")
	root := h.Flame(tl, m, limit)
	if nodes, _ := checkFlame(t, root); nodes > limit || root.Bytes != tl.Peak.Bytes || root.Count != len(state) {
		t.Fatalf("flame: %d nodes of %d, %d bytes of %d", nodes, limit, root.Bytes, tl.Peak.Bytes)
	}
}

// Any list of events and blocks, however inconsistent, gives a timeline that
// holds together and a live set at the end that is that of the blocks.
func TestTimelineOfAnything(t *testing.T) {
	size := rapid.OneOf(rapid.Int64Range(-10, 1000), rapid.Int64())
	event := rapid.Custom(func(t *rapid.T) Event {
		return Event{Action: Action(rapid.IntRange(0, 12).Draw(t, "action")), Addr: rapid.Uint64Range(0, 5).Draw(t, "addr"),
			Size: size.Draw(t, "size"), Stack: StackID(rapid.IntRange(0, 5).Draw(t, "stack")), Time: rapid.Int64Range(0, 50).Draw(t, "time")}
	})
	rapid.Check(t, func(t *rapid.T) {
		h := newHandmade()
		h.py(1)
		h.stack(unnamed)
		h.dev.Events = rapid.SliceOfN(event, 0, 60).Draw(t, "events")
		blocks := rapid.IntRange(0, 8).Draw(t, "blocks")
		active := 0
		for range blocks {
			b := Block{Size: size.Draw(t, "size"), Requested: size.Draw(t, "requested"), State: BlockState(rapid.IntRange(0, 2).Draw(t, "state"))}
			if b.State != Inactive {
				active++
			}
			h.segment(rapid.Uint64Range(0, 5).Draw(t, "base"), rapid.Bool().Draw(t, "expandable"), b)
		}
		if rapid.Bool().Draw(t, "partial") {
			h.Partial = errPartialTest
			h.Settings.Present = rapid.Bool().Draw(t, "settings")
		}
		stats := h.dev.Stats()
		for _, n := range []int64{stats.Reserved, stats.Allocated, stats.Active, stats.Requested, stats.RoundingWaste, stats.InactiveSplit} {
			if n < 0 {
				t.Fatalf("negative account: %+v", stats)
			}
		}
		tl := h.timeline()
		checkTimeline(t, tl)
		end := 0
		for a := range tl.Live(Moment{Event: tl.lastEvent()}) {
			end++
			if b := a.Block; !tl.OpenEnd && tl.Unreconciled < replayLimit/2 && stats.Requested < replayLimit/2 && a.Requested != max(h.dev.Blocks[b].Requested, 0) {
				t.Fatalf("%d bytes live at the end, the block says %d", a.Requested, h.dev.Blocks[b].Requested)
			}
		}
		if !tl.OpenEnd && end != active {
			t.Fatalf("%d allocations live at the end, %d blocks", end, active)
		}
		if tl.History == HistoryComplete && tl.Unreconciled+tl.UnreconciledReserved != 0 {
			t.Fatalf("complete, but %d and %d do not reconcile", tl.Unreconciled, tl.UnreconciledReserved)
		}
		if h.Partial != nil && tl.History == HistoryComplete || tl.Unreconciled < 0 || tl.UnreconciledReserved < 0 {
			t.Fatalf("%+v", tl)
		}
		for event := -1; event <= tl.lastEvent(); event++ {
			m := Moment{Event: event}
			want := liveBytes(tl, event)
			if got := h.Fold(tl, m, ByLine).Total; got != want || got < 0 {
				t.Fatalf("fold %d, want %d", got, want)
			}
			if root := h.Flame(tl, m, 5); root.Bytes != want {
				t.Fatalf("flame %d, want %d", root.Bytes, want)
			}
		}
	})
}

var errPartialTest = errors.New("cut short")

func TestAddrTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newAddrTable()
		table.slots = make([]addrSlot, 4)
		naive := map[uint64]int32{}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			addr := rapid.Uint64Range(0, 40).Draw(t, "addr")
			want := naive[addr]
			var got int32
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				val := rapid.Int32Range(1, 100).Draw(t, "val")
				got = table.put(addr, val)
				naive[addr] = val
			case 1:
				got = table.remove(addr)
				delete(naive, addr)
			default:
				got = table.get(addr)
			}
			if got != want || table.used != len(naive) {
				t.Fatalf("address %d: %d, want %d; %d used, want %d", addr, got, want, table.used, len(naive))
			}
		}
	})
}
