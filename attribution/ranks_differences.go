package attribution

import (
	"cmp"
	"slices"
)

// RankDifference is a number of every rank and how far it lies from the median
// of the ranks with equal parameters.
type RankDifference struct {
	Name   string   // as RankNumber.Name, the category, or "line"
	Line   RankLine // when Name is "line"
	Values []int64  // bytes, by index into RankSet.Rows
	Above  []int64  // bytes above the median, negative below
}

// Differences are the numbers in which ranks differ: the peaks, the categories
// and at most lines lines of code, those first that differ most.
func (r *RankReport) Differences(lines int) []RankDifference {
	reserved, requested := "peak_reserved_bytes", "peak_requested_bytes"
	if r.At == "end" {
		reserved, requested = "reserved_bytes", "requested_bytes"
	}
	out := []RankDifference{
		r.difference(reserved, func(i int) int64 { return r.Rows[i].PeakReserved }),
		r.difference(requested, func(i int) int64 { return r.Totals(i).Sum() }),
	}
	for _, n := range r.Categories {
		if k, err := ParseCategory(n.Name); err == nil && n.Max > n.Min {
			out = append(out, r.difference(n.Name, func(i int) int64 { return r.Totals(i)[k] }))
		}
	}
	differ := slices.Clone(r.Lines)
	slices.SortStableFunc(differ, func(a, b MergedLine) int { return cmp.Compare(b.Max-b.Min, a.Max-a.Min) })
	differ = differ[:min(len(differ), lines)]
	bytes := r.bytesOf(differ)
	for _, l := range differ {
		if l.Max > l.Min {
			d := r.difference("line", func(i int) int64 { return bytes[l.place()][i] })
			d.Line = l.RankLine
			out = append(out, d)
		}
	}
	return out
}

// bytesOf are what every row holds of some lines.
func (r *RankReport) bytesOf(lines []MergedLine) map[placeKey][]int64 {
	out := map[placeKey][]int64{}
	for _, l := range lines {
		out[l.place()] = make([]int64, len(r.Rows))
	}
	for i := range r.Rows {
		for _, l := range r.LinesOf(i) {
			if bytes := out[l.place()]; bytes != nil {
				bytes[i] = l.Bytes
			}
		}
	}
	return out
}

func (r *RankReport) difference(name string, value func(row int) int64) RankDifference {
	d := RankDifference{Name: name, Values: make([]int64, len(r.Rows)), Above: make([]int64, len(r.Rows))}
	for i := range r.Rows {
		d.Values[i] = value(i)
	}
	for _, g := range r.Groups {
		median := lowerMedian(g.Rows, value)
		for _, i := range g.Rows {
			d.Above[i] = d.Values[i] - median
		}
	}
	return d
}
