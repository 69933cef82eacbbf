package budget

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustConfig(t rapid.TB, set map[string]string) Config {
	t.Helper()
	c, err := DefaultConfig().With(set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustEstimate(t testing.TB, set map[string]string) Ledger {
	t.Helper()
	l, err := Estimate(mustConfig(t, set))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// changed is base with pairs of keys and values.
func changed(base map[string]string, pairs ...string) map[string]string {
	set := map[string]string{}
	for k, v := range base {
		set[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

// line returns a line of a ledger by its name.
func (l *Ledger) line(name string) Line {
	for _, x := range l.Lines {
		if x.Name == name {
			return x
		}
	}
	return Line{}
}

func TestKnownAnswers(t *testing.T) {
	const gb = 1_000_000_000
	mixed := map[string]string{"params": "7B", "precision": "mixed", "optimizer": "adamw"}
	l := mustEstimate(t, mixed)
	want := Totals{ParameterClass: 14 * gb, MasterClass: 28 * gb, GradientClass: 28 * gb, OptimizerClass: 56 * gb}
	for class, n := range want {
		if l.Totals[class] != n {
			t.Errorf("%s: %d, want %d", class, l.Totals[class], n)
		}
	}
	if l.PerGPU != 126*gb || l.Total != 126*gb {
		t.Errorf("total %d, want 126 GB", l.PerGPU)
	}

	l = mustEstimate(t, changed(mixed, "zero", "1", "gpus", "8"))
	if l.Totals[OptimizerClass] != 7*gb || l.Total != 126*gb {
		t.Errorf("ZeRO 1 on 8 GPUs: %d of optimizer state, %d undivided", l.Totals[OptimizerClass], l.Total)
	}

	l = mustEstimate(t, map[string]string{"layers": "12", "hidden": "1024", "heads": "16", "vocab": "1000", "batch": "4", "seq": "1024"})
	if x := l.line("MLP activation"); x.Bytes != 768<<20 || x.Count != 12 || x.Formula != "12 × b·s·f × 4 B" || x.Numbers != "12 × 4·1024·4096 × 4 B" {
		t.Errorf("got %+v, want 12 of 64 MiB", x)
	}

	for _, x := range []struct {
		set  string
		want int64 // bytes per parameter
	}{
		{"precision=fp32 optimizer=adamw optimizer_kernel=fused", 16}, {"precision=fp32 optimizer=adamw", 20}, {"precision=bf16 optimizer=adamw optimizer_kernel=fused", 8},
		{"precision=fp32 optimizer=sgd", 12}, {"precision=fp32 optimizer=sgd momentum=false", 8}, {"precision=mixed grad_dtype=bf16", 20},
		{"precision=mixed offload=optimizer", 6}, {"precision=fp8", 17}, {"precision=fp32 frozen=true", 4},
	} {
		set := map[string]string{"params": "1B"}
		for _, pair := range strings.Fields(x.set) {
			k, v, _ := strings.Cut(pair, "=")
			set[k] = v
		}
		if got := mustEstimate(t, set).PerGPU; math.Abs(float64(got)-float64(x.want*gb)) > 100 {
			t.Errorf("%s: %d bytes, want %d a parameter", x.set, got, x.want)
		}
	}
}

// TestKorthikanti checks the acted-out step against the formulas of arXiv
// 2205.05198, table 2, for 16-bit activations of one layer of a GPT with dropout
// and attention written out.
func TestKorthikanti(t *testing.T) {
	const b, s, h, a = 2, 512, 1024, 16
	base := map[string]string{"hidden": "1024", "heads": "16", "vocab": "1000", "batch": "2", "seq": "512", "precision": "bf16", "attention": "eager", "dropout": "0.1", "attention_dropout": "0.1"}
	perLayer := func(pairs ...string) float64 {
		saved := func(layers string) int64 {
			c := mustConfig(t, changed(base, append(pairs, "layers", layers)...))
			c.settle()
			p := newProgram(&c, Card{}, 0)
			before := p.memory.Requested
			p.enter(ForwardStep)
			p.forwardPass()
			return p.memory.Requested - before
		}
		return float64(saved("5")-saved("4")) / (s * b * h)
	}
	scores := 5.0 * a * s / h
	for _, x := range []struct {
		name string
		set  []string
		want float64 // times s·b·h
	}{
		{"no parallelism", nil, 34 + scores},
		{"tensor parallel", []string{"tensor", "4", "gpus", "4"}, 10 + 24.0/4 + scores/4},
		{"tensor and sequence parallel", []string{"tensor", "4", "gpus", "4", "sequence_parallel", "true"}, 34.0/4 + scores/4},
		{"selective", []string{"checkpoint", "selective"}, 34},
		{"all three", []string{"tensor", "4", "gpus", "4", "sequence_parallel", "true", "checkpoint", "selective"}, 34.0 / 4},
		{"full", []string{"checkpoint", "full"}, 2},
	} {
		// The paper leaves out mean and deviation of norms, and masks of attention.
		if got := perLayer(x.set...); got < x.want || got > x.want*1.01+0.6 {
			t.Errorf("%s: %.2f·sbh a layer, published %.2f", x.name, got, x.want)
		}
	}
}

// A measuredStep is a line of testdata/measured.jsonl or sweep.jsonl: settings,
// and what PyTorch reported.
type measuredStep struct {
	set                                     map[string]string
	file                                    []byte // config.json of the model, nil for none
	params, peak, reserved                  int64
	peakForward, peakBackward, peakOptimize int64
}

func measuredSteps(t testing.TB, name string) (list []measuredStep) {
	t.Helper()
	f, err := os.Open("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var m map[string]any
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		step := measuredStep{set: map[string]string{}}
		fields := map[string]*int64{"params": &step.params, "peak": &step.peak, "reserved": &step.reserved,
			"peak_forward": &step.peakForward, "peak_backward": &step.peakBackward, "peak_step": &step.peakOptimize}
		for k, v := range m {
			if at, ok := fields[k]; ok {
				*at = int64(v.(float64))
			} else if k == "config" {
				step.file, _ = json.Marshal(v)
			} else if _, ok := setting(k); ok {
				step.set[k] = fmt.Sprint(v)
			}
		}
		list = append(list, step)
	}
	return list
}

// errors of estimates, as shares.
type shares []float64

func (s shares) median() float64 {
	return slices.Sorted(slices.Values(s))[len(s)/2]
}

func off(got, want int64) float64 { return math.Abs(float64(got)/float64(want) - 1) }

func (l *Ledger) peakOf(s Step) int64 {
	for _, p := range l.Peaks {
		if p.Step == s {
			return p.Allocated
		}
	}
	return 0
}

// TestSweep estimates 72 measured configurations of one model from nothing but
// their settings. They were measured after a warm-up and without the workspaces
// of cuBLAS, as the estimate is that names no card.
func TestSweep(t *testing.T) {
	byKind := map[string]shares{}
	for _, x := range measuredSteps(t, "sweep.jsonl") {
		l := mustEstimate(t, x.set)
		if l.Params != x.params {
			t.Errorf("%v: %d parameters, not %d", x.set, l.Params, x.params)
		}
		kind := strings.Join([]string{x.set["attention"], "checkpoint " + x.set["checkpoint"], x.set["precision"], x.set["optimizer"]}, ", ")
		byKind[kind] = append(byKind[kind], off(l.PerGPU, x.peak))
		for step, want := range map[Step]int64{ForwardStep: x.peakForward, BackwardStep: x.peakBackward, OptimizerStep: x.peakOptimize} {
			if e := off(l.peakOf(step), want); e > 0.012 {
				t.Errorf("%v: peak of the %s %.2f%% off", x.set, step, 100*e)
			}
		}
		// The recorded process had workspaces, which count as reserved there.
		if e := off(l.Reserved+2*(&Card{Hopper: true}).workspace()+ltWorkspace, x.reserved); e > 0.03 {
			t.Errorf("%v: reserved %.2f%% off", x.set, 100*e)
		}
	}
	for kind, errs := range byKind {
		t.Logf("%-46s %2d points, median error %.3f%%, worst %.3f%%", kind, len(errs), 100*errs.median(), 100*slices.Max(errs))
		if errs.median() > 0.002 || slices.Max(errs) > 0.006 {
			t.Errorf("%s: median error %.2f%%, worst %.2f%%", kind, 100*errs.median(), 100*slices.Max(errs))
		}
	}
}

// TestMeasured does the same for random configurations of a plain GPT and of
// models of transformers 5.17, and for gpt2, Llama-3.2-1B and Llama-3-8B, on an
// H200 with PyTorch 2.11. Most were measured when the rules were settled.
func TestMeasured(t *testing.T) {
	var errs, reserved shares
	for _, x := range measuredSteps(t, "measured.jsonl") {
		l := mustEstimate(t, changed(x.set, "gpu", "h200"))
		if l.Params != x.params {
			t.Errorf("%v: %d parameters, not %d", x.set, l.Params, x.params)
		}
		e := off(l.PerGPU, x.peak)
		if e > 0.036 {
			t.Errorf("%v: peak %.2f%% off", x.set, 100*e)
		}
		errs = append(errs, e)
		reserved = append(reserved, off(l.Reserved, x.reserved))
	}
	t.Logf("peak: median error %.3f%%, worst %.2f%%; reserved: median error %.3f%%, worst %.2f%%", 100*errs.median(), 100*slices.Max(errs), 100*reserved.median(), 100*slices.Max(reserved))
	if errs.median() > 0.0005 || reserved.median() > 0.002 || slices.Max(reserved) > 0.14 {
		t.Errorf("peak: median error %.3f%%; reserved: median error %.3f%%, worst %.2f%%", 100*errs.median(), 100*reserved.median(), 100*slices.Max(reserved))
	}
}

// TestMeasuredHeld does the same for models that somebody else wrote: random ones
// with the parts of GPT, Llama and BERT in the plain style, and those of
// transformers by their config.json, in a loop that holds the output to the end of
// each step. They were measured when the rules were settled but for what the
// separate parts of the plain style do, images in 16 bits, and softmax of fp16.
//
// Models of transformers were converted to bf16 on the GPU, which leaves blocks
// larger than their weights: up to 5 MiB that no rule foresees.
func TestMeasuredHeld(t *testing.T) {
	const converted = 5 << 20
	byKind := map[string]shares{}
	for _, x := range measuredSteps(t, "measured_held.jsonl") {
		c := DefaultConfig()
		kind := x.set["arch"] + ", plain"
		if x.file != nil {
			var err error
			if c, err = ParseConfig("config.json", x.file); err != nil {
				t.Fatal(err)
			}
			kind = string(c.Model.Arch) + ", transformers"
		}
		c, err := c.With(changed(x.set, "gpu", "h200"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := Estimate(c)
		if err != nil {
			t.Fatalf("%v: %v", x.set, err)
		}
		if l.Params != x.params {
			t.Errorf("%s %v: %d parameters, not %d", x.file, x.set, l.Params, x.params)
		}
		slack := int64(0)
		if x.file != nil && c.Precision == BF16 {
			slack = converted
		}
		byKind[kind] = append(byKind[kind], off(l.PerGPU, x.peak))
		if e := off(l.PerGPU, x.peak-min(slack, max(0, x.peak-l.PerGPU))); e > 0.01 {
			t.Errorf("%s %v: peak %.2f%% off", x.file, x.set, 100*e)
		}
		for step, want := range map[Step]int64{ForwardStep: x.peakForward, BackwardStep: x.peakBackward, OptimizerStep: x.peakOptimize} {
			if e := off(l.peakOf(step), want); e > 0.09 { // a forward that reuses the name of its scores under a checkpoint
				t.Errorf("%s %v: peak of the %s %.2f%% off", x.file, x.set, step, 100*e)
			}
		}
		if e := off(l.Reserved, x.reserved); e > 0.17 {
			t.Errorf("%s %v: reserved %.2f%% off", x.file, x.set, 100*e)
		}
	}
	for kind, errs := range byKind {
		t.Logf("%-20s %2d points, median error %.3f%%, worst %.2f%%", kind, len(errs), 100*errs.median(), 100*slices.Max(errs))
		if errs.median() > 0.006 {
			t.Errorf("%s: median error %.2f%%", kind, 100*errs.median())
		}
	}
}

// TestHeldLogits: a loop that holds the output has the logits beside all else, at
// the end of the step too, and a note says what that takes.
func TestHeldLogits(t *testing.T) {
	set := map[string]string{"layers": "2", "hidden": "256", "heads": "4", "vocab": "50257", "batch": "8", "seq": "512"}
	const logits = 8 * 512 * 50257 * 4
	for _, style := range []string{"plain", "transformers"} {
		let, held := mustEstimate(t, changed(set, "style", style)), mustEstimate(t, changed(set, "style", style, "keep_logits", "true"))
		for _, s := range []Step{BackwardStep, OptimizerStep} {
			if more := held.peakOf(s) - let.peakOf(s); more < logits*99/100 || more > logits*101/100 {
				t.Errorf("%s: %d more in the %s, the logits have %d", style, more, s, logits)
			}
		}
		if !strings.Contains(strings.Join(let.Notes, " "), "takes 786 MiB more (keep_logits)") || strings.Contains(strings.Join(held.Notes, " "), "keep_logits") {
			t.Errorf("%s: notes %q and %q", style, let.Notes, held.Notes)
		}
	}
	// In 16 bits an fp32 copy is the larger part.
	set["precision"] = "bf16"
	if a, b := mustEstimate(t, set), mustEstimate(t, changed(set, "fp32_logits", "true")); b.line("logits in fp32").Bytes != logits || a.line("logits in fp32").Bytes != 0 || b.PerGPU <= a.PerGPU {
		t.Errorf("with fp32_logits a peak of %d, without %d", b.PerGPU, a.PerGPU)
	}
}

// TestDistributed has steps that were measured on one of two H200, peaks of
// forward, backward and optimizer step.
func TestDistributed(t *testing.T) {
	base := map[string]string{"layers": "4", "hidden": "512", "heads": "8", "vocab": "8192", "batch": "4", "seq": "512", "gpus": "2", "gpu": "h200"}
	for _, x := range []struct {
		name string
		set  map[string]string
		want [3]int64
		most float64
	}{
		{"DDP", base, [3]int64{828216832, 895309312, 591028736}, 0.0001},
		{"DDP under autocast", changed(base, "precision", "bf16-amp"), [3]int64{738023424, 771541504, 582583296}, 0.01},
		{"FSDP2, each block a unit", changed(base, "zero", "3"), [3]int64{659623936, 726716416, 287493120}, 0.02},
		{"FSDP2, small batch", changed(base, "zero", "3", "layers", "8", "hidden", "768", "heads", "12", "batch", "1", "seq", "128"), [3]int64{680599040, 787609600, 782566400}, 0.03},
	} {
		l := mustEstimate(t, x.set)
		for i, step := range Steps() {
			if e := off(l.peakOf(step), x.want[i]); e > x.most {
				t.Errorf("%s: peak of the %s %.2f%% off", x.name, step, 100*e)
			}
		}
	}
}

// TestLedgerCloses draws configurations and checks what every ledger must have.
func TestLedgerCloses(t *testing.T) {
	archs := []Arch{GPT, Llama, BERT, T5, ViT}
	pick := func(s Setting) []string { return append(s.Known(), s.Known()[0]) }
	rapid.Check(t, func(r *rapid.T) {
		arch := rapid.SampledFrom(archs).Draw(r, "arch")
		heads := rapid.SampledFrom([]int{2, 4, 6}).Draw(r, "heads")
		set := map[string]string{"arch": string(arch), "layers": fmt.Sprint(rapid.IntRange(1, 4).Draw(r, "layers")), "heads": fmt.Sprint(heads),
			"hidden": fmt.Sprint(heads * rapid.SampledFrom([]int{8, 32}).Draw(r, "head")), "vocab": "100", "batch": fmt.Sprint(rapid.IntRange(1, 3).Draw(r, "batch")),
			"seq": fmt.Sprint(rapid.IntRange(1, 80).Draw(r, "seq")), "accumulation": fmt.Sprint(rapid.IntRange(1, 3).Draw(r, "accumulation"))}
		for _, name := range []string{"precision", "attention", "checkpoint", "optimizer", "optimizer_kernel", "offload", "activation", "style", "quant", "lora_targets"} {
			s, _ := setting(name)
			set[name] = rapid.SampledFrom(pick(s)).Draw(r, name)
		}
		if rapid.Bool().Draw(r, "lora") {
			set["lora_rank"] = "4"
		}
		gpus := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(r, "gpus")
		set["gpus"], set["zero"] = fmt.Sprint(gpus), fmt.Sprint(rapid.IntRange(0, 3).Draw(r, "zero"))
		if gpus >= 2 {
			set["tensor"] = fmt.Sprint(rapid.IntRange(1, 2).Draw(r, "tensor"))
			set["sequence_parallel"] = fmt.Sprint(set["tensor"] == "2" && rapid.Bool().Draw(r, "sequence"))
		}
		l, err := Estimate(mustConfig(t, set))
		if err != nil {
			r.Skip(err)
		}
		checkLedger(r, &l)
	})
}

func checkLedger(t rapid.TB, l *Ledger) {
	t.Helper()
	totals := Totals{}
	for _, x := range l.Lines {
		totals[x.Class] += x.AtPeak
		if x.AtPeak < 0 || x.AtPeak > x.Bytes || x.Bytes <= 0 || x.Count <= 0 || x.Formula == "" || x.Numbers == "" || len(x.Steps) == 0 {
			t.Fatalf("line %+v", x)
		}
		whole := 0.0
		if strings.Contains(x.Numbers, "1/4096") {
			whole = float64(5 * x.Count) // the scales of NF4 are whole for 64 and 16384 weights
		}
		if n := worked(x.Numbers); math.Abs(n-float64(x.Bytes)) > whole || math.IsNaN(n) {
			t.Fatalf("%s: %s is %.0f, not %d", x.Name, x.Numbers, n, x.Bytes)
		}
	}
	for _, c := range Classes() {
		if totals[c] != l.Totals[c] || l.Totals[c] > l.Full[c] {
			t.Fatalf("%s: lines have %d, total %d, full %d", c, totals[c], l.Totals[c], l.Full[c])
		}
	}
	if l.Totals.Sum() != l.PerGPU || l.Whole.Sum() != l.Total || l.PerGPU <= 0 {
		t.Fatalf("totals %d and %d, peaks %d and %d", l.Totals.Sum(), l.Whole.Sum(), l.PerGPU, l.Total)
	}
	for _, p := range l.Peaks {
		if p.Totals.Sum() != p.Bytes || p.Allocated < p.Bytes {
			t.Fatalf("peak of the %s: classes sum to %d, tensors %d, blocks %d", p.Step, p.Totals.Sum(), p.Bytes, p.Allocated)
		}
	}
	if l.Simulated && l.Reserved < l.PerGPU {
		t.Fatalf("reserved %d of a peak of %d", l.Reserved, l.PerGPU)
	}
}

// worked is what the figures of a line come to, as a person would work them out:
// sums of products, with parentheses, in bytes.
func worked(figures string) float64 {
	r := strings.NewReplacer(" ", "", ",", "", "B", "", "·", "*", "×", "*", "−", "-")
	e, err := parser.ParseExpr(r.Replace(figures))
	if err != nil {
		return math.NaN()
	}
	return valueOf(e)
}

func valueOf(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return valueOf(e.X)
	case *ast.BasicLit:
		v, _ := strconv.ParseFloat(e.Value, 64)
		return v
	case *ast.BinaryExpr:
		a, b := valueOf(e.X), valueOf(e.Y)
		switch e.Op {
		case token.ADD:
			return a + b
		case token.SUB:
			return a - b
		case token.MUL:
			return a * b
		case token.QUO:
			return a / b
		}
	}
	return math.NaN()
}

func TestWithoutSizes(t *testing.T) {
	for _, set := range []map[string]string{{}, {"layers": "2"}, {"model": "gpt2"}, {"model": "gpt2", "batch": "1"}, {"params": "0"}, {"arch": "vit", "layers": "1", "hidden": "8", "heads": "1"},
		{"layers": "8000", "hidden": "2000000000", "heads": "1", "vocab": "2000000000", "batch": "2000000000", "seq": "2000000000"}} {
		if _, err := Estimate(mustConfig(t, set)); err == nil {
			t.Errorf("%v: no error", set)
		}
	}
}

func FuzzReadConfig(f *testing.F) {
	for _, x := range hfCounts {
		f.Add([]byte(x.file))
	}
	f.Add([]byte("model: llama-3-8b\nbatch: 1\nseq: 64\nlayers: 2\nvocab: 100\n"))
	f.Add([]byte("layers: 2\nhidden: 64\nheads: 2\nvocab: 50\nbatch: 1\nseq: 8\nexperts: 4\nactive_experts: 2\narch: llama\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig("c.yaml", data)
		if err != nil {
			return
		}
		c.Model.Layers, c.Model.DecoderLayers = min(c.Model.Layers, 3), min(c.Model.DecoderLayers, 3)
		c.Batch, c.Seq = max(c.Batch, 1), max(c.Seq, 1)
		if l, err := Estimate(c); err == nil && l.PerGPU > 0 {
			checkLedgerFuzz(t, &l)
		}
	})
}

func checkLedgerFuzz(t *testing.T, l *Ledger) {
	if l.Totals.Sum() != l.PerGPU || l.PerGPU < 0 {
		t.Fatalf("totals %d, peak %d", l.Totals.Sum(), l.PerGPU)
	}
}
