package budget

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// hfCounts are config.json files, shortened, and the number of parameters that
// transformers 5.17 counts in the model it builds from them.
var hfCounts = []struct {
	name, file string
	want       int64
}{
	{"gpt2", `{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_layer":12,"n_embd":768,"n_head":12,"vocab_size":50257,"n_positions":1024,"activation_function":"gelu_new"}`, 124_439_808},
	{"opt-125m", `{"model_type":"opt","num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"ffn_dim":3072,"vocab_size":50272,"max_position_embeddings":2048,"word_embed_proj_dim":768,"do_layer_norm_before":true}`, 125_239_296},
	{"pythia-160m", `{"model_type":"gpt_neox","num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"intermediate_size":3072,"vocab_size":50304,"use_parallel_residual":true}`, 162_322_944},
	{"phi-2", `{"model_type":"phi","num_hidden_layers":32,"hidden_size":2560,"num_attention_heads":32,"intermediate_size":10240,"vocab_size":51200}`, 2_779_683_840},
	{"gpt-j-6b", `{"model_type":"gptj","n_layer":28,"n_embd":4096,"n_head":16,"vocab_size":50400,"n_positions":2048}`, 6_050_882_784},
	{"bloom-560m", `{"model_type":"bloom","n_layer":24,"hidden_size":1024,"n_head":16,"vocab_size":250880}`, 559_214_592},
	{"llama-2-7b", `{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000}`, 6_738_415_616},
	{"mixtral-8x7b", `{"model_type":"mixtral","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2}`, 46_702_792_704},
	{"qwen2-7b", `{"model_type":"qwen2","num_hidden_layers":28,"hidden_size":3584,"num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,"vocab_size":152064,"tie_word_embeddings":false}`, 7_615_616_512},
	{"qwen1.5-moe", `{"model_type":"qwen2_moe","num_hidden_layers":24,"hidden_size":2048,"num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":5632,"moe_intermediate_size":1408,"shared_expert_intermediate_size":5632,"num_experts":60,"num_experts_per_tok":4,"vocab_size":151936}`, 14_315_784_192},
	{"qwen3-30b-a3b", `{"model_type":"qwen3_moe","num_hidden_layers":48,"hidden_size":2048,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,"vocab_size":151936}`, 30_532_122_624},
	{"olmo-2-7b", `{"model_type":"olmo2","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":100352}`, 7_298_617_344},
	{"gemma-2-2b", `{"model_type":"gemma2","num_hidden_layers":26,"hidden_size":2304,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,"intermediate_size":9216,"vocab_size":256000}`, 2_614_341_888},
	{"gemma-3-1b", `{"model_type":"gemma3_text","num_hidden_layers":26,"hidden_size":1152,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,"intermediate_size":6912,"vocab_size":262144}`, 999_885_952},
	{"phi-3-mini", `{"model_type":"phi3","num_hidden_layers":32,"hidden_size":3072,"num_attention_heads":32,"intermediate_size":8192,"vocab_size":32064}`, 3_821_079_552},
	{"deepseek-v3", `{"model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"num_attention_heads":128,"num_key_value_heads":128,"intermediate_size":18432,"vocab_size":129280,"n_routed_experts":256,"num_experts_per_tok":8,"moe_intermediate_size":2048,"n_shared_experts":1,"first_k_dense_replace":3,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128}`, 671_026_404_352},
	{"bert-base-uncased", `{"model_type":"bert","architectures":["BertModel"],"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512,"type_vocab_size":2}`, 109_482_240},
	{"bert-base-uncased, masked", `{"model_type":"bert","architectures":["BertForMaskedLM"],"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"vocab_size":30522}`, 109_514_298},
	{"bert-base-uncased, as a decoder", `{"model_type":"bert","architectures":["BertLMHeadModel"],"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"vocab_size":30522}`, 109_514_298},
	{"roberta-base, masked", `{"model_type":"roberta","architectures":["RobertaForMaskedLM"],"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"vocab_size":50265,"max_position_embeddings":514,"type_vocab_size":1}`, 124_697_433},
	{"distilbert", `{"model_type":"distilbert","architectures":["DistilBertModel"],"n_layers":6,"dim":768,"n_heads":12,"hidden_dim":3072,"vocab_size":30522}`, 66_362_880},
	{"t5-small", `{"model_type":"t5","num_layers":6,"d_model":512,"num_heads":8,"d_kv":64,"d_ff":2048,"vocab_size":32128}`, 60_506_624},
	{"t5, gated", `{"model_type":"t5","num_layers":8,"d_model":512,"num_heads":6,"d_kv":64,"d_ff":1024,"vocab_size":32128,"feed_forward_proj":"gated-gelu","tie_word_embeddings":false}`, 76_961_152},
	{"vit-base-patch16-224", `{"model_type":"vit","architectures":["ViTForImageClassification"],"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"num_labels":1000}`, 86_567_656},
	{"vit-base-patch16-224-in21k", `{"model_type":"vit","architectures":["ViTModel"],"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12}`, 86_389_248},
}

