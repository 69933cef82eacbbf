package attribution

import (
	"slices"
)

// ownSegmentSize is from which size on the caching allocator gives a block a
// segment of its own (kMinLargeAlloc): its position says nothing.
const ownSegmentSize = 10 << 20

func ownsSegment(size int64) bool { return size >= ownSegmentSize }

// blockUnit is what the caching allocator rounds sizes up to (kMinBlockSize).
const blockUnit = 512

// constructionShare is the share of old bytes in a construction's layout from
// which on all of it counts as constructed.
const constructionShare = .93

// A layout says how old memory lies in its segments. A model is built before
// anything is freed, so its tensors fill fresh segments from the base on, one
// after another, without a hole and without slack.
type layout struct {
	prefixes [][]int32      // per segment, what lies so at its base: allocations in address order
	within   map[int32]bool // all of these
	share    float64        // their share of the bytes, blocks with a segment of their own aside
	bytes    int64          // all bytes that share is of
}

func newLayout(w *work, old []int32) *layout {
	l := &layout{within: map[int32]bool{}}
	d := w.time.Device
	byBlock := make([]int32, len(d.Blocks)) // allocation + 1
	for _, i := range old {
		if b := w.allocs[i].Block; b >= 0 && int(b) < len(byBlock) {
			byBlock[b] = i + 1
		}
		if size := w.allocs[i].Requested; !ownsSegment(size) && !isHandleSize(size) {
			l.bytes += size
		}
	}
	for s := range d.Segments {
		if prefix := w.prefix(byBlock, int(d.Segments[s].FirstBlock), int(d.Segments[s].NumBlocks)); len(prefix) > 0 {
			l.prefixes = append(l.prefixes, prefix)
		}
	}
	var inside int64
	for _, prefix := range l.prefixes {
		for _, i := range prefix {
			l.within[i] = true
			if size := w.allocs[i].Requested; !ownsSegment(size) {
				inside += size
			}
		}
	}
	l.bytes = max(l.bytes, 1)
	l.share = float64(inside) / float64(l.bytes)
	return l
}

// prefix returns the old allocations at the base of a segment up to the first
// hole, younger block or slack.
func (w *work) prefix(byBlock []int32, first, n int) (prefix []int32) {
	for b := first; b < first+n && b < len(byBlock) && byBlock[b] != 0; b++ {
		i := byBlock[b] - 1
		prefix = append(prefix, i)
		a := &w.allocs[i]
		if a.Size-max(a.Requested, 1) >= blockUnit || a.Size < a.Requested {
			break
		}
	}
	return prefix
}

func (l *layout) inPrefix(i int) bool { return l.within[int32(i)] }

// generationCounts are how many tensors of a parameter's size there can be per
// parameter: with Adam's two states, with one state, with two and a copy.
var generationCounts = [...]int{3, 2, 4}

const (
	multipleShare = .97  // share of bytes whose counts must be multiples
	namedBonus    = .02  // for the number that the annotations' optimizer asks for
	betterBy      = .005 // by what a later number must be better
	pairedShare   = .3   // share of bytes in pairs from which on Adam's states are seen
)

// fromCounts finds the parameters' sizes from counts alone: if all are multiples
// of a number, that is how many generations there are. Other numbers are
// multiples by chance, so the layout must show more than one generation too.
func (o *olderWork) fromCounts() {
	counted := sizes{}
	for size, n := range o.count {
		if size > counterSize {
			counted[size] = n
		}
	}
	k, fit := o.bestMultiple(counted)
	if k == 0 || !o.severalGenerations(k, fit, len(counted)) {
		return
	}
	for size, n := range counted {
		if n >= k && (!isHandleSize(size) || n%k == 0 && n > 2) {
			o.want[size] = n / k
		}
	}
	if len(o.want) > 0 {
		o.source = fromMultiples
	}
}

func (o *olderWork) bestMultiple(counted sizes) (best int, fit float64) {
	var total int64
	for size, n := range counted {
		if !isWorkspaceSize(size) {
			total += size * int64(n)
		}
	}
	for _, k := range generationCounts {
		var fits int64
		for size, n := range counted {
			// One more of a small size is a buffer or a scalar.
			if !isWorkspaceSize(size) && (n%k == 0 || n%k == 1 && n > k && size < smallSize) {
				fits += size * int64(n)
			}
		}
		f := float64(fits) / float64(max(total, 1))
		if k == 2 && o.named("SGD", "Lion", "Muon", "RMSprop", "Adagrad") || k == 3 && o.namedAdam() {
			f += namedBonus
		}
		if f >= multipleShare && (best == 0 || f > fit+betterBy) {
			best, fit = k, f
		}
	}
	return best, fit
}

func (o *olderWork) named(kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(k string) bool { return o.history.kinds[k] })
}

func (o *olderWork) namedAdam() bool { return o.named("Adam", "AdamW", "NAdam", "RAdam") }

// severalGenerations reports whether the layout proves more than a construction.
func (o *olderWork) severalGenerations(k int, fit float64, different int) bool {
	return different >= 2 && o.layout.share < constructionShare ||
		k == 3 && different >= 4 && o.pairedShare() > pairedShare ||
		k == 3 && different >= 6 && fit >= .999 && o.namedAdam()
}

// pairedShare is the share of bytes in prefixes whose neighbours go two by two:
// Adam makes exp_avg and exp_avg_sq of a parameter side by side.
func (o *olderWork) pairedShare() float64 {
	var paired int64
	for _, prefix := range o.layout.prefixes {
		if len(prefix) >= minSeed && o.pairedness(prefix) >= .95 {
			for _, i := range prefix {
				paired += o.allocs[i].Requested
			}
		}
	}
	return float64(paired) / float64(o.layout.bytes)
}

// pairedness is the share of a prefix's bytes in pairs of equal sizes, counted
// from its first or second block, whichever gives more.
func (o *olderWork) pairedness(prefix []int32) float64 {
	var total, best int64
	for _, i := range prefix {
		total += o.allocs[i].Requested
	}
	for start := range 2 {
		var equal int64
		for k := start; k+1 < len(prefix); k++ {
			if size := o.allocs[prefix[k]].Requested; size == o.allocs[prefix[k+1]].Requested {
				equal += 2 * size
				k++
			}
		}
		best = max(best, equal)
	}
	return float64(best) / float64(max(total, 1))
}
