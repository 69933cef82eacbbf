package input

import (
	"encoding/binary"
	"strings"
	"testing"
)

const (
	bigNumbers  = "1795987324482061, 1795987324482061, 1795987324482118, 1795987324482612, 1795987324482826"
	summaryText = "|===========================================================================|\n" +
		"|                  PyTorch CUDA memory summary, device ID 0                 |\n"
)

// heads are beginnings of files; most are cut from real captures.
var heads = []struct {
	name, head string
	want       Kind
}{
	{"protocol 0", "(dp0\nVsegments\np1\n(lp2\n(dp3\nVdevice\np4\nI0\nsVaddress\np5\nL140136020967424L\ns", Pickle},
	{"protocol 0, cut", "(dp0\nVsegments\np1\n(lp", Pickle},
	{"protocol 0, empty dict", "(dp0\n.", Pickle},
	{"protocol 1", "}q\x00(X\x08\x00\x00\x00segmentsq\x01]q\x02(}q\x03(X\x06\x00\x00\x00deviceq\x04K\x00", Pickle},
	{"protocol 1, empty list", "].", Pickle},
	{"protocol 1, ordered dict", "ccollections\nOrderedDict\nq\x00)Rq\x01(X\x08\x00\x00\x00segmentsq\x02]", Pickle},
	{"protocol 2", "\x80\x02}q\x00(X\x08\x00\x00\x00segments", Pickle},
	{"protocol 2 from C++", "\x80\x02}(X\x08\x00\x00\x00segmentsq\x00](}(X", Pickle},
	{"protocol 3", "\x80\x03}q\x00(", Pickle},
	{"protocol 4", "\x80\x04\x95\xef\x02\x01\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94", Pickle},
	{"protocol 5", "\x80\x05\x95\xef", Pickle},
	{"protocol header alone", "\x80\x04", Pickle},
	{"protocol 6", "\x80\x06}.", Unknown},
	{"old torch.save", "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", LegacyCheckpoint},
	{"text like protocol 0", "(EngineCore pid=12) step 1", Text},
	{"text like an opcode walk", "(hello world) (]})", Text},
	{"brackets", "(]})", Text},
	{"text like a global", "collections\nfoo\nbar\nbaz\n", Text},

	{"snapshot", `{"segments": [{"device": 0, "address": 1`, SnapshotJSON},
	{"snapshot, another order", `{"source": {"a": [1, {}]}, "device_traces": [[`, SnapshotJSON},
	{"snapshot, settings first", `{"allocator_settings": {}`, SnapshotJSON},
	{"segments", "[\n {\n  \"device\": 0,\n  \"address\": 140552062369792,\n  \"total_size\": 2097152,", SegmentListJSON},
	{"segments, blocks first", `[{"blocks": [{"size": 512}]}]`, SegmentListJSON},
	{"no segments", " [ ] \n", SegmentListJSON},

	{"trace", "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    {", ChromeTrace},
	{"trace, events first", `{"traceEvents": [ {"ph": "M"`, ChromeTrace},
	{"trace of 2021", "{\n  \"schemaVersion\": 1,\n  \"computeProperties\": [\n", ChromeTrace},
	{"trace, distributed info first", `{"distributedInfo": {"backend": "nccl"`, ChromeTrace},
	{"trace, user key first", `{"my run": "x", "traceName": "a"}`, ChromeTrace},
	{"trace as a list", `[{"name": "aten::add", "ph": "X", "ts": 1`, ChromeTrace},
	{"trace as a list, metadata first", `[{"name": "m"}, {"cat": "x", "ph": "X"`, ChromeTrace},
	{"trace, deciding key beyond the head", `{"a": [{"ph": "X", "ts": 1` + strings.Repeat(" ", 100), ChromeTrace},
	{"trace, damaged header", `{"user": nan, "traceEvents": [`, ChromeTrace},
	{"schemaVersion of something else", `{"schemaVersion": 2, "layers": []}`, JSON},

	{"timeline", "[[" + bigNumbers + "], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]]", MemoryTimeline},
	{"timeline, cut", "[[" + bigNumbers, MemoryTimeline},
	{"timeline of four times", "[[1795987324482061, 1795987324482062, 1795987324482063, 1795987324482064], [[0, 1", MemoryTimeline},
	{"timeline, empty", "[[], []]", MemoryTimeline},
	{"raw timeline", "[[-1, 1, 4194304, 0], [-1, 1, 32768, 0], [", MemoryTimelineRaw},
	{"raw timeline without preexisting", "[[1795987324482061000, 2, 512, 4], [", MemoryTimelineRaw},
	{"matrix", "[[1, 2], [3, 4]]", JSON},

	{"stats", `{"step": 0, "time": 1795988160.03, "allocated_bytes.all.current": 139024896}` + "\n{", StatsJSONL},
	{"stats, nested", `{"step": 1, "allocated_bytes": {"all": {"current": 1}}}`, StatsJSONL},
	{"trainer", `{"loss": 1.5, "gpu_memory_gb": 3}` + "\n" + `{"loss": 1.4}`, StatsJSONL},
	{"JSON", `{"averages": [{"key": "aten::randint", "count": 4}]}`, JSON},
	{"JSON, empty", "{}", JSON},
	{"JSON, cut", `{"a": "b`, JSON},
	{"error message", `{"message": "Not Found"}`, JSON},

	{"log with a hole", strings.Repeat("step 1 allocated 1.0 GiB\n", 9) + strings.Repeat("\x00", 4096) + "step 2 allocated 1.0 GiB\n", TrainingLog},
	{"log cut to nothing while written", strings.Repeat("\x00", 4096) + "step 2 allocated 1.0 GiB\n", TrainingLog},
	{"UTF-16 without a mark", "s\x00t\x00e\x00p\x00 \x00a\x00l\x00l\x00o\x00c\x001\x00\n\x00", Unknown},
	{"words between zeros", strings.Repeat("alloc 1\x00\x00\x00\x02\x00\x00\x00", 9), Unknown},

	{"nvidia-smi", "timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n2026/11/29", SMICSV},
	{"nvidia-smi without header", "2026/11/29 21:35:59.991, 0, 9211 MiB, 143771 MiB, 91 %\n", SMICSV},
	{"nvidia-smi without header or time", "0, 9211 MiB, 143771 MiB, 91 %\n", SMICSV},
	{"nvidia-smi, one column", "memory.used [MiB]\n555 MiB\n", SMICSV},
	{"nvidia-smi, processes", "timestamp, pid, used_gpu_memory [MiB]\n2026/11/29", SMICSV},
	{"nvidia-smi dmon", "# gpu     fb   bar1   ccpm\n# Idx     MB     MB     MB\n    0   1024      2      0\n", SMICSV},
	{"nvidia-smi without options", "Sat Aug  1 13:44:11 2026\n+------+\n| NVIDIA-SMI 580.10   Driver Version: 580.10 |\n", SMICSV},
	{"rocm-smi", "device,VRAM Total Memory (B),VRAM Total Used Memory (B)\ncard0,68702699520,10977280\n", SMICSV},
	{"summary", summaryText, MemorySummary},
	{"log", "[step      0] allocated 0.129 GB, reserved 0.195 GB, peak 0.643 GB, time 0.010s\n", TrainingLog},
	{"log that starts like JSON", "[2024-05-01 12:00:01] INFO mem 12.3GiB\n", TrainingLog},
	{"log that starts like a list", "[0] warm-up\n[1] memory: 12 GB\n", TrainingLog},
	{"log of dicts", "{'loss': 0.3, 'step': 1}\n", Text},
	{"log of Detectron2", "iter: 18  total_loss: 2.855  lr: 3.7e-06  max_mem: 22645M\n", TrainingLog},
	{"log of YOLO", "      Epoch    GPU_mem   box_loss\n      1/100      10.4G     0.4635\n", TrainingLog},
	{"log of a container", `{"log":"step 1 allocated 1.0 GiB\n","stream":"stdout"}` + "\n", TrainingLog},
	{"trainer state", "{\n \"log_history\": [\n  {\"loss\": 1.5, \"gpu_mem_gb\": 3.5}]}", TrainingLog},
	{"nested stats", `{"step": 3, "stats": {"allocated_bytes": {"all": {"current": 1024}}}}`, StatsJSONL},
	{"what a program knew beside a snapshot", `{"time_us": 17, "stats": {"active.all.current": 167, "active_bytes.all.current": 416743936}, "params": []}`, StatsJSONL},
	{"values under a header", "step,allocated_gb,loss\n1,1.5,2.0\n", TrainingLog},
	{"values of another kind", "step,accuracy,loss\n1,1.5,2.0\n", Text},
	{"message without figures", `{"message": "Not Found", "documentation_url": "x"}`, JSON},
	{"log with colours", "\x1b[32mINFO\x1b[0m peak memory 12 GB\r\n", TrainingLog},
	{"log with a summary", "step 1\n" + summaryText + "| Allocated memory | 12 KiB |", TrainingLog},
	{"Latin-1", "Modell geladen, Gr\xf6\xdfe unbekannt, weiter geht es", Text},

	{"checkpoint", "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x10\x00\x00\x00archive/data.pkl\x80\x02", Checkpoint},
	{"checkpoint, format marker first", "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x17\x00\x00\x00model/.format_version11\nPK\x03\x04 model/data.pkl", Checkpoint},
	{"npz", "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x09\x00\x00\x00arr_0.npy\x93", NumPyZip},
	{"zip", "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x05\x00\x00\x00a.txtabc", Zip},
	{"zip, cut", "PK\x03\x04", Zip},
	{"safetensors", string(binary.LittleEndian.AppendUint64(nil, 100)) + `{"__metadata__":`, Safetensors},
	{"NumPy", "\x93NUMPY\x01\x00", NumPy},
	{"tar", "a.pickle" + strings.Repeat("\x00", 249) + "ustar\x0000", Tar},
	{"HTML", "<!DOCTYPE html>\n<html>", HTML},
	{"HTML, comment first", "\n<!-- saved -->\n<HTML lang=en>", HTML},
	{"XML", "<?xml version=\"1.0\"?><Error>", XML},
	{"Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", GitLFS},
	{"Python", "import torch\nfrom torch import nn\n\ndef main():\n    print(torch.cuda.memory_allocated(0))\n", Python},
	{"Python script", "#!/usr/bin/env python3\nprint(1)\n", Python},
	{"ELF", "\x7fELF\x02\x01", ELF},
	{"PNG", "\x89PNG\r\n\x1a\n\x00", PNG},
	{"JPEG", "\xff\xd8\xff\xe0", JPEG},
	{"Parquet", "PAR1\x15", Parquet},
	{"SQLite", "SQLite format 3\x00\x10", SQLite},
	{"xz", "\xfd7zXZ\x00\x00", XZ},
	{"zeros", strings.Repeat("\x00", 4096), Zeros},
	{"binary", "\x01\x02\x00\x9f\x10", Unknown},
	{"nothing", "", Text},
}

