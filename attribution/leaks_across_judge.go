package attribution

import (
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
)

// judge brings the curve of the files, the lines that keep memory and what the
// histories show together.
func (a *across) judge() {
	in := GrowthInput{
		Allocated: a.series("requested", func(f *LeakFile) int64 { return f.end.requested }),
		Reserved:  a.series("reserved", func(f *LeakFile) int64 { return f.end.reserved }),
		Peak:      a.series("peak", func(f *LeakFile) int64 { return f.end.peak }),
		Unit:      "snapshot",
	}
	g := Judge(in)
	a.report.Growth, a.report.Curves = g, []Series{in.Allocated, in.Reserved, in.Peak}
	a.report.StepsPerSnapshot = a.stepsPerFile()
	sameMoment := a.sameMoment()
	switch inside := a.within.Growth.Verdict; {
	case a.strange:
		a.undecided("the files are not of one run", "snapshots of one run")
	case inside == Leak && !a.grows() && len(a.suspects) == 0:
		a.leakStandsStill()
		return
	case inside == Leak:
		a.leakWithin(sameMoment)
	case inside != Inconclusive && a.coveredBy(a.inFile):
		a.takeOver()
	case !sameMoment:
		a.undecided("the files were taken at different moments of a step", "snapshots taken at the same moment, such as after each epoch")
	case g.Verdict == Leak && 2*slopes(a.suspects) < g.BytesPerStep:
		a.undecided(g.Why+", but what is new in one file is mostly gone in the last", "snapshots over a longer time")
	case inside != Inconclusive && g.Verdict == Inconclusive && !a.grows():
		a.takeOver()
	}
	if a.report.Growth.Verdict == Leak || a.report.Growth.Verdict == Inconclusive && !a.strange && sameMoment {
		a.report.Suspects = a.suspects
	}
	a.report.BytesPerStep = a.perTrainingStep()
}

// perTrainingStep prefers a history, which sees each step, to the files.
func (a *across) perTrainingStep() float64 {
	g, inside := &a.report.Growth, &a.within.Growth
	switch {
	case g.Verdict == Leak && inside.Verdict == Leak && inside.Unit == "step":
		return inside.BytesPerStep
	case a.report.StepsPerSnapshot > 0:
		return g.BytesPerStep / float64(a.report.StepsPerSnapshot)
	}
	return 0
}

func (a *across) undecided(why, need string) {
	g := &a.report.Growth
	g.Verdict, g.Why, g.Need = Inconclusive, why, need
}

// grows reports whether the files hold noticeably more at the end.
func (a *across) grows() bool {
	first, last := a.files[0].end.requested, a.files[len(a.files)-1].end.requested
	return last-first > first/100
}

// sameMoment reports whether the same kind of work ran when the files were
// written, as far as their histories say.
func (a *across) sameMoment() bool {
	for _, f := range a.files {
		if f.running != a.files[0].running && f.running != Setup && a.files[0].running != Setup {
			a.note("the files were taken at different moments: " + a.moments())
			return false
		}
	}
	return true
}

func (a *across) moments() (text string) {
	for i, f := range a.files {
		if i > 0 {
			text += ", "
		}
		text += f.Name + " after a " + f.running.String()
	}
	return text
}

// coveredBy reports whether the history of the named file reaches back to the
// first of the files.
func (a *across) coveredBy(name string) bool {
	i := slices.IndexFunc(a.files, func(f *LeakFile) bool { return f.Name == name })
	return i >= 0 && a.files[i].covers(a.files[0])
}

// takeOver makes the verdict of the history within a file that of the files.
func (a *across) takeOver() {
	g, inside := &a.report.Growth, &a.within.Growth
	g.Verdict, g.Shape, g.Need = inside.Verdict, inside.Shape, ""
	g.Why = fmt.Sprintf("within %s %s", a.inFile, inside.Why)
	g.BytesPerStep = 0
	a.report.Hints = a.within.Hints
}

