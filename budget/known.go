package budget

import (
	"fmt"
	"slices"
	"strings"
)

// knownModels are published architectures, by the names that people use. The
// counts are checked in tests against what their authors publish.
var knownModels = map[string]Model{
	"gpt2":        gpt2(12, 768, 12),
	"gpt2-medium": gpt2(24, 1024, 16),
	"gpt2-large":  gpt2(36, 1280, 20),
	"gpt2-xl":     gpt2(48, 1600, 25),

	"opt-125m":    opt(12, 768, 12),
	"opt-1.3b":    opt(24, 2048, 32),
	"opt-6.7b":    opt(32, 4096, 32),
	"pythia-160m": neox(12, 768, 12, 50304),
	"pythia-1.4b": neox(24, 2048, 16, 50304),
	"pythia-6.9b": neox(32, 4096, 32, 50432),
	"phi-2":       phi2(),

	"llama-2-7b":     llama(32, 4096, 32, 32, 11008, 32000),
	"llama-2-13b":    llama(40, 5120, 40, 40, 13824, 32000),
	"llama-2-70b":    llama(80, 8192, 64, 8, 28672, 32000),
	"llama-3-8b":     llama(32, 4096, 32, 8, 14336, 128256),
	"llama-3-70b":    llama(80, 8192, 64, 8, 28672, 128256),
	"llama-3.1-405b": llama(126, 16384, 128, 8, 53248, 128256),
	"llama-3.2-1b":   llama(16, 2048, 32, 8, 8192, 128256).tied(),
	"llama-3.2-3b":   llama(28, 3072, 24, 8, 8192, 128256).tied(),
	"tinyllama-1.1b": llama(22, 2048, 32, 4, 5632, 32000),
	"mistral-7b":     llama(32, 4096, 32, 8, 14336, 32000),
	"mixtral-8x7b":   llama(32, 4096, 32, 8, 14336, 32000).experts(8, 2, 0),
	"mixtral-8x22b":  llama(56, 6144, 48, 8, 16384, 32768).experts(8, 2, 0),
	"phi-3-mini":     llama(32, 3072, 32, 32, 8192, 32064),

	"qwen2-0.5b":    llama(24, 896, 14, 2, 4864, 151936).qkvBias().tied(),
	"qwen2-1.5b":    llama(28, 1536, 12, 2, 8960, 151936).qkvBias().tied(),
	"qwen2-7b":      llama(28, 3584, 28, 4, 18944, 152064).qkvBias(),
	"qwen2-72b":     llama(80, 8192, 64, 8, 29568, 152064).qkvBias(),
	"qwen3-0.6b":    qwen3(28, 1024, 16, 8, 3072).tied(),
	"qwen3-8b":      qwen3(36, 4096, 32, 8, 12288),
	"qwen3-30b-a3b": qwen3(48, 2048, 32, 4, 6144).experts(128, 8, 768),

	"gemma-2b":   gemma(18, 2048, 8, 1, 256, 16384, 2),
	"gemma-7b":   gemma(28, 3072, 16, 16, 256, 24576, 2),
	"gemma-2-2b": gemma(26, 2304, 8, 4, 256, 9216, 4),
	"gemma-2-9b": gemma(42, 3584, 16, 8, 256, 14336, 4),

	"deepseek-v2-lite": deepseekV2Lite(),
	"deepseek-v3":      deepseekV3(),

	"bert-base":  bert(12, 768, 12, 30522),
	"bert-large": bert(24, 1024, 16, 30522),

	"t5-small": t5(6, 512, 8, 64, 2048),
	"t5-base":  t5(12, 768, 12, 64, 3072),
	"t5-large": t5(24, 1024, 16, 64, 4096),

	"vit-base":  vit(12, 768, 12, 16),
	"vit-large": vit(24, 1024, 16, 16),
}

func gpt2(layers, hidden, heads int64) Model {
	m := Model{Arch: GPT, Layers: layers, Hidden: hidden, Heads: heads, Vocab: 50257, Positions: 1024}.withArch()
	m.Tied, m.Activation, m.Dropout, m.AttentionDropout = true, "gelu_new", 0.1, 0.1
	return m
}

// opt has two more positions than tokens: the first two are not used.
func opt(layers, hidden, heads int64) Model {
	m := Model{Arch: GPT, Layers: layers, Hidden: hidden, Heads: heads, Vocab: 50272, Positions: 2050}.withArch()
	m.Tied, m.FusedQKV, m.Activation, m.Dropout = true, false, "relu", 0.1
	return m
}

