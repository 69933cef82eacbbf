package trainlog

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// mib and gib are bytes.
const (
	mib = 1 << 20
	gib = 1 << 30
)

// spellings are lines as frameworks and scripts print them, with the curves that
// they make: metric, source, first and last value in the printed unit, the unit
// with the size taken for it, what decided that, and what the steps are.
var spellings = []struct{ name, lines, want string }{
	{"memory_allocated in GB", "step 1 allocated 1.25 GB\nstep 2 allocated 1.50 GB", "allocated 1.25–1.5 GB 1024 assumed, step 1–2"},
	{"the corpus's form", "[step     10] allocated 0.142 GB, reserved 0.229 GB, peak 0.209 GB, time 1.201s",
		"allocated 0.142 GB 1024 assumed, step 10; reserved 0.229 GB 1024 assumed, step 10; peak 0.209 GB 1024 assumed, step 10"},
	{"key=value", "iter=5 alloc=1.20GB reserved=2.00GB peak=1.90GB",
		"allocated 1.2 GB 1024 assumed, step 5; reserved 2 GB 1024 assumed, step 5; peak 1.9 GB 1024 assumed, step 5"},
	{"unit in the key", "step 3: allocated_gb=1.5, reserved_mib=2048.0", "allocated 1.5 GB 1024 assumed, step 3; reserved 2048 MiB 1024 stated, step 3"},
	{"unit in parentheses", "after rollout, memory allocated (GB): 12.3456, memory reserved (MB): 20480.0, memory max reserved (GB): 30.5",
		"allocated 12.3456 GB 1024 assumed, line 0; reserved 20480 MB 1024 assumed, line 0; peak_reserved 30.5 GB 1024 assumed, line 0"},
	{"words after the number", "GPU memory: 1.23GB allocated, 2.34GB reserved", "allocated 1.23 GB 1024 assumed, line 0; reserved 2.34 GB 1024 assumed, line 0"},
	{"no comma", "CUDA Memory: 411.50 MB allocated 880.00 MB reserved", "allocated 411.5 MB 1024 pages, line 0; reserved 880 MB 1024 pages, line 0"},
	{"bars", "[VRAM] Allocated: 512.25 MB | Reserved: 600.00 MB", "allocated 512.25 MB 1024 pages, line 0; reserved 600 MB 1024 pages, line 0"},
	{"maximum in parentheses", "DEBUG GPU: ALLOCATED:  1.250GiB (max:  3.500GiB);  CACHED:  4.000GiB (max:  5.000GiB)",
		"allocated 1.25 GiB 1024 stated, line 0; peak 3.5 GiB 1024 stated, line 0; reserved 4 GiB 1024 stated, line 0; peak_reserved 5 GiB 1024 stated, line 0"},
	{"pairs", "Allocated / Reserved: 4162.88MB / 23816.00MB\nMax Allocated / Max Reserved: 18706.66MB / 23816.00MB",
		"allocated 4162.88 MB 1024 pages, line 0; reserved 23816 MB 1024 pages, line 0; peak 18706.66 MB 1024 pages, line 0; peak_reserved 23816 MB 1024 pages, line 0"},
	{"of a total", "step 7 GPU Memory: 12.50 / 79.15 GB (15.8% used) | Peak: 14.25 GB", "used 12.5 GB 1024 assumed, step 7; peak 14.25 GB 1024 assumed, step 7; total 79.15 GB"},
	{"bytes without a unit", "step 4 torch.cuda.memory_allocated() = 140227072\nstep 5 torch.cuda.memory_allocated() = 140227584", "allocated 140227072–140227584 bytes 1024 stated, step 4–5"},
	{"bytes with thousands", "step 4: max memory allocated: 140,227,072 bytes", "peak 140227072 bytes 1024 stated, step 4"},
	{"several GPUs", "GPU 0: Current Memory Allocated: 1.50 GB, Max Memory Allocated: 2.00 GB\nGPU 1: Current Memory Allocated: 1.75 GB, Max Memory Allocated: 2.25 GB",
		"allocated gpu 0 1.5 GB 1024 assumed, line 0; peak gpu 0 2 GB 1024 assumed, line 0; allocated gpu 1 1.75 GB 1024 assumed, line 0; peak gpu 1 2.25 GB 1024 assumed, line 0"},
	{"cuda:1", "cuda:1 memory reserved: 3.00 GiB", "reserved gpu 1 3 GiB 1024 stated, line 0"},
	{"nanoGPT with memory", "iter 120: loss 3.1415, time 210.12ms, mfu 21.50%, mem 10.75GB", "used 10.75 GB 1024 assumed, step 120"},
	{"validation beside", "step 100: train loss 2.1, val loss 2.2, mem 3.00GiB", "used 3 GiB 1024 stated, step 100"},
	{"emoji and Chinese", "第 3 轮 显存: 12.5 GiB", "used 12.5 GiB 1024 stated, line 0"},

	{"DeepSpeed see_memory_usage", "[2026-03-01 10:00:00,123] [INFO] [utils.py:800:see_memory_usage] MA 4.96 GB         Max_MA 5.09 GB         CA 6.39 GB         Max_CA 6 GB \n" +
		"[2026-03-01 10:00:00,124] [INFO] [utils.py:807:see_memory_usage] CPU Virtual Memory:  used = 50.50 GB, percent = 40.2%",
		"allocated 4.96 GB 1024 program, second 0; peak 5.09 GB 1024 program, second 0; reserved 6.39 GB 1024 program, second 0; peak_reserved 6 GB 1024 program, second 0"},
	{"DeepSpeed timer", "[INFO] [logging.py:69:log_dist] [Rank 0] step=40, skipped=2, lr=[5e-05]\n[INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.4, MemAllocated=0.26GB, MaxMemAllocated=9.02GB",
		"allocated 0.26 GB 1024 program, step 40; peak 9.02 GB 1024 program, step 40"},
	{"Megatron", "[Rank 3] (after 2 iterations) memory (MB) | allocated: 65639.5 | max allocated: 96745.75 | reserved: 96884.0 | max reserved: 96884.0",
		"allocated rank 3 65639.5 MB 1024 program, step 2; peak rank 3 96745.75 MB 1024 program, step 2; reserved rank 3 96884 MB 1024 program, step 2; peak_reserved rank 3 96884 MB 1024 program, step 2"},
	{"Megatron Bridge", "run/0 [Rank 1] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 63.66 | mem-active-gigabytes: 63.66 | mem-inactive-gigabytes: 20.563 | mem-reserved-gigabytes: 182.2 | mem-max-allocated-gigabytes: 153.4 | mem-alloc-retires: 0 | mem-allocated-count: 507",
		"allocated rank 1 63.66 GB 1000 program, step 2; active rank 1 63.66 GB 1000 program, step 2; reserved rank 1 182.2 GB 1000 program, step 2; peak rank 1 153.4 GB 1000 program, step 2"},
	{"torchtitan", "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 14  loss:  3.24405  grad_norm:  0.8319  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%",
		"peak_reserved rank 0 9.46 GiB 1024 stated, step 14"},
	{"torchtitan in colour", "\x1b[31mstep:  3  \x1b[32mloss:  7.6 \x1b[33mmemory:  1.41GiB(1.79%)  \x1b[34mtps: 193,831\x1b[0m", "peak_reserved 1.41 GiB 1024 stated, step 3"},
	{"torchtune", "Step 5 | loss:1.02 lr:2e-05 tokens_per_second_per_gpu:23.6 peak_memory_active:47.32469940185547 peak_memory_alloc:47.32469940185547 peak_memory_reserved:52.001953125 ",
		"peak_active 47.3246994019 GB 1024 pages, step 5; peak 47.3246994019 GB 1024 pages, step 5; peak_reserved 52.001953125 GB 1024 pages, step 5"},
	{"Detectron2", "[11/17 01:18:50 d2.utils.events]:  eta: 16:59:41  iter: 18  total_loss: 2.855  time: 0.33  data_time: 0.03  lr: 3.79e-06  max_mem: 22645M", "peak 22645 M 1024 program, step 18"},
	{"MMEngine", "03/21 21:03:53 - mmengine - INFO - Epoch(train)  [2][ 10/90]  lr: 1.0e-02  eta: 0:00:25  time: 0.010  data_time: 0.000  memory: 5234  loss: 11.4", "peak 5234 MB 1024 program, step 100"},
	{"MMCV", "2026-05-08 18:56:16,649 - mmdet - INFO - Epoch [1][2400/7517]\tlr: 0.00125, eta: 4:33:09, time: 0.595, data_time: 0.032, memory: 6836, loss: 0.4890", "peak 6836 MB 1024 program, step 2400"},
	{"MetricLogger", "Epoch: [2]  [ 120/1251]  eta: 0:10:03  lr: 0.000100  loss: 3.21  time: 0.41  data: 0.0002  max mem: 5413", "peak 5413 MB 1024 program, step 1371"},
	{"Swin", "INFO Train: [1/300][20/1251]\teta 0:31:21 lr 0.000001\ttime 1.2 (1.5)\tloss 6.9 (6.9)\tmem 9843MB", "used 9843 MB 1024 assumed, step 20"},
	{"Ultralytics", "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n    151/200      10.4G     0.4635     0.2344      0.805       1578        640: 100%|██████████| 99/99 [01:52<00:00,  1.14s/it]",
		"reserved 10.4 G 1024 assumed, epoch 151"},
	{"fairseq", "2026-01-05 10:00:00 | INFO | train_inner | epoch 001:    100 / 8223 loss=9.1, ppl=550.1, wps=9620, num_updates=100, lr=1e-05, gnorm=3.1, gb_free=12.3, wall=60", "device_free 12.3 GB 1024 program, step 100"},
	{"verl", "step:7 - global_seqlen/min:1200 - actor/grad_norm:0.41 - perf/mfu/actor:0.31 - perf/max_memory_allocated_gb:41.5 - perf/max_memory_reserved_gb:45.25 - perf/cpu_memory_used_gb:120.5 - training/global_step:7",
		"peak 41.5 GB 1024 program, step 7; peak_reserved 45.25 GB 1024 program, step 7"},
	{"verl's phases", "Before update_actor, memory allocated (GB): 12.31, memory reserved (GB): 15.20, device memory used/total (GB): 20.10/79.15",
		"allocated 12.31 GB 1024 assumed, line 0; reserved 15.2 GB 1024 assumed, line 0; used 20.1 GB 1024 assumed, line 0; total 79.15 GB"},
	{"slime", "Memory-Usage after wake_up: {'gpu': '3', 'total_GB': 79.11, 'free_GB': 20.31, 'used_GB': 58.8, 'allocated_GB': 40.12, 'reserved_GB': 43.75}",
		"device_free gpu 3 20.31 GB 1024 assumed, line 0; used gpu 3 58.8 GB 1024 assumed, line 0; allocated gpu 3 40.12 GB 1024 assumed, line 0; reserved gpu 3 43.75 GB 1024 assumed, line 0; total gpu 3 79.11 GB"},
	{"Axolotl", "[2026-01-19 08:22:00,088] [INFO] [axolotl.load_model:625] [PID:6548] [RANK:2] GPU memory usage after adapters: 25.701GB (+0.071GB cache, +1.162GB misc)",
		"allocated rank 2 process 6548 25.701 GB 1024 program, second 0; reserved rank 2 process 6548 25.772 GB 1024 program, second 0; outside rank 2 process 6548 1.162 GB 1024 program, second 0"},
	{"OLMo", "[2026-04-17 09:42:26] INFO     [olmo.train:816, rank=0] [step=1/739328]\n    train/CrossEntropyLoss=11.25\n    System/Peak GPU Memory (MB)=42,133\n" +
		"[2026-04-17 09:42:38] INFO     [olmo.train:816, rank=0] [step=2/739328]\n    System/Peak GPU Memory (MB)=43,309",
		"peak_used 42133–43309 MB 1024 assumed, step 1–2"},
	{"Transformers trainer", "{'loss': 0.618, 'grad_norm': 1.2, 'learning_rate': 2.9e-05, 'epoch': 0.5, 'mem_gb': 3.5}\n{'loss': 0.518, 'grad_norm': nan, 'learning_rate': 2.8e-05, 'epoch': 1.0, 'mem_gb': 3.75}",
		"used 3.5–3.75 GB 1024 assumed, epoch 0.5–1"},
	{"Transformers metrics", "***** train metrics *****\n  before_init_mem_gpu        =      312MB\n  train_mem_gpu_alloc_delta  =     -153MB\n  train_mem_gpu_peaked_delta =     2012MB\n  train_mem_cpu_alloc_delta  =       64MB",
		"allocated 312 MB 1024 program, line 0; change -153 MB 1024 program, line 0; change 2012 MB 1024 program, line 0"},
	{"Optimum Habana", "{'loss': 0.6188, 'epoch': 0.09, 'memory_allocated (GB)': 3.82, 'max_memory_allocated (GB)': 6.32, 'total_memory_available (GB)': 29.85}",
		"allocated 3.82 GB 1024 assumed, epoch 0.09; peak 6.32 GB 1024 assumed, epoch 0.09; total 29.85 GB"},
	{"MS-Swift", "{'loss': 0.48, 'learning_rate': 1e-06, 'memory(GiB)': 69.19, 'train_speed(iter/s)': 0.010367, 'epoch': 0.26, 'global_step/max_steps': '12/94', 'percentage': '12.77%'}",
		"peak_reserved 69.19 GiB 1024 stated, step 12"},
	{"Composer", "[batch=40/4800]:\n         Train memory/current_allocated_mem: 15.2300\n         Train memory/peak_reserved_mem: 40.1250",
		"allocated 15.23 GB 1000 program, step 40; peak_reserved 40.125 GB 1000 program, step 40"},
	{"llama-recipes", "Max CUDA memory allocated was 14 GB\nMax CUDA memory reserved was 16 GB\nPeak active CUDA memory was 15 GB\nCUDA Malloc retries : 0\nCPU Total Peak Memory consumed during the train (max): 4 GB",
		"peak 14 GB 1024 assumed, line 0; peak_reserved 16 GB 1024 assumed, line 0; peak_active 15 GB 1024 assumed, line 0"},
	{"Accelerate", "GPU Memory before entering the train : 120\nGPU Memory consumed at the end of the train (end-begin): 4\nGPU Total Peak Memory consumed during the train (max): 3576\nCPU Memory before entering the train : 3000",
		"used 120 MB 1024 program, line 0; change 4 MB 1024 program, line 0; peak_used 3576 MB 1024 program, line 0"},
	{"a remark between", "[MEM] [GRPO step 003/009] after the inner loop (peak = training VRAM): current=12.95GB  peak_since_reset=21.38GB", "used 12.95 GB 1024 assumed, step 3; peak 21.38 GB 1024 assumed, step 3"},
	{"two steps", "Outer Step: 56 | Inner Step: 84 | Loss: 3.40 | GPU Mem: 18.45GB", "used 18.45 GB 1024 assumed, step 84"},
	{"a share before", "step 4: gpu_mem: 60.5% (48.2/80.0 GiB)", "used 48.2 GiB 1024 stated, step 4; total 81920 MiB"},
	{"of others", "other cuda used=1.00 GiB, ram free=100.0 GiB, cuda total=79.00 GiB", "outside 1 GiB 1024 stated, line 0; total 80896 MiB"},
	{"Chinese", "GPU显存使用: 已分配 1.20 GiB, 已保留 2.30 GiB", "allocated 1.2 GiB 1024 stated, line 0; reserved 2.3 GiB 1024 stated, line 0"},
	{"modded-nanogpt", "peak memory allocated: 29001 MiB reserved: 31460 MiB", "peak 29001 MiB 1024 stated, line 0; reserved 31460 MiB 1024 stated, line 0"},
	{"progress bar", "Epoch 1:  10%|█         | 12/120 [00:03<00:30,  3.52it/s, loss=0.31, mem=12.30GB]\rEpoch 1:  11%|█         | 13/120 [00:04<00:30,  3.52it/s, loss=0.31, mem=12.50GB]",
		"used 12.3–12.5 GB 1024 assumed, step 12–13"},
	{"plain bar", " 33%|███▎      | 3099/9297 [7:04:32<12:19:18,  7.16s/it, gpu_mem=3.5GiB]", "used 3.5 GiB 1024 stated, step 3099"},
	{"srun --label", "0: step 1 allocated 1.0 GiB\n1: step 1 allocated 2.0 GiB\n0: step 2 allocated 1.5 GiB\n1: step 2 allocated 2.5 GiB",
		"allocated rank 0 1–1.5 GiB 1024 stated, step 1–2; allocated rank 1 2–2.5 GiB 1024 stated, step 1–2"},
	{"numbers that count", "0: allocated 1.0 GiB\n10: allocated 1.1 GiB\n20: allocated 1.2 GiB\n30: allocated 1.3 GiB\n40: allocated 1.4 GiB\n50: allocated 1.5 GiB\n60: allocated 1.6 GiB\n70: allocated 1.7 GiB",
		"allocated 1–1.7 GiB 1024 stated, step 0–70"},
	{"a line of each task", "0: peak memory 1.0 GiB\n1: peak memory 2.0 GiB\n3: peak memory 3.0 GiB\n2: peak memory 2.5 GiB",
		"peak_used rank 0 1 GiB 1024 stated, line 0; peak_used rank 1 2 GiB 1024 stated, line 0; peak_used rank 3 3 GiB 1024 stated, line 0; peak_used rank 2 2.5 GiB 1024 stated, line 0"},
	{"torchrun --tee", "[default0]:step 1 allocated 1.0 GiB\n[default1]:step 1 allocated 2.0 GiB", "allocated rank 0 1 GiB 1024 stated, step 1; allocated rank 1 2 GiB 1024 stated, step 1"},
	{"Kubernetes", `{"log":"step 1 allocated 1.0 GiB\n","stream":"stdout","time":"2026-01-02T03:04:05.5Z"}` + "\n" + `{"log":"step 2 allocated 1.5 GiB\n","stream":"stdout","time":"2026-01-02T03:04:06.5Z"}`,
		"allocated 1–1.5 GiB 1024 stated, step 1–2"},
	{"CRI", "2026-01-02T03:04:05.600000000Z stdout F step 1 allocated 1.0 GiB", "allocated 1 GiB 1024 stated, step 1"},
	{"structured logging", `{"levelname":"INFO","asctime":"2026-01-02 03:04:05,123","message":"[rank1]: step 9 reserved 4.0 GiB"}`, "reserved rank 1 4 GiB 1024 stated, step 9"},
	{"logged values", `{"_step": 10, "train/loss": 2.5, "gpu/memory_allocated_gb": 3.25, "_timestamp": 1795988157.5}`, "allocated 3.25 GB 1024 assumed, step 10"},
	{"memory_stats", `{"step": 3, "rank": 1, "allocated_bytes.all.current": 512, "reserved_bytes.all.peak": 2097152, "allocated_bytes.small_pool.current": 512, "num_alloc_retries": 2, "num_ooms": 0}`,
		"allocated rank 1 512 bytes 1024 stated, step 3; peak_reserved rank 1 2097152 bytes 1024 stated, step 3; retries 2"},
	{"memory_stats, nested", `{"step": 3, "stats": {"allocated_bytes": {"all": {"current": 1024, "peak": 2048, "allocated": 9, "freed": 9}}, "num_ooms": 1}}`,
		"allocated 1024 bytes 1024 stated, step 3; peak 2048 bytes 1024 stated, step 3; ooms 1"},
	{"memory_stats, as Python prints it", "{'allocated_bytes': {'all': {'current': 1024, 'peak': 2048}}, 'num_alloc_retries': 0}", "allocated 1024 bytes 1024 stated, line 0; peak 2048 bytes 1024 stated, line 0"},
	{"memory_stats, as an OrderedDict", "step 4\nOrderedDict([('active_bytes.all.current', 512), ('allocated_bytes.all.current', 1024), ('allocated_bytes.all.freed', 9), ('num_alloc_retries', 3)])",
		"active 512 bytes 1024 stated, step 4; allocated 1024 bytes 1024 stated, step 4; retries 3"},
	{"memory_stats, a line each", "{\n  \"allocated_bytes.all.current\": 1024,\n  \"allocated_bytes.all.freed\": 77,\n  \"reserved_bytes.all.current\": 2097152\n}",
		"allocated 1024 bytes 1024 stated, line 0; reserved 2097152 bytes 1024 stated, line 0"},
	{"trainer_state.json", "{\n  \"epoch\": 1.0,\n  \"log_history\": [\n    {\"loss\": 1.5, \"gpu_mem_gb\": 3.5, \"step\": 10},\n    {\n      \"gpu_mem_gb\": 3.75, \"step\": 20}\n  ],\n  \"max_steps\": 20\n}",
		"used 3.5–3.75 GB 1024 assumed, step 10–20"},
	{"Lightning's metrics.csv", "DeviceStatsMonitor.on_train_batch_end/allocated_bytes.all.current,epoch,step,train_loss\n1024,0,9,\n,0,9,1.5\n2048,0,19,\n",
		"allocated 1024–2048 bytes 1024 stated, step 9–19"},
	{"values under a header", "step,allocated_gb,reserved_gb\n1,1.5,2.0\n2,1.75,2.0", "allocated 1.5–1.75 GB 1024 assumed, step 1–2; reserved 2–2 GB 1024 assumed, step 1–2"},
	{"nvidia-smi", "timestamp, index, memory.used [MiB], memory.total [MiB]\n2026/11/29 21:35:51.541, 0, 10 MiB, 81559 MiB\n2026/11/29 21:35:51.542, 1, 20 MiB, 81559 MiB\n2026/11/29 21:35:52.541, 0, 30 MiB, 81559 MiB\n2026/11/29 21:35:52.541, 1, [N/A], 81559 MiB",
		"device_used gpu 0 10–30 MiB 1024 stated, second 0–1; device_used gpu 1 20 MiB 1024 stated, second 0; total gpu 0 81559 MiB; total gpu 1 81559 MiB"},
	{"nvidia-smi, nounits and UUIDs", "memory.total [MiB], uuid, memory.used [MiB]\n81559, GPU-aa, 10\n81559, GPU-bb, 20\n", "device_used gpu 0 10 MiB 1024 stated, sample 0; device_used gpu 1 20 MiB 1024 stated, sample 0; total gpu 0 81559 MiB; total gpu 1 81559 MiB"},
	{"nvidia-smi, one column", "memory.used [MiB]\n555 MiB\n600 MiB", "device_used 555–600 MiB 1024 stated, sample 0–1"},
	{"nvidia-smi, no header", "2026/11/29 21:35:51.541, 0, 9211 MiB, 143771 MiB, 91 %\n2026/11/29 21:35:51.741, 0, 9669 MiB, 143771 MiB, 97 %", "device_used gpu 0 9211–9669 MiB 1024 stated, second 0–0.2; total gpu 0 143771 MiB"},
	{"nvidia-smi, neither header nor units", "2026/11/29 21:35:51.541, 0, 9211, 143771, 91\n", "device_used gpu 0 9211 MiB 1024 stated, second 0; total gpu 0 143771 MiB"},
	{"nvidia-smi, processes", "timestamp, pid, process_name, used_gpu_memory [MiB]\n2026/11/29 21:35:51.541, 4711, python, 555 MiB\n", "process_used process 4711 555 MiB 1024 stated, second 0"},
	{"nvidia-smi dmon", "# gpu     fb   bar1   ccpm\n# Idx     MB     MB     MB\n    0   1024      2      0\n    1   2048      2      0\n    0   1030      2      0", "device_used gpu 0 1024–1030 MiB 1024 stated, sample 0–1; device_used gpu 1 2048 MiB 1024 stated, sample 0"},
	{"nvidia-smi without options", "Sat Aug  1 13:44:11 2026\n+---+\n| NVIDIA-SMI 580.10   Driver Version: 580.10   CUDA Version: 13.0 |\n|   1  NVIDIA H200       On  | 00000000:19:00.0 Off |   0 |\n| N/A   30C    P0   60W / 700W |   9211MiB / 143771MiB |     91%      Default |\n|    1   N/A  N/A      12345      C   python3                  9200MiB |",
		"device_used gpu 1 9211 MiB 1024 stated, second 0; process_used gpu 1 process 12345 9200 MiB 1024 stated, second 0; total gpu 1 143771 MiB"},
	{"gpustat", "[0] NVIDIA A100-SXM4-80GB | 45'C,  98 % | 12345 / 81920 MB | user(12000M)\n[1] NVIDIA A100-SXM4-80GB | 45'C,  98 % |    12 / 81920 MB |",
		"device_used gpu 0 12345 MiB 1024 stated, sample 0; device_used gpu 1 12 MiB 1024 stated, sample 0; total gpu 0 81920 MiB; total gpu 1 81920 MiB"},
	{"rocm-smi", "device,VRAM Total Memory (B),VRAM Total Used Memory (B)\ncard0,68702699520,10977280\ncard1,68702699520,10981376", "device_used gpu 0 10977280 bytes 1024 stated, sample 0; device_used gpu 1 10981376 bytes 1024 stated, sample 0; total gpu 0 65520 MiB; total gpu 1 65520 MiB"},

	{"GPUs by name of a value", "{\"step\": 1, \"gpu0_mem_gb\": 1.5, \"gpu1_mem_gb\": 9.5}\n{\"step\": 2, \"gpu0_mem_gb\": 2.5, \"gpu1_mem_gb\": 9.5}",
		"used gpu 0 1.5–2.5 GB 1024 assumed, step 1–2; used gpu 1 9.5–9.5 GB 1024 assumed, step 1–2"},
	{"GPUs by name of a column", "step,gpu0_mem_gb,gpu1_mem_gb\n1,1.5,9.5\n2,2.5,9.5", "used gpu 0 1.5–2.5 GB 1024 assumed, step 1–2; used gpu 1 9.5–9.5 GB 1024 assumed, step 1–2"},
	{"GPUs by name of a key", "step=1 gpu0_mem=1.5GB gpu1_mem=9.5GB", "used gpu 0 1.5 GB 1024 assumed, step 1; used gpu 1 9.5 GB 1024 assumed, step 1"},
	{"ranks by name", "{\"step\": 1, \"rank0/allocated_gb\": 9.5, \"rank1/allocated_gb\": 1.5, \"lora_rank8_mem_gb\": 0.5}",
		"allocated rank 0 9.5 GB 1024 assumed, step 1; allocated rank 1 1.5 GB 1024 assumed, step 1; used 0.5 GB 1024 assumed, step 1"},
	{"GPUs with their sizes", "step 1 GPU0: 9.5/80GB GPU1: 1.5/80GB", "used gpu 0 9.5 GB 1024 assumed, step 1; used gpu 1 1.5 GB 1024 assumed, step 1; total gpu 0 81920 MiB; total gpu 1 81920 MiB"},
	{"before and after", "step 1 | mem before 9.50 GB | mem after 1.50 GB\nstep 2 | mem before 9.50 GB | mem after 2.50 GB",
		"used 9.5–9.5 GB 1024 assumed, step 1–2; used 1.5–2.5 GB 1024 assumed, step 1–2"},
	{"numbers among the words", "mem at 1 before 9.50 GB, mem at 1 after 1.50 GB\nmem at 2 before 9.50 GB, mem at 2 after 2.50 GB",
		"used 9.5–9.5 GB 1024 assumed, line 0–1; used 1.5–2.5 GB 1024 assumed, line 0–1"},
	{"columns of a kind", "step,model_mem_gb,act_mem_gb\n1,5.0,1.5\n2,5.0,2.5", "used 5–5 GB 1024 assumed, step 1–2; used 1.5–2.5 GB 1024 assumed, step 1–2"},

	{"nothing", "loading weights\nmodel has 7B parameters, 13 GB download\nCPU RAM: 12 GB used\nbandwidth 12 GB/s, memory clock 1500\nA100-80GB\nepoch 3 loss 0.5\nKV cache size: 12 GiB", ""},
}

