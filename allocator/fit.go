package allocator

import (
	"runtime"
	"slices"
	"sync"
)

// A Fit is the least memory in which a replay serves every request.
type Fit struct {
	Settings Settings
	Bytes    int64 // within fitSteps of what the allocator reserves at least
	Card     int   // the smallest usual GPU with that much to spare, by its name in GB; 0 for none
}

// Cards are the sizes in GB under which GPUs are sold.
var Cards = []int{24, 40, 48, 80, 96, 141, 192}

// usable is what the allocator can have of a card. Of the GiB in its name up to
// 7 % are missing (error correction, the driver), and the context of CUDA, with
// its kernels and libraries, takes 0.5 to 1 GiB.
func usable(card int) int64 {
	const gib = 1024 * mib
	return int64(card)*gib*93/100 - gib
}

// CardFor returns the smallest of Cards in which the allocator can reserve that
// many bytes, 0 for none.
func CardFor(bytes int64) int {
	for _, card := range Cards {
		if bytes <= usable(card) {
			return card
		}
	}
	return 0
}

// fits finds the least memory for the recorded settings and for the chosen ones,
// or those that come closest.
func (r *Replay) fits(a *Advice) []Fit {
	sets := []Settings{r.Settings}
	best := a.Best
	if best == nil {
		best = slices.MinFunc(a.modelled(), byOutcome)
	}
	if best.OOMs < a.Baseline.OOMs || best == a.Best && best != a.Baseline {
		sets = append(sets, best.Settings)
	}
	out := make([]Fit, len(sets))
	sideBySide(len(sets), func(i int) {
		bytes := r.leastLimit(sets[i], a.LowerBound)
		out[i] = Fit{sets[i], bytes, CardFor(bytes)}
	})
	return out
}

// fitSteps is how finely a limit is searched, as a part of what is reserved
// without one.
const fitSteps = 128

// leastLimit returns a limit, low or more, under which no request fails: a replay
// was run with it. Halving finds it, which need not be the very least, as now and
// then a replay fails with more memory and not with less.
func (r *Replay) leastLimit(set Settings, low int64) int64 {
	high := r.WhatIf(set, Options{Limits: limitsFor(&set, 0)}).PeakReserved
	for step := max(high/fitSteps, 2*mib); high-low > step; {
		limit := (low + (high-low)/2) / (2 * mib) * (2 * mib)
		if limit <= low {
			break
		}
		if r.WhatIf(set, Options{Limits: limitsFor(&set, limit), StopAtOOM: true}).OOMs > 0 {
			low = limit
		} else {
			high = limit
		}
	}
	return high
}

// sideBySide runs f(0) … f(n−1), as many at a time as there are processors.
func sideBySide(n int, f func(int)) {
	var running sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			f(i)
		})
	}
	running.Wait()
}
