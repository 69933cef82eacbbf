package value

// Strings stores each distinct string once. The zero value is ready for use.
type Strings struct {
	byText map[string]uint32
	texts  []string
	// recent is a direct-mapped cache in front of the map: files repeat a few
	// short strings ("alloc", "N/A", "") millions of times.
	recent [256]uint32
}

// Intern returns the number of the string with these bytes.
func (s *Strings) Intern(b []byte) uint32 {
	slot := &s.recent[slotOf(b)]
	if n := *slot; n != 0 && s.texts[n-1] == string(b) {
		return n - 1
	}
	id, ok := s.byText[string(b)]
	if !ok {
		id = s.add(string(b))
	}
	*slot = id + 1
	return id
}

// InternString is Intern for a string.
func (s *Strings) InternString(t string) uint32 {
	if id, ok := s.byText[t]; ok {
		return id
	}
	return s.add(t)
}

func (s *Strings) add(t string) uint32 {
	if s.byText == nil {
		s.byText = make(map[string]uint32)
	}
	id := uint32(len(s.texts))
	s.texts = append(s.texts, t)
	s.byText[t] = id
	return id
}

func slotOf(b []byte) uint8 {
	n := len(b)
	if n == 0 {
		return 0
	}
	return uint8(n)*31 + b[0]*7 + b[n/2]*3 + b[n-1]
}

// Find returns the number of a string that was interned before.
func (s *Strings) Find(t string) (uint32, bool) {
	id, ok := s.byText[t]
	return id, ok
}

// Text returns the string with number id.
func (s *Strings) Text(id uint32) string { return s.texts[id] }

// Len returns the number of distinct strings.
func (s *Strings) Len() int { return len(s.texts) }
