package budget

import "strconv"

// A Param is one parameter tensor, or with Params alone all of them as one.
type Param struct {
	Name   string
	Shape  shape
	Layer  int  // −1 outside of the blocks; decoder layers of T5 follow those of the encoder
	Split  bool // tensor parallelism divides it
	Expert bool // expert parallelism divides it
}

// Count is the number of its elements.
func (p *Param) Count() int64 { return p.Shape.elements() }

// ParamCount is the exact number of parameters.
func (m *Model) ParamCount() (n int64) {
	for _, p := range m.ParamList() {
		n += p.Count()
	}
	return n
}

// ParamList lists the parameters in the order in which the model registers
// them. The shapes are those of the published implementations.
func (m *Model) ParamList() []Param {
	if !m.sized() {
		return []Param{{Name: "parameters", Shape: shape{{"P", m.Params}}, Layer: -1, Split: true}}
	}
	b := &paramBuilder{m: m, d: m.dims(), layer: -1}
	b.embeddings()
	for i := range m.Layers {
		b.layer = int(i)
		b.block(i, false)
	}
	if m.Arch == T5 {
		b.layer = -1
		b.norm("encoder.final_norm", b.d.h)
		for i := range m.decoderLayers() {
			b.layer = int(m.Layers + i)
			b.block(i, true)
		}
	}
	b.layer = -1
	if m.FinalNorm {
		b.norm("final_norm", b.d.h)
	}
	b.head()
	return b.list
}

// A paramBuilder collects the parameters of a model.
type paramBuilder struct {
	m     *Model
	d     modelDims
	layer int
	list  []Param
}

func (b *paramBuilder) add(name string, split bool, dims ...dim) {
	if b.layer >= 0 {
		name = "blocks." + strconv.Itoa(b.layer) + "." + name
	}
	b.list = append(b.list, Param{Name: name, Shape: dims, Layer: b.layer, Split: split})
}

// linear adds a matrix of out×in and its bias. What an output dimension is cut
// along has its bias cut too; a cut input leaves the bias whole.
func (b *paramBuilder) linear(name string, out, in dim, bias bool, cut cutting) {
	b.add(name+".weight", cut != uncut, out, in)
	if bias {
		b.add(name+".bias", cut == columns, out)
	}
}

// cutting is how tensor parallelism divides a matrix (Megatron-LM).
type cutting int

const (
	uncut cutting = iota
	columns
	rows
)

func (b *paramBuilder) norm(name string, width dim) {
	b.add(name+".weight", false, width)
	if b.m.NormBias && !b.m.RMSNorm {
		b.add(name+".bias", false, width)
	}
}

func (b *paramBuilder) embeddings() {
	m, d := b.m, b.d
	if m.Arch == ViT {
		b.add("class_token", false, d.h)
		b.add("positions", false, dim{"n+1", m.patches() + 1}, d.h)
		b.add("patches.weight", false, d.h, dim{"c", m.Channels}, dim{"p", m.Patch}, dim{"p", m.Patch})
		b.add("patches.bias", false, d.h)
		return
	}
	b.add("tokens.weight", true, d.v, d.e)
	if d.e != d.h {
		b.linear("project_in", d.h, d.e, false, uncut)
		b.linear("project_out", d.e, d.h, false, uncut)
	}
	if m.Positions != 0 {
		b.add("positions.weight", false, dim{"n", m.Positions}, d.h)
	}
	if m.TokenTypes != 0 {
		b.add("token_types.weight", false, dim{"types", m.TokenTypes}, d.h)
	}
	if m.EmbedNorm {
		b.norm("embedding_norm", d.h)
	}
}

// block adds one block; i counts within its stack.
func (b *paramBuilder) block(i int64, decoder bool) {
	m, h := b.m, b.d.h
	if m.PostNorm {
		b.attention("attention", i)
		b.norm("attention_norm", h)
		b.mlp(i)
		b.norm("mlp_norm", h)
		return
	}
	b.norm("attention_norm", h)
	b.attention("attention", i)
	if m.normsPerBlock() == 4 {
		b.norm("attention_out_norm", h)
	}
	if decoder {
		b.norm("cross_norm", h)
		b.attention("cross", 1)
	}
	if m.normsPerBlock() > 1 {
		b.norm("mlp_norm", h)
	}
	b.mlp(i)
	if m.normsPerBlock() == 4 {
		b.norm("mlp_out_norm", h)
	}
}

func (b *paramBuilder) attention(name string, i int64) {
	m, d := b.m, b.d
	if m.KVRank != 0 {
		b.latentAttention(name)
		return
	}
	if m.FusedQKV {
		b.linear(name+".qkv", d.qkv, d.h, m.QKVBias, columns)
	} else {
		b.linear(name+".query", d.q, d.h, m.QKVBias, columns)
		b.linear(name+".key", d.kv, d.h, m.QKVBias, columns)
		b.linear(name+".value", d.kv, d.h, m.QKVBias, columns)
	}
	b.linear(name+".out", d.h, d.q, m.OutBias, rows)
	if m.RelativeBuckets != 0 && i == 0 {
		b.add(name+".relative_bias", true, dim{"buckets", m.RelativeBuckets}, d.a)
	}
	switch m.QKNorm {
	case HeadQKNorm:
		b.add(name+".query_norm.weight", false, d.d)
		b.add(name+".key_norm.weight", false, d.d)
	case FullQKNorm:
		b.add(name+".query_norm.weight", false, d.q)
		b.add(name+".key_norm.weight", false, d.kv)
	}
}

