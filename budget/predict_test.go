package budget

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// base is a configuration of the sweep, which holds one like it.
var base = map[string]string{"batch": "8", "seq": "512", "layers": "4", "hidden": "512", "heads": "8",
	"attention": "sdpa", "checkpoint": "false", "precision": "fp32", "optimizer": "adamw"}

func with(pairs ...string) map[string]string {
	out := maps.Clone(base)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(out, pairs[i])
		} else {
			out[pairs[i]] = pairs[i+1]
		}
	}
	return out
}

func TestPredict(t *testing.T) {
	m := fitted(t)
	p, err := m.Predict(base)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, x := range p.Parts {
		sum += x.Bytes
	}
	if sum != p.Peak {
		t.Errorf("parts sum to %d, the peak is %d", sum, p.Peak)
	}
	if !(p.Low < p.Peak && p.Peak < p.High) || p.Confidence != 0.95 || p.Extrapolated || p.Phase != "backward" {
		t.Errorf("predicted %+v", p)
	}
	highest := int64(0)
	for _, x := range p.Phases {
		highest = max(highest, x.Bytes)
	}
	if math.Abs(float64(highest-p.Peak)) > 16 {
		t.Errorf("the highest phase is %d, the peak %d", highest, p.Peak)
	}
	if r := p.Reserved; r == nil || r.Bytes < p.Peak || r.Low < p.Low || r.High < r.Bytes {
		t.Errorf("reserved %+v", p.Reserved)
	}
	notes := strings.Join(p.Notes, "; ")
	if !strings.Contains(notes, "as in every point: vocab 8,192") || !strings.Contains(notes, "params 21,261,312, as follows from the points") {
		t.Errorf("notes: %s", notes)
	}
}

// TestPredictMeasured predicts every point of the sweep from its own keys.
func TestPredictMeasured(t *testing.T) {
	m := fitted(t)
	for i := range m.Points {
		p := &m.Points[i]
		set := map[string]string{}
		for _, k := range p.Keys() {
			name, value, _ := strings.Cut(k, "=")
			set[name] = value
		}
		got, err := m.Predict(set)
		if err != nil {
			t.Fatal(err)
		}
		if e := float64(got.Peak)/float64(p.Peak) - 1; math.Abs(e) > 0.03 || got.Extrapolated || len(got.Notes) > 0 {
			t.Errorf("line %d: error %.4f, %v", p.Line, e, got.Notes)
		}
	}
}

func TestPredictWords(t *testing.T) {
	m := fitted(t)
	want, err := m.Predict(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []map[string]string{
		with("attention", "SDPA", "checkpoint", "no"),
		with("batch", "", "batch_size", "8", "hidden", "", "d_model", " 512 "),
		with("params", "21261312", "vocab", "8192"),
	} {
		if got, err := m.Predict(set); err != nil || got.Peak != want.Peak {
			t.Errorf("%v: %d, want %d (%v)", set, got.Peak, want.Peak, err)
		}
	}
}

func TestPredictErrors(t *testing.T) {
	m := fitted(t)
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{map[string]string{"batch": "8"}, "missing: seq (128 to 2,048), layers (2 to 8), hidden (256 to 768), heads (4 to 12), attention (eager, sdpa), " +
			"checkpoint (false, true), precision (bf16-amp, fp32), optimizer (adamw, sgd); give each as KEY=VALUE"},
		{with("rank", "4"), "rank: the points have no such key; their keys are batch (1 to 32), "},
		{with("attention", "flash"), `attention: "flash" is not in the points, which have eager, sdpa`},
		{with("batch", "eight"), `batch: "eight" is not a number`},
		{with("batch", "-1"), "batch: -1 is not above 0"},
		{with("batch", "nan"), `batch: "nan" is not a number`},
		{with("batch_size", "8"), "given twice"},
	} {
		if _, err := m.Predict(c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.set, err, c.want)
		}
	}
}

// TestExtrapolation widens the interval beyond the points and says so.
func TestExtrapolation(t *testing.T) {
	m := fitted(t)
	width := func(set map[string]string) (float64, Prediction) {
		p, err := m.Predict(set)
		if err != nil {
			t.Fatal(err)
		}
		return float64(p.High-p.Low) / float64(p.Peak), p
	}
	inside, _ := width(base)
	for _, c := range []struct {
		set  map[string]string
		note string
	}{
		{with("batch", "128"), "batch 128 is outside of the points (1 to 32): extrapolated"},
		{with("vocab", "32768"), "vocab 32,768 is outside of the points (8,192): extrapolated"},
		{with("batch", "32", "seq", "2048"), "batch × seq = 65,536 is outside of the points (128 to 8,192): extrapolated"},
		{with("attention", "eager", "checkpoint", "true"), "no point has these words together: attention=eager checkpoint=true precision=fp32 optimizer=adamw; put together from others"},
	} {
		w, p := width(c.set)
		if !p.Extrapolated || w < 2*inside || !slices.Contains(p.Notes, c.note) {
			t.Errorf("%v: width %.3f against %.3f, extrapolated %t, notes %q", c.set, w, inside, p.Extrapolated, p.Notes)
		}
	}
	last := 0.0
	for _, batch := range []string{"32", "40", "64", "128", "512", "4096"} {
		w, _ := width(with("batch", batch))
		if w < last {
			t.Errorf("batch %s: the interval shrinks to %.4f from %.4f", batch, w, last)
		}
		last = w
	}
}

// TestBeyondTheSweep fits the smaller half of the sweep and predicts the larger:
// intervals beyond the points must hold what they promise.
func TestBeyondTheSweep(t *testing.T) {
	for _, c := range []struct {
		name string
		in   func(*Point) bool
	}{
		{"up to 2,048 tokens", func(p *Point) bool { return p.Numbers[keyBatch]*p.Numbers[keySeq] <= 2048 }},
		{"up to hidden 512", func(p *Point) bool { return p.Numbers[keyHidden] <= 512 }},
		{"up to seq 512", func(p *Point) bool { return p.Numbers[keySeq] <= 512 }},
	} {
		var small, large []Point
		for _, p := range sweep(t) {
			if c.in(&p) {
				small = append(small, p)
			} else {
				large = append(large, p)
			}
		}
		m, err := Fit(small, FitOptions{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		var errors []float64
		for i := range large {
			p, err := m.At(Place{Numbers: large[i].Numbers, Words: large[i].Words})
			if err != nil {
				t.Fatal(err)
			}
			if !p.Extrapolated {
				t.Errorf("%s: line %d is not called extrapolated", c.name, large[i].Line)
			}
			errors = append(errors, float64(p.Peak)/float64(large[i].Peak)-1)
			if p.Low <= large[i].Peak && large[i].Peak <= p.High {
				held++
			}
		}
		if median, worst, _ := summary(errors); median > 0.03 || worst > 0.15 {
			t.Errorf("%s: median %.4f, worst %.4f", c.name, median, worst)
		}
		if float64(held) < 0.9*float64(len(large)) {
			t.Errorf("%s: intervals hold %d of %d", c.name, held, len(large))
		}
	}
}
