package attribution

import (
	"fmt"
	"math"
	"strconv"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/trainlog"
)

func itoa(n int) string { return strconv.Itoa(n) }

// nearlyFull is the part of a GPU from which on reserved memory leaves no room:
// PyTorch then frees its cache and tries again, which costs time.
const nearlyFull = 0.95

// warn says what to act on besides the verdict.
func (r *LogRun) warn() {
	for _, c := range r.Curves {
		if c.Judged && (c.Metric == trainlog.Reserved || c.Metric == trainlog.PeakReserved) && r.Capacity > 0 && c.High > nearlyFull*float64(r.Capacity) && c.High <= float64(r.Capacity) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("reserved memory reached %s of the %s of the GPU", units.Percent(round(c.High), r.Capacity), units.Bytes(r.Capacity)))
		}
	}
	if n := r.Retries.Last - r.Retries.First; n > 0 || r.Retries.Last > 0 {
		text := fmt.Sprintf("the allocator freed its cache and tried again %s", count(int(r.Retries.Last), "time"))
		if r.Retries.First > 0 && n > 0 {
			text += fmt.Sprintf(", %d of them before the log begins", r.Retries.First)
		}
		r.Warnings = append(r.Warnings, text+": the GPU was full (num_alloc_retries)")
	}
	if r.OOMs.Last > 0 {
		r.Warnings = append(r.Warnings, count(int(r.OOMs.Last), "allocation")+" failed for want of memory (num_ooms)")
	}
	if r.Failed > 0 {
		r.Warnings = append(r.Warnings, r.failureText())
	}
	if o := r.Outside; o != nil && o.Joined && o.Trend.Course == Climbing {
		text := fmt.Sprintf("memory outside PyTorch climbs by %s %s", sizeText(o.Trend.BytesPerStep), per(o.Unit))
		if o.UpperBound {
			text += ", which may be another process"
		}
		r.Warnings = append(r.Warnings, text)
	}
}

func (r *LogRun) failureText() string {
	text := count(r.Failed, "allocation") + " failed with an error message"
	if len(r.Failures) == 0 {
		return text
	}
	f := r.Failures[len(r.Failures)-1]
	text += fmt.Sprintf(", the last on line %d", f.Line)
	if !math.IsNaN(f.Step) {
		text += fmt.Sprintf(" after step %.0f", f.Step)
	}
	if !math.IsNaN(f.Asked) {
		text += " for " + sizeText(f.Asked)
	}
	if !math.IsNaN(f.Allocated) && !math.IsNaN(f.Total) {
		text += fmt.Sprintf(", with %s allocated of %s", sizeText(f.Allocated), sizeText(f.Total))
	}
	return text
}
