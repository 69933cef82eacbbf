package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A FileGrowth is one snapshot among several of a run.
type FileGrowth struct {
	Name                      string
	Requested, Reserved, Peak int64 // bytes at its end, and the highest requested bytes of its history
	Steps                     int   // training steps since the file before; 0 when not known
	New                       int64 // requested bytes that were not alive in the file before
	Kept                      int64 // of these, alive in the last file still
}

// LeaksAcross judges how memory grows from one snapshot of a device to the
// next, in order of time. An allocation is the same in two files when address,
// size and time of birth are; without births, address, size and line. What the
// histories show within the files decides where the files are too few.
func LeaksAcross(files []*LeakFile) LeakReport {
	if len(files) == 1 {
		return files[0].Report
	}
	a := across{files: slices.Clone(files)}
	a.order()
	a.follow()
	a.lines()
	a.report.Device = files[0].device
	a.report.Rounds = Rounds{Unit: "snapshot", Count: len(files), How: "files"}
	a.judge()
	return a.report
}

// across is a comparison of files on its way.
type across struct {
	files    []*LeakFile
	report   LeakReport
	within   *LeakReport // of the file whose history shows most
	inFile   string      // its name
	kept     map[placeKey]int64
	suspects []Suspect
	strange  bool // some files share no memory
}

// order sorts by time where all files tell it.
func (a *across) order() {
	for _, f := range a.files {
		if f.last == 0 {
			return
		}
	}
	byTime := func(x, y *LeakFile) int { return cmp.Compare(x.last, y.last) }
	if !slices.IsSortedFunc(a.files, byTime) {
		slices.SortStableFunc(a.files, byTime)
		a.note(fmt.Sprintf("the files were put in order of time, from %s to %s", a.files[0].Name, a.files[len(a.files)-1].Name))
	}
}

func (a *across) note(text string) { a.report.Notes = append(a.report.Notes, text) }

// follow finds what each file has that the one before has not, and what of it
// is alive in the last one still.
func (a *across) follow() {
	a.kept = map[placeKey]int64{}
	last := a.files[len(a.files)-1]
	for i, f := range a.files {
		row := FileGrowth{Name: f.Name, Requested: f.end.requested, Reserved: f.end.reserved, Peak: f.end.peak, New: f.end.requested}
		if i > 0 {
			before := a.files[i-1]
			row.Steps = f.stepsSince(before)
			old := map[uint64]bool{}
			before.shared(f, func(_, b identity) {
				old[b.addr] = true
				row.New -= b.size
			})
			f.shared(last, func(x, y identity) {
				if old[x.addr] {
					return
				}
				row.Kept += x.size
				if f != last || len(a.files) == 2 {
					a.kept[last.lines[y.line].place] += x.size
				}
			})
			if why := f.strangeTo(before, len(old)); why != "" {
				a.strange = true
				a.note(fmt.Sprintf("%s and %s %s: they look like different runs, and what differs is no growth", before.Name, f.Name, why))
			}
		}
		a.report.Files = append(a.report.Files, row)
		if r := &f.Report; a.within == nil || len(r.Growth.Why) > 0 && r.Growth.Verdict != Inconclusive && (a.within.Growth.Verdict == Inconclusive || r.Rounds.Count >= a.within.Rounds.Count) {
			a.within, a.inFile = r, f.Name
		}
	}
}

// series are the numbers of the files.
func (a *across) series(name string, of func(*LeakFile) int64) Series {
	s := Series{Name: name}
	for i, f := range a.files {
		s.Steps = append(s.Steps, float64(i+1))
		s.Bytes = append(s.Bytes, float64(of(f)))
	}
	return s
}

// lines finds those that hold more in every file than in the one before, or
// whose trend is to, and whose new memory stays.
func (a *across) lines() {
	sums := map[placeKey][]float64{}
	for i, f := range a.files {
		for _, l := range f.lines {
			if sums[l.place] == nil {
				sums[l.place] = make([]float64, len(a.files))
			}
			sums[l.place][i] += float64(l.bytes)
		}
	}
	last := a.files[len(a.files)-1]
	for _, l := range last.lines {
		y := sums[l.place]
		grown := y[len(y)-1] - y[0]
		if grown <= 0 || 2*a.kept[l.place] < int64(grown*a.seenShare()) && !a.swells(l.place) {
			continue
		}
		curve := a.series("held by the line", func(*LeakFile) int64 { return 0 })
		curve.Bytes = y
		t := Fit(curve)
		if t.BytesPerStep <= 0 || t.Course != Climbing && t.Course != TooShort {
			continue
		}
		s := Suspect{
			File: l.place.File, Function: l.place.Function, Line: l.place.Line, Stack: l.stack, Frames: l.frames,
			BytesPerStep: t.BytesPerStep, Low: t.Low, High: t.High, Live: l.bytes, Count: l.count, Category: l.category, Curve: curve, Every: 1,
		}
		if s.File == "??" {
			s.File = ""
		}
		a.suspects = append(a.suspects, s)
	}
	slices.SortStableFunc(a.suspects, func(x, y Suspect) int {
		return cmp.Or(cmp.Compare(math.Round(y.BytesPerStep), math.Round(x.BytesPerStep)), cmp.Compare(y.Live, x.Live), cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
	})
	least := 0.005 * slopes(a.suspects)
	a.suspects = slices.DeleteFunc(a.suspects, func(s Suspect) bool { return s.BytesPerStep < least })
}

// swells reports whether a history shows a line to replace its memory by ever
// more: then nothing of it stays, and it grows all the same.
func (a *across) swells(place placeKey) bool {
	return slices.ContainsFunc(a.within.Suspects, func(s Suspect) bool {
		return s.AtATime == 0 && placeKey{s.File, s.Line, s.Function} == place
	})
}

// seenShare is the part of a line's growth that was born early enough for its
// staying to be seen: that of the last file was not, unless there are just two.
func (a *across) seenShare() float64 {
	n := len(a.files)
	if n == 2 {
		return 1
	}
	return float64(n-2) / float64(n-1)
}
