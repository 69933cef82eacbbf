package budget

// An Arch is a family of models that share the order of their operations.
type Arch string

// Architectures.
const (
	GPT   Arch = "gpt"   // decoder, LayerNorm: GPT-2, OPT, GPT-NeoX, Phi
	Llama Arch = "llama" // decoder, RMSNorm, rotary positions, gated MLP: Llama, Mistral, Mixtral, Qwen, Gemma, DeepSeek
	BERT  Arch = "bert"  // encoder, LayerNorm behind each residual
	T5    Arch = "t5"    // encoder and decoder, RMSNorm, relative positions
	ViT   Arch = "vit"   // encoder over image patches
)

// A Head is what follows the last block.
type Head string

// Heads.
const (
	LMHead    Head = "lm"         // logits over the vocabulary
	MLMHead   Head = "mlm"        // a dense layer, LayerNorm, and logits over the vocabulary
	ClassHead Head = "classifier" // Labels logits of the first token
	NoHead    Head = "none"
)

// A Style is whose code runs the model: it decides what is kept and copied.
type Style string

// Styles.
const (
	PlainStyle Style = "plain"        // written plainly in PyTorch, with its built-in functions
	HFStyle    Style = "transformers" // as Hugging Face transformers writes it
)

// QKNorm is whether queries and keys are normalised.
type QKNorm string

// Norms of queries and keys.
const (
	NoQKNorm   QKNorm = "none"
	HeadQKNorm QKNorm = "head" // over the width of a head, as in Qwen3 and Gemma 3
	FullQKNorm QKNorm = "full" // over all heads, as in OLMo 2
)

// A Model is an architecture. Zero in a number means: as usual, see the methods.
type Model struct {
	Name  string // of a known model or of the file; "" for one's own
	Arch  Arch
	Style Style

	// Params is the number of parameters of a model of which nothing else is
	// known. Beside an architecture it only decides whether the output layer is
	// tied to the embedding.
	Params int64

	Layers        int64
	DecoderLayers int64 // of T5; 0 for Layers
	Hidden        int64
	Heads         int64
	KVHeads       int64 // 0 for Heads
	HeadDim       int64 // 0 for Hidden/Heads
	FFN           int64 // width of the MLP
	Vocab         int64
	Positions     int64 // rows of a learned position embedding
	TokenTypes    int64
	EmbedDim      int64 // width of the token embedding; 0 for Hidden

	Tied          bool // one matrix for embedding and output
	Rotary        bool // positions by rotation of queries and keys
	QKVBias       bool
	OutBias       bool // of the attention's output projection
	MLPBias       bool
	HeadBias      bool
	FusedQKV      bool // one matrix for queries, keys and values
	RMSNorm       bool
	NormBias      bool
	EmbedNorm     bool
	FinalNorm     bool
	PostNorm      bool  // norms behind the residual, as in BERT
	NormsPerBlock int64 // 0 for 2; 1 where attention and MLP share one, 4 in Gemma 2
	Parallel      bool  // attention and MLP side by side, as in GPT-NeoX and Phi
	QKNorm        QKNorm
	Activation    string // gelu, gelu_new, relu, silu
	Gated         bool   // gate and up projections, as in SwiGLU

	Experts       int64 // of a layer; 0 for a dense MLP
	ActiveExperts int64 // per token
	ExpertFFN     int64 // 0 for FFN
	SharedFFN     int64 // width of the experts that every token passes
	SharedGate    bool
	DenseLayers   int64 // first layers without experts

	QueryRank int64 // of multi-head latent attention; 0 for a full query projection
	KVRank    int64 // of multi-head latent attention; 0 for plain attention
	NopeDim   int64
	RopeDim   int64
	ValueDim  int64

	NormOffset bool // norms multiply with 1 + their weights, as in Gemma
	Softcap    bool // scores and logits pass a tanh, as in Gemma 2

	Dropout          float64 // of hidden states and embeddings
	AttentionDropout float64

	RelativeBuckets int64 // of T5
	Pooler          bool
	Head            Head
	Labels          int64

	assumedHead bool  // the config.json names no class
	stored      DType // of the weights by the config.json; "" when it does not say

	Image    int64 // pixels a side
	Patch    int64 // pixels a side
	Channels int64
}

