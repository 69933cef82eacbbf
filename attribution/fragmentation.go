package attribution

import (
	"cmp"
	"slices"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/snapshot"
)

// Fragmentation is what the allocator holds and nobody uses at one moment, and
// why it is not given back. Sizes are bytes of blocks.
type Fragmentation struct {
	Moment snapshot.Moment
	allocator.Stats

	Free           int64 // all free blocks
	ExpandableFree int64 // those in expandable segments
	Releasable     int64 // those that are a whole ordinary segment; empty_cache returns them

	Holders snapshot.Table // who holds what is used, by line; requested bytes

	Pools []PoolFree // largest first

	// Pins charges the free bytes of each segment in use, and of each mapped
	// range of an expandable one, to the line that holds most bytes in it.
	// Most bytes first; they sum to Pinned.
	Pins   []Pin
	Pinned int64

	// Rounding is by line what blocks have beyond what was asked for. Most
	// bytes first; they sum to RoundingWaste.
	Rounding      []Waste
	RoundingWaste int64
}

// PoolFree is the memory of one pool, stream and size class. Free memory of one
// cannot serve requests of another.
type PoolFree struct {
	Pool, Stream uint16 // indices into Snapshot.Pools and Streams
	Small        bool   // serves requests of up to 1 MiB
	Expandable   bool
	Segments     int // for expandable segments: mapped ranges
	Reserved     int64
	Free         int64
	LargestFree  int64
	FreeBlocks   int
}

// A Pin is a line whose blocks keep segments from being given back.
type Pin struct {
	File, Function string
	Line           int32
	Stack          snapshot.StackID // the heaviest of the line

	Bytes    int64 // free, in segments where the line holds most
	Alone    int64 // of these, in segments where it holds all that is used
	Held     int64 // bytes of its blocks there
	Segments int
}

// Waste is what rounding costs a line.
type Waste struct {
	File, Function string
	Line           int32
	Stack          snapshot.StackID
	Bytes, Held    int64 // wasted, and the size of the blocks
	Count          int
}

// FragmentationOf examines a state of the replay of c's timeline.
func FragmentationOf(c *Classification, m snapshot.Moment, state *allocator.State) *Fragmentation {
	w := newFragWork(c, m, state)
	for i := 0; i < len(state.Blocks); {
		end := i + 1
		for end < len(state.Blocks) && !state.Blocks[end].First {
			end++
		}
		w.segment(state.Blocks[i:end])
		i = end
	}
	return w.finish()
}

type fragWork struct {
	out   *Fragmentation
	table snapshot.Table
	rows  *rowFinder
	all   []snapshot.Allocation
	pools map[PoolFree]int
	pins  []Pin
	waste []Waste
	held  map[int]int64 // by row, within a segment
}

func newFragWork(c *Classification, m snapshot.Moment, state *allocator.State) *fragWork {
	table := c.Snapshot.Fold(c.Timeline, m, snapshot.ByLine)
	// What the fold does not know goes into a last row of its own.
	return &fragWork{
		out: &Fragmentation{Moment: m, Stats: state.Stats, Holders: table}, table: table, rows: newRowFinder(c, table), all: c.Timeline.Allocations,
		pools: map[PoolFree]int{}, pins: make([]Pin, len(table.Rows)+1), waste: make([]Waste, len(table.Rows)+1), held: map[int]int64{},
	}
}

func (w *fragWork) segment(blocks []allocator.StateBlock) {
	pool := w.pool(&blocks[0])
	pool.Segments++
	clear(w.held)
	var size, free int64
	for i := range blocks {
		b := &blocks[i]
		size += b.Size
		if b.State == snapshot.Inactive {
			free += b.Size
			pool.FreeBlocks++
			pool.LargestFree = max(pool.LargestFree, b.Size)
			continue
		}
		row := w.row(b)
		w.held[row] += b.Size
		w.round(row, b)
	}
	pool.Reserved += size
	pool.Free += free
	w.out.Free += free
	switch {
	case blocks[0].Expandable:
		w.out.ExpandableFree += free
	case free == size:
		w.out.Releasable += free
	}
	if free > 0 && free < size {
		w.pin(free)
	}
}

// pool returns the entry of a block's pool.
func (w *fragWork) pool(b *allocator.StateBlock) *PoolFree {
	key := PoolFree{Pool: b.Pool, Stream: b.Stream, Small: b.Small, Expandable: b.Expandable}
	i, ok := w.pools[key]
	if !ok {
		i = len(w.out.Pools)
		w.pools[key] = i
		w.out.Pools = append(w.out.Pools, key)
	}
	return &w.out.Pools[i]
}

// row is the row of the table that a used block belongs to.
func (w *fragWork) row(b *allocator.StateBlock) int {
	if b.Allocation >= 0 {
		if row := w.rows.of(&w.all[b.Allocation]); row >= 0 {
			return row
		}
	}
	return len(w.table.Rows)
}

func (w *fragWork) round(row int, b *allocator.StateBlock) {
	// As in snapshot.Stats: 0 means that the file does not say.
	if b.State != snapshot.Allocated || b.Requested <= 0 || b.Size <= b.Requested {
		return
	}
	waste := &w.waste[row]
	waste.Bytes += b.Size - b.Requested
	waste.Held += b.Size
	waste.Count++
	w.out.RoundingWaste += b.Size - b.Requested
}

// pin charges the free bytes of a segment, whose used bytes are in w.held.
func (w *fragWork) pin(free int64) {
	owner := -1
	for row, bytes := range w.held {
		// Of equal lines the one that holds more elsewhere, for the same answer
		// every time.
		if owner < 0 || bytes > w.held[owner] || bytes == w.held[owner] && row < owner {
			owner = row
		}
	}
	if owner < 0 {
		return
	}
	p := &w.pins[owner]
	p.Bytes += free
	p.Held += w.held[owner]
	p.Segments++
	if len(w.held) == 1 {
		p.Alone += free
	}
	w.out.Pinned += free
}

func (w *fragWork) finish() *Fragmentation {
	for i := range w.pins {
		r := snapshot.Row{Function: snapshot.OlderMemory}
		if i < len(w.table.Rows) {
			r = w.table.Rows[i]
		}
		if p := w.pins[i]; p.Bytes > 0 {
			p.File, p.Function, p.Line, p.Stack = r.File, r.Function, r.Line, r.Stack
			w.out.Pins = append(w.out.Pins, p)
		}
		if x := w.waste[i]; x.Bytes > 0 {
			x.File, x.Function, x.Line, x.Stack = r.File, r.Function, r.Line, r.Stack
			w.out.Rounding = append(w.out.Rounding, x)
		}
	}
	slices.SortStableFunc(w.out.Pins, func(a, b Pin) int { return cmp.Compare(b.Bytes, a.Bytes) })
	slices.SortStableFunc(w.out.Rounding, func(a, b Waste) int { return cmp.Compare(b.Bytes, a.Bytes) })
	slices.SortStableFunc(w.out.Pools, func(a, b PoolFree) int {
		return cmp.Or(cmp.Compare(b.Reserved, a.Reserved), cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Stream, b.Stream), boolCompare(a.Small, b.Small))
	})
	return w.out
}
