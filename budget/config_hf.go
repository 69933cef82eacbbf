package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A hfFile is the config.json of a Hugging Face model. It has many keys that say
// nothing about memory; those that this package reads are checked.
type hfFile struct {
	*fields
	kind string
}

// isHF reports whether a mapping is such a file.
func isHF(f *fields) bool {
	n, ok := f.values["model_type"]
	_, err := n.textIf(ok)
	return ok && err == nil
}

func (n node) textIf(ok bool) (string, error) {
	if !ok {
		return "", nil
	}
	return n.text()
}

// hfModels read what differs from one kind of model to the next.
var hfModels = map[string]func(*hfFile) Model{
	"gpt2": (*hfFile).gpt2, "opt": (*hfFile).opt, "gpt_neox": (*hfFile).neox, "phi": (*hfFile).phi, "gptj": (*hfFile).gptj, "bloom": (*hfFile).bloom,
	"llama": (*hfFile).llama, "mistral": (*hfFile).llama, "mixtral": (*hfFile).mixtral, "phi3": (*hfFile).llama,
	"qwen2": (*hfFile).qwen2, "qwen3": (*hfFile).qwen3, "qwen2_moe": (*hfFile).qwen2Moe, "qwen3_moe": (*hfFile).qwen3Moe, "olmo2": (*hfFile).olmo2,
	"gemma": (*hfFile).gemma, "gemma2": (*hfFile).gemma2, "gemma3_text": (*hfFile).gemma3,
	"deepseek_v2": (*hfFile).deepseek, "deepseek_v3": (*hfFile).deepseek,
	"bert": (*hfFile).bert, "roberta": (*hfFile).roberta, "xlm-roberta": (*hfFile).roberta, "camembert": (*hfFile).roberta, "distilbert": (*hfFile).distilbert,
	"t5": (*hfFile).t5, "mt5": (*hfFile).t5, "vit": (*hfFile).vit,
}

// readHF reads the model out of a config.json.
func readHF(f *fields) (Model, error) {
	h := &hfFile{fields: f}
	h.kind, _ = h.values["model_type"].text()
	read, ok := hfModels[h.kind]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(hfModels)), ", ")
		return Model{}, f.values["model_type"].errorf("model_type: %s is not known here (known are %s); give its sizes as layers, hidden, heads, ffn and vocab", quote(h.kind), known)
	}
	m := read(h)
	m.Style = HFStyle
	if m.decodes() {
		if m.Head = h.head(LMHead); m.Head == ClassHead {
			m.Labels = h.labels()
		}
	}
	named, ok := h.values["architectures"]
	m.assumedHead = !ok || named.kind() == "nothing"
	m.stored = storedTypes[h.word("dtype", h.word("torch_dtype", ""))]
	if m.Name == "" {
		m.Name = h.kind
	}
	if name := h.word("_name_or_path", ""); name != "" {
		m.Name = name
	}
	return m, h.err
}

// storedTypes are types of weights by the names that PyTorch has for them.
var storedTypes = map[string]DType{"bfloat16": B16, "float16": F16, "float32": F32}

// need reads a number that must be there.
func (h *hfFile) need(key string) int64 {
	if _, ok := h.values[key]; !ok {
		h.fail(h.errorf("%s: not given, and model_type %s needs it", key, h.kind))
		return 0
	}
	return h.number(key, 0)
}

// number reads a number, otherwise when the key is missing or null.
func (h *hfFile) number(key string, otherwise int64) int64 {
	n, ok := h.values[key]
	if !ok || n.kind() == "nothing" {
		return otherwise
	}
	text, err := n.text()
	if err == nil {
		var v int64
		if v, err = ParseCount(text); err == nil && (v < 0 || v > mostOfAny) {
			err = fmt.Errorf("%s is out of range", text)
		}
		if err == nil {
			return v
		}
	}
	h.fail(n.errorf("%s: %w", key, err))
	return otherwise
}

// share reads a probability.
func (h *hfFile) share(key string, otherwise float64) float64 {
	n, ok := h.values[key]
	if !ok || n.kind() == "nothing" {
		return otherwise
	}
	text, err := n.text()
	if err == nil {
		var v float64
		if v, err = parseShare(text); err == nil {
			return v
		}
	}
	h.fail(n.errorf("%s: %w", key, err))
	return otherwise
}

