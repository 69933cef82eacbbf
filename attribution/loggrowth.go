package attribution

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/snapview/snapview/trainlog"
)

// A LogReport is what training logs say about the growth of memory.
type LogReport struct {
	Runs  []LogRun // by rank, device and restart
	Notes []string // on all of them, one sentence each
}

// A LogRun is a process on a GPU, from its start or a restart on, with all that
// its files say.
type LogRun struct {
	Files        []string // in the order given
	Rank, Device int      // trainlog.Unknown when nothing says it
	Process      string   // another mark of the process; "" for none
	Restart      int      // how often it had been started again before
	Name         string   // of the file or rank, when neither Rank nor Device tells runs apart

	Growth  Growth
	Curves  []LogCurve // those that were judged first
	Outside *OutsideMemory
	Room    *Room // how long a leak can go on; nil when not known or no leak

	Capacity      int64 // bytes of the GPU; 0 when not known
	Retries, OOMs LogCounter
	Failures      []trainlog.Failure
	Failed        int

	Warnings []string // what to act on besides the verdict, one sentence each
	Notes    []string // what the answer rests on and what was assumed, one sentence each
}

// A LogCurve is a curve of a log with its trend.
type LogCurve struct {
	Series Series
	Trend  Trend
	Metric trainlog.Metric
	Unit   string // of its steps: "step", "epoch", "second", "line" or "sample"
	File   string
	Judged bool // the verdict rests on it

	Values      int // read, before those of one step became one
	Points      int // after that; Series may hold fewer
	First, Last float64
	Low, High   float64

	Log *trainlog.Series // nil when it was worked out of others
}

// A LogCounter is a counter of the allocator over a run.
type LogCounter struct {
	Known       bool
	First, Last int64
}

// LogOptions are the settings of LogGrowth.
type LogOptions struct {
	Device int // only this GPU; trainlog.Unknown for all
}

// LogGrowth joins the files of each run and judges the growth of its memory. It
// may decide the unit of series that print an ambiguous one. There is no run only
// when the GPU asked for occurs in no file.
func LogGrowth(logs []*trainlog.Log, o LogOptions) LogReport {
	var r LogReport
	for _, group := range groupLogs(logs) {
		group.device = o.Device
		group.settleUnits()
		for _, track := range group.tracks() {
			r.Runs = append(r.Runs, track.run())
		}
		r.Notes = append(r.Notes, group.notes...)
	}
	slices.SortStableFunc(r.Runs, func(a, b LogRun) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Restart, b.Restart))
	})
	return r
}

// Verdict is the gravest of all runs: a leak, else growth of the cache, else what
// is not known.
func (r *LogReport) Verdict() GrowthVerdict { return r.Worst().Growth.Verdict }

// Worst is the run with the gravest verdict, of several the one that grows most.
// There must be a run.
func (r *LogReport) Worst() *LogRun {
	worst := &r.Runs[0]
	for i := range r.Runs[1:] {
		x := &r.Runs[i+1]
		if c := cmp.Compare(gravity(x.Growth.Verdict), gravity(worst.Growth.Verdict)); c > 0 || c == 0 && x.Growth.BytesPerStep > worst.Growth.BytesPerStep {
			worst = x
		}
	}
	return worst
}

func gravity(v GrowthVerdict) int {
	return slices.Index([]GrowthVerdict{Steady, Inconclusive, CacheGrowth, Leak}, v)
}

// newLogCurve makes a curve of a series.
func newLogCurve(s *trainlog.Series, file string) LogCurve {
	low, high := s.Extremes()
	c := LogCurve{
		Series: Series{Name: s.Metric.String(), Resolution: s.Resolution(), Values: s.Len()},
		Metric: s.Metric, Unit: s.StepBy.String(), File: file, Values: s.Count, Points: s.Len(),
		First: s.First().Bytes, Last: s.Last().Bytes, Low: low.Bytes, High: high.Bytes, Log: s,
	}
	for _, p := range s.Points() {
		c.Series.Steps = append(c.Series.Steps, p.Step)
		c.Series.Bytes = append(c.Series.Bytes, p.Bytes)
	}
	return c
}

