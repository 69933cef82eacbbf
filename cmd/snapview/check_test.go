package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/budget"
	"go.yaml.in/yaml/v4"
)

func TestMarkdownEscapes(t *testing.T) {
	for _, c := range []struct{ text, plain, code string }{
		{"train.py:3 main", "train.py:3 main", "`train.py:3 main`"},
		{"a|b", `a\|b`, `<code>a\|b</code>`},
		{`a\|b`, `a\\\|b`, `<code>a\\\|b</code>`},
		{"<script>x</script>", "&lt;script&gt;x&lt;/script&gt;", "<code>&lt;script&gt;x&lt;/script&gt;</code>"},
		{"a`b``c", "a\\`b\\`\\`c", "<code>a\\`b\\`\\`c</code>"},
		{"@everyone", "@\u200beveryone", "`@everyone`"},
		{"[x](http://y)", `\[x\](http://y)`, "`[x](http://y)`"},
		{"__init__", `\_\_init\_\_`, "`__init__`"},
		{"a\nb\x1b[2J\u202e", `a\\nb\\x1b\[2J\\u202e`, "`a\\nb\\x1b[2J\\u202e`"},
		{"", "", "<code></code>"},
		{"&amp;", "&amp;amp;", "<code>&amp;amp;</code>"},
	} {
		if got := mdText(c.text); got != c.plain {
			t.Errorf("mdText(%q) is %q, want %q", c.text, got, c.plain)
		}
		if got := mdCode(c.text); got != c.code {
			t.Errorf("mdCode(%q) is %q, want %q", c.text, got, c.code)
		}
	}
}

// badNames is a report in which everything that has a name has a bad one.
func badNames() *checkAnswer {
	bad := "x\x00\x1b[2J\ufffe\u202e <b>&\"']]>|`@\n"
	gates := []budget.Gate{
		{Name: bad, Owner: bad, Note: bad, Kind: budget.OnLine, Subject: bad, At: "peak", Max: &budget.Amount{Value: 1}},
		{Name: "ok", Kind: budget.OnStat, Subject: "oom_events", Max: &budget.Amount{}},
		{Name: "lost", Kind: budget.OnLine, Subject: bad, At: "peak", Max: &budget.Amount{}},
		{Name: "skipped", Kind: budget.OnStat, Subject: "segments", Optional: true, Max: &budget.Amount{}},
	}
	line := budget.GateLine{GatePlace: budget.GatePlace{File: bad, Function: bad, Line: 3}, Category: "activation", Bytes: 5, Delta: 4, Grew: true}
	exceeded := budget.GateCheck{Capture: bad, Device: "0", Place: &line.GatePlace, Rule: budget.RuleMax, Value: budget.Number{Value: 5},
		Limit: budget.Number{Value: 1}, Status: budget.GateExceeded, Why: bad, Lines: []budget.GateLine{line}}
	growth := budget.Growth{Capture: bad, Device: "0", Run: bad, Moment: "peak"}
	growth.Rows = []attribution.DiffRow{{File: bad, Function: bad, Line: 3, Before: 1, After: 5, Delta: 4, Status: attribution.Grew}}
	growth.Settings = []attribution.SettingChange{{Key: bad, Before: bad, After: bad}}
	growth.Delta = 4
	return &checkAnswer{&checkJob{budget: bad, baseline: bad}, &budget.GateReport{
		Files: []budget.GateFileResult{{Name: bad, Kind: "snapshot", Notes: []string{bad}}, {Name: bad, Err: errors.New(bad)}},
		Gates: []budget.GateResult{
			{Gate: &gates[0], Status: budget.GateExceeded, Checks: []budget.GateCheck{exceeded}, Total: 1, Exceeded: 1},
			{Gate: &gates[1], Status: budget.GatePassed, Checks: []budget.GateCheck{{Capture: bad, Device: "0", Rule: budget.RuleMax}}, Total: 1},
			{Gate: &gates[2], Status: budget.GateNoMatch, Why: bad},
			{Gate: &gates[3], Status: budget.GateSkipped, Why: bad},
		},
		Growth: []budget.Growth{growth},
	}}
}

