package budget

import "fmt"

// segmentStep is growth of reserved memory that says nothing: the allocator takes
// 20 MiB at a time for requests below 10 MiB, so that one more may be a step.
const segmentStep = 32 << 20

// DefaultGates are what a capture is held to when there is a baseline and no
// budget: the peaks and the end may grow by 2 %, and no more allocations may
// fail. Growth of a single category or line, which others may make up for, is
// told and does not fail.
func DefaultGates() []Gate {
	growth := func(stat, most string, below int64) Gate {
		return impliedGate(Gate{Kind: OnStat, Subject: stat, MaxGrowth: mustAmount(stat, most), IgnoreBelow: below, lenient: true})
	}
	part := func(kind GateKind, most string, below int64) Gate {
		return impliedGate(Gate{Kind: kind, Subject: AnyOf, At: atPeak, MaxGrowth: mustAmount("", most), IgnoreBelow: below, Warn: true, lenient: true})
	}
	return []Gate{
		growth("peak.requested_bytes", "2%", 0),
		growth("peak.reserved_bytes", "2%", segmentStep),
		growth("requested_bytes", "2%", 1<<20),
		growth("oom_events", "0", 0),
		growth("trace.peak_bytes", "2%", 0),
		growth("trace.reserved_peak_bytes", "2%", segmentStep),
		growth("trace.oom_events", "0", 0),
		part(OnCategory, "5%", 16<<20),
		part(OnLine, "5%", 64<<20),
	}
}

// MaxPeakGates hold what a device must have at the most to a size, such as
// "40GiB".
func MaxPeakGates(size string) ([]Gate, error) {
	return quickGates(size, false, func(g *Gate, a *Amount) { g.Max = a })
}

// MaxGrowthGates hold the growth of the peaks against the baseline to an amount,
// such as "5%" or "200MiB".
func MaxGrowthGates(amount string) ([]Gate, error) {
	return quickGates(amount, true, func(g *Gate, a *Amount) { g.MaxGrowth = a })
}

// quickGates limit the reserved peak, which is what a device must have; growth
// also the requested one, which is what the program asked for.
func quickGates(text string, growth bool, limit func(*Gate, *Amount)) ([]Gate, error) {
	a, err := parseAmount(text, unitBytes, growth)
	if err != nil {
		return nil, err
	}
	if a.IsPercent && !growth {
		return nil, fmt.Errorf("%q is a share of nothing; give a size such as 40GiB", text)
	}
	subjects := []string{"peak.reserved_bytes", "trace.reserved_peak_bytes", "trace.peak_bytes"}
	if growth {
		subjects = []string{"peak.requested_bytes", "peak.reserved_bytes", "trace.peak_bytes", "trace.reserved_peak_bytes"}
	}
	var gates []Gate
	for _, subject := range subjects {
		g := impliedGate(Gate{Kind: OnStat, Subject: subject})
		limit(&g, a)
		gates = append(gates, g)
	}
	return gates, nil
}

// impliedGate completes a gate that nobody wrote: it may be about nothing.
func impliedGate(g Gate) Gate {
	g.implied = true
	g.Name = g.title()
	return g
}

// mustAmount is parseAmount for what this file says.
func mustAmount(stat, text string) *Amount {
	unit := unitBytes
	if s, ok := findStat(stat); ok {
		unit = s.unit
	}
	a, err := parseAmount(text, unit, true)
	if err != nil {
		panic(err)
	}
	return a
}
