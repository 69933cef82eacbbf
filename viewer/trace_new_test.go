package viewer

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/snapview/snapview/profiler"
)

func realTrace(t *testing.T, name string) *profiler.Trace {
	t.Helper()
	tr, err := profiler.Open("../testdata/traces/" + name + ".trace.json.zst")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// The report's numbers are the profiler's, and its parts agree with each other.
func TestNewTraceAgreesWithTheLedger(t *testing.T) {
	for _, name := range []string{"tr_gpt", "tr_cpu", "tv_gpt", "tv_cpu"} {
		raw := realTrace(t, name)
		tr := NewTrace(raw, Options{})
		m := tr.Memory[0]
		var highest, last int64
		for _, p := range m.Curve {
			highest, last = max(highest, p.Allocated), p.Allocated
			if len(p.Categories) > 0 && sumOf(p.Categories) != p.Allocated {
				t.Fatalf("%s: at %d the categories sum to %d, allocated is %d", name, p.Time, sumOf(p.Categories), p.Allocated)
			}
		}
		if highest != m.Peak || last != m.End || sumOf(m.AtPeak) != m.Peak {
			t.Errorf("%s: the curve peaks at %d and ends at %d, its categories at the peak sum to %d; the ledger has %d and %d", name, highest, last, sumOf(m.AtPeak), m.Peak, m.End)
		}
		for _, table := range tr.Tables {
			var sum int64
			for _, r := range table.Rows {
				sum += r.Values[0]
			}
			want := map[string]int64{"held": m.Peak, "line": m.Allocated, "op": m.Allocated, "module": m.Allocated}[table.Name]
			if sum != table.Total || want != 0 && sum != want {
				t.Errorf("%s: the rows by %s sum to %d, total %d, want %d", name, table.Name, sum, table.Total, want)
			}
		}
		for _, d := range tr.Kernels {
			var parts int64
			for _, p := range d.Parts {
				parts += p.Time
			}
			if parts != d.Span || d.Busy+d.Idle != d.Span {
				t.Errorf("%s, %s: parts sum to %d, busy and idle to %d, want %d", name, d.Name, parts, d.Busy+d.Idle, d.Span)
			}
		}
		if tr.Flames[0].Root.Bytes != m.Allocated {
			t.Errorf("%s: the flame graph holds %d, want %d", name, tr.Flames[0].Root.Bytes, m.Allocated)
		}
	}
}

// Traces that lack something say what they lack.
func TestNewTraceOfLittle(t *testing.T) {
	tr := NewTrace(realTrace(t, "tr_min"), Options{})
	if len(tr.Memory) > 0 || tr.Verdict.Tone != "note" || !strings.Contains(tr.Verdict.Text, "no memory events") || len(tr.Findings) == 0 {
		t.Errorf("a trace without memory says %q", tr.Verdict.Text)
	}
	if len(tr.Tables) == 0 || tr.Tables[0].Columns[0].Unit != InTime {
		t.Error("without memory the tables should be about time")
	}
	renderTrace(t, tr)
	empty := NewTrace(&profiler.Trace{Names: []string{""}, Partial: errors.New("cut short")}, Options{})
	if page := renderTrace(t, empty); !strings.Contains(page, "cut short") {
		t.Error("a partial trace should say why")
	}
}

func TestNewTraceKeepsDevices(t *testing.T) {
	tr := NewTrace(realTrace(t, "tr_gpt"), Options{Keep: func(i int) bool { return i == 0 }})
	if len(tr.Memory) != 1 || tr.Memory[0].Name != "CUDA 0" {
		t.Errorf("device 0 alone gives %d devices", len(tr.Memory))
	}
}

func TestRealTraceSameBytes(t *testing.T) {
	raw := realTrace(t, "tr_gpt")
	first := renderTrace(t, NewTrace(raw, Options{}))
	if second := renderTrace(t, NewTrace(realTrace(t, "tr_gpt"), Options{})); first != second {
		t.Error("the same trace gave two different pages")
	}
	if len(first) > MaxBytes {
		t.Errorf("the page has %d bytes", len(first))
	}
}

func TestTextFrame(t *testing.T) {
	for text, want := range map[string]Frame{
		"model.py(11): forward":                         {File: "model.py", Line: 11, Function: "forward"},
		"torch/nn/modules/module.py(1773): _call_impl":  {File: "torch/nn/modules/module.py", Line: 1773, Function: "_call_impl", Kind: LibraryFrame},
		"nn.Module: Linear_0":                           {Function: "nn.Module: Linear_0", Kind: LibraryFrame},
		"<built-in method softmax of type object at 0>": {Function: "<built-in method softmax of type object at 0>", Kind: NativeFrame},
		"aten::mm": {Function: "aten::mm", Kind: NativeFrame},
	} {
		if got := textFrame(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func BenchmarkWriteTrace(b *testing.B) {
	tr := hugeTrace()
	for b.Loop() {
		var out bytes.Buffer
		if err := WriteTrace(&out, tr); err != nil {
			b.Fatal(err)
		}
	}
}
