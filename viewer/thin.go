package viewer

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// markKinds are the kinds of marks, how many of each are drawn at most, and what
// the legend says of them.
var markKinds = []struct {
	kind          MarkKind
	most          int
	noun, meaning string
}{
	{MarkOOM, 32, "out-of-memory", "out of memory"},
	{MarkRetry, 32, "retry", "allocation retried with an emptied cache"},
	{MarkAnnotate, 48, "annotation", "annotation by the program"},
	{MarkRange, 120, "named range", "named range (record_function)"},
	{MarkPhase, 120, "phase", "phase of a step"},
	{MarkSnapshot, 24, "snapshot", "a snapshot was taken"},
}

// markKey is an entry of the legend of marks.
type markKey struct {
	Kind    MarkKind
	Meaning string
	Count   string // "" for one
}

// thinMarks leaves of each kind no more marks than can be told apart on a curve,
// spread over the whole history. It returns the marks to draw, the legend, and
// a sentence on what is left out ("" for nothing).
func thinMarks(marks []Mark, devices int) (drawn []Mark, legend []markKey, left string) {
	var cut []string
	for _, k := range markKinds {
		var own []Mark
		for _, m := range marks {
			if m.Kind == k.kind {
				own = append(own, m)
			}
		}
		if len(own) == 0 {
			continue
		}
		kept := thin(own, share(k.most, devices, 2))
		drawn = append(drawn, kept...)
		key := markKey{Kind: k.kind, Meaning: k.meaning}
		if len(own) > 1 {
			key.Count = units.Count(len(own))
		}
		legend = append(legend, key)
		if len(kept) < len(own) {
			cut = append(cut, fmt.Sprintf("%s of %s", units.Count(len(kept)), plural(len(own), k.noun)))
		}
	}
	if len(cut) > 0 {
		left = "Marked on the curve, spread evenly over the history: " + strings.Join(cut, ", ") + "."
	}
	return drawn, legend, left
}

// thin keeps at most limit of marks that are in order of events. Names that come
// again and again, as in every step of a training, each lose the same
// occurrences, so that what is left are whole steps; without such names every
// so many marks are kept.
func thin(marks []Mark, limit int) []Mark {
	if len(marks) <= limit {
		return marks
	}
	times := map[string]int{}
	for _, m := range marks {
		times[m.Label]++
	}
	if 2*len(times) > limit {
		return thinByPlace(marks, limit)
	}
	stride := 1
	for kept := len(marks); kept > limit; {
		stride++
		kept = 0
		for _, n := range times {
			kept += (n + stride - 1) / stride
		}
	}
	seen := map[string]int{}
	var out []Mark
	for _, m := range marks {
		if seen[m.Label]%stride == 0 {
			out = append(out, m)
		}
		seen[m.Label]++
	}
	return out
}

// thinByPlace keeps the first, the last and evenly many between.
func thinByPlace(marks []Mark, limit int) []Mark {
	if limit <= 1 {
		return marks[len(marks)-1:]
	}
	out := make([]Mark, limit)
	for i := range out {
		out[i] = marks[i*(len(marks)-1)/(limit-1)]
	}
	return out
}
