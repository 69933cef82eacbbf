package attribution

import (
	"slices"
	"strconv"
)

// maxMissing bounds the lists of missing ranks: a single rank may have a high number.
const maxMissing = 1000

// findMissing finds gaps in what names count. A rank whose file could not be
// read is not missing.
func (r *RankReport) findMissing() {
	var ids []RankID
	for i := range r.Rows {
		if b := r.Rows[i].Basis; b == RankByName || b == RankByNumber {
			ids = append(ids, r.Rows[i].ID)
		}
	}
	for _, f := range r.Failed {
		ids = append(ids, f.ID)
	}
	var ranks []int
	locals := map[string][]int{}
	var grid []RankID
	for _, id := range ids {
		switch {
		case id.Rank >= 0:
			ranks = append(ranks, id.Rank)
		case id.Local >= 0:
			locals[id.Node] = append(locals[id.Node], id.Local)
		case len(id.Axes) > 1:
			grid = append(grid, id)
		}
	}
	r.MissingRanks = gaps(ranks, highest(ranks))
	r.missingLocals(locals)
	r.missingInGrid(grid)
}

func highest(list []int) int {
	if len(list) == 0 {
		return -1
	}
	return slices.Max(list)
}

// gaps are the numbers up to last that a list does not have. A list from 1 on
// without gaps counts from 1.
func gaps(list []int, last int) (out []int) {
	have := map[int]bool{}
	for _, n := range list {
		have[n] = true
	}
	first := 0
	if len(list) > 0 && slices.Min(list) == 1 && len(have) == last {
		first = 1
	}
	for n := first; n <= last && len(out) < maxMissing; n++ {
		if !have[n] {
			out = append(out, n)
		}
	}
	return out
}

// missingLocals finds GPUs of machines: each is taken to have as many as the
// one with the most.
func (r *RankReport) missingLocals(locals map[string][]int) {
	last := -1
	var nodes []string
	for node, list := range locals {
		nodes = append(nodes, node)
		last = max(last, highest(list))
	}
	slices.SortFunc(nodes, compareNatural)
	for _, node := range nodes {
		for _, n := range gaps(locals[node], last) {
			if len(r.Missing) < maxMissing {
				r.Missing = append(r.Missing, RankID{Rank: -1, Node: node, Local: n}.String())
			}
		}
	}
}

// missingInGrid finds combinations of coordinates that occur, but not together.
func (r *RankReport) missingInGrid(grid []RankID) {
	if len(grid) == 0 {
		return
	}
	names := grid[0].Axes
	values := make([][]int, len(names))
	have := map[string]bool{}
	size := 1
	for i, a := range names {
		for _, id := range grid {
			if v := id.axis(a.Name); v >= 0 && !slices.Contains(values[i], v) {
				values[i] = append(values[i], v)
			}
			have[id.String()] = true
		}
		slices.Sort(values[i])
		if size *= max(len(values[i]), 1); size > 1<<20 {
			return // no grid
		}
	}
	for n := range size {
		id := RankID{Rank: -1, Local: -1, Node: grid[0].Node, Axes: make([]RankAxis, len(names))}
		for i := len(names) - 1; i >= 0; i-- {
			id.Axes[i] = RankAxis{names[i].Name, values[i][n%len(values[i])]}
			n /= len(values[i])
		}
		if !have[id.String()] && len(r.Missing) < maxMissing {
			r.Missing = append(r.Missing, id.String())
		}
	}
}

// rankLabels are numbers as text.
func rankLabels(list []int) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = strconv.Itoa(n)
	}
	return out
}
