package attribution

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// A loop shows in the stacks: at the depth of the function that loops, the
// frames come back to where they were. Frames are read from the outermost
// inwards, so the outermost loop is found first. Nothing inside a module counts:
// its loops are layers, whose activations pile up by design.

// fewestIterations is how often a loop must come round.
const fewestIterations = fewest

// deepest bounds the frames that are read.
const deepest = 64

// loopRounds finds the outermost loop among the events from first to last.
func loopRounds(c *Classification, first, last int) (rounds, bool) {
	f := newLoopFinder(c, first, last)
	depth, starts := f.search()
	if len(starts) < fewestIterations {
		return rounds{}, false
	}
	r := rounds{unit: "iteration", how: "the loop at", place: f.place(starts[0], depth)}
	for _, run := range starts {
		r.add(f.runs[run].event - 1)
	}
	if f.wholeIteration(starts, last) {
		r.add(last)
	}
	return r, len(r.events) >= fewest
}

// A loopRun is a row of allocations from one stack.
type loopRun struct {
	stack  snapshot.StackID
	event  int // the first
	allocs int
}

type loopFinder struct {
	snap    *snapshot.Snapshot
	runs    []loopRun
	frames  map[snapshot.StackID][]int32 // Python frames, outermost first, up to the first module
	numbers map[placeKey]int32           // of frames of equal text
	modules map[int32]bool               // frames that call a module
}

// stackEnd is the key of a stack that is not as deep as asked for.
const stackEnd int32 = -1

func newLoopFinder(c *Classification, first, last int) *loopFinder {
	f := &loopFinder{snap: c.Snapshot, frames: map[snapshot.StackID][]int32{}, numbers: map[placeKey]int32{}, modules: map[int32]bool{}}
	events := eventsOf(c.Timeline)
	for i := first; i <= last; i++ {
		e := &events[i]
		if e.Action != snapshot.Alloc || len(f.read(e.Stack)) == 0 {
			continue
		}
		if n := len(f.runs); n > 0 && f.runs[n-1].stack == e.Stack {
			f.runs[n-1].allocs++
			continue
		}
		f.runs = append(f.runs, loopRun{e.Stack, i, 1})
	}
	return f
}

// read returns the frames of a stack that loops are looked for in.
func (f *loopFinder) read(id snapshot.StackID) []int32 {
	if known, ok := f.frames[id]; ok {
		return known
	}
	var out []int32
	stack := f.snap.Stacks.Frames(id)
	for i := len(stack) - 1; i >= 0 && len(out) < deepest; i-- {
		frame := &f.snap.Frames[stack[i]]
		if !frame.IsPython() {
			continue
		}
		key := placeKey{frame.File, frame.Line, frame.Function}
		if _, known := f.numbers[key]; !known {
			f.numbers[key] = int32(len(f.numbers))
		}
		out = append(out, f.numbers[key])
		if frameFeatures(frame).has(inModuleCall) {
			f.modules[f.numbers[key]] = true
			break
		}
	}
	f.frames[id] = out
	return out
}

func (f *loopFinder) key(run, depth int) int32 {
	if frames := f.frames[f.runs[run].stack]; depth < len(frames) {
		return frames[depth]
	}
	return stackEnd
}

// A visit is a row of runs with the same frame at some depth.
type visit struct {
	key        int32
	run, count int // the first run, and the allocations
}

// search returns the runs with which the iterations of the outermost loop
// begin, and the depth at which it shows.
func (f *loopFinder) search() (depth int, starts []int) {
	within := make([]int, len(f.runs))
	for i := range within {
		within[i] = i
	}
	for depth = range deepest {
		visits := f.visits(within, depth)
		keys := summarize(visits)
		if anchor, ok := pickAnchor(keys); ok {
			for _, v := range visits {
				if v.key == anchor {
					starts = append(starts, v.run)
				}
			}
			return depth, starts
		}
		heaviest, total := loopKey{key: stackEnd}, 0
		for _, k := range keys {
			total += k.allocs
			if k.allocs > heaviest.allocs {
				heaviest = k
			}
		}
		if heaviest.key == stackEnd || 2*heaviest.allocs < total {
			return depth, nil
		}
		within = slices.DeleteFunc(within, func(run int) bool { return f.key(run, depth) != heaviest.key })
	}
	return depth, nil
}

