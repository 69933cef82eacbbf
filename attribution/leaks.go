package attribution

import (
	"github.com/snapview/snapview/snapshot"
)

// A Suspect is a line whose memory is born round after round and kept, or is
// replaced by ever more.
type Suspect struct {
	// The line; File is "" when it has none, as in snapshot.Row.
	File, Function string
	Line           int32
	Stack          snapshot.StackID // the one with most bytes, of the last snapshot
	Frames         []snapshot.Frame // of Stack, innermost first, without the recording's own

	BytesPerStep, Low, High float64 // requested bytes, see Trend
	Live                    int64   // requested bytes alive at the end, of the whole line
	Count                   int     // allocations of Live
	Category                Category
	Curve                   Series // what the line holds at the same point of each round

	Every   float64 // rounds from one growth to the next
	AtATime float64 // allocations kept each time; 0 when none are: the line's memory is replaced by more

	Stacks []StackGrowth // what of it comes from which stack, most bytes per step first
}

// StackGrowth is the part of a Suspect that one stack makes.
type StackGrowth struct {
	Stack        snapshot.StackID
	BytesPerStep float64
	Live         int64
	Count        int
}

// A Hint is a known pattern of growth, with what was seen of it.
type Hint struct {
	ID       string // stable, in snake_case: "outputs_kept", …
	Title    string // what it is, in a few words
	Evidence string // what was seen, in one sentence
	Do       string // what to change; "" when nothing is wrong

	// Where to look: the line that keeps the memory, or the innermost of the
	// user's that all of it was made through. File is "" when there is none.
	File, Function string
	Line           int32
}

// An Epoch is a number of steps after which the program does something else
// each time.
type Epoch struct {
	Steps    int
	Bytes    int64  // growth over so many steps, at the slope
	Evidence string // what it rests on
}

// LeakReport is how the memory of a device grows over steps or snapshots.
type LeakReport struct {
	Device   int
	Growth   Growth
	Rounds   Rounds
	Suspects []Suspect // most bytes per step first
	Hints    []Hint
	Epoch    *Epoch   // nil when the history shows none
	Curves   []Series // requested, reserved and peak, for drawing; Growth has their trends
	Notes    []string // what the answer rests on and what is missing, one sentence each

	// Of several snapshots.
	Files            []FileGrowth
	StepsPerSnapshot int     // training steps from one to the next; 0 when not known or not constant
	BytesPerStep     float64 // growth a training step: as the history within a file shows it, else from file to file; 0 when not known
}

// Rounds are the repetitions at whose ends memory was compared.
type Rounds struct {
	Unit  string // "step", "iteration", "snapshot", or "stretch" when there are none
	Count int
	How   string // what tells them apart: "optimizer steps", "the loop at", …

	// Where the loop is, for "the loop at".
	File, Function string
	Line           int32
}

// Leaks judges how memory grows within one history: from one training step to
// the next, or from one iteration to the next of a loop that runs forwards. What
// is compared is requested bytes alive at the same point of each.
func Leaks(c *Classification) LeakReport {
	r := LeakReport{Device: c.Timeline.Device.Index}
	part := worst(c.parts(findRounds(c)))
	if part == nil {
		r.Growth = noRounds(c)
		return r
	}
	r.Growth, r.Suspects = part.growth, part.suspects
	r.Rounds = Rounds{part.unit, part.count(), part.how, part.place.File, part.place.Function, part.place.Line}
	r.Curves = part.curves()
	r.Epoch = part.findEpoch()
	r.Hints = part.hints()
	r.Notes = part.notes()
	return r
}

func (c *Classification) parts(list []rounds) (parts []*growthPart) {
	for _, r := range list {
		parts = append(parts, newGrowthPart(c, r))
	}
	return parts
}

// worst returns the part whose verdict is that of the whole: a leak if there is
// one, else the first that is decided.
func worst(parts []*growthPart) (best *growthPart) {
	rank := func(p *growthPart) int {
		switch p.growth.Verdict {
		case Leak:
			return 2
		case Inconclusive:
			return 0
		}
		return 1
	}
	for _, p := range parts {
		if best == nil || rank(p) > rank(best) {
			best = p
		}
	}
	return best
}

// noRounds says why nothing can be said.
func noRounds(c *Classification) Growth {
	g := Growth{Unit: "step"}
	switch c.Timeline.History {
	case snapshot.HistoryNone, snapshot.HistoryStateOnly:
		g.Why = "the file has no history, so growth within it cannot be seen"
		g.Need = "several snapshots of one run, in order, or one recorded with torch.cuda.memory._record_memory_history()"
	default:
		g.Why = "the history shows no repeated steps"
		g.Need = "a history of at least five training steps or iterations"
	}
	return g
}