func TestSpellings(t *testing.T) {
	for _, c := range spellings {
		t.Run(c.name, func(t *testing.T) {
			l := readText(t, c.lines)
			if got := describe(l); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// readText reads lines without asking for figures in them.
func readText(t *testing.T, lines string) *Log {
	t.Helper()
	r := newReader(Options{Name: "test"})
	var err error
	if isDocument(lines) {
		err = r.document(strings.NewReader(lines))
	} else {
		r.labels = labelsOf(lines)
		err = r.read(strings.NewReader(lines), nowhereToGo{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.finish()
}

type nowhereToGo struct{}

func (nowhereToGo) ReadRaw() int64 { return 0 }

// describe prints curves in the form of the table above.
func describe(l *Log) string {
	var out []string
	for _, s := range l.Series {
		text := s.Metric.String() + sourceText(s.Source)
		first, last := s.First(), s.Last()
		text += fmt.Sprintf(" %s %s %.0f %s, %s %s", span(first.Bytes/s.Scale(), last.Bytes/s.Scale(), s.Count), s.Unit.Text, s.Base(), s.Basis, s.StepBy,
			span(first.Step, last.Step, s.Count))
		out = append(out, text)
	}
	for _, tot := range l.Totals {
		out = append(out, "total"+sourceText(tot.Source)+fmt.Sprintf(" %s", totalText(tot.Bytes)))
	}
	for _, c := range l.Counters {
		if c.Retries > 0 {
			out = append(out, fmt.Sprintf("retries %d", c.Retries))
		}
		if c.OOMs > 0 {
			out = append(out, fmt.Sprintf("ooms %d", c.OOMs))
		}
	}
	return strings.Join(out, "; ")
}

func totalText(bytes float64) string {
	switch {
	case math.Mod(bytes, mib) == 0:
		return fmt.Sprintf("%v MiB", bytes/mib)
	case math.Abs(bytes/gib*100-math.Round(bytes/gib*100)) < 1e-6:
		return fmt.Sprintf("%.2f GB", bytes/gib)
	}
	return fmt.Sprintf("%.0f bytes", bytes)
}

func sourceText(s Source) (text string) {
	if s.Rank != Unknown {
		text += fmt.Sprintf(" rank %d", s.Rank)
	}
	if s.Device != Unknown {
		text += fmt.Sprintf(" gpu %d", s.Device)
	}
	if s.Process != "" {
		text += " process " + s.Process
	}
	if s.Run != 0 {
		text += fmt.Sprintf(" run %d", s.Run)
	}
	return text
}

func span(a, b float64, n int) string {
	plain := func(v, digits float64) string {
		return strconv.FormatFloat(math.Round(v*digits)/digits, 'f', -1, 64)
	}
	if n == 1 {
		return plain(a, 1e10)
	}
	return plain(a, 1e6) + "–" + plain(b, 1e6)
}
