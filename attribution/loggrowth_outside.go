package attribution

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/snapview/snapview/trainlog"
)

// OutsideMemory is what is in use on the GPU and not reserved by PyTorch's
// allocator: the CUDA context, NCCL and other libraries, other processes.
type OutsideMemory struct {
	Last, Median, Low, High float64 // bytes
	Joined                  bool    // by time; otherwise two single values were compared
	Samples                 int     // of the GPU, within the time of the log
	UpperBound              bool    // other processes' memory is in it
	Trend                   Trend   // by step of the log, or by second when it has none
	Unit                    string  // what its steps are

	series, used Series
	usedMetric   trainlog.Metric
	notes        []string
}

// outsideMemory compares what a GPU tool shows with what PyTorch holds, and says
// what that rests on. nil when a curve is missing, or when both are of different
// times.
func outsideMemory(curves []LogCurve) (o *OutsideMemory, notes []string) {
	reserved := outsideCurve(curves, trainlog.Reserved, trainlog.PeakReserved)
	used := outsideCurve(curves, trainlog.ProcessUsed, trainlog.DeviceUsed)
	if reserved == nil || used == nil {
		return nil, nil
	}
	o = &OutsideMemory{UpperBound: used.Metric == trainlog.DeviceUsed, Unit: trainlog.ByTime.String(), usedMetric: used.Metric}
	if samples, held := timedPoints(used.Log), timedPoints(reserved.Log); len(samples) == 0 || len(held) < 2 {
		o.compare(used, reserved)
	} else if why := o.join(used.Log, reserved.Log); why != "" {
		return nil, []string{why + ", so what is outside PyTorch is not known"}
	}
	if o.UpperBound {
		o.notes = append(o.notes, "other processes on the GPU count as memory outside PyTorch, so it is an upper bound; nvidia-smi --query-compute-apps tells processes apart")
	}
	return o, o.notes
}

