package attribution

import (
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/snapshot"
)

// A Verdict says why an allocation failed.
type Verdict uint8

const (
	// Capacity: the memory that was free would not have sufficed even in one piece.
	Capacity Verdict = iota
	// Fragmented: it would have sufficed in one piece.
	Fragmented
)

// String returns the name as in JSON.
func (v Verdict) String() string {
	if v == Fragmented {
		return "fragmentation"
	}
	return "capacity"
}

// An OOM is one allocation that failed. The state is the one right after the
// allocator had given back what it could, which it does before it fails.
type OOM struct {
	Moment snapshot.Moment
	Event  *snapshot.Event

	// The line that asked; File is "" when it has none, as in snapshot.Row.
	File, Function string
	Line           int32

	Asked      int64 // bytes, as recorded
	Rounded    int64 // size of the block for them
	FromDevice int64 // what the allocator asked of the device for that: the size of a segment

	DeviceFree int64 // as the device reported

	*Fragmentation // the accounts, the free memory and what keeps it

	// LargestUsable is the largest free block that may serve the request: of
	// its pool, stream and size class. LargestFree is the largest of all.
	LargestUsable, LargestFree int64
	Small                      bool  // the request is served by the small pool
	FreeElsewhere              int64 // free bytes in other pools, streams or size classes

	Limit Limit
	// Room is how much more the program could have had, as far as known, if the
	// free memory were in one piece: Free and what the limit leaves.
	Room    int64
	Verdict Verdict
	ShortBy int64 // Rounded − Room; 0 for Fragmented

	Parts  [][]Part // of each row of Holders
	Totals Totals   // of all

	// Outside is memory of the device that is not of this allocator: of other
	// processes, of the CUDA context and of libraries. Known only with OutsideKnown.
	Outside      int64
	OutsideKnown bool

	Notes []string // what the file cannot tell, one sentence each
}

// A Limit bounds reserved memory. It lies at or above Low and below High, and is
// known when nothing lies between.
type Limit struct {
	Low, High int64
	How       LimitSource
}

// Known reports whether the limit is one number.
func (l Limit) Known() bool { return l.High == l.Low+1 }

// LimitSource says what a limit rests on.
type LimitSource uint8

const (
	// LimitSet: the device had enough free memory, so that the program itself
	// must have been limited (set_per_process_memory_fraction). A snapshot does
	// not hold the number. Low is the most that was reserved, High what could
	// not be had.
	LimitSet LimitSource = iota
	// LimitDevice: the device itself was full.
	LimitDevice
	// LimitGiven: by the caller.
	LimitGiven
)

func (s LimitSource) String() string {
	return [...]string{"set", "device", "given"}[s]
}

// OOMOptions is what a snapshot does not hold. The zero value is fine.
type OOMOptions struct {
	Limit       int64 // on reserved bytes, as set by set_per_process_memory_fraction; 0: not known
	Device      int64 // memory of the device; 0: not known
	Most        int   // explain the last Most events; 0 for DefaultOOMs
	MaxReplayed int   // try no other settings where that takes replaying more events than this; 0 for a bound of some seconds
}

// DefaultOOMs bounds how many events are explained: a program that tries until
// it fits may leave thousands.
const DefaultOOMs = 32

// An OOMReport explains the allocations of a device that failed.
type OOMReport struct {
	Events  []*OOM // in order
	Earlier int    // events before them that are not explained
	Check   allocator.SelfCheck

	Remedies []Remedy // what other settings would have done
	Control  *Remedy  // the same with the recorded settings; nil when nothing was tried
	Untried  string   // why no settings were tried; "" when they were

	Findings []Finding // ways to need less, see Findings
}

// ExplainOOM explains the out-of-memory events of a history. replay is the exact
// replay of c's timeline. Without such events the report is empty.
func ExplainOOM(c *Classification, replay *allocator.Replay, o OOMOptions) *OOMReport {
	out := &OOMReport{Check: replay.Check}
	events := oomEvents(c.Timeline)
	if len(events) == 0 {
		return out
	}
	most := o.Most
	if most <= 0 {
		most = DefaultOOMs
	}
	out.Earlier = max(0, len(events)-most)
	events = events[out.Earlier:]
	states, _ := replay.Walk(events, 0)
	for i, event := range events {
		out.Events = append(out.Events, explain(c, replay, o, event, states[i]))
	}
	out.Findings = Findings(c)
	out.try(replay, o)
	return out
}