// leakWithin joins a leak that a history shows with the growth from file to
// file. Where the files are of different moments, only the lines tell it.
func (a *across) leakWithin(sameMoment bool) {
	a.withinOnly()
	g, inside := &a.report.Growth, &a.within.Growth
	g.Verdict, g.Shape, g.Need = Leak, inside.Shape, ""
	if g.Allocated.Course == Climbing {
		g.Shape = g.Allocated.Shape
	}
	what, by := "what tensors hold grows", sizeText(g.BytesPerStep)+" from one snapshot to the next"
	switch {
	case !sameMoment && len(a.suspects) > 0:
		what = "the lines below hold more"
		g.BytesPerStep, g.Low, g.High = a.sumOfSuspects()
		by = sizeText(g.BytesPerStep) + " from one snapshot to the next"
	case sizeText(g.Low) != sizeText(g.High): // not by the same each time
		by = sizeText(g.Allocated.Grown) + " over " + g.Allocated.over(g.Unit)
	}
	g.Why = fmt.Sprintf("%s by %s; within %s it climbs by %s %s (%s)",
		what, by, a.inFile, sizeText(inside.BytesPerStep), per(inside.Unit), inside.Interval())
	if inside.Allocated.WarmUp >= fewest {
		g.Why += inside.Allocated.since(inside.Unit)
	} else {
		g.Why += " over " + inside.Allocated.over(inside.Unit)
	}
	if n := len(a.files); n < fewest {
		a.note(fmt.Sprintf("%d snapshots alone are a difference of %s, not a trend; that it is one rests on the history within %s",
			n, units.Signed(a.files[n-1].end.requested-a.files[0].end.requested), a.inFile))
	}
	a.report.Hints, a.report.Epoch = a.within.Hints, a.within.Epoch
}

func (a *across) sumOfSuspects() (slope, low, high float64) {
	for i := range a.suspects {
		s := &a.suspects[i]
		slope, low, high = slope+s.BytesPerStep, low+s.Low, high+s.High
	}
	return slope, low, high
}

// leakStandsStill answers when a history shows a leak and the files do not
// grow: either nothing happened between them, or what piled up was given back.
func (a *across) leakStandsStill() {
	first, last := a.files[0], a.files[len(a.files)-1]
	blamed := map[placeKey]bool{}
	for _, s := range a.within.Suspects {
		blamed[placeKey{s.File, s.Line, s.Function}] = true
	}
	var held, still int64
	for _, x := range first.alive {
		if blamed[first.lines[x.line].place] {
			held += x.size
		}
	}
	first.shared(last, func(x, _ identity) {
		if blamed[first.lines[x.line].place] {
			still += x.size
		}
	})
	files, notes := a.report.Files, a.report.Notes
	if held > 0 && 2*still < held {
		g := &a.report.Growth
		g.Verdict, g.Shape, g.BytesPerStep, g.Need = Steady, Periodic, 0, ""
		g.Why = fmt.Sprintf("memory piles up within %s (%s %s), but what the lines held in %s is gone in %s: it is given back in between",
			a.inFile, sizeText(a.within.Growth.BytesPerStep), per(a.within.Growth.Unit), first.Name, last.Name)
		return
	}
	a.report = *a.within
	a.report.Files = files
	a.report.Notes = append(slices.Clone(a.within.Notes), notes...)
	a.note(fmt.Sprintf("the files hold the same; the verdict is that of the history within %s", a.inFile))
}

// withinOnly leaves out lines that the history does not blame, when it blames
// any: files see what was alive at their ends, the history who keeps it.
func (a *across) withinOnly() {
	blamed := map[placeKey]bool{}
	for _, s := range a.within.Suspects {
		blamed[placeKey{s.File, s.Line, s.Function}] = true
	}
	kept := slices.Clone(a.suspects)
	kept = slices.DeleteFunc(kept, func(s Suspect) bool { return !blamed[placeKey{s.File, s.Line, s.Function}] })
	if len(kept) == 0 {
		return
	}
	a.suspects = kept
	for i := range kept {
		for _, s := range a.within.Suspects {
			if s.File == kept[i].File && s.Line == kept[i].Line && s.Function == kept[i].Function {
				kept[i].Category, kept[i].Stack, kept[i].Frames = s.Category, s.Stack, s.Frames
			}
		}
	}
}

// stepsPerFile is the number of training steps between files; 0 when it is not
// known or differs.
func (a *across) stepsPerFile() int {
	n := a.report.Files[1].Steps
	for _, f := range a.report.Files[1:] {
		if f.Steps != n {
			return 0
		}
	}
	return n
}
