// Package units turns byte counts, counts and durations into text and back.
//
// Sizes are printed in binary units and say so (KiB, MiB, GiB): that is what
// PyTorch's own messages mean, and what nvidia-smi prints.
package units

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// binary holds the unit of each power of 1024. int64 ends below 8 EiB.
var binary = [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Bytes is a size in bytes as text with three significant digits in the
// largest binary unit that leaves at least 1: "512 B", "1.50 GiB", "-20.0 MiB".
//
// go-humanize's IBytesN would do but for two cases that memory reports meet all the
// time: it prints 12 bytes as "12.0 B", and one byte less than a GiB as "1024 MiB".
func Bytes(n int64) string {
	if n < 0 {
		return "-" + formatBytes(magnitude(n))
	}
	return formatBytes(uint64(n))
}

// Signed is Bytes with a plus sign before a growth; no change is "0 B".
func Signed(n int64) string {
	if n > 0 {
		return "+" + Bytes(n)
	}
	return Bytes(n)
}

// Exact is a size to the byte: "1,610,612,736 B".
func Exact(n int64) string { return humanize.Comma(n) + " B" }

// Count is a number with thousands separators: "12,345".
func Count[T ~int | ~int32 | ~int64](n T) string { return humanize.Comma(int64(n)) }

// Percent is part as a share of whole with one decimal: "12.3%". A share that
// would be rounded to nothing or to everything without being so prints as
// "<0.1%" or ">99.9%"; a share of zero prints as "n/a".
func Percent(part, whole int64) string {
	if whole == 0 {
		return "n/a"
	}
	share := 100 * float64(part) / float64(whole)
	switch {
	case part != 0 && math.Abs(share) < 0.05:
		if share < 0 {
			return ">-0.1%"
		}
		return "<0.1%"
	case part != whole && share >= 99.95 && share <= 100:
		return ">99.9%"
	}
	return strconv.FormatFloat(share, 'f', 1, 64) + "%"
}

// formatBytes prints n in the unit chosen by its size. The step up to the next
// unit is taken after rounding, so nothing prints as "1024 MiB".
func formatBytes(n uint64) string {
	if n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	value, unit := float64(n), 0
	for value >= 1024 {
		value, unit = value/1024, unit+1
	}
	if value >= 1023.5 && unit+1 < len(binary) {
		value, unit = 1, unit+1
	}
	return strconv.FormatFloat(value, 'f', decimals(value), 64) + " " + binary[unit]
}

// decimals is how many digits after the point leave three significant ones,
// judged after rounding: 9.996 is "10.0", not "10.00".
func decimals(value float64) int {
	switch {
	case value < 9.995:
		return 2
	case value < 99.95:
		return 1
	}
	return 0
}

// magnitude is |n|, also for the smallest int64, which has no positive twin.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Duration is a time span in microseconds as text: "850 µs", "12.3 ms",
// "1.50 s", "2m 05s", "1h 02m", "3d 04h".
func Duration(us int64) string {
	if us < 0 {
		return "-" + formatDuration(magnitude(us))
	}
	return formatDuration(uint64(us))
}

// Spans of time in microseconds.
const (
	millisecond = 1000
	second      = 1000 * millisecond
	minute      = 60 * second
	hour        = 60 * minute
	day         = 24 * hour
)

func formatDuration(us uint64) string {
	// The limits lie half a printed digit below the unit, so that rounding
	// never yields "1000 ms" or "60.0 s".
	switch {
	case us < millisecond:
		return fmt.Sprintf("%d µs", us)
	case us < second-millisecond/2:
		return scaled(us, millisecond) + " ms"
	case us < minute-second/20:
		return scaled(us, second) + " s"
	case us < hour-second/2:
		return parts(us, minute, "m", second, "s")
	case us < day-minute/2:
		return parts(us, hour, "h", minute, "m")
	}
	return parts(us, day, "d", hour, "h")
}

func scaled(us, unit uint64) string {
	value := float64(us) / float64(unit)
	return strconv.FormatFloat(value, 'f', decimals(value), 64)
}

// parts prints us as whole big units and rounded small ones: "2m 05s".
func parts(us, big uint64, bigName string, small uint64, smallName string) string {
	us += small / 2
	return fmt.Sprintf("%d%s %02d%s", us/big, bigName, us%big/small, smallName)
}
