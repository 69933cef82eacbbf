package attribution

import (
	"cmp"
	"slices"
)

// pairRows joins the places of two snapshots. With drift, lines of a function
// may have moved. It returns the rows, largest change first, and how many moved.
func pairRows(a, b map[placeKey]*placeSum, drift bool) (rows []DiffRow, moved int) {
	type function struct{ file, name string }
	groups := map[function][2][]placeKey{}
	for i, side := range [...]map[placeKey]*placeSum{a, b} {
		for k := range side {
			f := function{k.File, k.Function}
			g := groups[f]
			g[i] = append(g[i], k)
			groups[f] = g
		}
	}
	for _, g := range groups {
		for i := range g {
			slices.SortFunc(g[i], func(x, y placeKey) int { return cmp.Compare(x.Line, y.Line) })
		}
		for _, pair := range matchLines(g[0], g[1], a, b, drift) {
			r := newRow(pair[0], pair[1], a[pair[0]], b[pair[1]])
			if r.MovedFrom != 0 {
				moved++
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, compareDiffRows)
	return rows, moved
}

// nowhere is the missing half of a pair. No place has a negative line.
var nowhere = placeKey{Line: -1}

// matchLines pairs the lines of one function, both sides in order. Lines with
// the same number are the same unless both sides have lines that the other has
// not and nothing says that those stayed where they are: then the code was
// edited, and the pairing that keeps the order and agrees best in bytes is taken.
func matchLines(x, y []placeKey, a, b map[placeKey]*placeSum, drift bool) [][2]placeKey {
	var pairs [][2]placeKey
	both := 0
	for _, k := range x {
		if b[k] != nil {
			both++
			pairs = append(pairs, [2]placeKey{k, k})
		} else {
			pairs = append(pairs, [2]placeKey{k, nowhere})
		}
	}
	for _, k := range y {
		if a[k] == nil {
			pairs = append(pairs, [2]placeKey{nowhere, k})
		}
	}
	if !drift || both == len(x) || both == len(y) || len(x)*len(y) > maxPairs || anchored(x, y, a, b) {
		return pairs
	}
	return alignLines(x, y, a, b)
}

// anchored reports whether lines below all that only one side has are the same
// on both, and hold the same. An edit above would have moved them, so the code is
// as it was and went another way through it.
func anchored(x, y []placeKey, a, b map[placeKey]*placeSum) bool {
	last := int32(0) // that only one side has
	for _, k := range x {
		if b[k] == nil {
			last = max(last, k.Line)
		}
	}
	for _, k := range y {
		if a[k] == nil {
			last = max(last, k.Line)
		}
	}
	anchors := 0
	for _, k := range x {
		if k.Line <= last {
			continue
		}
		if likeness(k, k, a[k], b[k]) < sameLine+enoughAlike {
			return false
		}
		anchors++
	}
	return anchors > 0
}

// enoughAlike is the ratio of bytes from which on a line holds the same on both sides.
const enoughAlike = 0.9

// maxPairs bounds the table of alignLines: a function with more lines than this
// allows is generated code, where line numbers say little.
const maxPairs = 1 << 20

// alignLines is the alignment of two sequences with the highest score.
func alignLines(x, y []placeKey, a, b map[placeKey]*placeSum) [][2]placeKey {
	n, m := len(x), len(y)
	best := make([]float64, (n+1)*(m+1)) // of x[i:] and y[j:]
	at := func(i, j int) *float64 { return &best[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			score := max(*at(i+1, j), *at(i, j+1))
			if s := likeness(x[i], y[j], a[x[i]], b[y[j]]); s > 0 {
				score = max(score, s+*at(i+1, j+1))
			}
			*at(i, j) = score
		}
	}
	var pairs [][2]placeKey
	i, j := 0, 0
	for i < n || j < m {
		switch {
		case i < n && j < m && likelyPair(x[i], y[j], a, b, *at(i, j), *at(i+1, j+1)):
			pairs = append(pairs, [2]placeKey{x[i], y[j]})
			i, j = i+1, j+1
		case j == m || i < n && *at(i+1, j) >= *at(i, j+1):
			pairs = append(pairs, [2]placeKey{x[i], nowhere})
			i++
		default:
			pairs = append(pairs, [2]placeKey{nowhere, y[j]})
			j++
		}
	}
	return pairs
}

func likelyPair(x, y placeKey, a, b map[placeKey]*placeSum, here, next float64) bool {
	s := likeness(x, y, a[x], b[y])
	return s > 0 && here == s+next
}

// sameLine is the likeness of two lines for their number.
const sameLine = 1.25

// likeness is how much two lines of a function look like the same code: 0 for
// not at all. The same number counts for a little, since code that changed
// elsewhere keeps it; another number needs similar bytes.
func likeness(x, y placeKey, a, b *placeSum) float64 {
	ratio := 1.0
	if most := max(a.bytes, b.bytes); most > 0 {
		ratio = float64(min(a.bytes, b.bytes)) / float64(most)
	}
	switch {
	case x.Line == y.Line:
		return sameLine + ratio
	case ratio >= 0.5:
		return 1 + ratio
	}
	return 0
}
