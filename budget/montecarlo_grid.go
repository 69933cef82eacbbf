package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/snapview/snapview/internal/units"
)

// A surrogate is memory over the varied settings: worked out on a grid, and between
// its nodes by a straight line in each direction. Acting a step out takes
// milliseconds, too long for every draw.
type surrogate struct {
	seq, hidden []int64
	mix         []variation // of batch and precision
	index       map[variation]int
	peak, held  [][]float64 // by mix, then seq × hidden
	note        string
}

// Bounds of the work for one configuration.
const (
	gridNodes    = 5
	fewNodes     = 3
	mostGridded  = 200
	checkedDraws = 8
)

// newSurrogate works the grid out, and compares it with draws worked out in full.
func (s *riskStudy) newSurrogate() (*surrogate, error) {
	g := &surrogate{index: map[variation]int{}}
	g.seq = s.nodes("sequence length", gridNodes, func(d *draw) int64 { return d.Seq })
	g.hidden = s.nodes("width (hidden)", gridNodes, func(d *draw) int64 { return d.Hidden })
	s.mixes(g)
	if len(g.seq)*len(g.hidden)*len(g.mix) > mostGridded {
		g.seq = s.nodes("sequence length", fewNodes, func(d *draw) int64 { return d.Seq })
		g.hidden = s.nodes("width (hidden)", fewNodes, func(d *draw) int64 { return d.Hidden })
	}
	cells := len(g.seq) * len(g.hidden)
	errs := make([]error, cells*len(g.mix))
	for range g.mix {
		g.peak = append(g.peak, make([]float64, cells))
		g.held = append(g.held, make([]float64, cells))
	}
	inParallel(len(errs), func(k int) {
		m, cell := k/cells, k%cells
		v := g.mix[m]
		v.Seq, v.Hidden = g.seq[cell/len(g.hidden)], g.hidden[cell%len(g.hidden)]
		var need planMemory
		if need, errs[k] = s.place.memory(v); errs[k] == nil {
			g.peak[m][cell], g.held[m][cell] = float64(need.Peak), float64(need.Reserved)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("sensitivity: %w", err)
		}
	}
	return g, s.checkSurrogate(g)
}

// nodes are values of an input from one end to the other; a single 0 when it does
// not vary.
func (s *riskStudy) nodes(name string, n int, value func(*draw) int64) []int64 {
	var out []int64
	for i := range s.inputs {
		if s.inputs[i].name != name {
			continue
		}
		for k := range n {
			d := draw{}
			s.inputs[i].set(&d, float64(k)/float64(n-1))
			out = append(out, value(&d))
		}
	}
	if len(out) == 0 {
		return []int64{0}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mixes lists the combinations of batch and precision.
func (s *riskStudy) mixes(g *surrogate) {
	options := func(list []Chance, of func(Chance) variation) []variation {
		out := []variation{{}}
		for _, c := range list {
			out = append(out, of(c))
		}
		return out
	}
	batch := options(s.p.Vary.Batch, func(c Chance) variation {
		n, _ := ParseCount(c.Value)
		return variation{Batch: n}
	})
	batch[0].Batch = 0
	precision := options(s.p.Vary.Precision, func(c Chance) variation { return variation{Precision: c.Value} })
	own := variation{Batch: s.place.number(keyBatch), Precision: s.place.word(keyPrecision)}
	if len(s.p.Vary.Batch) > 0 {
		batch[0].Batch = own.Batch
	}
	if len(s.p.Vary.Precision) > 0 {
		precision[0].Precision = own.Precision
	}
	for _, b := range batch {
		for _, p := range precision {
			v := variation{Batch: b.Batch, Precision: p.Precision}
			if _, there := g.index[v]; !there {
				g.index[v] = len(g.mix)
				g.mix = append(g.mix, v)
			}
		}
	}
}

// at interpolates.
func (g *surrogate) at(v *variation) (peak, held float64) {
	m := g.index[variation{Batch: v.Batch, Precision: v.Precision}]
	i, a := between(g.seq, v.Seq)
	j, b := between(g.hidden, v.Hidden)
	w := len(g.hidden)
	blend := func(x []float64) float64 {
		near := x[i*w+j]
		right, below, across := near, near, near
		if b > 0 {
			right = x[i*w+j+1]
			across = right
		}
		if a > 0 {
			below = x[(i+1)*w+j]
			across = below
		}
		if a > 0 && b > 0 {
			across = x[(i+1)*w+j+1]
		}
		return (1-a)*((1-b)*near+b*right) + a*((1-b)*below+b*across)
	}
	return blend(g.peak[m]), blend(g.held[m])
}

// between finds the node at or below a value, and how far the value is to the next.
func between(nodes []int64, v int64) (at int, part float64) {
	if len(nodes) == 1 {
		return 0, 0
	}
	at = len(nodes) - 1
	for at > 0 && nodes[at] > v {
		at--
	}
	if at == len(nodes)-1 {
		return at, 0
	}
	return at, float64(v-nodes[at]) / float64(nodes[at+1]-nodes[at])
}

// checkSurrogate says how far off the surrogate is at a few draws.
func (s *riskStudy) checkSurrogate(g *surrogate) error {
	if len(g.seq) == 1 && len(g.hidden) == 1 {
		return nil // every value is a node
	}
	source := rand.New(rand.NewPCG(s.p.Vary.Seed, streamBase))
	worst := 0.0
	for range checkedDraws {
		d := draw{}
		for i := range s.inputs {
			s.inputs[i].set(&d, source.Float64())
		}
		exact, err := s.place.memory(d.variation)
		if err != nil {
			return err
		}
		_, held := g.at(&d.variation)
		worst = math.Max(worst, math.Abs(held/float64(exact.Reserved)-1))
	}
	nodes := len(g.seq) * len(g.hidden) * len(g.mix)
	g.note = fmt.Sprintf("memory was worked out for %s configurations and interpolated between them; at %d draws worked out in full that was off by at most %s",
		units.Count(nodes), checkedDraws, percentOf(worst))
	return nil
}
