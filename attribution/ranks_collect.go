package attribution

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// collect gathers the rows of a plan in the order of ranks.
func (r *rankReader) collect(p *rankPlan) RankSet {
	left := slices.DeleteFunc(slices.Clone(p.moments), func(m RankMoment) bool { return m.Ranks == 0 })
	set := RankSet{Skipped: r.skipped, Moments: left, Notes: r.notes}
	if p.chosen >= 0 {
		set.Moment = p.moments[p.chosen].Name
	}
	var unknown []RankRow
	for _, f := range p.files {
		res := r.done[f.Source.Path]
		if res.err != nil {
			r.fail(&set, f, res.err)
			continue
		}
		rows := wanted(res.rows, r.o.Device)
		for i := range rows {
			rows[i].ID, rows[i].Basis = f.ID, f.Basis
		}
		if !f.ID.known() {
			unknown = append(unknown, rows...)
			continue
		}
		set.Rows = append(set.Rows, severalDevices(rows)...)
	}
	set.Rows = append(set.Rows, nameless(unknown, set.Rows, &set)...)
	for i := range set.Rows {
		if set.Rows[i].Label == "" {
			set.Rows[i].Label = set.Rows[i].ID.String()
		}
	}
	slices.SortStableFunc(set.Rows, func(a, b RankRow) int {
		return cmp.Or(compareRankIDs(a.ID, b.ID), cmp.Compare(a.Device, b.Device), compareNatural(a.File, b.File))
	})
	markStrays(set.Rows)
	set.noteChoice(p)
	set.noteCopies()
	return set
}

// fail records a file that could not be read. What a folder holds besides
// snapshots is skipped.
func (r *rankReader) fail(set *RankSet, f rankFile, err error) {
	if !f.Source.Named && errors.Is(err, snapshot.ErrNotSnapshot) {
		set.Skipped["a pickle that is no snapshot"]++
		return
	}
	set.Failed = append(set.Failed, RankFailure{f.ID, f.Basis, f.ID.String(), f.Source.Path, err})
}

// wanted are the rows of the device asked for.
func wanted(rows []RankRow, device int) (out []RankRow) {
	for _, row := range rows {
		if device < 0 || row.Device == device {
			out = append(out, row)
		}
	}
	return out
}

// severalDevices tells the rows of one file apart.
func severalDevices(rows []RankRow) []RankRow {
	if len(rows) < 2 {
		return rows
	}
	for i := range rows {
		row := &rows[i]
		if row.ID.Rank < 0 && row.ID.Local < 0 && len(row.ID.Axes) == 0 { // node1.pickle: its GPUs
			row.ID.Local = row.Device
			continue
		}
		row.Label = row.ID.String() + ":" + strconv.Itoa(row.Device)
	}
	return rows
}

// nameless numbers rows whose names tell no rank: by device when no two have
// the same, else in the order of files. Of one process only the latest counts.
func nameless(rows, named []RankRow, set *RankSet) []RankRow {
	rows, older := latestOfEach(rows)
	if older > 0 {
		set.Notes = append(set.Notes, fmt.Sprintf("%s left out: earlier ones of processes that are shown", countOf(older, "snapshot was", "snapshots were")))
	}
	devices := map[int]bool{}
	for _, row := range rows {
		devices[row.Device] = true
	}
	byDevice := len(devices) == len(rows) && len(named) == 0
	next := 0
	for _, row := range named {
		next = max(next, row.ID.Rank+1)
	}
	for i := range rows {
		row := &rows[i]
		if row.Basis = RankByDevice; byDevice {
			row.ID.Rank = row.Device
			continue
		}
		row.ID.Rank, row.Basis = next+i, RankByOrder
		row.Label = "#" + strconv.Itoa(row.ID.Rank)
	}
	return rows
}

// latestOfEach keeps the last of the rows that prove to be of one process and device.
func latestOfEach(rows []RankRow) (out []RankRow, older int) {
	for _, row := range rows {
		i := slices.IndexFunc(out, func(o RankRow) bool { return o.Device == row.Device && o.mark.same(row.mark) })
		switch {
		case i < 0:
			out = append(out, row)
			continue
		case row.mark.last > out[i].mark.last:
			out[i] = row
		}
		older++
	}
	return out, older
}

