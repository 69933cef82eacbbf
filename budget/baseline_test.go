package budget

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
	"pgregory.net/rapid"
)

func written(t testing.TB, b *Baseline) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBaselineRoundTrip writes baselines of real captures, reads them, and
// compares what comes of both: the same file, and no growth.
func TestBaselineRoundTrip(t *testing.T) {
	for _, name := range []string{"gpt_adamw/9_end", "dist_ddp/rank1_end", "oom/observer", "nohistory/end", "sim_serve/default", "graphs/end"} {
		s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		c := SnapshotCapture("runs/"+name+".pickle.zst", s)
		b := NewBaseline("base.yaml", c)
		b.Shorten()
		first := written(t, b)
		again, err := ParseBaseline("base.yaml", first)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, first)
		}
		if second := written(t, again); !bytes.Equal(first, second) {
			t.Errorf("%s: written again it is\n%s\nwas\n%s", name, second, first)
		}
		if bytes.Contains(first, []byte("/home/")) {
			t.Errorf("%s: the baseline says where the program was:\n%s", name, first)
		}
		k := NewGateChecker(DefaultGates(), again, 1)
		k.Add(c)
		r := k.Report()
		if err := r.Err(); err != nil || r.Count(GateWarned) > 0 {
			t.Errorf("%s: against its own baseline: %v, %d warned", name, err, r.Count(GateWarned))
		}
		for _, row := range r.Growth[0].Rows {
			if row.Delta != 0 {
				t.Errorf("%s: %s:%d %s changed by %d against its own baseline", name, row.File, row.Line, row.Function, row.Delta)
			}
		}
	}
}

// TestBaselineTotals checks that what lines a baseline leaves out is accounted
// for: rows sum to the change.
func TestBaselineTotals(t *testing.T) {
	s := training()
	for i := range int32(60) {
		s.peak = append(s.peak, place("/home/me/small.py", i+1, "f", 1000))
	}
	b := NewBaseline("base.yaml", fakeCapture("r0.pickle", s))
	b.Shorten()
	d := &b.Runs[0].Devices[0]
	if len(d.Places) != leastBaselinePlaces || d.Rest.Lines != 44 || d.Rest.Largest != 1000 || d.Rest.Bytes != 44000 {
		t.Fatalf("kept %d lines, left out %+v", len(d.Places), d.Rest)
	}
	s.peak = append(s.peak, place("/home/me/small.py", 99, "f", 5000))
	r := judged(t, "- {line: any, max_growth: 3999 B}\n- {line: any, max_growth: 4000 B}", b, fakeCapture("r0.pickle", s))
	sum := int64(0)
	for _, row := range r.Growth[0].Rows {
		sum += row.Delta
	}
	if sum != 5000 || r.Growth[0].Delta != 5000 {
		t.Errorf("rows sum to %d, delta %d, want 5000", sum, r.Growth[0].Delta)
	}
	// The new line may have been one of those left out.
	c := r.Gates[0].Checks[0]
	if r.Gates[0].Status != GateExceeded || r.Gates[1].Status != GatePassed || !c.AtMost || c.Before != 1000 {
		t.Errorf("got %v and %v, %+v", r.Gates[0].Status, r.Gates[1].Status, c)
	}
}

// baselineErrors are files that are no baselines.
var baselineErrors = []struct{ name, data, want string }{
	{"empty", "", "base.yaml: is empty; see the documentation for what belongs in it"},
	{"a budget", "gates: []\n", "base.yaml:1: gates: unknown key of a baseline; known are version, runs"},
	{"no version", "runs: []\n", "base.yaml:1: no version: this is not a baseline that snapview wrote"},
	{"another version", "version: 9\n", `base.yaml:1: version: "9" is not a version this program reads, which is 1`},
	{"a run without a name", "version: 1\nruns:\n- kind: snapshot\n", "base.yaml:3: runs: a run needs a file and a kind"},
	{"a kind", "version: 1\nruns:\n- file: a\n  kind: table\n", `base.yaml:4: runs: kind: "table" is not snapshot, trace or memory_timeline`},
	{"no device", "version: 1\nruns:\n- file: a\n  kind: trace\n  devices:\n  - history: none\n", "base.yaml:6: runs: devices: a device needs its index"},
	{"negative", "version: 1\nruns:\n- file: a\n  kind: trace\n  devices:\n  - device: 0\n    stats:\n      segments: -1\n",
		`base.yaml:8: runs: devices: stats: segments: "-1" is not a number of bytes or a count`},
	{"too large", "version: 1\nruns:\n- file: a\n  kind: trace\n  devices:\n  - device: 0\n    stats:\n      segments: 99999999999999999999\n",
		`base.yaml:8: runs: devices: stats: segments: "99999999999999999999" is not a number of bytes or a count`},
	{"a share", "version: 1\nruns:\n- file: a\n  kind: snapshot\n  devices:\n  - device: 0\n    stats:\n      fragmentation: 1\n",
		"base.yaml:8: runs: devices: stats: fragmentation: unknown key of stats; known are " + strings.Join(baselineNumbers(), ", ")},
	{"a category", "version: 1\nruns:\n- file: a\n  kind: trace\n  devices:\n  - device: 0\n    categories:\n      peak:\n        gradients: 1\n",
		"base.yaml:9: runs: devices: categories: peak: gradients: unknown key of categories; did you mean gradient"},
	{"a line", "version: 1\nruns:\n- file: a\n  kind: trace\n  devices:\n  - device: 0\n    lines:\n    - {file: a.py, line: 9999999999, bytes: 1}\n",
		"base.yaml:8: runs: devices: lines: line: 9999999999 is too large"},
	{"the rest", "version: 1\nruns:\n- file: a\n  kind: trace\n  devices:\n  - device: 0\n    not_listed: {lines: 1, bytes: 1, largest: 2}\n",
		"base.yaml:7: runs: devices: not_listed: largest is 2, more than all bytes, which are 1"},
}

