package allocator

// Model is the state of one device's allocator. Blocks are referred to by
// index; index 0 stands for none.
type Model struct {
	set    Settings
	limits Limits

	blocks   []block
	unused   []int32
	segments []segment
	retired  []int32 // segment slots to use again
	arenas   []arena
	classes  []class
	lanes    []lane
	laneOf   map[laneKey]int32
	last     int32 // the lane that Lane returned last
	classOf  map[classKey]int32

	space *deviceSpace // hands out addresses; nil when the caller does
	next  uint64       // where the next reservation of an expandable segment goes

	// sync completes the frees that wait for a stream. It is called before all
	// cached memory is given back (synchronize_and_free_events); may be nil.
	sync func()

	// steps is what is left for walks over blocks and segments whose length only
	// a file made for it lets grow; without an end it could stall a replay.
	steps int

	Stats
}

const maxSteps = 200_000_000

// Limits bound the memory of a model, in bytes; 0 for none.
type Limits struct {
	// Fraction is what set_per_process_memory_fraction allows. Garbage
	// collection works against it, and only when it is set.
	Fraction int64
	// Device is what the device can give at all.
	Device int64
}

// Stats are a model's accounts in bytes, named as in memory_stats(), and the
// calls it made to the device.
type Stats struct {
	Reserved, Allocated, Active, Requested                 int64
	PeakReserved, PeakAllocated, PeakActive, PeakRequested int64

	InactiveSplit, PeakInactiveSplit int64 // free parts of ordinary segments that are in use elsewhere

	Segments int // ordinary segments at the moment (segment.all.current)

	DeviceAllocs int // cudaMalloc calls, or mappings of pages (num_device_alloc)
	DeviceFrees  int // cudaFree calls, or unmappings (num_device_free)
	Retries      int // times all cached memory was released for want of memory (num_alloc_retries)
	OOMs         int // requests that failed (num_ooms)
}

type blockState uint8

const (
	free    blockState = iota // in a free list, or not mapped
	held                      // held by the program
	pending                   // given up by the program, still in use by a stream
)

// A block is a range of a segment; prev and next are its neighbours there.
type block struct {
	addr       uint64
	size       int64
	requested  int64
	since      int64 // look-ups of its class when it became free (gc_count_base)
	prev, next int32
	segment    int32
	state      blockState
	unmapped   bool // a range of an expandable segment without memory behind it
}

// A segment is a piece of address space: one cudaMalloc, or the reservation of
// an expandable segment.
type segment struct {
	base       uint64
	size       int64
	head       int32 // its first block, whose index does not change
	arena      int32
	expandable bool
}

// An arena is the free memory of one pool, stream and size class. Streams never
// share free blocks, so keeping them apart changes nothing.
type arena struct {
	free     freeList
	unmapped freeList // by address alone
	class    int32
	lane     int32
	small    bool
}

// A class is a BlockPool of PyTorch: all streams of one pool and size class.
type class struct {
	lookups int64 // get_free_blocks_call_count
	arenas  []int32
	whole   int // free blocks that are all of an ordinary segment
}

type classKey struct {
	pool  uint16
	small bool
}

// A lane is where the requests of a pool and stream go.
type lane struct {
	laneKey
	large, small int32 // arenas
}

type laneKey struct{ pool, stream uint16 }

// reservation is the address space of an expandable segment: 9/8 of the device's
// memory (find_expandable_block). Without a known device it is that of one
// larger than any.
func (l Limits) reservation() int64 {
	total := int64(512) << 30
	if l.Device > 0 {
		total = min(l.Device, sizeLimit)
	}
	return total + total/8
}

// NewModel returns an allocator that holds nothing.
func NewModel(set Settings, limits Limits) *Model {
	return &Model{
		set: set, limits: limits, space: newDeviceSpace(nil), next: 1 << 60, steps: maxSteps,
		blocks: make([]block, 1, 1024), segments: make([]segment, 1, 64),
		laneOf: map[laneKey]int32{}, classOf: map[classKey]int32{},
	}
}

// Lane returns the index of a pool and stream, for Malloc.
func (m *Model) Lane(pool, stream uint16) int32 {
	key := laneKey{pool, stream}
	if int(m.last) < len(m.lanes) && m.lanes[m.last].laneKey == key {
		return m.last
	}
	if i, ok := m.laneOf[key]; ok {
		m.last = i
		return i
	}
	i := int32(len(m.lanes))
	m.lanes = append(m.lanes, lane{key, m.newArena(key, i, false), m.newArena(key, i, true)})
	m.laneOf[key] = i
	return i
}

func (m *Model) newArena(key laneKey, lane int32, small bool) int32 {
	id := int32(len(m.arenas))
	c := m.classFor(key.pool, small)
	m.classes[c].arenas = append(m.classes[c].arenas, id)
	m.arenas = append(m.arenas, arena{class: c, lane: lane, small: small})
	return id
}

func (m *Model) classFor(pool uint16, small bool) int32 {
	key := classKey{pool, small}
	if i, ok := m.classOf[key]; ok {
		return i
	}
	i := int32(len(m.classes))
	m.classes = append(m.classes, class{})
	m.classOf[key] = i
	return i
}

// walk takes a step of a walk and reports whether another is allowed.
func (m *Model) walk() bool {
	m.steps--
	return m.steps > 0
}

