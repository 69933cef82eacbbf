package budget

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/profiler"
	"github.com/snapview/snapview/snapshot"
	"pgregory.net/rapid"
)

// fakeSource is a device of the test's own making.
type fakeSource struct {
	numbers map[string]Number
	history string
	unsure  string
	peak    []attribution.Place
	noPeak  string
	found   []attribution.Finding
}

func (x *fakeSource) number(stat string) (Number, bool) { n, ok := x.numbers[stat]; return n, ok }
func (x *fakeSource) word(string) (word, unsure string, ok bool) {
	return x.history, x.unsure, x.history != ""
}
func (x *fakeSource) settings() string { return "" }

func (x *fakeSource) totals(string) (t attribution.Totals, missing string) {
	for _, p := range x.peak {
		for c := range p.Totals {
			t[c] += p.Totals[c]
		}
	}
	return t, x.noPeak
}

func (x *fakeSource) places(string) ([]attribution.Place, string) { return x.peak, x.noPeak }

func (x *fakeSource) findings() ([]attribution.Finding, bool) { return x.found, true }

// place is a line that holds activations.
func place(file string, line int32, function string, bytes int64) attribution.Place {
	p := attribution.Place{File: file, Line: line, Function: function, Count: 1}
	p.Totals[attribution.Activation] = bytes
	return p
}

func fakeCapture(name string, devices ...*fakeSource) *Capture {
	c := &Capture{File: name, Kind: "snapshot"}
	for i, d := range devices {
		c.Devices = append(c.Devices, &CaptureDevice{fmt.Sprint(i), d})
	}
	return c
}

// judged runs gates, given as YAML, on captures.
func judged(t *testing.T, gates string, baseline *Baseline, captures ...*Capture) *GateReport {
	t.Helper()
	g, err := ParseGates("b.yaml", []byte("gates:\n"+gates))
	if err != nil {
		t.Fatal(err)
	}
	k := NewGateChecker(g.Gates, baseline, len(captures))
	for _, c := range captures {
		k.Add(c)
	}
	return k.Report()
}

const mib = 1 << 20

func training() *fakeSource {
	return &fakeSource{
		history: "complete",
		numbers: map[string]Number{
			"peak.reserved_bytes": exactly(1000 * mib), "peak.requested_bytes": {Value: 900 * mib, AtLeast: true}, "oom_events": exactly(0),
			"peak.allocated_bytes": missing("no replay"), "fragmentation": share(exactly(125*mib), exactly(1000*mib)), "reserved_bytes": exactly(1000 * mib),
		},
		peak: []attribution.Place{
			place("/home/me/model.py", 19, "forward", 500*mib), place("/home/me/model.py", 32, "forward", 200*mib),
			place("/home/me/train.py", 7, "main", 150*mib), place("", 0, "(autograd thread)", 50*mib),
		},
		found: []attribution.Finding{
			{ID: "attention_scores", Title: "scores", Do: "do", Bytes: 100 * mib, File: "model.py", Line: 19}, {ID: "copied_parameters", Bytes: mib, Info: true},
		},
	}
}

