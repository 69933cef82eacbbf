package budget

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// plainGPT is the model of the recorded steps of testdata/snapshots/gpt_*.
var plainGPT = map[string]string{"layers": "6", "hidden": "512", "heads": "8", "vocab": "8192", "positions": "512", "batch": "8", "seq": "256", "gpu": "h200"}

var recordedBERT = map[string]string{"arch": "bert", "layers": "6", "hidden": "768", "heads": "12", "vocab": "30522", "positions": "512", "batch": "8", "seq": "192",
	"dropout": "0.1", "attention_dropout": "0.1", "precision": "bf16-amp", "gpu": "h200"}

func classified(t testing.TB, name string) *attribution.Classification {
	t.Helper()
	s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	return attribution.Classify(s, s.Timeline(s.Devices[0]))
}

// An event of a step: bytes allocated, or freed when negative.
type stepEvent struct {
	bytes int64
	what  string
}

// TestStepEventByEvent compares the backward of the last recorded step, allocation
// by allocation, and what is left of its forward, with the acted-out one. Tensors
// of less than 32 KiB are left out: labels, masks and loss.
func TestStepEventByEvent(t *testing.T) {
	for _, x := range []struct {
		name string
		set  map[string]string
	}{
		{"gpt_adamw/9_end", changed(plainGPT, "attention", "eager")},
		{"gpt_amp/2_step", changed(plainGPT, "attention", "eager", "precision", "bf16-amp")},
		{"gpt_sdpa_fused/1_step", changed(plainGPT, "optimizer_kernel", "fused")},
	} {
		recorded := largeEvents(recordedBackward(classified(t, x.name)))
		acted := largeEvents(actedBackward(t, x.set))
		n := min(len(recorded), len(acted))
		if n < 200 {
			t.Fatalf("%s: %d events recorded, %d acted out", x.name, len(recorded), len(acted))
		}
		for i := range n {
			if recorded[i].bytes != acted[i].bytes {
				t.Errorf("%s: event %d of the backward is %d bytes recorded, %d acted out (%s)", x.name, i, recorded[i].bytes, acted[i].bytes, acted[i].what)
				break
			}
		}
	}
}

func largeEvents(all []stepEvent) (list []stepEvent) {
	for _, e := range all {
		if e.bytes >= 32<<10 || -e.bytes >= 32<<10 {
			list = append(list, e)
		}
	}
	return list
}

// recordedBackward is the last backward of a history, up to where the optimizer
// begins.
func recordedBackward(cl *attribution.Classification) (list []stepEvent) {
	for _, p := range cl.Phases {
		if p.Kind != attribution.Backward {
			continue
		}
		list = list[:0]
		for i := p.First; i <= p.Last; i++ {
			switch e := &cl.Timeline.Device.Events[i]; e.Action.String() {
			case "alloc":
				list = append(list, stepEvent{e.Size, ""})
			case "free_completed":
				list = append(list, stepEvent{-e.Size, ""})
			}
		}
	}
	return list
}

// actedBackward is the backward of the second acted-out step.
func actedBackward(t testing.TB, set map[string]string) (list []stepEvent) {
	c := mustConfig(t, set)
	c.settle()
	card, err := FindCard(c.GPU)
	if err != nil {
		t.Fatal(err)
	}
	p := newProgram(&c, card, 0)
	o := &optimizer{}
	p.trainStep(o)
	p.trace = func(sign int, bytes int64, b *buffer) {
		if p.step == BackwardStep {
			list = append(list, stepEvent{int64(sign) * bytes, p.labels[b.label].name + " in " + p.where})
		}
	}
	p.trainStep(o)
	return list
}

// TestTapeGivesBack checks that a step leaves nothing but states and gradients.
func TestTapeGivesBack(t *testing.T) {
	for _, set := range []map[string]string{
		changed(plainGPT, "attention", "eager", "checkpoint", "full", "precision", "bf16-amp"),
		recordedBERT,
		{"model": "llama-3.2-1b", "layers": "2", "batch": "1", "seq": "64", "checkpoint": "selective", "precision": "bf16", "attention": "eager"},
		{"model": "t5-small", "batch": "1", "seq": "64", "checkpoint": "full"},
		{"model": "vit-base", "batch": "1", "precision": "fp16-amp"},
		{"model": "mixtral-8x7b", "layers": "2", "batch": "1", "seq": "32", "lora_rank": "4", "lora_targets": "all", "quant": "nf4", "precision": "bf16"},
		{"model": "deepseek-v2-lite", "layers": "2", "batch": "1", "seq": "32", "zero": "3", "gpus": "4", "precision": "mixed"},
		{"model": "gpt2", "layers": "4", "batch": "1", "seq": "32", "zero": "2", "gpus": "8", "pipeline": "2", "accumulation": "4"},
	} {
		c := mustConfig(t, set)
		c.settle()
		for stage := range c.Pipeline {
			p := newProgram(&c, Card{}, stage)
			o := &optimizer{}
			p.trainStep(o)
			after := p.memory.Requested
			p.trainStep(o)
			if p.memory.Requested != after {
				t.Errorf("%v: %d bytes after a step, %d after another: %s", set, after, p.memory.Requested, remains(p))
			}
			for i := range p.lines {
				line := &p.lines[i]
				if line.live.bytes > 0 && (line.class == ActivationClass || line.class == WorkspaceClass || strings.HasPrefix(line.name, "gathered")) {
					t.Errorf("%v: after a step %d bytes of %s are left", set, line.live.bytes, line.name)
				}
			}
		}
	}
}

func remains(p *program) string {
	var words []string
	for i := range p.lines {
		if l := &p.lines[i]; l.live.bytes > 0 {
			words = append(words, fmt.Sprint(l.name, " ", l.live.bytes))
		}
	}
	return strings.Join(words, ", ")
}