// latentAttention adds multi-head latent attention (DeepSeek-V2, arXiv
// 2405.04434, section 2.1).
func (b *paramBuilder) latentAttention(name string) {
	m, d := b.m, b.d
	query := dim{"a·(dn+dr)", m.Heads * (m.NopeDim + m.RopeDim)}
	if m.QueryRank != 0 {
		rank := dim{"rq", m.QueryRank}
		b.linear(name+".query_down", rank, d.h, m.QKVBias, uncut)
		b.norm(name+".query_norm", rank)
		b.linear(name+".query_up", query, rank, false, columns)
	} else {
		b.linear(name+".query", query, d.h, false, columns)
	}
	rank := dim{"rkv", m.KVRank}
	b.linear(name+".kv_down", dim{"(rkv+dr)", m.KVRank + m.RopeDim}, d.h, m.QKVBias, uncut)
	b.norm(name+".kv_norm", rank)
	b.linear(name+".kv_up", dim{"a·(dn+dv)", m.Heads * (m.NopeDim + m.ValueDim)}, rank, false, columns)
	b.linear(name+".out", d.h, dim{"a·dv", m.Heads * m.ValueDim}, m.OutBias, rows)
}

func (b *paramBuilder) mlp(i int64) {
	m, d := b.m, b.d
	if m.Experts == 0 || i < m.DenseLayers {
		b.dense("mlp", d.f, m.MLPBias)
		return
	}
	b.add("router.weight", false, d.experts, d.h)
	up := d.fe
	if m.Gated {
		up = dim{"2" + d.fe.symbol, 2 * d.fe.n}
	}
	from := len(b.list)
	b.add("experts.up", true, d.experts, up, d.h)
	b.add("experts.down", true, d.experts, d.h, d.fe)
	for k := from; k < len(b.list); k++ {
		b.list[k].Expert = true
	}
	if m.SharedFFN != 0 {
		b.dense("shared", dim{"fs", m.SharedFFN}, m.MLPBias)
	}
	if m.SharedGate {
		b.add("shared_gate.weight", false, dim{"1", 1}, d.h)
	}
}

func (b *paramBuilder) dense(name string, width dim, bias bool) {
	if b.m.Gated {
		b.linear(name+".gate", width, b.d.h, bias, columns)
	}
	b.linear(name+".up", width, b.d.h, bias, columns)
	b.linear(name+".down", b.d.h, width, bias, rows)
}

func (b *paramBuilder) head() {
	m, d := b.m, b.d
	if m.Pooler {
		b.linear("pooler", d.h, d.h, true, uncut)
	}
	switch m.Head {
	case LMHead:
		b.output()
	case MLMHead:
		if m.HeadBias {
			b.add("head.bias", true, d.v)
		}
		b.linear("head.dense", d.h, d.h, true, uncut)
		b.norm("head.norm", d.h)
		if !m.Tied {
			b.add("head.weight", true, d.v, d.h)
		}
	case ClassHead:
		b.linear("classifier", dim{"labels", m.Labels}, d.h, !m.decodes(), uncut)
	}
}

func (b *paramBuilder) output() {
	if !b.m.Tied {
		b.add("head.weight", true, b.d.v, b.d.e)
	}
	if b.m.HeadBias {
		b.add("head.bias", true, b.d.v)
	}
}

// modelDims are the dimensions of a model under the symbols of formulas.
type modelDims struct {
	h, v, e    dim // width, vocabulary, width of the embedding
	a, g, d    dim // heads, key and value heads, width of a head
	q, kv, qkv dim
	f, fe      dim // width of the MLP and of an expert
	experts    dim
}

func (m *Model) dims() modelDims {
	w := modelDims{
		h: dim{"h", m.Hidden}, v: dim{"V", m.Vocab},
		a: dim{"a", m.Heads}, g: dim{"g", m.kvHeads()}, d: dim{"d", m.headDim()},
		f: dim{"f", m.ffn()}, fe: dim{"fe", m.expertFFN()}, experts: dim{"E", m.Experts},
	}
	w.e = w.h
	if m.EmbedDim != 0 && m.EmbedDim != m.Hidden {
		w.e = dim{"e", m.EmbedDim}
	}
	w.q, w.kv = dim{"a·d", m.queryWidth()}, dim{"g·d", m.kvWidth()}
	if w.q.n == w.h.n {
		w.q.symbol = "h"
	}
	switch {
	case w.kv.n == w.q.n:
		w.kv.symbol = w.q.symbol
		w.qkv = dim{"3" + w.q.symbol, 3 * w.q.n}
	default:
		w.qkv = dim{"(a+2g)·d", w.q.n + 2*w.kv.n}
	}
	return w
}