func TestGateStatus(t *testing.T) {
	for _, c := range []struct {
		gate, status, why string
	}{
		{"- {stat: peak.reserved_bytes, max: 1000MiB}", "pass", ""},
		{"- {stat: peak.reserved_bytes, max: 999MiB}", "exceeded", ""},
		{"- {stat: peak.reserved_bytes, max: 999MiB, severity: warn}", "warn", ""},
		{"- {stat: peak.reserved_bytes, min: 1GiB}", "exceeded", ""},
		{"- {stat: peak.reserved_bytes, min: 1000MiB, max: 1GiB}", "pass", ""},
		{"- {stat: peak.requested_bytes, max: 90%, of: peak.reserved_bytes}", "pass", ""},
		{"- {stat: peak.requested_bytes, max: 89.9%, of: peak.reserved_bytes}", "exceeded", ""},
		{"- {stat: peak.requested_bytes, max: 90%, of: peak.allocated_bytes}", "unjudged", "no replay"},
		{"- {stat: peak.requested_bytes, max: 90%, of: trace.peak_bytes}", "unjudged", "a snapshot has no trace.peak_bytes"},
		{"- {stat: peak.requested_bytes, max: 800MiB}", "exceeded", ""}, // at least 900 MiB
		{"- {stat: peak.requested_bytes, min: 950MiB}", "unjudged", "the file proves less than the limit, and there may have been more"},
		{"- {stat: peak.requested_bytes, min: 900MiB}", "pass", ""},
		{"- {stat: peak.allocated_bytes, max: 1TiB}", "unjudged", "no replay"},
		{"- {stat: peak.allocated_bytes, max: 1TiB, optional: true}", "skipped", "no replay"},
		{"- {stat: trace.peak_bytes, max: 1TiB}", "no_match", "a snapshot has no trace.peak_bytes"},
		{"- {stat: trace.peak_bytes, max: 1TiB, optional: true}", "skipped", "a snapshot has no trace.peak_bytes"},
		{"- {stat: fragmentation, max: 12.5%}", "pass", ""},
		{"- {stat: fragmentation, max: 0.12}", "exceeded", ""},
		{"- {stat: fragmentation, min: 13%}", "exceeded", ""},
		{"- {stat: history, allow: [truncated, complete]}", "pass", ""},
		{"- {stat: history, allow: truncated}", "exceeded", ""},
		{"- {stat: history, allow: truncated, device: 1}", "unjudged", "too short"},
		{"- {stat: history, allow: complete, device: 1}", "pass", ""},
		{"- {stat: oom_events, max: 0}", "pass", ""},
		{"- {stat: oom_events, max: 0, device: 3}", "no_match", "device: no capture has device 3; there are 0, 1"},
		{"- {stat: oom_events, max: 0, files: [a*, b*]}", "no_match", "files: no capture is called a* or b*"},
		{"- {stat: oom_events, max: 0, files: 'r*.pickle'}", "pass", ""},
		{"- {stat: oom_events, max_growth: 0}", "unjudged", "there is no baseline: name one with --baseline, or under baseline in the budget"},

		{"- {category: activation, max: 900MiB}", "pass", ""},
		{"- {category: activation, max: 899MiB, at: end}", "exceeded", ""},
		{"- {category: gradient, max: 0}", "pass", ""}, // has none, and is a category
		{"- {category: gradient, min: 1MiB}", "exceeded", ""},
		{"- {category: any, max: 899MiB}", "exceeded", ""},
		{"- {category: any, max: 1MiB, except: activation}", "no_match", "no category held memory at the peak"},

		{"- {line: 'model.py:19', max: 500MiB}", "pass", ""},
		{"- {line: 'me/model.py:19', max: 499MiB}", "exceeded", ""},
		{"- {line: 'del.py:19', max: 1GiB}", "no_match", "no line del.py:19 held memory at the peak; there is /home/me/model.py:19 forward with 500 MiB"},
		{"- {line: 'train.py:8', max: 1GiB}", "no_match", "no line train.py:8 held memory at the peak; there is /home/me/train.py:7 main with 150 MiB"},
		{"- {line: 'model.py:*', max: 500MiB}", "pass", ""},
		{"- {line: 'model.py:*', max: 499MiB}", "exceeded", ""},
		{"- {line: 'model.py:*', max: 499MiB, except: 'model.py:19'}", "pass", ""},
		{"- {line: any, min: 50MiB, max: 500MiB}", "pass", ""},
		{"- {line: any, max: 499MiB}", "exceeded", ""},
		{"- {line: (autograd thread), max: 50MiB}", "pass", ""},
		{"- {line: (autograd*, max: 49MiB}", "exceeded", ""},
		{"- {function: forward, max: 700MiB}", "pass", ""},
		{"- {function: forward, max: 699MiB}", "exceeded", ""},
		{"- {function: 'model.py:for*', min: 700MiB}", "pass", ""},
		{"- {function: 'train.py:forward', max: 1GiB}", "no_match", "no function train.py:forward held memory at the peak; there is /home/me/train.py:7 main with 150 MiB"},
		{"- {file: model.py, max: 700MiB}", "pass", ""},
		{"- {file: any, max: 699MiB}", "exceeded", ""},

		{"- {finding: attention_scores}", "exceeded", "scores, mostly model.py:19. do"},
		{"- {finding: attention_scores, max: 100MiB}", "pass", ""},
		{"- {finding: retained_graph}", "pass", ""},
		{"- {finding: copied_parameters}", "exceeded", ", mostly . "},
		{"- {finding: any, max: 99MiB}", "exceeded", "scores, mostly model.py:19. do"},
		{"- {finding: any, except: attention_scores}", "pass", ""},
	} {
		t.Run(c.gate, func(t *testing.T) {
			unsure := &fakeSource{history: "complete", unsure: "too short"}
			r := judged(t, c.gate, nil, fakeCapture("runs/r0.pickle", training(), unsure)).Gates[0]
			why := r.Why
			if len(r.Checks) > 0 {
				why = r.Checks[0].Why
			}
			if r.Status.String() != c.status || why != c.why {
				t.Errorf("got %s %q, want %s %q", r.Status, why, c.status, c.why)
			}
		})
	}
}

