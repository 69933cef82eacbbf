package budget

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNotActedOut: what the program of an architecture does not have is refused
// by the name of its setting.
func TestNotActedOut(t *testing.T) {
	base := map[string]string{"layers": "2", "hidden": "64", "heads": "4", "vocab": "96", "batch": "2", "seq": "16"}
	for _, x := range []struct{ set, blamed string }{
		{"experts=8 active_experts=2", ""},
		{"experts=8 active_experts=2 arch=t5", "experts"},
		{"experts=8 active_experts=2 arch=llama", ""},
		{"experts=8 active_experts=2 style=transformers", "experts"},
		{"norms_per_block=1", "norms_per_block"},
		{"norms_per_block=1 parallel_block=true", ""},
		{"norms_per_block=3 arch=llama", "norms_per_block"},
		{"norms_per_block=1 parallel_block=true style=transformers", ""},
		{"fused_qkv=false", ""},
		{"fused_qkv=false style=transformers", ""},
		{"fused_qkv=true arch=bert", "fused_qkv"},
		{"fused_qkv=true arch=bert style=plain", ""},
		{"fused_qkv=true arch=llama style=plain rms_norm=false rotary=false positions=16", ""},
		{"post_norm=true gated=true rotary=true rms_norm=true kv_heads=2 qk_norm=head fused_qkv=false", ""},
		{"style=plain arch=t5", "style"},
		{"head=classifier labels=3 arch=llama", ""},
		{"head=lm arch=bert style=plain final_norm=true embed_norm=false token_types=0", ""},
		{"final_norm=false arch=llama", "final_norm"},
		{"embed_norm=false arch=bert", "embed_norm"},
		{"post_norm=true arch=t5", "post_norm"},
		{"relative_buckets=0 arch=t5", "relative_buckets"},
		{"relative_buckets=32", "relative_buckets"},
		{"head=mlm arch=vit", "head"},
		{"labels=0 arch=vit", "labels"},
		{"channels=0 arch=vit", "channels"},
		{"kv_rank=16 fused_qkv=false style=transformers", "kv_rank"},
		{"kv_rank=16 arch=llama optimizer=adafactor", "nope_dim"},
		{"kv_rank=16 nope_dim=8 rope_dim=8 value_dim=16 arch=llama optimizer=adafactor", ""},
		{"head_bias=true arch=t5", ""},
		{"rms_norm=true", ""},
		{"model=bert-base arch=gpt layers=2 hidden=64 heads=4", ""},
		{"dropout=0.1 arch=llama", "dropout"},
		{"dropout=0.1 arch=llama style=plain", ""},
	} {
		set := base
		for _, pair := range strings.Fields(x.set) {
			k, v, _ := strings.Cut(pair, "=")
			set = changed(set, k, v)
		}
		_, err := Estimate(mustConfig(t, set))
		blamed := ""
		if err != nil {
			blamed, _, _ = strings.Cut(err.Error(), ":")
		}
		if blamed != x.blamed {
			t.Errorf("%s: got %v, want the blame on %q", x.set, err, x.blamed)
		}
	}
}

// TestPublishedActedOut: no published model is refused.
func TestPublishedActedOut(t *testing.T) {
	check := func(name string, c Config) {
		c.Batch, c.Seq = 1, 64
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range KnownModels() {
		check(name, mustConfig(t, map[string]string{"model": name}))
	}
	for _, x := range hfCounts {
		c, err := ParseConfig(x.name, []byte(x.file))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		check(x.name, c)
	}
	c, err := ParseConfig("opt-350m", []byte(`{"model_type":"opt","num_hidden_layers":24,"hidden_size":1024,"num_attention_heads":16,"ffn_dim":4096,"vocab_size":50272,"word_embed_proj_dim":512,"do_layer_norm_before":false}`))
	if err != nil {
		t.Error(err)
	}
	check("opt-350m", c)
}

// TestAnySettings: settings put together at random are refused or worked out,
// and what is worked out closes.
func TestAnySettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]string{"layers": "2", "hidden": "64", "heads": "4", "vocab": "96", "batch": "2", "seq": "16"}
		huge := rapid.Bool().Draw(t, "huge")
		values := rapid.SampledFrom([]int64{0, 1, 2, 3, 4, 8, 16, 32, 64})
		if huge {
			values = rapid.Int64Range(0, mostOfAny)
		}
		list := slices.DeleteFunc(Settings(), func(s Setting) bool {
			return s.Name == "model" || s.Name == "gpu" || strings.Contains(s.Name, "layers")
		})
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			s := rapid.SampledFrom(list).Draw(t, "setting")
			switch {
			case len(s.Words) > 0:
				set[s.Name] = rapid.SampledFrom(s.Words).Draw(t, s.Name)
			case strings.Contains(s.Name, "dropout"):
				set[s.Name] = "0.1"
			default:
				set[s.Name] = strconv.FormatInt(values.Draw(t, s.Name), 10)
			}
		}
		if rapid.Bool().Draw(t, "other") {
			set["arch"] = rapid.SampledFrom([]string{"gpt", "llama", "bert", "t5", "vit"}).Draw(t, "arch")
		}
		c, err := DefaultConfig().With(set)
		if err != nil {
			return
		}
		l, err := Estimate(c)
		if err != nil {
			return
		}
		sum := int64(0)
		for _, x := range l.Lines {
			if x.AtPeak < 0 || x.AtPeak > x.Bytes {
				t.Errorf("%s: %d of %d at the peak", x.Name, x.AtPeak, x.Bytes)
			}
			sum += x.AtPeak
		}
		if sum != l.PerGPU || l.Totals.Sum() != sum || l.Whole.Sum() != l.Total || l.Params <= 0 || sum <= 0 || l.Total <= 0 {
			t.Errorf("lines %d, a GPU %d, classes %d, undivided %d of %d, %d parameters", sum, l.PerGPU, l.Totals.Sum(), l.Whole.Sum(), l.Total, l.Params)
		}
		if name := unused(c); name != "" {
			t.Errorf("%v: %s has weights and no gradient", set, name)
		}
		if l.Simulated && (l.PerGPU != l.Peak.Allocated || l.Reserved < l.PerGPU) {
			t.Errorf("a GPU %d, allocated %d, reserved %d", l.PerGPU, l.Peak.Allocated, l.Reserved)
		}
	})
}

