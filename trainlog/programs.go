package trainlog

import "strings"

// A program is a framework whose lines are known to mean more than they say:
// which unit is printed, or what "memory" is of.
type program struct {
	name string
	// is reports whether a line is one of the program's.
	is func(line string) bool
	// unit is the unit of a number without one; Power 0 for none.
	unit Unit
	base float64 // size of the program's ambiguous units; 0 when not known
	// means is the metric of what is only called memory, Used when it is not known.
	means Metric
}

func has(parts ...string) func(string) bool {
	return func(line string) bool {
		for _, p := range parts {
			if !strings.Contains(line, p) {
				return false
			}
		}
		return true
	}
}

// isComposer knows the names of MosaicML Composer's MemoryMonitor, such as
// memory/peak_reserved_mem.
func isComposer(line string) bool {
	_, name, ok := strings.Cut(line, "memory/")
	return ok && (strings.HasPrefix(name, "current_") || strings.HasPrefix(name, "peak_")) && strings.Contains(name, "_mem")
}

var mebibytes, gibibytes = Unit{Text: "MB", Power: 2}, Unit{Text: "GB", Power: 3}

const axolotl = "Axolotl"

// programs are tried in order. What each prints is from its source.
var programs = []program{
	{name: "DeepSpeed", is: has("MA ", "Max_MA "), base: 1024, means: Used},
	{name: "DeepSpeed", is: has("MaxMemAllocated="), base: 1024, means: Used},
	{name: "Megatron Bridge", is: has("mem-allocated-gigabytes"), base: 1000, means: Used},
	{name: "Megatron", is: has("memory (MB) |"), base: 1024, means: Used},
	{name: "torchtitan", is: has("memory:", "GiB(", "tps"), base: 1024, means: PeakReserved},
	{name: "Detectron2", is: has("max_mem: "), unit: mebibytes, base: 1024, means: PeakAllocated},
	{name: "MetricLogger", is: has("max mem: "), unit: mebibytes, base: 1024, means: PeakAllocated},
	{name: "OpenMMLab", is: has("data_time: ", "memory: "), unit: mebibytes, base: 1024, means: PeakAllocated},
	{name: "torchtune", is: has("peak_memory_active"), unit: gibibytes, base: 1024, means: Used},
	{name: "MS-Swift", is: has("memory(GiB)"), base: 1024, means: PeakReserved},
	{name: "verl", is: has("perf/max_memory_allocated_gb"), base: 1024, means: Used},
	{name: "fairseq", is: has("gb_free"), base: 1024, means: Used},
	{name: axolotl, is: has("GB misc)"), base: 1024, means: Allocated},
	{name: "Composer", is: isComposer, unit: gibibytes, base: 1000, means: Used},
	{name: "Transformers", is: has("_mem_gpu"), base: 1024, means: Allocated},
}

// programOf returns the program that prints lines such as this, nil when none is known.
func programOf(line string) *program {
	for i := range programs {
		if programs[i].is(line) {
			return &programs[i]
		}
	}
	return nil
}

// adjust applies what is known of a program to a figure.
func (p *program) adjust(f *figure) {
	if p == nil {
		return
	}
	if p.means != Used && (f.metric == Used || f.metric == PeakUsed) {
		f.metric = p.means
	}
}

// addUp turns the amounts that Axolotl adds to what is allocated into totals:
// "25.7GB (+0.08GB cache, +1.1GB misc)". Cache is reserved and not allocated;
// misc is what nvidia-smi shows beyond reserved.
func (p *program) addUp(figures []figure) {
	if p == nil || p.name != axolotl || len(figures) < 2 || figures[0].metric != Allocated {
		return
	}
	for i := range figures[1:] {
		if f := &figures[i+1]; f.metric == Reserved {
			f.value += figures[0].value
		}
	}
}

// impliedUnit is the unit of a number that none is printed for.
func (s *scanner) impliedUnit(t *token, l label) (Unit, bool) {
	if s.program != nil && s.program.unit.Power > 0 && l.kind != totalSize {
		return s.program.unit, true
	}
	// memory_allocated() is a multiple of 512, which hardly any other count is.
	if t.digits == 0 && l.kind == exact && (t.value == 0 || t.value >= 1<<20 && int64(t.value)%blockGrain == 0) {
		return Unit{Text: "bytes"}, true
	}
	return Unit{}, false
}
