package budget

import (
	"strconv"
	"strings"
)

// A dim is a dimension of a tensor with the symbol that formulas have for it.
type dim struct {
	symbol string
	n      int64
}

// A shape is the dimensions of a tensor; an empty one is a scalar.
type shape []dim

func (s shape) elements() int64 {
	n := int64(1)
	for _, d := range s {
		n *= d.n
	}
	return n
}

// symbols is the product in symbols: "b·s·h".
func (s shape) symbols() string {
	return s.join(func(d dim) string { return d.symbol })
}

// figures is the product in figures: "8·256·512".
func (s shape) figures() string {
	return s.join(func(d dim) string { return strconv.FormatInt(d.n, 10) })
}

func (s shape) join(word func(dim) string) string {
	if len(s) == 0 {
		return "1"
	}
	words := make([]string, len(s))
	for i, d := range s {
		words[i] = word(d)
	}
	return strings.Join(words, "·")
}

// with is the shape with another dimension at i.
func (s shape) with(i int, d dim) shape {
	out := append(shape(nil), s...)
	out[i] = d
	return out
}

// of is the shape with another last dimension.
func (s shape) of(last dim) shape {
	return append(append(shape(nil), s[:len(s)-1]...), last)
}