func baselineNumbers() (names []string) {
	for _, s := range gateStats {
		if s.inBaseline() {
			names = append(names, s.name)
		}
	}
	return names
}

func TestBaselineErrors(t *testing.T) {
	for _, c := range baselineErrors {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseBaseline("base.yaml", []byte(c.data)); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestRunNames(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"run/snap.pickle.zst", "snap.pickle"},
		{"a/snap.pickle b/snap.pickle", "a/snap.pickle b/snap.pickle"},
		{"x/a/snap.pickle.gz x/b/snap.pickle.gz x/b/other.pickle", "a/snap.pickle b/snap.pickle other.pickle"},
		{"snap.pickle b/snap.pickle", "snap.pickle b/snap.pickle"},
		{"./snap.pickle", "snap.pickle"},
	} {
		if got := strings.Join(runNames(strings.Fields(c.files)), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.files, got, c.want)
		}
	}
}

func TestBaselineRun(t *testing.T) {
	b := &Baseline{File: "base.yaml", Runs: []BaselineRun{{Name: "snap.pickle", Kind: "snapshot"}, {Name: "b/snap.pickle", Kind: "snapshot"}}}
	one := &Baseline{File: "base.yaml", Runs: b.Runs[:1]}
	for _, c := range []struct {
		b          *Baseline
		file, kind string
		alone      bool
		want       string
	}{
		{b, "/x/snap.pickle.zst", "snapshot", false, "snap.pickle"},
		{b, "/x/b/snap.pickle", "snapshot", false, "b/snap.pickle"},
		{b, "b-snap.pickle", "snapshot", true, "the baseline base.yaml has no run of this name; --update adds it"},
		{one, "b-snap.pickle", "snapshot", true, "snap.pickle"},
		{one, "b-snap.pickle", "snapshot", false, "the baseline base.yaml has no run of this name; --update adds it"},
		{one, "b.json", "trace", true, "the baseline's run snap.pickle is of a snapshot, and this is a trace"},
	} {
		r, err := c.b.run(c.file, c.kind, c.alone)
		got := fmt.Sprint(err)
		if err == nil {
			got = r.Name
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.file, got, c.want)
		}
	}
}

func TestMatchFiles(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"model.py train.py", "/a/model.py /a/train.py", "/a/model.py /a/train.py"},
		{"/ci/1/x/model.py", "/ci/2/x/model.py", "/ci/2/x/model.py"},
		{"x/model.py y/model.py", "/a/y/model.py /a/x/model.py", "/a/x/model.py /a/y/model.py"},
		{"model.py", "/a/x/model.py /a/model.py", "/a/model.py"},
		{"model.py x/model.py", "/a/x/model.py /a/model.py", "/a/model.py /a/x/model.py"},
		{"model.py", "/a/train.py", "-"},
		{"model.py other/model.py", "model.py", "model.py -"},
		{`C:\run\model.py`, `D:\run\model.py`, `D:\run\model.py`},
	} {
		before := strings.Fields(c.before)
		sorted := slices.Sorted(slices.Values(before))
		paths := matchFiles(sorted, slices.Sorted(slices.Values(strings.Fields(c.after))))
		var got []string
		for _, b := range before {
			to, ok := paths[b]
			if !ok {
				to = "-"
			}
			got = append(got, to)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s to %s: got %v, want %s", c.before, c.after, got, c.want)
		}
	}
}

