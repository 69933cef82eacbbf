package allocator

// A span is a range of addresses.
type span struct {
	addr uint64
	size int64
}

// expand maps pages of an expandable segment until a block of the given size
// exists, and returns it, in no list, or 0 (try_allocate_expandable_block).
func (m *Model) expand(arena int32, size int64) int32 {
	b := m.expandableStart(arena, size)
	if b == 0 {
		b = m.reserveSpace(arena, m.reservationAddress(m.limits.reservation()))
	}
	if m.blocks[b].unmapped {
		if b = m.mapPages(b, size); b == 0 {
			return 0
		}
	}
	for m.blocks[b].size < size {
		n := m.mapPages(m.blocks[b].next, size-m.blocks[b].size)
		if n == 0 {
			return 0
		}
		b = n
	}
	m.unlist(b)
	return b
}

// reserveSpace adds an expandable segment at the given address.
func (m *Model) reserveSpace(arena int32, base uint64) int32 {
	page := m.set.page(m.arenas[arena].small)
	b := m.openSegment(arena, base, roundUp(m.limits.reservation(), page), true)
	m.listUnmapped(b)
	return b
}

// expandableStart returns the lowest block from where free and unmapped blocks
// have room for size bytes, 0 when there is none (find_expandable_block).
func (m *Model) expandableStart(arena int32, size int64) int32 {
	list := &m.arenas[arena].unmapped
	for at := list.seek(0, 0); m.walk(); at = list.next(at) {
		b := list.at(at)
		if b == 0 {
			return 0
		}
		if p := m.blocks[b].prev; p != 0 && m.blocks[p].state == free {
			b = p
		}
		if m.hasSpace(b, size) {
			return b
		}
	}
	return 0
}

func (m *Model) hasSpace(b int32, size int64) bool {
	for b != 0 && size > 0 && m.blocks[b].state == free && m.walk() {
		size -= m.blocks[b].size
		b = m.blocks[b].next
	}
	return size <= 0
}

// mapPages maps whole pages from the start of an unmapped block, enough for size
// bytes or all of it, merges them with free neighbours and lists the result,
// which it returns; 0 when the device is full (map_block).
func (m *Model) mapPages(b int32, size int64) int32 {
	page := m.set.page(m.arenaOf(b).small)
	bytes := min(roundUp(min(size, m.blocks[b].size), page), m.blocks[b].size)
	if !m.room(bytes) {
		return 0
	}
	m.unlistUnmapped(b)
	if bytes < m.blocks[b].size {
		m.listUnmapped(m.cut(b, bytes))
	}
	return m.mapped(b)
}

// mapped turns an unmapped block, in no list, into a listed free one.
func (m *Model) mapped(b int32) int32 {
	m.blocks[b].unmapped = false
	m.reserve(m.blocks[b].size)
	m.DeviceAllocs++
	if p := m.blocks[b].prev; m.merges(b, p) {
		m.unlist(p)
		b = m.join(p, b)
	}
	if n := m.blocks[b].next; m.merges(b, n) {
		m.unlist(n)
		b = m.join(b, n)
	}
	m.list(b)
	return b
}

// unmapPages gives back the whole pages within a free block (unmap_block).
func (m *Model) unmapPages(b int32) {
	seg, k := &m.segments[m.blocks[b].segment], &m.blocks[b]
	page := m.set.page(m.arenas[seg.arena].small)
	lo := roundUp(int64(k.addr-seg.base), page)
	hi := (int64(k.addr-seg.base) + k.size) / page * page
	if lo >= hi {
		return
	}
	m.unmap(b, seg.base+uint64(lo), hi-lo)
}

// unmap gives back the memory of a range within a free block and drops the
// segment when no memory is left in it.
func (m *Model) unmap(b int32, addr uint64, size int64) {
	m.unlist(b)
	if before := int64(addr - m.blocks[b].addr); before > 0 {
		rest := m.cut(b, before)
		m.list(b)
		b = rest
	}
	if size < m.blocks[b].size {
		m.list(m.cut(b, size))
	}
	m.blocks[b].unmapped = true
	m.reserve(-size)
	m.DeviceFrees++
	if p := m.blocks[b].prev; m.merges(b, p) {
		m.unlistUnmapped(p)
		b = m.join(p, b)
	}
	if n := m.blocks[b].next; m.merges(b, n) {
		m.unlistUnmapped(n)
		b = m.join(b, n)
	}
	if m.whole(b) {
		m.closeSegment(m.blocks[b].segment)
		return
	}
	m.listUnmapped(b)
}

func (m *Model) listUnmapped(b int32) {
	m.arenaOf(b).unmapped.insert(freeKey{0, m.blocks[b].addr, b})
}

func (m *Model) unlistUnmapped(b int32) {
	m.arenaOf(b).unmapped.remove(freeKey{0, m.blocks[b].addr, b})
}
