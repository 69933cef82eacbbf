package attribution

import (
	"fmt"
	"slices"
	"sort"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// pauseFactor is how much longer than usual the step after the end of an epoch
// takes: saving, validating or building a data loader is no matter of chance.
const pauseFactor = 4

// findEpoch looks for something that happens after every so many steps: a
// snapshot, more work than in a step, or a pause.
func (p *growthPart) findEpoch() *Epoch {
	if !p.training || p.growth.Verdict != Leak {
		return nil
	}
	for _, look := range []func() (after []int, evidence string){p.snapshotsTaken, p.validations, p.pauses} {
		after, evidence := look()
		if steps := regular(after, len(p.events)); steps > 0 {
			return &Epoch{Steps: steps, Bytes: round(p.growth.BytesPerStep * float64(steps)), Evidence: fmt.Sprintf(evidence, steps)}
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

// moreWork is how many more allocations than usual a step has that begins an
// epoch: a validation before it is counted with it.
const moreWork = 1.2

// validations are the steps before those that allocate more often than usual,
// whatever the sizes.
func (p *growthPart) validations() (after []int, evidence string) {
	usual := medianOf(p.work.count)
	var most float64
	for i, n := range p.work.count {
		if i > 0 && n > moreWork*usual {
			after = append(after, i)
			most = max(most, n)
		}
	}
	return after, fmt.Sprintf("after every %%d steps one makes up to %.0f allocations instead of %.0f, as a validation does", most, usual)
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
