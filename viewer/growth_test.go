package viewer

import (
	"bytes"
	"html"
	"math"
	"strings"
	"testing"

	"github.com/snapview/snapview/attribution"
)

func renderGrowth(t *testing.T, p GrowthPage) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteGrowth(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGrowthPageGolden(t *testing.T) {
	goldenPage(t, "growth.html.golden", "growth.json.golden", renderGrowth(t, fakeGrowth()))
}

func TestSameGrowthSameBytes(t *testing.T) {
	first := renderGrowth(t, fakeGrowth())
	for range 5 {
		if renderGrowth(t, fakeGrowth()) != first {
			t.Fatal("the same growth gave two different pages")
		}
	}
}

// A page may lack anything.
func TestEmptyGrowth(t *testing.T) {
	for what, p := range map[string]GrowthPage{
		"nothing":       {Name: "x"},
		"no curve":      {Name: "x", Sections: []GrowthSection{{Heading: "Device 0"}}},
		"empty curve":   {Name: "x", Sections: []GrowthSection{judged("a", "step", attribution.Series{Name: "allocated"})}},
		"one point":     {Name: "x", Sections: []GrowthSection{judged("a", "step", overSteps("allocated", 1, 1, func(int) float64 { return 5 }))}},
		"one place":     {Name: "x", Sections: []GrowthSection{judged("a", "second", attribution.Series{Name: "allocated", Steps: []float64{3, 3}, Bytes: []float64{1, 2}})}},
		"uneven":        {Name: "x", Sections: []GrowthSection{judged("a", "step", attribution.Series{Name: "peak", Steps: []float64{3, 4, 5}, Bytes: []float64{1}})}},
		"empty change":  {Name: "x", Changes: []GrowthChange{{Heading: "Device 0", Unit: "step"}}},
		"no numbers":    {Name: "x", Sections: []GrowthSection{judged("a", "step", attribution.Series{Name: "allocated", Steps: []float64{0, math.NaN(), 2, math.Inf(1)}, Bytes: []float64{math.NaN(), 1, math.Inf(-1), 4}})}},
		"out of bounds": {Name: "x", Sections: []GrowthSection{judged("a", "step", attribution.Series{Name: "allocated", Steps: []float64{-1e300, 0, 1e300, 1.1e300, 1.2e300}, Bytes: []float64{-1e300, 1e300, -1e300, 1e300, 1e18}})}},
		"below zero":    {Name: "x", Sections: []GrowthSection{judged("a", "step", overSteps("allocated", 9, 1, func(i int) float64 { return -1e9 - 1e6*float64(i) }))}},
		"odd marks":     {Name: "x", Sections: []GrowthSection{{Heading: "a", Curves: fakeGrowth().Sections[1].Curves, Marks: []GrowthMark{{MarkOOM, "x", math.NaN()}, {MarkOOM, "x", 1e300}}}}},
	} {
		page := renderGrowth(t, p)
		html, _ := parts(t, page)
		if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
			t.Errorf("%s: no number reached the page", what)
		}
		if what == "nothing" && !strings.Contains(html, "There is nothing to judge") {
			t.Error("a page without sections should say so")
		}
		if what == "no curve" && !strings.Contains(html, "There is no curve") {
			t.Error("a section without curves should say so")
		}
	}
}

// The numbers must be there for readers without scripts.
func TestPlainGrowthHoldsTheAnswer(t *testing.T) {
	page, _ := parts(t, renderGrowth(t, fakeGrowth()))
	text := html.UnescapeString(page)
	for _, want := range []string{
		"<b class=\"badge\">Leak</b>", "+1.20 MiB</dd><dd>a step; 95 %: 1.16 MiB to 1.24 MiB", "monotonic", "still climbing at the end", // the verdict
		"Where to look", "train.py:7</dd><dd>Outputs are kept", "model.py:12", "66.8%", "_call_impl", "2 kept every 10 steps", "activation", // the line
		"64,000</dd><dd>steps at most; 80.0 GiB card", "after about 64,000 steps (95 %: 62,000 to 67,000 steps)", "620 MiB of it are outside PyTorch", // how long
		"3.58 GiB", "+662 MiB since step 0", "1 point", "0 B to 39.4 KiB", // the curves
		`class="run allocated"`, `class="trend fit"`, `class="band outside"`, `class="warm-up"`, `class="at oom"`, // the picture
		"Outputs are kept", "train.py:7", "Append output.detach().cpu() instead.",
		"The allocator freed its cache and tried again 3 times.", "An epoch", "+60.0 MiB", "epoch0.pickle",
		"Cache growth", "the cache follows the largest inputs so far", "Inconclusive", "To decide: at least 5 seconds",
		"Fixed", "The slope is gone", "model.py:12</td>", `class="run before"`, `class="run after"`,
		"9 lines", "allocated lots", "no unit", "7 more.", "Steps are those that the lines name.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page without scripts lacks %q", want)
		}
	}
}

