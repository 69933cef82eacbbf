package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// An Amount is a limit: a number of bytes or a count, or a percentage of
// something else.
type Amount struct {
	Value     int64
	Percent   float64
	IsPercent bool
	Text      string // as written
}

// of returns what the amount comes to when its percentage is of whole.
func (a *Amount) of(whole int64) int64 {
	if !a.IsPercent {
		return a.Value
	}
	// A float64 is exact to the byte up to 8 PiB. What a decimal percentage
	// loses is far less than a byte, which the addition makes up for.
	part := math.Floor(float64(whole)*a.Percent/100 + 1e-6)
	switch {
	case part >= math.MaxInt64:
		return math.MaxInt64
	case part <= math.MinInt64:
		return math.MinInt64
	}
	return int64(part)
}

// leastBare is the smallest number without a unit that is taken for bytes.
// Nobody means 40 bytes by "40".
const leastBare = 1024

// amount returns a reader of limits in a unit. Growth may be negative.
func amount(unit gateUnit, growth bool) func(node) (*Amount, error) {
	return func(n node) (*Amount, error) {
		text, err := n.text()
		if err != nil {
			return nil, err
		}
		a, err := parseAmount(text, unit, growth)
		if err != nil {
			return nil, n.errorf("%w", err)
		}
		return a, nil
	}
}

func parseAmount(text string, unit gateUnit, growth bool) (*Amount, error) {
	a := &Amount{Text: strings.TrimSpace(text)}
	digits, negative := strings.CutPrefix(a.Text, "-")
	digits = strings.TrimSpace(strings.TrimPrefix(digits, "+"))
	if negative && !growth {
		return nil, fmt.Errorf("%q is negative, and what is judged never is", text)
	}
	var err error
	if number, ok := strings.CutSuffix(digits, "%"); ok {
		a.IsPercent = true
		a.Percent, err = parseDecimal(strings.TrimSpace(number))
	} else {
		switch unit {
		case unitShare:
			a.IsPercent = true
			a.Percent, err = parseDecimal(digits)
			a.Percent *= 100
			if err == nil && a.Percent > 100 {
				err = fmt.Errorf("%q is more than 1; write a share like 25%% or 0.25", text)
			}
		case unitCount:
			a.Value, err = strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
			if err != nil {
				err = fmt.Errorf("%q is not a count; write a whole number", text)
			}
		default:
			a.Value, err = parseSize(digits)
		}
	}
	if err != nil {
		return nil, err
	}
	if negative {
		a.Value, a.Percent = -a.Value, -a.Percent
	}
	return a, nil
}

func parseDecimal(digits string) (float64, error) {
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 || strings.ContainsAny(digits, "xXpPeE_+") {
		return 0, fmt.Errorf("%q is not a number; write it like 5%% or 2.5%%", digits)
	}
	return x, nil
}

// parseSize is units.ParseBytes for a limit, where a number without a unit is
// most likely a mistake unless it is that of bytes to the last one.
func parseSize(text string) (int64, error) {
	n, err := units.ParseBytes(text)
	if err != nil {
		return 0, err
	}
	if bare := strings.Trim(text, "0123456789,. ") == ""; bare && (strings.Contains(text, ".") || n < leastBare && n != 0) {
		return 0, fmt.Errorf("%q has no unit; write it like %sGiB, or %s B for bytes", text, text, text)
	}
	return n, nil
}

// String is the amount as it is written in a budget.
func (a *Amount) String() string { return a.Text }