func (f *loopFinder) visits(within []int, depth int) (list []visit) {
	for _, run := range within {
		key := f.key(run, depth)
		if n := len(list); n > 0 && list[n-1].key == key {
			list[n-1].count += f.runs[run].allocs
			continue
		}
		list = append(list, visit{key, run, f.runs[run].allocs})
	}
	return list
}

// A loopKey is a frame at some depth.
type loopKey struct {
	key            int32
	visits, allocs int
}

// summarize counts visits by key, in order of first appearance.
func summarize(visits []visit) (keys []loopKey) {
	at := map[int32]int{}
	for _, v := range visits {
		i, known := at[v.key]
		if !known {
			i = len(keys)
			at[v.key] = i
			keys = append(keys, loopKey{key: v.key})
		}
		keys[i].visits++
		keys[i].allocs += v.count
	}
	return keys
}

// pickAnchor returns the frame at which iterations begin. The lines of a loop's
// body are visited about equally often; of several such groups the one with
// fewest visits is the outermost loop. A line that runs now and then is alone,
// and holds little.
func pickAnchor(keys []loopKey) (int32, bool) {
	total := 0
	for _, k := range keys {
		total += k.allocs
	}
	counts := make([]int, len(keys))
	for i, k := range keys {
		counts[i] = k.visits
	}
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		if n < fewestIterations {
			continue
		}
		members, allocs, anchor := 0, 0, int32(0)
		for _, k := range keys {
			if k.visits >= n && k.visits <= n+1+n/10 {
				if members == 0 {
					anchor = k.key
				}
				members++
				allocs += k.allocs
			}
		}
		if members >= 2 && 10*allocs >= total || 2*allocs >= total {
			return anchor, true
		}
	}
	return 0, false
}

// wholeIteration reports whether the last iteration has about as many events as
// the others, so that the end of the history is the end of it.
func (f *loopFinder) wholeIteration(starts []int, last int) bool {
	var lengths []float64
	for i := 1; i < len(starts); i++ {
		lengths = append(lengths, float64(f.runs[starts[i]].event-f.runs[starts[i-1]].event))
	}
	rest := float64(last + 1 - f.runs[starts[len(starts)-1]].event)
	return rest >= 0.9*medianOf(lengths) && rest <= 1.5*slices.Max(lengths)
}

// place is where the loop is: the frame at which its iterations begin, when
// all frames at that depth are lines of one function; else the frame that calls
// them.
func (f *loopFinder) place(run, depth int) placeKey {
	names := make(map[int32]placeKey, len(f.numbers))
	for key, n := range f.numbers {
		names[n] = key
	}
	numbers := f.frames[f.runs[run].stack]
	at := min(depth, len(numbers)-1)
	if at > 0 && !f.oneFunction(names, numbers[at-1], at) {
		at--
	}
	for ; at > 0; at-- {
		key := names[numbers[at]]
		if frame := (snapshot.Frame{File: key.File, Line: key.Line, Function: key.Function}); !frame.IsLibrary() {
			break
		}
	}
	return names[numbers[at]]
}

// oneFunction reports whether the frames at a depth below a caller are lines of
// one function.
func (f *loopFinder) oneFunction(names map[int32]placeKey, caller int32, depth int) bool {
	seen := placeKey{}
	for _, run := range f.runs {
		numbers := f.frames[run.stack]
		if depth > len(numbers) || numbers[depth-1] != caller {
			continue
		}
		if depth == len(numbers) {
			return false // the caller allocates itself
		}
		key := names[numbers[depth]]
		if seen.File != "" && (seen.File != key.File || seen.Function != key.Function) {
			return false
		}
		seen = key
	}
	return true
}
