package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snapview/snapview/internal/units"
)

// A Setting is a key of a configuration.
type Setting struct {
	Name  string
	Help  string
	Group string
	Words []string // the values it may have; empty for numbers and names

	field func(*Config) any
	least int64
	most  int64 // 0 for mostOfAny
}

// IsFlag reports whether the setting is true or false.
func (s Setting) IsFlag() bool { return slices.Equal(s.Words, []string{"true", "false"}) }

// IsNumber reports whether the setting is a number.
func (s Setting) IsNumber() bool {
	var c Config
	switch s.field(&c).(type) {
	case *int64, *float64:
		return true
	}
	return false
}

// Known lists the words that the setting may have, without the empty one that
// stands for a default.
func (s Setting) Known() []string {
	return slices.DeleteFunc(slices.Clone(s.Words), func(w string) bool { return w == "" })
}

// Groups of settings.
const (
	groupModel    = "the model"
	groupWork     = "the step"
	groupState    = "the optimizer"
	groupParallel = "many GPUs"
)

// Settings lists the keys of a configuration in the order in which text names
// them.
func Settings() []Setting { return slices.Clone(settings) }

var settings = slices.Concat(modelSettings, workSettings, stateSettings, parallelSettings)

// modelKey names a known model. It comes before all other keys, which change
// that model, and arch comes next.
const (
	modelKey = "model"
	archKey  = "arch"
)

func count(group, name, help string, field func(*Config) *int64) Setting {
	return Setting{Name: name, Help: help, Group: group, field: func(c *Config) any { return field(c) }}
}

func flag(group, name, help string, field func(*Config) *bool) Setting {
	return Setting{Name: name, Help: help, Group: group, Words: []string{"true", "false"}, field: func(c *Config) any { return field(c) }}
}

func word[T ~string](group, name, help string, field func(*Config) *T, words ...T) Setting {
	s := Setting{Name: name, Help: help, Group: group, field: func(c *Config) any { return wordField[T]{field(c)} }}
	for _, w := range words {
		s.Words = append(s.Words, string(w))
	}
	return s
}

// A wordField is a field that holds a word, whatever its type.
type wordField[T ~string] struct{ at *T }

func (f wordField[T]) setWord(w string) { *f.at = T(w) }
func (f wordField[T]) word() string     { return string(*f.at) }

// from says the least value that makes sense.
func (s Setting) from(least int64) Setting {
	s.least = least
	return s
}

// setting finds a setting by its name or another name of the same.
func setting(name string) (Setting, bool) {
	name, _ = trainerSetting(name, "")
	for _, n := range []string{strings.ToLower(name), keyName(name)} {
		n = strings.ReplaceAll(n, "-", "_")
		if other, ok := settingNames[n]; ok {
			n = other
		}
		for _, s := range settings {
			if s.Name == n {
				return s, true
			}
		}
	}
	return Setting{}, false
}

// settingNames are other names of settings, beyond those that points know.
var settingNames = map[string]string{
	"architecture": archKey, "kv_head": "kv_heads", "num_kv_heads": "kv_heads", "num_key_value_heads": "kv_heads",
	"intermediate_size": "ffn", "ffn_hidden_size": "ffn", "tie_word_embeddings": "tied",
	"accumulation_steps": "accumulation", "gradient_accumulation": "accumulation", "gradient_accumulation_steps": "accumulation",
	"zero_stage": "zero", "tp": "tensor", "tensor_parallel": "tensor", "tensor_model_parallel_size": "tensor",
	"pp": "pipeline", "pipeline_parallel": "pipeline", "pipeline_model_parallel_size": "pipeline",
	"sp": "sequence_parallel", "cp": "context", "context_parallel": "context", "ep": "expert", "expert_parallel": "expert",
	"num_attention_heads": "heads", "num_local_experts": "experts", "num_experts_per_tok": "active_experts", "patch_size": "patch", "image_size": "image",
	"block_size": "positions", "n_positions": "positions", "max_position_embeddings": "positions", "max_seq_len": "seq", "max_seq_length": "seq", "max_length": "seq",
	"world_size": "gpus", "num_gpus": "gpus", "lora_r": "lora_rank", "rank": "lora_rank",
	"grad_type": "grad_dtype", "gradient_dtype": "grad_dtype",
}

func settingWords() (names []string) {
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return names
}

