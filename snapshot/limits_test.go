package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// allocated runs f and returns the bytes it allocated.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

func repeated(n int, x any) list {
	l := make(list, n)
	for i := range l {
		l[i] = x
	}
	return l
}

// wide is a dict with n keys more than d.
func wide(d doc, n int) doc {
	for i := range n {
		d = append(d, pair{fmt.Sprintf("k%d", i), nil})
	}
	return d
}

// A long dict or list that a file refers to again and again is not looked
// through again and again.
func TestSharedDicts(t *testing.T) {
	annotation := &shared{wide(kv("name", "x", "stage", "START", "time_us", 1), 500)}
	segment := &shared{wide(kv("device", 0, "blocks", list{}), 10_000)}
	entry := &shared{wide(kv("real_size", 0), 10_000)}
	blocks := make(list, 1000)
	for i := range blocks {
		blocks[i] = kv("size", 512, "state", "inactive", "history", list{entry})
	}
	for name, d := range map[string]any{
		"annotations":  kv("segments", list{}, "external_annotations", repeated(20_000, annotation)),
		"segments":     kv("segments", repeated(1000, segment)),
		"segment list": repeated(1000, segment),
		"history":      oneSegment(kv("device", 0, "blocks", blocks)),
	} {
		data := toPickle(t, d)
		var err error
		n := allocated(func() { _, err = read(t, data) })
		if err == nil || !strings.Contains(err.Error(), "the file refers to the same lists again and again") {
			t.Errorf("%s: %v", name, err)
		}
		if n > 32<<20+20*len(data) {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(data))
		}
	}
}

// A long text that a file refers to again and again is neither copied nor
// rendered again and again.
func TestSharedText(t *testing.T) {
	const long, times = 1 << 20, 1000
	bad := &shared{"\xff" + strings.Repeat("a", long)}
	good := &shared{strings.Repeat("a", long)}
	big := &shared{tuple(repeated(1000, strings.Repeat("a", 60)))}
	events := func(make func(i int) doc) doc {
		l := list{}
		for i := range times {
			l = append(l, make(i))
		}
		return kv("device_traces", list{l})
	}
	repeatedKey := func(key any, n int) doc {
		d := make(doc, n)
		for i := range d {
			d[i] = pair{key, nil}
		}
		return d
	}
	framed := func(i int, name any) doc { return kv("filename", name, "line", i, "name", "f") }
	for name, d := range map[string]doc{
		"annotations": kv("segments", list{}, "external_annotations", repeated(times, &shared{kv("name", bad, "stage", "END")})),
		"settings":    kv("segments", list{}, "allocator_settings", repeatedKey(bad, times)),
		"labels": events(func(i int) doc {
			return alloc.with("user_metadata", bad).with("compile_context", fmt.Sprint(i))
		}),
		"fx": events(func(i int) doc {
			return alloc.with("frames", list{framed(i, "a.py").with("fx_node_op", bad)})
		}),
		"actions": events(func(i int) doc { return kv("action", good, "addr", i, "size", 1) }),
		"file names": events(func(i int) doc {
			return alloc.with("frames", list{framed(i, good)})
		}),
		"printed frames": events(func(i int) doc {
			return alloc.with("forward_frames", list{good, fmt.Sprintf("a.py:%d:f", i)})
		}),
		"divisions": kv("segments", list{}, "allocator_settings",
			kv("roundup_power2_divisions", repeatedKey(big, 10*times), "a", 1)),
		"ring": kv("segments", repeated(2, kv("device", 0, "blocks", list{})), "trace_alloc_max_entries", repeatedKey(big, 10*times)),
	} {
		data := toPickle(t, d)
		start := time.Now()
		n := allocated(func() {
			s, err := read(t, data)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			for _, d := range s.Devices {
				tl := s.Timeline(d)
				s.Fold(tl, Moment{Event: len(d.Events) - 1}, ByLine)
			}
		})
		// It takes milliseconds; the width of each text in turn takes far longer.
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %v for a file of %d bytes", name, took, len(data))
		}
		if n > 200<<20 {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(data))
		}
	}
}

// Of names that no program has, only the ends are kept, cut between characters.
func TestLongNames(t *testing.T) {
	for _, unit := range []string{"a", "é", "漢", "😀"} {
		for pad := range 4 {
			name := strings.Repeat("x", pad) + strings.Repeat(unit, maxName) + "/model.py"
			data := toPickle(t, oneEvent(alloc.with("frames", list{frame(name, 1, name)})))
			s, err := read(t, data)
			if err != nil {
				t.Fatal(err)
			}
			f := s.Frames[0]
			for _, got := range []string{f.File, f.Function} {
				head, tail, ok := strings.Cut(got, "…")
				if !ok || len(got) > maxName || len(got) < maxName-8 || !utf8.ValidString(got) ||
					!strings.HasPrefix(name, head) || !strings.HasSuffix(name, tail) || !strings.HasSuffix(tail, "/model.py") {
					t.Errorf("%q: %d bytes, %q…", unit, len(got), got[:20])
				}
			}
		}
	}
	if exact := strings.Repeat("a", maxName); clipMiddle(exact) != exact {
		t.Error("a name of the limit is clipped")
	}
}

