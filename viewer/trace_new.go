package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/profiler"
)

// NewTrace gathers the results a report of a trace shows: it calls the analysis
// of package profiler and adds a verdict in words. Options.Keep chooses devices by
// their index in the file, -1 for the CPU.
func NewTrace(t *profiler.Trace, o Options) Trace {
	g := gatherer{t: t, stacks: newTextStacks(), keep: o.Keep}
	if g.keep == nil {
		g.keep = func(int) bool { return true }
	}
	g.first, g.last = t.Span()
	out := Trace{
		Name: t.Source.Name, Bytes: t.Source.Bytes, Version: o.Version,
		Format:   strings.Join(append([]string{"profiler trace"}, t.Source.Compression...), ", "),
		Repaired: t.Repaired, Repairs: repairKinds(t),
		Settings: traceSettings(&t.Meta), Facts: sourceFacts(t),
		Wall: max(0, g.last-g.first), Stacks: g.stacks,
	}
	if t.Partial != nil {
		out.Partial = t.Partial.Error()
	}
	out.Memory = g.memory()
	more := len(g.ledgers) - len(out.Memory)
	g.hasMemory = len(out.Memory) > 0
	stats := t.KernelStats()
	out.Kernels, out.Gaps = g.kernels(stats)
	g.hasDevice = len(out.Kernels) > 0
	out.Steps = g.steps()
	out.Tables = g.tables()
	out.Flames = g.flames()
	out.Findings = findings(t)
	out.Notes = g.notes(&out, stats)
	if more > 0 {
		out.Notes = append(out.Notes, TraceNote{"note", fmt.Sprintf("The trace names %s; this page has those with the highest peaks.", plural(len(g.ledgers), "device"))})
	}
	out.Verdict = traceVerdict(&out)
	return out
}

// gatherer turns results of the profiler into what the report shows.
type gatherer struct {
	t                    *profiler.Trace
	keep                 func(device int) bool
	stacks               *textStacks
	first, last          int64 // ns, of all events
	hasMemory, hasDevice bool
	ledgers              []profiler.Ledger
	categories           profiler.Categories
}

// since is a time as a distance from the start of the trace.
func (g *gatherer) since(ns int64) int64 { return max(0, ns-g.first) }

