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
	for _, check := range []func(*Config) error{(*Config).checkModel, (*Config).checkWork, (*Config).checkParallel, (*Config).checkVolume} {
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

// divisorNear returns the divisor of n that is nearest to d.
func divisorNear(n, d int64) int64 {
	for gap := int64(0); gap < n; gap++ {
		if d > gap && n%(d-gap) == 0 {
			return d - gap
		}
		if d+gap <= n && n%(d+gap) == 0 {
			return d + gap
		}
	}
	return 1
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
	if c.Accumulation < 1 {
		return fmt.Errorf("accumulation: %d; an optimizer step needs at least 1 micro-batch", c.Accumulation)
	}
	return nil
}

// checkVolume refuses what no machine holds, before it overflows a sum.
func (c *Config) checkVolume() error {
	m := &c.Model
	b, s, f := float64(c.Batch), float64(max(c.Seq, c.TargetSeq, m.patches()+1)), float64(m.ffn()+m.SharedFFN+m.ActiveExperts*m.expertFFN())
	q := float64(m.Heads*m.headDim() + m.Hidden)
	layers := float64(m.Layers + m.decoderLayers())
	scores := 0.0
	if c.Attention == Eager || m.Arch == T5 {
		scores = float64(m.Heads) * s
	}
	matrices := float64(m.Hidden)*(4*q+3*f) + float64(m.Experts)*float64(m.Hidden)*float64(m.expertFFN())*3
	volume := 24*(layers*matrices+float64(m.Vocab)*float64(m.Hidden)+float64(m.Params)) + 40*b*s*(layers*(q+f+scores)+float64(m.Vocab))
	if volume > 1<<60 {
		return fmt.Errorf("layers: a step of this takes an exabyte; lower layers, hidden, batch %d or seq %d", c.Batch, c.Seq)
	}
	return nil
}

func (c *Config) checkParallel() error {
	m := &c.Model
	groups := c.Tensor * c.Pipeline * c.Context
	switch {
	case c.ZeRO > 3:
		return fmt.Errorf("zero: %d; stages are 0 (nothing is divided), 1 (optimizer state), 2 (and gradients), 3 (and parameters)", c.ZeRO)
	case c.GPUs%groups != 0:
		return fmt.Errorf("gpus: %d cannot be divided into groups of tensor %d × pipeline %d × context %d = %d", c.GPUs, c.Tensor, c.Pipeline, c.Context, groups)
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
