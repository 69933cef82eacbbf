package budget

import (
	"errors"
	"fmt"
)

// Check explains what makes a configuration impossible, nil when nothing does.
func (c *Config) Check() error {
	for _, err := range c.problems() {
		return err
	}
	return nil
}

// problems are errors that begin with the name of the setting to blame.
func (c *Config) problems() (list []error) {
	for _, check := range []func(*Config) error{(*Config).checkModel, (*Config).checkArch, (*Config).checkWork, (*Config).checkParallel, (*Config).checkVolume} {
		if err := check(c); err != nil {
			list = append(list, err)
		}
	}
	return list
}

func (c *Config) checkModel() error {
	m := &c.Model
	if !m.sized() {
		return nil
	}
	type size struct {
		name string
		n    int64
	}
	need := []size{{"layers", m.Layers}, {"hidden", m.Hidden}, {"heads", m.Heads}, {"vocab", m.Vocab}}
	if m.Arch == ViT {
		need[3] = size{"patch", m.Patch}
	}
	for _, x := range need {
		if x.n < 1 {
			return fmt.Errorf("%s: not given; name a known model, give layers, hidden, heads and vocab, or params alone", x.name)
		}
	}
	for _, x := range []size{need[0], {"decoder_layers", m.DecoderLayers}} {
		if x.n > mostLayers { // a config.json has bounds of its own
			return fmt.Errorf("%s: %d; at most %d", x.name, x.n, mostLayers)
		}
	}
	return m.checkHeads()
}

func (m *Model) checkHeads() error {
	switch {
	case m.HeadDim == 0 && m.Hidden%m.Heads != 0:
		return fmt.Errorf("heads: %d does not divide hidden %d, so a head has no whole width; take %d, or give head_dim", m.Heads, m.Hidden, divisorNear(m.Hidden, m.Heads))
	case m.Heads%m.kvHeads() != 0:
		return fmt.Errorf("kv_heads: %d does not divide heads %d: every key and value head serves the same number of query heads; take %d",
			m.kvHeads(), m.Heads, divisorNear(m.Heads, m.kvHeads()))
	case m.FusedQKV && m.KVRank != 0:
		return errors.New("fused_qkv: not with kv_rank; latent attention has matrices of its own")
	case m.Experts != 0 && (m.ActiveExperts < 1 || m.ActiveExperts > m.Experts):
		return fmt.Errorf("active_experts: %d of %d experts; a token passes at least 1 and at most all", m.ActiveExperts, m.Experts)
	case m.Arch == ViT && (m.Image < m.Patch || m.Image%m.Patch != 0):
		return fmt.Errorf("patch: %d does not divide image %d", m.Patch, m.Image)
	case m.Tied && m.EmbedDim != 0 && m.Vocab == 0:
		return errors.New("tied: there is no vocabulary to tie")
	}
	return nil
}

// divisorNear returns the divisor of n that is nearest to d, the smaller of two.
func divisorNear(n, d int64) int64 {
	best := int64(1)
	for i := int64(1); i*i <= n; i++ {
		if n%i != 0 {
			continue
		}
		for _, k := range [...]int64{i, n / i} {
			if gap := abs(k-d) - abs(best-d); gap < 0 || gap == 0 && k < best {
				best = k
			}
		}
	}
	return best
}

func (c *Config) checkWork() error {
	switch {
	case !c.Model.sized():
	case c.Batch < 1:
		return fmt.Errorf("batch: %d; a step needs at least 1 sequence", c.Batch)
	case c.Seq < 1 && c.Model.Arch != ViT:
		return fmt.Errorf("seq: %d; a sequence has at least 1 token", c.Seq)
	case c.Model.Positions != 0 && c.Seq > c.Model.Positions && c.Model.Arch != ViT:
		return fmt.Errorf("seq: %d tokens but %d positions: the model has no embedding for those beyond; lower seq or raise positions", c.Seq, c.Model.Positions)
	}
	if p := c.policy(); c.Attention == Flash && p.compute == F32 {
		return fmt.Errorf("attention: flash has no kernel for fp32; take sdpa, which then takes the memory-efficient one, or a precision of 16 bits")
	}
	if c.Accumulation < 1 {
		return fmt.Errorf("accumulation: %d; an optimizer step needs at least 1 micro-batch", c.Accumulation)
	}
	return nil
}

// mostVolume is more bytes than any machine holds, and eight times below where sums
// of them overflow.
const mostVolume = 1 << 60

func (c *Config) checkVolume() error {
	if c.volume() > mostVolume {
		return c.tooMuch()
	}
	return nil
}

