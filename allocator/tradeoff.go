package allocator

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
)

// tradeOff says in sentences what the chosen settings bring and cost.
func (a *Advice) tradeOff() []string {
	switch {
	case a.Best == nil:
		return []string{fmt.Sprintf("requests fail under all of these settings in %s", units.Bytes(a.Limit))}
	case a.Best == a.Baseline:
		return []string{a.keep()}
	}
	why := []string{a.gain(), a.cost()}
	return append(why, a.Best.effects(a.Baseline)...)
}

// keep says why nothing should change.
func (a *Advice) keep() string {
	over := units.Percent(a.Baseline.PeakReserved-a.LowerBound, a.Baseline.PeakReserved)
	least := "1 %"
	if a.Error > a.Baseline.PeakReserved/100 {
		least = units.Bytes(a.Error) + ", by which the replay misses the record,"
	}
	return "no setting tried saves " + least + " or more: the recorded ones reserve " + units.Bytes(a.Baseline.PeakReserved) +
		" at the peak, of which " + over + " is not live at once"
}

func (a *Advice) gain() string {
	if a.Baseline.OOMs > 0 {
		return fmt.Sprintf("no request fails in %s, where the recorded settings fail %s", units.Bytes(a.Limit), times(a.Baseline.OOMs))
	}
	less := a.Baseline.PeakReserved - a.Best.PeakReserved
	return fmt.Sprintf("reserves %s (%s) less at the peak: %s instead of %s", units.Bytes(less), units.Percent(less, a.Baseline.PeakReserved),
		units.Bytes(a.Best.PeakReserved), units.Bytes(a.Baseline.PeakReserved))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return units.Count(n) + " times"
}

func (a *Advice) cost() string {
	calls, before := a.Best.DeviceCalls(), a.Baseline.DeviceCalls()
	text := fmt.Sprintf("the device is called %s for memory, under the recorded settings %s", times(calls), times(before))
	if calls > 2*before {
		text += "; that costs time, most of it while caches fill"
	}
	return text
}

// effects are what the settings do besides, in words.
func (r *Result) effects(baseline *Result) []string {
	var out []string
	set := &r.Settings
	if set.Expandable {
		out = append(out, "expandable_segments: memory is mapped in pages as it is needed; "+
			"sharing tensors with other processes (CUDA IPC) is restricted under it")
	}
	if set.MaxSplitSize > 0 {
		out = append(out, fmt.Sprintf("max_split_size_mb: blocks of %s and more are kept whole, for requests about as large", units.Bytes(set.MaxSplitSize)))
	}
	if set.Roundup != Default().Roundup {
		out = append(out, "roundup_power2_divisions: sizes are rounded up further, so that blocks fit again; "+
			units.Signed(r.PeakAllocated-baseline.PeakAllocated)+" allocated at the peak")
	}
	if set.GCThreshold > 0 {
		out = append(out, fmt.Sprintf("garbage_collection_threshold: old cached blocks are given back above %.0f%% of the limit; "+
			"needs torch.cuda.set_per_process_memory_fraction", 100*set.GCThreshold))
	}
	return out
}
