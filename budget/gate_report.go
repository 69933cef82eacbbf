package budget

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// GateStatus is what became of a gate or of one check, worst last.
type GateStatus uint8

const (
	GatePassed   GateStatus = iota
	GateSkipped             // optional, and could not be judged
	GateWarned              // exceeded, and only to be told
	GateUnjudged            // what it needs is not known
	GateNoMatch             // it is about nothing that the captures have: the budget file is wrong
	GateExceeded
)

var gateStatusNames = [...]string{"pass", "skipped", "warn", "unjudged", "no_match", "exceeded"}

// String returns the name as in JSON.
func (s GateStatus) String() string { return gateStatusNames[s] }

// MarshalJSON writes the name.
func (s GateStatus) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// GateRule is which limit of a gate a check is about: the key in the budget file.
type GateRule string

const (
	RuleMax       GateRule = "max"
	RuleMin       GateRule = "min"
	RuleMaxGrowth GateRule = "max_growth"
	RuleMinGrowth GateRule = "min_growth"
	RuleAllow     GateRule = "allow"
	RuleForbid    GateRule = "forbid"
)

// Lower reports whether the value must not be below the limit.
func (r GateRule) Lower() bool { return r == RuleMin || r == RuleMinGrowth }

// A GateCheck is one limit of a gate applied to one subject.
type GateCheck struct {
	Capture, Device string
	Subject         string     // which of several categories or findings; "" when the gate is about one
	Place           *GatePlace // what a gate on lines, functions or files is about
	Rule            GateRule

	Value Number
	Word  string // the value where it is a word
	Limit Number // what the value is compared with; a share has the Whole of the value

	Before    int64 // in the baseline, of growth
	AtMost    bool  // Before is at most that: the baseline does not list the line
	HasBefore bool

	Status GateStatus
	Why    string     // why it cannot be judged; of a finding, what it says
	Lines  []GateLine // what holds, or added, most of it; of a check that is exceeded
}

// Margin is how far the value is on the right side of the limit, negative when
// it is exceeded. Of a share it is in hundredths of a percentage point.
func (c *GateCheck) Margin() int64 {
	value, limit := c.Value.Value, c.Limit.Value
	if c.Value.Whole > 0 {
		value, limit = basisPoints(c.Value), basisPoints(c.Limit)
	}
	if c.Rule.Lower() {
		return value - limit
	}
	return limit - value
}

func basisPoints(n Number) int64 { return int64(float64(n.Value)/float64(n.Whole)*10000 + .5) }

// room is the margin in proportion to the limit, to find the tightest check.
func (c *GateCheck) room() float64 {
	limit := c.Limit.Value
	if c.Value.Whole > 0 {
		limit = basisPoints(c.Limit)
	}
	return float64(c.Margin()) / float64(max(limit, 1))
}

// A GatePlace is a line, a function or a file. Memory without a line has no File
// and says why in Function.
type GatePlace struct {
	File, Function  string
	Line, MovedFrom int32 // MovedFrom: the line in the baseline when the code moved, else 0
}

// A GateLine is a line that explains a check.
type GateLine struct {
	GatePlace
	Category string // "" when not known
	Bytes    int64  // held now
	Delta    int64  // more than in the baseline; 0 without one
	Grew     bool   // there is a baseline, and Delta is why the line is named
	New      bool   // it is not in the baseline
}

// A GateResult is a gate and what became of it.
type GateResult struct {
	Gate     *Gate
	Status   GateStatus
	Why      string      // of a gate that matches nothing
	Checks   []GateCheck // worst first: those that did not pass, and the tightest of those that did
	Total    int         // how many there were
	Exceeded int         // how many of them exceed their limit

	nearest string // what the captures have that is like what the gate is about
}

// maxKeptChecks bounds how many checks of a gate are kept: a gate on any line
// of many ranks may fail thousands of times.
const maxKeptChecks = 50

// add keeps a check.
func (r *GateResult) add(c GateCheck) {
	r.Total++
	if c.Status == GateExceeded || c.Status == GateWarned {
		r.Exceeded++
	}
	r.Checks = append(r.Checks, c)
	slices.SortStableFunc(r.Checks, func(a, b GateCheck) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(a.room(), b.room()))
	})
	passed := slices.IndexFunc(r.Checks, func(c GateCheck) bool { return c.Status == GatePassed })
	if passed >= 0 {
		r.Checks = r.Checks[:passed+1]
	}
	r.Checks = r.Checks[:min(len(r.Checks), maxKeptChecks)]
	r.Status = r.Checks[0].Status
}

// A GateFileResult is a capture that was judged, or why it was not.
type GateFileResult struct {
	Name  string
	Kind  string // as of Capture
	Notes []string
	Err   error
}

// A GateReport is the answer to a budget.
type GateReport struct {
	Files  []GateFileResult
	Gates  []GateResult // in the order of the budget
	Growth []Growth     // what changed since the baseline, by device
	Notes  []string     // on the baseline
}

// Count returns how many gates have a status.
func (r *GateReport) Count(status GateStatus) (n int) {
	for i := range r.Gates {
		if r.Gates[i].Status == status {
			n++
		}
	}
	return n
}

// ErrExceeded is what the error of a report with an exceeded gate wraps.
var ErrExceeded = errors.New("exceeded")

// Err is nil when every gate passed; gates that only warn and optional ones that
// could not be judged count as passed. It wraps ErrExceeded when a gate is exceeded;
// another error says that the check itself is at fault, by a file that cannot
// be read or a gate that cannot be judged.
func (r *GateReport) Err() error {
	unread := 0
	for _, f := range r.Files {
		if f.Err != nil {
			unread++
		}
	}
	switch exceeded, unjudged, lost := r.Count(GateExceeded), r.Count(GateUnjudged), r.Count(GateNoMatch); {
	case exceeded > 0:
		return fmt.Errorf("%s %w", ofAll(exceeded, len(r.Gates), "gate"), ErrExceeded)
	case unread > 0:
		return fmt.Errorf("%s not read", ofAll(unread, len(r.Files), "file"))
	case lost > 0:
		return fmt.Errorf("%s about nothing that the captures have; correct the budget", ofAll(lost, len(r.Gates), "gate"))
	case unjudged > 0:
		return fmt.Errorf("%s cannot be judged", ofAll(unjudged, len(r.Gates), "gate"))
	case r.Count(GateSkipped) == len(r.Gates):
		return errors.New("no gate could be judged")
	}
	return nil
}

// ofAll is "1 of 3 gates".
func ofAll(n, all int, noun string) string {
	if all != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d of %d %s", n, all, noun)
}
