package attribution

import "math"

// Room is how long a leak can go on until the card is full. Free memory in
// pieces too small for a request ends it earlier, so it is an upper bound.
type Room struct {
	Capacity int64 // bytes of the card
	Outside  int64 // of these, what PyTorch does not hold; -1 when not known
	Left     int64 // what tensors can still grow by after the last point

	// Steps is how many more steps fit, from the last point on. Low and High are
	// those of the bounds of the slope; High is infinite when the lower bound of
	// the slope is not above 0.
	Steps, Low, High float64
}

// Room returns how long the leak can go on on a card of a capacity, of which
// PyTorch cannot have what is outside it (-1 when not known, which counts as
// nothing). Without a leak there is no answer.
func (g *Growth) Room(capacity, outside int64) (Room, bool) {
	a := &g.Allocated
	if g.Verdict != Leak || capacity <= 0 || a.BytesPerStep <= 0 {
		return Room{}, false
	}
	r := Room{Capacity: capacity, Outside: outside}
	left := float64(capacity) - float64(max(0, outside)) - a.End
	if left <= 0 || math.IsNaN(left) {
		return Room{}, false // the size given is not that of the card of these curves
	}
	r.Left = round(left)
	r.Steps, r.Low, r.High = left/a.BytesPerStep, left/a.High, math.Inf(1)
	if a.Low > 0 {
		r.High = left / a.Low
	}
	return r, true
}
