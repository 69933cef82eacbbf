package attribution

import (
	"iter"
	"sort"

	"github.com/snapview/snapview/snapshot"
)

// Live yields the allocations that are live at m with their indices, in the
// order of Timeline.Live.
func (c *Classification) Live(m snapshot.Moment) iter.Seq2[int, *snapshot.Allocation] {
	all := c.Timeline.Allocations
	return func(yield func(int, *snapshot.Allocation) bool) {
		born := sort.Search(len(all), func(i int) bool { return int(all[i].Born) > m.Event })
		for i := range all[:born] {
			if int(all[i].Freed) > m.Event && !yield(i, &all[i]) {
				return
			}
		}
	}
}

// At returns the requested bytes live at m by category. They sum up to the total
// of a snapshot.Table at the same moment.
func (c *Classification) At(m snapshot.Moment) (t Totals) {
	for i, a := range c.Live(m) {
		t[c.Labels[i].Category] += a.Requested
	}
	return t
}

// Curve returns the categories over the history at the points of
// snapshot.Timeline.Curve, which keep start, peak and end exactly.
func (c *Classification) Curve(maxPoints int) []CategoryPoint {
	curve := c.Timeline.Curve(maxPoints)
	points := make([]CategoryPoint, len(curve))
	events := make([]int32, len(curve))
	for i, p := range curve {
		points[i].Event, points[i].Time, events[i] = p.Event, p.Time, int32(p.Event)
	}
	c.addChanges(points, events)
	for i := 1; i < len(points); i++ {
		for k := range points[i].Totals {
			points[i].Totals[k] += points[i-1].Totals[k]
		}
	}
	return points
}

// addChanges adds every allocation to the first point that sees it and takes it
// from the first one that no longer does.
func (c *Classification) addChanges(points []CategoryPoint, events []int32) {
	births := cursor{list: events}
	for i := range c.Timeline.Allocations {
		a, category := &c.Timeline.Allocations[i], c.Labels[i].Category
		births.seek(a.Born - 1) // births come in order
		if births.next < len(points) {
			points[births.next].Totals[category] += a.Requested
		}
		if p := sort.Search(len(events), func(k int) bool { return events[k] >= a.Freed }); p < len(points) {
			points[p].Totals[category] -= a.Requested
		}
	}
}