func (h *hfFile) word(key, otherwise string) string {
	n, ok := h.values[key]
	if !ok || n.kind() == "nothing" {
		return otherwise
	}
	text, err := n.text()
	if err != nil {
		return otherwise
	}
	return text
}

func (h *hfFile) flag(key string, otherwise bool) bool {
	n, ok := h.values[key]
	if !ok || n.kind() == "nothing" {
		return otherwise
	}
	v, err := n.flag()
	if err != nil {
		h.fail(underKey(key, err))
		return otherwise
	}
	return v
}

// act is the function of the MLP by the name that transformers gives it.
func (h *hfFile) act(key, otherwise string) string {
	name := h.word(key, otherwise)
	s, _ := setting("activation")
	w, err := s.word(name)
	if err != nil {
		h.fail(h.values[key].errorf("%s: %w", key, err))
		return "gelu"
	}
	return w
}

// head is the part after the blocks, by the name of the class.
func (h *hfFile) head(otherwise Head) Head {
	n, ok := h.values["architectures"]
	if !ok || n.kind() == "nothing" {
		return otherwise
	}
	list, err := n.list()
	if err != nil || len(list) == 0 {
		return otherwise
	}
	name, _ := list[0].text()
	switch {
	case strings.HasSuffix(name, "ForMaskedLM"), strings.HasSuffix(name, "ForPreTraining"):
		return MLMHead
	case strings.Contains(name, "Classification"):
		return ClassHead
	case strings.HasSuffix(name, "LMHeadModel"), strings.Contains(name, "ForCausalLM"), strings.HasSuffix(name, "ForConditionalGeneration"):
		return LMHead
	case strings.HasSuffix(name, "Model"):
		return NoHead
	}
	return otherwise
}

// labels counts the classes: id2label lists them where num_labels does not.
func (h *hfFile) labels() int64 {
	if n, ok := h.values["id2label"]; ok {
		if f, err := n.fields("id2label"); err == nil {
			return int64(len(f.keys))
		}
	}
	return h.number("num_labels", 2)
}

func (h *hfFile) gpt2() Model {
	m := gpt2(h.need("n_layer"), h.need("n_embd"), h.need("n_head"))
	m.Vocab, m.Positions, m.FFN = h.number("vocab_size", 50257), h.number("n_positions", 1024), h.number("n_inner", 0)
	m.Activation, m.Tied = h.act("activation_function", "gelu_new"), h.flag("tie_word_embeddings", true)
	m.Dropout, m.AttentionDropout = h.share("resid_pdrop", 0.1), h.share("attn_pdrop", 0.1)
	return m
}

func (h *hfFile) opt() Model {
	m := opt(h.need("num_hidden_layers"), h.need("hidden_size"), h.need("num_attention_heads"))
	m.Vocab, m.Positions, m.FFN = h.number("vocab_size", 50272), h.number("max_position_embeddings", 2048)+2, h.number("ffn_dim", 0)
	m.EmbedDim = h.number("word_embed_proj_dim", 0)
	if m.EmbedDim == m.Hidden {
		m.EmbedDim = 0
	}
	m.PostNorm = !h.flag("do_layer_norm_before", true)
	m.FinalNorm = !m.PostNorm
	m.Activation, m.Tied = h.act("activation_function", "relu"), h.flag("tie_word_embeddings", true)
	m.Dropout, m.AttentionDropout = h.share("dropout", 0.1), h.share("attention_dropout", 0)
	return m
}

func (h *hfFile) neox() Model {
	m := neox(h.need("num_hidden_layers"), h.need("hidden_size"), h.need("num_attention_heads"), h.number("vocab_size", 50432))
	m.FFN, m.Parallel, m.Tied = h.number("intermediate_size", 0), h.flag("use_parallel_residual", true), h.flag("tie_word_embeddings", false)
	m.QKVBias = h.flag("attention_bias", true)
	m.OutBias = m.QKVBias
	m.Activation, m.Dropout, m.AttentionDropout = h.act("hidden_act", "gelu"), h.share("hidden_dropout", 0), h.share("attention_dropout", 0)
	return m
}

