package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
)

// A Card is a GPU as far as memory needs it.
type Card struct {
	Name   string
	Bytes  int64 // that the driver gives a process
	SMs    int64 // multiprocessors
	Hopper bool  // compute capability 9 or more
}

// cards are the usual ones. Bytes are what nvidia-smi calls the total, in MiB.
var cards = []Card{
	{"t4", 15360 << 20, 40, false},
	{"v100-16gb", 16384 << 20, 80, false},
	{"v100-32gb", 32768 << 20, 80, false},
	{"rtx3090", 24576 << 20, 82, false},
	{"rtx4090", 24564 << 20, 128, false},
	{"rtx5090", 32607 << 20, 170, true},
	{"l4", 23034 << 20, 58, false},
	{"a10g", 23028 << 20, 80, false},
	{"a6000", 49140 << 20, 84, false},
	{"l40s", 46068 << 20, 142, false},
	{"a100-40gb", 40960 << 20, 108, false},
	{"a100-80gb", 81920 << 20, 108, false},
	{"h100", 81559 << 20, 132, true},
	{"h200", 143771 << 20, 132, true},
	{"b200", 183359 << 20, 148, true},
}

// Cards lists the cards that FindCard knows, smallest first.
func Cards() []Card {
	return slices.SortedStableFunc(slices.Values(cards), func(a, b Card) int { return cmp.Compare(a.Bytes, b.Bytes) })
}

// FindCard returns a card by its name; hyphens, blanks and case do not matter.
func FindCard(name string) (Card, error) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", " ", "", "_", "", "nvidia", "", "geforce", "", "gb", "").Replace(strings.ToLower(s))
	}
	var names []string
	for _, c := range Cards() {
		names = append(names, c.Name)
		if plain(c.Name) == plain(name) || plain(c.Name) == plain(name)+"80" {
			return c, nil
		}
	}
	hint := "known are " + strings.Join(names, ", ")
	if near, ok := nearest(name, names); ok {
		hint = "did you mean " + near
	}
	return Card{}, fmt.Errorf("%s is not a card that is known here; %s", quote(name), hint)
}

// processors is the number of multiprocessors; without a card that of an H100,
// which the A100's is near.
func (c *Card) processors() int64 { return or(c.SMs, 132) }

// workspace is what cuBLAS keeps for each thread and stream that multiplies
// (getChosenWorkspaceSize in aten/src/ATen/cuda/CublasHandlePool.cpp).
func (c *Card) workspace() int64 {
	if c.Hopper {
		return 4096 * 8 * 1024
	}
	return 4096*2*1024 + 16*8*1024
}

// ltWorkspace is what cuBLASLt keeps, which serves products with a bias.
const ltWorkspace = 1 << 20

// library allocates the workspaces of cuBLAS when the first product of a thread
// runs: forward and backward run on threads of their own. Without a card their
// size is not known, and they are left out.
func (t *tape) library(bias bool) {
	if t.card.Name == "" || t.muted {
		return
	}
	thread := "forward"
	if t.step == BackwardStep {
		thread = "backward"
	}
	t.once(thread+" cuBLAS", t.card.workspace())
	if bias {
		t.once(thread+" cuBLASLt", ltWorkspace)
	}
}

func (t *tape) once(name string, bytes int64) {
	if t.scratches[name] {
		return
	}
	t.scratches[name] = true
	t.alloc(WorkspaceClass, attribution.Workspace, "workspace of cuBLAS, "+name, shape{{"workspace", bytes}}, I8)
}
