package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestRanksJSONDocumented checks that docs/json.md names every key of ranks.
func TestRanksJSONDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(docs), "\n## ranks\n")
	if !found {
		t.Fatal("docs/json.md has no section about ranks")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, v := range []any{ranksJSON{}, rankMomentJSON{}, rankJSON{}, rankPeakJSON{}, rankFailureJSON{}, rankStat{}, rankLineJSON{}, rankDeltaJSON{},
		rankSpreadJSON{}, rankOutlierJSON{}, rankDeviationJSON{}, rankGroupJSON{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(section, "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}

func TestAvailableMemory(t *testing.T) {
	if n := availableMemory(); n < 512<<20 {
		t.Errorf("%d bytes are available", n)
	}
	if n := memoryInfo("NoSuchLine:"); n != 0 {
		t.Errorf("a line that is not there counts %d bytes", n)
	}
	if n := numberIn(t.TempDir()); n != 0 {
		t.Errorf("a file that is not there counts %d bytes", n)
	}
}
