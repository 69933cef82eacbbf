package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/snapview/snapview/trainlog"
)

// Figures of a whole GPU, when a log has none of PyTorch: they begin before the
// program and end after it, and some tools print what is free instead of what is
// in use.

// sentenceNames are what a verdict calls curves that no allocator printed.
var sentenceNames = map[trainlog.Metric]string{
	trainlog.Used: "memory in use", trainlog.PeakUsed: "the highest memory in use", trainlog.ProcessUsed: "memory of the process",
	trainlog.DeviceUsed: "memory in use on the GPU", trainlog.DeviceFree: "memory in use on the GPU",
}

// judgedSeries is the curve as the verdict sees it.
func (t *track) judgedSeries(c *LogCurve) Series {
	s := c.Series
	if name, ok := sentenceNames[c.Metric]; ok {
		s.Name = name
	}
	switch c.Metric {
	case trainlog.DeviceUsed:
	case trainlog.DeviceFree:
		s = t.inUse(s)
		if math.IsNaN(t.capacity) {
			return s
		}
	default:
		return s
	}
	s, note := busyPart(s)
	if note != "" {
		t.notes = append(t.notes, note)
	}
	return s
}

// inUse turns what is free on a GPU into what is in use. Without the GPU's size it
// counts from the least that was.
func (t *track) inUse(s Series) Series {
	total := slices.Max(s.Bytes)
	if total <= t.capacity {
		total = t.capacity
	} else {
		t.capacity = math.NaN() // that of another GPU
		t.notes = append(t.notes, "free memory is printed without the size of the GPU, so that growth is known, but not how much is in use")
	}
	s.Bytes = slices.Clone(s.Bytes)
	for i := range s.Bytes {
		s.Bytes[i] = total - s.Bytes[i]
	}
	return s
}

// Without any program a GPU has a little in use, the same all the time, for the
// driver and perhaps a screen. A program that begins takes a CUDA context at once.
const (
	idleSlack  = 16 << 20 // by how much that little varies
	idlePart   = 0.1      // more than this part of the highest value is not idle
	leastStart = 64 << 20 // less than a CUDA context on any GPU
	startUp    = 3        // samples that it may take
)

// A pointSpan is a range of points.
type pointSpan struct{ from, to int }

func (s pointSpan) points() int { return s.to - s.from }

// busyPart returns the longest stretch in which a program ran on a GPU, without
// the samples of its exit, and a sentence that says so. Without idle samples it is
// the whole.
func busyPart(s Series) (Series, string) {
	x, y := usable(s)
	if len(y) < fewest {
		return s, ""
	}
	low, high := slices.Min(y), slices.Max(y)
	busy := busyStretches(y, low+idleSlack)
	if low > idlePart*high || len(busy) == 0 {
		return s, ""
	}
	longest := slices.MaxFunc(busy, func(a, b pointSpan) int { return cmp.Compare(a.points(), b.points()) })
	if longest.points() < fewest || y[longest.from+startUp-1] < low+leastStart {
		return s, "" // too little, or a slow climb from the lowest value
	}
	for longest.to < len(y) && longest.points() > 1 && y[longest.to-1] < y[longest.to-2] {
		longest.to-- // memory goes in pieces when a program ends
	}
	s.Steps, s.Bytes = x[longest.from:longest.to], y[longest.from:longest.to]
	if len(busy) > 1 {
		return s, fmt.Sprintf("memory was in use on the GPU at %d times and hardly any in between: the longest of these, of %s, was judged",
			len(busy), count(longest.points(), "sample"))
	}
	return s, fmt.Sprintf("%s left out of the verdict in which hardly any memory was in use on the GPU: before the program began, or after it ended",
		count(len(y)-longest.points(), "sample"))
}

// busyStretches are the rows of values above a level.
func busyStretches(y []float64, idle float64) (list []pointSpan) {
	for i, v := range y {
		switch n := len(list); {
		case v <= idle:
		case n > 0 && list[n-1].to == i:
			list[n-1].to++
		default:
			list = append(list, pointSpan{i, i + 1})
		}
	}
	return list
}

// sayFree puts a verdict on what is in use, counted from its least, as one on what
// is free.
func (t *track) sayFree(c *LogCurve, g *Growth) {
	if c.Metric == trainlog.DeviceFree && math.IsNaN(t.capacity) && g.Verdict == Steady {
		g.Why = "free memory of the GPU does not fall over " + g.Reserved.over(g.Unit)
	}
}
