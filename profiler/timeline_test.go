package profiler

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write puts text into a file of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTimelineRaw(t *testing.T) {
	tl, err := ReadTimeline(write(t, "t.raw.json", `[[-1, 1, 1000, 0], [-1, 1, 24, 7], [1795987324482061001, 2, 512, 4], [1795987324482061002, 3, -512, 4],
 [1795987324482061002, 3, 512, 5], [1795987324482061003, 4, -512, 5]]`))
	if err != nil || !tl.Raw || tl.Partial != nil {
		t.Fatalf("%+v, %v", tl, err)
	}
	if len(tl.Points) != 4 || tl.Peak != 1 || tl.Negative != 0 {
		t.Fatalf("%+v", tl)
	}
	if p := tl.Points[0]; p.Time != 1795987324482061001 || p.Total() != 1024 || p.Bytes[CategoryUnknown] != 24 {
		t.Errorf("what was there before: %+v", p)
	}
	if p := tl.Points[1]; p.Bytes[CategoryActivation] != 512 || p.Bytes[CategoryParameter] != 1000 {
		t.Errorf("%+v", p)
	}
	if p := tl.Points[2]; p.Bytes[CategoryGradient] != 512 || p.Bytes[CategoryActivation] != 0 || p.Time != 1795987324482061002 {
		t.Errorf("change of category: %+v", p)
	}
	if p := tl.Points[3]; p.Total() != 1024 {
		t.Errorf("end: %+v", p)
	}
}

func TestReadTimelineCurve(t *testing.T) {
	tl, err := ReadTimeline(write(t, "t.json", `[[1795987324482061, 1795987324482070], [[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 10, 0, 0, 0, -1, 0, 0, 0]]]`))
	if err != nil || tl.Raw || len(tl.Points) != 2 {
		t.Fatalf("%+v, %v", tl, err)
	}
	p := tl.Points[0]
	for c, want := range map[Category]int64{CategoryParameter: 1, CategoryOptimizerState: 2, CategoryInput: 3, CategoryTemporary: 4,
		CategoryActivation: 5, CategoryGradient: 6, CategoryAutogradDetail: 7, CategoryUnknown: 8} {
		if p.Bytes[c] != want {
			t.Errorf("%s is %d, want %d", c, p.Bytes[c], want)
		}
	}
	if p.Time != 1795987324482061000 || tl.Peak != 0 || tl.Negative != 1 {
		t.Errorf("%+v", tl)
	}
}

func TestReadTimelineDamaged(t *testing.T) {
	const raw = `[[-1, 1, 1000, 0], [1795987324482061001, 2, 512, 4], [1795987324482061003, 4, -512, 4]]`
	for n := range len(raw) {
		tl, err := ReadTimeline(write(t, "t.raw.json", raw[:n]))
		if err == nil && tl.Partial == nil {
			t.Fatalf("cut at %d: no word of it", n)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`[[1795987324482061001, 2, 512, 9]]`, "no action 2 on category 9"},
		{`[[1795987324482061001, 2, 512, 4, 5]]`, ""},
		{`[[1795987324482061, 1795987324482062], [[0, 1, 2, 3, 4, 5, 6, 7]]]`, "should have 9"},
	} {
		_, err := ReadTimeline(write(t, "t.json", c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ReadTimeline(write(t, "trace.json", small())); !errors.Is(err, ErrNotTimeline) {
		t.Errorf("a trace: %v", err)
	}
}
