package attribution

import (
	"cmp"
	"slices"
	"sort"
)

// chooser picks, among old memory of the parameters' sizes, what the parameters
// are.
//
// They are made first, one after another in module order, in fresh segments from
// the base. States are made in the first step: in holes that the first backward
// left, or, two per parameter, side by side in fresh segments. So in memory of
// states alone equal sizes come in runs of even length, and an odd run inside a
// prefix shows parameters.
type chooser struct {
	*olderWork
	need   sizes
	chosen choice
	near   []uint64 // addresses of what is chosen, sorted
	effort int      // steps left; hostile files could make the search quadratic
}

const (
	minSeed      = 4         // blocks that a prefix needs for its runs to say something
	seedSpan     = 40        // a seed must cover half of its prefix, or of this many blocks
	cutSeed      = .7        // what the odd runs of a prefix that fits in part are worth
	chooseEffort = 4_000_000 // blocks to look at, a few tenths of a second; real files need thousands
)

// choose picks the parameters, copies generations of them.
func (o *olderWork) choose(copies int) choice {
	c := &chooser{olderWork: o, need: sizes{}, chosen: choice{chosen: map[int32]bool{}, sure: map[int32]bool{}}, effort: chooseEffort}
	for size, n := range o.want {
		c.need[size] = n * copies
	}
	var all []int32 // where there are no more of a size than parameters
	for _, i := range o.old {
		if n, wanted := o.want[o.allocs[i].Requested]; wanted && o.count[o.allocs[i].Requested] <= n*copies {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int32) int { return compareAddr(&o.allocs[a], &o.allocs[b]) })
	c.take(all, true)
	candidates := c.candidates()
	c.takeSeeds(candidates)
	c.takeNear(candidates)
	c.takeLeftovers()
	return c.chosen
}

func (c *chooser) take(list []int32, sure bool) {
	for _, i := range list {
		c.chosen.picked = append(c.chosen.picked, i)
		c.chosen.chosen[i] = true
		c.need[c.allocs[i].Requested]--
		if sure {
			c.chosen.sure[i] = true
		}
		at, _ := slices.BinarySearch(c.near, c.allocs[i].Addr)
		c.near = slices.Insert(c.near, at, c.allocs[i].Addr)
	}
}

// candidates are the prefixes, less what is not wanted or already chosen.
func (c *chooser) candidates() (list [][]int32) {
	for _, prefix := range c.layout.prefixes {
		left := slices.DeleteFunc(slices.Clone(prefix), func(i int32) bool {
			_, wanted := c.want[c.allocs[i].Requested]
			return !wanted || c.chosen.chosen[i]
		})
		if len(left) > 0 && !ownsSegment(c.allocs[left[0]].Requested) {
			list = append(list, left)
		}
	}
	return list
}

// fitting returns the longest beginning of a prefix that is still needed.
func (c *chooser) fitting(prefix []int32) []int32 {
	used := sizes{}
	for k, i := range prefix {
		size := c.allocs[i].Requested
		if c.need[size] <= used[size] {
			return prefix[:k]
		}
		used[size]++
	}
	return prefix
}

// oddRuns counts the runs of equal sizes of odd length, the first and the last
// run aside, which may be cut.
func (c *chooser) oddRuns(prefix []int32) (odd int) {
	start, runs, last := 0, 0, false
	for k := 1; k <= len(prefix); k++ {
		if k < len(prefix) && c.allocs[prefix[k]].Requested == c.allocs[prefix[start]].Requested {
			continue
		}
		last = (k-start)%2 == 1 && runs > 0
		if last {
			odd++
		}
		start = k
		runs++
	}
	if last {
		odd--
	}
	return odd
}

// takeSeeds takes prefixes that show parameters, the clearest first.
func (c *chooser) takeSeeds(candidates [][]int32) {
	for c.effort > 0 {
		var best []int32
		var bestScore float64
		for _, prefix := range candidates {
			c.effort -= len(prefix)
			if c.chosen.chosen[prefix[0]] || c.need[c.allocs[prefix[0]].Requested] <= 0 {
				continue
			}
			part := c.fitting(prefix)
			odd := c.oddRuns(part)
			if len(part) < minSeed || odd == 0 || 2*len(part) < min(len(prefix), seedSpan) {
				continue
			}
			score := float64(odd)
			if len(part) < len(prefix) {
				score *= cutSeed
			}
			if score > bestScore || score == bestScore && len(part) > len(best) {
				best, bestScore = part, score
			}
		}
		if best == nil {
			return
		}
		c.take(best, true)
	}
}

// takeNear takes of the other prefixes those that fit as a whole, then any,
// nearest in address to what is chosen.
func (c *chooser) takeNear(candidates [][]int32) {
	rest := slices.DeleteFunc(candidates, func(p []int32) bool { return c.chosen.chosen[p[0]] })
	for c.effort > 0 {
		rest = slices.DeleteFunc(rest, func(p []int32) bool { return c.need[c.allocs[p[0]].Requested] <= 0 })
		if len(rest) == 0 {
			return
		}
		best, bestCut, bestFar := 0, true, uint64(0)
		for k, prefix := range rest {
			c.effort -= len(prefix)
			cut, far := len(c.fitting(prefix)) < len(prefix), distanceTo(c.near, c.allocs[prefix[0]].Addr)
			if k == 0 || !cut && bestCut || cut == bestCut && far < bestFar {
				best, bestCut, bestFar = k, cut, far
			}
		}
		prefix := rest[best]
		rest = slices.Delete(rest, best, best+1)
		c.take(c.fitting(prefix), false)
	}
}

// takeLeftovers fills up each size with what is nearest to sure parameters.
func (c *chooser) takeLeftovers() {
	var sure []uint64
	for i := range c.chosen.sure {
		sure = append(sure, c.allocs[i].Addr)
	}
	slices.Sort(sure)
	bySize := map[int64][]int32{}
	for _, i := range c.old {
		if size := c.allocs[i].Requested; c.need[size] > 0 && !c.chosen.chosen[i] {
			bySize[size] = append(bySize[size], i)
		}
	}
	var picked []int32
	for size, list := range bySize {
		slices.SortFunc(list, func(a, b int32) int {
			x, y := c.allocs[a].Addr, c.allocs[b].Addr
			if len(sure) == 0 {
				return cmp.Compare(y, x)
			}
			return cmp.Or(cmp.Compare(distanceTo(sure, x), distanceTo(sure, y)), cmp.Compare(a, b))
		})
		picked = append(picked, list[:min(len(list), c.need[size])]...)
	}
	slices.Sort(picked)
	c.take(picked, false)
}

// distanceTo returns how far an address is from the nearest of a sorted list, 0
// when that is empty.
func distanceTo(sorted []uint64, addr uint64) uint64 {
	if len(sorted) == 0 {
		return 0
	}
	i := sort.Search(len(sorted), func(i int) bool { return sorted[i] >= addr })
	best := ^uint64(0)
	if i < len(sorted) {
		best = sorted[i] - addr
	}
	if i > 0 {
		best = min(best, addr-sorted[i-1])
	}
	return best
}