func TestHFCounts(t *testing.T) {
	for _, x := range hfCounts {
		c, err := ParseConfig("config.json", []byte(x.file))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := c.Model.ParamCount(); got != x.want {
			t.Errorf("%s: %d parameters, transformers has %d: %+d", x.name, got, x.want, got-x.want)
		}
	}
}

// TestHeads: what follows the last block comes from the class that the file names,
// and what is assumed without one is said.
func TestHeads(t *testing.T) {
	const llama = `"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256`
	const bert = `"model_type":"bert","num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12`
	for _, x := range []struct {
		file string
		want int64
		head Head
		note string
	}{
		{`{` + llama + `,"architectures":["LlamaForCausalLM"]}`, 8_030_261_248, LMHead, ""},
		{`{` + llama + `,"architectures":["LlamaForSequenceClassification"],"num_labels":1}`, 7_504_928_768, ClassHead, ""},
		{`{` + llama + `,"architectures":["LlamaModel"]}`, 7_504_924_672, NoHead, ""},
		{`{` + llama + `}`, 8_030_261_248, LMHead, "names no class (architectures): an output layer over the vocabulary is assumed"},
		{`{` + llama + `,"architectures":["LlamaForCausalLM"],"torch_dtype":"bfloat16"}`, 8_030_261_248, LMHead, "weights are stored in bf16; this is a training in fp32"},
		{`{` + bert + `}`, 109_482_240, NoHead, "no head is assumed"},
		{`{` + bert + `,"architectures":["BertForSequenceClassification"],"num_labels":3}`, 109_484_547, ClassHead, ""},
	} {
		c, err := ParseConfig("config.json", []byte(x.file))
		if err != nil {
			t.Fatal(err)
		}
		c.Batch, c.Seq, c.KeepLogits = 1, 16, true
		l, err := Estimate(c)
		if err != nil {
			t.Fatal(err)
		}
		if l.Params != x.want || l.Config.Model.Head != x.head {
			t.Errorf("%s: %d parameters, head %s; want %d, %s", x.file, l.Params, l.Config.Model.Head, x.want, x.head)
		}
		notes := strings.Join(slices.DeleteFunc(l.Notes, func(s string) bool { return !strings.Contains(s, "config.json") }), "\n")
		if x.note == "" && notes != "" || !strings.Contains(notes, x.note) {
			t.Errorf("%s: notes %q, want %q", x.file, notes, x.note)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, x := range []struct{ file, want string }{
		{"batch: 8\nseqq: 128\n", "c.yaml:2: seqq: unknown setting; did you mean seq"},
		{"batch: 8\nprecision: bf17\n", `c.yaml:2: precision: "bf17" is not known; did you mean bf16`},
		{"batch: eight\n", `c.yaml:1: batch: "eight" is not a number such as 4096, 7e9 or 7B`},
		{"batch: 0\n", "c.yaml:1: batch: 0: must be 1 or more"},
		{"batch: 1.5\n", `c.yaml:1: batch: "1.5" is not a whole number`},
		{"batch: 8 GiB\n", `c.yaml:1: batch: "8 GiB" is not a number`},
		{"layers: 2\nhidden: 100\nheads: 7\nvocab: 100\n", "c.yaml:3: heads: 7 does not divide hidden 100, so a head has no whole width; take 5"},
		{"arch: llama\nlayers: 2\nhidden: 96\nheads: 12\nkv_heads: 5\nvocab: 100\n", "c.yaml:5: kv_heads: 5 does not divide heads 12"},
		{"model: llama-3-8b\nbatch: 1\nseq: 128\ntensor: 3\ngpus: 3\n", "c.yaml:4: tensor: 3 does not divide heads 32"},
		{"model: gpt2\nbatch: 1\nseq: 2048\n", "c.yaml:3: seq: 2048 tokens but 1024 positions"},
		{"params: 7B\nzero: 4\n", "c.yaml:2: zero: 4; stages are"},
		{"params: 7B\nzero: 1\ngpus: 8\ntensor: 3\n", "c.yaml:3: gpus: 8 cannot be divided"},
		{"batch: 1\nbatch: 2\n", "c.yaml:2: batch: given twice, first on line 1"},
		{"model: llama-4-8b\n", `c.yaml:1: model: "llama-4-8b" is not a model that is known here; did you mean llama-3-8b`},
		{"model:\n  layers: 2\ntraining:\n  bach: 2\n", "c.yaml:4: bach: unknown setting; did you mean batch"},
		{"batch: 1\nbatch_size: 2\n", "c.yaml:2: batch_size: the same as batch on line 1"},
		{"dropout: 2\n", `c.yaml:1: dropout: "2" is not a probability`},
		{"gpu: h300\n", `c.yaml:1: gpu: "h300" is not a card that is known here; did you mean h100`},
		{`{"model_type": "llama", "hidden_size": 64}`, "c.yaml:1: num_hidden_layers: not given, and model_type llama needs it"},
		{`{"model_type": "mamba"}`, `c.yaml:1: model_type: "mamba" is not known here`},
		{"{\"model_type\": \"gpt2\", \"n_layer\": 2,\n \"n_embd\": 10, \"n_head\": 3}", "c.yaml:2: heads: 3 does not divide hidden 10"},
		{"[1]\n", "c.yaml:1: a list where a configuration belongs"},
	} {
		_, err := ParseConfig("c.yaml", []byte(x.file))
		if err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%q:\n got %v\nwant %s", x.file, err, x.want)
		}
	}
}

func TestConfigFile(t *testing.T) {
	c, err := ParseConfig("c.yaml", []byte("model: llama-3-8b\ntraining:\n  batch: 4\n  seq: 4096\n  precision: amp\n  gradient_checkpointing: true\nparallel:\n  zero: 3\n  gpus: 8\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(c.Model.Name, c.Batch, c.Seq, c.Precision, c.Checkpoint, c.ZeRO, c.GPUs)
	if want := "llama-3-8b 4 4096 bf16-amp full 3 8\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWith(t *testing.T) {
	c := mustConfig(t, map[string]string{"params": "1.5B", "batch": "8", "per_device_train_batch_size": "16", "checkpoint": "True"})
	if c.Model.Params != 1_500_000_000 || c.Checkpoint != FullCheckpoint {
		t.Errorf("got %+v", c)
	}
	for _, x := range []struct{ set, want string }{
		{"bf16=true", "bf16-amp adamw 0 "}, {"mixed_precision=fp16", "fp16-amp adamw 0 "}, {"optim=adamw_torch_fused", "fp32 adamw 0 fused"},
		{"fsdp=full_shard", "fp32 adamw 3 "}, {"fsdp=shard_grad_op", "fp32 adamw 2 "}, {"precision=16-mixed", "fp16-amp adamw 0 "}, {"optim=paged_adamw_8bit", "fp32 adamw8bit 0 "},
	} {
		k, v, _ := strings.Cut(x.set, "=")
		c := mustConfig(t, map[string]string{k: v})
		if got := fmt.Sprint(c.Precision, " ", c.Optimizer, " ", c.ZeRO, " ", c.Kernel); got != x.want {
			t.Errorf("%s: %s, want %s", x.set, got, x.want)
		}
	}
	// A model comes before what changes it, whatever the order of the keys.
	c = mustConfig(t, map[string]string{"layers": "3", "model": "gpt2", "arch": "gpt"})
	if c.Model.Layers != 3 || c.Model.Hidden != 768 {
		t.Errorf("got %+v", c.Model)
	}
}

func TestExampleConfig(t *testing.T) {
	data, err := os.ReadFile("../examples/train.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig("train.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Estimate(c)
	if err != nil || len(l.Cards()) != 1 || !l.Cards()[0].Fits() {
		t.Errorf("%v: %+v", err, l.Cards())
	}
}