func (h *hfFile) phi() Model {
	m := phi2()
	m.Layers, m.Hidden, m.Heads = h.need("num_hidden_layers"), h.need("hidden_size"), h.need("num_attention_heads")
	m.Vocab, m.FFN, m.KVHeads = h.number("vocab_size", 51200), h.number("intermediate_size", 0), h.number("num_key_value_heads", 0)
	m.Activation, m.Dropout, m.AttentionDropout = h.act("hidden_act", "gelu_new"), h.share("resid_pdrop", 0), h.share("attention_dropout", 0)
	return m
}

func (h *hfFile) gptj() Model {
	m := Model{Arch: GPT, Layers: h.need("n_layer"), Hidden: h.need("n_embd"), Heads: h.need("n_head"), NormsPerBlock: 1}.withArch()
	m.Rotary, m.Parallel, m.FusedQKV, m.QKVBias, m.OutBias, m.HeadBias = true, true, false, false, false, true
	m.Vocab, m.FFN, m.Tied = h.number("vocab_size", 50400), h.number("n_inner", 0), h.flag("tie_word_embeddings", false)
	m.Activation, m.Dropout, m.AttentionDropout = h.act("activation_function", "gelu_new"), h.share("resid_pdrop", 0), h.share("attn_pdrop", 0)
	return m
}

func (h *hfFile) bloom() Model {
	m := Model{Arch: GPT, Layers: h.either("n_layer", "num_hidden_layers"), Hidden: h.either("hidden_size", "n_embed"), Heads: h.either("n_head", "num_attention_heads")}.withArch()
	m.EmbedNorm, m.Tied, m.Rotary = true, true, true // positions are slopes (ALiBi), which cost as little
	m.Vocab = h.number("vocab_size", 250880)
	m.Dropout, m.AttentionDropout = h.share("hidden_dropout", 0), h.share("attention_dropout", 0)
	return m
}

// either reads the first of two names of the same number.
func (h *hfFile) either(a, b string) int64 {
	if _, ok := h.values[a]; ok {
		return h.need(a)
	}
	return h.need(b)
}

func (h *hfFile) llama() Model {
	m := llama(h.need("num_hidden_layers"), h.need("hidden_size"), h.need("num_attention_heads"), h.number("num_key_value_heads", 0), h.need("intermediate_size"), h.need("vocab_size"))
	m.HeadDim, m.Tied = h.number("head_dim", 0), h.flag("tie_word_embeddings", false)
	m.QKVBias, m.MLPBias = h.flag("attention_bias", false), h.flag("mlp_bias", false)
	m.OutBias = m.QKVBias
	m.Activation, m.AttentionDropout = h.act("hidden_act", "silu"), h.share("attention_dropout", 0)
	return m
}

func (h *hfFile) mixtral() Model {
	m := h.llama()
	m.Experts, m.ActiveExperts = h.number("num_local_experts", 8), h.number("num_experts_per_tok", 2)
	return m
}

func (h *hfFile) qwen2() Model {
	m := h.llama()
	m.QKVBias, m.OutBias = true, false
	return m
}

func (h *hfFile) qwen3() Model {
	m := h.llama()
	m.QKNorm = HeadQKNorm
	return m
}

func (h *hfFile) qwen2Moe() Model {
	m := h.qwen2()
	m.Experts, m.ActiveExperts, m.ExpertFFN = h.number("num_experts", 60), h.number("num_experts_per_tok", 4), h.need("moe_intermediate_size")
	m.SharedFFN, m.SharedGate = h.number("shared_expert_intermediate_size", 0), true
	return m
}

func (h *hfFile) qwen3Moe() Model {
	m := h.qwen3()
	m.Experts, m.ActiveExperts, m.ExpertFFN = h.number("num_experts", 128), h.number("num_experts_per_tok", 8), h.need("moe_intermediate_size")
	return m
}

// olmo2 has norms behind attention and MLP only.
func (h *hfFile) olmo2() Model {
	m := h.llama()
	m.QKNorm = FullQKNorm
	return m
}

func (h *hfFile) gemma() Model {
	m := h.llama()
	m.Tied, m.NormOffset = h.flag("tie_word_embeddings", true), true
	m.Activation = h.act("hidden_activation", "gelu_pytorch_tanh")
	m.HeadDim = h.number("head_dim", 256)
	return m
}