// withArch returns m with what is usual for its architecture.
func (m Model) withArch() Model {
	m.FinalNorm, m.Rotary, m.Tied, m.Gated, m.RMSNorm, m.PostNorm, m.FusedQKV = true, false, false, false, false, false, false
	m.NormBias, m.QKVBias, m.OutBias, m.MLPBias = true, true, true, true
	m.EmbedNorm, m.Pooler, m.HeadBias, m.Parallel = false, false, false, false
	m.Activation, m.QKNorm, m.Head = "gelu", NoQKNorm, LMHead
	m.TokenTypes, m.RelativeBuckets = 0, 0
	switch m.Arch {
	case GPT:
		m.FusedQKV = true
	case Llama:
		m.RMSNorm, m.Rotary, m.Gated, m.Activation = true, true, true, "silu"
		m.NormBias, m.QKVBias, m.OutBias, m.MLPBias = false, false, false, false
	case BERT:
		m.PostNorm, m.EmbedNorm, m.FinalNorm, m.Head, m.HeadBias, m.Tied = true, true, false, MLMHead, true, true
		m.TokenTypes = 2
	case T5:
		m.RMSNorm, m.Activation, m.Tied = true, "relu", true
		m.NormBias, m.QKVBias, m.OutBias, m.MLPBias = false, false, false, false
		m.RelativeBuckets = 32
	case ViT:
		m.Head, m.Image, m.Patch, m.Channels, m.Labels = ClassHead, 224, 16, 3, 1000
	}
	return m
}

// The widths of a model, where zero means the usual one.

func (m *Model) kvHeads() int64 { return or(m.KVHeads, m.Heads) }

func (m *Model) headDim() int64 {
	if m.HeadDim != 0 || m.Heads == 0 {
		return m.HeadDim
	}
	return m.Hidden / m.Heads
}

func (m *Model) queryWidth() int64 { return m.Heads * m.headDim() }
func (m *Model) kvWidth() int64    { return m.kvHeads() * m.headDim() }

// ffn is four times the width, or for gated MLPs two thirds of that, which
// leaves the number of weights (GLU Variants, arXiv 2002.05202), in steps of
// 256 as Llama rounds it.
func (m *Model) ffn() int64 {
	switch {
	case m.FFN != 0:
		return m.FFN
	case m.Gated:
		return (m.Hidden*8/3 + 255) / 256 * 256
	}
	return 4 * m.Hidden
}

func (m *Model) expertFFN() int64     { return or(m.ExpertFFN, m.ffn()) }
func (m *Model) decoderLayers() int64 { return or(m.DecoderLayers, m.Layers) }
func (m *Model) normsPerBlock() int64 { return or(m.NormsPerBlock, 2) }

// style is whose code runs the model, the usual one where that is not said.
func (m *Model) style() Style {
	switch {
	case m.Style != "":
		return m.Style
	case m.Arch == GPT:
		return PlainStyle
	}
	return HFStyle
}

// decodes reports whether a token sees only those before it.
func (m *Model) decodes() bool { return m.Arch == GPT || m.Arch == Llama }

// patches is how many patches an image has; the class token comes on top.
func (m *Model) patches() int64 {
	if m.Patch == 0 {
		return 0
	}
	side := m.Image / m.Patch
	return side * side
}

// sized reports whether the architecture is known, not only a number of
// parameters.
func (m *Model) sized() bool { return m.Layers != 0 || m.Hidden != 0 || m.Params == 0 }

func or(n, otherwise int64) int64 {
	if n != 0 {
		return n
	}
	return otherwise
}
