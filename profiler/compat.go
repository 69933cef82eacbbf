package profiler

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// This file and its neighbours compat_*.go compute what torch.profiler's
// key_averages() returns, from the exported trace alone. The rules are those of
// torch/autograd/profiler.py (_parse_kineto_results) and
// torch/autograd/profiler_util.py (EventList, FunctionEvent, MemRecordsAcc) in
// PyTorch 2.11. What the file does not say, and torch therefore knows better:
//
//   - Whether an operator ended on another thread than it began on (RPC, futures).
//     All count as ending where they began.
//   - The thread that stopped the profiler, to which torch charges work without
//     an operator. It is taken to be the main thread.

// A compatEvent is an event that torch makes a FunctionEvent of. Times are ns.
type compatEvent struct {
	start, end   int64
	cpuMemory    int64 // bytes, with what it calls
	deviceMemory int64
	deviceTime   int64 // of kernels; with those of what it calls once totals are summed
	kernels      int32
	source       int32 // index in the column of the Trace that kind tells
	parent       int32 // none at a root
	children     int32
	stack        stackID
	id           uint32 // External id of operators, correlation of other events
	name         Name
	thread       ThreadID
	kind         compatKind
	linked       bool // launched by an operator that is in the trace
	folded       bool // into its parent of the same name
	annotation   bool
}

// compatKind says what a compatEvent is.
type compatKind uint8

const (
	compatOp     compatKind = iota // operator or annotation
	compatCall                     // runtime call or overhead
	compatDevice                   // on a device
	compatMemory                   // memory event outside of every other event
)

// compat is the work of one key_averages().
type compat struct {
	t      *Trace
	o      TableOptions
	events []compatEvent // of the host, then of devices, then of memory, each in file order
	device int           // where those of devices begin
	order  []orderKey    // events of the host and of memory by thread, then as before has it
	main   ThreadID
	names  compatNames
	ids    idTable
	memory memorySums
	stacks *compatStacks // nil when the table or the trace has none
}

// keyAverages is the table of torch.profiler's key_averages(), by operator, by
// operator and shapes or by operator and stack. Its rows are sorted; those that
// compare equal stay in the order of torch.
//
// Allocated, Freed, Peak and Kept are not set: torch knows only net bytes.
func (t *Trace) keyAverages(o TableOptions) Table {
	c := &compat{t: t, o: o, names: newCompatNames(t.Names)}
	c.addHost()
	c.addDevice()
	c.link()
	if o.By == ByStack && t.hasStacks() {
		c.stacks = newCompatStacks(t, o.StackDepth)
		c.stackEvents()
	}
	c.placeUnlinked()
	c.chargeKernels()
	c.sortHost()
	c.memory = newMemorySums(t)
	c.chargeMemory()
	c.nest()
	c.fold()
	if c.stacks != nil {
		c.forwardStacks()
	}
	c.sumDeviceTime()
	table := c.table()
	table.Unattributed, table.UnattributedFreed = c.unattributed()
	return table
}

// addHost takes the finished events of the host.
func (c *compat) addHost() {
	c.events = make([]compatEvent, 0, len(c.t.Host)+len(c.t.Device))
	for i := range c.t.Host {
		h := &c.t.Host[i]
		if h.Unfinished || c.names.dropped(h.Name) {
			continue
		}
		e := compatEvent{start: h.Start, end: h.End(), source: int32(i), parent: none, name: c.names.canonical(h.Name),
			thread: h.Thread, kind: compatCall, annotation: h.Kind == Annotation}
		switch {
		case h.Kind == Operator || h.Kind == Annotation:
			e.kind = compatOp
			e.id = id32(h.External)
		case h.Kind == Runtime:
			e.id = id32(h.Correlation)
		}
		c.events = append(c.events, e)
	}
	c.device = len(c.events)
}

// addDevice takes the events of devices. The writer of the file widens the GPU
// span of an annotation by 1 ns on either side, which is undone here.
func (c *compat) addDevice() {
	for i := range c.t.Device {
		d := &c.t.Device[i]
		if c.names.dropped(d.Name) {
			continue
		}
		e := compatEvent{start: d.Start, end: d.End(), source: int32(i), parent: none, name: c.names.canonical(d.Name),
			thread: d.Thread, kind: compatDevice, id: id32(d.Correlation), annotation: d.Kind == DeviceAnnotation}
		if e.annotation && d.Dur >= 2 {
			e.start++
			e.end--
		}
		c.events = append(c.events, e)
	}
}

