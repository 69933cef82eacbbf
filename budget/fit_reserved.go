package budget

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A ReservedModel predicts the peak of reserved memory from that of allocated
// memory: that, and beyond it a part of it, a fixed amount for segments that are never
// full, and what blocks of the weights and of the logits leave behind that nothing else
// can use.
// The caching allocator's peak depends on the order of sizes, which points do not
// hold, so this is much less sure than the model of the peak.
type ReservedModel struct {
	Factor    float64 // bytes per byte of the peak, 1 or more
	Fixed     float64 // bytes
	PerParam  float64 // bytes; 0 when the points do not give parameters
	PerLogit  float64 // bytes per b·s·V; likewise
	Half      float64 // half of the interval as a part of the prediction, for a given peak
	Median    float64 // of the errors at points that were left out
	Worst     float64
	Points    int
	FewPoints bool
}

// mebibyte keeps the columns of the fit of like size.
const mebibyte = 1 << 20

// reservedRow are the terms of reserved memory.
func (m *MemoryModel) reservedRow(numbers map[string]float64, peak float64) []float64 {
	numbers = m.schema.fill(numbers)
	row := []float64{peak, mebibyte, 0, 0}
	if m.schema.has(keyParams) {
		row[2] = numbers[keyParams]
	}
	if u, whole := m.schema.unit(perLogit...); whole {
		row[3] = u.of(numbers)
	}
	return row
}

// fitReserved fits those of some points that have reserved memory; nil when they are
// too few.
func (m *MemoryModel) fitReserved(from []int) *ReservedModel {
	var use []int
	for _, i := range from {
		if m.Points[i].Reserved > 0 {
			use = append(use, i)
		}
	}
	if len(use) < leastPoints {
		return nil
	}
	c := m.reservedCoefficients(use)
	r := &ReservedModel{Factor: 1 + c[0], Fixed: c[1] * mebibyte, PerParam: c[2], PerLogit: c[3], Points: len(use), FewPoints: len(use) < FewPoints}
	errors := make([]float64, len(use))
	leaveGroups(use, func(rest, left []int) {
		c := m.reservedCoefficients(rest)
		for _, k := range left {
			errors[k] = m.reservedError(c, use[k], float64(m.Points[use[k]].Peak))
		}
	})
	if r.Half = orderQuantile(errors, m.Confidence); r.FewPoints {
		r.Half = studentQuantile(errors, m.Confidence)
	}
	r.Median, r.Worst = orderQuantile(errors, 0.5), orderQuantile(errors, 1)
	return r
}

// reservedError is how far the measured value is from the predicted one, as a part.
func (m *MemoryModel) reservedError(c []float64, point int, peak float64) float64 {
	p := &m.Points[point]
	r := ReservedModel{Factor: 1 + c[0], Fixed: c[1] * mebibyte, PerParam: c[2], PerLogit: c[3]}
	return math.Abs(float64(p.Reserved)/r.of(m.reservedRow(p.Numbers, peak)) - 1)
}

// of is the value of the model for a row.
func (r *ReservedModel) of(row []float64) float64 {
	return r.Factor*row[0] + r.Fixed + r.PerParam*row[2] + r.PerLogit*row[3]
}

// reservedCoefficients fits what some points reserve beyond their peak, with errors
// relative to all that they reserve.
func (m *MemoryModel) reservedCoefficients(use []int) []float64 {
	const n = 4
	rows := make([][]float64, len(use))
	scale := make([]float64, n)
	for k, i := range use {
		rows[k] = m.reservedRow(m.Points[i].Numbers, float64(m.Points[i].Peak))
		for j, x := range rows[k] {
			scale[j] += x / float64(m.Points[i].Reserved)
		}
	}
	g, h := mat.NewSymDense(n, nil), make([]float64, n)
	for j := range n {
		if scale[j] > 0 {
			scale[j] = float64(len(use)) / scale[j]
		}
		g.SetSym(j, j, 1e-6)
	}
	for k, i := range use {
		w := 1 / float64(m.Points[i].Reserved)
		beyond := float64(m.Points[i].Reserved-m.Points[i].Peak) * w
		for a := range n {
			h[a] += rows[k][a] * scale[a] * w * beyond
			for b := a; b < n; b++ {
				g.SetSym(a, b, g.At(a, b)+rows[k][a]*scale[a]*w*rows[k][b]*scale[b]*w)
			}
		}
	}
	z, _ := nnls(g, h, nil)
	for j := range z {
		z[j] *= scale[j]
	}
	return z
}
