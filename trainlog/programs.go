package trainlog

import "strings"

// A program is a framework whose lines are known to mean more than they say:
// which unit is printed, or what "memory" is of.
type program struct {
	name string
	// A line is the program's if it has a word for which word holds, and is holds
	// for the line.
	word func(string) bool
	is   func(line string) bool
	// unit is the unit of a number without one; Power 0 for none.
	unit Unit
	base float64 // size of the program's ambiguous units; 0 when not known
	// means is the metric of what is only called memory, Used when it is not known.
	means Metric
}

func named(word string) func(string) bool { return func(w string) bool { return w == word } }

func within(part string) func(string) bool {
	return func(w string) bool { return strings.Contains(w, part) }
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
	{name: "DeepSpeed", word: named("Max_MA"), is: has("MA "), base: 1024, means: Used},
	{name: "DeepSpeed", word: named("MaxMemAllocated"), is: has("="), base: 1024, means: Used},
	{name: "Megatron Bridge", word: named("gigabytes"), is: has("mem-allocated-gigabytes"), base: 1000, means: Used},
	{name: "Megatron", word: named("MB"), is: has("memory (MB) |"), base: 1024, means: Used},
	{name: "torchtitan", word: named("tps"), is: has("memory:", "GiB("), base: 1024, means: PeakReserved},
	{name: "Detectron2", word: named("max_mem"), is: has("max_mem: "), unit: mebibytes, base: 1024, means: PeakAllocated},
	{name: "MetricLogger", word: named("mem"), is: has("max mem: "), unit: mebibytes, base: 1024, means: PeakAllocated},
	{name: "OpenMMLab", word: named("data_time"), is: has("memory: "), unit: mebibytes, base: 1024, means: PeakAllocated},
	{name: "torchtune", word: named("peak_memory_active"), is: has(":"), unit: gibibytes, base: 1024, means: Used},
	{name: "MS-Swift", word: named("GiB"), is: has("memory(GiB)"), base: 1024, means: PeakReserved},
	{name: "verl", word: named("max_memory_allocated_gb"), is: has("perf/"), base: 1024, means: Used},
	{name: "fairseq", word: named("gb_free"), is: has("="), base: 1024, means: Used},
	{name: axolotl, word: named("misc"), is: has("GB misc)"), base: 1024, means: Allocated},
	{name: "Composer", word: within("_mem"), is: isComposer, unit: gibibytes, base: 1000, means: Used},
	{name: "Accelerate", word: named("train"), is: has("emory", " the train"), unit: mebibytes, base: 1024, means: Used},
	{name: "Transformers", word: within("_mem_gpu"), is: has("="), base: 1024, means: Allocated},
}

// programOf returns the program that prints lines such as this, nil when none is known.
func programOf(line string, tokens []token) *program {
	for i := range tokens {
		if w := tokens[i].word; w != nil {
			for _, p := range w.from {
				if p.is(line) {
					return p
				}
			}
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
