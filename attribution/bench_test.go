package attribution

import (
	"testing"

	"github.com/snapview/snapview/snapshot"
)

// BenchmarkClassify compares with BenchmarkOpen: classification must cost less
// than decoding.
func BenchmarkClassify(b *testing.B) {
	s, err := snapshot.Open(captures + "/extra_accum/2_backward.pickle.zst")
	if err != nil {
		b.Fatal(err)
	}
	t := s.Timeline(s.Devices[0])
	b.ReportAllocs()
	for b.Loop() {
		Classify(s, t)
	}
	b.ReportMetric(float64(len(t.Device.Events))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if _, err := snapshot.Open(captures + "/extra_accum/2_backward.pickle.zst"); err != nil {
			b.Fatal(err)
		}
	}
}
