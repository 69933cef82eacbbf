package budget

import (
	"bufio"
	"fmt"
	"io"

	"github.com/snapview/snapview/internal/units"
)

// BudgetHead is how a budget file of a plan begins.
const BudgetHead = "# snapview budget"

// WriteBudget writes the gates that hold captures to the commitment.
func (r *PlanResult) WriteBudget(w io.Writer) error {
	c := r.Commitment("")
	out := &baselineWriter{bufio.NewWriter(w)}
	out.line(0, BudgetHead+" of the plan "+units.Safe(r.Plan.File)+": written by snapview budget plan --budget-out.")
	out.line(0, "# "+units.Safe(c.Verdict)+".")
	out.line(0, "version: 1")
	out.line(0, "gates:")
	row := &r.Rows[r.Promised]
	gate := func(name, stat string, bytes int64, note string, more ...string) {
		out.line(0, "- name: "+quoted(name))
		out.line(1, "stat: "+stat)
		out.line(1, fmt.Sprintf("%-38s # %s", fmt.Sprintf("max: %d B", bytes), units.Bytes(bytes)))
		out.line(1, "note: "+quoted(note))
		if owner := r.Plan.Promise.Owner; owner != "" {
			out.line(1, "owner: "+quoted(owner))
		}
		for _, m := range more {
			out.line(1, m)
		}
	}
	step := "the plan has no step that frees memory"
	if len(r.Ladders) > 0 {
		for _, s := range r.Ladders[0].Steps {
			if s.Taken {
				step = fmt.Sprintf("take step 1 of the ladder, %s (%s)", s.Name, s.Change)
				break
			}
		}
	}
	over := percentOf(1 + r.Plan.Promise.Tolerance)
	gate("promised memory", "peak.reserved_bytes", c.Trigger, over+" of the promised "+units.Bytes(c.Promise)+": "+step)
	gate("promise, without tolerance", "peak.reserved_bytes", c.Promise, "above what was promised, and within the tolerance", "severity: warn")
	gate("predicted tensors", "peak.allocated_bytes", int64(float64(row.Peak)*(1+r.Plan.Promise.Tolerance)), over+" of the predicted "+units.Bytes(row.Peak)+": look for what grew", "severity: warn")
	for _, text := range []string{"- stat: oom_events", "  max: 0", "- stat: history", "  allow: [complete]"} {
		out.line(0, text)
	}
	return out.w.Flush()
}
