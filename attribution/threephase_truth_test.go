package attribution

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/snapview/snapview/snapshot"
)

// phaseTruth is what the program knew when it dumped a snapshot.
type phaseTruth struct {
	Params    []tensor `json:"params"`
	Grads     []tensor `json:"grads"`
	Optimizer []tensor `json:"optimizer"`
	Buffers   []tensor `json:"buffers"`
	Inputs    []tensor `json:"inputs"`
	Saved     []tensor `json:"saved"`
}

type tensor struct {
	Ptr   uint64 `json:"ptr"`
	Bytes int64  `json:"bytes"`
}

func readPhaseTruth(t *testing.T, base string) phaseTruth {
	t.Helper()
	var r io.Reader
	if f, err := os.Open(base + ".truth.json"); err == nil {
		defer f.Close()
		r = f
	} else {
		f, err := os.Open(base + ".truth.json.zst")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	var truth phaseTruth
	if err := json.NewDecoder(r).Decode(&truth); err != nil {
		t.Fatal(err)
	}
	return truth
}

// sumTensors counts each storage once.
func sumTensors(list []tensor, without ...[]tensor) (sum int64) {
	seen := map[uint64]bool{0: true}
	for _, skip := range without {
		for _, x := range skip {
			seen[x.Ptr] = true
		}
	}
	for _, x := range list {
		if !seen[x.Ptr] {
			seen[x.Ptr] = true
			sum += x.Bytes
		}
	}
	return sum
}

func TestThreePhasesAgainstTruth(t *testing.T) {
	for _, name := range []string{"gpt_adamw", "gpt_adamw_cpp", "expandable", "roundup"} {
		t.Run(name, func(t *testing.T) {
			open := func(phase string) *snapshot.Snapshot {
				s, err := snapshot.Open(filepath.Join("../testdata/snapshots", name, "0_"+phase+".pickle.zst"))
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			truth := func(phase string) phaseTruth {
				return readPhaseTruth(t, filepath.Join("../testdata/snapshots", name, "0_"+phase))
			}
			in := PhaseInput{Before: open("init"), Backward: open("backward"), Step: open("step")}
			r, err := ThreePhases(in)
			if err != nil {
				t.Fatal(err)
			}
			checkPhasesClose(t, &r)
			w := truth("forward")
			for c, want := range map[Category]int64{
				Parameter: sumTensors(truth("init").Params), Gradient: sumTensors(truth("backward").Grads),
				OptimizerState: sumTensors(truth("step").Optimizer), Activation: sumTensors(w.Saved, w.Params, w.Inputs, w.Buffers),
			} {
				if off := abs(r.Totals[c] - want); off > max(want, 1<<20)/100 {
					t.Errorf("%s: %d, truth %d", c, r.Totals[c], want)
				}
			}
			in.Forward = open("forward")
			given, err := ThreePhases(in)
			if err != nil {
				t.Fatal(err)
			}
			if given.Totals != r.Totals || given.Peak != r.Peak {
				t.Errorf("with the forward's snapshot %v %v, from the history %v %v", given.Totals, given.Peak, r.Totals, r.Peak)
			}
		})
	}
}
