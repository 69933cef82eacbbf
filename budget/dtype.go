package budget

// bytesOf is the size of n elements. NF4 has half a byte each and an fp32
// scale for 64 of them, itself quantised to 8 bits (QLoRA, arXiv 2305.14314):
// 4.127 bits in all.
func (d DType) bytesOf(n int64) int64 {
	switch d {
	case B16, F16:
		return 2 * n
	case F8, I8, Bool:
		return n
	case I64:
		return 8 * n
	case NF4:
		return n/2 + n/64 + n/64/256*4
	}
	return 4 * n
}

// A policy is what a Precision means for each kind of tensor.
type policy struct {
	weight   DType
	grad     DType
	master   DType // "" for none
	compute  DType // of matrix products, and of what flows between them
	autocast bool  // compute differs from weight by casts at each operation
}

func (c *Config) policy() policy {
	p := policies[c.Precision]
	if c.GradDType != "" {
		p.grad = c.GradDType
	}
	return p
}

var policies = map[Precision]policy{
	FP32:       {weight: F32, grad: F32, compute: F32},
	BF16AMP:    {weight: F32, grad: F32, compute: B16, autocast: true},
	FP16AMP:    {weight: F32, grad: F32, compute: F16, autocast: true},
	BF16Master: {weight: B16, grad: F32, master: F32, compute: B16},
	FP16Master: {weight: F16, grad: F32, master: F32, compute: F16},
	FP8Master:  {weight: F8, grad: F32, master: F32, compute: B16},
	BF16:       {weight: B16, grad: B16, compute: B16},
	FP16:       {weight: F16, grad: F16, compute: F16},
}
