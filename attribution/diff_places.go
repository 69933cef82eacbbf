package attribution

import "github.com/snapview/snapview/snapshot"

// A Place is what a line of code holds at a moment, by category. Memory without
// a line has no File and says why in Function, as in snapshot.Row.
type Place struct {
	File, Function string
	Line           int32
	Count          int // allocations; 0 when not known
	Totals         Totals
}

// Places sums what is alive in a table folded by line. The table's rows are the
// places, in its order.
func (c *Classification) Places(table snapshot.Table) []Place {
	parts := c.Parts(table)
	places := make([]Place, len(table.Rows))
	for i, r := range table.Rows {
		places[i] = Place{File: r.File, Function: r.Function, Line: r.Line, Count: r.Count}
		left := r.Bytes
		for _, p := range parts[i] {
			places[i].Totals[p.Category] = p.Bytes
			left -= p.Bytes
		}
		places[i].Totals[Unknown] += left // what Parts could not find again
	}
	return places
}

// DiffPlaces is Diff for what was noted down of two runs, such as in a baseline:
// it has no snapshots to compare settings or peaks of. Several places of one
// name are one.
func DiffPlaces(before, after []Place) DiffResult {
	sides := [2]side{placesSide(before), placesSide(after)}
	r := DiffResult{By: DiffByLine, Before: sides[0].total, After: sides[1].total}
	r.Delta = r.After - r.Before
	r.Rows, _ = pairRows(sides[0].sums, sides[1].sums, true)
	r.Categories = diffCategories(&sides)
	r.Summary = summarizeDiff(&r, r.Rows)
	return r
}

func placesSide(places []Place) side {
	s := side{sums: map[placeKey]*placeSum{}}
	for _, p := range places {
		k := placeKey{p.File, p.Line, p.Function}
		sum := s.sums[k]
		if sum == nil {
			sum = &placeSum{}
			s.sums[k] = sum
		}
		sum.count += max(p.Count, 1) // what is listed is there
		for c, bytes := range p.Totals {
			sum.bytes += bytes
			sum.categories[c] += bytes
			s.categories[c] += bytes
			s.total += bytes
		}
	}
	return s
}
