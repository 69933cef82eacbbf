package attribution

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/snapview/snapview/snapshot"
)

const captures = "../testdata/snapshots"

// A truth is what the program that was recorded knew: its tensors by address.
type truth map[uint64]Category

// truthLists are the lists of a truth file; a storage in two of them belongs to
// the later one.
var truthLists = []struct {
	key      string
	category Category
}{{"saved", Activation}, {"inputs", Input}, {"buffers", Buffer}, {"params", Parameter}, {"optimizer", OptimizerState}, {"grads", Gradient}}

// readTruth returns nil when a capture has no truth beside it, or one without
// tensors.
func readTruth(t *testing.T, capture string) truth {
	t.Helper()
	data := readMaybePacked(t, strings.TrimSuffix(capture, ".pickle.zst")+".truth.json")
	var raw map[string]json.RawMessage
	if data == nil || json.Unmarshal(data, &raw) != nil {
		return nil
	}
	out := truth{}
	for _, list := range truthLists {
		var tensors []struct {
			Ptr uint64 `json:"ptr"`
		}
		if raw[list.key] != nil {
			if err := json.Unmarshal(raw[list.key], &tensors); err != nil {
				t.Fatal(err)
			}
		}
		for _, tensor := range tensors {
			if tensor.Ptr != 0 {
				out[tensor.Ptr] = list.category
			}
		}
	}
	return out
}

func readMaybePacked(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		return data
	}
	packed, err := os.ReadFile(path + ".zst")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	if data, err = decoder.DecodeAll(packed, nil); err != nil {
		t.Fatal(err)
	}
	return data
}

// accepts says which labels are right for a tensor of a category: a buffer that
// a module converts is called a parameter, an input that a module made for
// itself an activation, and whether autograd saved a tensor is not in the file.
func accepts(want, got Category) bool {
	switch want {
	case Buffer:
		return got == Buffer || got == Parameter
	case Input:
		return got == Input || got == Activation
	case Activation:
		return got == Activation || got == Temporary
	}
	return got == want
}

// isStrict reports whether calling something else this is a false claim.
func isStrict(c Category) bool { return c == Parameter || c == Gradient || c == OptimizerState }

// A tally counts bytes that the truth knows about, and false claims.
type tally struct{ right, known, falsely int64 }

func (s *tally) add(o tally) {
	s.right += o.right
	s.known += o.known
	s.falsely += o.falsely
}

// forEachTruth classifies every capture that has a truth.
func forEachTruth(t *testing.T, check func(t *testing.T, folder string, c *Classification, want truth)) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(captures, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pickle.zst") {
			return err
		}
		want := readTruth(t, path)
		if len(want) == 0 {
			return nil
		}
		found++
		s, err := snapshot.Open(path)
		if err != nil {
			return err
		}
		for _, d := range s.Devices {
			check(t, filepath.Base(filepath.Dir(path)), Classify(s, s.Timeline(d)), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 50 {
		t.Errorf("only %d captures with a truth were found", found)
	}
}

// eachKnown calls do for every live block: right is whether its label is, claim
// whether it says anything that the truth can judge.
func eachKnown(c *Classification, want truth, do func(i int, a *snapshot.Allocation, category Category, known bool)) {
	for i, a := range c.Live(snapshot.Moment{Event: len(c.Timeline.Device.Events) - 1}) {
		category, known := want[a.Addr]
		do(i, a, category, known)
	}
}

// leastRight is the least share of bytes to get right in captures where the
// truth cannot be read off the file, and why.
var leastRight = map[string]float64{
	"extra_late_sgd": .93, // one state per parameter, made in module order: only addresses tell which is which
	"extra_fsdp2":    .97, // inside a forward the program calls its all-gathered copies the parameters
	"nohistory":      0,   // no stacks, no history: sizes alone
	"stateonly":      .9,  // stacks of live memory, without an order
}

const (
	leastRightElsewhere = .998
	mostFalse           = .03 // FSDP2, see leastRight: the shards are not the parameters then
)

func TestTruth(t *testing.T) {
	folders := map[string]*tally{}
	forEachTruth(t, func(_ *testing.T, folder string, c *Classification, want truth) {
		if folders[folder] == nil {
			folders[folder] = &tally{}
		}
		folders[folder].add(judge(c, want))
	})
	var all tally
	for folder, s := range folders {
		least, special := leastRight[folder]
		if !special {
			least = leastRightElsewhere
			all.add(*s)
		}
		if share := float64(s.right) / float64(max(s.known, 1)); share < least {
			t.Errorf("%s: %.3f %% of bytes right, want %.1f %%", folder, 100*share, 100*least)
		}
		if limit := int64(mostFalse * float64(s.known)); !special && s.falsely > 0 || s.falsely > limit && least > 0 {
			t.Errorf("%s: %d bytes falsely called parameter, gradient or optimizer state", folder, s.falsely)
		}
	}
	t.Logf("%.3f %% of %d bytes right, %d falsely strict", 100*float64(all.right)/float64(all.known), all.known, all.falsely)
}

func judge(c *Classification, want truth) (s tally) {
	eachKnown(c, want, func(i int, a *snapshot.Allocation, category Category, known bool) {
		got := c.Labels[i].Category
		switch {
		case !known && isStrict(got):
			s.falsely += a.Requested
		case known:
			s.known += a.Requested
			if accepts(category, got) {
				s.right += a.Requested
			}
		}
	})
	return s
}

// TestCalibration holds confidences to what they say: of what is given .9 or
// more, 99 % of the bytes must be right, and lower bins must not overstate much.
func TestCalibration(t *testing.T) {
	var bins [11]tally // by tenths
	forEachTruth(t, func(_ *testing.T, _ string, c *Classification, want truth) {
		eachKnown(c, want, func(i int, a *snapshot.Allocation, category Category, known bool) {
			l := c.Labels[i]
			if !known && !isStrict(l.Category) || l.Category == Unknown {
				return // nothing is claimed
			}
			bin := &bins[int(l.Confidence*10+1e-3)]
			bin.known += a.Requested
			if known && accepts(category, l.Category) {
				bin.right += a.Requested
			}
		})
	})
	bins[9].add(bins[10])
	for k := 9; k >= 0; k-- {
		if b := bins[k]; b.known > 0 {
			t.Logf("confidence .%d: %.2f %% of %d bytes right", k, 100*float64(b.right)/float64(b.known), b.known)
		}
	}
	if b := bins[9]; float64(b.right) < .99*float64(b.known) {
		t.Errorf("of what is given .9 or more, %d of %d bytes are right", b.right, b.known)
	}
	for k := 5; k < 9; k++ {
		if b := bins[k]; float64(b.right) < (float64(k)/10-.1)*float64(b.known) {
			t.Errorf("of what is given .%d, %d of %d bytes are right", k, b.right, b.known)
		}
	}
}
