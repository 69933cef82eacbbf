package attribution

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestFindingIDs checks that FindingIDs names exactly the IDs that the rules give.
func TestFindingIDs(t *testing.T) {
	files, err := filepath.Glob("findings*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Finding\{\s*ID:\s*"([a-z_]+)"`).FindAllSubmatch(source, -1) {
			want = append(want, string(m[1]))
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if len(want) == 0 || !slices.Equal(FindingIDs(), want) {
		t.Errorf("got  %q\nwant %q", FindingIDs(), want)
	}
}
