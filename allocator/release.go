package allocator

// collects reports whether garbage collection is on: it needs a threshold and a
// set memory fraction.
func (m *Model) collects() bool { return m.limits.Fraction > 0 && m.set.GCThreshold > 0 }

// collect gives old cached blocks back when more than the threshold is reserved
// (garbage_collect_cached_blocks). Only whole segments of the default pool's
// large class qualify; the age of a block is the number of look-ups since it
// became free. Those of at least average age go first, all of them, even when
// fewer would do.
func (m *Model) collect() {
	threshold := int64(m.set.GCThreshold * float64(m.limits.Fraction))
	excess := m.Reserved - threshold
	if excess <= 0 {
		return
	}
	large := m.classFor(0, false)
	var age int64
	candidates := m.wholeBlocks(large)
	for _, b := range candidates {
		age += m.age(large, b)
	}
	for excess > 0 && len(candidates) > 0 {
		average := float64(age) / float64(len(candidates))
		kept := candidates[:0]
		for _, b := range candidates {
			if old := m.age(large, b); float64(old) >= average {
				age -= old
				excess -= m.blocks[b].size
				m.releaseSegment(b)
			} else {
				kept = append(kept, b)
			}
		}
		if len(kept) == len(candidates) {
			return
		}
		candidates = kept
	}
}

func (m *Model) age(class, b int32) int64 { return m.classes[class].lookups - m.blocks[b].since }

// wholeBlocks lists the free blocks of a class that are all of a segment.
func (m *Model) wholeBlocks(class int32) []int32 {
	var whole []int32
	if m.classes[class].whole == 0 {
		return nil
	}
	for _, a := range m.classes[class].arenas {
		for _, b := range m.arenas[a].free.blocks() {
			if m.whole(b) && !m.isExpandable(b) {
				whole = append(whole, b)
			}
		}
	}
	return whole
}

// releaseSegment gives a wholly free ordinary segment back (release_block).
func (m *Model) releaseSegment(b int32) {
	m.unlist(b)
	m.reserve(-m.blocks[b].size)
	m.Segments--
	m.DeviceFrees++
	if m.space != nil {
		m.space.give(span{m.blocks[b].addr, m.blocks[b].size})
	}
	m.closeSegment(m.blocks[b].segment)
}

// releaseOversize gives back cached blocks of max_split_size or more, of the same
// arena, enough for the request: one that is large enough, else several from the
// largest down. It reports whether that may have made room
// (release_available_cached_blocks).
func (m *Model) releaseOversize(arena int32, size int64) bool {
	if m.set.MaxSplitSize <= 0 {
		return false
	}
	list, want := &m.arenas[arena].free, max(size, m.set.MaxSplitSize)
	at := list.seek(want, 0)
	if b := list.at(at); b != 0 && !m.isExpandable(b) {
		m.releaseSegment(b)
		return true
	}
	var released int64
	b := list.before(at)
	for released < want && b != 0 && m.blocks[b].size >= m.set.MaxSplitSize {
		larger := freeKey{m.blocks[b].size, m.blocks[b].addr, b}
		if !m.isExpandable(b) && m.whole(b) {
			released += larger.size
			m.releaseSegment(b)
		}
		b = list.before(list.seek(larger.size, larger.addr))
	}
	return released >= want
}

// releaseCached is what a failing request does: wait for all
// streams, then give back every free segment and every free page of the default
// pool (release_cached_blocks). Private pools keep theirs as long as their
// graphs exist, see ReleasePool.
func (m *Model) releaseCached() {
	if m.sync != nil {
		m.sync()
	}
	m.ReleasePool(0)
}

// EmptyCache gives back what is free in the default pool (torch.cuda.empty_cache).
func (m *Model) EmptyCache() { m.ReleasePool(0) }

// ReleasePool gives back what is free in one pool, large blocks first.
func (m *Model) ReleasePool(pool uint16) {
	for _, small := range []bool{false, true} {
		for _, a := range m.classes[m.classFor(pool, small)].arenas {
			m.releaseArena(a)
		}
	}
}

// releaseArena gives back the free segments, then the free pages (release_blocks).
func (m *Model) releaseArena(arena int32) {
	var pages []int32
	for _, b := range m.arenas[arena].free.blocks() {
		switch {
		case m.isExpandable(b):
			pages = append(pages, b)
		case m.whole(b):
			m.releaseSegment(b)
		}
	}
	for _, b := range pages {
		m.unmapPages(b)
	}
}