// repairKinds names each kind of damage once.
func repairKinds(t *profiler.Trace) []string {
	var kinds []string
	for _, r := range t.Repairs {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

func traceSettings(m *profiler.Meta) []Setting {
	var out []Setting
	for _, s := range []struct {
		name string
		on   bool
	}{{"profile_memory", m.ProfileMemory}, {"record_shapes", m.RecordShapes}, {"with_stack", m.WithStack}, {"with_modules", m.WithModules}, {"with_flops", m.WithFlops}} {
		value := "not said"
		if s.on {
			value = "on"
		}
		out = append(out, Setting{s.name, value})
	}
	return out
}

// sourceFacts are what the trace is about, in a few words each.
func sourceFacts(t *profiler.Trace) []string {
	out := []string{plural(t.Counts.Events, "event")}
	counts := map[string]int{}
	var names []string
	for _, d := range t.Meta.Devices {
		if counts[d.Name]++; counts[d.Name] == 1 {
			names = append(names, d.Name)
		}
	}
	for _, n := range names {
		if counts[n] > 1 {
			n = fmt.Sprintf("%d × %s", counts[n], n)
		}
		out = append(out, n)
	}
	if t.Meta.World > 0 {
		out = append(out, fmt.Sprintf("rank %d of %d", t.Meta.Rank, t.Meta.World))
	}
	var on []string
	for _, s := range traceSettings(&t.Meta) {
		if s.Value == "on" {
			on = append(on, s.Key)
		}
	}
	if len(on) == 0 {
		return append(out, "no profiler settings in the file")
	}
	return append(out, strings.Join(on, ", "))
}

// memory gathers the devices, accelerators first and of these the one with the
// highest peak.
func (g *gatherer) memory() []TraceMemory {
	g.ledgers = slices.DeleteFunc(g.t.Ledgers(), func(l profiler.Ledger) bool { return !g.keep(l.Device) })
	slices.SortStableFunc(g.ledgers, func(a, b profiler.Ledger) int {
		return cmp.Or(cmp.Compare(min(b.Device, 0), min(a.Device, 0)), cmp.Compare(b.Peak, a.Peak))
	})
	g.categories = g.t.Categorize()
	steps := g.steps()
	var out []TraceMemory
	for _, l := range g.ledgers[:min(len(g.ledgers), maxCurves)] {
		m := TraceMemory{
			Name: memoryName(l.Type, l.Device), Baseline: l.Baseline, Peak: l.Peak, ReservedPeak: l.ReservedPeak, End: l.End,
			Allocated: l.Allocated, Freed: l.Freed, PeakTime: g.since(l.PeakTime), Events: l.Events, OOMs: l.OOMs,
			HasTotals: l.HasTotals, Unreconciled: l.Unreconciled,
		}
		g.curve(&m, l, share(maxTracePoints, min(len(g.ledgers), maxCurves), 100))
		m.Marks = g.marks(l, steps)
		out = append(out, m)
	}
	return out
}

func memoryName(kind profiler.DeviceType, device int) string {
	name := strings.ToUpper(kind.String())
	if device < 0 {
		return name
	}
	return name + " " + strconv.Itoa(device)
}

// shownCategories is the order of the layers, from the bottom: what lives long
// lies below what comes and goes.
var shownCategories = []profiler.Category{
	profiler.CategoryParameter, profiler.CategoryBuffer, profiler.CategoryOptimizerState, profiler.CategoryGradient,
	profiler.CategoryInput, profiler.CategoryActivation, profiler.CategoryTemporary, profiler.CategoryAutogradDetail,
	profiler.CategoryWorkspace, profiler.CategoryCommunication, profiler.CategoryUnknown,
}

// curve fills the curve, by category on the device whose memory is categorized.
func (g *gatherer) curve(m *TraceMemory, l profiler.Ledger, points int) {
	c := &g.categories
	if c.Type != l.Type || c.Device != l.Device || len(c.Allocations) == 0 {
		for _, p := range g.t.Curve(l, points) {
			m.Curve = append(m.Curve, TracePoint{Time: g.since(p.Time), Allocated: p.Allocated, Reserved: p.Reserved})
		}
		return
	}
	by := c.Curve(points)
	used := slices.DeleteFunc(slices.Clone(shownCategories), func(k profiler.Category) bool {
		return !slices.ContainsFunc(by, func(p profiler.CategoryPoint) bool { return p.Bytes[k] != 0 })
	})
	reserved := g.t.Curve(l, 0)
	for _, p := range by {
		point := TracePoint{Time: g.since(p.Time), Allocated: p.Total()}
		if after := sort.Search(len(reserved), func(i int) bool { return reserved[i].Time > p.Time }); after > 0 {
			point.Reserved = reserved[after-1].Reserved
		} else if len(reserved) > 0 {
			point.Reserved = reserved[0].Reserved
		}
		for _, k := range used {
			point.Categories = append(point.Categories, p.Bytes[k])
		}
		m.Curve = append(m.Curve, point)
	}
	for _, k := range used {
		m.Categories = append(m.Categories, k.String())
		m.AtPeak = append(m.AtPeak, c.Peak.Bytes[k])
	}
	m.CategoryNote = fmt.Sprintf("Bytes and shares are those at the peak. A trace does not say what memory is for: temporary is exact, the other categories are inferred and %.0f %% sure, by bytes at the peak.", 100*c.Confidence)
	if n := c.AssumedBytes(); n > 0 {
		m.CategoryNote += fmt.Sprintf(" %s from before the trace are never freed in it; their category is assumed.", units.Bytes(n))
	}
}

// marks are steps as ranges, and annotations and failed allocations as moments.
// Times are µs.
func (g *gatherer) marks(l profiler.Ledger, steps []TraceStep) []Mark {
	var ooms, notes, ranges []Mark
	at := func(ns int64) int64 { return g.since(ns) / 1000 }
	for i := range g.t.Memory {
		if e := &g.t.Memory[i]; e.OOM && e.Type == l.Type && int(e.Device) == l.Device {
			ooms = append(ooms, Mark{Kind: MarkOOM, Label: "out of memory", Event: int(at(e.Time)), Time: at(e.Time)})
		}
	}
	for i := range g.t.Host {
		e := &g.t.Host[i]
		if e.Kind != profiler.Annotation {
			continue
		}
		name := g.t.Names[e.Name]
		if !strings.HasPrefix(name, "ProfilerStep#") { // these are steps
			notes = append(notes, Mark{Kind: MarkAnnotate, Label: name, Event: int(at(e.Start)), Time: at(e.Start)})
		}
	}
	for _, s := range steps {
		from, till := s.Start/1000, (s.Start+s.Dur)/1000
		ranges = append(ranges, Mark{Kind: MarkRange, Label: s.Name, Event: int(from), Time: from, End: int(till), Till: till})
	}
	for _, m := range [][]Mark{ooms, notes, ranges} {
		slices.SortStableFunc(m, func(a, b Mark) int { return a.Event - b.Event })
	}
	return slices.Concat(ooms, notes, ranges)
}
