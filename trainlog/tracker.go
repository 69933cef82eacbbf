package trainlog

import (
	"math"
	"slices"
)

// A tracker follows the steps of one process through a log, so that they ascend:
// batches are counted on from epoch to epoch, and a restart begins another run.
type tracker struct {
	by    StepBy
	known bool
	step  float64 // of the line just read, or before
	run   int
	top   int // the highest run so far

	last, prior float64 // the last two printed steps that differ, offset included
	offset      float64 // steps of the epochs before
	of          float64 // steps of an epoch
	epoch       float64 // last seen
	firstEpoch  float64

	before *tracker // before a restart that is not sure yet
	used   bool     // something was kept of what was read since then
	stray  []int    // runs that were none, of those of which something was kept; ascending
}

func newTracker() *tracker {
	nan := math.NaN()
	return &tracker{last: nan, prior: nan, of: nan, epoch: nan, firstEpoch: nan, by: ByOrder}
}

// move takes the place that a line names. own says that the line has figures.
func (t *tracker) move(p place, own bool) {
	switch {
	case !p.known():
		return
	case math.IsNaN(p.step):
		t.moveEpoch(p.epoch)
		return
	case p.sure == barSure && !own:
		return // bars are drawn for loading files too
	}
	if t.by == ByEpoch { // steps begin to be printed
		t.last, t.prior = math.NaN(), math.NaN()
	}
	t.by = ByStep
	step := p.step + t.offset
	newEpoch := !math.IsNaN(p.epoch) && p.epoch > t.epoch
	if p.batch && !math.IsNaN(p.epoch) && !math.IsNaN(p.of) {
		step = t.ofEpoch(p)
	} else if newEpoch && step < t.last || p.batch && (step < t.prior || t.last-step > p.of/2) {
		t.offset += max(orZero(t.of), t.last-t.offset+1)
		step = p.step + t.offset
	}
	if !math.IsNaN(p.epoch) {
		t.epoch = p.epoch
	}
	if p.batch {
		t.of = p.of
	}
	t.arrive(step)
}

// ofEpoch counts batches from the first epoch on, which is 0 or 1.
func (t *tracker) ofEpoch(p place) float64 {
	if math.IsNaN(t.firstEpoch) {
		t.firstEpoch = min(p.epoch, 1)
	}
	return (p.epoch-t.firstEpoch)*p.of + p.step
}

func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

func (t *tracker) moveEpoch(epoch float64) {
	if t.by == ByStep {
		t.epoch = epoch
		return
	}
	t.by = ByEpoch
	t.arrive(epoch)
}

// arrive moves to a step. Lines of several processes may be out of order by one.
func (t *tracker) arrive(step float64) {
	t.known = true
	if b := t.before; b != nil && step > b.last {
		if interval := t.last - t.prior; math.IsNaN(interval) || step-t.last > 3*interval {
			t.resume()
		}
		t.before = nil
	}
	switch {
	case step == t.last:
	case step < t.last && step >= t.prior:
		step = t.last
	case step < t.last:
		t.restart(step)
	default:
		t.prior, t.last = t.last, step
	}
	t.step = step
}

// restart begins another run: the job was started again from a checkpoint. If
// the steps soon jump back to where they were, it was another loop's counter.
func (t *tracker) restart(step float64) {
	if t.before == nil {
		was := *t
		t.before, t.used = &was, false
	}
	t.top++
	t.run = t.top
	t.prior, t.last, t.offset = math.NaN(), step, 0
}

// resume goes back to the run before what looked like a restart, or several. If
// those left nothing their numbers are given again, as such a loop may come by at
// every step.
func (t *tracker) resume() {
	was, top := t.before, t.top
	if t.used {
		for run := was.top + 1; run <= top; run++ {
			was.stray = append(was.stray, run)
		}
		was.top = top
	}
	*t = *was
}

// number returns the place of a run among those that were runs. For another it is
// that of the run in which it was.
func (t *tracker) number(run int) (n int, ok bool) {
	before, isStray := slices.BinarySearch(t.stray, run)
	if isStray {
		return max(run-before-1, 0), false
	}
	return run - before, true
}