// id32 is an id as the file means it: it is written as an int32, so ids compare
// modulo 2³². No id is 0.
func id32(id int64) uint32 {
	if id == absent {
		return 0
	}
	return uint32(id)
}

// compatNames knows what torch does with names: _filter_name and _rewrite_name
// of profiler_util.py.
type compatNames struct {
	names []string
	class []nameClass // by Name
	step  Name        // stands for all steps
}

type nameClass uint8

const (
	nameUnknown nameClass = iota
	nameKept
	nameDropped
	nameStep
)

// Names of steps count as one.
const (
	stepPrefix = "ProfilerStep#"
	stepName   = "ProfilerStep*"
)

func newCompatNames(names []string) compatNames {
	return compatNames{names: names, class: make([]nameClass, len(names))}
}

func (n *compatNames) classOf(name Name) nameClass {
	if n.class[name] == nameUnknown {
		n.class[name] = classify(n.names[name])
	}
	return n.class[name]
}

func classify(name string) nameClass {
	switch name {
	case "[memory]", "[OutOfMemory]", "profiler::_record_function_enter", "profiler::_record_function_enter_new",
		"profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version":
		return nameDropped
	}
	if strings.HasPrefix(name, stepPrefix) {
		return nameStep
	}
	return nameKept
}

func (n *compatNames) dropped(name Name) bool { return n.classOf(name) == nameDropped }

// canonical returns the name that stands for all that torch takes for the same.
func (n *compatNames) canonical(name Name) Name {
	if n.classOf(name) != nameStep {
		return name
	}
	if n.step == 0 {
		n.step = name
	}
	return n.step
}

// text is the name as torch shows it.
func (n *compatNames) text(name Name) string {
	if n.classOf(name) == nameStep {
		return stepName
	}
	return n.names[name]
}

// orderKey is what events of the host are sorted by, apart from them so that
// sorting moves little memory.
type orderKey struct {
	start, end int64
	event      int32
}

// before is the order of EventList: by start, the longer first, then as created.
func (a orderKey) before(b orderKey) int {
	switch {
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	case a.end != b.end:
		return cmp.Compare(b.end, a.end)
	}
	return cmp.Compare(a.event, b.event)
}

func (c *compat) key(event int32) orderKey {
	return orderKey{c.events[event].start, c.events[event].end, event}
}

// sortHost orders the events of the host within each thread.
func (c *compat) sortHost() {
	end := make([]int, len(c.t.Threads)+1)
	for i := range c.events[:c.device] {
		end[c.events[i].thread+1]++
	}
	for i := 1; i < len(end); i++ {
		end[i] += end[i-1]
	}
	c.order = make([]orderKey, c.device)
	next := slices.Clone(end)
	for i := range c.events[:c.device] {
		thread := c.events[i].thread
		c.order[next[thread]] = c.key(int32(i))
		next[thread]++
	}
	for i := 1; i < len(end); i++ {
		slices.SortFunc(c.order[end[i-1]:end[i]], orderKey.before)
	}
}

// mainThread is the thread of the process's own id, or that of the first operator.
func (c *compat) mainThread() ThreadID {
	for i := range c.t.Host {
		id := c.t.Host[i].Thread
		if thread := &c.t.Threads[id]; thread.PID == thread.TID {
			return id
		}
	}
	for i := range c.events[:c.device] {
		if c.events[i].kind == compatOp {
			return c.events[i].thread
		}
	}
	return 0
}

// hasStacks reports whether operators carry a Call stack, which is so with
// with_stack=True and experimental_config verbose=True.
func (t *Trace) hasStacks() bool {
	return slices.ContainsFunc(t.Host, func(h HostEvent) bool {
		return h.Kind <= Annotation && strings.Trim(t.Names[h.Stack], ";") != ""
	})
}

// indexOrLast is an event's index of recording; one without comes after those
// that have one.
func indexOrLast(index int32) int32 {
	if index < 0 {
		return math.MaxInt32
	}
	return index
}
