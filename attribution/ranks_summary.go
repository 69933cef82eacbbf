package attribution

import (
	"cmp"
	"slices"
	"unique"

	"github.com/snapview/snapview/snapshot"
)

// RankRow is what one rank held, in bytes, without the snapshot it was read
// from: thousands fit into memory.
type RankRow struct {
	ID     RankID
	Basis  RankBasis
	Label  string // ID, and the device where one process uses several
	File   string
	Device int

	// Stray is memory on a device that is another rank's own.
	Stray bool

	History snapshot.HistoryState
	Partial string         // why the file was not read to its end, "" when it was
	End     snapshot.Stats // at the dump

	// HasPeak: the history shows one. Without it the peaks are those of the dump.
	HasPeak       bool
	AtLeast       bool // the peaks may have been higher outside of what was recorded
	PeakRequested int64
	PeakReserved  int64
	OOMs          int // allocations that failed

	AtPeak, AtEnd       Totals     // requested bytes by category
	PeakLines, EndLines []RankLine // the same by line, most bytes first

	mark processMark
}

// RankLine is what a line of code holds.
type RankLine struct {
	File     string // "" for what has no line, as in snapshot.Row
	Line     int32
	Function string
	Category Category // of most of its bytes
	Bytes    int64
	Count    int
}

func (l *RankLine) place() placeKey { return placeKey{l.File, l.Line, l.Function} }

// OtherLines is the function of the row for small lines of a rank beyond maxRankLines.
const OtherLines = "(other lines)"

// maxRankLines bounds the lines kept of a rank. Programs have some hundred.
const maxRankLines = 500

// processMark tells processes apart: two snapshots whose histories begin with
// the same event, at the same µs and address, are of one process.
type processMark struct {
	first, last int64 // times in µs since the epoch; 0 when not known
	addr        uint64
	size        int64
}

// same reports whether two marks prove one process.
func (m processMark) same(o processMark) bool {
	return m.first != 0 && m.first == o.first && m.addr == o.addr && m.size == o.size
}

// overlaps reports whether two histories cover a common time.
func (m processMark) overlaps(o processMark) bool {
	return m.first != 0 && o.first != 0 && m.first <= o.last && o.first <= m.last
}

// RankRows summarises a snapshot: a row for each device that it holds memory or
// failed requests of, or for all when there is none.
func RankRows(s *snapshot.Snapshot) []RankRow {
	var rows, idle []RankRow
	for _, d := range s.Devices {
		row := newRankRow(s, d)
		if row.PeakReserved == 0 && row.PeakRequested == 0 && row.OOMs == 0 {
			idle = append(idle, row)
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return idle[:min(len(idle), 1)]
	}
	return rows
}

func newRankRow(s *snapshot.Snapshot, d *snapshot.Device) RankRow {
	t := s.Timeline(d)
	c := Classify(s, t)
	r := RankRow{
		ID: noRank, Device: d.Index, File: s.Source.Name, History: t.History, End: d.Stats(),
		HasPeak: t.History >= snapshot.HistoryTruncated,
		AtLeast: t.OpenEnd || t.History == snapshot.HistoryTruncated || t.History == snapshot.HistoryInconsistent,
		mark:    markOf(d),
	}
	if s.Partial != nil {
		r.Partial = s.Partial.Error()
	}
	for i := range d.Events {
		if d.Events[i].Action == snapshot.OOM {
			r.OOMs++
		}
	}
	end, _ := t.Moment("end") // there always is one
	r.AtEnd = c.At(end)
	r.EndLines = rankLines(c, end)
	r.AtPeak, r.PeakLines = r.AtEnd, r.EndLines
	r.PeakRequested, r.PeakReserved = t.EndRequested, t.EndReserved
	if r.HasPeak {
		peak := snapshot.Moment{Name: "peak", Event: t.Peak.Event, Time: t.Peak.Time}
		r.AtPeak, r.PeakLines = c.At(peak), rankLines(c, peak)
		r.PeakRequested, r.PeakReserved = t.Peak.Bytes, t.PeakReserved.Bytes
	}
	return r
}

func markOf(d *snapshot.Device) processMark {
	if len(d.Events) == 0 {
		return processMark{}
	}
	first, last := &d.Events[0], &d.Events[len(d.Events)-1]
	return processMark{first: first.Time, last: last.Time, addr: first.Addr, size: first.Size}
}

// rankLines sums what is live at m by line, as snapshot.Fold does, and says what
// most of each is for. Names are shared with all other rows, so that they do not
// keep the snapshot in memory.
func rankLines(c *Classification, m snapshot.Moment) []RankLine {
	places := newPlacer(c.Snapshot, c.Timeline, DiffByLine)
	sums := map[placeKey]*placeSum{}
	for i, a := range c.Live(m) {
		addTo(sums, places.of(a), a.Requested, c.Labels[i].Category)
	}
	out := make([]RankLine, 0, len(sums))
	for k, s := range sums {
		k = unique.Make(k).Value()
		out = append(out, RankLine{k.File, k.Line, k.Function, s.main(), s.bytes, s.count})
	}
	slices.SortFunc(out, compareRankLines)
	if len(out) > maxRankLines {
		rest := RankLine{Function: OtherLines, Category: Unknown}
		for _, l := range out[maxRankLines-1:] {
			rest.Bytes += l.Bytes
			rest.Count += l.Count
		}
		out = append(out[:maxRankLines-1], rest)
	}
	return slices.Clip(out)
}

func compareRankLines(a, b RankLine) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function))
}

// main is the category of most bytes.
func (s *placeSum) main() Category {
	best := Unknown
	for _, c := range Categories() {
		if s.categories[c] > s.categories[best] {
			best = c
		}
	}
	return best
}
