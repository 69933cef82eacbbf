package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEstimateJSONDocumented checks that docs/json.md names every key of estimate
// and reconcile in their sections.
func TestEstimateJSONDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, docs, ok := strings.Cut(string(data), "## budget estimate\n")
	docs, _, also := strings.Cut(docs, "## budget fit\n")
	if !ok || !also {
		t.Fatal("docs/json.md has no section about estimate")
	}
	for _, v := range []any{estimateTable{}, estimatePeak{}, estimateLine{}, estimateCard{}, reconcileTable{}, reconcileRow{}, reconcileResidual{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(docs, "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}
