package attribution

import (
	"slices"

	"github.com/snapview/snapview/snapshot"
)

// classifySides labels the allocations of both sides. In two snapshots of one
// run an allocation has the label of the later one, which has seen more of its
// life: what is freed after the first dump would else change its category.
func classifySides(a, b *snapshot.Snapshot, sides *[2]side) [2][]Label {
	at, bt := sides[0].timeline, sides[1].timeline
	first, second := slices.Clone(Classify(a, at).Labels), slices.Clone(Classify(b, bt).Labels)
	if sides[0].device.Index != sides[1].device.Index {
		return [2][]Label{first, second}
	}
	if shift, ok := alignEvents(at.Device.Events, bt.Device.Events); ok {
		takeLabels(at, first, bt, second, shift)
	} else if shift, ok := alignEvents(bt.Device.Events, at.Device.Events); ok {
		takeLabels(bt, second, at, first, shift)
	}
	return [2][]Label{first, second}
}

// takeLabels gives the allocations of the earlier history the labels that they
// have in the later one, where their birth is shift events further on.
func takeLabels(earlier *snapshot.Timeline, labels []Label, later *snapshot.Timeline, known []Label, shift int) {
	births := make(map[int32]int, len(later.Allocations))
	for i := range min(len(later.Allocations), len(known)) {
		if x := &later.Allocations[i]; x.Born >= 0 {
			births[x.Born] = i
		}
	}
	for i := range min(len(earlier.Allocations), len(labels)) {
		x := &earlier.Allocations[i]
		j, ok := births[x.Born+int32(shift)]
		if ok && x.Born >= 0 && later.Allocations[j].Addr == x.Addr {
			labels[i] = known[j]
		}
	}
}
