package attribution

import (
	"fmt"
	"slices"

	"github.com/snapview/snapview/internal/units"
)

// withoutExplained drops what is said of activations that live on only because
// their graph does: when nothing keeps the graph, they are gone as well.
func withoutExplained(found []Finding, l *look) []Finding {
	var graphs []Finding
	for _, f := range found {
		if f.ID == "retained_graph" || f.ID == "validation_graph" {
			graphs = append(graphs, f)
		}
	}
	return slices.DeleteFunc(found, func(f Finding) bool {
		switch f.ID {
		case "logits", "attention_scores", "autocast_weights":
			return slices.ContainsFunc(graphs, func(g Finding) bool { return 2*l.shared(f, g) > f.Bytes })
		}
		return false
	})
}

// markOverlaps says in the evidence of each finding which earlier one counts
// some of the same bytes.
func (l *look) markOverlaps(found []Finding) {
	for i := range found {
		f := &found[i]
		for _, g := range found[:i] {
			switch both := l.shared(*f, g); {
			case both == 0:
				continue
			case both >= f.Bytes:
				f.Evidence += fmt.Sprintf(" Part of the %s of \"%s\".", units.Bytes(g.Bytes), g.Title)
			default:
				f.Evidence += fmt.Sprintf(" %s of it is part of the %s of \"%s\".", units.Bytes(both), units.Bytes(g.Bytes), g.Title)
			}
			break
		}
	}
}

// shared returns the bytes of what two findings both count.
func (l *look) shared(f, g Finding) (sum int64) {
	for _, i := range f.held {
		if _, both := slices.BinarySearch(g.held, i); both {
			sum += l.allocation(i).Requested
		}
	}
	return sum
}
