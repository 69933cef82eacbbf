package budget

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/snapshot"
)

// TestCollect holds collected peaks against memory_stats() of the program.
func TestCollect(t *testing.T) {
	for _, c := range []struct {
		file   string
		phases bool // the file holds a whole training step
	}{
		{"gpt_adamw/9_end", true},
		{"gpt_amp/2_step", true},
		{"gpt_sdpa_fused/1_step", true},
		{"extra_foreach_off/0_step", true},
		{"sim_kvcache/default", false},
	} {
		path := filepath.Join("../testdata/snapshots", c.file)
		s, err := snapshot.Open(path + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		p, err := CollectPoint(s, s.Timeline(s.Devices[0]), map[string]string{"batch_size": "4", "optimizer": "adamw"})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if p.Numbers["batch"] != 4 || p.Words["optimizer"] != "adamw" {
			t.Errorf("%s: keys %v", c.file, p.Keys())
		}
		stats := memoryStats(t, path)
		if want := stats["allocated_bytes.all.peak"]; p.Peak != want {
			t.Errorf("%s: peak %d, memory_stats() has %d (%q)", c.file, p.Peak, want, p.Notes)
		}
		if want := stats["reserved_bytes.all.peak"]; p.Reserved != want {
			t.Errorf("%s: reserved %d, memory_stats() has %d", c.file, p.Reserved, want)
		}
		if f := p.Phases; c.phases && (max(f.Forward, f.Backward, f.Step) != p.Peak || f.Init <= 0 || f.AfterBackward < 2*f.Init || f.AfterForward > f.Forward) {
			t.Errorf("%s: phases %+v, peak %d", c.file, f, p.Peak)
		}
		if !c.phases && (p.Phases != PhasePeaks{} || len(p.Notes) == 0) {
			t.Errorf("%s: phases %+v, notes %q", c.file, p.Phases, p.Notes)
		}
	}
}

// memoryStats are those of the program when it took the snapshot.
func memoryStats(t *testing.T, path string) map[string]int64 {
	t.Helper()
	f, err := input.Open(path + ".truth.json")
	if err != nil {
		f, err = input.Open(path + ".truth.json.zst")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var truth struct{ Stats map[string]int64 }
	if err := json.NewDecoder(f).Decode(&truth); err != nil {
		t.Fatal(err)
	}
	return truth.Stats
}

func TestCollectErrors(t *testing.T) {
	s, err := snapshot.Open("../testdata/snapshots/nohistory/end.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	line := s.Timeline(s.Devices[0])
	for _, c := range []struct {
		keys map[string]string
		want string
	}{
		{map[string]string{"batch": "8"}, "no history, so no peak"},
		{map[string]string{}, "no number to predict from"},
		{map[string]string{"peak": "8"}, "peak: is what a snapshot says"},
		{map[string]string{"batch": "x"}, `batch: "x" is not a number`},
		{map[string]string{"batch": "8", "batch_size": "8"}, "given twice"},
	} {
		if _, err := CollectPoint(s, line, c.keys); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.keys, err, c.want)
		}
	}
}

func TestPointTable(t *testing.T) {
	old := `{"note": "kept as it is",   "batch_size": 1, "peak": "1 GiB"}` + "\n\n" + `{"batch": 2, "peak": 7, "sha256": "aa", "file": "two"}`
	table, err := ReadTable([]byte(old), "points.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	point := func(batch float64, peak int64, hash string) Point {
		return Point{Numbers: map[string]float64{"batch": batch}, Words: map[string]string{}, Peak: peak, File: "f", SHA256: hash}
	}
	for _, c := range []struct {
		p        Point
		replaced bool
	}{
		{point(2, 8, "aa"), true},  // the same file under the same keys
		{point(3, 9, "aa"), false}, // the same file under other keys
		{point(2, 9, "bb"), false}, // another run under the same keys
		{point(1, 9, "cc"), false},
		{point(3, 10, "aa"), true},
	} {
		if replaced, err := table.Add(c.p); err != nil || replaced != c.replaced {
			t.Errorf("%+v: replaced %t (%v)", c.p, replaced, err)
		}
	}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `{"note": "kept as it is",   "batch_size": 1, "peak": "1 GiB"}
{"batch": 2, "peak": 8, "file": "f", "sha256": "aa"}
{"batch": 3, "peak": 10, "file": "f", "sha256": "aa"}
{"batch": 2, "peak": 9, "file": "f", "sha256": "bb"}
{"batch": 1, "peak": 9, "file": "f", "sha256": "cc"}
`
	if b.String() != want {
		t.Errorf("the table is\n%s", b.String())
	}
	if _, err := table.Add(Point{Numbers: map[string]float64{"batch": 1, "seq": 2}, Words: map[string]string{}, Peak: 1}); err == nil ||
		!strings.Contains(err.Error(), "seq: line 1 does not have it; every point of a table has the same keys") {
		t.Errorf("other keys: %v", err)
	}
	points, err := ReadPoints(&b, "x")
	if err != nil || len(points) != 5 || points[1].SHA256 != "aa" {
		t.Errorf("read back: %+v (%v)", points, err)
	}
	var table2 bytes.Buffer
	if err := WriteCSV(&table2, points[:2]); err != nil || !strings.HasPrefix(table2.String(), "batch,init,after_forward,") || !strings.Contains(table2.String(), "\n2,,,,,,,,8,,f\n") {
		t.Errorf("as CSV (%v):\n%s", err, table2.String())
	}
}

func TestPointTableErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\"batch\": 1, \"peak\": 1}\nhello", "p: line 2: "},
		{"[{\"batch\": 1, \"peak\": 1}]\n{", "p: line 2: the file ends inside a point"},
		{"{\"batch\": 1, \"peak\": 1}\n{\"seq\": 1, \"peak\": 1}", "p: line 2: batch: missing, and line 1 has it"},
		{"{\"batch\": 1, \"peak\": 1} {\"batch\": 1, \"peak\": 1}", "p: line 1: not one point"},
		{"\x80\x04\x95", "p: line 1: "},
	} {
		if _, err := ReadTable([]byte(c.text), "p"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}
