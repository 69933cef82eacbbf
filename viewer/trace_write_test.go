package viewer

import (
	"bytes"
	"strings"
	"testing"
)

func renderTrace(t *testing.T, tr Trace) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteTrace(&out, tr); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTracePageGolden(t *testing.T) {
	goldenPage(t, "trace.html.golden", "trace.json.golden", renderTrace(t, fakeTrace()))
}

func TestSameTraceSameBytes(t *testing.T) {
	first := renderTrace(t, fakeTrace())
	for range 5 {
		if renderTrace(t, fakeTrace()) != first {
			t.Fatal("the same trace gave two different pages")
		}
	}
}

// A trace may lack anything.
func TestEmptyTrace(t *testing.T) {
	page := renderTrace(t, Trace{Name: "x"})
	if !strings.Contains(page, "holds no memory events") {
		t.Error("a trace without memory events should say so")
	}
}

// The numbers must be there for readers without scripts.
func TestPlainTraceHoldsTheAnswer(t *testing.T) {
	html, _ := parts(t, renderTrace(t, fakeTrace()))
	for _, want := range []string{
		"60.0 MiB", "62,914,560 B", "64.0 MiB", "31.0 MiB", "4.00 MiB", "75.0%", // the large figures
		"model.py", ":41", "_call_impl", "aten::empty", "void gemm&lt;float, 128&gt;(int)", "12.0 ms", "1.20 µs", "999 ns",
		"<svg", "peak 60.0 MiB", `class="layer c6"`, "activation", "83.3%",
		"ProfilerStep#1", "cudaMalloc", "Profile with ProfilerActivity.CUDA.", "The ledger reconciles.", "2 repairs: control character", "profile_memory",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page without scripts lacks %q", want)
		}
	}
}

func TestTraceNamesAreInert(t *testing.T) {
	inertNames(t, func(name string) string { return renderTrace(t, poisonedTrace(name)) })
}

func TestTracePageIsBounded(t *testing.T) {
	page := renderTrace(t, hugeTrace())
	html, data := parts(t, page)
	t.Logf("%d bytes: %d of HTML, %d of data", len(page), len(html), len(data))
	if len(page) > MaxBytes {
		t.Errorf("the page has %d bytes, more than %d", len(page), MaxBytes)
	}
}

func TestDurationText(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 1204: "1.20 µs", 9994: "9.99 µs", 9996: "10.0 µs", 99960: "100 µs", 999_499: "999 µs", 999_500: "1.00 ms", 12_345_678: "12.3 ms", -1500: "-1.50 µs"} {
		if got := durationText(ns); got != want {
			t.Errorf("%d ns prints as %q, want %q", ns, got, want)
		}
	}
}
