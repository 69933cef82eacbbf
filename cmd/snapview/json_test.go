package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestJSONDocumented checks that docs/json.md names every key.
func TestJSONDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{snapshotStats{}, deviceStats{}, oomEvent{}, peakStats{}, topTable{}, atMoment{}, topRow{}, topFrame{}, reportJSON{},
		traceStatsJSON{}, traceDevice{}, traceKernels{}, traceTable{}, traceRow{}, traceRepair{},
		traceReportJSON{}, traceFinding{}, traceTopTable{}, traceMoment{}, traceTopRow{},
		leaksReport{}, leaksRounds{}, leaksEpoch{}, leaksSuspect{}, leakStack{}, leaksHint{}, leaksSeries{}, leaksFile{}, leaksChange{}, leaksMoved{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(string(docs), "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}

func jsonKeys(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}
