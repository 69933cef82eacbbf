package attribution

import (
	"fmt"

	"github.com/snapview/snapview/internal/units"
)

// Sentence explains the verdict with its numbers.
func (x *OOM) Sentence() string {
	room := units.Bytes(x.Free) + " was free in the cache"
	if more := x.Room - x.Free; more > 0 {
		room += " and " + units.Bytes(more) + " could still be reserved"
		if !x.Limit.Known() {
			room += " for certain"
		}
	}
	if x.Verdict == Fragmented {
		return fmt.Sprintf("%s, enough for %s in one piece, but the largest free block that could serve it had %s.",
			room, units.Bytes(x.Rounded), units.Bytes(x.LargestUsable))
	}
	return fmt.Sprintf("%s, which even in one piece is %s short of %s.", room, units.Bytes(x.ShortBy), units.Bytes(x.Rounded))
}

// LimitText says what the limit is or between what it lies.
func (x *OOM) LimitText() string {
	switch x.Limit.How {
	case LimitGiven:
		return "as given"
	case LimitDevice:
		return "the device was full"
	}
	return "to below " + units.AtLeastMiB(x.Limit.High)
}

// Enough is how much reserved memory the request would have taken to be served
// as things were: that and the segment asked of the device.
func (x *OOM) Enough() int64 { return x.Reserved + x.FromDevice }

// Text says what the replay found.
func (r *Remedy) Text() string {
	if !r.Helps() {
		return "does not suffice by itself"
	}
	text := "all requests are served, reserving at most " + units.AtLeastMiB(r.PeakReserved)
	if r.Conditional {
		text += ", if the limit is " + units.AtLeastMiB(r.Limit) + " or more"
	}
	return text
}
