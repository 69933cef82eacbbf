package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/snapview/snapview/budget"
)

// TestModelJSONDocumented checks that docs/json.md names every key of the commands
// about measured points.
func TestModelJSONDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{budget.ModelFile{}, budget.CheckJSON{}, budget.TermJSON{}, budget.ReservedJSON{}, budget.ReservedCheck{},
		budget.CombinationJSON{}, budget.MisfitJSON{}, predictJSON{}, predictReserved{}, predictPartJSON{}, maxBatchJSON{}, maxLimitJSON{},
		curveJSON{}, curvePointJSON{}, curvePieceJSON{}, collectJSON{}, collectRow{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(string(docs), "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}
