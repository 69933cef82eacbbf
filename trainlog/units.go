package trainlog

import (
	"fmt"
	"math"
	"strings"
)

// A Unit is a unit of bytes as printed.
type Unit struct {
	Text   string // "GiB", "MB", "G"; "bytes" and "" for bytes
	Power  int    // 0 for bytes, 1 for kilo … 4 for tera
	Binary bool   // says itself that a kilo is 1024
}

// A Basis is how the size of a unit was decided.
type Basis uint8

const (
	Stated   Basis = iota // the unit says it: bytes, MiB, GiB
	Pages                 // the values are multiples of PyTorch's segment size in this unit and not in the other
	Compared              // exact figures of the same run agree with this size and not with the other
	Program               // the program that prints such lines divides by it
	Assumed               // none of these
)

var basisNames = [...]string{"stated", "pages", "compared", "program", "assumed"}

// String returns the name as in JSON.
func (b Basis) String() string { return basisNames[b] }

// unitWords are the spellings of units in lower case.
var unitWords = map[string]Unit{
	"b": {Power: 0}, "byte": {Power: 0}, "bytes": {Power: 0},
	"kb": {Power: 1}, "kib": {Power: 1, Binary: true}, "ki": {Power: 1, Binary: true},
	"mb": {Power: 2}, "mib": {Power: 2, Binary: true}, "mi": {Power: 2, Binary: true}, "mbytes": {Power: 2}, "megabytes": {Power: 2}, "mebibytes": {Power: 2, Binary: true},
	"gb": {Power: 3}, "gib": {Power: 3, Binary: true}, "gi": {Power: 3, Binary: true}, "gbytes": {Power: 3}, "gigabytes": {Power: 3}, "gibibytes": {Power: 3, Binary: true}, "gigs": {Power: 3},
	"tb": {Power: 4}, "tib": {Power: 4, Binary: true},
}

// gluedUnits are short units that count only when nothing stands between the
// number and them.
var gluedUnits = map[string]Unit{"k": {Power: 1}, "m": {Power: 2}, "g": {Power: 3}, "t": {Power: 4}}

// parseUnit reads a unit; glued says that it follows its number immediately.
func parseUnit(word string, glued bool) (Unit, bool) {
	lower := strings.ToLower(word)
	u, ok := unitWords[lower]
	if !ok && glued {
		u, ok = gluedUnits[lower]
	}
	u.Text = word
	return u, ok
}

// named returns the unit with the text that its spelling in lower case stands for.
func (u Unit) named(lower string) Unit {
	u.Text = "bytes"
	if u.Power > 0 {
		u.Text = string("KMGT"[u.Power-1]) + map[bool]string{true: "iB", false: "B"}[u.Binary]
	}
	return u
}

// habit is what a unit without evidence is taken for: scripts that print
// memory divide by 1024 more often than by 1000, and PyTorch's own texts do.
const habit = 1024

// Sizes that PyTorch's caching allocator cannot go below, from its source:
// segments are multiples of kSmallBuffer (2 MiB) and blocks of kMinBlockSize.
const (
	segmentGrain = 2 << 20
	blockGrain   = 512
)

// pageEvidence says which size of an ambiguous unit makes the values multiples
// of grain. Each value of the wrong size has a chance to fit that grows with the
// rounding of its last digit; the verdict counts once that chance, of all values
// together, is below 1 in 20.
func pageEvidence(values []float64, power, digits int, grain float64) (base float64, ok bool) {
	const chance = 0.05
	fits := func(base float64) (all bool, luck float64) {
		scale := math.Pow(base, float64(power))
		half := scale * math.Pow10(-digits) / 2
		above := half
		if digits == 0 {
			above *= 2 // %d cuts the fraction off
		}
		slack := 1e-9 * scale // of a decimal fraction in binary
		luck = 1
		for _, v := range values {
			lo, hi := v*scale-half-slack, v*scale+above+slack
			if math.Ceil(lo/grain)*grain > hi {
				return false, 0
			}
			luck *= min(1, (hi-lo)/grain)
		}
		return true, luck
	}
	binary, binaryLuck := fits(1024)
	decimal, decimalLuck := fits(1000)
	switch {
	case binary && !decimal && binaryLuck < chance:
		return 1024, true
	case decimal && !binary && decimalLuck < chance:
		return 1000, true
	}
	return 0, false
}

// decide settles an ambiguous unit from the values themselves.
func (s *Series) decide(values []float64) {
	if s.Unit.Power == 0 || s.Unit.Binary {
		return
	}
	grain := float64(blockGrain)
	switch s.Metric {
	case Reserved, PeakReserved:
		grain = segmentGrain
	case Allocated, PeakAllocated, Active, PeakActive:
	default:
		return
	}
	if base, ok := pageEvidence(values, s.Unit.Power, s.digits, grain); ok {
		s.SetBase(base, Pages, fmt.Sprintf("1 %s is %s: the values are multiples of %s only then", s.Unit.Text, s.Unit.SizeText(base), grainText(grain)))
	}
}

func grainText(grain float64) string {
	if grain == segmentGrain {
		return "PyTorch's segments of 2 MiB"
	}
	return "PyTorch's 512 bytes"
}

// SizeText is a unit's size for reading: "1024³ bytes".
func (u Unit) SizeText(base float64) string {
	return fmt.Sprintf("%.0f%s bytes", base, [...]string{"⁰", "", "²", "³", "⁴"}[min(u.Power, 4)])
}
