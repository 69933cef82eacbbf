package snapshot_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// A sound capture with one thing wrong in it is no longer complete, says by how
// many bytes, and ends at what its blocks say all the same.
func TestDamagedHistory(t *testing.T) {
	const mb = 1_000_000
	find := func(d *snapshot.Device, from int, a snapshot.Action) int {
		return from + slices.IndexFunc(d.Events[from:], func(e snapshot.Event) bool { return e.Action == a })
	}
	tests := []struct {
		name                string
		damage              func(d *snapshot.Device) (wrong int64)
		requested, reserved bool // which of the two is wrong
	}{
		{"segment too large", func(d *snapshot.Device) int64 {
			e := &d.Events[find(d, 0, snapshot.SegmentAlloc)]
			wrong := 1<<40 - e.Size
			e.Size = 1 << 40
			return wrong
		}, false, true},
		{"segment twice", func(d *snapshot.Device) int64 {
			i := find(d, 0, snapshot.SegmentAlloc)
			d.Events = slices.Insert(d.Events, i, d.Events[i])
			return d.Events[i].Size
		}, false, true},
		{"free twice", func(d *snapshot.Device) int64 {
			i := find(d, 0, snapshot.FreeCompleted)
			d.Events = slices.Insert(d.Events, i, d.Events[i])
			return d.Events[i].Size
		}, true, false},
		{"free of nothing", func(d *snapshot.Device) int64 {
			i := find(d, 0, snapshot.FreeCompleted)
			e := d.Events[i]
			e.Addr, e.Size = 64, 1<<40
			d.Events = slices.Insert(d.Events, i, e)
			return e.Size
		}, true, false},
		{"alloc missing", func(d *snapshot.Device) int64 {
			i := find(d, 0, snapshot.FreeCompleted)
			addr := d.Events[i].Addr
			alloc := slices.IndexFunc(d.Events, func(e snapshot.Event) bool { return e.Action == snapshot.Alloc && e.Addr == addr })
			wrong := d.Events[alloc].Size
			d.Events = slices.Delete(d.Events, alloc, alloc+1)
			return wrong
		}, true, false},
		{"live memory of another size", func(d *snapshot.Device) int64 {
			block := slices.IndexFunc(d.Blocks, func(b snapshot.Block) bool { return b.State == snapshot.Allocated })
			for i := len(d.Events) - 1; ; i-- {
				if e := &d.Events[i]; e.Action == snapshot.Alloc && e.Addr == d.Blocks[block].Addr {
					e.Size += mb
					return mb
				}
			}
		}, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := snapshot.Open(filepath.Join(captures, "annotated", "end.pickle.zst"))
			if err != nil {
				t.Fatal(err)
			}
			d := s.Devices[0]
			if tl := s.Timeline(d); tl.History != snapshot.HistoryComplete {
				t.Fatalf("the capture is %v before it is damaged", tl.History)
			}
			wrong := tt.damage(d)
			tl := s.Timeline(d)
			if tl.History != snapshot.HistoryInconsistent {
				t.Errorf("history %v", tl.History)
			}
			if (tl.Unreconciled != 0) != tt.requested || (tl.UnreconciledReserved != 0) != tt.reserved {
				t.Errorf("unreconciled: %d requested, %d reserved", tl.Unreconciled, tl.UnreconciledReserved)
			}
			// An impossible excess of requested bytes may be found twice.
			if got := max(tl.Unreconciled, tl.UnreconciledReserved); got < wrong && tt.name != "free of nothing" || got > 2*wrong {
				t.Errorf("%d bytes do not reconcile, %d are wrong", got, wrong)
			}
			curve := tl.Curve(0)
			if end, want := curve[len(curve)-1].Requested, d.Stats().Requested; end != want {
				t.Errorf("the curve ends at %d, the blocks at %d", end, want)
			}
			m, err := tl.Moment("end")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := s.Fold(tl, m, snapshot.ByLine).Total, d.Stats().Requested; got != want {
				t.Errorf("the fold of the end sums to %d, the blocks to %d", got, want)
			}
		})
	}
}
