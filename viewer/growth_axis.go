package viewer

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// A plotAxis is a vertical axis with round labels, in a unit of Unit bytes and
// with so many decimals.
type plotAxis struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Step     float64 `json:"step"`
	Unit     float64 `json:"unit"`
	Name     string  `json:"name"`
	Decimals int     `json:"decimals"`
}

// frame chooses the axes.
func (p *plot) frame() {
	var bottom, top float64
	p.first, p.last = math.Inf(1), math.Inf(-1)
	for _, l := range p.drawn() {
		for _, pt := range l.pts {
			bottom, top = min(bottom, pt.bytes), max(top, pt.bytes)
			p.first, p.last = min(p.first, pt.step), max(p.last, pt.step)
		}
	}
	p.zero = newAxis(min(0, bottom), top)
	low, high := p.focus()
	margin := max(high-low, 1) / 12
	from := low - margin
	if low >= 0 {
		from = max(0, from)
	}
	p.near = newAxis(from, high+margin)
}

// drawn are all lines, those of the bands too.
func (p *plot) drawn() []plotLine {
	all := slices.Concat(p.lines, p.fits)
	for _, b := range p.bands {
		if b.class == "outside" {
			all = append(all, plotLine{pts: b.high})
		}
	}
	return all
}

// focus is the range of the lines that decide and of their trends.
func (p *plot) focus() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range slices.Concat(p.lines[:p.focused], p.fits) {
		for _, pt := range l.pts {
			low, high = min(low, pt.bytes), max(high, pt.bytes)
		}
	}
	return low, high
}

// newAxis is an axis from below low to above high.
func newAxis(low, high float64) plotAxis {
	a := plotAxis{Unit: 1}
	for max(high, -low)/a.Unit >= 1024 {
		a.Unit *= 1024
	}
	_, a.Name, _ = strings.Cut(units.Bytes(int64(a.Unit)), " ")
	span := max(high-low, 4) / a.Unit
	exponent := int(math.Floor(math.Log10(span / 5)))
	step := math.Pow10(exponent)
	for _, f := range []float64{1, 2, 5, 10} {
		if step = math.Pow10(exponent) * f; span/step <= 5.5 {
			if f == 10 {
				exponent++
			}
			break
		}
	}
	a.Decimals = max(0, -exponent)
	a.Step = step * a.Unit
	a.Low, a.High = math.Floor(low/a.Step)*a.Step, math.Ceil(high/a.Step)*a.Step
	if a.High <= a.Low {
		a.High = a.Low + a.Step
	}
	return a
}

// label prints a place on the axis. The script prints it the same way
// (assets/js/growth.js).
func (a plotAxis) label(v float64) string {
	if math.Abs(v) < a.Step/2 {
		v = 0
	}
	return strconv.FormatFloat(v/a.Unit, 'f', a.Decimals, 64) + " " + a.Name
}

// isFlat reports whether the line that decides would look flat when drawn from
// zero.
func (p *plot) isFlat() bool {
	low, high := p.focus()
	return high-low < 0.2*p.zero.High
}

// hasChoice reports whether the two axes differ enough to choose from.
func (p *plot) hasChoice() bool {
	return p.isNear || p.near.High-p.near.Low < 0.7*p.zero.High
}

// nearNote says what is different on the axis near.
func (p *plot) nearNote() string {
	var notes []string
	if p.near.Low != 0 {
		notes = append(notes, "The vertical axis does not start at zero.")
	}
	var above []string
	for _, l := range p.lines {
		if !slices.ContainsFunc(l.pts, func(pt plotPoint) bool { return pt.bytes <= p.near.High }) {
			above = append(above, l.name)
		}
	}
	if len(above) > 0 {
		notes = append(notes, "Beyond the axis: "+joinAnd(above)+".")
	}
	return strings.Join(notes, " ")
}

// axis is the one that is shown first.
func (p *plot) axis() plotAxis {
	if p.isNear {
		return p.near
	}
	return p.zero
}

// frameTogether chooses the axes for a curve that is only of interest beside
// others: near is for all that PyTorch holds, which may be little of the GPU.
func (p *plot) frameTogether() {
	own := slices.IndexFunc(p.lines, func(l plotLine) bool { return l.class == "used" })
	if own <= 0 {
		own = len(p.lines)
	}
	p.focused, p.nearName = own, "What PyTorch holds"
	p.frame()
	_, high := p.focus()
	p.near = newAxis(p.zero.Low, high)
	p.isNear = high < 0.25*p.zero.High
}
