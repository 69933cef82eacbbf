package budget

import "fmt"

// checkArch refuses what the program of an architecture does not act out: its
// weights would be counted and its activations not. The plain style acts out
// nearly everything, transformers' code what transformers has.
func (c *Config) checkArch() error {
	m := &c.Model
	if !m.sized() {
		return nil
	}
	plain := m.style() == PlainStyle
	hf := plain || m.Arch == GPT // GPT as transformers writes it has much of it too
	own := "; style plain has it with arch gpt, llama or bert"
	decoder := m.Arch == GPT || m.Arch == Llama
	for _, x := range []struct {
		name    string
		refused bool
		why     string
	}{
		{"style", plain && (m.Arch == T5 || m.Arch == ViT), "only gpt, llama and bert have a plain style"},
		{"experts", m.Experts != 0 && m.Arch != Llama && !plain, "only arch llama has experts" + own},
		{"kv_rank", m.KVRank != 0 && m.Arch != Llama && !plain, "only arch llama has latent attention" + own},
		{"nope_dim", m.KVRank != 0 && m.NopeDim < 1, "latent attention (kv_rank) needs it"},
		{"rope_dim", m.KVRank != 0 && m.RopeDim < 1, "latent attention (kv_rank) needs it"},
		{"value_dim", m.KVRank != 0 && m.ValueDim < 1, "latent attention (kv_rank) needs it"},
		{"q_rank", m.QueryRank != 0 && m.KVRank == 0, "queries have a rank in latent attention only; give kv_rank too"},
		{"relative_buckets", m.RelativeBuckets < 1 && m.Arch == T5, "T5 has at least one bucket of relative positions"},
		{"relative_buckets", m.RelativeBuckets != 0 && m.Arch != T5, "only arch t5 has a bias by relative position"},
		{"token_types", m.TokenTypes != 0 && m.Arch != BERT && !plain, "only arch bert has embeddings of token types" + own},
		{"positions", m.Positions != 0 && (m.Arch == Llama || m.Arch == T5) && !plain, "its positions are not learned; leave it out"},
		{"fused_qkv", m.FusedQKV && m.Arch != GPT && !plain, "only arch gpt has one matrix for queries, keys and values" + own},
		{"kv_heads", m.kvHeads() != m.Heads && !decoder && !plain, "only arch gpt and llama have groups of query heads"},
		{"qk_norm", m.QKNorm != NoQKNorm && m.Arch != Llama && !plain, "only arch llama has norms of queries and keys" + own},
		{"qk_norm", m.QKNorm != NoQKNorm && m.FusedQKV, "not with fused_qkv"},
		{"qk_norm", m.QKNorm != NoQKNorm && m.KVRank != 0, "latent attention (kv_rank) has norms of its own"},
		{"gated", m.Gated && m.Arch != Llama && m.Arch != T5 && !plain, "only arch llama and t5 have gated MLPs" + own},
		{"parallel_block", m.Parallel && !hf, "only arch gpt has attention and MLP side by side" + own},
		{"parallel_block", m.Parallel && m.PostNorm, "not with post_norm"},
		{"final_norm", !m.FinalNorm && m.Arch != BERT && !hf, "only arch bert and gpt go without" + own},
		{"final_norm", m.FinalNorm && m.Arch == BERT && !plain, "arch bert has none" + own},
		{"post_norm", m.PostNorm && m.Arch != BERT && !hf, "only arch bert and gpt have norms behind the residual" + own},
		{"post_norm", !m.PostNorm && m.Arch == BERT && !plain, "arch bert has its norms behind the residual" + own},
		{"norms_per_block", m.normsPerBlock() == 1 && !m.Parallel, "attention and MLP share a norm only side by side, with parallel_block"},
		{"norms_per_block", m.normsPerBlock() == 4 && m.Arch != Llama && !plain, "only arch llama has four, as Gemma 2" + own},
		{"norms_per_block", m.normsPerBlock() == 4 && (m.PostNorm || m.Parallel), "four are before and behind attention and MLP, one after the other"},
		{"norms_per_block", m.normsPerBlock() == 3 || m.normsPerBlock() > 4, "there are 1, 2 or 4"},
		{"rms_norm", !m.RMSNorm && (m.Arch == Llama || m.Arch == T5) && !plain, "arch llama and t5 have RMSNorm" + own},
		{"norm_offset", m.NormOffset && !m.RMSNorm, "only RMSNorm has an offset, as in Gemma; give rms_norm too"},
		{"norm_offset", m.NormOffset && m.Arch != Llama && !plain, "only arch llama has norms with an offset, as Gemma" + own},
		{"softcap", m.Softcap && m.Arch != Llama && !plain, "only arch llama caps scores and logits, as Gemma 2" + own},
		{"embed_norm", m.EmbedNorm && m.Arch != BERT && !hf, "only arch bert and gpt have a norm behind the embedding" + own},
		{"embed_norm", !m.EmbedNorm && m.Arch == BERT && !plain, "arch bert has a norm behind the embedding" + own},
		{"embed_dim", m.EmbedDim != 0 && m.EmbedDim != m.Hidden && !hf, "only arch gpt has an embedding of another width, as OPT-350m" + own},
		{"embed_dim", m.EmbedDim != 0 && m.EmbedDim != m.Hidden && m.Head != LMHead, "only with head lm"},
		{"rotary", m.Rotary && !decoder && !plain, "only arch gpt and llama rotate queries and keys" + own},
		{"rotary", !m.Rotary && m.Arch == Llama && !plain, "arch llama rotates queries and keys" + own},
		{"dropout", m.Dropout != 0 && m.Arch == Llama && !plain, "the code of transformers drops attention probabilities only (attention_dropout)" + own},
		{"pooler", m.Pooler && (decoder || m.Arch == T5 || m.Head == MLMHead || m.Head == LMHead), "only a classifier or a model without a head, of arch bert or vit, has a pooler"},
		{"head", m.Head == MLMHead && m.Arch != BERT, "only arch bert predicts masked words"},
		{"head", m.Head != LMHead && m.Arch == T5, "T5 has head lm"},
		{"head", m.Head == LMHead && (m.Arch == BERT && !plain || m.Arch == ViT), "an encoder has head mlm, classifier or none"},
		{"shared_gate", m.SharedGate && m.Experts != 0 && m.SharedFFN == 0, "there is no expert that every token passes; give shared_ffn too"},
		{"labels", m.Labels < 1 && m.Head == ClassHead, "a classifier has at least 1 class"},
		{"channels", m.Channels < 1 && m.Arch == ViT, "an image has at least 1"},
		{"image", m.Image < 1 && m.Arch == ViT, "an image has at least 1 pixel a side"},
	} {
		if x.refused {
			return fmt.Errorf("%s: %s; this model is of arch %s", x.name, x.why, m.Arch)
		}
	}
	return nil
}
