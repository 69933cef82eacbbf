package allocator

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/snapview/snapview/snapshot"
)

const captures = "../testdata/snapshots"

// truth is what the recorded program knew.
type truth struct {
	Stats    map[string]any `json:"stats"`     // torch.cuda.memory_stats()
	LimitGiB float64        `json:"limit_gib"` // of set_per_process_memory_fraction, 0 for none
}

func (t *truth) number(key string) (int64, bool) {
	n, ok := t.Stats[key].(float64)
	return int64(n), ok
}

// readTruth returns nil when a capture has no truth beside it.
func readTruth(t *testing.T, capture string) *truth {
	t.Helper()
	base := strings.TrimSuffix(strings.TrimSuffix(capture, ".zst"), ".pickle") + ".truth.json"
	data, err := os.ReadFile(base)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = readPacked(base + ".zst")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var out truth
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", capture, err)
	}
	return &out
}

func readPacked(path string) ([]byte, error) {
	packed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(packed, nil)
}

// load returns a capture and its device with the longest history.
func load(t testing.TB, path string) (*snapshot.Snapshot, *snapshot.Device) {
	t.Helper()
	s, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var best *snapshot.Device
	for _, d := range s.Devices {
		if best == nil || len(d.Events) > len(best.Events) {
			best = d
		}
	}
	return s, best
}

// eachCapture calls f for every n-th capture that has a history.
func eachCapture(t *testing.T, n int, f func(path string, s *snapshot.Snapshot, d *snapshot.Device)) {
	t.Helper()
	paths, err := filepath.Glob(captures + "/*/*.pickle.zst")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captures in %s (%v)", captures, err)
	}
	for i, path := range paths {
		if i%n != 0 {
			continue
		}
		if s, d := load(t, path); d != nil && len(d.Events) > 0 {
			f(path, s, d)
		}
	}
}

// TestCaptures replays every capture exactly and compares all that
// memory_stats() said.
func TestCaptures(t *testing.T) {
	compared := 0
	eachCapture(t, 1, func(path string, s *snapshot.Snapshot, d *snapshot.Device) {
		r := Exact(s, s.Timeline(d))
		if !r.Check.Exact {
			t.Errorf("%s: %+v", path, r.Check)
		}
		if truth := readTruth(t, path); truth != nil && r.Timeline.History == snapshot.HistoryComplete {
			compared++
			compareStats(t, path, r, truth)
		}
	})
	if compared < 40 {
		t.Errorf("only %d captures were compared with what the program knew", compared)
	}
}

func compareStats(t *testing.T, name string, r *Replay, truth *truth) {
	t.Helper()
	for key, got := range map[string]int64{
		"reserved_bytes.all.peak":          r.PeakReserved,
		"allocated_bytes.all.peak":         r.PeakAllocated,
		"active_bytes.all.peak":            r.PeakActive,
		"requested_bytes.all.peak":         r.PeakRequested,
		"inactive_split_bytes.all.peak":    r.PeakInactiveSplit,
		"allocated_bytes.all.current":      r.Allocated,
		"active_bytes.all.current":         r.Active,
		"inactive_split_bytes.all.current": r.InactiveSplit,
		"segment.all.current":              int64(r.Segments),
		"num_device_alloc":                 int64(r.DeviceAllocs),
		"num_device_free":                  int64(r.DeviceFrees),
	} {
		if want, ok := truth.number(key); ok && want != got {
			t.Errorf("%s: %s is %d, want %d", name, key, got, want)
		}
	}
}

// confs are the settings of the captures of one workload, by file name.
var confs = map[string]string{
	"default":      "",
	"default_lim1": "",
	"expandable":   "expandable_segments:True",
	"split32":      "max_split_size_mb:32",
}

// TestPredictions predicts the peak of reserved memory of a workload under each
// setting from its record under the defaults. A run that ran out of memory ended
// there. Goal: 3 %; the captures are met far closer.
func TestPredictions(t *testing.T) {
	bases, err := filepath.Glob(captures + "/sim_*/default.pickle.zst")
	if err != nil || len(bases) < 4 {
		t.Fatalf("%d workloads in %s (%v)", len(bases), captures, err)
	}
	for _, base := range bases {
		s, d := load(t, base)
		r := Exact(s, s.Timeline(d))
		for name, conf := range confs {
			path := filepath.Join(filepath.Dir(base), name+".pickle.zst")
			if truth := readTruth(t, path); truth != nil {
				predict(t, r, path, conf, truth)
			}
		}
	}
}

func predict(t *testing.T, r *Replay, path, conf string, truth *truth) {
	t.Helper()
	set, err := ParseConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	out := r.WhatIf(set, Options{Limits: Limits{Fraction: int64(truth.LimitGiB * (1 << 30))}})
	got := out.Stats
	if out.FirstOOM >= 0 {
		got = out.AtOOM
	}
	for key, n := range map[string]int64{"reserved_bytes.all.peak": got.PeakReserved, "allocated_bytes.all.peak": got.PeakAllocated} {
		want, ok := truth.number(key)
		if !ok {
			t.Fatalf("%s: the truth has no %s", path, key)
		}
		if off := 100 * float64(n-want) / float64(want); math.Abs(off) > 0.5 {
			t.Errorf("%s: %s is predicted as %d, was %d (%+.2f %%)", path, key, n, want, off)
		}
	}
	if want, _ := truth.number("num_ooms"); int64(got.OOMs) != want {
		t.Errorf("%s: %d requests fail, really %d", path, got.OOMs, want)
	}
}