// outsideCurve returns the longest curve of the first metric that has one, with
// times if one has any.
func outsideCurve(curves []LogCurve, metrics ...trainlog.Metric) (best *LogCurve) {
	timed := func(c *LogCurve) int {
		if math.IsNaN(c.Log.First().Time) {
			return 0
		}
		return 1 << 30
	}
	for _, m := range metrics {
		for i := range curves {
			if c := &curves[i]; c.Metric == m && c.Log != nil && (best == nil || timed(c)+c.Points > timed(best)+best.Points) {
				best = c
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// join takes, for each sample of the GPU within the log's time, what was
// reserved at that time: the last value printed before it. Both have times. It
// says why when that cannot be done.
func (o *OutsideMemory) join(used, reserved *trainlog.Series) (why string) {
	samples, held := timedPoints(used), timedPoints(reserved)
	shift, sure, ok := clockShift(samples, held, used.Zoned == reserved.Zoned)
	if !ok {
		return "the times of the GPU samples and of the log do not overlap"
	}
	if shift != 0 {
		o.notes = append(o.notes, fmt.Sprintf("the clock of the GPU samples is taken to be %s", zoneText(shift)))
	} else if !sure {
		o.notes = append(o.notes, "the clocks of the GPU samples and of the log are taken to be the same")
	}
	below := 0
	stepped := reserved.StepBy == trainlog.ByStep || reserved.StepBy == trainlog.ByEpoch
	if stepped {
		o.Unit = reserved.StepBy.String()
	}
	for _, p := range samples {
		at := p.Time - shift
		i := sort.Search(len(held), func(i int) bool { return held[i].Time > at }) - 1
		if i < 0 || i == len(held)-1 && at > held[i].Time {
			continue
		}
		rest := p.Bytes - held[i].Bytes
		if rest < 0 {
			below++
			rest = 0
		}
		x := at - held[0].Time
		if stepped {
			x = stepAt(held, i, at)
		}
		o.series.Steps, o.series.Bytes = append(o.series.Steps, x), append(o.series.Bytes, rest)
		o.used.Steps, o.used.Bytes = append(o.used.Steps, x), append(o.used.Bytes, p.Bytes)
	}
	n := len(o.series.Bytes)
	if n == 0 {
		return "no GPU sample is within the time of the log"
	}
	if 2*below > n {
		return "the GPU shows less memory in use than PyTorch reserves: the samples are of another GPU or another time"
	}
	o.series.Name, o.series.Resolution = trainlog.Outside.String(), used.Resolution()+reserved.Resolution()
	o.Joined, o.Samples = true, n
	o.Last, o.Median = o.series.Bytes[n-1], quantile(0.5, o.series.Bytes)
	o.Low, o.High = slices.Min(o.series.Bytes), slices.Max(o.series.Bytes)
	o.Trend = Fit(o.series)
	o.used.Name, o.used.Resolution = o.usedMetric.String(), used.Resolution()
	return ""
}

// stepAt is the step at a time after point i.
func stepAt(points []trainlog.Point, i int, at float64) float64 {
	a := points[i]
	if i+1 == len(points) || points[i+1].Time <= a.Time {
		return a.Step
	}
	b := points[i+1]
	return a.Step + (b.Step-a.Step)*(at-a.Time)/(b.Time-a.Time)
}

// compare takes single values where times are missing: the last ones, which may
// be of different moments.
func (o *OutsideMemory) compare(used, reserved *LogCurve) {
	rest := max(0, used.High-reserved.High)
	o.Last, o.Median, o.Low, o.High, o.Samples = rest, rest, rest, rest, 1
	o.notes = append(o.notes, "without times in both, the most in use on the GPU is compared with the most that was reserved")
}

// curves are what is outside PyTorch, and what is in use on the GPU, over the
// steps of the log; none without times.
func (o *OutsideMemory) curves() []LogCurve {
	if !o.Joined {
		return nil
	}
	n := len(o.series.Bytes)
	outside := LogCurve{Series: o.series, Trend: o.Trend, Metric: trainlog.Outside, Unit: o.Unit, Values: n, Points: n,
		First: o.series.Bytes[0], Last: o.Last, Low: o.Low, High: o.High}
	used := LogCurve{Series: o.used, Trend: Fit(o.used), Metric: o.usedMetric, Unit: o.Unit, Values: n, Points: n,
		First: o.used.Bytes[0], Last: o.used.Bytes[n-1], Low: slices.Min(o.used.Bytes), High: slices.Max(o.used.Bytes)}
	return []LogCurve{outside, used}
}

// timedPoints are the points of a series with a time, in order of time.
func timedPoints(s *trainlog.Series) []trainlog.Point {
	points := slices.DeleteFunc(s.Points(), func(p trainlog.Point) bool { return math.IsNaN(p.Time) })
	slices.SortStableFunc(points, func(a, b trainlog.Point) int {
		switch {
		case a.Time < b.Time:
			return -1
		case a.Time > b.Time:
			return 1
		}
		return 0
	})
	return points
}

// clockShift finds by how many seconds the samples' clock is ahead of the log's;
// sure says that no other shift fits as well.
// nvidia-smi prints local time without its zone, so it may be any zone's: the
// one counts in which most of the log's time is sampled. Zones are multiples of a
// quarter of an hour.
func clockShift(samples, held []trainlog.Point, sameKind bool) (shift float64, sure, ok bool) {
	const quarter, furthest = 900, 14 * 3600
	logStart, logEnd := held[0].Time, held[len(held)-1].Time
	start, end := samples[0].Time, samples[len(samples)-1].Time
	overlap := func(shift float64) float64 { return min(end-shift, logEnd) - max(start-shift, logStart) }
	if overlap(0) >= 0 && (sameKind || overlap(0) >= 0.5*(logEnd-logStart)) {
		return 0, sameKind || max(overlap(quarter), overlap(-quarter)) < overlap(0), true
	}
	best := -1.0
	for s := -furthest; s <= furthest; s += quarter {
		if o := overlap(float64(s)); o > best || o == best && math.Abs(float64(s)) < math.Abs(shift) {
			best, shift = o, float64(s)
		}
	}
	return shift, false, best >= 0
}

func zoneText(shift float64) string {
	sign := "ahead of"
	if shift < 0 {
		sign, shift = "behind", -shift
	}
	return fmt.Sprintf("%.4g h %s that of the log", shift/3600, sign)
}
