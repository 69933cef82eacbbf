package budget

import (
	"fmt"
	"slices"
	"strings"
)

// Keys of a point that the model knows the meaning of. Other keys are the user's.
const (
	keyBatch      = "batch"
	keySeq        = "seq"
	keyLayers     = "layers"
	keyHidden     = "hidden"
	keyHeads      = "heads"
	keyVocab      = "vocab"
	keyParams     = "params"
	keyAttention  = "attention"
	keyCheckpoint = "checkpoint"
	keyPrecision  = "precision"
	keyOptimizer  = "optimizer"
)

// numberKeys and wordKeys are the known keys in the order that text names them.
var (
	numberKeys = []string{keyBatch, keySeq, keyLayers, keyHidden, keyHeads, keyVocab, keyParams}
	wordKeys   = []string{keyAttention, keyCheckpoint, keyPrecision, keyOptimizer}
)

// otherNames are what trainers and Hugging Face configurations call the same.
var otherNames = map[string]string{
	"batch_size": keyBatch, "micro_batch_size": keyBatch, "micro_batch": keyBatch, "per_device_train_batch_size": keyBatch,
	"seq_len": keySeq, "seq_length": keySeq, "sequence_length": keySeq, "sequence": keySeq, "context_length": keySeq,
	"num_layers": keyLayers, "n_layer": keyLayers, "n_layers": keyLayers, "num_hidden_layers": keyLayers,
	"hidden_size": keyHidden, "n_embd": keyHidden, "d_model": keyHidden,
	"num_heads": keyHeads, "n_head": keyHeads, "n_heads": keyHeads, "num_attention_heads": keyHeads,
	"vocab_size": keyVocab, "parameters": keyParams, "num_parameters": keyParams, "n_params": keyParams,
	"attn_implementation": keyAttention, "attn": keyAttention,
	"checkpointing": keyCheckpoint, "activation_checkpointing": keyCheckpoint, "gradient_checkpointing": keyCheckpoint,
	"dtype": keyPrecision, "optim": keyOptimizer,
}

// keyName is the name of a key in points and models.
func keyName(name string) string {
	lower := strings.ToLower(name)
	if known, ok := otherNames[lower]; ok {
		return known
	}
	if slices.Contains(numberKeys, lower) || slices.Contains(wordKeys, lower) {
		return lower
	}
	return name
}

// symbols are how formulas write the numbers.
var symbols = map[string]string{keyBatch: "b", keySeq: "s", keyLayers: "L", keyHidden: "h", keyHeads: "a", keyVocab: "V", keyParams: "P"}

func symbol(key string) string {
	if s, ok := symbols[key]; ok {
		return s
	}
	return key
}

// precisionKind is what a precision means for the bytes of an element.
type precisionKind uint8

const (
	precisionUnknown precisionKind = iota
	fullPrecision                  // everything in 32 bits
	mixedPrecision                 // 32-bit weights, matrix products in 16 bits (autocast)
	halfPrecision                  // everything in 16 bits
)

func precisionOf(word string) precisionKind {
	w := strings.ToLower(word)
	switch {
	case containsAny(w, "amp", "mixed", "autocast"):
		return mixedPrecision
	case containsAny(w, "bf16", "fp16", "bfloat16", "float16", "half", "16-true"):
		return halfPrecision
	case containsAny(w, "32", "full", "float"):
		return fullPrecision
	}
	return precisionUnknown
}

// pick chooses a figure by precision; a precision that is not known counts as mixed.
func (p precisionKind) pick(full, mixed, half float64) float64 {
	switch p {
	case fullPrecision:
		return full
	case halfPrecision:
		return half
	}
	return mixed
}

// fusedAttention reports whether an attention never stores the s×s scores.
func fusedAttention(word string) bool {
	w := strings.ToLower(word)
	return containsAny(w, "sdpa", "flash", "fused", "efficient", "xformers", "flex", "cudnn")
}

// checkpointKind is how much of the activations is recomputed in the backward.
type checkpointKind uint8

const (
	noCheckpoint        checkpointKind = iota
	selectiveCheckpoint                // the attention alone is recomputed
	fullCheckpoint                     // every layer keeps only its input
)

func checkpointOf(word string) checkpointKind {
	switch strings.ToLower(word) {
	case "", "false", "none", "no", "off", "0":
		return noCheckpoint
	case "selective", "attention":
		return selectiveCheckpoint
	}
	return fullCheckpoint
}

// optimizerState is the textbook's bytes of state per parameter, with 32-bit
// state where the optimizer has no other; 0 when its name is not known.
func optimizerState(word string) float64 {
	w := strings.ToLower(word)
	switch {
	case containsAny(w, "8bit", "8-bit", "adam8"):
		return 2
	case strings.Contains(w, "adafactor"):
		return 0.1
	case strings.Contains(w, "adam"), strings.Contains(w, "lamb"):
		return 8
	case containsAny(w, "sgd", "momentum", "lion", "muon", "rmsprop", "adagrad"):
		return 4
	}
	return 0
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// condition is one word that a term depends on.
type condition struct{ Key, Level string }

func (c condition) String() string { return fmt.Sprintf("%s=%s", c.Key, c.Level) }