// TestGrowthStatus judges a run against the baseline of one whose line 19 held
// less, whose line 32 was line 30, and that had a line that is gone.
func TestGrowthStatus(t *testing.T) {
	before := training()
	before.numbers["peak.reserved_bytes"] = exactly(950 * mib)
	before.peak = []attribution.Place{
		place("/ci/42/model.py", 19, "forward", 400*mib), place("/ci/42/model.py", 30, "forward", 190*mib),
		place("/ci/42/train.py", 7, "main", 150*mib), place("/ci/42/train.py", 9, "main", 80*mib), place("", 0, "(autograd thread)", 50*mib),
	}
	baseline := NewBaseline("base.yaml", fakeCapture("r0.pickle", before))
	for _, c := range []struct {
		gate, status, subject string
	}{
		{"- {stat: peak.reserved_bytes, max_growth: 50MiB}", "pass", ""},
		{"- {stat: peak.reserved_bytes, max_growth: 49MiB}", "exceeded", ""},
		{"- {stat: peak.reserved_bytes, max_growth: 5.3%}", "pass", ""},
		{"- {stat: peak.reserved_bytes, max_growth: 5.2%}", "exceeded", ""},
		{"- {stat: peak.reserved_bytes, max_growth: 0, ignore_below: 50MiB}", "pass", ""},
		{"- {stat: peak.reserved_bytes, min_growth: 6%}", "exceeded", ""},
		{"- {stat: peak.reserved_bytes, max_growth: -1%}", "exceeded", ""},
		{"- {stat: peak.allocated_bytes, max_growth: 5%}", "unjudged", ""},
		{"- {category: activation, max_growth: 3.5%}", "pass", ""},
		{"- {category: any, max_growth: 3%}", "exceeded", "activation"},
		{"- {line: 'model.py:19', max_growth: 100MiB}", "pass", "/home/me/model.py:19 forward"},
		{"- {line: 'model.py:19', max_growth: 24%}", "exceeded", "/home/me/model.py:19 forward"},
		{"- {line: any, max_growth: 24%}", "exceeded", "/home/me/model.py:19 forward"},
		{"- {line: 'model.py:30', max: 199MiB}", "exceeded", "/home/me/model.py:32 forward"}, // followed
		{"- {line: 'train.py:9', max: 1MiB}", "pass", "/home/me/train.py:9 main"},            // gone
		{"- {function: forward, max_growth: 110MiB}", "pass", "/home/me/model.py forward"},
		{"- {function: forward, max_growth: 109MiB}", "exceeded", "/home/me/model.py forward"},
		{"- {file: train.py, min_growth: -30%}", "exceeded", "/home/me/train.py"},
	} {
		t.Run(c.gate, func(t *testing.T) {
			r := judged(t, c.gate, baseline, fakeCapture("r0.pickle", training())).Gates[0]
			subject := r.Checks[0].Subject
			if p := r.Checks[0].Place; p != nil {
				subject = p.String()
			}
			if r.Status.String() != c.status || subject != c.subject {
				t.Errorf("got %s %q, want %s %q", r.Status, subject, c.status, c.subject)
			}
		})
	}
}

