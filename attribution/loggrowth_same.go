package attribution

import (
	"math"
	"sort"

	"github.com/snapview/snapview/trainlog"
)

// contradict reports whether logs cannot be of one run: at the same steps they
// say different things.
func contradict(logs []*trainlog.Log) bool {
	for i, l := range logs {
		for _, other := range logs[i+1:] {
			if disagree(l, other) {
				return true
			}
		}
	}
	return false
}

// disagree compares reserved memory, which hardly changes within a step, and
// without it what tensors hold, which two programs may print at other moments.
func disagree(a, b *trainlog.Log) bool {
	for _, m := range []trainlog.Metric{trainlog.Reserved, trainlog.Allocated} {
		compared := false
		for _, x := range a.Series {
			for _, y := range b.Series {
				if x.Metric != m || y.Metric != m || !comparable(x, y) {
					continue
				}
				common, near := commonSteps(x.Points(), y.Points())
				if common < fewest {
					continue
				}
				if compared = true; 2*near < common {
					return true
				}
			}
		}
		if compared {
			return false
		}
	}
	return false
}

// comparable reports whether two curves may be of one process and count steps.
func comparable(a, b *trainlog.Series) bool {
	same := func(a, b int) bool { return a == b || a == trainlog.Unknown || b == trainlog.Unknown }
	return a.StepBy == b.StepBy && (a.StepBy == trainlog.ByStep || a.StepBy == trainlog.ByEpoch) &&
		a.Run == b.Run && same(a.Rank, b.Rank) && same(a.Device, b.Device)
}

// alike is how far two values may be apart: 1 GB may be 1000³ or 1024³ bytes, and
// a curve may have been printed a little later.
const alike = 0.12

// commonSteps counts the points of a at whose step b has a value, the last one up to
// there, and those of them at which both are about the same.
func commonSteps(a, b []trainlog.Point) (common, near int) {
	for _, p := range a {
		i := sort.Search(len(b), func(i int) bool { return b[i].Step > p.Step }) - 1
		if i < 0 || p.Step > b[len(b)-1].Step {
			continue
		}
		common++
		if math.Abs(p.Bytes-b[i].Bytes) <= alike*max(p.Bytes, b[i].Bytes) {
			near++
		}
	}
	return common, near
}
