package value

import "github.com/snapview/snapview/internal/hugepage"

// Pages is a growing array that never moves what it holds: no copy while it
// grows, and no memory beyond its last page. T has no pointers. The zero value is
// empty.
type Pages[T any] struct {
	pages [][]T
	last  []T
	spare []T // whole pages that are not yet in use
}

const (
	pageBits = 15
	pageSize = 1 << pageBits
	// pagesAtOnce are made together from the third page on, so that huge pages
	// may be behind them. What is not written to takes no memory.
	pagesAtOnce = 32
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
		if len(p.spare) == 0 {
			p.spare = p.morePages(n)
		}
		p.last, p.spare = p.spare[:0:pageSize], p.spare[pageSize:]
		p.pages = append(p.pages, p.last[:pageSize])
	}
}

func (p *Pages[T]) morePages(have int) []T {
	if have < 2 {
		return make([]T, pageSize)
	}
	pages := make([]T, pagesAtOnce*pageSize)
	hugepage.Advise(pages[:0])
	return pages
}

// At returns a pointer to element i, which must be below Len.
func (p *Pages[T]) At(i int) *T { return &p.pages[i>>pageBits][i&(pageSize-1)] }
