package input

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// payload is a trace of n bytes that compresses about as well as real ones.
func payload(n int) []byte {
	random := rand.New(rand.NewSource(1))
	b := []byte(`{"traceEvents": [`)
	for len(b) < n {
		b = append(b, `{"ph": "X", "name": "aten::add", "ts": `...)
		for range 4 {
			b = append(b, byte('0'+random.Intn(10)))
		}
		b = append(b, "},\n"...)
	}
	return b[:n]
}

func compressed(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "s2":
		w = s2.NewWriter(&b)
	case "snappy":
		w = snappy.NewBufferedWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithWindowSize(MaxWindow))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bzipped is "[]\n" as bzip2 writes it; there is no writer in Go.
const bzipped = "BZh91AY&SYL~xP\x00\x00\x00\xc2\x00\x00\x10\x00\x0a \x00!\x98\x19\x84aw$S\x85\x09\x04\xc7\xe7\x85\x00"

func TestOpen(t *testing.T) {
	data := payload(1 << 20)
	gz := func(b []byte) []byte { return compressed(t, "gzip", b) }
	zst := func(b []byte) []byte { return compressed(t, "zstd", b) }
	for _, c := range []struct {
		name string
		raw  []byte
		want []byte
		comp []string
	}{
		{"plain", data, data, nil},
		{"short", []byte("[]"), []byte("[]"), nil},
		{"gzip", gz(data), data, []string{"gzip"}},
		{"gzip of two members", slices.Concat(gz(data[:1000]), gz(data[1000:])), data, []string{"gzip"}},
		{"zstd", zst(data), data, []string{"zstd"}},
		{"zstd of two frames", slices.Concat(zst(data[:1000]), zst(data[1000:])), data, []string{"zstd"}},
		{"zstd after a skippable frame", slices.Concat([]byte("\x50\x2a\x4d\x18\x02\x00\x00\x00xx"), zst(data)), data, []string{"zstd"}},
		{"s2", compressed(t, "s2", data), data, []string{"s2"}},
		{"snappy", compressed(t, "snappy", data), data, []string{"snappy"}},
		{"zlib", compressed(t, "zlib", data), data, []string{"zlib"}},
		{"zlib, short", compressed(t, "zlib", []byte("[]")), []byte("[]"), []string{"zlib"}},
		{"gzip in zstd in gzip", gz(zst(gz(data))), data, []string{"gzip", "zstd", "gzip"}},
		{"like zlib", []byte("x^2 + y^2 = z^2"), []byte("x^2 + y^2 = z^2"), nil},
		{"like bzip2", []byte("BZh9 is not bzip2"), []byte("BZh9 is not bzip2"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Open(write(t, "x", c.raw))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			check(t, f, c.want)
			if !slices.Equal(f.Compression, c.comp) {
				t.Errorf("compression %v, want %v", f.Compression, c.comp)
			}
			if f.Size != int64(len(c.raw)) || f.ReadRaw() != f.Size {
				t.Errorf("size %d, read %d, want %d", f.Size, f.ReadRaw(), len(c.raw))
			}
			again, err := f.Reopen()
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			check(t, again, c.want)
		})
	}
}

