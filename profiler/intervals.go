package profiler

import (
	"cmp"
	"slices"
)

// An interval is [start, end) in ns.
type interval struct{ start, end int64 }

// intervals are apart and in order of time.
type intervals []interval

// union merges spans that overlap or touch. It sorts its argument.
func union(spans []interval) intervals {
	slices.SortFunc(spans, func(a, b interval) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	var out intervals
	for _, s := range spans {
		if s.end <= s.start {
			continue
		}
		if n := len(out); n > 0 && s.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}

// length is the time covered.
func (v intervals) length() int64 {
	var n int64
	for _, s := range v {
		n += s.end - s.start
	}
	return n
}

// overlap is the time covered by both.
func (v intervals) overlap(w intervals) int64 {
	var n int64
	for i, j := 0, 0; i < len(v) && j < len(w); {
		if both := min(v[i].end, w[j].end) - max(v[i].start, w[j].start); both > 0 {
			n += both
		}
		if v[i].end < w[j].end {
			i++
		} else {
			j++
		}
	}
	return n
}

// within is the time covered between start and end.
func (v intervals) within(start, end int64) int64 {
	at, _ := slices.BinarySearchFunc(v, start, func(s interval, t int64) int { return cmp.Compare(s.end, t) })
	var n int64
	for ; at < len(v) && v[at].start < end; at++ {
		n += max(0, min(v[at].end, end)-max(v[at].start, start))
	}
	return n
}
