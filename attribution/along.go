package attribution

// Along returns the bytes by category after each of the given events, which
// must ascend; −1 stands for before the first event. It takes one pass over
// the allocations, whatever the number of events.
func (c *Classification) Along(events []int) []Totals {
	out := make([]Totals, len(events))
	if len(events) == 0 {
		return out
	}
	slots := c.slots(events)
	slot := func(event int32) int {
		if int(event)+1 >= len(slots) {
			return len(events)
		}
		return int(slots[event+1])
	}
	for i := range c.Timeline.Allocations {
		a, category := &c.Timeline.Allocations[i], c.Labels[i].Category
		if from := slot(a.Born); from < len(events) {
			out[from][category] += a.Requested
		}
		if till := slot(a.Freed); till < len(events) {
			out[till][category] -= a.Requested
		}
	}
	for i := 1; i < len(out); i++ {
		for k := range out[i] {
			out[i][k] += out[i-1][k]
		}
	}
	return out
}

// slots says for each event of the history, the start (−1) first, which of the
// given events is the first that is not before it.
func (c *Classification) slots(events []int) []int32 {
	out := make([]int32, len(c.Timeline.Device.Events)+1)
	k := 0
	for i := range out {
		for k < len(events) && events[k] < i-1 {
			k++
		}
		out[i] = int32(k)
	}
	return out
}