func (h *hfFile) gemma2() Model {
	m := h.gemma()
	m.NormsPerBlock, m.Softcap = 4, true
	return m
}

func (h *hfFile) gemma3() Model {
	m := h.gemma()
	m.NormsPerBlock, m.QKNorm = 4, HeadQKNorm
	return m
}

func (h *hfFile) deepseek() Model {
	m := h.llama()
	m.HeadDim, m.KVHeads = 0, 0
	m.Experts, m.ActiveExperts, m.ExpertFFN = h.number("n_routed_experts", 0), h.number("num_experts_per_tok", 0), h.number("moe_intermediate_size", 0)
	m.SharedFFN, m.DenseLayers = h.number("n_shared_experts", 0)*m.ExpertFFN, h.number("first_k_dense_replace", 0)
	m.QueryRank, m.KVRank = h.number("q_lora_rank", 0), h.need("kv_lora_rank")
	m.NopeDim, m.RopeDim, m.ValueDim = h.need("qk_nope_head_dim"), h.need("qk_rope_head_dim"), h.need("v_head_dim")
	return m
}

func (h *hfFile) bert() Model {
	m := bert(h.need("num_hidden_layers"), h.need("hidden_size"), h.need("num_attention_heads"), h.number("vocab_size", 30522))
	m.FFN, m.Positions, m.TokenTypes = h.number("intermediate_size", 0), h.number("max_position_embeddings", 512), h.number("type_vocab_size", 2)
	m.Activation, m.Dropout, m.AttentionDropout = h.act("hidden_act", "gelu"), h.share("hidden_dropout_prob", 0.1), h.share("attention_probs_dropout_prob", 0.1)
	m.Head, m.Labels = h.head(NoHead), h.labels()
	if m.Head == LMHead { // as a decoder BERT has the head of its masked words
		m.Head = MLMHead
	}
	m.Pooler = m.Head == NoHead || m.Head == ClassHead
	return m
}

// roberta classifies with a head of its own in place of the pooler, as large.
func (h *hfFile) roberta() Model { return h.bert() }

func (h *hfFile) distilbert() Model {
	m := bert(h.need("n_layers"), h.need("dim"), h.need("n_heads"), h.number("vocab_size", 30522))
	m.FFN, m.Positions, m.TokenTypes = h.number("hidden_dim", 0), h.number("max_position_embeddings", 512), 0
	m.Activation, m.Dropout, m.AttentionDropout = h.act("activation", "gelu"), h.share("dropout", 0.1), h.share("attention_dropout", 0.1)
	m.Head, m.Labels = h.head(NoHead), h.labels()
	m.Pooler = m.Head == ClassHead
	return m
}

func (h *hfFile) t5() Model {
	m := t5(h.need("num_layers"), h.need("d_model"), h.need("num_heads"), h.need("d_kv"), h.need("d_ff"))
	m.Vocab, m.DecoderLayers, m.RelativeBuckets = h.number("vocab_size", 32128), h.number("num_decoder_layers", 0), h.number("relative_attention_num_buckets", 32)
	m.Tied = h.flag("tie_word_embeddings", true)
	m.Dropout = h.share("dropout_rate", 0.1)
	m.AttentionDropout = m.Dropout
	if kind := h.word("feed_forward_proj", "relu"); strings.HasPrefix(kind, "gated-") {
		m.Gated, m.Activation = true, "gelu_new"
	}
	return m
}

func (h *hfFile) vit() Model {
	m := vit(h.need("num_hidden_layers"), h.need("hidden_size"), h.need("num_attention_heads"), h.number("patch_size", 16))
	m.FFN, m.Image, m.Channels = h.number("intermediate_size", 0), h.number("image_size", 224), h.number("num_channels", 3)
	m.QKVBias = h.flag("qkv_bias", true)
	m.Activation, m.Dropout, m.AttentionDropout = h.act("hidden_act", "gelu"), h.share("hidden_dropout_prob", 0), h.share("attention_probs_dropout_prob", 0)
	m.Head, m.Labels = h.head(ClassHead), h.labels()
	m.Pooler = m.Head == NoHead
	return m
}