// exact reports whether a curve's values are as the allocator counts them.
func (c *LogCurve) exact() bool { return c.Series.Resolution == 0 }

// A track is a process on a GPU, from a start on, before it is judged.
type track struct {
	trainlog.Source
	name     string
	curves   []LogCurve
	logs     []*trainlog.Log // whose curves it has
	notes    []string
	capacity float64
	assumed  bool // the capacity was printed in GB
}

// run judges a track.
func (t *track) run() LogRun {
	r := LogRun{Rank: t.Rank, Device: t.Device, Process: t.Process, Restart: t.Run, Name: t.name}
	for _, l := range t.logs {
		r.Files = append(r.Files, l.Name)
	}
	if !math.IsNaN(t.capacity) && t.capacity > 0 {
		r.Capacity = round(t.capacity)
	}
	t.judge(&r)
	r.Notes = t.notes
	var notes []string
	r.Outside, notes = outsideMemory(t.curves)
	r.Notes = append(r.Notes, notes...)
	if r.Outside != nil {
		if joined := r.Outside.curves(); joined != nil {
			t.curves = slices.DeleteFunc(t.curves, func(c LogCurve) bool { return c.Metric == r.Outside.usedMetric && !c.Judged })
			t.curves = append(t.curves, joined...)
		}
	}
	r.Curves = t.curves
	slices.SortStableFunc(r.Curves, func(a, b LogCurve) int {
		return cmp.Or(cmp.Compare(b2i(b.Judged), b2i(a.Judged)), cmp.Compare(a.Metric, b.Metric))
	})
	t.count(&r)
	r.warn()
	if room, ok := r.Growth.Room(r.Capacity, r.outsideForRoom()); ok && r.Growth.Unit != "line" {
		r.Room = &room
	}
	r.Notes = append(r.Notes, unitNotes(r.Curves)...)
	if len(r.Curves) > 0 && r.Curves[0].Judged && (r.Curves[0].Metric == trainlog.DeviceUsed || r.Curves[0].Metric == trainlog.DeviceFree) {
		r.Notes = append(r.Notes, "what is in use on a GPU is that of all processes, and what PyTorch keeps for later use is part of it")
	}
	return r
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// outsideForRoom is what PyTorch cannot have of the GPU; -1 when not known.
func (r *LogRun) outsideForRoom() int64 {
	if r.Outside == nil {
		return -1
	}
	return round(r.Outside.Median)
}

// judge picks the curves for the verdict and gives it.
func (t *track) judge(r *LogRun) {
	in := GrowthInput{}
	allocated := t.best(trainlog.Allocated, trainlog.Active, trainlog.Requested)
	reserved := t.best(trainlog.Reserved, trainlog.PeakReserved)
	peak := t.peak(allocated)
	if allocated == nil && reserved == nil {
		reserved = t.best(trainlog.Used, trainlog.PeakUsed, trainlog.ProcessUsed, trainlog.DeviceUsed, trainlog.DeviceFree)
	}
	for _, part := range []struct {
		curve *LogCurve
		into  *Series
	}{{peak, &in.Peak}, {reserved, &in.Reserved}, {allocated, &in.Allocated}} {
		if part.curve != nil {
			part.curve.Judged = true
			*part.into = t.judgedSeries(part.curve)
			in.Unit = part.curve.Unit
		}
	}
	r.Growth = Judge(in)
	for _, c := range []*LogCurve{allocated, reserved, peak} {
		if note := t.choiceNote(c); note != "" {
			t.notes = append(t.notes, note)
		}
	}
	if reserved != nil {
		t.sayFree(reserved, &r.Growth)
	}
	for i := range t.curves {
		switch c := &t.curves[i]; {
		case c == allocated:
			c.Trend = r.Growth.Allocated
		case c == reserved && c.Metric != trainlog.DeviceFree:
			c.Trend = r.Growth.Reserved
		case c == peak:
			c.Trend = r.Growth.Peak
		default:
			c.Trend = Fit(c.Series)
		}
	}
}

// choiceNote says which of several figures that are called the same was judged.
func (t *track) choiceNote(c *LogCurve) string {
	if c == nil || c.Log == nil {
		return ""
	}
	others := 0
	for i := range t.curves {
		if o := &t.curves[i]; o != c && o.Metric == c.Metric && o.File == c.File && o.Log.Spelling != c.Log.Spelling && o.Log.Unit == c.Log.Unit && o.Values == c.Values {
			others++
		}
	}
	if others == 0 {
		return ""
	}
	return fmt.Sprintf("%s of each line of %s are called alike: %q was judged", count(others+1, "figure"), filepath.Base(c.File), fmt.Sprintf("%.60s", c.Log.Spelling))
}

// best returns the curve of the first metric that has one with points enough,
// else that with most points. Of several of a metric the exact one is better
// unless another has twice the points.
func (t *track) best(metrics ...trainlog.Metric) (best *LogCurve) {
	for _, m := range metrics {
		var found *LogCurve
		for i := range t.curves {
			c := &t.curves[i]
			if c.Metric == m && (found == nil || c.tellsMore(found)) {
				found = c
			}
		}
		if found != nil && found.Points > fewest {
			return found
		}
		if found != nil && (best == nil || found.Points > best.Points) {
			best = found
		}
	}
	return best
}

// peak returns the best curve of peaks. One that is as allocated is of a program
// that reset its peaks just before; another tells more.
func (t *track) peak(allocated *LogCurve) *LogCurve {
	best := t.best(trainlog.PeakAllocated, trainlog.PeakActive)
	if best == nil || allocated == nil || !slices.Equal(best.Series.Bytes, allocated.Series.Bytes) {
		return best
	}
	for i := range t.curves {
		if c := &t.curves[i]; c.Metric == trainlog.PeakAllocated && c != best && 2*c.Points > best.Points {
			return c
		}
	}
	return best
}

// tellsMore reports whether a curve is better to judge by than another of its
// metric. Of two that are as good, such as what is in use before and after each
// step, the one that climbs tells more.
func (c *LogCurve) tellsMore(other *LogCurve) bool {
	a, b := curveWeight(c), curveWeight(other)
	return a > b || a == b && Fit(c.Series).Course == Climbing && Fit(other.Series).Course != Climbing
}

func curveWeight(c *LogCurve) int {
	n := c.Points
	if c.exact() {
		n *= 2
	}
	return n
}

// count takes over counters and failures of the allocator.
func (t *track) count(r *LogRun) {
	for _, l := range t.logs {
		for _, c := range l.Counters {
			if !t.includes(c.Source) {
				continue
			}
			r.Retries.join(c.FirstRetries, c.Retries)
			r.OOMs.join(c.FirstOOMs, c.OOMs)
		}
		for _, f := range l.Failures {
			if t.includes(f.Source) {
				r.Failures = append(r.Failures, f)
			}
		}
		for _, f := range l.FailedOf {
			if t.includes(f.Source) {
				r.Failed += f.Count
			}
		}
	}
}

// join takes a counter over, which several files of a run may print.
func (c *LogCounter) join(first, last int64) {
	if !c.Known {
		*c = LogCounter{true, first, last}
		return
	}
	c.First, c.Last = min(c.First, first), max(c.Last, last)
}

// includes reports whether what a log says of a source is about the track.
func (t *track) includes(s trainlog.Source) bool {
	same := func(a, b int) bool { return a == b || a == trainlog.Unknown || b == trainlog.Unknown }
	return same(s.Rank, t.Rank) && same(s.Device, t.Device) && s.Run == t.Run
}