// markStrays finds memory that a process holds on a device that is another
// rank's of the same machine. A process's own device is where it reserves most.
func markStrays(rows []RankRow) {
	type gpu struct {
		node   string
		device int
	}
	own := map[gpu]string{} // whose it is, by file
	most := map[string]*RankRow{}
	for i := range rows {
		if m := most[rows[i].File]; m == nil || rows[i].PeakReserved > m.PeakReserved {
			most[rows[i].File] = &rows[i]
		}
	}
	for _, row := range most {
		own[gpu{row.ID.Node, row.Device}] = row.File
	}
	proper := map[string]int{} // rows that are not strays, by file
	for i := range rows {
		row := &rows[i]
		owner, owned := own[gpu{row.ID.Node, row.Device}]
		if row.Stray = most[row.File] != row && owned && owner != row.File; !row.Stray {
			proper[row.File]++
		}
	}
	for file, m := range most {
		if proper[file] == 1 && m.Basis != RankByOrder && m.ID.Rank >= 0 {
			m.Label = m.ID.String() // it needs no device to be told apart
		}
	}
}

// noteChoice says which files were taken and which were not.
func (s *RankSet) noteChoice(p *rankPlan) {
	if p.older > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s left out: of files that differ in their time only, the last of each rank is shown",
			countOf(p.older, "snapshot was", "snapshots were")))
	}
	if n := len(p.unnamed); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s left out, whose name tells no rank while others' names do, such as %s: name them to see them",
			countOf(n, "snapshot was", "snapshots were"), p.unnamed[0]))
	}
	if p.chosen < 0 {
		return
	}
	have := map[string]bool{}
	for _, f := range p.files {
		have[f.ID.String()] = true
	}
	var lack []string
	for _, f := range p.all {
		if id := f.ID.String(); f.ID.known() && !have[id] {
			have[id] = true
			lack = append(lack, id)
		}
	}
	if len(lack) > 0 {
		slices.SortFunc(lack, compareNatural)
		s.Notes = append(s.Notes, fmt.Sprintf("%s left no snapshot named %q, only others", namedRanks(lack), s.Moment))
	}
}

// maxCopyNotes bounds the notes: a folder may hold many copies of many files.
const maxCopyNotes = 8

// noteCopies says which rows are of one recording.
func (s *RankSet) noteCopies() {
	first := map[processMark]int{}
	copies := map[int][]string{}
	for i, row := range s.Rows {
		if row.mark.first == 0 {
			continue
		}
		if j, known := first[row.mark]; known {
			copies[j] = append(copies[j], row.Label)
		} else {
			first[row.mark] = i
		}
	}
	for i, row := range s.Rows {
		if list := copies[i]; len(list) > 0 && len(s.Notes) < maxCopyNotes {
			s.Notes = append(s.Notes, fmt.Sprintf("%s and rank %s hold the same recording, event by event: copies of one file", namedRanks(list), row.Label))
		}
	}
}

// namedRanks is "rank 3" or "ranks 3-5, 8", shortened.
func namedRanks(labels []string) string {
	if len(labels) == 1 {
		return "rank " + labels[0]
	}
	return "ranks " + RankRanges(labels, 6)
}

// RankRanges shortens a sorted list of ranks: "0-3, 5, 8-9". At most most
// ranges are written (0 for all), then how many ranks are left.
func RankRanges(labels []string, most int) string {
	var out []string
	for i := 0; i < len(labels); {
		j := i
		for j+1 < len(labels) && follows(labels[j], labels[j+1]) {
			j++
		}
		if most > 0 && len(out) == most {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(labels)-i)
		}
		switch {
		case j == i:
			out = append(out, labels[i])
		case j == i+1:
			out = append(out, labels[i], labels[j])
		default:
			out = append(out, labels[i]+"-"+labels[j][prefixLength(labels[j]):])
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// follows reports whether b is a with its last number one higher.
func follows(a, b string) bool {
	i, j := prefixLength(a), prefixLength(b)
	if a[:i] != b[:j] {
		return false
	}
	x, errA := strconv.Atoi(a[i:])
	y, errB := strconv.Atoi(b[j:])
	return errA == nil && errB == nil && y == x+1
}

// prefixLength is the length of what stands before the last number.
func prefixLength(s string) int {
	return len(strings.TrimRightFunc(s, func(r rune) bool { return r >= '0' && r <= '9' }))
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
