package profiler

import (
	"encoding/json"
	"strconv"
)

// flopCounter estimates the floating point operations of operators from their
// shapes as torch does with with_flops=True: computeFlops and saveExtraArgs in
// torch/csrc/profiler/util.cpp. It is asked once for each call and computes once
// for each operator and shapes.
type flopCounter struct {
	t     *Trace
	rule  map[Name]flopRule
	known map[flopKey]int64
}

type flopKey struct{ name, shapes, concrete Name }

// flopRule counts for an operator; nil for one that is not counted.
type flopRule func(shapes [][]int64, concrete []string) int64

var flopRules = map[string]flopRule{
	"aten::mm":      func(s [][]int64, _ []string) int64 { return matrixFlops(s, 0, false) },
	"aten::addmm":   func(s [][]int64, _ []string) int64 { return matrixFlops(s, 1, false) },
	"aten::bmm":     func(s [][]int64, _ []string) int64 { return matrixFlops(s, 0, true) },
	"aten::baddbmm": func(s [][]int64, _ []string) int64 { return matrixFlops(s, 1, true) },
	"aten::mul":     func(s [][]int64, _ []string) int64 { return elementFlops(s) },
	"aten::add":     func(s [][]int64, _ []string) int64 { return elementFlops(s) },
	"aten::conv2d":  convolutionFlops,
}

func newFlopCounter(t *Trace) flopCounter {
	return flopCounter{t: t, rule: make(map[Name]flopRule), known: make(map[flopKey]int64)}
}

// of returns the operations of one call; 0 for an operator that is not counted
// and in traces recorded without with_flops=True.
func (f *flopCounter) of(h *HostEvent) int64 {
	if !f.t.Meta.WithFlops || h.Kind != Operator || h.Shapes == 0 {
		return 0
	}
	rule, ok := f.rule[h.Name]
	if !ok {
		rule = flopRules[f.t.Names[h.Name]]
		f.rule[h.Name] = rule
	}
	if rule == nil {
		return 0
	}
	k := flopKey{h.Name, h.Shapes, h.Concrete}
	n, ok := f.known[k]
	if !ok {
		n = rule(tensorShapes(f.t.Names[h.Shapes]), concreteInputs(f.t.Names[h.Concrete]))
		f.known[k] = n
	}
	return n
}

// tensorShapes reads Input Dims; nil stands for what is no tensor.
func tensorShapes(dims string) [][]int64 {
	var shapes [][]int64
	for _, numbers := range parseShapes(dims) {
		if numbers == nil {
			shapes = append(shapes, nil)
			continue
		}
		shape := make([]int64, len(numbers))
		for i, n := range numbers {
			shape[i], _ = n.Int64()
		}
		shapes = append(shapes, shape)
	}
	return shapes
}

func concreteInputs(text string) []string {
	var inputs []string
	if json.Unmarshal([]byte(text), &inputs) != nil {
		return nil
	}
	return inputs
}

// matrixFlops is twice the multiplications of a matrix product whose factors
// are the arguments from first on; in a batch they share their first dimension.
func matrixFlops(shapes [][]int64, first int, batch bool) int64 {
	if len(shapes) < first+2 || shapes[0] == nil || shapes[first] == nil || shapes[first+1] == nil {
		return 0
	}
	a, b := shapes[first], shapes[first+1]
	if len(a) == 0 || a[len(a)-1] == 0 || batch && a[0] == 0 {
		return 0
	}
	n := product(a) / a[len(a)-1]
	if batch {
		n /= a[0]
	}
	return 2 * n * product(b)
}

// elementFlops is one operation for each element of the first argument, whatever
// it is broadcast to.
func elementFlops(shapes [][]int64) int64 {
	if len(shapes) == 0 || shapes[0] == nil {
		return 0
	}
	return product(shapes[0])
}

func product(sizes []int64) int64 {
	n := int64(1)
	for _, size := range sizes {
		n *= size
	}
	return n
}

// Arguments of aten::conv2d by place.
const (
	convStride = 3 + iota
	convPadding
	convDilation
	convGroups
	convInputs
)

// convolutionFlops is twice the multiplications of a 2-dimensional convolution.
func convolutionFlops(shapes [][]int64, concrete []string) int64 {
	if len(shapes) < convInputs || len(concrete) < convInputs || len(shapes[0]) != 4 || len(shapes[1]) != 4 {
		return 0
	}
	stride, ok1 := pair(concrete[convStride])
	padding, ok2 := pair(concrete[convPadding])
	dilation, ok3 := pair(concrete[convDilation])
	groups, err := strconv.ParseInt(concrete[convGroups], 10, 64)
	if !ok1 || !ok2 || !ok3 || err != nil || groups == 0 || stride[0] == 0 || stride[1] == 0 {
		return 0
	}
	in, weight := shapes[0], shapes[1]
	n := 2 * in[0] * in[1] * weight[0] * weight[2] * weight[3]
	for i := range 2 {
		n *= (in[2+i]+2*padding[i]-dilation[i]*(weight[2+i]-1)-1)/stride[i] + 1
	}
	return n / groups
}

// pair reads a list of two numbers.
func pair(text string) (p [2]int64, ok bool) {
	var list []int64
	if json.Unmarshal([]byte(text), &list) != nil || len(list) != 2 {
		return p, false
	}
	return [2]int64(list), true
}