// arenaFor returns where a request of the given rounded size is served (get_pool).
func (m *Model) arenaFor(lane int32, size int64) int32 {
	if size <= smallSize {
		return m.lanes[lane].small
	}
	return m.lanes[lane].large
}

func (m *Model) newBlock(b block) int32 {
	if n := len(m.unused); n > 0 {
		id := m.unused[n-1]
		m.unused = m.unused[:n-1]
		m.blocks[id] = b
		return id
	}
	m.blocks = append(m.blocks, b)
	return int32(len(m.blocks) - 1)
}

func (m *Model) newSegment(s segment) int32 {
	if n := len(m.retired); n > 0 {
		id := m.retired[n-1]
		m.retired = m.retired[:n-1]
		m.segments[id] = s
		return id
	}
	m.segments = append(m.segments, s)
	return int32(len(m.segments) - 1)
}

// openSegment adds a segment of one block, which is in no list yet.
func (m *Model) openSegment(arena int32, base uint64, size int64, expandable bool) int32 {
	id := m.newSegment(segment{base: base, size: size, arena: arena, expandable: expandable})
	b := m.newBlock(block{addr: base, size: size, segment: id, unmapped: expandable})
	m.segments[id].head = b
	return b
}

// closeSegment forgets a segment whose only block is in no list.
func (m *Model) closeSegment(id int32) {
	m.unused = append(m.unused, m.segments[id].head)
	m.segments[id] = segment{}
	m.retired = append(m.retired, id)
}

// reservationAddress hands out address space for an expandable segment.
func (m *Model) reservationAddress(size int64) uint64 {
	at := m.next
	m.next += uint64(roundUp(size, deviceUnit))
	return at
}

func (m *Model) arenaOf(b int32) *arena { return &m.arenas[m.segments[m.blocks[b].segment].arena] }

// whole reports whether a block is all of its segment (!is_split).
func (m *Model) whole(b int32) bool {
	return m.blocks[b].prev == 0 && m.blocks[b].next == 0
}

// list puts a block into the free list of its arena (insert_into_blocks).
func (m *Model) list(b int32) {
	a, k := m.arenaOf(b), &m.blocks[b]
	k.since = m.classes[a.class].lookups
	a.free.insert(freeKey{k.size, k.addr, b})
	m.countFree(b, k.size)
}

// unlist takes a block out of its free list.
func (m *Model) unlist(b int32) {
	k := &m.blocks[b]
	m.arenaOf(b).free.remove(freeKey{k.size, k.addr, b})
	m.countFree(b, -k.size)
}

// unlistAt is unlist for a block whose place is known.
func (m *Model) unlistAt(b int32, at place) {
	m.arenaOf(b).free.removeAt(at)
	m.countFree(b, -m.blocks[b].size)
}

// countFree keeps the sum of the free parts of split segments and the number of
// wholly free segments. It must be called with the neighbours that the block has
// while it is free.
func (m *Model) countFree(b int32, bytes int64) {
	switch {
	case m.segments[m.blocks[b].segment].expandable:
	case !m.whole(b):
		m.InactiveSplit += bytes
	case bytes > 0:
		m.classes[m.arenaOf(b).class].whole++
	default:
		m.classes[m.arenaOf(b).class].whole--
	}
}

// cut leaves the low size bytes to b and returns a new block with the rest.
func (m *Model) cut(b int32, size int64) int32 {
	lo := &m.blocks[b]
	rest := m.newBlock(block{addr: lo.addr + uint64(size), size: lo.size - size, prev: b, next: lo.next,
		segment: lo.segment, unmapped: lo.unmapped})
	lo = &m.blocks[b]
	if lo.next != 0 {
		m.blocks[lo.next].prev = rest
	}
	lo.size, lo.next = size, rest
	return rest
}

// join makes one block of two neighbours, neither of them in a list, and returns
// it: the lower one, so that the head of a segment keeps its index.
func (m *Model) join(lo, hi int32) int32 {
	l, h := &m.blocks[lo], &m.blocks[hi]
	l.size += h.size
	l.next = h.next
	if h.next != 0 {
		m.blocks[h.next].prev = lo
	}
	m.unused = append(m.unused, hi)
	return lo
}

// merges reports whether b can take in its neighbour n (try_merge_blocks).
func (m *Model) merges(b, n int32) bool {
	return n != 0 && m.blocks[n].state == free && m.blocks[n].unmapped == m.blocks[b].unmapped
}

func (m *Model) reserve(bytes int64) {
	m.Reserved += bytes
	m.PeakReserved = max(m.PeakReserved, m.Reserved)
}

// room reports whether the device itself can give another n bytes.
func (m *Model) room(n int64) bool {
	return m.limits.Device <= 0 || m.Reserved+n <= m.limits.Device
}

// allowed reports whether the set fraction admits another n bytes.
func (m *Model) allowed(n int64) bool {
	return m.limits.Fraction <= 0 || m.Reserved+n <= m.limits.Fraction
}

// expandableSize is what a block could grow to without moving.
func (m *Model) expandableSize(b int32) int64 {
	k := &m.blocks[b]
	if k.next != 0 && m.blocks[k.next].unmapped {
		return k.size + m.blocks[k.next].size
	}
	return k.size
}
