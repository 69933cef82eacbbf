package snapshot

import (
	"bytes"
	"testing"
)

// Whatever the bytes are: an error, or a snapshot that can be analysed.
func FuzzRead(f *testing.F) {
	h := newHandmade()
	h.segment(4096, false, Block{Size: 512, Requested: 300, State: Allocated, Stack: h.py(3)}, Block{Size: 512})
	h.event(SegmentAlloc, 4096, 1024, NoStack)
	h.event(Alloc, 4096, 300, h.py(3))
	h.event(OOM, 100, 1<<50, h.py(3))
	for _, d := range []any{encode(h.Snapshot), oneEvent(alloc), oneSegment(kv("address", 4096, "blocks", list{kv("size", 5)})), list{kv("blocks", list{})}} {
		f.Add(toPickle(f, d))
		f.Add(toJSON(f, d))
		f.Add(gzipped(f, toPickle(f, d)))
	}
	f.Add(raw(f, "protocols/p0.pickle.zst")[:4000])
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(bytes.NewReader(data), Options{})
		if err == nil && s == nil {
			t.Fatal("neither a snapshot nor an error")
		}
		if s == nil {
			return
		}
		if err != nil && s.Partial == nil {
			t.Errorf("a snapshot with an error is not marked: %v", err)
		}
		for _, d := range s.Devices {
			analyse(t, s, d)
		}
		describe(s)
	})
}

func analyse(t *testing.T, s *Snapshot, d *Device) {
	t.Helper()
	if st := d.Stats(); st.Reserved < 0 || st.Allocated < 0 || st.Requested < 0 {
		t.Errorf("negative accounts: %+v", st)
	}
	tl := s.Timeline(d)
	tl.Curve(100)
	for _, spec := range []string{"end", "peak"} {
		m, err := tl.Moment(spec)
		if err != nil {
			if tl.History != HistoryNone {
				t.Errorf("%s: %v", spec, err)
			}
			continue
		}
		for by := ByLine; by <= ByStack; by++ {
			table := s.Fold(tl, m, by)
			var sum int64
			for _, row := range table.Rows {
				sum += row.Bytes
			}
			if sum != table.Total {
				t.Errorf("rows by %v at the %s sum to %d, want %d", by, spec, sum, table.Total)
			}
		}
	}
}
