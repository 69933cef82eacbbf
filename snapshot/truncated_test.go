package snapshot_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/snapview/snapview/snapshot"
)

// What is left of a file that broke off within its events gives the beginning
// of the same curves, and never passes for a complete history.
func TestTruncatedFile(t *testing.T) {
	packed, err := os.ReadFile(filepath.Join(captures, "gpt_adamw", "1_step.pickle.zst"))
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	data, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := snapshot.Read(bytes.NewReader(data), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	full := whole.Timeline(whole.Devices[0]).Curve(0)
	withEvents := 0
	for cut := len(data) / 20; cut < len(data); cut += len(data) / 20 {
		s, err := snapshot.Read(bytes.NewReader(data[:cut]), snapshot.Options{Partial: true})
		if err != nil {
			continue // too little for a snapshot
		}
		d := s.Devices[0]
		tl := s.Timeline(d)
		if tl.History == snapshot.HistoryComplete || tl.History == snapshot.HistoryTruncated != (len(d.Events) > 0) {
			t.Errorf("cut at %d, %d events: history %v", cut, len(d.Events), tl.History)
		}
		if len(d.Events) == 0 {
			continue
		}
		withEvents++
		if tl.OpenEnd != (len(d.Events) < len(full)-1) {
			t.Errorf("cut at %d, %d of %d events: open end %v", cut, len(d.Events), len(full)-1, tl.OpenEnd)
		}
		for i, p := range tl.Curve(0) {
			if p != full[i] {
				t.Fatalf("cut at %d: %+v, in the whole file %+v", cut, p, full[i])
			}
		}
	}
	if withEvents < 3 {
		t.Errorf("only %d of the cuts fell among the events", withEvents)
	}
}
