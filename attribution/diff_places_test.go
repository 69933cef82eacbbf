package attribution

import (
	"reflect"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// TestDiffPlaces checks that what was noted down of two runs compares as the
// runs themselves do.
func TestDiffPlaces(t *testing.T) {
	for _, pair := range [][2]string{
		{"gpt_sdpa_fused/1_step", "gpt_adamw/9_end"},
		{"gpt_adamw/9_end", "gpt_amp/2_step"},
		{"oom/observer", "bert/2_step"},
	} {
		var files [2]*snapshot.Snapshot
		var places [2][]Place
		for i, name := range pair {
			s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
			if err != nil {
				t.Fatal(err)
			}
			c := Classify(s, s.Timeline(s.Devices[0]))
			peak, err := c.Timeline.Moment("peak")
			if err != nil {
				t.Fatal(err)
			}
			files[i], places[i] = s, c.Places(s.Fold(c.Timeline, peak, snapshot.ByLine))
		}
		want, err := Diff(files[0], files[1], DiffOptions{At: "peak"})
		if err != nil {
			t.Fatal(err)
		}
		got := DiffPlaces(places[0], places[1])
		if !reflect.DeepEqual(got.Rows, want.Rows) || !reflect.DeepEqual(got.Categories, want.Categories) ||
			!reflect.DeepEqual(got.Summary, want.Summary) || got.Delta != want.Delta {
			t.Errorf("%s to %s: got\n%swant\n%s", pair[0], pair[1], rowsText(got.Rows), rowsText(want.Rows))
		}
	}
}
