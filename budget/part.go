package budget

import (
	"strconv"
	"strings"
)

// An ownPart is what one GPU has of a job: with tensor parallelism a part of each
// matrix and of the heads (Megatron-LM), with pipeline parallelism some blocks,
// with context parallelism a part of each sequence, with expert parallelism some
// experts.
type ownPart struct {
	c           *Config
	stage       int64
	first, last int64 // blocks, the latter excluded
	inFlight    int64 // micro-batches whose forward has run and whose backward has not
}

// dataParallel is how many GPUs share nothing but the weights' update.
func (c *Config) dataParallel() int64 { return c.GPUs / (c.Tensor * c.Pipeline * c.Context) }

// shards is how many GPUs ZeRO divides something among.
func (c *Config) shards() int64 { return c.dataParallel() * c.Context }

// seq is the number of tokens that blocks see.
func (c *Config) seq() int64 {
	if c.Model.Arch == ViT {
		return c.Model.patches() + 1
	}
	return c.Seq
}

func (c *Config) part(stage int64) ownPart {
	layers := c.Model.Layers
	if c.Model.Arch == T5 {
		layers += c.Model.decoderLayers()
	}
	s := ownPart{c: c, stage: stage, last: layers, inFlight: 1}
	if c.Pipeline > 1 {
		each := ceilDiv(layers, c.Pipeline)
		s.first, s.last = min(stage*each, layers), min((stage+1)*each, layers)
		// One forward, one backward: stage i runs ahead by the stages behind it.
		s.inFlight = min(c.Pipeline-stage, or(c.Microbatch, c.Accumulation))
	}
	return s
}

func (s *ownPart) embeds() bool { return s.stage == 0 }
func (s *ownPart) ends() bool   { return s.stage == s.c.Pipeline-1 }

// holds reports whether the GPU has a parameter at all. A tied embedding is
// needed at both ends of a pipeline.
func (s *ownPart) holds(p *Param, m *Model) bool {
	switch {
	case p.Layer >= 0:
		return int64(p.Layer) >= s.first && int64(p.Layer) < s.last
	case s.c.Pipeline == 1:
		return true
	case p.Name == "tokens.weight" && m.Tied:
		return s.embeds() || s.ends()
	case strings.HasPrefix(p.Name, "head") || strings.HasPrefix(p.Name, "final_norm") || strings.HasPrefix(p.Name, "project_out") ||
		strings.HasPrefix(p.Name, "pooler") || strings.HasPrefix(p.Name, "classifier"):
		return s.ends()
	}
	return s.embeds()
}

// shape is the GPU's part of a parameter.
func (s *ownPart) shape(p *Param) shape {
	own := append(shape(nil), p.Shape...)
	if p.Expert && s.c.Expert > 1 {
		own[0] = divided(own[0], "ep", s.c.Expert)
	}
	if p.Split && s.c.Tensor > 1 {
		i := 0
		if p.Expert {
			i = 1
		}
		own[i] = divided(own[i], "t", s.c.Tensor)
	}
	return own
}

// dims are the dimensions of activations on the GPU.
func (s *ownPart) dims(d modelDims) modelDims {
	t := s.c.Tensor
	if t == 1 {
		return d
	}
	for _, x := range []*dim{&d.v, &d.a, &d.q, &d.f, &d.fe} {
		*x = divided(*x, "t", t)
	}
	d.g = divided(d.g, "t", t)
	d.kv = divided(d.kv, "t", t)
	d.qkv = divided(d.qkv, "t", t)
	return d
}

// tokens is a length of a sequence on the GPU.
func (s *ownPart) tokens(symbol string, n int64) dim {
	return divided(dim{symbol, n}, "cp", s.c.Context)
}

// divided is a dimension shared among n GPUs.
func divided(d dim, symbol string, n int64) dim {
	if n == 1 || d.n == 0 {
		return d
	}
	if strings.ContainsAny(d.symbol, "+") && !strings.HasPrefix(d.symbol, "(") {
		d.symbol = "(" + d.symbol + ")"
	}
	return dim{d.symbol + "/" + symbol, ceilDiv(d.n, n)}
}

// groupOf names the line of a ledger that counts a parameter.
func groupOf(p *Param) string {
	name := p.Name
	if p.Layer >= 0 {
		name = name[strings.IndexByte(name, '.')+1:]
		name = strings.TrimPrefix(name, strconv.Itoa(p.Layer)+".")
	}
	part, _, _ := strings.Cut(name, ".")
	switch {
	case strings.Contains(part, "norm"):
		return "weights of norms"
	case part == "attention" || part == "cross":
		return "weights of attention"
	case part == "mlp" || part == "shared":
		return "weights of MLPs"
	case part == "experts" || part == "router" || part == "shared_gate":
		return "weights of experts"
	case part == "parameters":
		return "weights"
	case part == "head" || part == "classifier" || part == "pooler":
		return "weights of the output layer"
	}
	return "weights of embeddings"
}
