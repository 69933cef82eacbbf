package profiler

import "testing"

// What is held at the peak and at the end adds up to the ledger, however it is
// folded.
func TestLiveAddsUp(t *testing.T) {
	for _, name := range []string{"tr_gpt", "tr_cpu", "tv_gpt"} {
		tr, err := Open("../testdata/traces/" + name + ".trace.json.zst")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range tr.Ledgers() {
			c := tr.CategorizeDevice(l.Type, l.Device)
			for _, by := range []By{ByLine, ByOp, ByModule, ByStack, ByCategory} {
				for time, want := range map[int64]int64{l.PeakTime: l.Peak, AliveAtEnd - 1: l.End} {
					table, err := tr.Live(&c, time, by)
					if err != nil {
						t.Fatal(err)
					}
					var sum int64
					for _, r := range table.Rows {
						sum += r.Kept
					}
					if sum != want {
						t.Errorf("%s, %s %d, by %s: rows hold %d, the ledger %d", name, l.Type, l.Device, by, sum, want)
					}
				}
			}
		}
		if _, err := tr.Live(&Categories{}, 0, ByKernel); err == nil {
			t.Error("kernels hold no memory")
		}
	}
}