// The sum of sizes that are possible one by one does not wrap.
func TestBlockSumsDoNotWrap(t *testing.T) {
	for _, key := range []string{"size", "requested_size"} {
		block := kv("address", 4096, "state", "active_allocated", key, int64(maxSize))
		if key != "size" {
			block = block.with("size", 0)
		}
		_, err := read(t, toPickle(t, oneSegment(kv("total_size", 512, "blocks", repeated(4096, &shared{block})))))
		if err == nil || !strings.Contains(err.Error(), "all segments together hold more than") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestMoreStreamsThanCanBeToldApart(t *testing.T) {
	const streams = 1<<16 + 10
	events := make(list, streams)
	for i := range events {
		events[i] = alloc.with("stream", i)
	}
	s, err := read(t, toPickle(t, kv("device_traces", list{events})))
	if err != nil {
		t.Fatal(err)
	}
	last := uint16(math.MaxUint16)
	if len(s.Streams) != 1<<16 || s.Streams[last] != OtherStreams || s.Streams[last-1] != math.MaxUint16-1 {
		t.Errorf("%d streams, the last are %d and %d", len(s.Streams), s.Streams[last-1], s.Streams[last])
	}
	for i, e := range s.Devices[0].Events {
		if want := uint16(min(i, math.MaxUint16)); e.Stream != want {
			t.Fatalf("event %d is of stream %d, want %d", i, e.Stream, want)
		}
	}
	if want := "more than 65534 different streams: the rest are shown as one"; len(s.Warnings) != 1 || s.Warnings[0] != want {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestMoreBehindThePickle(t *testing.T) {
	data := toPickle(t, oneEvent(alloc))
	withTree := toPickle(t, oneEvent(alloc).with("x", opcode("GLOBAL torch Size\nEMPTY_TUPLE\nTUPLE1\nREDUCE")))
	warning := "warning: more data follows the snapshot: only the first pickle was read"
	for name, more := range map[string][]byte{"pickle": data, "a byte": {0}, "a lot": make([]byte, 1<<20)} {
		for _, first := range [][]byte{data, withTree} {
			if got := mustDescribe(t, append(bytes.Clone(first), more...)); !strings.Contains(got, warning) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	for _, whole := range [][]byte{data, withTree} {
		if got := mustDescribe(t, whole); got != plain+"\n" {
			t.Errorf("nothing follows: %s", got)
		}
	}
}

// endless is a run of a byte without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// expanding is a pickle of size bytes that claims more, of which the first are
// random and the rest zeros. They are in a bytes value, which is passed over, so
// that only the expansion can be at fault.
func expanding(random int64) io.Reader {
	const size = 200 << 20
	return io.MultiReader(strings.NewReader("\x80\x04}(\x8c\x01xB\x00\x00\x00\x7f"),
		io.LimitReader(rand.New(rand.NewSource(1)), random), io.LimitReader(endless(0), size-random))
}

// A small file that expands without end is given up, a ratio that a repetitive
// snapshot may have is not.
func TestDecompressionBomb(t *testing.T) {
	for _, tt := range []struct {
		random int64
		want   string
	}{{0, "expands more than 1000-fold"}, {1 << 20, "the file ends early"}} {
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(z, expanding(tt.random)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err = read(t, packed.Bytes()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes: %v", packed.Len(), err)
		}
	}
}

// Of a stream only so much is kept, and a message says so where it matters.
func TestStreamThatIsReadTwice(t *testing.T) {
	long := func(root string) io.Reader {
		const size = maxKept + 1<<20
		head := []byte{0x80, 4, '}', '(', 0x8c, 1, 'x', 'B', size & 0xff, size >> 8 & 0xff, size >> 16 & 0xff, size >> 24}
		tail := "X\x08\x00\x00\x00segments" + root + "u."
		return io.MultiReader(bytes.NewReader(head), io.LimitReader(endless(1), size), strings.NewReader(tail))
	}
	if _, err := Read(long("]"), Options{}); err != nil {
		t.Errorf("a plain pickle: %v", err)
	}
	_, err := Read(long("ctorch\nSize\n)\x85R"), Options{})
	if err == nil || !strings.Contains(err.Error(), "of a stream only 64.0 MiB are kept: save it to a file and name that") {
		t.Errorf("a pickle with Python containers: %v", err)
	}
	if errors.Is(err, ErrNotSnapshot) {
		t.Error("it passes for something else")
	}
}

// Errors name the place of the event and not of a list inside it.
func TestPlaceOfEventErrors(t *testing.T) {
	for name, e := range map[string]doc{
		"pool":   kv("action", "alloc", "addr", 1, "size", 1, "frames", list{}, "pool_id", tuple{1, 2, 3}),
		"stream": kv("action", "alloc", "addr", 1, "size", 1, "stream", list{}, "time_us", 1, "frames", list{}),
	} {
		_, err := read(t, toPickle(t, kv("segments", list{}, "device_traces", list{list{alloc, e}})))
		if err == nil || !strings.Contains(err.Error(), "(SETITEMS), in device_traces[0][1]; ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A device with few allocations takes no room for all stacks of the others.
func TestFoldOfManyDevices(t *testing.T) {
	h := newHandmade()
	for i := range 100_000 {
		h.event(Alloc, uint64(i+1)*512, 1, h.stack(Frame{File: "a.py", Line: int32(i), Function: "f"}))
	}
	small := &Device{Index: 1, Events: []Event{
		{Action: Alloc, Addr: 512, Size: 10, Stack: 7}, {Action: Alloc, Addr: 1024, Size: 20, Stack: 3}, {Action: Alloc, Addr: 2048, Size: 5, Stack: 7}, {Action: SnapshotMark},
	}}
	tl := h.Timeline(small)
	at := Moment{Event: 2}
	want := h.Fold(tl, at, ByLine)
	if len(want.Rows) != 2 || want.Total != 35 || want.Rows[0].Bytes != 20 || want.Rows[1].Bytes != 15 || want.Rows[1].Count != 2 {
		t.Errorf("%+v", want)
	}
	if n := allocated(func() { h.Fold(tl, at, ByLine) }); n > 1<<16 {
		t.Errorf("%d bytes for three allocations", n)
	}
}