// With returns c with settings changed, such as {"batch": "8", "precision":
// "bf16-amp"}. The result is not yet checked as a whole; Estimate does that.
func (c Config) With(set map[string]string) (Config, error) {
	for _, name := range ordered(slices.Collect(maps.Keys(set))) {
		if err := c.set(name, set[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ordered puts what others build on first.
func ordered(names []string) []string {
	place := func(name string) int {
		if s, ok := setting(name); ok && (s.Name == modelKey || s.Name == archKey) {
			return slices.Index([]string{modelKey, archKey}, s.Name) - 2
		}
		return 0
	}
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// set changes one setting.
func (c *Config) set(name, value string) error {
	name, value = trainerSetting(name, strings.TrimSpace(value))
	s, ok := setting(name)
	if !ok {
		return unknownSetting(name)
	}
	if err := c.assign(s, value); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// trainerSetting translates settings of trainers that say the same in another
// way: TrainingArguments and Accelerate mean autocast by bf16, FSDP names ZeRO's
// stages.
func trainerSetting(name, value string) (string, string) {
	low := strings.ReplaceAll(strings.ToLower(value), "_", "-")
	switch strings.ToLower(name) {
	case "mixed_precision", "bf16", "fp16":
		kind := low
		if kind == "true" {
			kind = strings.ToLower(name)
		}
		switch kind {
		case "bf16", "fp16":
			return keyPrecision, kind + "-amp"
		case "no", "false":
			return keyPrecision, string(FP32)
		}
		return keyPrecision, value
	case "fsdp", "sharding_strategy":
		for stage, names := range [][]string{{"no-shard", "false", "", "ddp"}, {}, {"shard-grad-op"}, {"full-shard", "true", "hybrid-shard", "full-shard auto-wrap"}} {
			if slices.Contains(names, low) {
				return "zero", strconv.Itoa(stage)
			}
		}
		return "zero", value
	}
	return name, value
}

func unknownSetting(name string) error {
	if near, ok := nearest(name, append(settingWords(), slices.Collect(maps.Keys(settingNames))...)); ok {
		return fmt.Errorf("%s: unknown setting; did you mean %s", quoteKey(name), near)
	}
	return fmt.Errorf("%s: unknown setting; snapview budget estimate --keys lists them", quoteKey(name))
}

func (c *Config) assign(s Setting, value string) error {
	switch s.Name {
	case modelKey:
		m, err := KnownModel(value)
		if err == nil {
			c.Model = m
		}
		return err
	case "lora_rank":
		c.Frozen = c.Frozen || value != "0"
	case keyOptimizer:
		if strings.HasSuffix(value, "_fused") || strings.HasSuffix(value, "-fused") {
			c.Kernel, value = Fused, value[:len(value)-len("_fused")]
		}
	}
	if s.Name == "gpu" && value != "" {
		if _, err := FindCard(value); err != nil {
			return err
		}
	}
	switch at := s.field(c).(type) {
	case *int64:
		n, err := s.number(value)
		if err != nil {
			return err
		}
		*at = n
	case *float64:
		f, err := parseShare(value)
		if err != nil {
			return err
		}
		*at = f
	case *bool:
		b, err := truth(value)
		if err != nil {
			return err
		}
		*at = b
	case interface{ setWord(string) }:
		w, err := s.word(value)
		if err != nil {
			return err
		}
		at.setWord(w)
	}
	switch s.Name {
	case archKey:
		c.Model = c.Model.withArch()
	case "head": // a model for masked words has no pooler
		c.Model.Pooler = c.Model.Pooler && c.Model.Head != MLMHead
		c.Model.assumedHead = false
	}
	return nil
}

func quote(value string) string { return strconv.Quote(units.Ellipsis(value, 40)) }

// number reads a whole number; parameters may be given as 7B or 7e9, and a
// bucket as a size.
func (s Setting) number(value string) (int64, error) {
	if s.Name == "bucket" {
		return units.ParseBytes(value)
	}
	n, err := ParseCount(value)
	switch {
	case err != nil:
		return 0, err
	case n < s.least:
		return 0, fmt.Errorf("%d: must be %d or more", n, s.least)
	case n > or(s.most, mostOfAny):
		return 0, fmt.Errorf("%s: at most %d", quote(value), or(s.most, mostOfAny))
	}
	return n, nil
}

// Bounds of numbers: on what a ledger takes time for, and on the rest.
const (
	mostParams = 1 << 50
	mostLayers = 1 << 13
	mostOfAny  = 1 << 31
)

// upTo says the largest value that makes sense.
func (s Setting) upTo(most int64) Setting {
	s.most = most
	return s
}

// ParseCount reads a count: "12288", "12_288", "12,288", "7e9", "7B", "1.5B",
// "350M". K, M, B and T are decimal.
func ParseCount(text string) (int64, error) {
	plain := strings.NewReplacer("_", "", ",", "").Replace(strings.TrimSpace(text))
	factor := 1.0
	if n := len(plain); n > 1 {
		if f, ok := map[byte]float64{'k': 1e3, 'm': 1e6, 'b': 1e9, 't': 1e12}[plain[n-1]|0x20]; ok {
			factor, plain = f, strings.TrimSpace(plain[:n-1])
		}
	}
	if n, err := strconv.ParseInt(plain, 10, 64); err == nil && factor == 1 {
		return n, nil
	}
	f, err := strconv.ParseFloat(plain, 64)
	f *= factor
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<60 {
		return 0, fmt.Errorf("%s is not a number such as 4096, 7e9 or 7B", quote(text))
	}
	n := math.Round(f)
	if math.Abs(f-n) > 1e-6*math.Max(1, math.Abs(f)) {
		return 0, fmt.Errorf("%s is not a whole number", quote(text))
	}
	return int64(n), nil
}

// truth reads yes and no in the ways that people and other programs write them.
func truth(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0", "":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", quote(value))
}

// word reads one of the words that s may have.
func (s Setting) word(value string) (string, error) {
	if len(s.Words) == 0 {
		return value, nil
	}
	plain := strings.ReplaceAll(strings.ToLower(value), "_", "-")
	if other, ok := otherWords[s.Name][plain]; ok {
		plain = other
	}
	bare := strings.NewReplacer("-", "", "_", "")
	for _, w := range s.Words {
		if bare.Replace(plain) == bare.Replace(strings.ToLower(w)) {
			return w, nil
		}
	}
	known := strings.Join(s.Known(), ", ")
	if near, ok := nearest(plain, s.Words); ok {
		return "", fmt.Errorf("%s is not known; did you mean %s (of %s)", quote(value), near, known)
	}
	return "", fmt.Errorf("%s is not known; known are %s", quote(value), known)
}

// otherWords are what trainers call the same. Lightning and the Hugging Face
// Trainer mean autocast when they say mixed precision; Megatron and DeepSpeed
// mean 16-bit weights with an fp32 master copy, which has the plain word here,
// as it has in the papers.
var otherWords = map[string]map[string]string{
	"precision": {
		"32": "fp32", "float32": "fp32", "float": "fp32", "32-true": "fp32", "tf32": "fp32", "no": "fp32",
		"amp": "bf16-amp", "autocast": "bf16-amp", "amp-bf16": "bf16-amp", "bf16-mixed": "bf16-amp", "bf16-autocast": "bf16-amp",
		"amp-fp16": "fp16-amp", "16-mixed": "fp16-amp", "fp16-mixed": "fp16-amp", "fp16-autocast": "fp16-amp",
		"mixed": "bf16-master", "mixed-bf16": "bf16-master", "mixed-precision": "bf16-master", "megatron": "bf16-master", "bf16+fp32": "bf16-master",
		"mixed-fp16": "fp16-master", "fp16+fp32": "fp16-master", "fp8": "fp8-master", "mixed-fp8": "fp8-master",
		"bfloat16": "bf16", "bf16-true": "bf16", "pure-bf16": "bf16", "float16": "fp16", "half": "fp16", "16-true": "fp16", "pure-fp16": "fp16",
	},
	"attention": {
		"flash-attention-2": "flash", "flash-attention": "flash", "flashattention": "flash", "flash2": "flash", "flash-attn": "flash",
		"math": "eager", "naive": "eager", "mem-efficient": "efficient", "memory-efficient": "efficient", "xformers": "efficient", "fused": "sdpa",
	},
	"checkpoint": {
		"true": "full", "yes": "full", "on": "full", "1": "full", "block": "full", "blocks": "full",
		"false": "none", "no": "none", "off": "none", "0": "none",
	},
	"optimizer": {
		"adamw-torch": "adamw", "adamw-hf": "adamw", "adam8bit": "adamw8bit", "adamw-8bit": "adamw8bit", "adamw-bnb-8bit": "adamw8bit",
		"8bit-adam": "adamw8bit", "paged-adamw-8bit": "adamw8bit", "lion-32bit": "lion",
	},
	"activation": {
		"gelu-pytorch-tanh": "gelu", "gelu-tanh": "gelu", "gelu-fast": "gelu_new", "swish": "silu", "swiglu": "silu", "geglu": "gelu", "quick-gelu": "silu",
	},
	"optimizer_kernel": {"default": "foreach", "single": "forloop", "for-loop": "forloop"},
	"grad_dtype":       typeWords,
	"quant":            {"4bit": "nf4", "int4": "nf4", "8bit": "int8", "none": ""},
	"offload":          {"no": "none", "cpu": "optimizer", "states": "optimizer", "all": "parameters", "params": "parameters"},
}

var typeWords = map[string]string{"float32": "fp32", "32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}

// Given returns the settings of c that are not as DefaultConfig has them, by name,
// and those of a known model by its name alone.
func (c Config) Given() map[string]string {
	base := DefaultConfig()
	if m, err := KnownModel(c.Model.Name); err == nil {
		base.Model = m
	} else if c.Model.Arch != base.Model.Arch {
		base.Model = Model{Arch: c.Model.Arch}.withArch()
		base.Model.Arch = ""
	}
	given := map[string]string{}
	for _, s := range settings {
		if v := s.text(&c); v != s.text(&base) {
			given[s.Name] = v
		}
	}
	if c.Model.Name != "" {
		given[modelKey] = c.Model.Name
	}
	return given
}

// text is the value of a setting as With reads it.
func (s Setting) text(c *Config) string {
	switch at := s.field(c).(type) {
	case *int64:
		return strconv.FormatInt(*at, 10)
	case *float64:
		return strconv.FormatFloat(*at, 'g', -1, 64)
	case *bool:
		return strconv.FormatBool(*at)
	case interface{ word() string }:
		return at.word()
	}
	return ""
}
