package attribution

import (
	"cmp"
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A LeakFile is what a snapshot says of one device, reduced to what comparing
// it with the other snapshots of its run takes. It does not refer to the
// snapshot, so that many large files need not be in memory together.
type LeakFile struct {
	Name   string
	Report LeakReport // of the file alone

	device      int
	end         fileLevels
	history     snapshot.HistoryState
	first, last int64     // µs since the epoch: of the first and last event; 0 when not recorded
	running     PhaseKind // what ran when the snapshot was taken
	stepEnds    []int64   // µs since the epoch
	lines       []fileLine
	alive       []identity // by address
}

// fileLevels are the accounts at the end of a file.
type fileLevels struct{ requested, reserved, peak int64 }

// A fileLine is what a line holds at the end of a file.
type fileLine struct {
	place    placeKey
	bytes    int64
	count    int
	category Category
	stack    snapshot.StackID
	frames   []snapshot.Frame // of stack
}

// An identity tells an allocation from all others of its run: an address is in
// use once at a time, and handed out again later.
type identity struct {
	addr uint64
	born int64 // µs since the epoch; 0 when the file does not show its birth
	size int64
	line int32 // in LeakFile.lines
}

// NewLeakFile reduces a classified snapshot. The name is for messages.
func NewLeakFile(name string, c *Classification) *LeakFile {
	t := c.Timeline
	f := &LeakFile{Name: name, Report: Leaks(c), device: t.Device.Index, history: t.History, running: Setup}
	f.end = fileLevels{t.EndRequested, t.EndReserved, t.Peak.Bytes}
	events := eventsOf(t)
	for i := range events {
		if us := events[i].Time; us > 0 {
			if f.first == 0 {
				f.first = us
			}
			f.last = max(f.last, us)
		}
	}
	if p, ok := c.PhaseAt(len(events) - 1); ok {
		f.running = p.Kind
	}
	for _, e := range trainingRounds(c).events {
		f.stepEnds = append(f.stepEnds, events[e].Time)
	}
	f.addAlive(c)
	return f
}

// addAlive fills lines and alive.
func (f *LeakFile) addAlive(c *Classification) {
	events := eventsOf(c.Timeline)
	places := newPlacer(c.Snapshot, c.Timeline, DiffByLine)
	at := map[placeKey]int32{}
	mixes := []Totals{}
	stacks := []map[snapshot.StackID]int64{}
	for i := range c.Timeline.Allocations {
		a := &c.Timeline.Allocations[i]
		if a.Freed != snapshot.AliveAtEnd {
			continue
		}
		key := places.of(a)
		n, known := at[key]
		if !known {
			n = int32(len(f.lines))
			at[key] = n
			f.lines = append(f.lines, fileLine{place: key})
			mixes = append(mixes, Totals{})
			stacks = append(stacks, map[snapshot.StackID]int64{})
		}
		l := &f.lines[n]
		l.bytes += a.Requested
		l.count++
		mixes[n][c.Labels[i].Category] += a.Requested
		stacks[n][a.Stack] += a.Requested
		id := identity{addr: a.Addr, size: a.Requested, line: n}
		if a.Born >= 0 {
			id.born = events[a.Born].Time
		}
		f.alive = append(f.alive, id)
	}
	slices.SortFunc(f.alive, func(a, b identity) int { return cmp.Compare(a.addr, b.addr) })
	for n := range f.lines {
		l := &f.lines[n]
		l.category = mixes[n].largest()
		l.stack = heaviest(stacks[n])
		l.frames = framesOf(c.Snapshot, l.stack)
	}
}

// largest is the category with most bytes.
func (t *Totals) largest() Category {
	best := Unknown
	for k := range t {
		if t[k] > t[best] {
			best = Category(k)
		}
	}
	return best
}

// heaviest is the stack with most bytes, of equals the first.
func heaviest(stacks map[snapshot.StackID]int64) (best snapshot.StackID) {
	most := int64(-1)
	for id, bytes := range stacks {
		if bytes > most || bytes == most && id < best {
			best, most = id, bytes
		}
	}
	return best
}

// same reports whether two allocations at one address are one. Where a birth is
// not known, size and line must do.
func (f *LeakFile) same(a identity, g *LeakFile, b identity) bool {
	if a.size != b.size {
		return false
	}
	if a.born > 0 && b.born > 0 {
		return abs(a.born-b.born) <= clockDrift
	}
	if a.born > 0 && g.first > 0 || b.born > f.last && f.last > 0 {
		return a.born > 0 && a.born < g.first // older than g's history
	}
	x, y := f.lines[a.line].place, g.lines[b.line].place
	return x == y || x.File == "" || y.File == ""
}

// shared calls found for each allocation of f that is alive in g, too.
func (f *LeakFile) shared(g *LeakFile, found func(a, b identity)) {
	j := 0
	for _, a := range f.alive {
		for j < len(g.alive) && g.alive[j].addr < a.addr {
			j++
		}
		if j < len(g.alive) && g.alive[j].addr == a.addr && f.same(a, g, g.alive[j]) {
			found(a, g.alive[j])
		}
	}
}

// covers reports whether the history of a file reaches back to the moment of an
// earlier one.
func (f *LeakFile) covers(earlier *LeakFile) bool {
	return f.history == snapshot.HistoryComplete || f.first > 0 && earlier.last > 0 && f.first <= earlier.last
}

// strangeTo says what tells that a file is of another run than one before it, with
// which it shares some allocations; "" when nothing does.
func (f *LeakFile) strangeTo(before *LeakFile, shared int) string {
	complete := f.history == snapshot.HistoryComplete && before.history == snapshot.HistoryComplete
	switch {
	case shared == 0 && len(before.alive) > 0 && len(f.alive) > 0:
		return "share no allocation"
	case complete && f.first > 0 && before.first > 0 && abs(f.first-before.first) > clockDrift:
		return "have whole histories that begin at different times"
	}
	return ""
}

// stepsSince is how many training steps ended in f after an earlier file; 0
// when the history does not say.
func (f *LeakFile) stepsSince(earlier *LeakFile) int {
	if !f.covers(earlier) || earlier.last == 0 {
		return 0
	}
	n := 0
	for _, us := range f.stepEnds {
		if us > earlier.last+clockDrift {
			n++
		}
	}
	return n
}
