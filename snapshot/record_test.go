package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/snapview/snapview/internal/pickle"
	"github.com/snapview/snapview/internal/value"
)

// A reading is all that comes of a pickle.
type reading struct {
	snap  *Snapshot
	err   string
	bytes int64
}

// readRecords decodes a pickle as Read does. From a reader that gives one byte at
// a time, no record is read at one go: there is never all of it to be seen.
func readRecords(r io.Reader) reading {
	b := newBuilder(func() (int64, int64) { return 0, -1 })
	res, err := pickle.Decode(r, b.h, b, pickle.Config{Size: -1, Allowed: pickle.Harmless})
	b.snap.Source.Bytes = res.Bytes
	text := fmt.Sprint(err)
	if finishErr := b.finish(res.Root, err != nil); finishErr != nil {
		text += "; " + finishErr.Error()
	}
	return reading{b.snap, text, res.Bytes}
}

func compareReadings(t *testing.T, name string, data []byte) {
	t.Helper()
	got, want := readRecords(bytes.NewReader(data)), readRecords(iotest.OneByteReader(bytes.NewReader(data)))
	if got.err != want.err || got.bytes != want.bytes {
		t.Fatalf("%s: records at one go: %s after %d bytes; opcode by opcode: %s after %d", name, got.err, got.bytes, want.err, want.bytes)
	}
	if !reflect.DeepEqual(got.snap, want.snap) {
		t.Fatalf("%s: records at one go give another snapshot than their opcodes", name)
	}
}

// Records read at one go are what their opcodes make of them, in every capture.
func TestRecordsOfCaptures(t *testing.T) {
	err := filepath.WalkDir(captures, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".pickle.zst") {
			name, _ := filepath.Rel(captures, path)
			compareReadings(t, name, raw(t, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// They are so in damaged files too, down to the message.
func TestRecordsOfDamagedFiles(t *testing.T) {
	names := []string{"cppsnap/cpp.pickle.zst", "graphs/end.pickle.zst", "streams/busy.pickle.zst", "oom/after.pickle.zst",
		"protocols/p0.pickle.zst", "protocols/p2.pickle.zst", "protocols/p3.pickle.zst", "protocols/p5.pickle.zst"}
	for _, name := range names {
		whole := raw(t, name)
		rng := rand.New(rand.NewPCG(1, uint64(len(whole))))
		for i := range 60 {
			compareReadings(t, fmt.Sprintf("%s, damage %d", name, i), damage(rng, whole))
		}
	}
}

// damage changes bytes, repeats or drops a stretch, or cuts off the end, within a
// stretch of the file that is short enough to decode many times.
func damage(rng *rand.Rand, whole []byte) []byte {
	const most = 100_000
	data := bytes.Clone(whole[:min(len(whole), most)])
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(data))
		n := min(1+rng.IntN(200), len(data)-at)
		switch rng.IntN(6) {
		case 0:
			data = data[:at+1]
		case 1:
			data = append(data[:at:at], data[at+n:]...)
		case 2:
			data = append(data[:at+n:at+n], data[at:]...)
		default: // opcodes of another place make more of a stir than any byte would
			data[at] = data[rng.IntN(len(data))]
		}
		if len(data) == 0 {
			return data
		}
	}
	return data
}

// The column of events keeps what it holds while it grows, whatever is known of
// how much is to come.
func TestGrowEvents(t *testing.T) {
	const n = 3*eventStep + 7
	for name, left := range map[string]int64{"unknown": -1, "too much": 1000 * n, "too little": n / 10} {
		read := int64(0)
		b := newBuilder(func() (int64, int64) { return read, left })
		action, addr := value.MakeStr(keyAction), value.MakeStr(keyAddr)
		for i := range n {
			read++
			v, ok, err := b.event([]value.Value{action, value.MakeStr(firstAction), addr, value.SmallInt(int64(i))})
			if id, isEvent := v.IsExt(classEvent); err != nil || !ok || !isEvent || id != i {
				t.Fatalf("%s: event %d is %v, %v", name, i, v, err)
			}
		}
		for i := range b.events {
			if e := &b.events[i]; e.Addr != uint64(i) || e.Action != Alloc {
				t.Fatalf("%s: event %d is %+v", name, i, *e)
			}
		}
	}
}
