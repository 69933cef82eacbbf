package snapshot

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A Moment is a place in a history: the state after one of its events.
type Moment struct {
	Name  string // how it was chosen: "end", "peak", "oom", "start", "event" or "time"
	Event int    // the live set after this event; −1: before the first
	Time  int64  // µs since the epoch; 0 when not recorded
}

// epochFloor is where a plain number stops being an event index and is a time:
// 10^12 µs after the epoch is January 1970, far more events than a file holds.
const epochFloor = 1_000_000_000_000

// Moment finds a moment of the history:
//
//	end, start       after the last event, before the first
//	peak             the first event at which requested bytes are highest, as far
//	                 as the history reaches; an error when there is none
//	oom              the last allocation that failed
//	12345            after that event, counted from 0
//	+1.5s, 300ms     that long after the first event
//	@1700000000000000, or any number from 10^12 up: µs since the epoch
//
// A time means the state just before the first event that is later. The empty
// string means end. A time outside the history is an error, as nothing is known
// of the state there.
func (t *Timeline) Moment(spec string) (Moment, error) {
	word := strings.ToLower(strings.TrimSpace(spec))
	switch word {
	case "end", "":
		return t.momentAt("end", t.lastEvent()), nil
	case "start":
		return t.momentAt("start", -1), nil
	case "peak":
		if t.History == HistoryNone {
			return Moment{}, errors.New("the peak is not known: no history was recorded; use end")
		}
		return t.momentAt("peak", t.Peak.Event), nil
	case "oom":
		return t.lastOOM()
	}
	if text, epoch := strings.CutPrefix(word, "@"); epoch {
		if us, err := strconv.ParseInt(text, 10, 64); err == nil {
			return t.momentAtTime(us)
		}
	} else if n, err := strconv.ParseInt(word, 10, 64); err == nil && word[0] != '+' {
		if n >= epochFloor {
			return t.momentAtTime(n)
		}
		return t.momentAtEvent(n)
	} else if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		return t.momentAfter(d)
	}
	return Moment{}, fmt.Errorf("moment %q is not known: use end, start, peak, oom, an event index, "+
		"a time since the first event such as +1.5s, or @ and µs since the epoch", spec)
}

func (t *Timeline) momentAt(name string, event int) Moment {
	return Moment{Name: name, Event: event, Time: t.timeAt(event)}
}

func (t *Timeline) momentAtEvent(n int64) (Moment, error) {
	last := t.lastEvent()
	if last < 0 {
		return Moment{}, fmt.Errorf("event %d does not exist: the snapshot holds no history; use end", n)
	}
	if n < -1 || n > int64(last) {
		return Moment{}, fmt.Errorf("event %d does not exist: the history holds events 0 to %d", n, last)
	}
	return t.momentAt("event", int(n)), nil
}

func (t *Timeline) lastOOM() (Moment, error) {
	for i := t.lastEvent(); i >= 0; i-- {
		if t.Device.Events[i].Action == OOM {
			return t.momentAt("oom", i), nil
		}
	}
	return Moment{}, fmt.Errorf("no out-of-memory event in the history of device %d: use end or peak", t.Device.Index)
}

func (t *Timeline) momentAfter(d time.Duration) (Moment, error) {
	first, _, ok := t.span()
	if !ok {
		return Moment{}, errNoTimes
	}
	return t.momentAtTime(addBytes(first, d.Microseconds())) // stops at the largest time
}

var errNoTimes = errors.New("the history records no times: use end, peak or an event index")

// momentAtTime takes list order as the order of things, since times repeat and
// may step back a little between threads.
func (t *Timeline) momentAtTime(us int64) (Moment, error) {
	first, last, ok := t.span()
	if !ok {
		return Moment{}, errNoTimes
	}
	if us < first || us > last {
		return Moment{}, fmt.Errorf("time %d µs is outside the history: it spans %d to %d µs since the epoch (%v)",
			us, first, last, microseconds(last-first))
	}
	events := t.Device.Events[:t.lastEvent()+1]
	for i := range events {
		if events[i].Time > us {
			return Moment{Name: "time", Event: i - 1, Time: us}, nil
		}
	}
	return Moment{Name: "time", Event: len(events) - 1, Time: us}, nil
}

// microseconds is the longest duration where us µs do not fit one.
func microseconds(us int64) time.Duration {
	return time.Duration(min(us, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// span returns the time of the first event that has one and the latest time.
func (t *Timeline) span() (first, last int64, ok bool) {
	events := t.Device.Events[:t.lastEvent()+1]
	for i := range events {
		us := events[i].Time
		if us <= 0 {
			continue
		}
		if !ok {
			first, ok = us, true
		}
		last = max(last, us)
	}
	return first, last, ok
}

// Live yields the allocations that are live at m: those older than the history
// first, then in order of birth. They must not be changed.
func (t *Timeline) Live(m Moment) iter.Seq[*Allocation] {
	return func(yield func(*Allocation) bool) {
		born := sort.Search(len(t.Allocations), func(i int) bool { return int(t.Allocations[i].Born) > m.Event })
		for i := range t.Allocations[:born] {
			if a := &t.Allocations[i]; int(a.Freed) > m.Event && !yield(a) {
				return
			}
		}
	}
}
