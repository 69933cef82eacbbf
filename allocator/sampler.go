package allocator

// A FragPoint is a moment of a replay, in bytes. Cached is free memory that the
// allocator keeps; InactiveSplit the part of it that empty_cache cannot return.
type FragPoint struct {
	Event                                      int
	Reserved, Allocated, Cached, InactiveSplit int64
}

// A sampler keeps, of each stretch of events, the moment with the most cached
// memory.
type sampler struct {
	events, every int
	worst         FragPoint
	full          bool // worst holds a moment
	points        []FragPoint
}

func newSampler(events, points int) sampler {
	s := sampler{events: events}
	if points > 0 {
		s.every = max(1, (events+points-1)/points)
	}
	return s
}

func (s *sampler) take(event int, m *Model) {
	if s.every == 0 {
		return
	}
	if cached := m.Reserved - m.Active; !s.full || cached > s.worst.Cached {
		s.worst, s.full = FragPoint{event, m.Reserved, m.Allocated, cached, m.InactiveSplit}, true
	}
	if (event+1)%s.every == 0 || event+1 == s.events {
		s.points = append(s.points, s.worst)
		s.full = false
	}
}
