package budget

import "github.com/snapview/snapview/attribution"

// An optimizer is the state that it keeps and the temporaries of its step.
type optimizer struct {
	state []*buffer
}

func (o *optimizer) step(p *program) {
	c := p.c
	if o.state == nil {
		for _, l := range p.order {
			for range moments(c) {
				o.state = append(o.state, p.alloc(OptimizerClass, attribution.OptimizerState, "moments", l.shape, l.dtype))
			}
		}
	}
	if c.Optimizer != SGD {
		var temp []*buffer
		for _, l := range p.order {
			temp = append(temp, p.scratch("foreach temporaries", l.shape, l.dtype))
		}
		p.drop(temp...)
	}
}

func moments(c *Config) int {
	switch c.Optimizer {
	case SGD:
		return 1
	}
	return 2
}
