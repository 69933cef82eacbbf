package profiler

import (
	"errors"
	"fmt"
	"io"

	"github.com/snapview/snapview/internal/input"
)

// A MemoryTimeline is what export_memory_timeline wrote: the memory of one
// device by category over time.
type MemoryTimeline struct {
	Name   string
	Raw    bool // from a .raw.json.gz: times in ns and every event; else µs and one point per time
	Points []CategoryPoint

	// Peak is the index of the first point with the most bytes in all.
	Peak int

	// Negative counts points in which a category is below zero: the profiler
	// lost track of a tensor there.
	Negative int
	Partial  error // the file ended early
}

// CategoryPoint is the memory of each category from a time on, in bytes.
type CategoryPoint struct {
	Time  int64 // ns since the epoch
	Bytes [NumCategories]int64
}

// Total is the sum of all categories.
func (p *CategoryPoint) Total() int64 {
	var n int64
	for _, b := range p.Bytes {
		n += b
	}
	return n
}

// timelineOrder is the order of categories in both layouts, from _CATEGORY_TO_INDEX
// in torch/profiler/_memory_profiler.py.
var timelineOrder = [...]Category{CategoryParameter, CategoryOptimizerState, CategoryInput, CategoryTemporary,
	CategoryActivation, CategoryGradient, CategoryAutogradDetail, CategoryUnknown}

// Actions of the raw layout.
const (
	actionPreexisting = 1
	actionCreate      = 2
	actionVersion     = 3
	actionDestroy     = 4
)

// ErrNotTimeline is wrapped by the error for a file that is something else.
var ErrNotTimeline = errors.New("not a memory timeline")

// MaxTimeline is the highest number of points of a timeline.
const MaxTimeline = 1 << 26

// ReadTimeline reads a file of export_memory_timeline: .json, .json.gz or
// .raw.json.gz; "-" is standard input. The HTML form holds a picture only.
func ReadTimeline(path string) (*MemoryTimeline, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTimelineFrom(f)
}

// ReadTimelineFrom is ReadTimeline for a file that is open already.
func ReadTimelineFrom(f *input.File) (*MemoryTimeline, error) {
	tl := &MemoryTimeline{Name: f.Name}
	r := newReader(f, Options{})
	var err error
	switch f.Kind {
	case input.MemoryTimelineRaw:
		tl.Raw = true
		err = tl.readRaw(r)
	case input.MemoryTimeline:
		err = tl.readCurve(r)
	default:
		return nil, &Error{f.Name, fmt.Errorf(`%w: it is %s; write one with prof.export_memory_timeline("timeline.raw.json.gz")`,
			ErrNotTimeline, f.Kind.Describe())}
	}
	if r.err != nil && r.err != io.EOF {
		err = r.err // a broken gzip says more than where the text ended
	}
	if err != nil && len(tl.Points) == 0 {
		return nil, &Error{f.Name, err}
	}
	tl.Partial = err
	tl.summarise()
	return tl, nil
}

// summarise finds the peak and what cannot be.
func (tl *MemoryTimeline) summarise() {
	var most int64
	for i := range tl.Points {
		p := &tl.Points[i]
		if n := p.Total(); i == 0 || n > most {
			most, tl.Peak = n, i
		}
		for _, b := range p.Bytes {
			if b < 0 {
				tl.Negative++
				break
			}
		}
	}
}

// list calls item for each item of the list that comes next.
func (r *reader) list(item func() error) error {
	if !r.next('[') {
		return r.unexpected("list")
	}
	if r.next(']') {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.s.pos++
		case ']':
			r.s.pos++
			return nil
		default:
			return r.unexpected("comma or end of a list")
		}
	}
}

