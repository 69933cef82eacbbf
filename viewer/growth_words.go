package viewer

import (
	"math"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// sentence makes a sentence of a phrase: a capital letter, unless it begins
// with a name, and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = sentenceCase(s)
	if strings.ContainsAny(s[len(s)-1:], ".!?:)") && !strings.HasSuffix(s, ")") {
		return s
	}
	return s + "."
}

// sentenceCase makes the first letter of a word a capital one.
func sentenceCase(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || s[0] < 'a' || s[0] > 'z' || strings.ContainsAny(word, "._/(") {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// per is "a step" or "an iteration".
func per(unit string) string {
	if strings.HasPrefix(unit, "i") {
		return "an " + unit
	}
	return "a " + unit
}

// slopeText is bytes per step with its sign; less than ten bytes keep a digit
// behind the point.
func slopeText(v float64) string {
	sign := ""
	if v > 0 {
		sign = "+"
	}
	if v = clampTo(v, farthest); math.Abs(v) < 10 && v != math.Trunc(v) {
		return sign + strconv.FormatFloat(v, 'g', 2, 64) + " B"
	}
	return sign + bytesText(v)
}

// exactSlope is bytes per step to the byte.
func exactSlope(v float64) string { return units.Exact(wholeBytes(v)) }

// intervalText is the interval of a slope in words.
func intervalText(low, high float64, points int) string {
	if points < leastForInterval {
		return "lowest to highest: " + rangeText(low, high)
	}
	return "95 %: " + rangeText(low, high)
}

// intervalName is what Low and High of a trend over so many points are.
func intervalName(points int) string {
	if points < leastForInterval {
		return "lowest to highest"
	}
	return "95 % interval"
}

func rangeText(low, high float64) string {
	a, b := unsigned(low), unsigned(high)
	if a == b {
		return a
	}
	return a + " to " + b
}

func unsigned(v float64) string { return strings.TrimPrefix(slopeText(v), "+") }

// stepsText is a number of steps.
func stepsText(n float64, unit string) string {
	n = wholeSteps(n)
	if unit == "second" {
		return stepText(n, unit)
	}
	return stepText(n, unit) + " " + unitsOf(n, unit)
}

// wholeSteps rounds down to whole steps when there are more than a few.
func wholeSteps(n float64) float64 {
	if n >= 10 {
		return math.Floor(n)
	}
	return n
}

// unitsOf is the name of steps, of one or several.
func unitsOf(n float64, unit string) string {
	switch {
	case n == 1:
		return unit
	case strings.HasSuffix(unit, "ch"):
		return unit + "es"
	}
	return unit + "s"
}

func overUnits(unit string) string {
	if unit == "second" {
		return "Memory over time"
	}
	return "Memory over " + unitsOf(2, unit)
}

func atStep(step float64, unit string) string {
	if unit == "second" {
		return stepText(step, unit)
	}
	return unit + " " + stepText(step, unit)
}

// bytesText is a rounded number of bytes.
func bytesText(v float64) string { return units.Bytes(wholeBytes(v)) }

// wholeBytes rounds; what is no number counts as 0.
func wholeBytes(v float64) int64 {
	if math.IsNaN(v) {
		return 0
	}
	return int64(math.Round(clampTo(v, farthest)))
}
