package viewer

import "slices"

// reduceCurve returns at most about limit points that look like all of them:
// the first and last, both maxima, and the extremes of both lines in each of
// equally long stretches. Points are never averaged, so every drawn point is a
// real one.
func reduceCurve(pts []CurvePoint, limit int) []CurvePoint {
	if len(pts) <= limit {
		return pts
	}
	requested := func(i int) int64 { return pts[i].Requested }
	reserved := func(i int) int64 { return pts[i].Reserved }
	keep := []int{0, len(pts) - 1}
	for _, v := range []func(int) int64{requested, reserved} {
		_, hi := extremes(0, len(pts), v)
		keep = append(keep, hi)
	}
	stretches := max(1, (limit-len(keep))/4)
	for s := range stretches {
		lo, hi := s*len(pts)/stretches, (s+1)*len(pts)/stretches
		for _, v := range []func(int) int64{requested, reserved} {
			a, b := extremes(lo, hi, v)
			keep = append(keep, a, b)
		}
	}
	slices.Sort(keep)
	keep = slices.Compact(keep)
	out := make([]CurvePoint, len(keep))
	for i, k := range keep {
		out[i] = pts[k]
	}
	return out
}

// extremes returns where v is first lowest and first highest in [lo, hi).
func extremes(lo, hi int, v func(int) int64) (low, high int) {
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
