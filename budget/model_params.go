package budget

import "strconv"

// A Param is one parameter tensor, or with Params alone all of them as one.
type Param struct {
	Name   string
	Shape  []int64
	Layer  int  // −1 outside of the blocks; decoder layers of T5 follow those of the encoder
	Split  bool // tensor parallelism divides it
	Expert bool // expert parallelism divides it
}

// Count is the number of its elements.
func (p *Param) Count() int64 {
	n := int64(1)
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

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
		return []Param{{Name: "parameters", Shape: []int64{m.Params}, Layer: -1, Split: true}}
	}
	b := &paramBuilder{m: m, layer: -1}
	b.embeddings()
	for i := range m.Layers {
		b.layer = int(i)
		b.block(i, false)
	}
	if m.Arch == T5 {
		b.layer = -1
		b.norm("encoder.final_norm", m.Hidden)
		for i := range m.decoderLayers() {
			b.layer = int(m.Layers + i)
			b.block(i, true)
		}
	}
	b.layer = -1
	if m.FinalNorm {
		b.norm("final_norm", m.Hidden)
	}
	b.head()
	return b.list
}

// A paramBuilder collects the parameters of a model.
type paramBuilder struct {
	m     *Model
	layer int
	list  []Param
}

func (b *paramBuilder) add(name string, split bool, shape ...int64) {
	if b.layer >= 0 {
		name = "blocks." + strconv.Itoa(b.layer) + "." + name
	}
	b.list = append(b.list, Param{Name: name, Shape: shape, Layer: b.layer, Split: split})
}

// linear adds a matrix of out×in and its bias. What an output dimension is cut
// along has its bias cut too; a cut input leaves the bias whole.
func (b *paramBuilder) linear(name string, out, in int64, bias bool, cut cutting) {
	b.add(name+".weight", cut != whole, out, in)
	if bias {
		b.add(name+".bias", cut == columns, out)
	}
}

// cutting is how tensor parallelism divides a matrix (Megatron-LM).
type cutting int

const (
	whole cutting = iota
	columns
	rows
)

func (b *paramBuilder) norm(name string, width int64) {
	b.add(name+".weight", false, width)
	if b.m.NormBias {
		b.add(name+".bias", false, width)
	}
}

func (b *paramBuilder) embeddings() {
	m := b.m
	if m.Arch == ViT {
		b.add("class_token", false, 1, 1, m.Hidden)
		b.add("positions", false, 1, m.patches()+1, m.Hidden)
		b.add("patches.weight", false, m.Hidden, m.Channels, m.Patch, m.Patch)
		b.add("patches.bias", false, m.Hidden)
		return
	}
	width := or(m.EmbedDim, m.Hidden)
	b.add("tokens.weight", true, m.Vocab, width)
	if width != m.Hidden {
		b.linear("project_in", m.Hidden, width, false, whole)
		b.linear("project_out", width, m.Hidden, false, whole)
	}
	if m.Positions != 0 {
		b.add("positions.weight", false, m.Positions, m.Hidden)
	}
	if m.TokenTypes != 0 {
		b.add("token_types.weight", false, m.TokenTypes, m.Hidden)
	}
	if m.EmbedNorm {
		b.norm("embedding_norm", m.Hidden)
	}
}

// block adds one block; i counts within its stack.
func (b *paramBuilder) block(i int64, decoder bool) {
	m := b.m
	if m.PostNorm {
		b.attention("attention", i, decoder)
		b.norm("attention_norm", m.Hidden)
		b.mlp(i)
		b.norm("mlp_norm", m.Hidden)
		return
	}
	b.norm("attention_norm", m.Hidden)
	b.attention("attention", i, decoder)
	if m.normsPerBlock() == 4 {
		b.norm("attention_out_norm", m.Hidden)
	}
	if decoder {
		b.norm("cross_norm", m.Hidden)
		b.attention("cross", 1, decoder)
	}
	if m.normsPerBlock() > 1 {
		b.norm("mlp_norm", m.Hidden)
	}
	b.mlp(i)
	if m.normsPerBlock() == 4 {
		b.norm("mlp_out_norm", m.Hidden)
	}
}

