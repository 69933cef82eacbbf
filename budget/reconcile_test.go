package budget

import (
	"strings"
	"testing"
)

// TestReconcile closes the estimate on recorded runs: what the model keeps to the
// byte, and the peak but for labels and masks.
func TestReconcile(t *testing.T) {
	for _, x := range []struct {
		name string
		set  map[string]string
	}{
		{"gpt_adamw/9_end", changed(plainGPT, "attention", "eager")},
		{"gpt_adamw/1_step", changed(plainGPT, "attention", "eager")},
		{"gpt_amp/2_step", changed(plainGPT, "attention", "eager", "precision", "bf16-amp")},
		{"gpt_sdpa_fused/1_step", changed(plainGPT, "optimizer_kernel", "fused")},
		{"bert/2_step", recordedBERT},
	} {
		r, err := Reconcile(mustConfig(t, x.set), classified(t, x.name))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Closes() {
			t.Errorf("%s: %+v", x.name, r.States)
		}
		if e := off(r.PeakRow.Estimated, r.PeakRow.Measured); e > 0.0001 {
			t.Errorf("%s: the peak is %.3f%% off: %+v", x.name, 100*e, r.Peak)
		}
		var estimated, measured int64
		for _, row := range r.Peak {
			estimated += row.Estimated
			measured += row.Measured
		}
		if estimated != r.PeakRow.Estimated || measured != r.PeakRow.Measured {
			t.Errorf("%s: rows sum to %d and %d, peaks are %d and %d", x.name, estimated, measured, r.PeakRow.Estimated, r.PeakRow.Measured)
		}
		for _, row := range r.Phases {
			if e := off(row.Estimated, row.Measured); e > 0.001 {
				t.Errorf("%s: the peak of the %s is %.3f%% off", x.name, row.Name, 100*e)
			}
		}
	}
}

// TestReconcileExplains gives configurations with one thing wrong.
func TestReconcileExplains(t *testing.T) {
	for _, x := range []struct {
		name, row, want string
		set             map[string]string
	}{
		{"gpt_adamw/9_end", "peak", "attention=eager", changed(plainGPT, "attention", "sdpa")},
		{"gpt_adamw/9_end", "optimizer state", "optimizer=adamw", changed(plainGPT, "attention", "eager", "optimizer", "sgd")},
		{"gpt_adamw/9_end", "parameters", "tied=false", changed(plainGPT, "attention", "eager", "tied", "true")},
		{"gpt_adamw/9_end", "parameters", "-256 rows of an embedding", changed(plainGPT, "attention", "eager", "positions", "768")},
		{"gpt_adamw/9_end", "workspaces", "name it with gpu", changed(plainGPT, "attention", "eager", "gpu", "")},
		{"gpt_sdpa_fused/1_step", "optimizer state", "optimizer_kernel=fused", plainGPT},
		{"bert/2_step", "peak", "precision=bf16-amp", changed(recordedBERT, "precision", "fp32")},
		{"gpt_adamw/0_init", "gradients", "nothing of it in the snapshot", plainGPT},
	} {
		r, err := Reconcile(mustConfig(t, x.set), classified(t, x.name))
		if err != nil {
			t.Fatal(err)
		}
		if got := residualOf(&r, x.row); !strings.Contains(got, x.want) {
			t.Errorf("%s: %s: %q, want %s", x.name, x.row, got, x.want)
		}
	}
}

func residualOf(r *Reconciliation, name string) string {
	for _, row := range append(append(r.States, r.PeakRow), r.Peak...) {
		if row.Name == name && len(row.Residual) > 0 {
			return row.Residual[0].Text
		}
	}
	return ""
}
