package budget

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// sweep reads 72 measured configurations of one training program.
func sweep(t testing.TB) []Point {
	t.Helper()
	f, err := os.Open("../testdata/sweep.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	points, err := ReadPoints(f, "sweep.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func TestReadSweep(t *testing.T) {
	points := sweep(t)
	if len(points) != 72 {
		t.Fatalf("%d points, want 72", len(points))
	}
	p := points[0]
	if p.Line != 1 || p.Numbers["batch"] != 32 || p.Words["attention"] != "sdpa" || p.Words["checkpoint"] != "false" ||
		p.Peak != 3220315648 || p.Reserved != 3730833408 || p.Phases.Backward != 3220315648 || p.Phases.AfterBackward != 843311616 {
		t.Errorf("the first point is %+v", p)
	}
	if points[71].Line != 72 {
		t.Errorf("the last point is on line %d", points[71].Line)
	}
}

// TestPointForms reads what people write beside the plain form.
func TestPointForms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		batch      float64
		peak       int64
		words      map[string]string
	}{
		{"units", `{"batch": 8, "peak": "40 GiB"}`, 8, 40 << 30, nil},
		{"decimal units", `{"batch": 8, "peak": "1.5 GB"}`, 8, 1_500_000_000, nil},
		{"other names", `{"batch_size": "8", "max_memory_allocated": 1024}`, 8, 1024, nil},
		{"an array", "[\n{\"batch\": 8,\n\"peak\": 7}\n]", 8, 7, nil},
		{"null is missing", `{"batch": 8, "peak": 7, "reserved": null}`, 8, 7, nil},
		{"a peak of phases", `{"batch": 8, "peak_forward": 5, "peak_backward": "9", "peak_step": 6}`, 8, 9, nil},
		{"words", `{"batch": 8, "peak": 7, "optimizer": "adamw", "checkpointing": true, "gpu": "h200"}`, 8, 7,
			map[string]string{"optimizer": "adamw", "checkpoint": "true", "gpu": "h200"}},
		{"remarks", `{"batch": 8, "peak": 7, "note": "why", "files": ["a", {"b": 1}]}`, 8, 7, nil},
		{"a word key with a number", `{"batch": 8, "peak": 7, "checkpoint": 0}`, 8, 7, map[string]string{"checkpoint": "0"}},
	} {
		points, err := ReadPoints(strings.NewReader(c.text), "x")
		if err != nil || len(points) != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p := points[0]
		if p.Numbers["batch"] != c.batch || p.Peak != c.peak || !maps.Equal(p.Words, c.words) && len(c.words)+len(p.Words) > 0 {
			t.Errorf("%s: read %+v", c.name, p)
		}
	}
}

func TestPointErrors(t *testing.T) {
	ok := `{"batch": 8, "seq": 512, "attention": "eager", "peak": 1000}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n\n", "x: no points: write one JSON object a line"},
		{"not JSON", ok + `{"batch": 8,, "peak": 7}`, "x: line 2: "},
		{"cut", ok + ok + `{"batch": 8, "pe`, "x: line 3: the file ends inside a point"},
		{"not an object", ok + `7`, "x: line 2: not a point"},
		{"a number that is none", ok + `{"batch": "many", "seq": 512, "attention": "eager", "peak": 7}`, `x: line 2: batch: "many" is not a number`},
		{"zero", `{"batch": 0, "peak": 7}`, "x: line 1: batch: 0 is not above 0"},
		{"negative", `{"batch": -8, "peak": 7}`, "x: line 1: batch: -8 is not above 0"},
		{"infinite", `{"batch": 1e400, "peak": 7}`, "x: line 1: batch: \"1e400\" is not a number"},
		{"no peak", `{"batch": 8}`, "x: line 1: peak: missing"},
		{"no number", `{"attention": "eager", "peak": 7}`, "x: line 1: no number to predict from"},
		{"unit", "\n" + `{"batch": 8, "peak": "40 GiBs of memory"}`, "x: line 2: peak: "},
		{"unknown unit", `{"batch": 8, "peak": "40 Gx"}`, `unknown unit "Gx"`},
		{"fraction", `{"batch": 8, "peak": 1.5}`, "x: line 1: peak: not a whole number of bytes"},
		{"peak below a phase", `{"batch": 8, "peak": 100, "peak_step": 200}`, "x: line 1: peak: 100 B is less than the peak of a phase, 200 B"},
		{"reserved below the peak", `{"batch": 8, "peak": 100, "reserved": 50}`, "x: line 1: reserved: 50 B is less than"},
		{"twice", `{"batch": 8, "batch_size": 8, "peak": 7}`, "x: line 1: batch_size: given twice"},
		{"twice in JSON", `{"batch": 8, "batch": 8, "peak": 7}`, "x: line 1: duplicate object member name"},
		{"missing key", ok + `{"batch": 8, "attention": "eager", "peak": 7}`, "x: line 2: seq: missing, and line 1 has it"},
		{"more keys", ok + `{"batch": 8, "seq": 512, "attention": "eager", "rank": 4, "peak": 7}`, "x: line 2: rank: line 1 does not have it"},
		{"a word for a number", `{"batch": 8, "rank": 4, "peak": 7}` + "\n" + `{"batch": 8, "rank": "low", "peak": 7}`, "x: line 2: rank: a word here and a number on line 1"},
		{"nested", ok + `{"batch": 8, "seq": {"a": 1}, "attention": "eager", "peak": 7}`, "x: line 2: seq: a list or an object"},
		{"a name that hides", "{\"ba\\u202etch\": \"\", \"batch\": 8, \"peak\": 7}", `x: line 1: ba\u202etch: not a word`},
		{"a name with a sign", `{"a=b": 1, "batch": 8, "peak": 7}`, "x: line 1: a=b: not a name for a key"},
	} {
		_, err := ReadPoints(strings.NewReader(c.text), "x")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzReadPoints(f *testing.F) {
	for _, s := range []string{`{"batch": 8, "seq": 512, "peak": "40 GiB"}`, "[{\"batch\":1,\"peak\":7}]", "{\"a\":true,\"b\":1e300,\"peak\":1}\n\n{", "[[", `{"peak":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		points, err := ReadPoints(strings.NewReader(s), "x")
		if err != nil {
			return
		}
		for i := range points {
			if points[i].Peak <= 0 || points[i].Reserved != 0 && points[i].Reserved < points[i].Peak {
				t.Errorf("accepted %+v", points[i])
			}
		}
		if _, err := Fit(points, FitOptions{Quick: true}); err != nil {
			return
		}
	})
}
