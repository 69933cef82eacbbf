package budget

import (
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
)

// adapted reports whether LoRA adapts a linear layer of a block, by the name of
// its weights.
func (c *Config) adapted(name string) bool {
	if c.LoRARank == 0 || !strings.HasSuffix(name, ".weight") {
		return false
	}
	layer := strings.TrimSuffix(name, ".weight")
	last := layer[strings.LastIndexByte(layer, '.')+1:]
	query := []string{"query", "value", "qkv", "query_up", "kv_up"}
	attention := append(query[:len(query):len(query)], "key", "out", "query_down", "kv_down")
	all := append(attention[:len(attention):len(attention)], "gate", "up", "down")
	switch c.LoRATargets {
	case TargetAtt:
		return slices.Contains(attention, last)
	case TargetAll:
		return slices.Contains(all, last)
	}
	return slices.Contains(query, last)
}

// adapterType is that of LoRA's own weights: peft keeps them in fp32 beside a
// 16-bit or quantised base model, unless everything is to be in 16 bits.
func (c *Config) adapterType() DType {
	if c.Precision == BF16 || c.Precision == FP16 {
		return c.policy().weight
	}
	return F32
}

// adapters adds the two matrices of each adapted layer.
func (p *program) adapters(list []Param) {
	r := dim{"r", p.c.LoRARank}
	for i := range list {
		w := &list[i]
		if !p.c.adapted(w.Name) || len(w.Shape) != 2 {
			continue
		}
		base := strings.TrimSuffix(w.Name, ".weight")
		for _, part := range []Param{
			{Name: base + ".lora_a", Shape: shape{r, w.Shape[1]}, Layer: w.Layer},
			{Name: base + ".lora_b", Shape: shape{w.Shape[0], r}, Layer: w.Layer},
		} {
			d := p.c.adapterType()
			p.addLeaf(&part, "weights of LoRA", d, d, true)
		}
	}
}

// lora adds what an adapter computes to the result of its layer, which it takes
// over (peft.tuners.lora.Linear).
func (p *program) lora(x, result *tensor, name string, out dim) *tensor {
	a, b := p.leaf(name+".lora_a"), p.leaf(name+".lora_b")
	if a == nil {
		return result
	}
	input := p.cast(x, "LoRA inputs in fp32", a.dtype)
	low := p.linear(input, a, nil, "LoRA, low rank", dim{"r", p.c.LoRARank})
	high := p.linear(low, b, nil, "LoRA results", out)
	scaled := p.scaled(high, "LoRA results")
	p.free(input, low, high)
	sum := p.add(result, scaled, "results with LoRA")
	p.free(result, scaled)
	y := p.cast(sum, "results with LoRA", result.dtype)
	p.free(sum)
	return y
}

// dequantised is the temporary copy in which quantised weights multiply.
func (t *tape) dequantised(l *leaf, d DType) *buffer {
	return t.alloc(ActivationClass, attribution.Temporary, "weights dequantised", l.shape, d)
}