// junitSchema is what the schema that Jenkins's xUnit plugin calls junit-10
// allows of the elements that are written: parents, attributes that must be
// there and that may be.
var junitSchema = map[string]struct {
	parents, required, optional []string
	text                        bool
}{
	"testsuites": {[]string{""}, nil, []string{"name", "time", "tests", "failures", "errors"}, false},
	"testsuite": {[]string{"testsuites"}, []string{"name", "tests", "failures", "errors"},
		[]string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"}, false},
	"testcase":   {[]string{"testsuite"}, []string{"name"}, []string{"time", "classname", "group"}, false},
	"failure":    {[]string{"testcase"}, nil, []string{"type", "message"}, true},
	"error":      {[]string{"testcase"}, nil, []string{"type", "message"}, true},
	"skipped":    {[]string{"testcase"}, nil, []string{"type", "message"}, true},
	"system-out": {[]string{"testcase", "testsuite"}, nil, nil, true},
}

// checkJUnit checks a document against the schema, and its sums.
func checkJUnit(t *testing.T, document []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(document))
	path := []string{""}
	found := map[string]int{}
	sums := map[string]string{}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			rule, ok := junitSchema[name]
			if !ok || !slices.Contains(rule.parents, path[len(path)-1]) {
				t.Errorf("<%s> inside <%s>", name, path[len(path)-1])
			}
			var have []string
			for _, a := range x.Attr {
				have = append(have, a.Name.Local)
				if !slices.Contains(rule.required, a.Name.Local) && !slices.Contains(rule.optional, a.Name.Local) {
					t.Errorf("<%s> has an attribute %s", name, a.Name.Local)
				}
				if name == "testsuite" {
					sums[a.Name.Local] = a.Value
				}
			}
			for _, a := range rule.required {
				if !slices.Contains(have, a) {
					t.Errorf("<%s> has no %s", name, a)
				}
			}
			found[name]++
			path = append(path, name)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if text := strings.TrimSpace(string(x)); text != "" && !junitSchema[path[len(path)-1]].text {
				t.Errorf("text in <%s>: %q", path[len(path)-1], text)
			}
		}
	}
	for sum, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"} {
		if sums[sum] != strconv.Itoa(found[element]) {
			t.Errorf("%s is %s, and there are %d", sum, sums[sum], found[element])
		}
	}
}

func TestCheckJUnit(t *testing.T) {
	var out bytes.Buffer
	if err := writeCheckJUnit(&out, badNames()); err != nil {
		t.Fatal(err)
	}
	checkJUnit(t, out.Bytes())
	for _, want := range []string{`tests="5"`, `failures="1"`, `errors="2"`, `skipped="1"`, `<skipped message=`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == '\u202e' || r == '\ufffe' }); i >= 0 {
		t.Errorf("a control character at %d of\n%q", i, out.String())
	}
}

// TestCheckMarkdown checks that bad names leave no markup of their own: every
// tag is one that is written here, and rows of a table have the cells of its head.
func TestCheckMarkdown(t *testing.T) {
	var out bytes.Buffer
	o := &checkOptions{}
	o.rows.n = 10
	if err := writeCheckMarkdown(&out, badNames(), o); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	ours := strings.NewReplacer("<code>", "", "</code>", "", "<details>", "", "</details>", "", "<summary>", "", "</summary>", "")
	if bare := ours.Replace(text); strings.ContainsAny(bare, "<>") {
		t.Errorf("a tag in\n%s", bare)
	}
	cells := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.NewReplacer(`\\`, "", `\|`, "").Replace(line), "|")
		if cells != 0 && n != cells {
			t.Errorf("%d bars where the head has %d: %s", n, cells, line)
		}
		cells = n
	}
	if strings.ContainsAny(text, "\x00\x1b\u202e") {
		t.Errorf("a control character in\n%q", text)
	}
}

