package profiler

import "testing"

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		name        string
		trace       *Trace
		first, last int64
	}{
		{"empty", &Trace{}, 0, 0},
		{"host", &Trace{Host: []HostEvent{{Start: 5, Dur: 3}, {Start: 2, Dur: 1}}}, 2, 8},
		{"a frame is the first", &Trace{Host: []HostEvent{{Start: 5, Dur: 3}}, Frames: []Frame{{Start: 1, Dur: 2}}}, 1, 8},
		{"memory is the last", &Trace{Device: []DeviceEvent{{Start: 5, Dur: 3}}, Memory: []MemoryEvent{{Time: 9}}}, 5, 9},
	} {
		if first, last := c.trace.Span(); first != c.first || last != c.last {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, first, last, c.first, c.last)
		}
	}
}

func TestKeepMemory(t *testing.T) {
	tr := &Trace{Names: []string{""}, Threads: []Thread{{}}, Memory: []MemoryEvent{{Device: 0, Type: 1, Bytes: 10, Allocated: NoTotal}, {Device: 1, Type: 1, Bytes: 20, Allocated: NoTotal}}}
	tr.derived()
	tr.KeepMemory(func(e *MemoryEvent) bool { return e.Device == 1 })
	if l := tr.Ledgers(); len(l) != 1 || l[0].Device != 1 || l[0].Allocated != 20 {
		t.Errorf("the ledgers are %+v, want device 1 alone", l)
	}
	if l := tr.Table(TableOptions{}); l.Unattributed != 20 {
		t.Errorf("%d bytes outside of operators, want 20", l.Unattributed)
	}
}

// What a category is assumed of is what was there before and stays.
func TestAssumedBytes(t *testing.T) {
	c := Categories{Allocations: []Allocation{{Bytes: 1, End: AliveAtEnd}, {Bytes: 2, End: AliveAtEnd, Older: true}, {Bytes: 4, End: 9, Older: true}}}
	if n := c.AssumedBytes(); n != 2 {
		t.Errorf("%d bytes are assumed, want 2", n)
	}
}
