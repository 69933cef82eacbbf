package main

import (
	"math"

	"github.com/snapview/snapview/attribution"
)

// ranksJSON is the JSON of ranks; bytes unless named otherwise.
type ranksJSON struct {
	Kind       string              `json:"kind"`
	At         string              `json:"at"`
	Moment     string              `json:"moment,omitempty"` // the snapshots chosen, as their files are named
	Moments    []rankMomentJSON    `json:"moments"`
	Summary    []string            `json:"summary"`
	AllRanks   int                 `json:"total_ranks"`
	Ranks      []rankJSON          `json:"ranks"`
	Unreadable []rankFailureJSON   `json:"unreadable"`
	Skipped    map[string]int      `json:"skipped_files"`
	Missing    []int               `json:"missing_ranks"`
	MissingIn  []string            `json:"missing_places,omitempty"`
	Limiting   *int                `json:"limiting_row"`
	LimitingID string              `json:"limiting_label,omitempty"`
	Spread     rankSpreadJSON      `json:"spread"`
	Outliers   []rankOutlierJSON   `json:"outliers"`
	Groups     []rankGroupJSON     `json:"groups"`
	Numbers    map[string]rankStat `json:"numbers"`
	Categories map[string]rankStat `json:"categories"`
	AllLines   int                 `json:"total_lines"` // before -n
	Lines      []rankLineJSON      `json:"lines"`
	Notes      []string            `json:"notes,omitempty"`
}

type rankMomentJSON struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
}

// rankJSON is one rank.
type rankJSON struct {
	Row         int              `json:"row"`
	Label       string           `json:"label"`
	Rank        *int             `json:"rank"` // null when only a place on a machine or in a grid is known
	Basis       string           `json:"rank_from"`
	Node        string           `json:"node,omitempty"`
	Local       *int             `json:"local_rank,omitempty"`
	Coordinates map[string]int   `json:"coordinates,omitempty"`
	File        string           `json:"file"`
	Device      int              `json:"device"`
	Stray       bool             `json:"stray,omitempty"`
	History     string           `json:"history"`
	Partial     string           `json:"partial,omitempty"`
	Peak        *rankPeakJSON    `json:"peak,omitempty"`
	Requested   int64            `json:"requested_bytes"`
	Allocated   int64            `json:"allocated_bytes"`
	Reserved    int64            `json:"reserved_bytes"`
	Split       int64            `json:"inactive_split_bytes"`
	OOMs        int              `json:"ooms"`
	Categories  map[string]int64 `json:"categories"`
	Total       int64            `json:"total_bytes"`
}

type rankPeakJSON struct {
	Requested int64 `json:"requested_bytes"`
	Reserved  int64 `json:"reserved_bytes"`
	AtLeast   bool  `json:"lower_bound,omitempty"`
}

type rankFailureJSON struct {
	Label string `json:"label"`
	Rank  *int   `json:"rank"`
	File  string `json:"file"`
	Error string `json:"error"`
}

// rankStat is a number over all ranks.
type rankStat struct {
	Sum    int64 `json:"sum_bytes"`
	Min    int64 `json:"min_bytes"`
	Median int64 `json:"median_bytes"`
	Max    int64 `json:"max_bytes"`
	MinRow int   `json:"min_row"`
	MaxRow int   `json:"max_row"`
}

type rankLineJSON struct {
	File     string `json:"file"`
	Line     int32  `json:"line"`
	Function string `json:"function"`
	Category string `json:"category"`
	Sum      int64  `json:"sum_bytes"`
	Count    int    `json:"count"`
	Ranks    int    `json:"ranks"`
	Min      int64  `json:"min_bytes"`
	Median   int64  `json:"median_bytes"`
	Max      int64  `json:"max_bytes"`
	MaxRow   int    `json:"max_row"`
}

// rankDeltaJSON is a line in two ranks.
type rankDeltaJSON struct {
	File      string `json:"file"`
	Line      int32  `json:"line"`
	Function  string `json:"function"`
	Category  string `json:"category"`
	Bytes     int64  `json:"bytes"`
	Reference int64  `json:"reference_bytes"`
	Delta     int64  `json:"delta_bytes"`
}

type rankSpreadJSON struct {
	High       int              `json:"high_row"`
	Low        int              `json:"low_row"`
	Bytes      int64            `json:"bytes"`
	Categories map[string]int64 `json:"categories"`
	Lines      []rankDeltaJSON  `json:"lines"`
}

type rankOutlierJSON struct {
	Row        int                 `json:"row"` // the first of rows, which the numbers are of
	Rows       []int               `json:"rows"`
	Label      string              `json:"label"`
	Rank       *int                `json:"rank"`
	Reference  int                 `json:"reference_row"`
	Pair       bool                `json:"pair,omitempty"`
	Text       string              `json:"text"`
	Delta      int64               `json:"delta_bytes"`
	Reserved   int64               `json:"reserved_delta_bytes"`
	Deviations []rankDeviationJSON `json:"deviations"`
	Categories map[string]int64    `json:"categories"`
	AllLines   int                 `json:"total_lines"`
	Lines      []rankDeltaJSON     `json:"lines"`
}

type rankDeviationJSON struct {
	What     string   `json:"what"`
	File     string   `json:"file,omitempty"`
	Line     int32    `json:"line,omitempty"`
	Function string   `json:"function,omitempty"`
	Value    int64    `json:"value_bytes"`
	Median   int64    `json:"median_bytes"`
	Score    *float64 `json:"score"`
}