func TestGrowthNamesAreInert(t *testing.T) {
	inertNames(t, func(name string) string { return renderGrowth(t, poisonedGrowth(name)) })
}

func TestGrowthPageIsBounded(t *testing.T) {
	for _, n := range [][2]int{{0, 1}, {1, 2}, {40, 0}, {5, 40}, {0, 400}} {
		page := renderGrowth(t, hugeGrowth(n[0], n[1]))
		html, data := parts(t, page)
		t.Logf("%d comparisons, %d sections: %d bytes, %d of HTML, %d of data", n[0], n[1], len(page), len(html), len(data))
		if len(page) > MaxBytes {
			t.Errorf("%d comparisons, %d sections: the page has %d bytes, more than %d", n[0], n[1], len(page), MaxBytes)
		}
	}
}

// Reducing a long curve keeps its extremes.
func TestPlotKeepsExtremes(t *testing.T) {
	s := overSteps("allocated", 100_000, 1, func(i int) float64 { return float64(i % 1000) })
	s.Bytes[54_321], s.Bytes[76_543] = 5000, -5000
	section := judged("a", "step", s)
	p := newPlot("g0", &section, 1, &texts{left: textBudget})
	low, high := 0.0, 0.0
	for _, pt := range p.lines[0].pts {
		low, high = min(low, pt.bytes), max(high, pt.bytes)
	}
	if n := len(p.lines[0].pts); n > maxGrowthPoints || low != -5000 || high != 5000 {
		t.Errorf("%d points from %g to %g", n, low, high)
	}
	if last := p.lines[0].pts[len(p.lines[0].pts)-1]; last.step != 99_999 {
		t.Errorf("the last point is %v", last)
	}
}

func TestAxis(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 143 * mib, "0 MiB 50 MiB 100 MiB 150 MiB"},
		{2.9 * gib, 3.5 * gib, "2.8 GiB 3.0 GiB 3.2 GiB 3.4 GiB 3.6 GiB"},
		{9.98 * gib, 9.99 * gib, "9.980 GiB 9.982 GiB 9.984 GiB 9.986 GiB 9.988 GiB 9.990 GiB"},
		{0, 0, "0 B 1 B"},
		{0, 1000, "0 B 200 B 400 B 600 B 800 B 1000 B"},
		{-3 * mib, 0, "-3 MiB -2 MiB -1 MiB 0 MiB"},
		{100, 101, "100 B 101 B"},
		{0, farthest, "0 TiB 200 TiB 400 TiB 600 TiB 800 TiB 1000 TiB"},
	} {
		a := newAxis(c.low, c.high)
		var got []string
		for i := range int(math.Round((a.High-a.Low)/a.Step)) + 1 {
			got = append(got, a.label(a.Low+float64(i)*a.Step))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, text, c.want)
		}
	}
}

func TestStepTicks(t *testing.T) {
	for _, c := range []struct {
		first, last float64
		want        string
	}{{0, 390, "0 100 200 300"}, {0, 3, "0 1 2 3"}, {1, 4, "1 2 3 4"}, {7, 7, "7"}, {1000, 31000, "5,000 10,000 15,000 20,000 25,000 30,000"}, {0, .4, "0 0.1 0.2 0.3 0.4"}} {
		var got []string
		for _, s := range stepTicks(c.first, c.last) {
			got = append(got, stepText(s, "step"))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%g to %g: %s, want %s", c.first, c.last, text, c.want)
		}
	}
}

func TestAbout(t *testing.T) {
	for n, want := range map[float64]float64{0: 0, 7.9: 7, 99: 99, 119_431: 110_000, 1000: 1000} {
		if got := about(n); got != want {
			t.Errorf("about %g is %g, want %g", n, got, want)
		}
	}
}