func (b *paramBuilder) attention(name string, i int64, decoder bool) {
	m := b.m
	if m.KVRank != 0 {
		b.latentAttention(name)
		return
	}
	switch q, kv := m.queryWidth(), m.kvWidth(); {
	case m.FusedQKV:
		b.linear(name+".qkv", q+2*kv, m.Hidden, m.QKVBias, columns)
	default:
		b.linear(name+".query", q, m.Hidden, m.QKVBias, columns)
		b.linear(name+".key", kv, m.Hidden, m.QKVBias, columns)
		b.linear(name+".value", kv, m.Hidden, m.QKVBias, columns)
	}
	b.linear(name+".out", m.Hidden, m.queryWidth(), m.OutBias, rows)
	if m.RelativeBuckets != 0 && i == 0 {
		b.add(name+".relative_bias", true, m.RelativeBuckets, m.Heads)
	}
	switch m.QKNorm {
	case HeadQKNorm:
		b.add(name+".query_norm", false, m.headDim())
		b.add(name+".key_norm", false, m.headDim())
	case FullQKNorm:
		b.add(name+".query_norm", false, m.queryWidth())
		b.add(name+".key_norm", false, m.kvWidth())
	}
}

// latentAttention adds multi-head latent attention (DeepSeek-V2, arXiv
// 2405.04434, section 2.1).
func (b *paramBuilder) latentAttention(name string) {
	m := b.m
	query := m.Heads * (m.NopeDim + m.RopeDim)
	if m.QueryRank != 0 {
		b.linear(name+".query_down", m.QueryRank, m.Hidden, m.QKVBias, whole)
		b.norm(name+".query_norm", m.QueryRank)
		b.linear(name+".query_up", query, m.QueryRank, false, columns)
	} else {
		b.linear(name+".query", query, m.Hidden, false, columns)
	}
	b.linear(name+".kv_down", m.KVRank+m.RopeDim, m.Hidden, m.QKVBias, whole)
	b.norm(name+".kv_norm", m.KVRank)
	b.linear(name+".kv_up", m.Heads*(m.NopeDim+m.ValueDim), m.KVRank, false, columns)
	b.linear(name+".out", m.Hidden, m.Heads*m.ValueDim, m.OutBias, rows)
}

func (b *paramBuilder) mlp(i int64) {
	m := b.m
	if m.Experts == 0 || i < m.DenseLayers {
		b.dense("mlp", m.ffn(), m.MLPBias)
		return
	}
	b.add("router.weight", false, m.Experts, m.Hidden)
	width := m.expertFFN()
	up := width
	if m.Gated {
		up *= 2
	}
	from := len(b.list)
	b.add("experts.up", true, m.Experts, up, m.Hidden)
	b.add("experts.down", true, m.Experts, m.Hidden, width)
	for k := from; k < len(b.list); k++ {
		b.list[k].Expert = true
	}
	if m.SharedFFN != 0 {
		b.dense("shared", m.SharedFFN, m.MLPBias)
	}
	if m.SharedGate {
		b.add("shared_gate.weight", false, 1, m.Hidden)
	}
}

func (b *paramBuilder) dense(name string, width int64, bias bool) {
	if b.m.Gated {
		b.linear(name+".gate", width, b.m.Hidden, bias, columns)
	}
	b.linear(name+".up", width, b.m.Hidden, bias, columns)
	b.linear(name+".down", b.m.Hidden, width, bias, rows)
}

func (b *paramBuilder) head() {
	m := b.m
	if m.Pooler {
		b.linear("pooler", m.Hidden, m.Hidden, true, whole)
	}
	switch m.Head {
	case LMHead:
		b.output()
	case MLMHead:
		if m.HeadBias {
			b.add("head.output_bias", true, m.Vocab)
		}
		b.linear("head.dense", m.Hidden, m.Hidden, true, whole)
		b.norm("head.norm", m.Hidden)
		if !m.Tied {
			b.add("head.weight", true, m.Vocab, m.Hidden)
		}
	case ClassHead:
		b.linear("classifier", m.Labels, m.Hidden, true, whole)
	}
}

func (b *paramBuilder) output() {
	m := b.m
	if !m.Tied {
		b.add("head.weight", true, m.Vocab, or(m.EmbedDim, m.Hidden))
	}
	if m.HeadBias {
		b.add("head.bias", true, m.Vocab)
	}
}
