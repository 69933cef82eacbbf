package attribution

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snapview/snapview/trainlog"
)

// readLogs reads files of testdata/logs.
func readLogs(t *testing.T, names ...string) []*trainlog.Log {
	t.Helper()
	var logs []*trainlog.Log
	for _, name := range names {
		l, err := trainlog.Open(filepath.Join("../testdata/logs", name+".zst"))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	return logs
}

// logText reads lines as a file of a name.
func logText(t *testing.T, name, lines string) *trainlog.Log {
	t.Helper()
	l, err := trainlog.Read(strings.NewReader(lines), trainlog.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var allGPUs = LogOptions{Device: trainlog.Unknown}

// onlyRun judges logs that must be of one run.
func onlyRun(t *testing.T, logs ...*trainlog.Log) *LogRun {
	t.Helper()
	r := LogGrowth(logs, allGPUs)
	if len(r.Runs) != 1 {
		t.Fatalf("%d runs, want 1", len(r.Runs))
	}
	return &r.Runs[0]
}

func TestLogGrowthOfCaptures(t *testing.T) {
	for _, c := range []struct {
		files   string
		verdict GrowthVerdict
		shape   Shape
	}{
		{"leak.log", Leak, Monotonic},
		{"leak.stats.jsonl", Leak, Monotonic},
		{"leak.log leak.stats.jsonl leak.smi.csv leak.summary.txt", Leak, Monotonic},
		{"cache.log", Steady, Flat},
		{"cache.stats.jsonl", Steady, Flat},
		{"cache.log cache.stats.jsonl cache.smi.csv cache.summary.txt", Steady, Flat},
		{"stair.log", CacheGrowth, Staircase},
		{"stair.stats.jsonl", CacheGrowth, Staircase},
		{"stair.log stair.stats.jsonl stair.smi.csv stair.summary.txt", CacheGrowth, Staircase},
		{"leak.smi.csv", Inconclusive, Monotonic}, // nothing tells tensors from other processes
		{"leak.summary.txt", Inconclusive, Flat},
	} {
		g := onlyRun(t, readLogs(t, strings.Fields(c.files)...)...).Growth
		if g.Verdict != c.verdict || g.Shape != c.shape {
			t.Errorf("%s: %v, %v (%s); want %v, %v", c.files, g.Verdict, g.Shape, g.Why, c.verdict, c.shape)
		}
	}
}

// The slope of three printed decimals is that of the exact lines.
func TestLogSlopeOfPrintedLines(t *testing.T) {
	printed := onlyRun(t, readLogs(t, "leak.log")...).Growth
	exact := onlyRun(t, readLogs(t, "leak.stats.jsonl")...).Growth
	if off := math.Abs(printed.BytesPerStep/exact.BytesPerStep - 1); off > 0.02 || exact.BytesPerStep == 0 {
		t.Errorf("%.0f bytes a step from printed lines, %.0f from memory_stats: %.1f %% apart", printed.BytesPerStep, exact.BytesPerStep, 100*off)
	}
	if printed.Low > exact.BytesPerStep || printed.High < exact.BytesPerStep {
		t.Errorf("the interval %.0f to %.0f does not hold %.0f", printed.Low, printed.High, exact.BytesPerStep)
	}
}

// A printed GB of 1024³ bytes is told from one of 1000³: by the allocator's
// segments in the log alone where that suffices, else by exact lines beside it.
func TestLogUnits(t *testing.T) {
	for _, c := range []struct {
		files string
		basis trainlog.Basis
	}{
		{"leak.log", trainlog.Pages},
		{"stair.log", trainlog.Pages},
		{"cache.log", trainlog.Assumed},
		{"cache.log cache.stats.jsonl", trainlog.Compared},
	} {
		logs := readLogs(t, strings.Fields(c.files)...)
		r := onlyRun(t, logs...)
		for _, s := range logs[0].Series {
			if s.Basis != c.basis || s.Base() != 1024 {
				t.Errorf("%s: %s is decided by %v, base %.0f; want %v, 1024", c.files, s.Metric, s.Basis, s.Base(), c.basis)
			}
		}
		if said := strings.Contains(strings.Join(r.Notes, " "), "taken for"); said != (c.basis == trainlog.Assumed) {
			t.Errorf("%s: notes %q", c.files, r.Notes)
		}
	}
}

// stepLines are printed lines and memory_stats() of the same steps.
func stepLines(n int, base float64, allocated, reserved func(step int) float64) (printed, stats string) {
	var p, s strings.Builder
	for i := range n {
		fmt.Fprintf(&p, "step %d allocated %.2f GB reserved %.2f GB\n", i, allocated(i)/math.Pow(base, 3), reserved(i)/math.Pow(base, 3))
		fmt.Fprintf(&s, `{"step": %d, "time": %.3f, "allocated_bytes.all.current": %.0f, "reserved_bytes.all.current": %.0f, "num_alloc_retries": %d}`+"\n",
			i, 1.8e9+float64(i), allocated(i), reserved(i), i/4)
	}
	return p.String(), s.String()
}

func TestLogUnitsComparedDecimal(t *testing.T) {
	printed, stats := stepLines(8, 1000, func(i int) float64 { return 10e9 + float64(i)*1e8 }, func(int) float64 { return 20e9 })
	log := logText(t, "run.log", printed)
	onlyRun(t, log, logText(t, "run.stats.jsonl", stats))
	if s := log.Series[0]; s.Basis != trainlog.Compared || s.Base() != 1000 {
		t.Errorf("decided by %v, base %.0f: %s", s.Basis, s.Base(), s.Reason)
	}
}

// What is outside PyTorch comes from samples within the time of the log, whatever
// zone nvidia-smi's clock is in.
func TestLogOutside(t *testing.T) {
	const gib = 1 << 30
	for _, hours := range []int{0, 2, -5} {
		_, stats := stepLines(30, 1024, func(i int) float64 { return gib }, func(i int) float64 { return gib * float64(2+i/10) })
		var smi strings.Builder
		smi.WriteString("timestamp, index, memory.used [MiB], memory.total [MiB]\n")
		for i := -20; i < 50; i++ { // it ran before and after
			at := int64(1.8e9) + int64(hours*3600+i)
			used := 600 + 1024*(2+min(max(i, 0), 29)/10)
			fmt.Fprintf(&smi, "%s, 0, %d MiB, 8192 MiB\n", stamp(at), used)
		}
		r := onlyRun(t, logText(t, "run.stats.jsonl", stats), logText(t, "run.smi.csv", smi.String()))
		o := r.Outside
		if o == nil || !o.Joined || !o.UpperBound {
			t.Fatalf("clock ahead by %d h: %+v", hours, o)
		}
		if o.Median != 600<<20 || o.Unit != "step" || o.Samples < 29 || o.Samples > 30 {
			t.Errorf("clock ahead by %d h: %.0f bytes outside from %d samples by %s", hours, o.Median, o.Samples, o.Unit)
		}
		if r.Capacity != 8192<<20 || !r.Retries.Known || r.Retries.Last != 7 || len(r.Warnings) != 1 {
			t.Errorf("capacity %d, retries %+v, warnings %q", r.Capacity, r.Retries, r.Warnings)
		}
	}
}

// stamp prints a time as nvidia-smi does.
func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006/01/02 15:04:05.000") }

func TestLogRuns(t *testing.T) {
	line := "step %d allocated %d.5 GiB\n"
	text := func(from, to, plus int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, line, i, i*plus/10+1)
		}
		return b.String()
	}
	steady, leaking := text(0, 30, 0), text(0, 30, 10)
	ranks := func(n int) string {
		var b strings.Builder
		for i := range 30 {
			for rank := range n {
				fmt.Fprintf(&b, "[rank%d]: step %d allocated %d MiB\n", rank, i, 1000+rank*i)
			}
		}
		return b.String()
	}
	for _, c := range []struct {
		name string
		logs []*trainlog.Log
		want string
	}{
		{"two ranks in one file", []*trainlog.Log{logText(t, "a.log", ranks(2))}, "rank 0 steady, rank 1 leak"},
		{"ranks by file name", []*trainlog.Log{logText(t, "rank1.log", leaking), logText(t, "rank0.log", steady)}, "rank 0 steady, rank 1 leak"},
		{"ranks by folder", []*trainlog.Log{logText(t, "rank0/stdout.log", steady), logText(t, "rank1/stdout.log", steady)}, "rank 0 steady, rank 1 steady"},
		{"two runs", []*trainlog.Log{logText(t, "x/old.log", leaking), logText(t, "x/new.log", steady)}, "old.log leak, new.log steady"},
		{"a restart", []*trainlog.Log{logText(t, "a.log", leaking+text(20, 50, 10))}, "leak, restart 1 leak"},
		{"a validation between", []*trainlog.Log{logText(t, "a.log", text(0, 15, 10)+"step 3 of the evaluation\nloop step 1\nloop step 2\n"+text(15, 30, 10))}, "leak"},
	} {
		r := LogGrowth(c.logs, allGPUs)
		var got []string
		for _, run := range r.Runs {
			text := run.Name
			if run.Rank != trainlog.Unknown {
				text = fmt.Sprintf("rank %d", run.Rank)
			}
			if run.Restart > 0 {
				text += fmt.Sprintf("restart %d", run.Restart)
			}
			got = append(got, strings.TrimSpace(text+" "+run.Growth.Verdict.String()))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s; want %s", c.name, text, c.want)
		}
	}
}

func TestLogWarnings(t *testing.T) {
	full := logText(t, "a.log", strings.Repeat("GPU Memory: 10.00 / 80.00 GiB, reserved: 79.00 GiB\n", 6)+
		"step 12 done\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB of which 1.00 GiB is free. "+
		"Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated.\n")
	report := LogGrowth([]*trainlog.Log{full}, allGPUs)
	r := report.Worst()
	got := strings.Join(r.Warnings, "; ")
	want := "reserved memory reached 98.8% of the 80.0 GiB of the GPU; 1 allocation failed with an error message, the last on line 8 after step 12 for 2.00 GiB, with 70.0 GiB allocated of 80.0 GiB"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Only what is said about the GPU asked for counts.
func TestLogDevice(t *testing.T) {
	smi := "timestamp, index, memory.used [MiB]\n"
	for i := range 20 {
		smi += fmt.Sprintf("%s, 0, 500 MiB\n%[1]s, 1, %d MiB\n", stamp(1.8e9+int64(i)), 1000+i)
	}
	l := logText(t, "smi.csv", smi)
	if r := LogGrowth([]*trainlog.Log{l}, LogOptions{Device: 1}); len(r.Runs) != 1 || r.Runs[0].Device != 1 {
		t.Errorf("%+v", r.Runs)
	}
	if r := LogGrowth([]*trainlog.Log{l}, LogOptions{Device: 5}); len(r.Runs) != 0 {
		t.Errorf("%+v", r.Runs)
	}
}

// A sampler of the GPU runs before a program begins and after it ended; a tool may
// print what is free. Neither hides the growth in between.
func TestLogOfAGPU(t *testing.T) {
	climb := func(i int) int { return 9000 + 100*i }
	level := func(int) int { return 9000 }
	samples := func(before int, of func(int) int, n, after int) (values []int) {
		values = append(values, make([]int, before)...)
		for i := range n {
			values = append(values, of(i))
		}
		if after > 0 {
			values = append(append(values, 5000, 700), make([]int, after)...)
		}
		return values
	}
	for _, c := range []struct {
		name    string
		column  string
		values  []int
		verdict GrowthVerdict
		shape   Shape
		slope   float64 // MiB a second
		note    string
	}{
		{"climbs between idle times", "memory.used", samples(10, climb, 40, 12), Inconclusive, Monotonic, 100, "24 samples left out"},
		{"level between idle times", "memory.used", samples(10, level, 40, 12), Steady, Flat, 0, "24 samples left out"},
		{"two programs", "memory.used", append(samples(5, level, 20, 9), samples(0, climb, 30, 5)...), Inconclusive, Monotonic, 100, "at 2 times"},
		{"climbs slowly", "memory.used", samples(0, func(i int) int { return 500 + i }, 40, 0), Inconclusive, Monotonic, 1, ""},
		{"climbs slowly from next to nothing", "memory.used", samples(0, func(i int) int { return 1 + i }, 60, 0), Inconclusive, Monotonic, 1, ""},
		{"less and less free", "memory.free", samples(0, func(i int) int { return 70000 - 300*i }, 40, 0), Inconclusive, Monotonic, 300, "without the size of the GPU"},
		{"as much free", "memory.free", samples(0, level, 40, 0), Steady, Flat, 0, ""},
		{"more and more free", "memory.free", samples(0, climb, 40, 0), Steady, Flat, 0, ""},
		{"idle", "memory.used", samples(20, level, 0, 0), Steady, Flat, 0, ""},
	} {
		text := "timestamp, index, " + c.column + " [MiB]\n"
		for i, v := range c.values {
			text += fmt.Sprintf("%s, 0, %d MiB\n", stamp(1.8e9+int64(i)), v)
		}
		r := onlyRun(t, logText(t, "smi.csv", text))
		g := r.Growth
		if g.Verdict != c.verdict || g.Shape != c.shape || c.slope > 0 && math.Abs(g.Reserved.BytesPerStep/(1<<20)-c.slope) > 0.02*c.slope {
			t.Errorf("%s: %v, %v, %s; want %v, %v, %.0f MiB a second", c.name, g.Verdict, g.Shape, g.Why, c.verdict, c.shape, c.slope)
		}
		if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "left out") {
			t.Errorf("%s: notes %q; want %q", c.name, notes, c.note)
		}
	}
}

// Failures and counters belong to their ranks, however many there are.
func TestLogFailuresOfRanks(t *testing.T) {
	var b strings.Builder
	for step := range 8 {
		for rank := range 4 {
			fmt.Fprintf(&b, "[rank%d]: step %d allocated 1.5 GiB\n", rank, step)
		}
	}
	for k := range 40 {
		fmt.Fprintf(&b, "[rank%d]: CUDA out of memory. Tried to allocate 20.00 MiB\n", min(k, 3))
	}
	r := LogGrowth([]*trainlog.Log{logText(t, "train.log", b.String())}, allGPUs)
	for i, want := range []int{1, 1, 1, 37} {
		if got := r.Runs[i]; got.Rank != i || got.Failed != want {
			t.Errorf("rank %d: %d failures, want %d", got.Rank, got.Failed, want)
		}
	}
	only := logText(t, "train.log", "[rank0]: CUDA out of memory. Tried to allocate 20.00 MiB\n[rank2]: CUDA out of memory. Tried to allocate 20.00 MiB\n")
	if r := LogGrowth([]*trainlog.Log{only}, allGPUs); len(r.Runs) != 2 || r.Runs[1].Rank != 2 || r.Runs[1].Failed != 1 {
		t.Errorf("%d runs of a log with failures only", len(r.Runs))
	}
	counters := func(name string, ooms int) *trainlog.Log {
		return logText(t, name, fmt.Sprintf("{\"step\": 1, \"allocated_bytes.all.current\": 1024, \"num_ooms\": %d, \"num_alloc_retries\": 2}\n", ooms))
	}
	if r := onlyRun(t, counters("a.jsonl", 3), logText(t, "a.summary.txt", summaryOf(1))); r.OOMs != (LogCounter{true, 1, 3}) || r.Retries != (LogCounter{true, 1, 2}) {
		t.Errorf("counters of two files: %+v, %+v", r.OOMs, r.Retries)
	}
}

// summaryOf is a memory_summary() with a number of failures and retries.
func summaryOf(n int) string {
	return fmt.Sprintf("|===|\n| PyTorch CUDA memory summary, device ID 0 |\n|---|\n| CUDA OOMs: %d | cudaMalloc retries: %d |\n|===|\n"+
		"| Metric | Cur Usage | Peak Usage | Tot Alloc | Tot Freed |\n|---|\n| Allocated memory | 1 KiB | 1 KiB | 1 KiB | 0 B |\n|===|\n", n, n)
}

// Files of different runs are not joined, and memory outside PyTorch is not worked
// out of them, only because each is of another kind.
func TestLogsOfDifferentRuns(t *testing.T) {
	r := LogGrowth(readLogs(t, "leak.log", "cache.stats.jsonl"), allGPUs)
	if len(r.Runs) != 2 || r.Verdict() != Leak || r.Runs[0].Name == "" {
		t.Errorf("a leak and cache growth: %d runs, %v", len(r.Runs), r.Verdict())
	}
	printed, stats := stepLines(30, 1000, func(i int) float64 { return 10e9 + 1e8*float64(i) }, func(i int) float64 { return 20e9 + 1e8*float64(i) })
	if r := onlyRun(t, logText(t, "train.log", printed), logText(t, "stats.jsonl", stats)); r.Growth.Verdict != Leak {
		t.Errorf("two files of one run: %v", r.Growth.Verdict)
	}
	smi := func(from int64, mib int) *trainlog.Log {
		text := "timestamp, index, memory.used [MiB]\n"
		for i := range int64(30) {
			text += fmt.Sprintf("%s, 0, %d MiB\n", stamp(from+i), mib)
		}
		return logText(t, "smi.csv", text)
	}
	for what, l := range map[string]*trainlog.Log{"of another week": smi(1.8e9-7*86400, 40000), "of another GPU": smi(1.8e9, 500)} {
		r := onlyRun(t, logText(t, "stats.jsonl", stats), l)
		if r.Outside != nil || !strings.Contains(strings.Join(r.Notes, " "), "what is outside PyTorch is not known") {
			t.Errorf("samples %s: %+v outside, %q", what, r.Outside, r.Notes)
		}
	}
}

// Figures that are called alike do not hide each other: of GPUs, or of moments of
// a step.
func TestLogFiguresCalledAlike(t *testing.T) {
	gpus, moments, climbing := "step,gpu0_mem_gb,gpu1_mem_gb\n", "", "step,allocated_before_gb,allocated_after_gb\n"
	for i := range 30 {
		gpus += fmt.Sprintf("%d,%.2f,9.5\n", i, 1+float64(i)/10)
		moments += fmt.Sprintf("step %d | allocated before 9.50 GB | allocated after %.2f GB\n", i, 1+float64(i)/10)
		climbing += fmt.Sprintf("%d,%.2f,%.2f\n", i, 9+float64(i)/10, 1+float64(i)/10)
	}
	r := LogGrowth([]*trainlog.Log{logText(t, "gpus.csv", gpus)}, allGPUs)
	if len(r.Runs) != 2 || r.Runs[0].Device != 0 || r.Runs[0].Growth.Reserved.Course != Climbing || r.Runs[1].Growth.Verdict != Steady {
		t.Errorf("GPUs: %+v", r.Runs)
	}
	for what, text := range map[string]string{"after": moments, "before": climbing} {
		one := onlyRun(t, logText(t, "train.log", text))
		if one.Growth.Verdict != Leak || !strings.Contains(strings.Join(one.Notes, " "), "2 figures of each line of train.log are called alike: \"allocated") || !strings.Contains(strings.Join(one.Notes, " "), what) {
			t.Errorf("%s: %v, %q", what, one.Growth.Verdict, one.Notes)
		}
	}
}
