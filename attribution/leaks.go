package attribution

import "github.com/snapview/snapview/snapshot"

// A Suspect is a line whose memory is born step after step and kept.
type Suspect struct {
	// The line; File is "" when it has none, as in snapshot.Row.
	File, Function string
	Line           int32
	Stack          snapshot.StackID // the heaviest, of the last snapshot

	BytesPerStep, Low, High float64 // requested bytes, see Trend
	Live                    int64   // requested bytes alive at the end, of the whole line
	Count                   int     // allocations of Live
	Category                Category
	Curve                   Series // what the line holds at the same point of each step
	Hint                    string // what the pattern looks like, or ""
}

// A Hint is a pattern of growth that is known, with what was seen.
type Hint struct {
	ID       string // stable, in snake_case: "outputs_kept", …
	Title    string // what it is, in a few words
	Evidence string // what was seen, in one sentence
	Do       string // what to change
}

// LeakReport is how the memory of a device grows over steps or snapshots.
type LeakReport struct {
	Device   int
	Growth   Growth
	Suspects []Suspect // most bytes per step first
	Hints    []Hint
	Curves   []Series // allocated, reserved and peak, for drawing; see Growth for their trends
	Notes    []string // what the answer rests on and what is missing, one sentence each
}
