package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/snapview/snapview/budget"
)

// TestPlanJSONDocumented checks that docs/json.md names every key of budget plan.
func TestPlanJSONDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{planJSON{}, planRowJSON{}, planCostJSON{}, planRiskJSON{}, planSpreadJSON{}, planInputJSON{}, planBinJSON{}, planExtraJSON{},
		planLineJSON{}, planPromiseJSON{}, planLadderJSON{}, planStepJSON{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(string(docs), "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}

// TestPlanExampleWhole: the lines of the example that are commented out are a plan too.
func TestPlanExampleWhole(t *testing.T) {
	text := regexp.MustCompile(`(?m)^(\s*)# ((overhead|overhead_source|precision|fragmentation|model_error|max_cost|max_hours|owner|memory|gpu|configuration|utilisation|ladder|count): ?.*)$`).ReplaceAllString(planExample, "$1$2")
	text = strings.Replace(text, "#   - {name: smaller", "  - {name: smaller", 1)
	p, err := budget.ParsePlan("plan.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(p.Ladder) != 1 || p.Promise.MaxCost != 500 || p.Overhead != 620<<20 || p.GPUs[2].Count != 8 || p.Vary.ModelError != 0.08 {
		t.Errorf("%+v", p)
	}
}

// TestCommitmentDocument holds docs/commitment.md to what the README's plan writes; with
// -update it is rewritten.
func TestCommitmentDocument(t *testing.T) {
	document, err := filepath.Abs("../../docs/commitment.md")
	if err != nil {
		t.Fatal(err)
	}
	enterFolderWithTestdata(t)
	runDocumented(t, "budget fit testdata/sweep.jsonl -o model.json")
	runDocumented(t, "budget plan examples/plan.yaml --model model.json -o commitment.md --budget-out budget.yaml")
	got, err := os.ReadFile("commitment.md")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(document, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(document); err != nil || string(want) != string(got) {
		t.Errorf("docs/commitment.md is not what the plan writes (%v); run go test ./cmd/snapview -update", err)
	}
}

// Text of a plan means nothing in Markdown.
func TestCommitmentMarkdownInert(t *testing.T) {
	const evil = "a|b <img src=x> [x](http://y) @all `c` *d*\n# e"
	c := &budget.Commitment{Title: evil, Verdict: evil, Facts: []string{evil}, Sections: []budget.DocSection{{Title: evil, Text: []string{evil}, Points: []string{evil},
		Code: []string{"```\n# x"}, Tables: []budget.DocTable{{Lead: evil, Head: []string{evil}, Rows: [][]string{{evil}}}}}}}
	var b strings.Builder
	if err := writeCommitmentMarkdown(&b, c); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<img", "[x](", "@all", "a|b", "\n# e", "````"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in\n%s", bad, text)
		}
	}
	if strings.Count(text, "```") != 2 {
		t.Errorf("code is not one block:\n%s", text)
	}
}