func (r *reader) unexpected(want string) error {
	if r.peek() == 0 {
		return fmt.Errorf("the file ends early, at byte %d: %w", r.s.offset(), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("there is no %s at byte %d", want, r.s.offset())
}

// integer reads the number that comes next.
func (r *reader) integer() (n int64, err error) {
	ok := false
	if r.scan(func() bool {
		b, good := r.s.bare()
		if good {
			n, ok = integer(b)
		}
		return good
	}) && ok {
		return n, nil
	}
	return 0, r.unexpected("number")
}

// numbers reads a list of exactly len(into) numbers.
func (r *reader) numbers(into []int64) error {
	n := 0
	err := r.list(func() (err error) {
		if n == len(into) {
			return r.unexpected(fmt.Sprintf("end of a list of %d numbers", n))
		}
		into[n], err = r.integer()
		n++
		return err
	})
	if err == nil && n < len(into) {
		return fmt.Errorf("a list of %d numbers at byte %d should have %d", n, r.s.offset(), len(into))
	}
	return err
}

// readRaw reads [[ns, action, bytes, category], …]. What was there before has
// no time: it is put at the first time, as PyTorch itself does.
func (tl *MemoryTimeline) readRaw(r *reader) error {
	var now [NumCategories]int64
	waiting := false // memory that existed before waits for a time
	add := func(time int64, version bool) {
		// A change of category is two entries: the point between is no state.
		if n := len(tl.Points); version && n > 0 && tl.Points[n-1].Time == time {
			tl.Points[n-1].Bytes = now
			return
		}
		tl.Points = append(tl.Points, CategoryPoint{time, now})
	}
	err := r.list(func() error {
		var e [4]int64
		if err := r.numbers(e[:]); err != nil {
			return err
		}
		time, action, bytes, category := e[0], e[1], e[2], e[3]
		if category < 0 || category >= int64(len(timelineOrder)) || action < actionPreexisting || action > actionDestroy {
			return fmt.Errorf("there is no action %d on category %d at byte %d", action, category, r.s.offset())
		}
		if len(tl.Points) == MaxTimeline {
			return fmt.Errorf("the timeline has more than %d points", MaxTimeline)
		}
		if time < 0 {
			now[timelineOrder[category]] = addBytes(now[timelineOrder[category]], bytes)
			waiting = true
			return nil
		}
		if waiting {
			// A point of its own: the peak may be before the first event.
			tl.Points = append(tl.Points, CategoryPoint{time, now})
			waiting = false
		}
		now[timelineOrder[category]] = addBytes(now[timelineOrder[category]], bytes)
		add(time, action == actionVersion)
		return nil
	})
	if waiting {
		tl.Points = append(tl.Points, CategoryPoint{0, now})
	}
	return err
}

// readCurve reads [times, sizes]: µs, and per time a constant 0 and the bytes
// of each category.
func (tl *MemoryTimeline) readCurve(r *reader) error {
	if !r.next('[') {
		return r.unexpected("list")
	}
	err := r.list(func() error {
		if len(tl.Points) == MaxTimeline {
			return fmt.Errorf("the timeline has more than %d points", MaxTimeline)
		}
		us, err := r.integer()
		if err == nil {
			tl.Points = append(tl.Points, CategoryPoint{Time: us * 1000})
		}
		return err
	})
	if err == nil && !r.next(',') {
		err = r.unexpected("list of sizes behind the times")
	}
	n := 0
	if err == nil {
		err = r.list(func() error {
			var row [len(timelineOrder) + 1]int64
			if n == len(tl.Points) {
				return r.unexpected(fmt.Sprintf("end of %d sizes, one for each time", n))
			}
			if err := r.numbers(row[:]); err != nil {
				return err
			}
			for k, c := range timelineOrder {
				tl.Points[n].Bytes[c] = row[k+1]
			}
			n++
			return nil
		})
	}
	if err == nil && n < len(tl.Points) {
		err = fmt.Errorf("the timeline has %d times and %d sizes", len(tl.Points), n)
	}
	tl.Points = tl.Points[:n]
	return err
}
