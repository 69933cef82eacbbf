package attribution

import (
	"fmt"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/internal/units"
)

// note says what the answer cannot rest on.
func (x *OOM) note(c *Classification, replay *allocator.Replay, o OOMOptions) {
	add := func(format string, args ...any) { x.Notes = append(x.Notes, fmt.Sprintf(format, args...)) }
	if !replay.Check.Exact {
		add("Blocks at this moment are reconstructed and may differ: %s.", replay.Check.Reason)
	} else if replay.Check.Rebuilt {
		add("The history does not reach back to the start: blocks at this moment are rebuilt from the dump, which they agree with.")
	}
	switch x.Limit.How {
	case LimitSet:
		add("The device had %s free, so the process itself was limited, as by set_per_process_memory_fraction. The file does not hold the limit: it is at least %s, which was reserved before, and below %s, which was refused.",
			units.Bytes(x.DeviceFree), units.Bytes(x.Limit.Low), units.AtLeastMiB(x.Limit.High))
	case LimitGiven:
		if o.Limit < x.Reserved {
			add("A limit of %s cannot be right, as %s was reserved; that is taken instead.", units.Bytes(o.Limit), units.Bytes(x.Reserved))
		}
	}
	if x.Undecided() {
		add("If the limit is %s or more, the request would have fit in one piece, and this is fragmentation instead.", units.AtLeastMiB(x.DecidingLimit()))
	}
	if x.FreeElsewhere > 0 && x.FreeElsewhere*10 >= x.Free {
		add("%s of the free memory is in other pools, streams or size classes, which cannot serve this request.", units.Bytes(x.FreeElsewhere))
	}
	if o.Device == 0 {
		add("The file does not hold the size of the device, so memory outside this allocator (other processes, the CUDA context, libraries) is not known.")
	}
	if x.PoolUnknown(c) {
		add("The event does not say for which pool memory was asked; the default pool is assumed.")
	}
}

// PoolUnknown reports whether the request may have been for a private pool.
func (x *OOM) PoolUnknown(c *Classification) bool {
	if x.Event.Pool != 0 {
		return false
	}
	for i := range c.Timeline.Device.Events {
		if c.Timeline.Device.Events[i].Pool != 0 {
			return false // events of this file name their pools
		}
	}
	for _, p := range x.Pools {
		if p.Pool != 0 {
			return true
		}
	}
	return false
}
