package budget

import (
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// Memory that a training process takes beside its tensors. None of it is in the
// totals, since it depends on the card, the driver and what else is loaded.

// contextBytes is what a CUDA context takes with the kernels of PyTorch, cuBLAS
// and cuDNN loaded. It was 619 to 799 MiB on an H200 with CUDA 13 and is 300 to
// 600 MiB on older cards.
const contextBytes = 700 << 20

// ncclBytes is what NCCL takes for its channels: about 800 MiB between two H200.
const ncclBytes = 800 << 20

func (l *Ledger) overhead(card Card) {
	add := func(class Class, category attribution.Category, name, formula, numbers string, bytes int64) {
		l.Overhead = append(l.Overhead, Line{Class: class, Category: category, Name: name, Formula: formula, Numbers: numbers, Bytes: bytes, AtPeak: bytes, Count: 1, Steps: Steps()})
	}
	if card.Name == "" {
		add(WorkspaceClass, attribution.Workspace, "workspaces of cuBLAS", "2 threads × 32 MiB on Hopper and later, 8.1 MiB before, + 1 MiB of cuBLASLt", "2 × 33554432 B + 1048576 B, as on Hopper", 2*(&Card{Hopper: true}).workspace()+ltWorkspace)
	}
	add(WorkspaceClass, attribution.Workspace, "CUDA context and kernels", "measured on an H200: 619 to 799 MiB; less on older cards", "700 MiB", contextBytes)
	if l.Config.GPUs > 1 {
		add(CommunicationClass, attribution.Communication, "buffers of NCCL", "measured between two H200", "800 MiB", ncclBytes)
	}
}

// assumed notes what a config.json leaves open, or says otherwise.
func (l *Ledger) assumed() {
	m := &l.Config.Model
	if m.assumedHead {
		l.Notes = append(l.Notes, "the config.json names no class (architectures): "+headWords[m.Head]+" is assumed; head says otherwise")
	}
	if l.Config.Precision == FP32 && (m.stored == B16 || m.stored == F16) {
		l.Notes = append(l.Notes, "the config.json says that weights are stored in "+string(m.stored)+"; this is a training in fp32, as nothing else is given (precision)")
	}
}

// headWords say what a head is.
var headWords = map[Head]string{LMHead: "an output layer over the vocabulary", MLMHead: "a head for masked words", ClassHead: "a classifier", NoHead: "no head"}

// heldLogits notes what a training loop adds that holds the logits, as most do.
func (l *Ledger) heldLogits(card Card) {
	c := l.Config
	if c.KeepLogits || !l.Simulated {
		return
	}
	c.KeepLogits = true
	if more := estimateOn(c, card).PerGPU - l.PerGPU; more*100 > l.PerGPU {
		l.Notes = append(l.Notes, "a loop that holds the output of the model during a step, as out = model(...) or logits = model(...) does, takes "+units.Bytes(more)+" more (keep_logits)")
	}
}

// advise notes what a cheap change would take off the peak.
func (l *Ledger) advise() {
	share := func(n int64) bool { return n*10 > l.PerGPU }
	var roots, logits int64
	for _, x := range l.Lines {
		switch {
		case x.Name == rootsName:
			roots += x.AtPeak
		case strings.Contains(x.Name, "logits") || strings.Contains(x.Name, "log-probabilities"):
			logits += x.AtPeak
		}
	}
	if share(roots) {
		l.Notes = append(l.Notes, "the step makes the roots of all second moments at once, "+units.Bytes(roots)+" at the peak; with fused=True it makes none (optimizer_kernel=fused)")
	}
	if share(logits) {
		l.Notes = append(l.Notes, "logits, their copies and gradients are "+units.Bytes(logits)+" of the peak; a loss that works in chunks needs a part of that")
	}
}

// notIncluded says what the ledger leaves out.
func (l *Ledger) notIncluded() {
	add := func(s string) { l.NotIncluded = append(l.NotIncluded, s) }
	if !l.Simulated {
		add("activations: the architecture is not known, only the number of parameters")
	}
	add("fragmentation of other allocator settings, and memory of other processes on the card")
	add("what the training script itself keeps: evaluation, metrics, other models, data on the GPU")
	m := &l.Config.Model
	switch {
	case m.Arch == ViT:
		add("scratch of cuDNN for the convolution that makes patches, which cuDNN chooses")
	case m.Experts != 0:
		add("uneven loads of experts: each GPU is taken to have its share of tokens")
	}
	if l.Config.Tensor > 1 || l.Config.Pipeline > 1 || l.Config.Context > 1 {
		add("buffers that overlap communication with work")
	}
	if l.Config.Offload != NoOffload {
		add("memory of the host, and pinned buffers for transfers")
	}
}
