package viewer

import (
	"testing"

	"github.com/snapview/snapview/profiler"
)

// The report of a memory timeline has the file's own numbers.
func TestNewTimeline(t *testing.T) {
	tl, err := profiler.ReadTimeline("../testdata/traces/tr_gpt.timeline.raw.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	tr := NewTimeline(tl, Options{})
	m := tr.Memory[0]
	var highest int64
	for _, p := range m.Curve {
		highest = max(highest, p.Allocated)
	}
	if want := tl.Points[tl.Peak].Total(); m.Peak != want || highest != want || sumOf(m.AtPeak) != want {
		t.Errorf("peak %d, of the curve %d, of the categories %d, want %d", m.Peak, highest, sumOf(m.AtPeak), want)
	}
	if m.Baseline+m.Allocated-m.Freed != m.End {
		t.Errorf("%d + %d - %d is not %d", m.Baseline, m.Allocated, m.Freed, m.End)
	}
	renderTrace(t, tr)
	renderTrace(t, NewTimeline(&profiler.MemoryTimeline{}, Options{}))
}

// A file may name any number of devices; the page has those that matter.
func TestNewTraceBoundsDevices(t *testing.T) {
	raw := &profiler.Trace{Names: []string{""}, Threads: []profiler.Thread{{}}}
	for i := range int64(100) {
		raw.Memory = append(raw.Memory, profiler.MemoryEvent{Time: i, Bytes: 1 + i, Device: int16(i), Type: 1, Allocated: profiler.NoTotal, Reserved: profiler.NoTotal})
	}
	tr := NewTrace(raw, Options{})
	if len(tr.Memory) != maxCurves || tr.Memory[0].Name != "CUDA 99" {
		t.Errorf("%d devices, the first %s; want %d, the first CUDA 99", len(tr.Memory), tr.Memory[0].Name, maxCurves)
	}
	if last := tr.Notes[len(tr.Notes)-1].Text; last != "The trace names 100 devices; this page has those with the highest peaks." {
		t.Errorf("the last note is %q", last)
	}
}
