package budget

import (
	"strings"

	"github.com/snapview/snapview/attribution"
)

// received is what a pipeline stage is sent by the one before it; nil for the
// first.
func (p *program) received() *tensor {
	if p.at.embeds() {
		return nil
	}
	x := p.make("inputs of the stage", p.x, p.p.compute)
	return x.out(&gradNode{name: "send back", back: func([]*buffer) []*buffer { return nil }})
}

// cutOf is how tensor parallelism cuts a linear layer, by its name.
func cutOf(name string) cutting {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "query", "key", "value", "qkv", "up", "gate", "query_up", "kv_up", "head":
		return columns
	case "out", "down":
		return rows
	}
	return uncut
}

// gatherSequence makes a sequence whole before a layer that is cut by columns.
// Only this GPU's part is saved; the backward gathers it again (Korthikanti et
// al., arXiv 2205.05198, section 4.2.2).
func (p *program) gatherSequence(x *tensor, name string) *tensor {
	if !p.c.SeqPar || cutOf(name) != columns {
		return x.view(x.shape)
	}
	s := shape{p.b, p.s, x.shape[2]}
	full := &tensor{buffer: p.alloc(CommunicationClass, attribution.Communication, "gathered sequence", s, x.dtype), shape: s, dtype: x.dtype, part: x.buffer}
	return full.out(p.record("reduce-scatter", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{p.gradOf(x.shape, x.dtype)}
	}))
}

// scatterSequence keeps this GPU's part of what a layer cut by rows returns. It
// takes over x.
func (p *program) scatterSequence(x *tensor, name string) *tensor {
	if !p.c.SeqPar || cutOf(name) != rows {
		return x
	}
	y := p.make("layer results, divided", p.x, x.dtype)
	y.out(p.record("all-gather", []*tensor{x}, nil, func(g []*buffer) []*buffer {
		return []*buffer{p.alloc(CommunicationClass, attribution.Communication, "gathered gradients", x.shape, x.dtype)}
	}))
	p.free(x)
	return y
}

// arrive says what becomes of a gradient that autograd hands to a parameter.
func (p *program) gradientArrives(l *leaf) bool {
	switch {
	case p.c.ZeRO >= 3:
		return false // reduced with its unit
	case l.main != nil:
		return true // added to it
	case p.c.ZeRO >= 1 && p.c.Offload != NoOffload:
		return true // copied to the host through the bucket
	case p.c.ZeRO == 2:
		if l.kept == nil {
			l.kept = p.alloc(GradientClass, attribution.Gradient, "gradients", p.sharded(l), l.gradType)
		}
		return true
	}
	return false
}
