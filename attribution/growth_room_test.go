package attribution

import (
	"math"
	"testing"
)

func TestRoom(t *testing.T) {
	leak := Growth{Verdict: Leak, Allocated: Trend{BytesPerStep: 10, Low: 8, High: 20, End: 400}}
	for _, c := range []struct {
		name              string
		g                 Growth
		capacity, outside int64
		want              Room
		ok                bool
	}{
		{name: "all known", g: leak, capacity: 1000, outside: 200, ok: true, want: Room{Capacity: 1000, Outside: 200, Left: 400, Steps: 40, Low: 20, High: 50}},
		{name: "nothing known of others", g: leak, capacity: 1000, outside: -1, ok: true, want: Room{Capacity: 1000, Outside: -1, Left: 600, Steps: 60, Low: 30, High: 75}},
		{name: "no lower bound", g: Growth{Verdict: Leak, Allocated: Trend{BytesPerStep: 10, Low: 0, High: 20, End: 400}}, capacity: 500, ok: true, want: Room{Capacity: 500, Left: 100, Steps: 10, Low: 5, High: math.Inf(1)}},
		{name: "another card", g: leak, capacity: 300},
		{name: "no capacity", g: leak},
		{name: "no leak", g: Growth{Verdict: Steady, Allocated: leak.Allocated}, capacity: 1000},
	} {
		got, ok := c.g.Room(c.capacity, c.outside)
		if ok != c.ok || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
