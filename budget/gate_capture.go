package budget

import "github.com/snapview/snapview/attribution"

// Moments that gates look at.
const (
	atPeak = "peak"
	atEnd  = "end"
)

// A Capture is one file that was measured.
type Capture struct {
	File    string // as it was named
	Kind    string // "snapshot", "trace" or "memory_timeline"
	Devices []*CaptureDevice
	Notes   []string // what the numbers rest on, where that is less than the whole run; one sentence each
}

// A CaptureDevice is one device of a capture.
type CaptureDevice struct {
	ID     string // "0"; "cpu" for the host memory of a trace
	source captureSource
}

// A Number is a number of a capture: bytes, a count, or a share.
type Number struct {
	Value   int64
	Whole   int64  // of a share: what Value is a part of; else 0
	AtLeast bool   // the file proves this much; it may be more
	Missing string // why the number is not known; "" when it is
}

// A captureSource answers what gates ask about one device. Sources of other
// numbers, such as the growth over the steps of a run, wrap one of these.
type captureSource interface {
	// number returns a stat; false when this kind of file never has it.
	number(stat string) (Number, bool)
	// word is number for a stat that is a word. unsure says why a word is no
	// answer, "" when it is one.
	word(stat string) (word, unsure string, ok bool)
	// totals are the bytes by category at a moment, or why they are not known.
	totals(at string) (t attribution.Totals, missing string)
	// places are what lines hold at a moment, or why that is not known.
	places(at string) (p []attribution.Place, missing string)
	// findings are what could be changed; false when this kind of file has none.
	findings() ([]attribution.Finding, bool)
	// settings are the allocator's, as given to it; "" when none are known.
	settings() string
}

func exactly(n int64) Number { return Number{Value: n} }

func missing(why string) Number { return Number{Missing: why} }

// share is part of whole; a whole of nothing has no parts.
func share(part, whole Number) Number {
	switch {
	case part.Missing != "":
		return part
	case whole.Missing != "":
		return whole
	}
	return Number{Value: part.Value, Whole: max(whole.Value, 1), AtLeast: part.AtLeast}
}