// mostTensor is more bytes than any tensor has, and what the model of the allocator
// takes at once.
const mostTensor = 1 << 52

func (c *Config) tooMuch() error {
	return fmt.Errorf("layers: a step of this takes more than a petabyte; lower layers, hidden, batch %d or seq %d", c.Batch, c.Seq)
}

// volume is a rough upper bound of a step's bytes, which cannot overflow.
func (c *Config) volume() float64 {
	m := &c.Model
	n := func(v int64) float64 { return float64(v) }
	h, layers := n(m.Hidden), n(m.Layers)+n(m.decoderLayers())
	ffn, expert := n(m.ffn())+n(m.SharedFFN), n(m.expertFFN())
	query, latent := n(m.Heads)*n(m.headDim()), n(m.Heads)*(n(m.NopeDim)+n(m.RopeDim)+n(m.ValueDim))
	ranks := n(m.QueryRank) + n(m.KVRank) + n(m.RopeDim)
	wide := h + query + ffn + latent + ranks

	matrices := h*(4*query+3*ffn+ranks) + 2*(h+ranks)*latent + n(m.Experts)*h*(1+3*expert) + 8*n(c.LoRARank)*wide
	rows := n(m.Vocab) + n(m.Positions) + n(m.TokenTypes) + n(m.Labels) + n(m.patches()) + 3*h
	params := layers*matrices + rows*(h+n(m.EmbedDim)) + n(m.Channels)*n(m.Patch)*n(m.Patch)*h + 2*n(m.RelativeBuckets)*n(m.Heads) + n(m.Params)

	s := n(max(c.Seq, c.TargetSeq, m.patches()+1))
	token := wide + n(m.ActiveExperts)*(h+3*expert) + n(m.Experts) + 8*n(c.LoRARank)
	if c.Attention == Eager || m.Arch == T5 || m.kvHeads() != m.Heads {
		token += n(m.Heads) * s
	}
	sequence := s*(layers*token+n(m.Vocab)+n(m.EmbedDim)+n(m.Labels)+s) + n(m.Channels)*n(m.Image)*n(m.Image)
	inFlight := max(1, min(n(c.Pipeline), n(or(c.Microbatch, c.Accumulation))))
	return 24*params + 40*n(c.Batch)*inFlight*sequence
}

func (c *Config) checkParallel() error {
	m := &c.Model
	divided := float64(c.Tensor) * float64(c.Pipeline) * float64(c.Context)
	groups := int64(min(divided, 1<<62)) // no GPUs are so many
	switch {
	case c.ZeRO > 3:
		return fmt.Errorf("zero: %d; stages are 0 (nothing is divided), 1 (optimizer state), 2 (and gradients), 3 (and parameters)", c.ZeRO)
	case c.GPUs%groups != 0:
		return fmt.Errorf("gpus: %d cannot be divided into groups of tensor %d × pipeline %d × context %d = %.0f", c.GPUs, c.Tensor, c.Pipeline, c.Context, divided)
	case m.sized() && m.Heads > 0 && m.Heads%c.Tensor != 0:
		return fmt.Errorf("tensor: %d does not divide heads %d: tensor parallelism gives each GPU whole heads; take %d", c.Tensor, m.Heads, divisorNear(m.Heads, c.Tensor))
	case m.sized() && m.kvHeads() > 0 && m.kvHeads()%c.Tensor != 0 && c.Tensor%m.kvHeads() != 0:
		return fmt.Errorf("tensor: %d neither divides kv_heads %d nor is a multiple of it", c.Tensor, m.kvHeads())
	case m.sized() && m.Layers > 0 && c.Pipeline > m.Layers:
		return fmt.Errorf("pipeline: %d stages for %d layers; a stage needs at least one", c.Pipeline, m.Layers)
	case c.Context > 1 && c.Seq%c.Context != 0:
		return fmt.Errorf("context: %d does not divide seq %d", c.Context, c.Seq)
	case c.Expert > 1 && (m.Experts == 0 || m.Experts%c.Expert != 0):
		return fmt.Errorf("expert: %d does not divide %d experts", c.Expert, m.Experts)
	case c.Pipeline > 1 && m.Arch == T5:
		return fmt.Errorf("pipeline: %d stages for an encoder with a decoder; not supported here", c.Pipeline)
	case c.SeqPar && c.Tensor == 1:
		return errors.New("sequence_parallel: needs tensor above 1; it divides what tensor parallelism leaves whole")
	}
	return nil
}
