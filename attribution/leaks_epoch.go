package attribution

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// pauseFactor is how much longer than usual the step after the end of an epoch
// takes: saving, validating or building a data loader is no matter of chance.
const pauseFactor = 4

// findEpoch looks for something that happens after every so many steps: a
// snapshot, a forward without a backward, or a pause.
func (p *growthPart) findEpoch() *Epoch {
	if !p.training || p.growth.Verdict != Leak {
		return nil
	}
	for _, look := range []func() (after []int, evidence string){p.snapshotsTaken, p.validations, p.pauses} {
		after, evidence := look()
		if steps := regular(after, len(p.events)); steps > 0 {
			return &Epoch{Steps: steps, Bytes: p.grownPer(steps), Evidence: fmt.Sprintf(evidence, steps)}
		}
	}
	return nil
}

// regular returns k when the steps after which something happens are k, 2k, 3k
// and so on, as far as the history reaches, and at least two of them: 0 when
// they are not. A history that begins within an epoch shifts all.
func regular(after []int, n int) int {
	if len(after) < 2 || after[0] < 1 {
		return 0
	}
	k := after[1] - after[0]
	if k < 2 || after[0] > k || n-after[len(after)-1] > k {
		return 0
	}
	for i := 1; i < len(after); i++ {
		if after[i]-after[i-1] != k {
			return 0
		}
	}
	return k
}

// grownPer is the median growth over so many steps.
func (p *growthPart) grownPer(steps int) int64 {
	var by []float64
	from := min(p.growth.Allocated.WarmUp, max(0, len(p.requested)-1-steps))
	for i := len(p.requested) - 1; i-steps >= from; i -= steps {
		by = append(by, p.requested[i]-p.requested[i-steps])
	}
	return int64(math.Round(medianOf(by)))
}

// stepsBefore returns how many steps have ended at an event.
func (p *growthPart) stepsBefore(event int) int {
	return sort.Search(len(p.events), func(i int) bool { return p.events[i] > event })
}

// snapshotsTaken are the steps after which a snapshot was taken. This file is
// one of them, when it goes with the others.
func (p *growthPart) snapshotsTaken() (after []int, evidence string) {
	for i, e := range eventsOf(p.c.Timeline) {
		if e.Action == snapshot.SnapshotMark {
			after = append(after, p.stepsBefore(i))
		}
	}
	after, evidence = slices.Compact(after), "a snapshot was taken after every %d steps"
	n := len(p.events)
	if whole := slices.Compact(append(slices.Clone(after), n)); regular(whole, n) > 0 {
		return whole, evidence
	}
	return after, evidence
}

// validations are the steps after which a forward without a backward follows.
func (p *growthPart) validations() (after []int, evidence string) {
	phases := p.c.Phases
	for i, f := range phases {
		if f.Kind != Forward {
			continue
		}
		next := i + 1
		for next < len(phases) && phases[next].Kind == Between {
			next++
		}
		if next < len(phases) && phases[next].Kind == Forward {
			after = append(after, p.stepsBefore(f.First))
		}
	}
	return slices.Compact(after), "a forward without a backward follows every %d steps"
}

// pauses are the steps before those that take much longer than usual. The
// first ones, in which libraries start up, do not count.
func (p *growthPart) pauses() (after []int, evidence string) {
	var took []float64
	for i := 1; i < len(p.time); i++ {
		took = append(took, float64(p.time[i]-p.time[i-1]))
	}
	usual := medianOf(took)
	if usual <= 0 {
		return nil, ""
	}
	var longest []float64
	for i, us := range took {
		if i >= cacheWarmUp && us > pauseFactor*usual {
			after = append(after, i+1)
			longest = append(longest, us)
		}
	}
	return after, fmt.Sprintf("every %%d steps one takes %s instead of %s", units.Duration(int64(medianOf(longest))), units.Duration(int64(usual)))
}
