package budget

// A Config is one training configuration: a model, what a step is given, and
// how the work is spread. Start from DefaultConfig, ParseConfig or KnownModel:
// the zero value is not usable. The keys that name its fields in files, on the
// command line and in With are listed by Settings.
type Config struct {
	Model Model

	Batch        int64 // sequences (or images) of one micro-batch on one GPU
	Seq          int64 // tokens of a sequence; of the encoder's input for arch t5
	TargetSeq    int64 // tokens of a target sequence for arch t5; 0 for Seq
	Accumulation int64 // micro-batches before an optimizer step

	Precision  Precision
	GradDType  DType // of .grad; "" for what Precision implies
	Attention  Attention
	Checkpoint Checkpoint
	KeepGrads  bool // zero_grad(set_to_none=False): gradients stay from step to step
	KeepLogits bool // the caller holds the logits until the step has ended, as out does in out = model(...)
	FP32Logits bool // the loss is that of logits converted to fp32; decoders of transformers convert them anyway

	Optimizer Optimizer
	Kernel    Kernel // how the optimizer's step runs
	Momentum  bool   // of SGD

	LoRARank    int64
	LoRATargets Targets
	Frozen      bool  // the base model is frozen; implied by LoRA
	Quant       DType // base weights of QLoRA; "" for those of Precision

	GPUs       int64 // of the whole job
	Tensor     int64 // tensor parallel size t
	SeqPar     bool  // sequence parallel, with Tensor
	Pipeline   int64 // pipeline stages p
	Microbatch int64 // micro-batches in flight in a pipeline; 0 for Accumulation
	Context    int64 // context parallel size
	Expert     int64 // expert parallel size
	ZeRO       int64 // stage 0 to 3; 3 is FSDP's full sharding
	Prefetch   int64 // sharded units that are gathered at once with ZeRO 3
	Offload    Offload
	Bucket     int64 // bytes of a gradient bucket of DDP or of the flat buffers of ZeRO 1 and 2

	GPU string // a name as in GPUs; "" when not decided
}

// A Precision says in which types weights, gradients and activations are.
type Precision string

// Precisions.
const (
	FP32       Precision = "fp32"
	BF16AMP    Precision = "bf16-amp"    // autocast: weights and gradients fp32, matrix products bf16
	FP16AMP    Precision = "fp16-amp"    // the same in fp16
	BF16Master Precision = "bf16-master" // 16-bit weights, and an fp32 master copy with the optimizer
	FP16Master Precision = "fp16-master"
	FP8Master  Precision = "fp8-master" // 8-bit weights, and an fp32 master copy
	BF16       Precision = "bf16"       // everything, moments included
	FP16       Precision = "fp16"
)

// A DType is the type of a tensor's elements.
type DType string

// Element types.
const (
	F32  DType = "fp32"
	B16  DType = "bf16"
	F16  DType = "fp16"
	F8   DType = "fp8"
	I8   DType = "int8"
	NF4  DType = "nf4"
	I64  DType = "int64"
	Bool DType = "bool"
)

// An Attention is how attention is computed.
type Attention string

// Attentions.
const (
	Eager     Attention = "eager"     // scores and probabilities are tensors
	SDPA      Attention = "sdpa"      // scaled_dot_product_attention picks: flash for 16 bits, memory-efficient for fp32
	Flash     Attention = "flash"     // the flash kernel
	Efficient Attention = "efficient" // the memory-efficient kernel
)

// A Checkpoint is what is recomputed in the backward.
type Checkpoint string

// Checkpoints.
const (
	NoCheckpoint        Checkpoint = "none"
	SelectiveCheckpoint Checkpoint = "selective" // scores, softmax and dropout of attention
	FullCheckpoint      Checkpoint = "full"      // every block, from its input
)

// An Optimizer names an optimizer.
type Optimizer string

// Optimizers.
const (
	SGD       Optimizer = "sgd"
	AdamW     Optimizer = "adamw"
	Adam      Optimizer = "adam"
	Adam8     Optimizer = "adamw8bit"
	Adafactor Optimizer = "adafactor"
	Lion      Optimizer = "lion"
	Muon      Optimizer = "muon"
)

// A Kernel is how an optimizer's step runs.
type Kernel string

// Kernels.
const (
	Foreach Kernel = "foreach" // all tensors at once, with temporaries as large as they: PyTorch's default on a GPU
	Fused   Kernel = "fused"   // one kernel, no temporaries
	ForLoop Kernel = "forloop" // tensor by tensor
)

// An Offload is what is kept in the memory of the host.
type Offload string

// Offloads.
const (
	NoOffload        Offload = "none"
	OffloadOptimizer Offload = "optimizer"  // states and master weights
	OffloadAll       Offload = "parameters" // these and the weights, fetched unit by unit
)

// Targets are the linear layers that LoRA adapts.
type Targets string

// Targets of LoRA.
const (
	TargetQV  Targets = "qv"        // query and value projections
	TargetAtt Targets = "attention" // all four projections
	TargetAll Targets = "all"       // every linear layer of a block
)

// DefaultConfig is a GPT in fp32 under AdamW on one GPU, without sizes.
func DefaultConfig() Config {
	return Config{
		Model:        Model{Arch: GPT}.withArch(),
		Accumulation: 1,
		Precision:    FP32,
		Attention:    SDPA,
		Checkpoint:   NoCheckpoint,
		Optimizer:    AdamW,
		Momentum:     true,
		LoRATargets:  TargetQV,
		GPUs:         1, Tensor: 1, Pipeline: 1, Context: 1, Expert: 1,
		Prefetch: 3,
		Offload:  NoOffload,
	}
}
