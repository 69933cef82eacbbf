package viewer

import (
	"strings"
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// captured is the report of a capture of a real run.
func captured(t *testing.T, name string) Snapshot {
	t.Helper()
	s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	return NewSnapshot(s, Options{})
}

func TestOOMPanel(t *testing.T) {
	in := captured(t, "sim_kvcache/default_lim1")
	html, data := parts(t, render(t, in))
	for _, want := range []string{
		"Why memory ran out: fragmentation", "enough for 23.0 MiB in one piece, but the largest free block that could serve it had 20.3 MiB",
		"<code>expandable_segments:True</code>", "A limit of 1,030 MiB or more serves the request as things were", "to below 1,030 MiB",
		"At the out-of-memory: which line keeps 90.9 MiB from being given back", "Segments at the out-of-memory: 1006 MiB reserved",
		"This is fragmentation: ",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(data, `"maps":[{"name":"peak"`) || !strings.Contains(data, `{"name":"oom"`) {
		t.Error("the data lack the maps of the peak and of the failure")
	}
	f := in.Devices[0].Fragmentation
	if !f.Exact || f.Worst().Free == 0 || f.Free != 95364096 {
		t.Errorf("fragmentation is exact %v, worst %+v, free %d", f.Exact, f.Worst(), f.Free)
	}
}

func TestFragmentationWithoutFailure(t *testing.T) {
	in := captured(t, "gpt_adamw/9_end")
	d := &in.Devices[0]
	if d.OOM != nil || d.Fragmentation == nil || len(d.Fragmentation.Pins) == 0 || len(d.Fragmentation.Trials) == 0 {
		t.Fatalf("OOM %v, fragmentation %+v", d.OOM, d.Fragmentation)
	}
	var pinned, reserved int64
	for _, p := range d.Fragmentation.Pins {
		pinned += p.Bytes
	}
	for _, s := range d.Fragmentation.States[0].Segments {
		reserved += s.Bytes
		var blocks int64
		for _, b := range s.Blocks {
			blocks += b.Size
		}
		if blocks != s.Bytes {
			t.Fatalf("blocks sum to %d in a segment of %d", blocks, s.Bytes)
		}
	}
	if pinned > d.Fragmentation.Free || reserved != d.Fragmentation.States[0].Reserved {
		t.Errorf("pinned %d of %d free; segments sum to %d of %d", pinned, d.Fragmentation.Free, reserved, d.Fragmentation.States[0].Reserved)
	}
	html, _ := parts(t, render(t, in))
	for _, want := range []string{"The same requests under other settings", "At the peak: which line keeps", "lost to rounding", "Segments at the peak: 1.08 GiB reserved"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(html, "Why memory ran out") {
		t.Error("nothing failed")
	}
}

// Without a history nothing is replayed.
func TestNoFragmentationWithoutHistory(t *testing.T) {
	in := captured(t, "nohistory/end")
	if d := in.Devices[0]; d.Fragmentation != nil || d.OOM != nil {
		t.Errorf("%+v", d.Fragmentation)
	}
	in = NewSnapshot(cutOff(6), Options{})
	if d := in.Devices[0]; d.Fragmentation != nil || d.OOM != nil {
		t.Errorf("the end is missing, yet %+v", d.Fragmentation)
	}
}

func TestComparedText(t *testing.T) {
	for _, c := range []struct {
		peak, recorded int64
		want           string
	}{{0, 0, "reserves the same"}, {5, 5, "reserves the same"}, {1 << 20, 4 << 20, "reserves 3.00 MiB (75.0%) less"}, {5 << 20, 4 << 20, "reserves 1.00 MiB (25.0%) more"}} {
		if got := comparedText(c.peak, c.recorded); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.peak, c.recorded, got, c.want)
		}
	}
}
