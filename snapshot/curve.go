package snapshot

import (
	"slices"
)

// A CurvePoint is the state after an event.
type CurvePoint struct {
	Event     int   // −1: before the first event
	Time      int64 // µs since the epoch; 0 when not recorded
	Requested int64 // bytes live, as the program asked for them
	Reserved  int64 // bytes held from the device
}

// Curve returns the curves of requested and reserved bytes in order of events,
// reduced to at most maxPoints points (0 or less: every point).
//
// The reduction keeps the start, the end and both peaks, and of each of a number
// of equal stretches of events the points where each curve is lowest and
// highest, so that spikes survive and no value is made up. Below four points it
// keeps the peak, the end, the start and the peak of reserved bytes, in this
// order of preference.
func (t *Timeline) Curve(maxPoints int) []CurvePoint {
	requested, reserved := t.levels()
	var keep []int // position = event + 1
	if n := len(requested); maxPoints <= 0 || n <= maxPoints {
		keep = make([]int, n)
		for i := range keep {
			keep[i] = i
		}
	} else {
		keep = reduce(requested, reserved, t.landmarks(), maxPoints)
	}
	points := make([]CurvePoint, len(keep))
	for i, p := range keep {
		points[i] = CurvePoint{Event: p - 1, Time: t.timeAt(p - 1), Requested: requested[p], Reserved: reserved[p]}
	}
	return points
}

// levels returns both curves, the start first, then one value per event.
func (t *Timeline) levels() (requested, reserved []int64) {
	deltas := t.requestedDeltas()
	requested = make([]int64, len(deltas)+1)
	reserved = make([]int64, len(deltas)+1)
	requested[0], reserved[0] = t.BaselineRequested, t.BaselineReserved
	var m meter
	for i, delta := range deltas {
		requested[i+1] = requested[i] + delta
		if change := segmentDelta(&t.Device.Events[i]); change != 0 {
			m.move(change, int32(i))
		}
		reserved[i+1] = t.BaselineReserved + m.net
	}
	return requested, reserved
}

// landmarks are the positions that a reduced curve must keep, most wanted first.
func (t *Timeline) landmarks() []int {
	return []int{t.Peak.Event + 1, t.lastEvent() + 1, 0, t.PeakReserved.Event + 1}
}

// reduce chooses positions. How many points a stretch needs depends on the data
// (where a curve is flat it needs none of its own), so it tries finer stretches
// first.
func reduce(requested, reserved []int64, landmarks []int, maxPoints int) []int {
	for perStretch := 2; perStretch <= 4; perStretch++ {
		stretches := (maxPoints - len(landmarks)) / perStretch
		if stretches <= 0 {
			break
		}
		if keep := extremes(requested, reserved, stretches, landmarks); len(keep) <= maxPoints {
			return keep
		}
	}
	var keep []int
	for _, p := range landmarks {
		if len(keep) < maxPoints && !slices.Contains(keep, p) {
			keep = append(keep, p)
		}
	}
	slices.Sort(keep)
	return keep
}

func extremes(requested, reserved []int64, stretches int, landmarks []int) []int {
	keep := slices.Clone(landmarks)
	n := len(requested)
	for s := range stretches {
		from, to := s*n/stretches, (s+1)*n/stretches
		if from == to {
			continue
		}
		low, high := lowHigh(requested, from, to)
		keep = append(keep, low, high)
		// Every point carries both curves: a flat one needs no more of them.
		if low, high := lowHigh(reserved, from, to); low != high {
			keep = append(keep, low, high)
		}
	}
	slices.Sort(keep)
	return slices.Compact(keep)
}

// lowHigh returns the first positions of the lowest and highest value in
// [from, to); they are equal when the curve is flat there.
func lowHigh(curve []int64, from, to int) (low, high int) {
	low, high = from, from
	for i := from + 1; i < to; i++ {
		if curve[i] < curve[low] {
			low = i
		} else if curve[i] > curve[high] {
			high = i
		}
	}
	return low, high
}
