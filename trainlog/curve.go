package trainlog

import (
	"cmp"
	"math"
	"slices"
)

// maxGroups bounds what a curve keeps: four points for each group.
const maxGroups = 2048

// A curve keeps values in printed units. Neighbours share a group once there
// are more than maxGroups; a group then keeps its first, last, lowest and
// highest value.
type curve struct {
	lowest bool // of several values within one step, the lowest counts
	groups []group
	stride int // values to a group
	filled int // values in the last group
	count  int // values after those of one step became one
	open   Point
	isOpen bool
}

type group struct{ first, last, low, high Point }

func newCurve(lowest bool) *curve { return &curve{lowest: lowest, stride: 1} }

// add appends a value. Its step is not below the one before.
func (c *curve) add(p Point) (merged bool) {
	if !c.isOpen {
		c.open, c.isOpen = p, true
		c.count++
		return false
	}
	if p.Step == c.open.Step {
		if c.lowest == (p.Bytes < c.open.Bytes) {
			c.open = p
		}
		return true
	}
	c.flush()
	c.open = p
	c.count++
	return false
}

// flush moves the open value into the groups.
func (c *curve) flush() {
	if !c.isOpen {
		return
	}
	p := group{c.open, c.open, c.open, c.open}
	if len(c.groups) > 0 && c.filled < c.stride {
		c.groups[len(c.groups)-1].join(p)
		c.filled++
		return
	}
	if len(c.groups) == maxGroups {
		c.halve()
	}
	c.groups = append(c.groups, p)
	c.filled = 1
}

// halve joins neighbours in pairs.
func (c *curve) halve() {
	for i := 0; i < len(c.groups); i += 2 {
		g := c.groups[i]
		if i+1 < len(c.groups) {
			g.join(c.groups[i+1])
		}
		c.groups[i/2] = g
	}
	c.groups = c.groups[:(len(c.groups)+1)/2]
	c.stride *= 2
}

func (g *group) join(next group) {
	g.last = next.last
	if next.low.Bytes < g.low.Bytes {
		g.low = next.low
	}
	if next.high.Bytes > g.high.Bytes {
		g.high = next.high
	}
}

// close ends the curve: nothing is added any more.
func (c *curve) close() {
	c.flush()
	c.isOpen = false
}

func (c *curve) points() []Point {
	var out []Point
	for _, g := range c.groups {
		four := []Point{g.first, g.low, g.high, g.last}
		slices.SortStableFunc(four, func(a, b Point) int { return cmp.Compare(a.Step, b.Step) })
		for _, p := range four {
			if n := len(out); n == 0 || out[n-1].Step != p.Step || out[n-1].Bytes != p.Bytes {
				out = append(out, p)
			}
		}
	}
	return out
}

func (c *curve) first() Point {
	if len(c.groups) == 0 {
		return Point{Time: math.NaN()}
	}
	return c.groups[0].first
}

func (c *curve) last() Point {
	if len(c.groups) == 0 {
		return Point{Time: math.NaN()}
	}
	return c.groups[len(c.groups)-1].last
}

func (c *curve) extremes() (low, high Point) {
	for i, g := range c.groups {
		if i == 0 || g.low.Bytes < low.Bytes {
			low = g.low
		}
		if i == 0 || g.high.Bytes > high.Bytes {
			high = g.high
		}
	}
	return low, high
}
