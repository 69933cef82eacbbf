package budget

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// TestNNLS checks the conditions of Karush, Kuhn and Tucker, which the solution of a
// convex problem meets and nothing else does.
func TestNNLS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rows := rapid.IntRange(1, 8).Draw(t, "unknowns"), rapid.IntRange(1, 20).Draw(t, "rows")
		number := rapid.Float64Range(-10, 10)
		g, h := mat.NewSymDense(n, nil), make([]float64, n)
		for range rows {
			x, y := rapid.SliceOfN(number, n, n).Draw(t, "x"), number.Draw(t, "y")
			for i := range n {
				h[i] += x[i] * y
				for j := i; j < n; j++ {
					g.SetSym(i, j, g.At(i, j)+x[i]*x[j])
				}
			}
		}
		for i := range n {
			g.SetSym(i, i, g.At(i, i)+0.1)
		}
		guess := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "guess")
		for _, from := range [][]bool{nil, guess} {
			z, free := nnls(g, h, from)
			for i := range n {
				gradient := -h[i]
				for j := range n {
					gradient += g.At(i, j) * z[j]
				}
				small := 1e-6 * (1 + math.Abs(h[i]))
				switch {
				case z[i] < 0:
					t.Fatalf("z[%d] = %g is negative", i, z[i])
				case free[i] != (z[i] > 0):
					t.Fatalf("z[%d] = %g but free = %t", i, z[i], free[i])
				case gradient < -small, z[i] > 0 && gradient > small:
					t.Fatalf("z[%d] = %g has gradient %g", i, z[i], gradient)
				}
			}
		}
	})
}