func neox(layers, hidden, heads, vocab int64) Model {
	m := Model{Arch: GPT, Layers: layers, Hidden: hidden, Heads: heads, Vocab: vocab}.withArch()
	m.Rotary, m.Parallel = true, true
	return m
}

func phi2() Model {
	m := Model{Arch: GPT, Layers: 32, Hidden: 2560, Heads: 32, Vocab: 51200, NormsPerBlock: 1}.withArch()
	m.Rotary, m.Parallel, m.FusedQKV, m.HeadBias, m.Activation = true, true, false, true, "gelu_new"
	return m
}

func llama(layers, hidden, heads, kvHeads, ffn, vocab int64) Model {
	return Model{Arch: Llama, Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kvHeads, FFN: ffn, Vocab: vocab}.withArch()
}

func qwen3(layers, hidden, heads, kvHeads, ffn int64) Model {
	m := llama(layers, hidden, heads, kvHeads, ffn, 151936)
	m.HeadDim, m.QKNorm = 128, HeadQKNorm
	return m
}

func gemma(layers, hidden, heads, kvHeads, headDim, ffn, norms int64) Model {
	m := llama(layers, hidden, heads, kvHeads, ffn, 256000).tied()
	m.HeadDim, m.NormsPerBlock, m.Activation, m.NormOffset, m.Softcap = headDim, norms, "gelu", true, norms == 4
	return m
}

func deepseekV2Lite() Model {
	m := llama(27, 2048, 16, 16, 10944, 102400).experts(64, 6, 1408)
	m.SharedFFN, m.DenseLayers = 2*1408, 1
	m.KVRank, m.NopeDim, m.RopeDim, m.ValueDim = 512, 128, 64, 128
	return m
}

func deepseekV3() Model {
	m := llama(61, 7168, 128, 128, 18432, 129280).experts(256, 8, 2048)
	m.SharedFFN, m.DenseLayers = 2048, 3
	m.QueryRank, m.KVRank, m.NopeDim, m.RopeDim, m.ValueDim = 1536, 512, 128, 64, 128
	return m
}

func bert(layers, hidden, heads, vocab int64) Model {
	m := Model{Arch: BERT, Layers: layers, Hidden: hidden, Heads: heads, Vocab: vocab, Positions: 512}.withArch()
	m.Head, m.Pooler, m.Dropout, m.AttentionDropout = NoHead, true, 0.1, 0.1
	return m
}

func t5(layers, hidden, heads, headDim, ffn int64) Model {
	return Model{Arch: T5, Layers: layers, Hidden: hidden, Heads: heads, HeadDim: headDim, FFN: ffn, Vocab: 32128, Dropout: 0.1, AttentionDropout: 0.1}.withArch()
}

func vit(layers, hidden, heads, patch int64) Model {
	m := Model{Arch: ViT, Layers: layers, Hidden: hidden, Heads: heads}.withArch()
	m.Patch = patch
	return m
}

func (m Model) tied() Model {
	m.Tied = true
	return m
}

func (m Model) qkvBias() Model {
	m.QKVBias = true
	return m
}

func (m Model) experts(n, active, ffn int64) Model {
	m.Experts, m.ActiveExperts, m.ExpertFFN = n, active, ffn
	return m
}

// KnownModels lists the models that KnownModel knows.
func KnownModels() []string {
	names := make([]string, 0, len(knownModels))
	for name := range knownModels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// KnownModel returns a published architecture by its name, with or without the
// organisation before it: "llama-3-8b", "meta-llama/Meta-Llama-3-8B".
func KnownModel(name string) (Model, error) {
	plain := plainModelName(name)
	for _, n := range KnownModels() {
		if plainModelName(n) == plain {
			m := knownModels[n]
			m.Name, m.Style = n, HFStyle
			return m, nil
		}
	}
	hint := "give its sizes, or its config.json as the file"
	if near, ok := nearest(strings.ToLower(name), KnownModels()); ok {
		hint = "did you mean " + near
	}
	return Model{}, fmt.Errorf("%s is not a model that is known here; %s", quote(name), hint)
}

// plainModelName is a name without what people write differently.
func plainModelName(name string) string {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, tail := range []string{"-hf", "-instruct", "-chat", "-it", "-uncased", "-cased", "-base", "-v0.1", "-v0.3", "-patch16-224", "-4k", "-128k"} {
		name = strings.TrimSuffix(name, tail)
	}
	name = strings.TrimPrefix(name, "meta-")
	return strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(name)
}
