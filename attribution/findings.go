package attribution

import (
	"cmp"
	"slices"
)

// A Finding is a way to need less memory that a snapshot gives evidence of.
// It rests on what was recorded: a rule that finds no evidence says nothing.
type Finding struct {
	ID    string // stable, in snake_case
	Title string // what it is, in a few words
	Why   string // why it costs memory
	Do    string // what to change

	// Bytes is what the finding is about: requested bytes live at the peak,
	// or, with Reserved, bytes that the allocator holds and nobody uses.
	Bytes      int64
	Reserved   bool
	UpperBound bool // less than Bytes may be freed; Why says what remains
	Info       bool // worth knowing rather than something to change

	// The line that holds most of Bytes. File is "" when it has no line;
	// Function then says why, as in snapshot.Row.
	File, Function string
	Line           int32

	Evidence   string  // what was seen, in one sentence
	Confidence float32 // 0 to 1, that Title is right

	held []int32 // the allocations that Bytes counts, ascending; nil for free memory
}

// leastShare is the part of the peak, or of the reserved bytes, below which a
// finding is not worth a reader's time: one in leastShare.
const leastShare = 100

// A rule looks for one thing. It returns no findings without evidence.
type rule func(*look) []Finding

var rules = []rule{
	attentionScores, logits, autocastCopies, noCheckpointing,
	clipTemporaries, foreachTemporaries, keptGradients, copiedParameters,
	retainedGraphs, validationGraphs, oneOffScratch,
	workspaces, graphPools, pendingFrees, roundingWaste, splitGaps,
}

// Findings applies every rule to a classified history: what holds memory at
// its peak, or at the end when no history was recorded. Most bytes come first,
// then workspaces, which trade speed for memory, then what is only worth
// knowing. Bytes of findings may overlap, which their evidence says.
func Findings(c *Classification) []Finding {
	l := newLook(c)
	if l == nil {
		return nil
	}
	var out []Finding
	for _, r := range rules {
		for _, f := range r(l) {
			whole := l.total
			if f.Reserved {
				whole = l.stats.Reserved
			}
			if f.Bytes > 0 && f.Bytes >= whole/leastShare {
				out = append(out, f)
			}
		}
	}
	out = slices.DeleteFunc(out, func(f Finding) bool { return f.ID == "no_checkpointing" && l.graphsKept(out) })
	out = withoutExplained(out, l)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(boolCompare(a.Info, b.Info), boolCompare(a.ID == "workspaces", b.ID == "workspaces"), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID))
	})
	l.markOverlaps(out)
	return out
}

// graphsKept reports whether most activations are those of graphs that nothing
// needs; then checkpointing is not the answer.
func (l *look) graphsKept(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool {
		return (f.ID == "retained_graph" || f.ID == "validation_graph") && 2*f.Bytes > l.by[Activation]
	})
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
