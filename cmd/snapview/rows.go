package main

import (
	"fmt"
	"strconv"
)

// A rowsFlag is how many rows to print, 0 for all. Until it is given, the
// command decides.
type rowsFlag struct {
	n     int
	given bool
}

func (r *rowsFlag) String() string {
	if !r.given {
		return "" // the flag's help says the default in words
	}
	return strconv.Itoa(r.n)
}

func (r *rowsFlag) Type() string { return "N" }

func (r *rowsFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("not a number of rows; 0 shows all")
	}
	if n < 0 {
		return fmt.Errorf("a number of rows cannot be negative; 0 shows all")
	}
	*r = rowsFlag{n, true}
	return nil
}

// limit cuts n rows to what is allowed.
func (r *rowsFlag) limit(n int) int {
	if r.n == 0 {
		return n
	}
	return min(n, r.n)
}
