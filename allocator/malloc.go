package allocator

// Malloc serves a request and returns its block, or 0 when there is no memory
// for it (DeviceCachingAllocator::malloc, without the polling of events: frees
// complete when the caller says so).
func (m *Model) Malloc(lane int32, requested int64) int32 {
	size := m.set.Round(requested)
	arena := m.arenaFor(lane, size)
	b := m.takeFit(arena, size)
	if b == 0 {
		b = m.refill(arena, size)
	}
	if b == 0 {
		m.OOMs++
		return 0
	}
	m.hand(b, size, requested)
	return b
}

// refill gets memory from the device, giving back cached memory where that is
// what it takes.
func (m *Model) refill(arena int32, size int64) int32 {
	if m.collects() {
		m.collect()
	}
	if b := m.grow(arena, size); b != 0 {
		return b
	}
	if m.releaseOversize(arena, size) {
		if b := m.grow(arena, size); b != 0 {
			return b
		}
	}
	m.releaseCached()
	m.Retries++
	return m.grow(arena, size)
}

// takeFit removes the best fitting free block from its list and returns it, or 0.
func (m *Model) takeFit(arena int32, size int64) int32 {
	if m.collects() {
		m.classes[m.arenas[arena].class].lookups++
	}
	b, at := m.bestFit(arena, size)
	if b != 0 {
		m.unlistAt(b, at)
	}
	return b
}

// bestFit is the choice of get_free_block: the smallest block that is large
// enough, at the lowest address, unless max_split_size forbids that one. A
// rejection is final: no other block is tried. It returns 0 when there is none,
// else also the block's place in the free list.
func (m *Model) bestFit(arena int32, size int64) (int32, place) {
	list := &m.arenas[arena].free
	at := list.seek(size, 0)
	b := list.at(at)
	if b == 0 {
		return 0, at
	}
	if m.isExpandable(b) {
		if m.set.Expandable {
			at = m.leastGrowing(list, at)
		} else {
			at = m.firstOrdinary(list, at)
		}
		if b = list.at(at); b == 0 {
			return 0, at
		}
	}
	limit, have := m.set.maxSplit(), m.blocks[b].size
	if size < limit && have >= limit {
		return 0, at
	}
	if size >= limit && have >= size+m.set.MaxNonSplitRounding {
		return 0, at
	}
	return b, at
}

func (m *Model) isExpandable(b int32) bool { return m.segments[m.blocks[b].segment].expandable }

// leastGrowing passes over a block as long as the next one would be smaller if
// each counted with the unmapped range behind it: holes go before the tail.
func (m *Model) leastGrowing(list *freeList, at place) place {
	b := list.at(at)
	for m.isExpandable(b) && m.walk() {
		after := list.next(at)
		next := list.at(after)
		if next == 0 || m.expandableSize(next) >= m.expandableSize(b) {
			break
		}
		b, at = next, after
	}
	return at
}

// firstOrdinary passes over expandable blocks, left from when the setting was on.
func (m *Model) firstOrdinary(list *freeList, at place) place {
	for b := list.at(at); b != 0 && m.isExpandable(b) && m.walk(); b = list.at(at) {
		at = list.next(at)
	}
	return at
}

// grow gets a new block from the device, in no list, or returns 0 (alloc_block).
// The fraction is compared with the size of an ordinary segment even where
// pages are mapped.
func (m *Model) grow(arena int32, size int64) int32 {
	want := m.set.SegmentSize(size)
	if !m.allowed(want) {
		return 0
	}
	if m.set.Expandable {
		return m.expand(arena, size)
	}
	if !m.room(want) {
		return 0
	}
	return m.addSegment(arena, m.space.take(want), want)
}

func (m *Model) addSegment(arena int32, base uint64, size int64) int32 {
	b := m.openSegment(arena, base, size, false)
	m.reserve(size)
	m.Segments++
	m.DeviceAllocs++
	return b
}

// hand gives a block, in no list, to the program, after cutting off what is too
// much of it (alloc_found_block).
func (m *Model) hand(b int32, size, requested int64) {
	if m.set.splits(size, m.blocks[b].size-size, m.arenaOf(b).small) {
		m.list(m.cut(b, size))
	}
	m.occupy(b, requested)
}

func (m *Model) occupy(b int32, requested int64) {
	k := &m.blocks[b]
	k.state, k.requested = held, requested
	m.Allocated += k.size
	m.Active += k.size
	m.Requested += requested
	m.PeakAllocated = max(m.PeakAllocated, m.Allocated)
	m.PeakActive = max(m.PeakActive, m.Active)
	m.PeakRequested = max(m.PeakRequested, m.Requested)
	m.PeakInactiveSplit = max(m.PeakInactiveSplit, m.InactiveSplit)
}

// FreeRequested marks a block as given up by the program while streams may still
// use it. Allocated bytes fall here, active ones in FreeCompleted.
func (m *Model) FreeRequested(b int32) {
	if m.blocks[b].state != held {
		return
	}
	m.blocks[b].state = pending
	m.Allocated -= m.blocks[b].size
}

// FreeCompleted returns a block to its free list, merged with free neighbours
// (free_block).
func (m *Model) FreeCompleted(b int32) {
	if m.blocks[b].state == free {
		return
	}
	m.vacate(b)
	if n := m.blocks[b].next; m.merges(b, n) {
		m.unlist(n)
		b = m.join(b, n)
	}
	if p := m.blocks[b].prev; m.merges(b, p) {
		m.unlist(p)
		b = m.join(p, b)
	}
	m.list(b)
	m.PeakInactiveSplit = max(m.PeakInactiveSplit, m.InactiveSplit)
}

// vacate ends the use of a block.
func (m *Model) vacate(b int32) {
	m.FreeRequested(b)
	k := &m.blocks[b]
	m.Active -= k.size
	m.Requested -= k.requested
	k.state, k.requested = free, 0
}
