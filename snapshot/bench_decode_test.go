package snapshot

import (
	"bytes"
	"testing"
)

// grown is the training benchmark's snapshot as a file of about 50 MB.
func grown(b *testing.B, write func(testing.TB, any) []byte) []byte {
	b.Helper()
	const perEvent = 130 // bytes, about
	h := training(50_000_000 / perEvent)
	return write(b, encode(h.Snapshot))
}

func benchmarkRead(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadPickle(b *testing.B) { benchmarkRead(b, grown(b, toPickle)) }

// In JSON every event would repeat its stack, so it has none here.
func BenchmarkReadJSON(b *testing.B) { benchmarkRead(b, grown(b, toJSONOfPlainEvents)) }

// BenchmarkReadCapture reads a real file, decompressed.
func BenchmarkReadCapture(b *testing.B) { benchmarkRead(b, raw(b, "gpt_adamw/1_step.pickle.zst")) }

// toJSONOfPlainEvents is toJSON without the stacks of events.
func toJSONOfPlainEvents(t testing.TB, v any) []byte {
	d := v.(doc)
	for _, p := range d {
		if p.key == "device_traces" {
			for _, events := range p.val.(list) {
				for _, e := range events.(list) {
					for i := range e.(doc) {
						if e.(doc)[i].key == "frames" {
							e.(doc)[i].val = list{}
						}
					}
				}
			}
		}
	}
	return toJSON(t, d)
}