type rankGroupJSON struct {
	Name       string `json:"name"`
	Rows       []int  `json:"rows"`
	Parameters int64  `json:"parameter_bytes"`
	Reference  int    `json:"reference_row"`
	OfKind     bool   `json:"other_kind,omitempty"`
}

func newRanksJSON(r *attribution.RankReport, o *ranksOptions) ranksJSON {
	out := ranksJSON{
		Kind: "ranks", At: r.At, Moment: r.Moment, Moments: []rankMomentJSON{}, Summary: r.Summary, AllRanks: len(r.Rows), Ranks: []rankJSON{},
		Unreadable: []rankFailureJSON{}, Skipped: r.Skipped, Missing: append([]int{}, r.MissingRanks...), MissingIn: r.Missing,
		Outliers: []rankOutlierJSON{}, Groups: []rankGroupJSON{}, Numbers: rankStats(r.Numbers), Categories: rankStats(r.Categories),
		AllLines: len(r.Lines), Lines: []rankLineJSON{}, Notes: ranksNotes(r),
	}
	if len(r.Rows) > 1 {
		out.Limiting, out.LimitingID = &r.Limiting, r.Rows[r.Limiting].Label
	}
	for _, m := range r.Moments {
		if m.Name != "" {
			out.Moments = append(out.Moments, rankMomentJSON(m))
		}
	}
	every := len(r.Rows)
	if o.rows.given {
		every = o.rows.limit(every)
	}
	for i := range r.Rows[:every] {
		out.Ranks = append(out.Ranks, newRankJSON(r, i))
	}
	for _, f := range r.Failed {
		out.Unreadable = append(out.Unreadable, rankFailureJSON{f.Label, orNull(f.ID.Rank), f.File, f.Err.Error()})
	}
	out.Spread = rankSpreadJSON{r.Spread.High, r.Spread.Low, r.Spread.Bytes, deltaMap(r.Spread.Categories), rankDeltas(r.Spread.Lines, o)}
	for i := range r.Outliers {
		out.Outliers = append(out.Outliers, newRankOutlierJSON(r, &r.Outliers[i], o))
	}
	for _, g := range r.Groups {
		out.Groups = append(out.Groups, rankGroupJSON(g))
	}
	for _, l := range r.Lines[:o.rows.limit(len(r.Lines))] {
		out.Lines = append(out.Lines, rankLineJSON{l.File, l.Line, l.Function, l.Category.String(), l.Bytes, l.Count, l.Ranks, l.Min, l.Median, l.Max, l.MaxRow})
	}
	return out
}

func newRankJSON(r *attribution.RankReport, i int) rankJSON {
	row := &r.Rows[i]
	out := rankJSON{
		Row: i, Label: row.Label, Rank: orNull(row.ID.Rank), Basis: row.Basis.String(), Node: row.ID.Node, Local: orNull(row.ID.Local),
		File: row.File, Device: row.Device, Stray: row.Stray, History: row.History.String(), Partial: row.Partial,
		Requested: row.End.Requested, Allocated: row.End.Allocated, Reserved: row.End.Reserved, Split: row.End.InactiveSplit,
		OOMs: row.OOMs, Categories: map[string]int64{}, Total: r.Totals(i).Sum(),
	}
	for _, a := range row.ID.Axes {
		if out.Coordinates == nil {
			out.Coordinates = map[string]int{}
		}
		out.Coordinates[a.Name] = a.Index
	}
	if row.HasPeak {
		out.Peak = &rankPeakJSON{row.PeakRequested, row.PeakReserved, row.AtLeast}
	}
	for _, c := range attribution.Categories() {
		if n := r.Totals(i)[c]; n != 0 {
			out.Categories[c.String()] = n
		}
	}
	return out
}

// orNull is a number that may not be known.
func orNull(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

func rankStats(list []attribution.RankNumber) map[string]rankStat {
	out := map[string]rankStat{}
	for _, n := range list {
		out[n.Name] = rankStat{n.Sum, n.Min, n.Median, n.Max, n.MinRow, n.MaxRow}
	}
	return out
}

func deltaMap(list []attribution.CategoryDelta) map[string]int64 {
	out := map[string]int64{}
	for _, d := range list {
		out[d.Category.String()] = d.Delta
	}
	return out
}

func rankDeltas(list []attribution.RankDelta, o *ranksOptions) []rankDeltaJSON {
	out := []rankDeltaJSON{}
	for _, l := range list[:o.rows.limit(len(list))] {
		out = append(out, rankDeltaJSON{l.File, l.Line, l.Function, l.Category.String(), l.Here, l.There, l.Delta})
	}
	return out
}

func newRankOutlierJSON(r *attribution.RankReport, x *attribution.RankOutlier, o *ranksOptions) rankOutlierJSON {
	out := rankOutlierJSON{
		Row: x.Rows[0], Rows: x.Rows, Label: r.Rows[x.Rows[0]].Label, Rank: orNull(r.Rows[x.Rows[0]].ID.Rank), Reference: x.Reference, Pair: x.Pair, Text: r.OutlierText(x), Delta: x.Delta, Reserved: x.Reserved,
		Deviations: []rankDeviationJSON{}, Categories: deltaMap(x.Categories), AllLines: len(x.Lines), Lines: rankDeltas(x.Lines, o),
	}
	for _, d := range x.Deviations {
		j := rankDeviationJSON{d.What, d.Line.File, d.Line.Line, d.Line.Function, d.Value, d.Median, &d.Score}
		if math.IsInf(d.Score, 1) {
			j.Score = nil // JSON has no infinity
		}
		out.Deviations = append(out.Deviations, j)
	}
	return out
}