func oomEvents(t *snapshot.Timeline) []int {
	var out []int
	for i := range t.Device.Events {
		if t.Device.Events[i].Action == snapshot.OOM {
			out = append(out, i)
		}
	}
	return out
}

// explain works out one event.
func explain(c *Classification, replay *allocator.Replay, o OOMOptions, event int, state *allocator.State) *OOM {
	e := &c.Timeline.Device.Events[event]
	m := snapshot.Moment{Name: "oom", Event: event, Time: e.Time}
	x := &OOM{Moment: m, Event: e, Asked: e.Size, Rounded: replay.Settings.Round(max(e.Size, 0)), DeviceFree: max(e.DeviceFree(), 0)}
	x.FromDevice = replay.Settings.SegmentSize(x.Rounded)
	x.Fragmentation = FragmentationOf(c, m, state)
	x.Small = allocator.IsSmall(x.Rounded)
	x.lookAtPools()
	x.limit(replay.Pressure, o)
	x.judge()
	x.ask(c)
	x.Parts = c.Parts(x.Holders)
	x.Totals = c.At(m)
	if o.Device > 0 {
		x.Outside, x.OutsideKnown = max(0, o.Device-x.DeviceFree-x.Reserved), true
	}
	x.note(c, replay, o)
	return x
}

// lookAtPools finds what the request could have used.
func (x *OOM) lookAtPools() {
	for _, p := range x.Pools {
		x.LargestFree = max(x.LargestFree, p.LargestFree)
		if p.Pool == x.Event.Pool && p.Stream == x.Event.Stream && p.Small == x.Small {
			x.LargestUsable = max(x.LargestUsable, p.LargestFree)
			continue
		}
		x.FreeElsewhere += p.Free
	}
}

// limit works out what bounded the reserved memory.
func (x *OOM) limit(p allocator.Pressure, o OOMOptions) {
	refused := x.Reserved + x.FromDevice
	switch {
	case o.Limit > 0:
		// Less than what was reserved at that moment cannot be right.
		low := max(o.Limit, x.Reserved)
		x.Limit = Limit{low, low + 1, LimitGiven}
	case x.FromDevice > x.DeviceFree:
		low := x.Reserved + x.DeviceFree
		x.Limit = Limit{low, low + 1, LimitDevice}
	default:
		x.Limit = Limit{min(max(p.Low, x.Reserved), refused-1), refused, LimitSet}
		if p.High > x.Limit.Low && p.High < refused {
			x.Limit.High = p.High
		}
	}
}

// judge compares the request with all that was free, as if in one piece.
func (x *OOM) judge() {
	x.Room = x.Free + max(0, x.Limit.Low-x.Reserved)
	if x.Rounded <= x.Room {
		x.Verdict = Fragmented
		return
	}
	x.Verdict, x.ShortBy = Capacity, x.Rounded-x.Room
}

// DecidingLimit is the limit from which on a request that is judged Capacity
// would have fit in one piece: used memory and the request.
func (x *OOM) DecidingLimit() int64 { return x.Reserved - x.Free + x.Rounded }

// Undecided reports whether the limit, which is not known, may be such that the
// request would have fit in one piece.
func (x *OOM) Undecided() bool { return x.Verdict == Capacity && x.DecidingLimit() < x.Limit.High }

// ask names the line that asked.
func (x *OOM) ask(c *Classification) {
	if id, ok := c.Snapshot.UserFrame(x.Event.Stack); ok {
		f := &c.Snapshot.Frames[id]
		x.File, x.Line, x.Function = f.File, f.Line, f.Function
		return
	}
	x.Function = snapshot.NoStackKnown
	if c.Snapshot.Stacks.Len() > 1 {
		x.Function = snapshot.AutogradThread
	}
}
