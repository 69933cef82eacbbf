package allocator

import "slices"

// A freeKey is a free block in the order in which the allocator looks for one:
// by size, then by address (BlockComparatorSize).
type freeKey struct {
	size  int64
	addr  uint64
	block int32
}

func (k *freeKey) less(size int64, addr uint64) bool {
	return k.size < size || k.size == size && k.addr < addr
}

// A freeList is an ordered set of blocks: sorted chunks of bounded length, since
// short moves within contiguous memory beat the pointers of a tree at the sizes
// that occur, and stay cheap at any size.
type freeList struct {
	chunks [][]freeKey // none is empty
	spare  []freeKey   // the last chunk that became so, to use again
}

const chunkLen = 32

// A place is a position in a freeList, valid until the list changes.
type place struct{ chunk, index int }

// seek returns the first place whose key is not less than (size, addr).
func (l *freeList) seek(size int64, addr uint64) place {
	lo, hi := 0, len(l.chunks)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c := l.chunks[mid]; c[len(c)-1].less(size, addr) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(l.chunks) {
		return place{chunk: lo}
	}
	return place{lo, seekChunk(l.chunks[lo], size, addr)}
}

func seekChunk(c []freeKey, size int64, addr uint64) int {
	lo, hi := 0, len(c)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c[mid].less(size, addr) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// at returns the block at a place, 0 at the end.
func (l *freeList) at(p place) int32 {
	if p.chunk >= len(l.chunks) {
		return 0
	}
	return l.chunks[p.chunk][p.index].block
}

func (l *freeList) next(p place) place {
	if p.index++; p.index >= len(l.chunks[p.chunk]) {
		return place{chunk: p.chunk + 1}
	}
	return p
}

// before returns the block just before a place, 0 at the start.
func (l *freeList) before(p place) int32 {
	switch {
	case p.index > 0:
		return l.chunks[p.chunk][p.index-1].block
	case p.chunk > 0:
		c := l.chunks[p.chunk-1]
		return c[len(c)-1].block
	}
	return 0
}

func (l *freeList) insert(k freeKey) {
	p := l.seek(k.size, k.addr)
	if p.chunk == len(l.chunks) {
		if p.chunk == 0 {
			l.chunks = append(l.chunks, append(l.newChunk(), k))
			return
		}
		p.chunk--
		p.index = len(l.chunks[p.chunk])
	}
	if len(l.chunks[p.chunk]) == chunkLen {
		p = l.divide(p)
	}
	l.chunks[p.chunk] = slices.Insert(l.chunks[p.chunk], p.index, k)
}

func (l *freeList) newChunk() []freeKey {
	c := l.spare
	if l.spare = nil; c == nil {
		c = make([]freeKey, 0, chunkLen)
	}
	return c
}

// divide halves a full chunk and returns where p is now.
func (l *freeList) divide(p place) place {
	full := l.chunks[p.chunk]
	upper := append(l.newChunk(), full[chunkLen/2:]...)
	l.chunks[p.chunk] = full[:chunkLen/2]
	l.chunks = slices.Insert(l.chunks, p.chunk+1, upper)
	if p.index > chunkLen/2 {
		return place{p.chunk + 1, p.index - chunkLen/2}
	}
	return p
}

// remove takes out a block, if it is there. A damaged history may bring two
// blocks to one address, so the key alone does not do.
func (l *freeList) remove(k freeKey) {
	for p := l.seek(k.size, k.addr); p.chunk < len(l.chunks); p = l.next(p) {
		switch at := &l.chunks[p.chunk][p.index]; {
		case *at == k:
			l.removeAt(p)
			return
		case at.size != k.size || at.addr != k.addr:
			return
		}
	}
}

func (l *freeList) removeAt(p place) {
	c := l.chunks[p.chunk]
	if len(c) == 1 {
		l.spare = c[:0]
		l.chunks = slices.Delete(l.chunks, p.chunk, p.chunk+1)
		return
	}
	copy(c[p.index:], c[p.index+1:])
	l.chunks[p.chunk] = c[:len(c)-1]
}

// blocks lists the blocks in order.
func (l *freeList) blocks() []int32 {
	var ids []int32
	for _, c := range l.chunks {
		for i := range c {
			ids = append(ids, c[i].block)
		}
	}
	return ids
}
