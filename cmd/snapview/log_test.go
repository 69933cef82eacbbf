package main

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestLogJSONDocumented checks that docs/json.md names every key of log.
func TestLogJSONDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(docs), "\n## log\n")
	if !found {
		t.Fatal("docs/json.md has no section about log")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, v := range []any{logRun{}, logSeries{}, logUnit{}, logOutside{}, logRoom{}, logCounter{}, logFailure{}, logFile{}, logExample{}} {
		for _, key := range jsonKeys(reflect.TypeOf(v)) {
			if !strings.Contains(section, "`"+key+"`") {
				t.Errorf("docs/json.md does not name the key %s of %T", key, v)
			}
		}
	}
}

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		name          string
		steps, values []float64
		width         int
		want          string
	}{
		{"rising", []float64{0, 1, 2, 3}, []float64{1, 2, 3, 4}, 4, "▁▃▆█"},
		{"level", []float64{0, 1, 2, 3}, []float64{100, 100.5, 100, 100.4}, 4, "▄▅▄▅"},
		{"one", []float64{7}, []float64{5}, 3, "▅▅▅"},
		{"gaps keep the value before", []float64{0, 9}, []float64{0, 8}, 5, "▁▁▁▁█"},
		{"a column shows its highest", []float64{0, 1, 2, 3}, []float64{0, 8, 0, 0}, 2, "█▁"},
		{"zeros", []float64{0, 1}, []float64{0, 0}, 2, "▁▁"},
		{"none", nil, nil, 5, ""},
		{"steps as far apart as numbers go", []float64{-math.MaxFloat64, 0, math.MaxFloat64}, []float64{0, 4, 8}, 4, "▁▁▅█"},
		{"no number", []float64{0, 1, 2}, []float64{0, math.Inf(1), math.NaN()}, 3, "▁▁▁"},
		{"no room", []float64{0}, []float64{1}, 0, ""},
	} {
		if got := sparkline(c.steps, c.values, c.width); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestStepsText(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want string
	}{{1, "about 1 step"}, {42.9, "about 42 steps"}, {119431, "about 110,000 steps"}, {1e300, "no end of steps"}} {
		if got := steps(c.n, "step"); got != c.want {
			t.Errorf("%v: %s, want %s", c.n, got, c.want)
		}
	}
}
