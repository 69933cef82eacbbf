package viewer

import (
	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
)

// Fragmentation is what the allocator holds and nobody uses, over the history
// and at the moment when that matters most.
type Fragmentation struct {
	Curve   []FragPoint
	Exact   bool   // the replay agrees with the record
	Reason  string // why not
	Title   string // of the moment that Pins are about: "At the peak"
	Free    int64
	Pins    []Pin // most bytes first
	Pools   []PoolFree
	Waste   []Waste // rounding by line
	Rounded int64   // all of it
	States  []StateMap

	// The same requests under other settings, without a limit; nil where that
	// was not replayed.
	Trials    []Trial
	TrialNote string
}

// FragPoint is one step of the curve of free memory.
type FragPoint struct {
	Event               int
	Free, InactiveSplit int64
}

// Pin is a line whose blocks keep free memory from being given back.
type Pin struct {
	Frame
	Bytes, Alone, Held int64 // free; free where nothing else is used; used, of the line
	Segments           int
}

// PoolFree is the free memory of one pool, stream and size class.
type PoolFree struct {
	Label                       string
	Reserved, Free, LargestFree int64
	Segments                    int
}

// Waste is what rounding costs a line.
type Waste struct {
	Frame
	Bytes int64
	Count int
}

// StateMap is the segments at a moment of the history.
type StateMap struct {
	Name, Title string
	Reserved    int64
	Segments    []Segment
}

// fragPoints is how many samples of the curve are kept.
const fragPoints = 400

// An allocatorRun is the replay of the allocator with its states at the moments
// that the report shows.
type allocatorRun struct {
	moments []snapshot.Moment
	states  []*allocator.State // of each moment
	replay  *allocator.Replay
	curve   []allocator.FragPoint
}

// startAllocator begins the run, which takes as long as all else in a report, on
// another core and returns what waits for it.
func startAllocator(s *snapshot.Snapshot, t *snapshot.Timeline) (wait func() *allocatorRun) {
	done := make(chan *allocatorRun, 1)
	go func() { done <- runAllocator(s, t) }()
	return func() *allocatorRun { return <-done }
}

func runAllocator(s *snapshot.Snapshot, t *snapshot.Timeline) *allocatorRun {
	var r allocatorRun
	var events []int
	for _, name := range []string{"peak", "oom"} {
		if m, err := t.Moment(name); err == nil {
			r.moments = append(r.moments, m)
			events = append(events, m.Event)
		}
	}
	r.replay, r.states, r.curve = allocator.ExactWith(s, t, events, fragPoints)
	return &r
}

// addAllocator fills in what the replay of the allocator tells.
func (d *Device) addAllocator(s *snapshot.Snapshot, run *allocatorRun, c *attribution.Classification) {
	replay := run.replay
	f := &Fragmentation{Exact: replay.Check.Exact, Reason: replay.Check.Reason}
	for _, p := range run.curve {
		f.Curve = append(f.Curve, FragPoint{p.Event, p.Cached, p.InactiveSplit})
	}
	for i, m := range run.moments {
		title := "At the peak"
		if m.Name == "oom" {
			title = "At the out-of-memory"
		}
		f.States = append(f.States, newStateMap(s, c, run.states[i], m.Name, title))
		if i == len(run.moments)-1 {
			f.take(s, attribution.FragmentationOf(c, m, run.states[i]), title)
		}
	}
	d.Fragmentation = f
	if d.Failure == nil {
		f.addTrials(replay)
	} else {
		d.addOOM(attribution.ExplainOOM(c, replay, attribution.OOMOptions{Most: 1, MaxReplayed: maxReplayed}))
	}
}

// take moves the answer for one moment into f.
func (f *Fragmentation) take(s *snapshot.Snapshot, a *attribution.Fragmentation, title string) {
	f.Title, f.Free, f.Rounded = title, a.Free, a.RoundingWaste
	for _, p := range a.Pins {
		f.Pins = append(f.Pins, Pin{newFrame(p.File, p.Function, p.Line), p.Bytes, p.Alone, p.Held, p.Segments})
	}
	for _, w := range a.Rounding {
		f.Waste = append(f.Waste, Waste{newFrame(w.File, w.Function, w.Line), w.Bytes, w.Count})
	}
	for _, p := range a.Pools {
		g := segGroup{Pool: poolName(s, p.Pool), Stream: streamName(s, p.Stream), Small: p.Small, Expandable: p.Expandable}
		f.Pools = append(f.Pools, PoolFree{g.label(), p.Reserved, p.Free, p.LargestFree, p.Segments})
	}
}

// newStateMap turns a state of the replay into segments.
func newStateMap(s *snapshot.Snapshot, c *attribution.Classification, state *allocator.State, name, title string) StateMap {
	out := StateMap{Name: name, Title: title, Reserved: state.Reserved}
	all := c.Timeline.Allocations
	unnamed := newUnnamed(c.Timeline)
	for i := 0; i < len(state.Blocks); {
		end := i + 1
		for end < len(state.Blocks) && !state.Blocks[end].First {
			end++
		}
		first := &state.Blocks[i]
		seg := Segment{Addr: first.Addr, Small: first.Small, Expandable: first.Expandable, Pool: poolName(s, first.Pool), Stream: streamName(s, first.Stream)}
		for j := i; j < end; j++ {
			b := &state.Blocks[j]
			seg.Bytes += b.Size
			block := Block{Size: b.Size, Requested: b.Requested, State: stateOf(b, end-i)}
			if b.Allocation >= 0 {
				a := &all[b.Allocation]
				block.Stack, block.Category = uint32(a.Stack), c.Labels[b.Allocation].Category.String()
				if _, ok := s.UserFrame(a.Stack); !ok {
					block.Unnamed = unnamed.label(a.Block, a.Stack)
				}
			}
			seg.Blocks = append(seg.Blocks, block)
		}
		out.Segments = append(out.Segments, seg)
		i = end
	}
	return out
}

// stateOf is blockState for a block of a replay.
func stateOf(b *allocator.StateBlock, blocks int) BlockState {
	return blockState(&snapshot.Block{State: b.State}, &snapshot.Segment{Expandable: b.Expandable}, blocks)
}

// Worst is the moment with most free memory.
func (f *Fragmentation) Worst() (worst FragPoint) {
	for _, p := range f.Curve {
		if p.Free > worst.Free {
			worst = p
		}
	}
	return worst
}

func (f *Fragmentation) curveLabel() string {
	w := f.Worst()
	return "Free memory in the cache over the events of the history: at most " + units.Bytes(w.Free) + ", at event " + units.Count(max(w.Event, 0)) + "."
}
