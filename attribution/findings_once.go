package attribution

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// onceShare is the part of the peak from which scratch that comes once is worth
// telling: one in onceShare.
const onceShare = 20

// oneOffScratch finds large scratch that the first backward makes on the
// autograd thread and no later one: cuDNN tries algorithms for the first
// convolution of each shape (torch.backends.cudnn.benchmark, and its
// heuristics), each with a workspace of its own.
func oneOffScratch(l *look) []Finding {
	backwards := l.phasesOf[Backward]
	if len(backwards) < 2 || l.all&traitConvolution == 0 || !l.hasStacks() {
		return nil
	}
	first, later := backwards[0], map[int64]bool{}
	for i := range l.Timeline.Allocations {
		if a := &l.Timeline.Allocations[i]; int(a.Born) > first.Last {
			later[a.Requested] = true
		}
	}
	held := l.where(func(i int32, a *snapshot.Allocation) bool {
		return l.category(i) == Temporary && !l.stack(a.Stack).python && int(a.Born) >= first.First && int(a.Born) <= first.Last &&
			int(a.Freed) <= first.Last && a.Requested >= l.total/onceShare && !later[a.Requested]
	})
	if len(held) == 0 {
		return nil
	}
	f := l.charge(Finding{
		ID: "one_off_scratch", Title: "One-off scratch in the first backward sets the peak", UpperBound: true, Confidence: .7,
		Why: "Probably cuDNN's workspace while it tries convolution algorithms (torch.backends.cudnn.benchmark). It comes once per shape, but the peak and what stays reserved have to bear it.",
		Do:  "Set torch.backends.cudnn.benchmark = False, or limit the workspace with CUDNN_CONV_WSCAP_DBG (in MiB); without either, call torch.cuda.empty_cache() after the first step.",
	}, held)
	f.Evidence = fmt.Sprintf("%s of %s on the autograd thread, made and freed within the first backward; %s after it make none of that size.",
		count(len(held), "allocation"), units.Bytes(f.Bytes), count(len(backwards)-1, "backward"))
	return []Finding{f}
}