// TestCheckMarkdownBounded checks that a comment stays below what GitHub takes.
func TestCheckMarkdownBounded(t *testing.T) {
	a := badNames()
	long := strings.Repeat("long/", 1000) + "model.py"
	gate, result := a.Gates[0].Gate, a.Gates[0]
	gate.Name, gate.Note, gate.Owner = long, long, long
	result.Checks[0].Place.File = long
	a.Files = slices.Repeat([]budget.GateFileResult{{Name: long, Notes: []string{long}, Err: errors.New(long)}}, 500)
	for range 100 {
		a.Gates = append(a.Gates, result)
		a.Growth = append(a.Growth, a.Growth[0])
	}
	for i := range a.Growth {
		a.Growth[i].Rows = slices.Repeat([]attribution.DiffRow{{File: long, Function: long, Delta: 1, Status: attribution.Grew}}, 1000)
	}
	var out bytes.Buffer
	if err := writeCheckMarkdown(&out, a, &checkOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := len([]rune(out.String())); n > 65536 {
		t.Errorf("%d characters", n)
	}
}

func TestCheckVerdict(t *testing.T) {
	for _, c := range []struct {
		statuses []budget.GateStatus
		want     string
	}{
		{[]budget.GateStatus{budget.GatePassed}, "PASS 1 of 1 gate passed"},
		{[]budget.GateStatus{budget.GatePassed, budget.GateWarned, budget.GateSkipped}, "PASS 1 of 3 gates passed, 1 over a limit that only warns, 1 skipped"},
		{[]budget.GateStatus{budget.GatePassed, budget.GateUnjudged}, "ERROR 1 of 2 gates cannot be judged, 1 passed"},
		{[]budget.GateStatus{budget.GateExceeded, budget.GateNoMatch}, "FAIL 1 of 2 gates exceeded, 1 about nothing that the captures have"},
		{[]budget.GateStatus{budget.GateSkipped}, "ERROR 1 of 1 gate skipped"},
	} {
		a := &checkAnswer{&checkJob{}, &budget.GateReport{}}
		for _, s := range c.statuses {
			a.Gates = append(a.Gates, budget.GateResult{Gate: &budget.Gate{}, Status: s})
		}
		word, text := a.verdict()
		if got := fmt.Sprint(word, " ", text); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestCheckJSONDocumented checks that docs/json.md names every key of check.
func TestCheckJSONDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(docs), "\n## check\n")
	if !ok {
		t.Fatal("docs/json.md has no section about check")
	}
	for _, v := range []any{checkReport{}, checkFile{}, checkGate{}, checkCheck{}, checkPlace{}, checkLine{}, checkGrowth{}, baselineWritten{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(section, "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}

// TestReadmeBudget checks that what the README shows of a budget is one.
func TestReadmeBudget(t *testing.T) {
	readme, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	budgets := 0
	for _, block := range readmeBlock("yaml").FindAllSubmatch(readme, -1) {
		if !strings.Contains(string(block[1]), "gates:") {
			continue
		}
		budgets++
		if _, err := budget.ParseGates("README.md", block[1]); err != nil {
			t.Error(err)
		}
	}
	if budgets == 0 {
		t.Error("the README shows no budget")
	}
}

// TestCIExamples runs the commands of examples/ci as they stand, with a capture
// that passes and one that does not.
func TestCIExamples(t *testing.T) {
	var commands [][]string
	for _, name := range []string{"github-actions.yml", "gitlab-ci.yml"} {
		data, err := os.ReadFile(filepath.Join("../../examples/ci", name))
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := yaml.Unmarshal(data, &document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found := regexp.MustCompile(`(?m)^.*?\bsnapview (check .*)$`).FindAllStringSubmatch(string(data), -1)
		if len(found) == 0 {
			t.Errorf("%s runs no check", name)
		}
		for _, m := range found {
			commands = append(commands, strings.Fields(m[1]))
		}
	}
	files := map[string]string{}
	for _, name := range []string{"budget.yaml", "baseline.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../examples/ci", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	for capture, want := range map[string]int{"gpt_sdpa_fused/1_step": exitOK, "gpt_adamw/9_end": exitGate} {
		data, err := os.ReadFile("../../testdata/snapshots/" + capture + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		files["step.pickle"] = string(data)
		for _, args := range commands {
			t.Run(capture, func(t *testing.T) {
				t.Chdir(t.TempDir())
				for name, text := range files {
					if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				var out bytes.Buffer
				if code := run(t.Context(), args, strings.NewReader(""), &out, &out); code != want {
					t.Fatalf("snapview %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out.String())
				}
				junit, err := os.ReadFile("junit.xml")
				if err != nil {
					t.Fatal(err)
				}
				checkJUnit(t, junit)
			})
		}
	}
}
