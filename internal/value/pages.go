package value

import "github.com/snapview/snapview/internal/prefault"

// Pages is a growing array that never moves what it holds: no copy while it
// grows, and little memory beyond its last page. The zero value is empty.
type Pages[T any] struct {
	pages [][]T
	last  []T
	spare []T // pages for later
	ahead []T // and those for after them
}

const (
	pageBits   = 15
	pageSize   = 1 << pageBits
	pagesAhead = 8
)

// Len returns the number of elements.
func (p *Pages[T]) Len() int {
	if len(p.pages) == 0 {
		return 0
	}
	return (len(p.pages)-1)<<pageBits + len(p.last)
}

// Append adds x at the end.
func (p *Pages[T]) Append(x T) {
	if len(p.last) == cap(p.last) {
		p.grow()
	}
	p.last = append(p.last, x)
}

// grow makes room: the first page grows by doubling, since most files are
// small, and later ones come whole.
func (p *Pages[T]) grow() {
	const first = 64
	switch n := len(p.pages); {
	case n == 0:
		p.last = make([]T, 0, first)
		p.pages = append(p.pages, p.last[:first])
	case n == 1 && cap(p.last) < pageSize:
		bigger := make([]T, len(p.last), 2*cap(p.last))
		copy(bigger, p.last)
		p.last = bigger
		p.pages[0] = bigger[:cap(bigger)]
	default:
		page := p.nextPage()
		p.last = page[:0]
		p.pages = append(p.pages, page)
	}
}

// nextPage returns a new page. Of a long array, the memory for the pages after it
// is prepared meanwhile.
func (p *Pages[T]) nextPage() []T {
	if len(p.spare) == 0 {
		p.spare, p.ahead = p.ahead, nil
		if len(p.pages) >= pagesAhead {
			p.ahead = make([]T, pagesAhead*pageSize)
			prefault.Soon(p.ahead)
		}
	}
	if len(p.spare) == 0 {
		return make([]T, pageSize)
	}
	page := p.spare[:pageSize:pageSize]
	p.spare = p.spare[pageSize:]
	return page
}

// At returns a pointer to element i, which must be below Len.
func (p *Pages[T]) At(i int) *T { return &p.pages[i>>pageBits][i&(pageSize-1)] }