// TestAnyModel: of a model put together at random each weight is used, or what it
// belongs to is refused.
func TestAnyModel(t *testing.T) {
	var parts []Setting
	for _, s := range Settings() {
		if s.Group == groupModel && (len(s.Words) > 0 && s.Name != archKey && s.Name != "style") {
			parts = append(parts, s)
		}
	}
	done := 0
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]string{"layers": "2", "hidden": "64", "heads": "4", "vocab": "96", "batch": "2", "seq": "16", "labels": "3", "dropout": "0"}
		set["arch"] = rapid.SampledFrom([]string{"gpt", "gpt", "llama", "llama", "bert", "bert", "t5", "vit"}).Draw(t, "arch")
		set["style"] = rapid.SampledFrom([]string{"plain", "plain", "plain", "transformers"}).Draw(t, "style")
		some := func(name string, odds int, values ...string) {
			if rapid.IntRange(1, odds).Draw(t, "change "+name) == odds {
				set[name] = rapid.SampledFrom(values).Draw(t, name)
			}
		}
		for _, s := range parts {
			some(s.Name, 8, s.Words...)
		}
		some("kv_heads", 4, "1", "2")
		some("experts", 8, "4")
		set["active_experts"] = "2"
		some("shared_ffn", 4, "32")
		some("token_types", 8, "2")
		some("positions", 8, "16")
		some("embed_dim", 8, "32")
		some("norms_per_block", 8, "1", "4")
		some("dropout", 4, "0.1")
		some("precision", 2, "bf16-amp", "fp16-amp", "bf16", "mixed")
		some("attention", 2, "eager")
		some("checkpoint", 4, "full", "selective")
		c := mustConfig(t, set)
		l, err := Estimate(c)
		if err != nil {
			return
		}
		done++
		if name := unused(c); name != "" {
			t.Errorf("%v: %s has weights and no gradient", set, name)
		}
		checkLedger(t, &l)
	})
	if done == 0 {
		t.Error("all were refused")
	}
}

// unused names a trained weight that no gradient reaches: a part of the model that
// its program does not run. A pooled output without a head is not among them.
func unused(c Config) string {
	c.settle()
	if !c.Model.sized() || c.Pipeline > 1 || c.Model.ParamCount() > 1e8 || c.Batch*c.Seq > 1e5 {
		return ""
	}
	p := newProgram(&c, Card{}, 0)
	reached := map[*leaf]bool{}
	p.arrived = func(l *leaf) bool {
		reached[l] = true
		return false
	}
	p.trainStep(&optimizer{})
	for _, l := range p.trained() {
		if !reached[l] {
			return l.param.Name
		}
	}
	return ""
}

// TestHugeNumbers: numbers whose products overflow are refused, at once.
func TestHugeNumbers(t *testing.T) {
	base := map[string]string{"layers": "2", "hidden": "64", "heads": "4", "vocab": "96", "batch": "2", "seq": "16"}
	for _, x := range []struct{ set, blamed string }{
		{"tensor=2147483648 context=2147483648 pipeline=4", "gpus"},
		{"tensor=2147483648 context=2147483648 pipeline=2", "gpus"},
		{"hidden=2147483647 heads=1073741824", "heads"},
		{"hidden=2147483647 heads=2147483647 kv_heads=1073741824", "kv_heads"},
		{"arch=vit channels=2147483648 patch=1048576 image=1048576", "layers"},
		{"embed_dim=2147483648 vocab=2147483648 style=transformers", "layers"},
		{"relative_buckets=2147483648 heads=2147483648 head_dim=1 arch=t5", "layers"},
		{"kv_rank=2147483648 rope_dim=2147483648 nope_dim=2147483648 value_dim=2147483648 arch=llama", "layers"},
		{"lora_rank=2147483648 hidden=2147483648 heads=1", "layers"},
		{"positions=2147483648 hidden=2147483648 heads=1", "layers"},
		{"kv_heads=8", "kv_heads"},
		{"hidden=4402 heads=11194 head_dim=7616286", "layers"},
	} {
		set := base
		for _, pair := range strings.Fields(x.set) {
			k, v, _ := strings.Cut(pair, "=")
			set = changed(set, k, v)
		}
		start := time.Now()
		_, err := Estimate(mustConfig(t, set))
		if err == nil || !strings.HasPrefix(err.Error(), x.blamed+":") {
			t.Errorf("%s: got %v, want an error about %s", x.set, err, x.blamed)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: %s", x.set, d)
		}
	}
	if got := divisorNear(4, 8); got != 4 {
		t.Errorf("the divisor of 4 nearest to 8: %d", got)
	}
	if _, err := parseShare("NaN"); err == nil {
		t.Error("NaN is no probability")
	}
	_, err := ParseConfig("config.json", []byte(`{"model_type": "gpt2", "n_layer": 2000000000, "n_embd": 2, "n_head": 1}`))
	if err == nil || err.Error() != "config.json:1: layers: 2000000000; at most 8192" {
		t.Errorf("got %v", err)
	}
}