func TestGateExplained(t *testing.T) {
	before := training()
	before.peak = []attribution.Place{place("model.py", 19, "forward", 100*mib), place("model.py", 32, "forward", 200*mib), place("train.py", 7, "main", 160*mib)}
	baseline := NewBaseline("base.yaml", fakeCapture("r0.pickle", before))
	r := judged(t, "- {stat: peak.requested_bytes, max: 1MiB}\n- {function: main, max: 1MiB}\n- {stat: reserved_bytes, max: 1MiB}", baseline, fakeCapture("r0.pickle", training()))
	var got []string
	for _, g := range r.Gates {
		for _, l := range g.Checks[0].Lines {
			got = append(got, fmt.Sprintf("%s %d %d %v", l.GatePlace, l.Bytes/mib, l.Delta/mib, l.Grew))
		}
	}
	want := []string{
		"/home/me/model.py:19 forward 500 400 true", "(autograd thread) 50 50 true", // grew
		"/home/me/train.py:7 main 150 0 false",                                                                                         // did not grow, so what it holds
		"/home/me/model.py:19 forward 500 0 false", "/home/me/model.py:32 forward 200 0 false", "/home/me/train.py:7 main 150 0 false", // of the end
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGateReportErr checks what a report ends a program with.
func TestGateReportErr(t *testing.T) {
	for _, c := range []struct{ gates, want string }{
		{"- {stat: oom_events, max: 0}", ""},
		{"- {stat: peak.reserved_bytes, max: 1MiB, severity: warn}", ""},
		{"- {stat: peak.reserved_bytes, max: 1MiB}\n- {stat: trace.peak_bytes, max: 1MiB}", "1 of 2 gates exceeded"},
		{"- {stat: oom_events, max: 0}\n- {stat: trace.peak_bytes, max: 1MiB}", "1 of 2 gates about nothing that the captures have; correct the budget"},
		{"- {stat: oom_events, max: 0}\n- {stat: peak.allocated_bytes, max: 1MiB}", "1 of 2 gates cannot be judged"},
		{"- {stat: oom_events, max: 0}\n- {stat: peak.allocated_bytes, max: 1MiB, optional: true}", ""},
		{"- {stat: peak.allocated_bytes, max: 1MiB, optional: true}", "no gate could be judged"},
	} {
		err := judged(t, c.gates, nil, fakeCapture("r0.pickle", training())).Err()
		switch {
		case err == nil && c.want == "":
		case err == nil || err.Error() != c.want:
			t.Errorf("%s: got %v, want %s", c.gates, err, c.want)
		case errors.Is(err, ErrExceeded) != strings.HasSuffix(c.want, "exceeded"):
			t.Errorf("%s: %v wraps the wrong error", c.gates, err)
		}
	}
	g, _ := ParseGates("b.yaml", []byte("gates:\n- {stat: oom_events, max: 0}"))
	k := NewGateChecker(g.Gates, nil, 2)
	k.Fail("bad.pickle", errors.New("bad"))
	k.Add(fakeCapture("r0.pickle", training()))
	if err := k.Report().Err(); err == nil || err.Error() != "1 of 2 files not read" {
		t.Errorf("got %v", err)
	}
}

// TestDefaultGates checks that what the baseline does not know either is left
// out, and that what it knows and the capture does not is no pass.
func TestDefaultGates(t *testing.T) {
	check := func(b *Baseline, c *Capture) string {
		k := NewGateChecker(DefaultGates(), b, 1)
		k.Add(c)
		r := k.Report()
		return fmt.Sprintf("%d passed, %d skipped, %d unjudged: %v", r.Count(GatePassed), r.Count(GateSkipped), r.Count(GateUnjudged), r.Err())
	}
	whole, blind := training(), training()
	whole.numbers["requested_bytes"], blind.numbers["requested_bytes"] = exactly(5), exactly(5)
	blind.noPeak = "no history"
	for stat := range blind.numbers {
		if strings.HasPrefix(stat, "peak.") {
			blind.numbers[stat] = missing("no history")
		}
	}
	of := func(s *fakeSource) *Baseline { return NewBaseline("base.yaml", fakeCapture("r0.pickle", s)) }
	for _, c := range []struct {
		name   string
		before *Baseline
		now    *fakeSource
		want   string
	}{
		{"both whole", of(whole), whole, "6 passed, 0 skipped, 0 unjudged: <nil>"},
		{"neither has a history", of(blind), blind, "2 passed, 4 skipped, 0 unjudged: <nil>"},
		{"the history is missing now", of(whole), blind, "2 passed, 0 skipped, 4 unjudged: 4 of 6 gates cannot be judged"},
		{"another run", &Baseline{File: "base.yaml"}, whole, "0 passed, 0 skipped, 6 unjudged: 6 of 6 gates cannot be judged"},
	} {
		if got := check(c.before, fakeCapture("r0.pickle", c.now)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestManyChecks checks that the worst are kept, and the counts are of all.
func TestManyChecks(t *testing.T) {
	s := training()
	s.peak = nil
	for i := range int32(200) {
		s.peak = append(s.peak, place("m.py", i+1, "f", int64(i+1)*mib))
	}
	r := judged(t, "- {line: any, max: 150MiB}", nil, fakeCapture("a", s), fakeCapture("b", s)).Gates[0]
	if r.Total != 400 || r.Exceeded != 100 || len(r.Checks) != maxKeptChecks || r.Checks[0].Place.Line != 200 || r.Checks[1].Capture != "b" {
		t.Errorf("got %d of %d exceeded, %d kept, first %v of %s", r.Exceeded, r.Total, len(r.Checks), r.Checks[0].Place, r.Checks[0].Capture)
	}
}

// TestSnapshotNumbers checks that numbers of gates are those of stats, whose
// truth the other packages test, and that lines and categories sum to the peak.
func TestSnapshotNumbers(t *testing.T) {
	for _, c := range []struct {
		file string
		want map[string]int64
	}{
		{"gpt_adamw/9_end", map[string]int64{"peak.requested_bytes": 1112623112, "peak.allocated_bytes": 1114721280, "peak.reserved_bytes": 1159725056,
			"reserved_bytes": 1159725056, "allocated_bytes": 401080320, "unused_bytes": 1159725056 - 401080320, "inactive_split_bytes": 66584576,
			"releasable_bytes": 692060160, "rounding_waste_bytes": 2097152, "segments": 65, "blocks": 286, "oom_events": 0}},
		{"oom/observer", map[string]int64{"peak.requested_bytes": 2806413312, "oom_events": 1}},
		{"nohistory/end", map[string]int64{"reserved_bytes": 180355072, "peak.requested_bytes": -1, "peak.allocated_bytes": -1, "oom_events": -1}},
	} {
		s, err := snapshot.Open("../testdata/snapshots/" + c.file + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		d := SnapshotCapture(c.file, s).Devices[0]
		for stat, want := range c.want {
			n, ok := d.source.number(stat)
			if got := n.Value; !ok || got != want && want >= 0 || (n.Missing != "") != (want < 0) {
				t.Errorf("%s: %s is %+v, want %d", c.file, stat, n, want)
			}
		}
		places, missing := d.source.places(atPeak)
		totals, _ := d.source.totals(atPeak)
		sum := int64(0)
		for _, p := range places {
			sum += p.Totals.Sum()
		}
		if want := c.want["peak.requested_bytes"]; want > 0 && (sum != want || totals.Sum() != want) || (missing != "") != (want < 0) {
			t.Errorf("%s: lines sum to %d and categories to %d, want %d (%s)", c.file, sum, totals.Sum(), want, missing)
		}
	}
}

// TestTraceNumbers checks the same of traces.
func TestTraceNumbers(t *testing.T) {
	for name, device := range map[string]string{"tr_gpt": "0", "tv_gpt": "0", "tr_cpu": "cpu"} {
		trace, err := profiler.Open("../testdata/traces/" + name + ".trace.json.zst")
		if err != nil {
			t.Fatal(err)
		}
		c := TraceCapture(name, trace)
		if len(c.Devices) != 1 || c.Devices[0].ID != device {
			t.Fatalf("%s: devices %v", name, c.Devices)
		}
		for _, at := range []string{atPeak, atEnd} {
			want, _ := c.Devices[0].source.number("trace." + at + "_bytes")
			totals, _ := c.Devices[0].source.totals(at)
			places, _ := c.Devices[0].source.places(at)
			sum := int64(0)
			for _, p := range places {
				sum += p.Totals.Sum()
			}
			if totals.Sum() != want.Value || sum != want.Value {
				t.Errorf("%s at the %s: %d, categories %d, lines %d", name, at, want.Value, totals.Sum(), sum)
			}
		}
	}
}

// TestWildcard compares with a matcher that tries every way.
func TestWildcard(t *testing.T) {
	var slow func(p, s string) bool
	slow = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return slow(p[1:], s) || s != "" && slow(p, s[1:])
		}
		return s != "" && p[0] == s[0] && slow(p[1:], s[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		p, s := rapid.StringMatching(`[ab*]{0,6}`).Draw(t, "pattern"), rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		if got, want := wildcard(p, s), slow(p, s); got != want {
			t.Errorf("wildcard(%q, %q) is %v", p, s, got)
		}
	})
}
