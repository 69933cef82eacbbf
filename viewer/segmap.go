package viewer

import (
	"cmp"
	"slices"
)

// maxGroups bounds the groups of the segment map; pools beyond it are drawn
// together.
const maxGroups = 24

// segGroup is the segments that can serve the same requests: those of one
// pool, stream and size class. Free memory of one group is of no use to
// another.
type segGroup struct {
	Pool, Stream      string
	Small, Expandable bool
	Others            int // how many further pools are drawn in this group

	Segments []mapSegment
	Stats    groupStats
}

// groupStats sums a group before anything is merged.
type groupStats struct {
	Segments    int
	Bytes       int64
	ByState     [numStates]int64
	LargestFree int64
}

// mapSegment is a drawn segment; Count > 1 stands for that many small ones.
type mapSegment struct {
	Addr   uint64
	Bytes  int64
	Count  int
	Blocks []mapBlock
}

// mapBlock is a drawn block; Count > 1 stands for that many small ones of the
// same state and category, and Stack is that of the largest.
type mapBlock struct {
	Block
	Count   int
	largest int64
}

// buildSegmentMap groups segments and merges small blocks until at most about
// limit blocks are left. It returns the size below which blocks were merged, 0
// for none. Sums by state are kept.
func buildSegmentMap(segs []Segment, limit int) (groups []segGroup, merged int64) {
	raw := groupSegments(segs)
	for countMerged(raw, merged) > limit && merged < 1<<62 {
		merged = max(512, merged*2)
	}
	groups = make([]segGroup, len(raw))
	for i, g := range raw {
		groups[i] = g.segGroup
		groups[i].Segments = mergeSegments(g.segs, merged)
	}
	return groups, merged
}

type rawGroup struct {
	segGroup
	segs []*Segment
}

func groupSegments(segs []Segment) []rawGroup {
	type key struct {
		pool, stream      string
		small, expandable bool
	}
	index := map[key]int{}
	var groups []rawGroup
	for i := range segs {
		s := &segs[i]
		k := key{s.Pool, s.Stream, s.Small, s.Expandable}
		j, ok := index[k]
		if !ok {
			j = len(groups)
			index[k] = j
			groups = append(groups, rawGroup{segGroup: segGroup{Pool: s.Pool, Stream: s.Stream, Small: s.Small, Expandable: s.Expandable}})
		}
		groups[j].segs = append(groups[j].segs, s)
		groups[j].Stats.add(s)
	}
	slices.SortStableFunc(groups, compareGroups)
	if len(groups) > maxGroups {
		rest := &groups[maxGroups-1]
		for _, g := range groups[maxGroups:] {
			rest.segs = append(rest.segs, g.segs...)
			rest.Stats.merge(g.Stats)
			rest.Others++
		}
		groups = groups[:maxGroups]
	}
	for _, g := range groups {
		slices.SortStableFunc(g.segs, func(a, b *Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	}
	return groups
}

// compareGroups puts the default pool first, then the larger of the others.
func compareGroups(a, b rawGroup) int {
	return cmp.Or(
		boolOrder(a.Pool != "", b.Pool != ""),
		boolOrder(a.Stream != "", b.Stream != ""),
		-cmp.Compare(a.Stats.Bytes, b.Stats.Bytes),
		cmp.Compare(a.Pool, b.Pool),
		cmp.Compare(a.Stream, b.Stream),
		boolOrder(a.Small, b.Small),
		boolOrder(a.Expandable, b.Expandable),
	)
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (g *groupStats) add(s *Segment) {
	g.Segments++
	g.Bytes += s.Bytes
	for i := range s.Blocks {
		b := &s.Blocks[i]
		g.ByState[b.State] += b.Size
		if b.State >= InactiveSplit {
			g.LargestFree = max(g.LargestFree, b.Size)
		}
	}
}

func (g *groupStats) merge(o groupStats) {
	g.Segments += o.Segments
	g.Bytes += o.Bytes
	for i, n := range o.ByState {
		g.ByState[i] += n
	}
	g.LargestFree = max(g.LargestFree, o.LargestFree)
}

// Free is the unused bytes of the group.
func (g groupStats) Free() int64 {
	return g.ByState[InactiveSplit] + g.ByState[Releasable] + g.ByState[ExpandableFree]
}

// countMerged is the number of blocks that mergeSegments would leave.
func countMerged(groups []rawGroup, cut int64) int {
	n := 0
	for _, g := range groups {
		var run uint64 // kinds present in the run of small things
		flush := func() {
			for ; run != 0; run &= run - 1 {
				n++
			}
		}
		small := false // inside a run of whole small segments
		for _, s := range g.segs {
			if whole := s.Bytes < cut; !whole || !small {
				flush()
				small = whole
			}
			if len(s.Blocks) == 0 && !small {
				n++ // draws nothing, yet takes room in the page
			}
			for i := range s.Blocks {
				b := &s.Blocks[i]
				if small || b.Size < cut {
					run |= 1 << kindOf(b)
					continue
				}
				flush()
				n++
			}
			if !small {
				flush()
			}
		}
		flush()
	}
	return n
}

// mergeSegments draws segments of at least cut bytes each on its own and runs
// of smaller ones as one; likewise the blocks inside.
func mergeSegments(segs []*Segment, cut int64) []mapSegment {
	var out []mapSegment
	for i := 0; i < len(segs); {
		j := i + 1
		if segs[i].Bytes < cut {
			for j < len(segs) && segs[j].Bytes < cut {
				j++
			}
		}
		out = append(out, mergeRun(segs[i:j], cut))
		i = j
	}
	return out
}

func mergeRun(segs []*Segment, cut int64) mapSegment {
	m := mapSegment{Addr: segs[0].Addr, Count: len(segs)}
	var run [numKinds]mapBlock
	flush := func() {
		for s := range run {
			if run[s].Count > 0 {
				m.Blocks = append(m.Blocks, run[s])
			}
			run[s] = mapBlock{}
		}
	}
	for _, s := range segs {
		m.Bytes += s.Bytes
		for _, b := range s.Blocks {
			if s.Bytes >= cut && b.Size >= cut {
				flush()
				m.Blocks = append(m.Blocks, mapBlock{Block: b, Count: 1})
				continue
			}
			run[kindOf(&b)].absorb(b)
		}
	}
	flush()
	return m
}

// numKinds bounds kindOf: two states in use by category, three of free blocks.
const numKinds = 2*(1+len(layerOrder)) + 3

// kindOf numbers what is drawn in one colour: used blocks by state and
// category, free ones by state. Blocks of one kind may be drawn together.
func kindOf(b *Block) int {
	if b.State >= InactiveSplit {
		return int(b.State - InactiveSplit)
	}
	return 3 + int(b.State)*(1+len(layerOrder)) + categoryIndex(b.Category) + 1
}

func (m *mapBlock) absorb(b Block) {
	size, requested := m.Size+b.Size, m.Requested+b.Requested
	if m.Count == 0 || b.Size > m.largest {
		m.Block, m.largest = b, b.Size
	}
	m.Size, m.Requested = size, requested
	m.Count++
}
