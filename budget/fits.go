package budget

import (
	"cmp"
	"fmt"
	"slices"
)

// A CardFit says whether a step fits on a card.
type CardFit struct {
	Card  Card
	Needs int64 // reserved by the allocator, the context, and communicators
}

// Fits reports whether the card has that much.
func (f CardFit) Fits() bool { return f.Needs <= f.Card.Bytes }

// Narrow reports whether it fits with less to spare than what PyTorch reserves may
// be off by: of 168 measured steps one in 17 reserved over 5 % more than estimated.
func (f CardFit) Narrow() bool { return f.Fits() && (f.Card.Bytes-f.Needs)*20 < f.Needs }

// Cards says on which cards the step fits: on the one of the configuration, or
// else on the usual ones.
func (l *Ledger) Cards() (list []CardFit) {
	for _, c := range Cards() {
		if l.Config.GPU != "" {
			if own, err := FindCard(l.Config.GPU); err != nil || own.Name != c.Name {
				continue
			}
		}
		list = append(list, CardFit{c, l.needs(c)})
	}
	return list
}

// needs is what the process takes on a card.
func (l *Ledger) needs(c Card) int64 {
	n := max(l.Reserved, l.PerGPU) + contextBytes
	if l.Config.GPU == "" && l.Simulated {
		n += 2*c.workspace() + ltWorkspace
	}
	if l.Config.GPUs > 1 {
		n += ncclBytes
	}
	return n
}

// Largest marks the n lines that say most: those with most bytes at the peak, and
// what the model keeps whether it is there at the peak or not.
func (l *Ledger) Largest(n int) map[int]bool {
	order := make([]int, len(l.Lines))
	for i := range order {
		order[i] = i
	}
	states := Classes()[:slices.Index(Classes(), ActivationClass)]
	rank := func(x *Line) int64 {
		if slices.Contains(states, x.Class) {
			return x.Bytes
		}
		return x.AtPeak
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &l.Lines[a], &l.Lines[b]
		return cmp.Or(cmp.Compare(rank(y), rank(x)), cmp.Compare(y.Bytes, x.Bytes))
	})
	shown := map[int]bool{}
	for _, i := range order[:min(n, len(order))] {
		shown[i] = true
	}
	return shown
}

// Symbols says what the symbols of the formulas stand for.
func (l *Ledger) Symbols() string {
	m := &l.Config.Model
	d := m.dims()
	text := fmt.Sprintf("b = %d, s = %d", l.Config.Batch, l.Config.seq())
	add := func(symbol string, n int64, also bool) {
		if n != 0 && also {
			text += fmt.Sprintf(", %s = %d", symbol, n)
		}
	}
	add("h", m.Hidden, true)
	add("a", m.Heads, true)
	add("g", d.g.n, d.g.n != m.Heads)
	add("d", d.d.n, true)
	add("f", d.f.n, m.Experts == 0 || m.DenseLayers > 0)
	add("V", m.Vocab, m.Arch != ViT)
	add("E", m.Experts, true)
	add("k", m.ActiveExperts, true)
	add("fe", d.fe.n, m.Experts != 0)
	add("t", l.Config.Tensor, l.Config.Tensor > 1)
	add("N", l.Config.shards(), l.Config.ZeRO > 0)
	return text + ", P = trained parameters"
}
