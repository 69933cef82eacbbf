package attribution

import (
	"slices"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// A feature is a set of facts about a frame, or about a stack.
type feature uint32

const (
	isEmpty       feature = 1 << iota // no frames
	isNative                          // has C++ frames
	isPython                          // has Python frames
	onAutograd                        // ran on a thread of the autograd engine
	inBackwardAPI                     // Tensor.backward, autograd.grad: the main thread, which then waits
	inOptimizer                       // an optimizer's step
	inStateInit                       // where an optimizer makes its state
	inStateLoad                       // Optimizer.load_state_dict
	inZeroGrad
	inModuleCall // nn.Module.__call__, or compiled code in its place
	inFunctional // torch.nn.functional
	inParameter  // makes, moves or converts parameters
	inModuleInit // initialises parameters
	inUserInit   // a constructor of the user's
	inLoad       // torch.load, safetensors
	inDeepCopy   // tensor.__deepcopy__ of a plain storage: buffers, since parameters have their own
	inCheckpoint // recomputation by torch.utils.checkpoint
	inCollective
	inFSDP
	inFSDPReduce // where FSDP makes the sharded gradient
	inDDPBucket  // where DistributedDataParallel makes its buckets
	inCuBLAS     // creates a cuBLAS handle or workspace
	inData       // torch.utils.data
	inScaler     // GradScaler
	inClip       // clip_grad_norm_
	inAccumulate // AccumulateGrad, C++
	inCompiledBackward
	inGraphCapture
)

func (f feature) has(any feature) bool { return f&any != 0 }

// frameFeatures says what a frame alone tells.
func frameFeatures(f *snapshot.Frame) feature {
	if !f.IsPython() {
		return isNative | nativeFeatures(f.Function)
	}
	file := strings.ReplaceAll(f.File, `\`, "/")
	return isPython | optimizerFeatures(file, f.Function) | moduleFeatures(f, file) | compilerFeatures(file, f.Function) |
		trainingFeatures(file, f.Function) | distributedFeatures(file, f.Function) | loadingFeatures(file, f.Function)
}

// nativeFeatures reads C++ names, which are there with stacks="all".
func nativeFeatures(name string) (b feature) {
	if strings.Contains(name, "torch::autograd::Engine::") ||
		strings.Contains(name, "autograd::generated::") && strings.Contains(name, "Backward") {
		b |= onAutograd
	}
	if strings.Contains(name, "AccumulateGrad") {
		b |= inAccumulate | onAutograd
	}
	if containsAny(name, "CUDABlasHandle", "CUDABlasWorkspace", "CUDABlasLtWorkspace", "getCUDABlas") ||
		strings.Contains(name, "orkspace") && strings.Contains(strings.ToLower(name), "cublas") {
		b |= inCuBLAS
	}
	if containsAny(name, "ncclComm", "ProcessGroupNCCL") || strings.Contains(name, "c10d::") && containsAny(name, "allgather", "reduce") {
		b |= inCollective
	}
	return b
}

// optimizerFeatures knows the functions of torch.optim and of packages laid out
// like it. optimizer.py:wrapper is profile_hook_step, with which torch surrounds
// the step of every subclass of Optimizer, users' own included.
func optimizerFeatures(file, name string) (b feature) {
	if strings.Contains(name, "zero_grad") {
		b |= inZeroGrad
	}
	if !containsAny(file, "/optim/", "/optimizers/") {
		return b
	}
	switch {
	case name == "_init_group", hasAnyPrefix(name, "_init_state", "init_state"):
		b |= inOptimizer | inStateInit
	case hasAnyPrefix(name, "_multi_tensor", "_single_tensor", "_fused", "_init_group"):
		b |= inOptimizer
	case oneOf(name, "step", "wrapper", "_use_grad") && !strings.Contains(file, "lr_scheduler"):
		b |= inOptimizer
	case oneOf(name, "load_state_dict", "_process_value_according_to_param_policy"):
		b |= inStateLoad
	}
	return b
}

// moduleFeatures knows torch.nn: calls, constructors, conversions.
func moduleFeatures(f *snapshot.Frame, file string) feature {
	name, modules := f.Function, strings.Contains(file, "/torch/nn/modules/")
	switch {
	case strings.HasSuffix(file, "torch/nn/modules/module.py") && oneOf(name, "_call_impl", "_wrapped_call_impl", "_slow_forward"):
		return inModuleCall
	case modules && oneOf(name, "_apply", "convert", "to_empty", "flatten_parameters", "_init_flat_weights"):
		return inParameter
	case modules && name == "__init__", strings.HasSuffix(file, "torch/nn/parameter.py"):
		return inModuleInit | inParameter
	case name == "reset_parameters", strings.HasSuffix(file, "torch/nn/init.py"):
		return inModuleInit
	case strings.HasSuffix(file, "torch/storage.py") && name == "__deepcopy__":
		return inDeepCopy
	case strings.HasSuffix(file, "torch/nn/functional.py"):
		return inFunctional
	case name == "__init__" && !f.IsLibrary() && !strings.Contains(file, "torchinductor"):
		return inUserInit
	}
	return 0
}

// compilerFeatures knows what runs in place of modules under torch.compile, and
// CUDA graphs.
func compilerFeatures(file, name string) (b feature) {
	functorch := strings.Contains(file, "/torch/_functorch/")
	if strings.Contains(file, "/torch/_inductor/output_code.py") || functorch && hasAnyPrefix(name, "forward", "call_func") {
		b |= inModuleCall
	}
	if functorch && oneOf(name, "_backward_impl", "backward") {
		b |= inCompiledBackward
	}
	if strings.HasSuffix(file, "torch/cuda/graphs.py") {
		b |= inGraphCapture
	}
	return b
}

// trainingFeatures knows what surrounds a backward.
func trainingFeatures(file, name string) (b feature) {
	if hasAnySuffix(file, "torch/autograd/__init__.py", "torch/autograd/graph.py") &&
		oneOf(name, "backward", "_make_grads", "_engine_run_backward", "grad") ||
		strings.HasSuffix(file, "torch/_tensor.py") && name == "backward" {
		b |= inBackwardAPI
	}
	if strings.HasSuffix(file, "torch/utils/checkpoint.py") && oneOf(name, "unpack_hook", "recompute_fn", "backward") {
		b |= inCheckpoint
	}
	if strings.HasSuffix(file, "amp/grad_scaler.py") {
		b |= inScaler
	}
	if strings.HasSuffix(file, "nn/utils/clip_grad.py") {
		b |= inClip
	}
	return b
}

// distributedFeatures knows FSDP (both versions), DistributedDataParallel and
// the collectives.
func distributedFeatures(file, name string) (b feature) {
	if containsAny(file, "/torch/distributed/fsdp/", "/torch/distributed/_composable/fsdp/", "fully_shard") {
		b |= inFSDP | fsdpFeatures(name)
	}
	if strings.HasSuffix(file, "nn/parallel/distributed.py") {
		switch name {
		case "_pre_forward", "_ddp_init_helper", "_rebuild_buckets":
			b |= inCollective | inDDPBucket
		case "__init__", "_set_forward_pass_work_handle", "_sync_module_states", "_sync_params_and_buffers",
			"_verify_param_shape_across_processes":
			b |= inCollective
		}
	}
	if hasAnySuffix(file, "distributed/distributed_c10d.py", "_functional_collectives.py", "distributed/utils.py") {
		b |= inCollective
	}
	return b
}

func fsdpFeatures(name string) (b feature) {
	if oneOf(name, "flatten_tensors", "flatten_tensors_into_flat_param", "_init_flat_param_and_metadata",
		"_init_sharded_param", "shard", "_get_shard", "init_unsharded_param_sd") {
		b |= inParameter
	}
	if hasAnyPrefix(name, "_alloc_storage", "alloc_storage", "wait_for_unshard", "alloc_all_gather", "_all_gather_flat_param",
		"foreach_all_gather", "unshard", "init_all_gather", "foreach_reduce", "reduce_scatter", "_reduce_grad", "all_gather", "allocate") {
		b |= inCollective
	}
	if oneOf(name, "foreach_reduce", "_reduce_grad", "_reduce_grad_no_shard", "_post_backward_hook",
		"_post_backward_reshard", "_finalize_params") {
		b |= inFSDPReduce
	}
	return b
}

// loadingFeatures knows where data and weights come from.
func loadingFeatures(file, name string) (b feature) {
	if strings.Contains(file, "/torch/utils/data/") || strings.Contains(name, "collate") && strings.Contains(file, "/torch/") {
		b |= inData
	}
	if hasAnySuffix(file, "torch/serialization.py", "safetensors/torch.py") {
		b |= inLoad
	}
	if oneOf(name, "set_module_tensor_to_device", "_load_state_dict_into_meta_model") || strings.Contains(name, "load") &&
		hasAnySuffix(file, "transformers/modeling_utils.py", "transformers/core_model_loading.py", "accelerate/utils/modeling.py") {
		b |= inParameter
	}
	return b
}

func oneOf(s string, list ...string) bool { return slices.Contains(list, s) }

func containsAny(s string, list ...string) bool {
	return slices.ContainsFunc(list, func(part string) bool { return strings.Contains(s, part) })
}

func hasAnyPrefix(s string, list ...string) bool {
	return slices.ContainsFunc(list, func(part string) bool { return strings.HasPrefix(s, part) })
}

func hasAnySuffix(s string, list ...string) bool {
	return slices.ContainsFunc(list, func(part string) bool { return strings.HasSuffix(s, part) })
}
