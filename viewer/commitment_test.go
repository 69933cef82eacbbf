package viewer

import (
	"strings"
	"testing"

	"github.com/snapview/snapview/budget"
)

// Names from a plan stay text, the card's line is drawn, and nothing is fetched.
func TestWriteCommitment(t *testing.T) {
	const evil = `</td><script>alert(1)</script>`
	c := &budget.Commitment{
		Title: evil, Verdict: evil, Facts: []string{evil}, Card: 950, Need: budget.Spread{Low: 110, Median: 500, High: 890},
		Bins: []budget.Bin{{From: 100, To: 500, Draws: 3}, {From: 500, To: 900, Draws: 6}, {From: 960, To: 1000, Draws: 1}},
		Bars: []budget.CostBar{{Name: evil, Cost: 2, Text: evil, Promised: true}, {Name: "b", Cost: 4, Text: "4.00"}},
		Sections: []budget.DocSection{
			{Title: "a", Text: []string{evil}, Points: []string{evil}, Code: []string{evil}, Chart: budget.DistributionChart,
				Tables: []budget.DocTable{{Lead: evil, Head: []string{"Bytes", "Where"}, Right: []bool{true}, Rows: [][]string{{"1 B", evil}}}}},
			{Title: "b", Chart: budget.CostChart},
		},
	}
	var b strings.Builder
	if err := WriteCommitment(&b, c, "1"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for text, want := range map[string]int{
		"<script>alert": 0, `class="over"`: 1, `<rect class="bar"`: 2, `<line class="card"`: 1, `style="width:50%"`: 1, `style="width:100%"`: 1,
		`class="verdict bad"`: 1, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;`: 1, "Of 10 draws": 1,
	} {
		if got := strings.Count(page, text); got != want {
			t.Errorf("%q is in the page %d times, want %d", text, got, want)
		}
	}
}

// A card far above what is needed is left out of the drawing, and said.
func TestDistributionOfLargeCard(t *testing.T) {
	c := &budget.Commitment{Card: 1 << 40, Need: budget.Spread{Low: 100, Median: 200, High: 300}, Bins: []budget.Bin{{From: 100, To: 300, Draws: 1}}}
	d := drawDistribution(c)
	if len(d.Lines) != 1 || !strings.Contains(d.Label, "the card has 1.00 TiB") {
		t.Errorf("%+v", d)
	}
}
