package snapshot_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/snapview/snapview/snapshot"
)

const captures = "../testdata/snapshots"

// truth is what the program that was recorded knew: torch.cuda.memory_stats().
type truth struct {
	Stats map[string]int64 `json:"stats"`
}

// readTruth returns nil when a capture has no truth beside it.
func readTruth(t *testing.T, capture string) *truth {
	t.Helper()
	base := strings.TrimSuffix(capture, ".pickle.zst") + ".truth.json"
	data, err := os.ReadFile(base)
	if errors.Is(err, fs.ErrNotExist) {
		packed, packedErr := os.ReadFile(base + ".zst")
		if errors.Is(packedErr, fs.ErrNotExist) {
			return nil
		}
		decoder, newErr := zstd.NewReader(nil)
		if newErr != nil {
			t.Fatal(newErr)
		}
		defer decoder.Close()
		if data, err = decoder.DecodeAll(packed, nil); packedErr != nil {
			err = packedErr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Stats map[string]json.Number `json:"stats"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	if raw.Stats == nil {
		return nil
	}
	out := &truth{Stats: map[string]int64{}}
	for key, number := range raw.Stats {
		if n, err := number.Int64(); err == nil {
			out.Stats[key] = n
		}
	}
	return out
}

// busiest is the device that the truth is about: the one with the longest
// history, of equal ones the first.
func busiest(s *snapshot.Snapshot) *snapshot.Device {
	best := s.Devices[0]
	for _, d := range s.Devices {
		if len(d.Events) > len(best.Events) {
			best = d
		}
	}
	return best
}

// wantHistory says what was recorded in the captures of a folder.
func wantHistory(folder string) snapshot.HistoryState {
	switch folder {
	case "nohistory":
		return snapshot.HistoryNone
	case "stateonly":
		return snapshot.HistoryStateOnly
	case "ring", "tv_gpt", "extra_late", "extra_late_sgd", "extra_ring":
		return snapshot.HistoryTruncated
	}
	return snapshot.HistoryComplete
}

func TestTruth(t *testing.T) {
	compared := 0
	err := filepath.WalkDir(captures, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pickle.zst") {
			return err
		}
		name, _ := filepath.Rel(captures, path)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			s, err := snapshot.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			d := busiest(s)
			tl := s.Timeline(d)
			if want := wantHistory(filepath.Base(filepath.Dir(path))); tl.History != want {
				t.Errorf("history %v, want %v", tl.History, want)
			}
			if tl.Unreconciled != 0 || tl.UnreconciledReserved != 0 {
				t.Errorf("unreconciled: %d requested, %d reserved bytes", tl.Unreconciled, tl.UnreconciledReserved)
			}
			if truth := readTruth(t, path); truth != nil {
				compareStats(t, d.Stats(), tl, truth)
				compared++
			}
			compareFolds(t, s, tl)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared == 0 {
		t.Error("no capture with a truth was found")
	}
}

func compareStats(t *testing.T, got snapshot.Stats, tl *snapshot.Timeline, truth *truth) {
	t.Helper()
	numbers := map[string]int64{
		"reserved_bytes.all.current":       got.Reserved,
		"allocated_bytes.all.current":      got.Allocated,
		"active_bytes.all.current":         got.Active,
		"requested_bytes.all.current":      got.Requested,
		"inactive_split_bytes.all.current": got.InactiveSplit,
	}
	if tl.History == snapshot.HistoryComplete {
		numbers["requested_bytes.all.peak"] = tl.Peak.Bytes
		numbers["reserved_bytes.all.peak"] = tl.PeakReserved.Bytes
	}
	for key, n := range numbers {
		want, ok := truth.Stats[key]
		if !ok {
			t.Errorf("the truth lacks %s", key)
		} else if n != want {
			t.Errorf("%s: %d, want %d", key, n, want)
		}
	}
	if sum := got.Active + got.InactiveSplit + got.Releasable + got.ExpandableFree; sum != got.Reserved {
		t.Errorf("active and free bytes sum to %d, reserved is %d", sum, got.Reserved)
	}
}

// line is a row of the independent fold; the zero line holds everything that
// has no Python frame.
type line struct {
	file, function string
	number         int32
}

type held struct {
	size  int64
	stack snapshot.StackID
}

// compareFolds folds the end and the peak once more, from the dump and the raw
// events with maps, and compares.
func compareFolds(t *testing.T, s *snapshot.Snapshot, tl *snapshot.Timeline) {
	t.Helper()
	end := map[uint64]held{}
	for _, b := range tl.Device.Blocks {
		if b.State != snapshot.Inactive {
			end[b.Addr] = held{b.Requested, b.Stack}
		}
	}
	compareFold(t, s, tl, "end", end)
	if tl.History != snapshot.HistoryNone {
		compareFold(t, s, tl, "peak", liveAtPeak(t, tl, end))
	}
}

// liveAtPeak replays the events naively: what they free unseen and what only
// the dump knows existed before them.
func liveAtPeak(t *testing.T, tl *snapshot.Timeline, end map[uint64]held) map[uint64]held {
	t.Helper()
	live, before := map[uint64]held{}, map[uint64]held{}
	apply := func(live map[uint64]held, e *snapshot.Event) (delta int64) {
		switch e.Action {
		case snapshot.Alloc:
			live[e.Addr] = held{e.Size, e.Stack}
			return e.Size
		case snapshot.FreeCompleted:
			delete(live, e.Addr)
			return -e.Size
		}
		return 0
	}
	events := tl.Device.Events
	for i := range events {
		if _, known := live[events[i].Addr]; !known && events[i].Action == snapshot.FreeCompleted {
			before[events[i].Addr] = held{events[i].Size, snapshot.NoStack}
		}
		apply(live, &events[i])
	}
	for addr, h := range end {
		if _, known := live[addr]; !known {
			before[addr] = h
		}
	}
	var total int64
	for _, h := range before {
		total += h.size
	}
	best, at, now := total, -1, map[uint64]held{}
	for i := range events {
		if total += apply(now, &events[i]); total > best {
			best, at = total, i
		}
	}
	if tl.Peak.Bytes != best || tl.Peak.Event != at {
		t.Errorf("peak %+v, want %d at %d", tl.Peak, best, at)
	}
	for i := range events[:at+1] {
		apply(before, &events[i])
	}
	return before
}

func compareFold(t *testing.T, s *snapshot.Snapshot, tl *snapshot.Timeline, at string, live map[uint64]held) {
	t.Helper()
	m, err := tl.Moment(at)
	if err != nil {
		t.Fatal(err)
	}
	table := s.Fold(tl, m, snapshot.ByLine)
	rest, total := map[line]int64{}, int64(0)
	for _, h := range live {
		rest[lineOf(s, h.stack)] += h.size
		total += h.size
	}
	if table.Total != total {
		t.Errorf("%s: total %d, want %d", at, table.Total, total)
	}
	for _, r := range table.Rows {
		key := line{r.File, r.Function, r.Line}
		if _, python := rest[key]; !python {
			key = line{}
		}
		rest[key] -= r.Bytes
	}
	for key, bytes := range rest {
		if bytes != 0 {
			t.Errorf("%s: %+v is off by %d bytes", at, key, bytes)
		}
	}
}

func lineOf(s *snapshot.Snapshot, id snapshot.StackID) (found line) {
	for _, f := range s.Stacks.Frames(id) {
		frame := s.Frames[f]
		file := frame.File
		if !strings.HasSuffix(file, ".py") && !strings.HasPrefix(file, "<") && !strings.Contains(file, "/ipykernel_") {
			continue
		}
		library := strings.Contains(file, "/site-packages/") || strings.Contains(file, "/dist-packages/") ||
			strings.Contains(file, "/lib/python3") || strings.HasPrefix(file, "<frozen")
		if !library {
			return line{file, frame.Function, frame.Line}
		}
		if found == (line{}) {
			found = line{file, frame.Function, frame.Line}
		}
	}
	return found
}