func TestShortenPaths(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"/home/me/p/model.py /home/me/p/train.py", "model.py train.py"},
		{"/home/me/p/nn/model.py /home/me/p/train.py", "nn/model.py train.py"},
		{"/home/me/p/train.py /opt/v/lib/python3.12/site-packages/torch/nn/a.py", "train.py torch/nn/a.py"},
		{"/home/me/train.py /tmp/worker.py", "/home/me/train.py /tmp/worker.py"},
		{"train.py nn/model.py", "train.py nn/model.py"},
		{"<string> /home/me/p/a.py ??", "<string> a.py ??"},
	} {
		var places []attribution.Place
		for _, f := range strings.Fields(c.files) {
			places = append(places, place(f, 1, "f", 1))
		}
		shortenPaths(places)
		var got []string
		for _, p := range places {
			got = append(got, p.File)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.files, got, c.want)
		}
	}
}

// TestHostileNames checks that names cannot break out of their line.
func TestHostileNames(t *testing.T) {
	s := training()
	s.peak = []attribution.Place{place("a\nb: [1]\x1b[31m\".py", 1, "f: {}} # 'x'\u202e\x00", 5)}
	c := fakeCapture("evil\": \n- x.pickle", s)
	again, err := ParseBaseline("base.yaml", written(t, NewBaseline("base.yaml", c)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Runs[0].Devices[0].Places[0].Function, `f: {}} # 'x'\u202e\x00`; got != want || len(again.Runs) != 1 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBaselineOfAny checks the round trip for baselines of any content.
func TestBaselineOfAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &Baseline{File: "base.yaml"}
		d := BaselineDevice{ID: "0", Moment: atPeak, Numbers: map[string]int64{}, Totals: map[string]attribution.Totals{}}
		amount := rapid.Int64Range(0, 1<<50)
		for _, name := range baselineNumbers() {
			if rapid.Bool().Draw(t, "has") {
				d.Numbers[name] = amount.Draw(t, "number")
			}
		}
		for _, at := range []string{atPeak, atEnd} {
			var totals attribution.Totals
			for c := range totals {
				totals[c] = amount.Draw(t, "bytes")
			}
			d.Totals[at] = totals
		}
		text := rapid.StringMatching(`[ -~äß]{0,9}`)
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			p := attribution.Place{File: text.Draw(t, "file"), Function: text.Draw(t, "function")}
			if p.File != "" {
				p.Line = rapid.Int32Range(0, 9999).Draw(t, "line")
			}
			p.Totals[rapid.IntRange(0, attribution.NumCategories-1).Draw(t, "category")] = amount.Draw(t, "bytes")
			d.Places = append(d.Places, p)
		}
		d.Places = sortedPlaces(joinPlaces(d.Places))
		b.Runs = []BaselineRun{{Name: "a.pickle", Kind: "snapshot", Devices: []BaselineDevice{d}}}
		var out bytes.Buffer
		if err := b.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := ParseBaseline("base.yaml", out.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if len(d.Places) == 0 {
			again.Runs[0].Devices[0].Places = d.Places
		}
		if !reflect.DeepEqual(again.Runs, b.Runs) {
			t.Fatalf("got %+v\nwant %+v\n%s", again.Runs, b.Runs, out.String())
		}
	})
}

func FuzzParseBaseline(f *testing.F) {
	for _, c := range baselineErrors {
		f.Add([]byte(c.data))
	}
	f.Add(written(f, NewBaseline("base.yaml", fakeCapture("r0.pickle", training()))))
	now := fakeCapture("r0.pickle", training())
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBaseline("base.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "base.yaml:") {
				t.Errorf("%v does not begin with the name of the file", err)
			}
			return
		}
		if _, err := ParseBaseline("base.yaml", written(t, b)); err != nil {
			t.Errorf("what was written of it: %v", err)
		}
		k := NewGateChecker(DefaultGates(), b, 1)
		k.Add(now)
		for _, g := range k.Report().Growth {
			sum := int64(0)
			for _, r := range g.Rows {
				sum += r.Delta
			}
			if sum != g.Delta {
				t.Errorf("rows sum to %d, not %d", sum, g.Delta)
			}
		}
	})
}

// TestExampleBudget checks that the example is a budget, and that a real capture
// passes it against the baseline beside it.
func TestExampleBudget(t *testing.T) {
	folder := "../examples/ci"
	data, err := os.ReadFile(filepath.Join(folder, "budget.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	gates, err := ParseGates("budget.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(filepath.Join(folder, gates.Baseline))
	if err != nil {
		t.Fatal(err)
	}
	baseline, err := ParseBaseline(gates.Baseline, data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open("../testdata/snapshots/gpt_sdpa_fused/1_step.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	c := SnapshotCapture("step.pickle", s)
	k := NewGateChecker(gates.Gates, baseline, 1)
	k.Add(c)
	r := k.Report()
	if err := r.Err(); err != nil || r.Count(GatePassed) != len(gates.Gates) {
		t.Errorf("%d of %d pass: %v", r.Count(GatePassed), len(gates.Gates), err)
	}
	now := NewBaseline("", c)
	now.Shorten()
	if !bytes.Equal(written(t, now), data) {
		t.Errorf("%s is not what --update writes of this capture:\n%s", gates.Baseline, written(t, now))
	}
}
