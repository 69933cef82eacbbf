package budget

import "github.com/snapview/snapview/attribution"

// ZeRO (arXiv 1910.02054) divides among the data-parallel GPUs the optimizer's
// states (1), gradients too (2), and parameters too (3), which is what FSDP's
// full sharding does.

// sharded is what one GPU keeps of a parameter that all divide.
func (p *program) sharded(l *leaf) shape {
	n := p.c.shards()
	if l.param.Expert {
		n = max(n/p.c.Expert, 1)
	}
	symbols := l.whole.symbols()
	if len(l.whole) > 1 {
		symbols = "(" + symbols + ")"
	}
	return shape{divided(dim{symbols, l.whole.elements()}, "N", n)}
}

// stateShape is the shape of an optimizer's state for a parameter.
func (p *program) stateShape(l *leaf) shape {
	if p.c.ZeRO >= 1 && p.c.shards() > 1 {
		return p.sharded(l)
	}
	return l.whole
}

// buckets allocates the flat buffers through which gradients travel. DDP has one
// for every gradient, all the time (torch.nn.parallel.DistributedDataParallel,
// without gradient_as_bucket_view); ZeRO 1 and 2 one of a given size.
func (p *program) buckets() {
	if p.c.shards() == 1 || p.accumulates() && p.c.ZeRO == 0 || p.c.ZeRO >= 3 {
		return
	}
	if p.c.ZeRO == 0 {
		for _, l := range p.order {
			if l.trained {
				p.alloc(CommunicationClass, attribution.Communication, "gradient buckets of DDP", l.shape, l.gradType)
			}
		}
		return
	}
	var trained int64
	for _, l := range p.order {
		if l.trained {
			trained += l.gradType.bytesOf(l.shape.elements())
		}
	}
	size := min(or(p.c.Bucket, zeroBucket*p.p.grad.bytesOf(1)), trained)
	p.alloc(CommunicationClass, attribution.Communication, "gradient bucket of ZeRO", shape{{"bucket", size}}, I8)
}

// zeroBucket is the elements of DeepSpeed's reduce_bucket_size.
const zeroBucket = 500_000_000

// A zeroUnit is what ZeRO 3 gathers at once: a block, or what is outside of them.
type zeroUnit struct {
	leaves []*leaf
	whole  *buffer // gathered weights, nil while they are divided
}

func (u *zeroUnit) add(l *leaf) { u.leaves = append(u.leaves, l) }

// unitOf returns the unit of a parameter; the last is for what is in no block.
func (p *program) unitOf(l *leaf) *zeroUnit {
	if p.units == nil {
		for range p.at.last + 1 {
			p.units = append(p.units, &zeroUnit{})
		}
	}
	if l.param.Layer < 0 {
		return p.units[p.at.last]
	}
	return p.units[l.param.Layer]
}

// gather makes the weights of a unit whole.
func (p *program) gather(u *zeroUnit) {
	if u.whole != nil {
		return
	}
	var elements int64
	d := p.p.weight
	for _, l := range u.leaves {
		elements += l.whole.elements()
	}
	u.whole = p.alloc(CommunicationClass, attribution.Communication, "gathered weights of a unit", shape{{"unit", elements}}, d)
}

// divide gives the whole weights of a unit up.
func (p *program) divide(u *zeroUnit) {
	p.drop(u.whole)
	u.whole = nil
}

// root is the unit of what is in no block. It stays whole from the beginning of
// the forward to the end of the backward.
func (p *program) root() *zeroUnit { return p.units[len(p.units)-1] }

// enterUnit gathers a block and those that are prefetched behind it, and has the
// backward reduce its gradients when it has passed it.
func (p *program) enterUnit(i int64, x *tensor) *zeroUnit {
	if p.units == nil {
		return nil
	}
	p.gather(p.root())
	for k := i; k < min(i+p.c.Prefetch, p.at.last); k++ {
		p.gather(p.units[k])
	}
	u := p.units[i]
	if x.from != nil {
		x.from = p.record("reduce gradients", []*tensor{x}, nil, func(g []*buffer) []*buffer {
			p.scatter(u)
			p.divide(u)
			return []*buffer{g[0].hold()}
		})
		x.slot = 0
	}
	return u
}

// leaveUnit divides a block again, and has the backward gather it, with those
// prefetched before it.
func (p *program) leaveUnit(u *zeroUnit, y *tensor) {
	if u == nil {
		return
	}
	p.divide(u)
	at := 0
	for i := range p.units {
		if p.units[i] == u {
			at = i
		}
	}
	y.from = p.record("gather weights", []*tensor{y}, nil, func(g []*buffer) []*buffer {
		for k := at; k > at-int(p.c.Prefetch) && k >= int(p.at.first); k-- {
			p.gather(p.units[k])
		}
		return []*buffer{g[0].hold()}
	})
	y.slot = 0
}

// scatter reduces the gradients of a unit to this GPU's part of each.
func (p *program) scatter(u *zeroUnit) {
	var whole int64
	for _, l := range u.leaves {
		if l.grad != nil {
			whole += l.grad.bytes
		}
	}
	if whole == 0 {
		return
	}
	flat := p.alloc(CommunicationClass, attribution.Communication, "gradients of a unit to reduce", shape{{"unit", whole}}, I8)
	for _, l := range u.leaves {
		if l.grad == nil {
			continue
		}
		p.drop(l.grad)
		l.grad = nil
		if l.main == nil && l.kept == nil && p.c.Offload == NoOffload {
			l.kept = p.alloc(GradientClass, attribution.Gradient, "gradients", p.sharded(l), l.gradType)
		}
	}
	p.drop(flat)
}
