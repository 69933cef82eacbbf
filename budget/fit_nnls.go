package budget

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// nnls solves min ½zᵀGz − hᵀz over z ≥ 0 for a symmetric positive definite G: the
// least-squares problem of Lawson and Hanson (Solving Least Squares Problems, 1974,
// chapter 23) in the normal equations, as Bro and de Jong have it (1997). gonum has
// no solver for it. free reports which of z are off the bound; guess, which may be
// nil, is a guess of that, and saves time when it is close.
func nnls(g *mat.SymDense, h []float64, guess []bool) (z []float64, free []bool) {
	n := len(h)
	z, free = make([]float64, n), make([]bool, n)
	if guess != nil {
		copy(free, guess)
		z = toward(g, h, z, free, -1)
	}
	tolerance := 1e-12
	for i := range n {
		tolerance = max(tolerance, 1e-12*math.Abs(h[i]))
	}
	for range 3 * n {
		enter := steepest(g, h, z, free, tolerance)
		if enter < 0 {
			break
		}
		free[enter] = true
		z = toward(g, h, z, free, enter)
	}
	return z, free
}

// toward moves from z to the solution of the free variables. Those that would fall
// below 0 on the way are put on the bound.
func toward(g *mat.SymDense, h, z []float64, free []bool, enter int) []float64 {
	for {
		s := solveFree(g, h, free)
		step, leave := 1.0, -1
		for j := range z {
			if free[j] && s[j] <= 0 {
				if t := z[j] / (z[j] - s[j]); leave < 0 || t < step {
					step, leave = t, j
				}
			}
		}
		if leave < 0 {
			return s
		}
		for j := range z {
			if free[j] {
				z[j] += step * (s[j] - z[j])
			}
		}
		z[leave], free[leave] = 0, false
		if leave == enter {
			return z
		}
	}
}

// steepest returns the variable at the bound that is most worth raising, or −1.
func steepest(g *mat.SymDense, h, z []float64, free []bool, tolerance float64) int {
	best, at := tolerance, -1
	for j := range z {
		if free[j] {
			continue
		}
		w := h[j]
		for k, v := range z {
			if v != 0 {
				w -= g.At(j, k) * v
			}
		}
		if w > best {
			best, at = w, j
		}
	}
	return at
}

// solveFree solves the equations of the free variables; the others are 0.
func solveFree(g *mat.SymDense, h []float64, free []bool) []float64 {
	var index []int
	for j, f := range free {
		if f {
			index = append(index, j)
		}
	}
	out := make([]float64, len(h))
	if len(index) == 0 {
		return out
	}
	sub := mat.NewSymDense(len(index), nil)
	rhs := mat.NewVecDense(len(index), nil)
	for a, i := range index {
		rhs.SetVec(a, h[i])
		for b := a; b < len(index); b++ {
			sub.SetSym(a, b, g.At(i, index[b]))
		}
	}
	var chol mat.Cholesky
	var x mat.VecDense
	if !chol.Factorize(sub) || chol.SolveVecTo(&x, rhs) != nil {
		return out
	}
	for a, i := range index {
		out[i] = x.AtVec(a)
	}
	return out
}
