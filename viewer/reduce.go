package viewer

import (
	"cmp"
	"slices"
)

// reduceCurve returns at most about limit points that look like all of them.
func reduceCurve(pts []CurvePoint, limit int) []CurvePoint {
	keep := keepExtremes(len(pts), limit,
		func(i int) int64 { return pts[i].Requested },
		func(i int) int64 { return pts[i].Reserved })
	out := make([]CurvePoint, len(keep))
	for i, k := range keep {
		out[i] = pts[k]
	}
	return out
}

// keepExtremes chooses at most about limit of n points of some lines: the first
// and last, the maximum of each line, and its extremes in each of equally long
// stretches. Points are never averaged, so every drawn point is a real one.
func keepExtremes[T cmp.Ordered](n, limit int, lines ...func(int) T) []int {
	if n <= limit {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	keep := []int{0, n - 1}
	for _, v := range lines {
		_, hi := extremes(0, n, v)
		keep = append(keep, hi)
	}
	stretches := max(1, (limit-len(keep))/(2*len(lines)))
	for s := range stretches {
		for _, v := range lines {
			a, b := extremes(s*n/stretches, (s+1)*n/stretches, v)
			keep = append(keep, a, b)
		}
	}
	slices.Sort(keep)
	return slices.Compact(keep)
}

// extremes returns where v is first lowest and first highest in [lo, hi).
func extremes[T cmp.Ordered](lo, hi int, v func(int) T) (low, high int) {
	low, high = lo, lo
	for i := lo + 1; i < hi; i++ {
		if v(i) < v(low) {
			low = i
		}
		if v(i) > v(high) {
			high = i
		}
	}
	return low, high
}

// reduceFlame returns a copy of at most limit nodes. Nodes below a threshold
// are merged into one sibling "(other)", so bytes and counts stay closed at
// every level.
func reduceFlame(root *Flame, limit int) *Flame {
	if root == nil || countFlame(root, 0) <= limit {
		return root
	}
	// Nodes smaller than 1/limit of the whole cannot all matter; raise the
	// threshold until the rest fits.
	for cut := max(1, root.Bytes/int64(limit)); ; cut *= 2 {
		if countFlame(root, cut) <= limit || cut > root.Bytes/2 {
			return cutFlame(root, cut)
		}
	}
}

func countFlame(n *Flame, cut int64) int {
	count, small := 1, 0
	for _, c := range n.Children {
		if c.Bytes < cut {
			small = 1
			continue
		}
		count += countFlame(c, cut)
	}
	return count + small
}

func cutFlame(n *Flame, cut int64) *Flame {
	out := *n
	out.Children = nil
	other := Flame{Frame: Frame{Function: "(other)", Kind: SpecialFrame}}
	for _, c := range n.Children {
		if c.Bytes < cut {
			other.Bytes += c.Bytes
			other.Count += c.Count
			continue
		}
		out.Children = append(out.Children, cutFlame(c, cut))
	}
	if other.Count > 0 || other.Bytes > 0 {
		out.Children = append(out.Children, &other)
	}
	return &out
}
