package budget

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/snapview/snapview/internal/units"
)

// A BatchQuestion asks how large a number may be for a step to fit a GPU.
type BatchQuestion struct {
	GPU      int64             // memory of the device, bytes
	Overhead int64             // of it, what PyTorch's allocator does not get: the CUDA context, libraries, other processes
	Over     string            // the key that is searched for; "" for batch
	Set      map[string]string // the other keys
	Step     int               // only multiples of this; 0 for 1
}

// A BatchAnswer says which values of the key fit. Memory is reserved memory where
// the points have it, else that of tensors.
type BatchAnswer struct {
	Over     string
	Usable   int64 // GPU less overhead
	Reserved bool  // what has to fit is reserved memory

	Safe   BatchLimit // the upper end of the interval fits
	Likely BatchLimit // the middle fits
	// Tensors: allocated memory alone fits, which no allocator setting goes beyond.
	Tensors BatchLimit

	Notes []string
}

// A BatchLimit is the largest value up to which everything fits, and the next,
// which does not.
type BatchLimit struct {
	Value int // 0: not even the smallest fits
	Fits  *Prediction
	Next  int // 0: the search ended first
	Fails *Prediction
}

// maxSearch is the largest value that is tried.
const maxSearch = 1 << 20

// MaxBatch finds the largest batch (or another number) that fits. The predicted peak
// bends where another moment of the step takes over, and the interval need not grow
// evenly, so every value around the answer is tried and not only those of a bisection.
func (m *MemoryModel) MaxBatch(q BatchQuestion) (BatchAnswer, error) {
	s, err := m.newSearch(q)
	if err != nil {
		return BatchAnswer{}, err
	}
	out := BatchAnswer{Over: s.key, Usable: q.GPU - q.Overhead, Reserved: m.Reserved != nil}
	limits := []struct {
		to   *BatchLimit
		need func(*Prediction) int64
	}{{&out.Safe, needHigh}, {&out.Likely, needMiddle}, {&out.Tensors, func(p *Prediction) int64 { return p.Peak }}}
	for _, l := range limits {
		if *l.to, err = s.limit(func(p *Prediction) bool { return l.need(p) <= out.Usable }); err != nil {
			return out, err
		}
	}
	if m.Reserved == nil {
		out.Notes = append(out.Notes, "the points do not have reserved memory: what the allocator holds beyond tensors is not counted")
	}
	if last := out.Likely; last.Fits != nil && last.Fits.Extrapolated {
		out.Notes = append(out.Notes, fmt.Sprintf("%s %s lies outside of the points: measure it before relying on it", s.key, units.Count(last.Value)))
	}
	return out, nil
}

func needMiddle(p *Prediction) int64 {
	if p.Reserved != nil {
		return p.Reserved.Bytes
	}
	return p.Peak
}

func needHigh(p *Prediction) int64 {
	if p.Reserved != nil {
		return max(p.Reserved.High, p.High)
	}
	return p.High
}

// Judge says whether a prediction fits.
func (a *BatchAnswer) Judge(p *Prediction) string {
	switch {
	case needHigh(p) <= a.Usable:
		return "safe"
	case needMiddle(p) <= a.Usable:
		return "likely to fit"
	case p.Peak <= a.Usable:
		return "only tensors fit"
	}
	return "does not fit"
}

// A batchSearch tries values of one key.
type batchSearch struct {
	m     *MemoryModel
	key   string
	step  int
	place Place
	tried map[int]*Prediction
}

func (m *MemoryModel) newSearch(q BatchQuestion) (*batchSearch, error) {
	s := &batchSearch{m: m, key: keyBatch, step: max(1, q.Step), tried: map[int]*Prediction{}}
	if q.Over != "" {
		s.key = keyName(q.Over)
	}
	if q.Overhead < 0 || q.GPU <= q.Overhead {
		return nil, fmt.Errorf("a GPU of %s with %s outside of PyTorch leaves nothing", units.Bytes(q.GPU), units.Bytes(q.Overhead))
	}
	var err error
	s.place, err = m.placeOver(s.key, q.Set)
	return s, err
}

// placeOver is a place but for one number, whose value is to be varied.
func (m *MemoryModel) placeOver(key string, set map[string]string) (Place, error) {
	number := false
	for _, k := range m.keys {
		number = number || k.Name == key && k.Words == nil
	}
	if !number {
		return Place{}, fmt.Errorf("%s: not a number of the points, whose keys are %s", units.Safe(key), keyList(m.keys))
	}
	with := maps.Clone(set)
	if with == nil {
		with = map[string]string{}
	}
	for name := range set {
		if keyName(name) == key {
			return Place{}, fmt.Errorf("%s: is what varies; leave it out of the given keys", units.Safe(name))
		}
	}
	with[key] = "1"
	return m.Place(with)
}

// with is the place at a value of the key. Parameters that follow from other keys
// follow that value too.
func (p Place) with(m *MemoryModel, key string, v float64) Place {
	out := Place{Numbers: maps.Clone(p.Numbers), Words: p.Words, Assumed: p.Assumed}
	out.Numbers[key] = v
	if p.derived {
		out.Numbers[keyParams] = m.paramsOf(out.Numbers)
	}
	return out
}

func (s *batchSearch) at(v int) (*Prediction, error) {
	if p := s.tried[v]; p != nil {
		return p, nil
	}
	p, err := s.m.At(s.place.with(s.m, s.key, float64(v)))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.key, strconv.Itoa(v), err)
	}
	s.tried[v] = &p
	return &p, nil
}

// nearby is how many values below and above a bisection's answer are tried.
const nearby = 64

// limit finds the largest value up to which everything tried fits. The first to fail
// is bracketed by doubling and bisected; then all values near it are tried, down to
// as far as one of them fails.
func (s *batchSearch) limit(fits func(*Prediction) bool) (BatchLimit, error) {
	test := func(n int) (bool, error) {
		p, err := s.at(n * s.step)
		return err == nil && fits(p), err
	}
	low, high := 0, 1 // in steps: low fits, high does not
	for {
		ok, err := test(high)
		if err != nil {
			return BatchLimit{}, err
		}
		if !ok {
			break
		}
		low = high
		if high*2*s.step > maxSearch {
			return s.answer(low, 0), nil
		}
		high *= 2
	}
	for high-low > 1 {
		middle := (low + high) / 2
		ok, err := test(middle)
		if err != nil {
			return BatchLimit{}, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	for n := max(1, low-nearby); n <= low; n++ {
		ok, err := test(n)
		if err != nil {
			return BatchLimit{}, err
		}
		if !ok {
			low, high = n-1, n
		}
	}
	return s.answer(low, high), nil
}

func (s *batchSearch) answer(low, high int) BatchLimit {
	l := BatchLimit{Value: low * s.step, Next: high * s.step}
	if low > 0 {
		l.Fits = s.tried[l.Value]
	}
	if high > 0 {
		l.Fails = s.tried[l.Next]
	}
	return l
}

// Short is by how much the smallest value does not fit, 0 when it does.
func (a *BatchAnswer) Short() int64 {
	if a.Likely.Value > 0 || a.Likely.Fails == nil {
		return 0
	}
	return max(0, needMiddle(a.Likely.Fails)-a.Usable)
}
