package budget

import (
	"math"
	"strings"
	"testing"
)

// TestCurve finds the knee of a made-up program where it is: the step takes 20 bytes
// per parameter, the backward 12 and what tokens take.
func TestCurve(t *testing.T) {
	run := madeRun{params: 1e9, perToken: 1e6}
	var points []Point
	for _, batch := range []float64{1, 2, 4, 8, 16, 32} {
		for _, seq := range []float64{512, 1024} {
			points = append(points, run.measure(batch, seq, 0, true))
		}
	}
	m, err := Fit(points, FitOptions{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Curve("batch", 1, 40, map[string]string{"seq": "512"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Pieces) != 2 {
		t.Fatalf("pieces %+v", c.Pieces)
	}
	flat, steep := c.Pieces[0], c.Pieces[1]
	knee := 8e9 / (1e6 * 512)
	if flat.Kind != FlatPiece || flat.Phase != "step" || flat.Slope != 0 || math.Abs(float64(flat.Last)-knee) > 1 {
		t.Errorf("the flat part is %+v, the knee at %.1f", flat, knee)
	}
	if steep.Kind != SteepPiece || steep.Phase != "backward" || !steep.Straight || math.Abs(float64(steep.Slope)/(1e6*512)-1) > 0.01 || steep.Last != 40 {
		t.Errorf("the steep part is %+v", steep)
	}
	if len(c.Values) != 40 || c.Values[39].Value != 40 || !c.Values[39].Extrapolated || c.Values[31].Extrapolated {
		t.Errorf("%d values", len(c.Values))
	}
}

// TestCurveBends looks at sequence length, where attention scores bend the curve.
func TestCurveBends(t *testing.T) {
	m := fitted(t)
	c, err := m.Curve("seq", 128, 2048, with("seq", "", "batch", "2", "attention", "eager"))
	if err != nil {
		t.Fatal(err)
	}
	last := c.Pieces[len(c.Pieces)-1]
	if last.Straight || last.SlopeLast <= last.SlopeFirst || last.Kind != SteepPiece {
		t.Errorf("the last part is %+v", last)
	}
	for i := 1; i < len(c.Values); i++ {
		if c.Values[i].Value <= c.Values[i-1].Value || c.Values[i].Peak < c.Values[i-1].Peak {
			t.Errorf("at %d: %d after %d", c.Values[i].Value, c.Values[i].Peak, c.Values[i-1].Peak)
		}
	}
	if first, end := c.Values[0].Value, c.Values[len(c.Values)-1].Value; first != 128 || end != 2048 || len(c.Values) > maxCurve+2 {
		t.Errorf("%d values from %d to %d", len(c.Values), first, end)
	}
}

func TestParseRange(t *testing.T) {
	if key, first, last, err := ParseRange("batch=1..64"); key != "batch" || first != 1 || last != 64 || err != nil {
		t.Errorf("%s %d %d %v", key, first, last, err)
	}
	for _, s := range []string{"", "batch", "batch=1", "batch=1..", "=1..4", "batch=a..b", "batch=4..4", "batch=0..4", "batch=1..99999999"} {
		if _, _, _, err := ParseRange(s); err == nil || !strings.Contains(err.Error(), "range") {
			t.Errorf("%q: %v", s, err)
		}
	}
}
