package budget

import "testing"

// published are parameter counts as their authors publish them, or as
// transformers counts the model with its config.json.
var published = map[string]int64{
	"gpt2":             124_439_808,
	"gpt2-medium":      354_823_168,
	"gpt2-large":       774_030_080,
	"gpt2-xl":          1_557_611_200,
	"opt-125m":         125_239_296,
	"opt-1.3b":         1_315_758_080,
	"opt-6.7b":         6_658_473_984,
	"pythia-160m":      162_322_944,
	"pythia-1.4b":      1_414_647_808,
	"pythia-6.9b":      6_857_302_016,
	"phi-2":            2_779_683_840,
	"llama-2-7b":       6_738_415_616,
	"llama-2-13b":      13_015_864_320,
	"llama-2-70b":      68_976_648_192,
	"llama-3-8b":       8_030_261_248,
	"llama-3-70b":      70_553_706_496,
	"llama-3.1-405b":   405_853_388_800,
	"llama-3.2-1b":     1_235_814_400,
	"llama-3.2-3b":     3_212_749_824,
	"tinyllama-1.1b":   1_100_048_384,
	"mistral-7b":       7_241_732_096,
	"mixtral-8x7b":     46_702_792_704,
	"mixtral-8x22b":    140_630_071_296,
	"phi-3-mini":       3_821_079_552,
	"qwen2-0.5b":       494_032_768,
	"qwen2-1.5b":       1_543_714_304,
	"qwen2-7b":         7_615_616_512,
	"qwen2-72b":        72_706_203_648,
	"qwen3-0.6b":       596_049_920,
	"qwen3-8b":         8_190_735_360,
	"qwen3-30b-a3b":    30_532_122_624,
	"gemma-2b":         2_506_172_416,
	"gemma-7b":         8_537_680_896,
	"gemma-2-2b":       2_614_341_888,
	"gemma-2-9b":       9_241_705_984,
	"bert-base":        109_482_240,
	"bert-large":       335_141_888,
	"t5-small":         60_506_624,
	"t5-base":          222_903_552,
	"t5-large":         737_668_096,
	"vit-base":         86_567_656,
	"vit-large":        304_326_632,
	"deepseek-v2-lite": 15_706_484_224,
	"deepseek-v3":      671_026_404_352,
}

func TestParamCount(t *testing.T) {
	for name, want := range published {
		m, err := KnownModel(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.ParamCount(); got != want {
			t.Errorf("%s: %d parameters, published %d: %+d", name, got, want, got-want)
		}
	}
	for _, name := range KnownModels() {
		if published[name] == 0 {
			t.Errorf("%s: no published count to check against", name)
		}
	}
}
