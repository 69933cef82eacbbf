package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how much a finding takes away from what a trace can tell.
type Severity uint8

const (
	Note    Severity = iota // good to know
	Warning                 // part of the answers is missing or unsure
	Severe                  // answers are wrong or missing
)

var severityNames = [...]string{"note", "warning", "severe"}

func (s Severity) String() string { return severityNames[min(int(s), len(severityNames)-1)] }

// A Finding is something about a trace that limits what can be learnt from it.
type Finding struct {
	Severity Severity
	Title    string // what
	Detail   string // how much, and why it matters
	Fix      string // the setting or step that mends it; "" when there is none
}

// Doctor examines a trace. The gravest findings come first; a sound trace has none.
func (t *Trace) Doctor() []Finding {
	d := &doctor{t: t}
	d.source()
	d.memory()
	d.outOfMemory()
	d.stacks()
	d.times()
	d.nesting()
	d.device()
	d.processes()
	slices.SortStableFunc(d.found, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return d.found
}

type doctor struct {
	t     *Trace
	found []Finding
}

func (d *doctor) say(s Severity, title, fix, detail string, args ...any) {
	d.found = append(d.found, Finding{Severity: s, Title: title, Detail: fmt.Sprintf(detail, args...), Fix: fix})
}

// source reports damage of the file.
func (d *doctor) source() {
	t := d.t
	if t.Partial != nil {
		d.say(Severe, "the file is cut", "write the trace again, and copy it once the program has ended",
			"%s; totals hold for the part that was read", t.Partial)
	}
	if t.Repaired > 0 {
		kinds := make(map[string]int)
		lost := 0
		for _, r := range t.Repairs {
			kinds[r.Kind]++
			lost += r.Lost
		}
		var parts []string
		for kind, n := range kinds {
			parts = append(parts, fmt.Sprintf("%s (%d)", kind, n))
		}
		slices.Sort(parts)
		severity := Note
		if lost > 0 {
			severity = Warning
		}
		d.say(severity, "the file is damaged and was repaired", "record with a newer PyTorch: since July 2026 it escapes quotes in names",
			"%d repairs, %d events lost: %s; the first at byte %d", t.Repaired, lost, strings.Join(parts, ", "), t.Repairs[0].Offset)
	}
	if t.Counts.Malformed > 0 {
		d.say(Warning, "events that cannot be used", "", "%d events have no time that is a number, or a size or device out of range, and were left out", t.Counts.Malformed)
	}
	unfinished := 0
	for i := range t.Host {
		if t.Host[i].Unfinished {
			unfinished++
		}
	}
	if unfinished > 0 {
		d.say(Note, "events were still running when the profiler stopped", "stop the profiler outside of the code it profiles",
			"%d events end with the trace and may have gone on", unfinished)
	}
}

// memory reports missing memory events and totals that do not follow.
func (d *doctor) memory() {
	t := d.t
	if len(t.Memory) == 0 {
		switch {
		case t.Meta.ProfileMemory:
			d.say(Severe, "profile_memory was on, but the trace has no memory events",
				"profile the thread that allocates: profile_all_threads loses memory events, and allocators other than PyTorch's report none",
				"no allocation was recorded")
		default:
			d.say(Warning, "the trace has no memory events", "record with torch.profiler.profile(profile_memory=True)",
				"profile_memory was off, so nothing can be said about memory")
		}
		return
	}
	for _, l := range t.Ledgers() {
		if !l.HasTotals {
			d.say(Warning, fmt.Sprintf("no totals of %s memory", deviceText(l.Type, l.Device)), "record with PyTorch 1.10 or later",
				"peak and end are relative to an unknown start")
		}
		if l.Unreconciled > 0 {
			d.say(Warning, fmt.Sprintf("memory totals of %s do not follow from the events", deviceText(l.Type, l.Device)),
				"record with a newer PyTorch, whose times are exact to the ns",
				"the steps of Total Allocated differ from the bytes of the events by %d bytes in all: events are missing or out of order", l.Unreconciled)
		}
	}
}

// deviceText names a device as torch does.
func deviceText(kind DeviceType, device int) string {
	if kind.onCPU() {
		return kind.String()
	}
	return fmt.Sprintf("%s:%d", kind, device)
}

func (d *doctor) outOfMemory() {
	ooms := 0
	var first MemoryEvent
	for _, e := range d.t.Memory {
		if e.OOM {
			if ooms == 0 {
				first = e
			}
			ooms++
		}
	}
	if ooms > 0 {
		d.say(Severe, "the program ran out of memory", "look at what was allocated at that time, and at a memory snapshot of it",
			"%d times; the first asked %s for %d bytes", ooms, deviceText(first.Type, int(first.Device)), first.Bytes)
	}
}

// stacks reports missing stacks and what brings them.
func (d *doctor) stacks() {
	t := d.t
	withStack := slices.ContainsFunc(t.Host, func(e HostEvent) bool { return e.Stack != 0 })
	const verbose = "experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True)"
	switch {
	case len(t.Host) == 0 || withStack:
	case len(t.Frames) > 0:
		d.say(Note, "key_averages() of this run shows no stacks", "to see them in PyTorch too, add "+verbose,
			"verbose was not set, so operators carry no stack of their own; the %d Python calls in the trace give the stacks here", len(t.Frames))
	case t.Meta.WithStack:
		d.say(Warning, "with_stack was on, but the trace has no stacks", "profile where Python runs, and add "+verbose,
			"neither operators nor Python calls carry stacks; lines and modules are unknown")
	default:
		d.say(Warning, "the trace has no stacks", "record with torch.profiler.profile(with_stack=True)",
			"with_stack was off, so memory and time cannot be told by line or module")
	}
	shapes := slices.ContainsFunc(t.Host, func(e HostEvent) bool { return e.Shapes != 0 })
	if len(t.Host) > 0 && !shapes && !t.Meta.RecordShapes {
		d.say(Note, "the trace has no input shapes", "record with torch.profiler.profile(record_shapes=True)", "record_shapes was off")
	}
}

// times reports times that are no times.
func (d *doctor) times() {
	t := d.t
	zero, fractions, n := 0, 0, 0
	for i := range t.Host {
		e := &t.Host[i]
		if e.Kind == Overhead {
			continue
		}
		n++
		if e.Start == 0 && e.Dur == 0 {
			zero++
		}
		if e.Start%1000 != 0 || e.Dur%1000 != 0 {
			fractions++
		}
	}
	for i := range t.Device {
		n++
		if e := &t.Device[i]; e.Start == 0 && e.Dur == 0 {
			zero++
		}
	}
	if zero > 1 && 100*zero >= n {
		severity := Warning
		if 4*zero >= n {
			severity = Severe
		}
		d.say(severity, "events without time", "record again; a clock that was never read gives these, update PyTorch and the driver",
			"%d of %d events (%d %%) start at 0.000 and last 0.000", zero, n, 100*zero/n)
	}
	if n >= 100 && fractions == 0 {
		d.say(Note, "times are whole µs", "record with PyTorch 2.4 or later", "short events may last 0, and events of the same µs have no order")
	}
}

// nesting reports spans that cross, which no tree can hold, and operators that
// end before they begin another's end.
func (d *doctor) nesting() {
	t := d.t
	crossing := d.crossing(func(e *HostEvent) bool { return e.Kind == Operator })
	if crossing.count > 0 {
		d.say(Warning, "operators cross on one thread", "record with PyTorch 2.4 or later, whose times are exact to the ns",
			"%d operators begin inside another and end after it, by up to %d ns: the clock is out of order or times were rounded",
			crossing.count, crossing.most)
	}
	all := d.crossing(func(e *HostEvent) bool { return e.Kind == Operator || e.Kind == Annotation })
	if n := all.count - crossing.count; n > 0 {
		d.say(Note, "annotations cross operators", "open and close record_function in the same call",
			"%d spans cross; viewers such as Perfetto drop these", n)
	}
	backwards := 0
	launches := t.launches()
	for i := range t.Device {
		e := &t.Device[i]
		if host, ok := launches[e.Correlation]; ok && e.Kind != DeviceAnnotation && e.Correlation >= 0 && e.Start < t.Host[host].Start {
			backwards++
		}
	}
	if backwards > 0 {
		d.say(Warning, "device work starts before its launch", "update the driver and CUPTI: the clocks of host and device differ",
			"%d kernels or copies start before the call that launched them", backwards)
	}
}

// crossings counts spans that cross, and the longest part outside, in ns.
type crossings struct {
	count int
	most  int64
}

func (d *doctor) crossing(of func(*HostEvent) bool) crossings {
	n := d.t.derived()
	n.trees()
	var c crossings
	for thread := range d.t.Threads {
		var open []int64 // ends
		for _, s := range n.all.spans[n.all.first[thread]:n.all.first[thread+1]] {
			if !of(&d.t.Host[s.id]) {
				continue
			}
			for len(open) > 0 && open[len(open)-1] <= s.start {
				open = open[:len(open)-1]
			}
			if k := len(open); k > 0 && s.end > open[k-1] {
				c.count++
				c.most = max(c.most, s.end-open[k-1])
			}
			open = append(open, s.end)
		}
	}
	return c
}

// device reports what the trace lacks of the device.
func (d *doctor) device() {
	t := d.t
	kernels, unlinked, accelerated := 0, 0, false
	launches := t.launches()
	for i := range t.Device {
		e := &t.Device[i]
		if e.Kind != Kernel {
			continue
		}
		kernels++
		if _, ok := launches[e.Correlation]; !ok || e.Correlation < 0 {
			unlinked++
		}
	}
	for i := range t.Memory {
		accelerated = accelerated || !t.Memory[i].Type.onCPU()
	}
	accelerated = accelerated || slices.ContainsFunc(t.Host, func(e HostEvent) bool {
		return e.Kind == Runtime && strings.Contains(t.Names[e.Name], "Launch")
	})
	switch {
	case len(t.Device) == 0 && accelerated:
		d.say(Warning, "no device activity, though the program used a device",
			"add ProfilerActivity.CUDA (or XPU) to the activities; only one profiler can use CUPTI at a time, so stop others, and call prof.stop() after torch.cuda.synchronize()",
			"time on the device is unknown")
	case unlinked > 0:
		severity := Note
		if 10*unlinked >= kernels {
			severity = Warning
		}
		d.say(severity, "kernels without a launch", "profile one step more before the one you look at (schedule with warmup)",
			"%d of %d kernels have no call that launched them: it was before the trace, or its correlation id is missing", unlinked, kernels)
	}
}

// processes reports a file that holds several processes.
func (d *doctor) processes() {
	t := d.t
	pids := make(map[string]bool)
	for i := range t.Host {
		if e := &t.Host[i]; e.Kind == Operator {
			pids[t.Threads[e.Thread].PID] = true
		}
	}
	if len(pids) > 1 {
		d.say(Warning, "several processes in one file", "look at the trace of each rank by itself",
			"operators of %d processes: device 0 of one is another device than device 0 of the other, and their totals are mixed", len(pids))
	}
}