func check(t *testing.T, f *File, want []byte) {
	t.Helper()
	if head := want[:min(len(want), HeadSize)]; !bytes.Equal(f.Head, head) {
		t.Errorf("head of %d bytes, want %d", len(f.Head), len(head))
	}
	got, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, want %d, first difference at %d", len(got), len(want), difference(got, want))
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func difference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestOpenBzip2(t *testing.T) {
	f, err := New("x", strings.NewReader(bzipped))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check(t, f, []byte("[]\n"))
	if f.Kind != SegmentListJSON {
		t.Error(f.Kind)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	deep := []byte("[]")
	for range MaxNesting + 1 {
		deep = compressed(t, "gzip", deep)
	}
	for _, c := range []struct {
		name, path string
		want       error
		text       string // after the path
	}{
		{"no name", "", ErrNoName, "no file named; give a path, or - for standard input"},
		{"directory", dir, ErrDirectory, "a directory, not a snapshot file; name one file in it"},
		{"missing", filepath.Join(dir, "none"), fs.ErrNotExist, "no such file; check the path"},
		{"empty", write(t, "x", nil), ErrEmpty, "empty: nothing was written to it; make the capture again"},
		{"empty gzip", write(t, "x", compressed(t, "gzip", nil)), ErrEmpty, "empty once decompressed (gzip); make the capture again"},
		{"byte order mark", write(t, "x", []byte("\xef\xbb\xbf")), ErrEmpty, "empty but for a byte order mark; make the capture again"},
		{"nesting", write(t, "x", deep), ErrNesting, "compressed more than 4 times over; unpack it first"},
		{"gzip header cut", write(t, "x", []byte("\x1f\x8b\x08\x00")), io.ErrUnexpectedEOF, "gzip stream ends early at compressed byte 4"},
		{"gzip header damaged", write(t, "x", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff")), nil, "gzip stream is damaged at or before compressed byte 11: corrupt input before offset 1"},
		{"zstd cut", write(t, "x", compressed(t, "zstd", payload(9999))[:20]), io.ErrUnexpectedEOF, "zstd stream ends early at compressed byte 20"},
		{"zstd window", write(t, "x", []byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00")), zstd.ErrWindowSizeExceeded,
			"zstd stream needs a window of more than 128 MiB; unpack it with zstd -d --long=31"},
	} {
		f, err := Open(c.path)
		if err == nil {
			f.Close()
			t.Errorf("%s: no error", c.name)
			continue
		}
		var open *OpenError
		if !errors.As(err, &open) || open.Name != c.path {
			t.Errorf("%s: not an OpenError: %v", c.name, err)
		}
		if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if got, want := err.Error(), c.path+": "+c.text; got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func TestOpenDevice(t *testing.T) {
	info, err := os.Stat(os.DevNull)
	if err != nil || info.Mode().IsRegular() {
		t.Skip("no null device in the file system")
	}
	if _, err := Open(os.DevNull); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}

func TestErrorTextIsSafe(t *testing.T) {
	_, err := Open("no\x1b[31m\nsuch")
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("%q", err)
	}
}

// Of a damaged stream, everything before the damage is delivered, and then the
// error says where.
func TestDamage(t *testing.T) {
	data := payload(3 << 20)
	for _, format := range []string{"gzip", "zlib", "zstd", "s2", "snappy"} {
		raw := compressed(t, format, data)
		t.Run(format+" cut", func(t *testing.T) {
			cut := raw[:len(raw)*3/4]
			err := damaged(t, cut, data, len(data)/2)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v does not unwrap to io.ErrUnexpectedEOF", err)
			}
			var stream *StreamError
			if !errors.As(err, &stream) || stream.Offset != int64(len(cut)) || stream.Format != format {
				t.Errorf("%#v, want offset %d", stream, len(cut))
			}
		})
		t.Run(format+" changed", func(t *testing.T) {
			bad := bytes.Clone(raw)
			for i := len(bad) - 3; i < len(bad); i++ {
				bad[i] ^= 0xff // a checksum or size at the end
			}
			if format == "snappy" || format == "s2" {
				bad[len(bad)*3/4] ^= 0xff
			}
			err := damaged(t, bad, data, len(data)/2)
			var stream *StreamError
			if !errors.As(err, &stream) || !strings.Contains(err.Error(), "damaged at or before compressed byte") {
				t.Errorf("%v", err)
			}
		})
	}
}

// damaged reads raw to its error, having checked that at least atLeast bytes of
// data came first.
func damaged(t *testing.T, raw, data []byte, atLeast int) error {
	t.Helper()
	f, err := New("x", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err == nil {
		t.Fatal("no error")
	}
	if len(got) < atLeast || !bytes.HasPrefix(data, got) {
		t.Errorf("%d bytes delivered, want at least %d", len(got), atLeast)
	}
	if _, again := f.Read(make([]byte, 1)); again != err {
		t.Errorf("read again: %v", again)
	}
	return err
}

// An error of the stream below is not called damage, and short reads change nothing.
func TestReader(t *testing.T) {
	data := payload(300 << 10)
	gz := compressed(t, "gzip", data)
	broken := errors.New("broken pipe")
	for name, want := range map[string]error{"broken": broken, "unexpected end": io.ErrUnexpectedEOF} {
		for _, raw := range [][]byte{data, gz} {
			f, err := New("x", io.MultiReader(bytes.NewReader(raw[:len(raw)/2]), iotest.ErrReader(want)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(f); err != want {
				t.Errorf("%s: %v", name, err)
			}
			f.Close()
		}
	}
	for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		f, err := New("x", wrap(bytes.NewReader(gz)))
		if err != nil {
			t.Fatal(err)
		}
		check(t, f, data)
		f.Close()
	}
	if _, err := New("x", iotest.ErrReader(broken)); !errors.Is(err, broken) || err.Error() != "x: broken pipe" {
		t.Error(err)
	}
}

// A stream can be read again from any point, also while the first pass is under
// way, until it is forgotten.
func TestReopenStream(t *testing.T) {
	data := payload(2 << 20)
	f, err := New("x", iotest.HalfReader(bytes.NewReader(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Size != -1 {
		t.Errorf("size %d", f.Size)
	}
	first := make([]byte, 1<<20)
	if _, err := io.ReadFull(f, first); err != nil {
		t.Fatal(err)
	}
	again, err := f.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	check(t, again, data)
	again.Close()
	rest, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(slices.Concat(first, rest), data) {
		t.Errorf("first pass: %d bytes, %v", len(first)+len(rest), err)
	}
	f.Forget()
	if _, err := f.Reopen(); !errors.Is(err, ErrNoReopen) {
		t.Error(err)
	}
}

// Once forgotten, a stream of any length is read in bounded memory.
func TestForget(t *testing.T) {
	const size = 64 << 20
	f, err := New("x", io.LimitReader(endless{}, size))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Forget()
	if grown := growth(t, f, size); grown > 16<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// A bomb is a stream: memory stays in proportion to the buffers.
func TestBomb(t *testing.T) {
	const size = 128 << 20
	for _, format := range []string{"gzip", "zstd"} {
		inner := compressedStream(t, format, io.LimitReader(endless{}, size))
		f, err := New("x", bytes.NewReader(compressed(t, "gzip", inner)))
		if err != nil {
			t.Fatal(err)
		}
		if grown := growth(t, f, size); grown > 48<<20 {
			t.Errorf("%s: heap grew by %d bytes", format, grown)
		}
		f.Close()
	}
}

func compressedStream(t *testing.T, format string, r io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if format == "zstd" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// growth reads size bytes from f and returns by how much the heap grew meanwhile.
func growth(t *testing.T, f *File, size int64) int64 {
	t.Helper()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most int64
	for read := int64(0); read < size; {
		n, err := io.CopyN(io.Discard, f, size/8)
		if err != nil {
			t.Fatal(err)
		}
		read += n
		runtime.ReadMemStats(&now)
		most = max(most, int64(now.HeapSys)-int64(before.HeapSys))
	}
	return most
}

func TestEncoding(t *testing.T) {
	const text = "memory.used [MiB], µ€𝄞\n"
	le := []byte("\xff\xfe")
	be := []byte("\xfe\xff")
	for _, u := range []uint16{'m', 'e', 'm', 'o', 'r', 'y', '.', 'u', 's', 'e', 'd', ' ', '[', 'M', 'i', 'B', ']', ',', ' ', 0xb5, 0x20ac, 0xd834, 0xdd1e, '\n'} {
		le = append(le, byte(u), byte(u>>8))
		be = append(be, byte(u>>8), byte(u))
	}
	for _, c := range []struct {
		name, encoding string
		raw            []byte
		want           string
	}{
		{"UTF-8 with mark", "utf-8-bom", []byte("\xef\xbb\xbf" + text), text},
		{"UTF-16LE", "utf-16le", le, text},
		{"UTF-16BE", "utf-16be", be, text},
		{"compressed", "utf-16le", compressed(t, "gzip", le), text},
		{"lone surrogates", "utf-16le", []byte("\xff\xfea\x00\x34\xd8b\x00\x34\xd8"), "a\ufffdb\ufffd"},
		{"half a unit", "utf-16le", []byte("\xff\xfea\x00b"), "a\ufffd"},
		{"not a mark", "", []byte("\xff\xfe\x00\x00"), "\xff\xfe\x00\x00"},
	} {
		f, err := New("x", bytes.NewReader(c.raw))
		if err != nil {
			t.Fatal(c.name, err)
		}
		if f.Encoding != c.encoding {
			t.Errorf("%s: encoding %q", c.name, f.Encoding)
		}
		if got, err := io.ReadAll(f); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		f.Close()
	}
}

// A redirected file is read from where it stands, and again.
func TestBorrowedFile(t *testing.T) {
	file, err := os.Open(write(t, "x", []byte("skip[]")))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	f, err := New("x", file)
	if err != nil {
		t.Fatal(err)
	}
	check(t, f, []byte("[]"))
	if f.Size != 2 {
		t.Errorf("size %d", f.Size)
	}
	f.Forget() // nothing is kept, so nothing is lost
	again, err := f.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	check(t, again, []byte("[]"))
	again.Close()
	f.Close()
	if _, err := file.Stat(); err != nil {
		t.Error("the caller's file was closed:", err)
	}
}

// Close ends the goroutine wherever the reading stands, and a second Close and a
// Read after it are harmless.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	path := write(t, "x", compressed(t, "zstd", payload(8<<20)))
	for _, read := range []int64{0, 100, 1 << 20, 5 << 20} {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, f, read); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := f.Read(make([]byte, 1)); err != fs.ErrClosed {
			t.Error("read after close:", err)
		}
	}
	waitForGoroutines(t, before)
}

// Close returns while a read of the caller's stream blocks; the goroutine ends with it.
func TestCloseBlockedStream(t *testing.T) {
	before := runtime.NumGoroutine()
	r, w := io.Pipe()
	gz := compressed(t, "gzip", payload(2<<20))
	go w.Write(gz[:len(gz)/2]) // then nothing more
	f, err := New("x", r)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, f)
		ended <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != fs.ErrClosed {
		t.Error("blocked read:", err)
	}
	w.Close()
	waitForGoroutines(t, before)
}

func waitForGoroutines(t *testing.T, want int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), want)
}

func BenchmarkRead(b *testing.B) {
	data := payload(32 << 20)
	for _, format := range []string{"plain", "gzip", "zstd"} {
		raw := data
		if format != "plain" {
			raw = compressed(b, format, data)
		}
		path := write(b, "x", raw)
		b.Run(format, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, f); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
