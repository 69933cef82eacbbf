package attribution

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// fakeRank is a snapshot with a history: what its lines allocated and kept.
type fakeRank struct {
	device     int
	start      int64 // µs of the first event; 0 for a snapshot without a history
	parameters int64
	lines      []int64 // bytes that line 10, 20 … of train.py allocated
	oom        bool
	stray      int64 // bytes on device 0 as well
}

type fakeFrame struct {
	File     string `json:"filename"`
	Function string `json:"name"`
	Line     int32  `json:"line"`
}

func fakeFrames(frames ...snapshot.Frame) []fakeFrame {
	var out []fakeFrame
	for _, f := range frames {
		out = append(out, fakeFrame{f.File, f.Function, f.Line})
	}
	return out
}

// write writes the snapshot as JSON.
func (f fakeRank) write(t *testing.T, path string) {
	t.Helper()
	type object = map[string]any
	traces := make([][]object, f.device+1)
	var segments []object
	clock := f.start
	alloc := func(device int, size int64, frames []fakeFrame) {
		addr := int64(len(segments)+1) << 32
		total := (size + 2<<20 - 1) / (2 << 20) * (2 << 20)
		for _, e := range []object{{"action": "segment_alloc", "size": total}, {"action": "alloc", "size": size}} {
			clock++
			e["addr"], e["stream"], e["frames"], e["time_us"] = addr, 0, frames, clock
			traces[device] = append(traces[device], e)
		}
		segments = append(segments, object{"device": device, "address": addr, "total_size": total, "stream": 0, "segment_type": "large", "blocks": []object{
			{"address": addr, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames},
			{"address": addr + size, "size": total - size, "requested_size": 0, "state": "inactive", "frames": []fakeFrame{}}}})
	}
	if f.parameters > 0 {
		alloc(f.device, f.parameters, fakeFrames(convert, applyLow, main))
	}
	for i, n := range f.lines {
		alloc(f.device, n, fakeFrames(frame("/home/me/train.py", "step", int32(10*i+10)), main))
	}
	if f.stray > 0 {
		alloc(0, f.stray, fakeFrames(frame("/home/me/train.py", "load", 5), main))
	}
	if f.oom {
		traces[f.device] = append(traces[f.device], object{"action": "oom", "size": 1 << 40, "device_free": 0, "stream": 0, "frames": fakeFrames(main), "time_us": clock + 1})
	}
	if f.start == 0 {
		traces = nil
	}
	data, err := json.Marshal(object{"segments": segments, "device_traces": traces})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeRanks writes snapshots into a new folder.
func writeRanks(t *testing.T, files map[string]fakeRank) string {
	t.Helper()
	dir := t.TempDir()
	for name, f := range files {
		f.write(t, filepath.Join(dir, name))
	}
	return dir
}

func readRanks(t *testing.T, o RankOptions, args ...string) RankReport {
	t.Helper()
	sources, skipped, err := FindRanks(context.Background(), args, "")
	if err != nil {
		t.Fatal(err)
	}
	set, err := ReadRanks(context.Background(), sources, skipped, o)
	if err != nil {
		t.Fatal(err)
	}
	return Ranks(set)
}

// rankRowsText is the rows in short: rank, device and what the rank rests on.
func rankRowsText(r *RankReport) (out string) {
	for _, row := range r.Rows {
		out += fmt.Sprintf("%s@%d:%s ", row.Label, row.Device, row.Basis)
	}
	return out
}
