package budget

import (
	"strings"
	"testing"
)

// TestMaxBatch compares the search with trying every batch.
func TestMaxBatch(t *testing.T) {
	m := fitted(t)
	set := with("batch", "")
	for _, gpu := range []int64{1 << 30, 1500 << 20, 2 << 30, 4 << 30, 24 << 30} {
		for _, step := range []int{1, 4} {
			a, err := m.MaxBatch(BatchQuestion{GPU: gpu, Overhead: 400 << 20, Set: set, Step: step})
			if err != nil {
				t.Fatal(err)
			}
			usable := gpu - 400<<20
			for _, c := range []struct {
				name string
				got  BatchLimit
				need func(*Prediction) int64
			}{
				{"safe", a.Safe, func(p *Prediction) int64 { return p.Reserved.High }},
				{"likely", a.Likely, func(p *Prediction) int64 { return p.Reserved.Bytes }},
				{"tensors", a.Tensors, func(p *Prediction) int64 { return p.Peak }},
			} {
				want := 0
				for v := step; v < 2000; v += step {
					p, err := m.Predict(with("batch", number(float64(v)), "batch", strings.ReplaceAll(number(float64(v)), ",", "")))
					if err != nil {
						t.Fatal(err)
					}
					if c.need(&p) > usable {
						break
					}
					want = v
				}
				if c.got.Value != want || c.got.Next != want+step {
					t.Errorf("%d bytes, multiples of %d, %s: %d then %d, want %d", gpu, step, c.name, c.got.Value, c.got.Next, want)
				}
			}
		}
	}
}

func TestMaxBatchOver(t *testing.T) {
	m := fitted(t)
	a, err := m.MaxBatch(BatchQuestion{GPU: 4 << 30, Over: "seq_len", Set: with("seq", "", "batch", "2")})
	if err != nil || a.Over != keySeq || a.Likely.Value < 1000 || a.Safe.Value > a.Likely.Value || a.Likely.Value > a.Tensors.Value {
		t.Errorf("over seq: %+v (%v)", a, err)
	}
	p := a.Likely.Fits
	if p == nil || p.Reserved.Bytes > 4<<30 || a.Likely.Fails.Reserved.Bytes <= 4<<30 {
		t.Errorf("the values around the answer: %+v, %+v", p, a.Likely.Fails)
	}
	a, err = m.MaxBatch(BatchQuestion{GPU: 200 << 20, Set: with("batch", "")})
	if err != nil || a.Likely.Value != 0 || a.Likely.Next != 1 || a.Short() <= 0 {
		t.Errorf("nothing fits: %+v, short %d (%v)", a, a.Short(), err)
	}
	for _, c := range []struct {
		q    BatchQuestion
		want string
	}{
		{BatchQuestion{GPU: 1 << 30, Overhead: 1 << 30}, "leaves nothing"},
		{BatchQuestion{GPU: 1 << 30, Over: "attention", Set: base}, "attention: not a number of the points"},
		{BatchQuestion{GPU: 1 << 30, Set: base}, "batch: is what varies"},
		{BatchQuestion{GPU: 1 << 30}, "missing: seq"},
	} {
		if _, err := m.MaxBatch(c.q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.q, err, c.want)
		}
	}
}
