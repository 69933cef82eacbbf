package units

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/dustin/go-humanize"
)

// Errors of ParseBytes, for errors.Is.
var (
	ErrSize     = errors.New("not a size")
	ErrNegative = errors.New("a size cannot be negative")
	ErrTooLarge = errors.New("too large: the limit is 8 EiB")
)

// sizeText is a number, grouped in thousands or plain, and a unit.
var sizeText = regexp.MustCompile(`^([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?\s*([A-Za-z]*)$`)

// shortUnits are the one-letter units. A bare K, M, G … means the binary unit,
// as in ls, dd, Docker and PYTORCH_CUDA_ALLOC_CONF; an "80G" card has 80 GiB.
var shortUnits = map[string]string{
	"k": "kib", "m": "mib", "g": "gib", "t": "tib", "p": "pib", "e": "eib",
}

// knownUnits are the units after the short ones are spelled out.
var knownUnits = map[string]bool{
	"": true, "b": true,
	"kib": true, "mib": true, "gib": true, "tib": true, "pib": true, "eib": true,
	"kb": true, "mb": true, "gb": true, "tb": true, "pb": true, "eb": true,
}

// ParseBytes reads a size: "512" and "512 B" are bytes; "40GiB" and "40G" are
// binary; "1.5 GB" is decimal, as the letters say. Case does not matter.
// A fraction of a byte is dropped. It reads back whatever Bytes and Exact print
// for sizes that are not negative.
func ParseBytes(s string) (int64, error) {
	text := strings.TrimSpace(s)
	if strings.HasPrefix(text, "-") {
		return 0, sizeError(s, ErrNegative)
	}
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return 0, sizeError(s, ErrSize)
	}
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(m[3]), "ytes"), "yte")
	if long, ok := shortUnits[strings.TrimSuffix(unit, "i")]; ok {
		unit = long
	}
	if !knownUnits[unit] {
		return 0, fmt.Errorf("%q: %w: unknown unit %q; use B, KiB, MiB, GiB, TiB, KB, MB, GB or TB", clip(s), ErrSize, clip(m[3]))
	}
	n, err := humanize.ParseBytes(strings.ReplaceAll(m[1], ",", "") + m[2] + unit)
	if err != nil || n > math.MaxInt64 {
		return 0, sizeError(s, ErrTooLarge)
	}
	return int64(n), nil
}

func sizeError(s string, why error) error {
	return fmt.Errorf("%q: %w; write it like 40GiB, 1.5 GB or 1048576", clip(s), why)
}

// clip keeps a long wrong argument from filling the screen.
func clip(s string) string { return Ellipsis(s, 40) }
