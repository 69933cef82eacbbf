package main

import (
	"math"
	"strings"
)

// bars are the heights of a sparkline's columns.
var bars = []rune("▁▂▃▄▅▆▇█")

// leastSpan is the part of the highest value that a sparkline spans at least, so
// that a level curve looks level.
const leastSpan = 0.02

// sparkline draws values over ascending steps in so many columns. A column shows
// the highest of its values, one without any the value before.
func sparkline(steps, values []float64, width int) string {
	if len(values) == 0 || width < 1 {
		return ""
	}
	columns := make([]float64, width)
	for i := range columns {
		columns[i] = math.NaN()
	}
	first, span := steps[0]/2, steps[len(steps)-1]/2-steps[0]/2 // halves, as the whole may be more than a number holds
	low, high := values[0], values[0]
	for i, v := range values {
		c := 0
		if span > 0 {
			c = min(max(int((steps[i]/2-first)/span*float64(width)), 0), width-1)
		}
		if !(columns[c] >= v) {
			columns[c] = v
		}
		low, high = min(low, v), max(high, v)
	}
	if least := leastSpan * math.Abs(high); high-low < least {
		middle := (low + high) / 2
		low, high = middle-least/2, middle+least/2
	}
	var b strings.Builder
	before := values[0]
	for _, v := range columns {
		if math.IsNaN(v) {
			v = before
		}
		before = v
		level := 0
		if high > low {
			level = int((v - low) / (high - low) * float64(len(bars)))
		}
		b.WriteRune(bars[min(max(level, 0), len(bars)-1)])
	}
	return b.String()
}