// The axis that is not from zero is for what the verdict is about.
func TestNearAxis(t *testing.T) {
	const gib = 1 << 30
	line := func(from, per float64) func(int) float64 { return func(i int) float64 { return from + per*float64(i) } }
	for _, c := range []struct {
		name   string
		s      GrowthSection
		isNear bool
		label  string
		note   string
	}{
		{"a slow leak", judged("", "step", overSteps("allocated", 50, 1, line(9*gib, gib/500))), true, "8.95 GiB to 9.15 GiB", "The vertical axis does not start at zero."},
		{"a fast leak", judged("", "step", overSteps("allocated", 50, 1, line(gib, gib/5))), false, "0 GiB to 15 GiB", ""},
		{"steady beside a full GPU", judged("", "step", overSteps("allocated", 50, 1, line(gib, 0)), overSteps("device_used", 50, 1, line(70*gib, 0))), true, "0.0 GiB to 1.0 GiB", "Beyond the axis: whole GPU (nvidia-smi)."},
		{"steady", judged("", "step", overSteps("allocated", 50, 1, line(gib, 0))), false, "0.0 GiB to 1.0 GiB", ""},
	} {
		p := newPlot("g0", &c.s, 1, &texts{left: textBudget})
		if got := p.near.label(p.near.Low) + " to " + p.near.label(p.near.High); p.isNear != c.isNear || got != c.label || p.nearNote() != c.note {
			t.Errorf("%s: %v, %s, %q", c.name, p.isNear, got, p.nearNote())
		}
	}
}

// The headline is about the curve that decided: the peak, where it climbs below
// reserved memory that does not.
func TestDecidingCurve(t *testing.T) {
	level := overSteps("reserved", 30, 1, func(int) float64 { return 300 << 20 })
	peak := overSteps("peak", 30, 1, func(i int) float64 { return float64(100+i) * (1 << 20) })
	s := judged("", "step", level, peak)
	s.Growth = attribution.Judge(attribution.GrowthInput{Reserved: level, Peak: peak})
	if d := s.deciding(); d == nil || d.Series.Name != "peak" {
		t.Errorf("%s, but the headline is about %+v", s.Growth.Why, d)
	}
	s.Growth = attribution.Judge(attribution.GrowthInput{Reserved: level})
	if d := s.deciding(); d == nil || d.Series.Name != "reserved" {
		t.Errorf("%s, but the headline is about %+v", s.Growth.Why, d)
	}
}

// A comparison of snapshots with steps is drawn over steps.
func TestLeakChangeUnits(t *testing.T) {
	before := attribution.LeakReport{StepsPerSnapshot: 50, BytesPerStep: 100, Curves: []attribution.Series{overSteps("requested", 6, 1, func(i int) float64 { return float64(i) * 5000 })}}
	before.Growth = attribution.Judge(attribution.GrowthInput{Allocated: before.Curves[0], Unit: "snapshot"})
	after := attribution.LeakReport{Curves: []attribution.Series{overSteps("requested", 300, 1, func(int) float64 { return 7000 })}}
	after.Growth = attribution.Judge(attribution.GrowthInput{Allocated: after.Curves[0]})
	change := attribution.CompareLeaks(&before, &after)
	c := LeakChangeSection(&change, &before, &after)
	if c.Badge != "Fixed" || c.Verdict.Tone != "ok" || c.Unit != "step" {
		t.Errorf("%q, %v, by %s", c.Badge, c.Verdict, c.Unit)
	}
	if b := c.Before; b.Trend.BytesPerStep != 100 || b.Trend.Low != 100 || b.Series.Steps[5] != 250 || b.Trend.At(250) != 25_000 {
		t.Errorf("before: %+v", b)
	}
	if before.Curves[0].Steps[5] != 5 {
		t.Error("drawing changed the report")
	}
	before.StepsPerSnapshot, before.BytesPerStep = 0, 0
	change = attribution.CompareLeaks(&before, &after)
	if c := LeakChangeSection(&change, &before, &after); len(c.Before.Series.Steps) != 0 || c.Badge != "Unclear" {
		t.Errorf("without a way from one to the other: %q, %+v", c.Badge, c.Before)
	}
}

func TestSentence(t *testing.T) {
	for phrase, want := range map[string]string{
		"": "", "nothing grows": "Nothing grows.", "It is so.": "It is so.", "train.py:7 grows": "train.py:7 grows.", "(no stack) grows": "(no stack) grows.",
		"the GPU was full (num_ooms)": "The GPU was full (num_ooms).", "über": "über.", "num_ooms rose": "num_ooms rose.",
	} {
		if got := sentence(phrase); got != want {
			t.Errorf("%q became %q, want %q", phrase, got, want)
		}
	}
}

func TestGrowthSlopes(t *testing.T) {
	for v, want := range map[float64]string{0: "0 B", 1.5: "+1.5 B", -2048: "-2.00 KiB", 1 << 20: "+1.00 MiB", math.NaN(): "0 B", math.Inf(1): "+909 TiB"} {
		if got := slopeText(v); got != want {
			t.Errorf("%g prints as %q, want %q", v, got, want)
		}
	}
	if got := rangeText(1<<20, 1<<20+5); got != "1.00 MiB" {
		t.Errorf("a range that prints the same at both ends is %q", got)
	}
}