func TestRecognise(t *testing.T) {
	for _, c := range heads {
		if got := Recognise([]byte(c.head)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A deciding key is found behind any amount of other keys, and behind the start
// of an event list as long as the head.
func TestRecogniseLongHead(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       Kind
	}{
		{"header after metadata", `{"a": "` + strings.Repeat("x", 60<<10) + `", "traceEvents": [`, ChromeTrace},
		{"key behind the head", (`{"a": [` + strings.Repeat(`{"ph": "X", "ts": 1},`, 4<<10))[:HeadSize], ChromeTrace},
		{"segments of one block list", (`[{"device": 0, "x": [` + strings.Repeat(`{"total_size": 1, "blocks": []},`, 4<<10))[:HeadSize], SegmentListJSON},
		{"deep nesting", strings.Repeat("[", HeadSize), Unknown},
	} {
		if got := Recognise([]byte(c.head)); got != c.want && c.want != Unknown {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestKindText(t *testing.T) {
	seen := map[string]Kind{}
	for k := Unknown; k < numKinds; k++ {
		if k.String() == "" || k.Describe() == "" {
			t.Errorf("kind %d has no text", k)
		}
		if other, ok := seen[k.String()]; ok {
			t.Errorf("kinds %d and %d are both %q", other, k, k)
		}
		seen[k.String()] = k
	}
	if got := Checkpoint.Describe(); got != "a torch checkpoint (zip)" {
		t.Error(got)
	}
	if got := Kind(250).String(); got != "unknown" {
		t.Error(got)
	}
}

// Whatever the bytes, recognition ends without a panic.
func FuzzRecognise(f *testing.F) {
	for _, c := range heads {
		f.Add([]byte(c.head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if k := Recognise(head); k >= numKinds {
			t.Fatal(k)
		}
		detectFormat(head)
	})
}
