package budget

import "fmt"

// checkArch refuses what the program of an architecture does not act out: its
// weights would be counted and its activations not.
func (c *Config) checkArch() error {
	m := &c.Model
	if !m.sized() {
		return nil
	}
	hf := m.Arch == GPT && m.Style == HFStyle // GPT as transformers writes it is the most general
	for _, x := range []struct {
		name    string
		refused bool
		why     string
	}{
		{"experts", m.Experts != 0 && m.Arch != Llama, "only arch llama has experts"},
		{"kv_rank", m.KVRank != 0 && m.Arch != Llama, "only arch llama has latent attention"},
		{"nope_dim", m.KVRank != 0 && m.NopeDim < 1, "latent attention (kv_rank) needs it"},
		{"rope_dim", m.KVRank != 0 && m.RopeDim < 1, "latent attention (kv_rank) needs it"},
		{"value_dim", m.KVRank != 0 && m.ValueDim < 1, "latent attention (kv_rank) needs it"},
		{"q_rank", m.QueryRank != 0 && m.KVRank == 0, "queries have a rank in latent attention only; give kv_rank too"},
		{"relative_buckets", m.RelativeBuckets < 1 && m.Arch == T5, "T5 has at least one bucket of relative positions"},
		{"relative_buckets", m.RelativeBuckets != 0 && m.Arch != T5, "only arch t5 has a bias by relative position"},
		{"token_types", m.TokenTypes != 0 && m.Arch != BERT, "only arch bert has embeddings of token types"},
		{"positions", m.Positions != 0 && (m.Arch == Llama || m.Arch == T5), "its positions are not learned; leave it out"},
		{"fused_qkv", m.FusedQKV && m.Arch != GPT, "only arch gpt has one matrix for queries, keys and values"},
		{"fused_qkv", !m.FusedQKV && m.Arch == GPT && !hf, "GPT in plain style has one matrix for queries, keys and values; style transformers has three too"},
		{"kv_heads", m.kvHeads() != m.Heads && m.Arch != GPT && m.Arch != Llama, "only arch gpt and llama have groups of query heads"},
		{"qk_norm", m.QKNorm != NoQKNorm && m.Arch != Llama, "only arch llama has norms of queries and keys"},
		{"gated", m.Gated && m.Arch != Llama && m.Arch != T5, "only arch llama and t5 have gated MLPs"},
		{"parallel_block", m.Parallel && !hf, "only arch gpt in style transformers has attention and MLP side by side"},
		{"final_norm", !m.FinalNorm && m.Arch != BERT && !hf, "only arch bert, and gpt in style transformers, go without"},
		{"final_norm", m.FinalNorm && m.Arch == BERT, "arch bert has none"},
		{"post_norm", m.PostNorm && m.Arch != BERT && !hf, "only arch bert, and gpt in style transformers, have norms behind the residual"},
		{"post_norm", !m.PostNorm && m.Arch == BERT, "arch bert has its norms behind the residual"},
		{"norms_per_block", m.normsPerBlock() == 1 && !m.Parallel, "attention and MLP share a norm only side by side, with parallel_block"},
		{"norms_per_block", m.normsPerBlock() == 4 && m.Arch != Llama, "only arch llama has four, as Gemma 2"},
		{"norms_per_block", m.normsPerBlock() == 3 || m.normsPerBlock() > 4, "there are 1, 2 or 4"},
		{"rms_norm", !m.RMSNorm && (m.Arch == Llama || m.Arch == T5), "arch llama and t5 have RMSNorm"},
		{"norm_offset", m.NormOffset && m.Arch != Llama, "only arch llama has norms with an offset, as Gemma"},
		{"softcap", m.Softcap && m.Arch != Llama, "only arch llama caps scores and logits, as Gemma 2"},
		{"embed_norm", m.EmbedNorm && m.Arch != BERT && !hf, "only arch bert, and gpt in style transformers, have a norm behind the embedding"},
		{"embed_norm", !m.EmbedNorm && m.Arch == BERT, "arch bert has a norm behind the embedding"},
		{"embed_dim", m.EmbedDim != 0 && m.EmbedDim != m.Hidden && !hf, "only arch gpt in style transformers has an embedding of another width, as OPT-350m"},
		{"rotary", m.Rotary && m.Arch == GPT && !hf, "GPT in plain style has learned positions; style transformers rotates"},
		{"pooler", m.Pooler && (m.Arch != BERT && m.Arch != ViT || m.Head == MLMHead), "only a classifier or a model without a head, of arch bert or vit, has a pooler"},
		{"head", m.Head == MLMHead && m.Arch != BERT, "only arch bert predicts masked words"},
		{"head", m.Head != LMHead && (m.Arch == GPT || m.Arch == Llama || m.Arch == T5), "a decoder has head lm"},
		{"head", m.Head == LMHead && (m.Arch == BERT || m.Arch == ViT), "an encoder has head mlm, classifier or none"},
		{"head_bias", m.HeadBias && m.Arch == T5, "the output layer of arch t5 has no bias"},
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
