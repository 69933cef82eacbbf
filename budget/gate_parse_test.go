package budget

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParseGates(t *testing.T) {
	_, err := ParseGates("b.yaml", []byte(`
version: 1
baseline: base.yaml
files: [runs/*.pickle]
gates:
  - stat: peak.reserved_bytes
    name: fits the card
    owner: ml-platform
    note: of 80 GiB
    max: 72 GiB
  - {stat: peak.reserved_bytes, max_growth: 5%, ignore_below: 64MiB, device: 0}
  - {stat: peak.reserved_bytes, max_growth: 5%, ignore_below: 64MiB, device: 0}
  - {category: activation, max: 60%, of: peak.requested_bytes, at: peak}
  - {category: any, at: end, max_growth: -1.5%, except: [input, temporary], severity: warn, device: [0, cpu]}
  - {line: "model.py:19", max: 600MiB, optional: true, files: "rank*.pickle"}
  - {line: (autograd thread), max: 0}
  - {function: "model.py:forward", min: 1GB, max: 2GB}
  - {file: any, min_growth: -20%}
  - {finding: attention_scores}
  - {finding: any, max: 1_000}
`))
	if err == nil || err.Error() != `b.yaml:20: max: "1_000": not a size; write it like 40GiB, 1.5 GB or 1048576` {
		t.Fatalf("got %v", err)
	}
	g, err := ParseGates("b.yaml", []byte(`{"gates": [
		{"stat": "fragmentation", "max": 0.25}, {"stat": "fragmentation", "max": "12.5 %"}, {"stat": "oom_events", "max": 0},
		{"stat": "history", "allow": ["complete", "truncated"]}, {"stat": "reserved_bytes", "max": 1234567}, {"line": "any", "max_growth": "+64MiB"},
		{"line": "model.py:19", "max": "1.5GB", "device": "all"}, {"line": "model.py:19", "max": "1.5GB"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, gate := range g.Gates {
		names = append(names, gate.Name)
	}
	want := "share of reserved not allocated at the end|share of reserved not allocated at the end #2|allocations that failed|history|" +
		"reserved at the end|any line at the peak|model.py:19 at the peak|model.py:19 at the peak #2"
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i, want := range []Amount{{Percent: 25, IsPercent: true, Text: "0.25"}, {Percent: 12.5, IsPercent: true, Text: "12.5 %"}, {Text: "0"}} {
		if got := *g.Gates[i].Max; got != want {
			t.Errorf("gate %d: got %+v, want %+v", i+1, got, want)
		}
	}
	if g.Gates[6].Max.Value != 1_500_000_000 || g.Gates[6].Devices != nil || g.Gates[6].At != atPeak || g.Gates[5].MaxGrowth.Value != 64<<20 {
		t.Errorf("got %+v", g.Gates[5:])
	}
}

// gateErrors are budgets that are wrong, and what is said about them.
var gateErrors = []struct{ name, data, want string }{
	{"empty", "", "b.yaml: is empty; see the documentation for what belongs in it"},
	{"no gates", "version: 1\n", "b.yaml:1: no gates: list at least one under the key gates"},
	{"no gate in the list", "version: 1\ngates: []\n", "b.yaml:1: no gates: list at least one under the key gates"},
	{"version", "version: 2\ngates: []\n", `b.yaml:1: version: "2" is not a version this program reads, which is 1`},
	{"unknown key at the top", "gate:\n- stat: x\n", "b.yaml:1: gate: unknown key of a budget; did you mean gates"},
	{"a gate is no mapping", "gates:\n- peak\n", `b.yaml:2: "peak" where gate 1 belongs`},
	{"unknown key", "gates:\n- stat: reserved_bytes\n  maxx: 1GiB\n", "b.yaml:3: maxx: unknown key of gate 1; did you mean max"},
	{"unknown key before a bad value", "gates:\n- stat: reserved_bytes\n  colour: red\n  max: 1XB\n",
		"b.yaml:3: colour: unknown key of gate 1; known are stat, category, line, function, file, finding, name, owner, note, device, files, severity, optional, except, max, min, of, max_growth, min_growth, ignore_below"},
	{"bad value before an unknown key", "gates:\n- stat: reserved_bytes\n  max: 1XB\n  colour: red\n",
		`b.yaml:3: max: "1XB": not a size: unknown unit "XB"; use B, KiB, MiB, GiB, TiB, KB, MB, GB or TB`},
	{"no subject", "gates:\n- stat: segments\n  max: 1\n- max: 1GiB\n", "b.yaml:4: gate 2 says nothing about what it judges: add stat, category, line, function, file or finding"},
	{"mistyped subject", "gates:\n- max: 1GiB\n  categry: activation\n", "b.yaml:3: categry: unknown key of gate 1; did you mean category"},
	{"two subjects", "gates:\n- stat: segments\n  line: a.py:1\n", "b.yaml:2: gate 1 is about stat and line: make each a gate of its own"},
	{"unknown stat", "gates:\n- stat: peak_reserved_bytes\n  max: 1GiB\n", `b.yaml:2: stat: "peak_reserved_bytes" is no number; did you mean peak.reserved_bytes`},
	{"unknown category", "gates:\n- category: activations\n  max: 1GiB\n", `b.yaml:2: category: "activations" is no category; did you mean activation`},
	{"unknown finding", "gates:\n- finding: attention\n", `b.yaml:2: finding: "attention" is no finding; there are attention_scores, autocast_weights, clip_temporaries, ` +
		`copied_parameters, foreach_temporaries, kept_gradients, logits, no_checkpointing, one_off_scratch, pending_frees, private_pools, retained_graph, rounding, split_gaps, validation_graph, workspaces`},
	{"a line without one", "gates:\n- line: model.py\n  max: 1GiB\n", `b.yaml:2: line: "model.py" names no line; write it like model.py:19, or use file or function`},
	{"no limit", "gates:\n- stat: reserved_bytes\n", "b.yaml:2: gate 1 has no limit: add max, min, max_growth or min_growth"},
	{"no words", "gates:\n- stat: history\n", "b.yaml:2: gate 1 has no limit: list the words that pass under allow"},
	{"a word has no max", "gates:\n- stat: history\n  max: 3\n", "b.yaml:3: max: unknown key of gate 1; known are stat, category, line, function, file, finding, name, owner, note, device, files, severity, optional, except, allow"},
	{"no unit", "gates:\n- stat: reserved_bytes\n  max: 40\n", `b.yaml:3: max: "40" has no unit; write it like 40GiB, or 40 B for bytes`},
	{"a fraction of a byte", "gates:\n- stat: reserved_bytes\n  max: 1.5\n", `b.yaml:3: max: "1.5" has no unit; write it like 1.5GiB, or 1.5 B for bytes`},
	{"negative", "gates:\n- stat: reserved_bytes\n  max: -1GiB\n", `b.yaml:3: max: "-1GiB" is negative, and what is judged never is`},
	{"no value", "gates:\n- stat: reserved_bytes\n  max:\n", "b.yaml:3: max: nothing where a single value belongs"},
	{"percent of nothing", "gates:\n- stat: reserved_bytes\n  max: 5%\n",
		"b.yaml:3: max: 5% of what? say so with of, such as of: peak.reserved_bytes; against the baseline it is max_growth"},
	{"percent of a word", "gates:\n- stat: reserved_bytes\n  max: 5%\n  of: history\n", "b.yaml:4: of: history is not a number of bytes, so nothing is a part of it"},
	{"of without percent", "gates:\n- stat: reserved_bytes\n  max: 5GiB\n  of: allocated_bytes\n", "b.yaml:4: of: neither max nor min is a percentage of it"},
	{"not a percentage", "gates:\n- stat: fragmentation\n  max: lots\n", `b.yaml:3: max: "lots" is not a number; write it like 5% or 2.5%`},
	{"infinite", "gates:\n- stat: reserved_bytes\n  max_growth: inf%\n", `b.yaml:3: max_growth: "inf" is not a number; write it like 5% or 2.5%`},
	{"a share above 1", "gates:\n- stat: fragmentation\n  max: 20\n", `b.yaml:3: max: "20" is more than 1; write a share like 25% or 0.25`},
	{"a count with a unit", "gates:\n- stat: oom_events\n  max: 1GiB\n", `b.yaml:3: max: "1GiB" is not a count; write a whole number`},
	{"the wrong way round", "gates:\n- stat: reserved_bytes\n  min: 2GiB\n  max: 1GiB\n", "b.yaml:3: min: 2GiB is more than max, which is 1GiB"},
	{"growth the wrong way round", "gates:\n- stat: reserved_bytes\n  max_growth: 1%\n  min_growth: 2%\n", "b.yaml:4: min_growth: 2% is more than max_growth, which is 1%"},
	{"ignore what", "gates:\n- stat: reserved_bytes\n  max: 2GiB\n  ignore_below: 1MiB\n", "b.yaml:4: ignore_below: there is no max_growth that it could be about"},
	{"ignore a share", "gates:\n- stat: reserved_bytes\n  max_growth: 2GiB\n  ignore_below: 1%\n", "b.yaml:4: ignore_below: a percentage where a size belongs; max_growth takes the percentage"},
	{"moment", "gates:\n- category: any\n  at: start\n  max: 1GiB\n", `b.yaml:3: at: "start" is not peak or end`},
	{"moment of a stat", "gates:\n- stat: reserved_bytes\n  at: peak\n  max: 1GiB\n",
		"b.yaml:3: at: a stat has no moment of its own; stats are named with it, such as peak.reserved_bytes"},
	{"severity", "gates:\n- stat: reserved_bytes\n  severity: error\n  max: 1GiB\n", `b.yaml:3: severity: "error" is not fail or warn`},
	{"optional", "gates:\n- stat: reserved_bytes\n  optional: sometimes\n  max: 1GiB\n", `b.yaml:3: optional: "sometimes" where true or false belongs`},
	{"device", "gates:\n- stat: reserved_bytes\n  device: gpu0\n  max: 1GiB\n", `b.yaml:3: device: "gpu0" is not the index of a device, cpu or all`},
	{"no device", "gates:\n- stat: reserved_bytes\n  device: []\n  max: 1GiB\n", "b.yaml:3: device: is an empty list"},
	{"exceptions of one", "gates:\n- category: activation\n  except: [input]\n  max: 1GiB\n", "b.yaml:3: except: only a gate on any category, or on a pattern with *, has exceptions"},
	{"unknown exception", "gates:\n- category: any\n  except: [inputs]\n  max: 1GiB\n", `b.yaml:3: except: "inputs" is no category; did you mean input`},
	{"a finding has no growth", "gates:\n- finding: any\n  max_growth: 5%\n",
		"b.yaml:3: max_growth: unknown key of gate 1; known are stat, category, line, function, file, finding, name, owner, note, device, files, severity, optional, except, max"},
	{"a finding takes a size", "gates:\n- finding: any\n  max: 5%\n", "b.yaml:3: max: a finding takes a size, not 5%"},
	{"empty name", "gates:\n- stat: reserved_bytes\n  name: ''\n  max: 1GiB\n", "b.yaml:3: name: is empty"},
	{"one name twice", "gates:\n- {stat: segments, max: 1, name: a}\n- {stat: blocks, max: 1, name: a}\n", `b.yaml:3: name: "a" is the name of the gate on line 2 too`},
	{"alias", "gates:\n- &a {stat: segments, max: 1}\n- *a\n", "b.yaml:3: aliases such as *a are not supported; write the value out"},
	{"merge", "gates:\n- &a {stat: segments, max: 1}\n- {<<: *a, max: 2}\n", "b.yaml:3: gate 2 says nothing about what it judges: add stat, category, line, function, file or finding"},
}

func TestParseGatesErrors(t *testing.T) {
	for _, c := range gateErrors {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseGates("b.yaml", []byte(c.data))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Errorf("%T is no FileError", err)
			}
		})
	}
}

// TestBudgetFileDocumented checks that the page about budget files names every
// key, number and status, and nothing that is not one.
func TestBudgetFileDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/budget-file.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cell, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		cell, _, _ = strings.Cut(cell, " |")
		for i, name := range strings.Split("`"+cell, "`") {
			if i%2 == 1 {
				documented[name] = true
			}
		}
	}
	var known []string
	for _, data := range []string{"x: 1", "gates: [{x: 1, stat: reserved_bytes}]", "gates: [{x: 1, stat: history}]", "gates: [{x: 1, line: any}]"} {
		known = append(known, knownKeys(t, data)...)
	}
	known = append(append(known, StatNames()...), gateStatusNames[:]...)
	for _, name := range known {
		if !documented[name] {
			t.Errorf("docs/budget-file.md does not explain %s", name)
		}
	}
	for name := range documented {
		if !slices.Contains(known, name) {
			t.Errorf("docs/budget-file.md explains %s, which is no key, number or status", name)
		}
	}
}

// knownKeys are the keys that the error about the key x lists.
func knownKeys(t *testing.T, data string) []string {
	t.Helper()
	_, err := ParseGates("b.yaml", []byte(data))
	if err == nil {
		t.Fatalf("%s is no error", data)
	}
	_, list, ok := strings.Cut(err.Error(), "known are ")
	if !ok {
		t.Fatalf("%v lists no keys", err)
	}
	return strings.Split(list, ", ")
}

func FuzzParseGates(f *testing.F) {
	for _, c := range gateErrors {
		f.Add([]byte(c.data))
	}
	example, err := os.ReadFile("../examples/ci/budget.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ParseGates("b.yaml", data)
		switch {
		case err == nil && len(g.Gates) == 0:
			t.Error("no gates and no error")
		case err != nil && !strings.HasPrefix(err.Error(), "b.yaml:"):
			t.Errorf("%v does not begin with the name of the file", err)
		}
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, gate := range g.Gates {
			if gate.Name == "" || names[gate.Name] {
				t.Errorf("the name %q is empty or not the only one", gate.Name)
			}
			names[gate.Name] = true
			if gate.Max == nil && gate.Min == nil && !gate.grows() && !gate.Forbid && len(gate.Allow) == 0 {
				t.Errorf("%s has no limit", gate.Name)
			}
		}
	})
}
