package units

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{
		{0, "0 B"}, {1, "1 B"}, {12, "12 B"}, {512, "512 B"}, {1023, "1023 B"},
		{1024, "1.00 KiB"}, {1536, "1.50 KiB"}, {10230, "9.99 KiB"}, {10239, "10.0 KiB"}, {102399, "100 KiB"},
		{1<<20 - 1, "1.00 MiB"}, {1 << 20, "1.00 MiB"}, {20 << 20, "20.0 MiB"}, {1023 << 20, "1023 MiB"},
		{1<<30 - 1, "1.00 GiB"}, {1<<30 + 1<<29, "1.50 GiB"}, {150109880320, "140 GiB"},
		{1 << 40, "1.00 TiB"}, {1 << 50, "1.00 PiB"}, {1 << 60, "1.00 EiB"}, {math.MaxInt64, "8.00 EiB"},
		{-1, "-1 B"}, {-20 << 20, "-20.0 MiB"}, {math.MinInt64, "-8.00 EiB"},
	} {
		if got := Bytes(c.n); got != c.want {
			t.Errorf("Bytes(%d) = %q, want %q", c.n, got, c.want)
		}
	}
}

func TestSignedExactCount(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"growth", Signed(1<<30 + 1<<29), "+1.50 GiB"},
		{"shrink", Signed(-512), "-512 B"},
		{"none", Signed(0), "0 B"},
		{"exact", Exact(1610612736), "1,610,612,736 B"},
		{"exact minimum", Exact(math.MinInt64), "-9,223,372,036,854,775,808 B"},
		{"count", Count(12345), "12,345"},
		{"count of int64", Count(int64(-1234567)), "-1,234,567"},
		{"small count", Count(int32(999)), "999"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{1, 4, "25.0%"}, {0, 5, "0.0%"}, {5, 5, "100.0%"}, {5, 0, "n/a"}, {0, 0, "n/a"},
		{1, 1e6, "<0.1%"}, {-1, 1e6, ">-0.1%"}, {999999, 1e6, ">99.9%"}, {15, 10, "150.0%"}, {-1, 4, "-25.0%"},
		{math.MaxInt64, math.MaxInt64, "100.0%"},
	} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		us   int64
		want string
	}{
		{0, "0 µs"}, {850, "850 µs"}, {1000, "1.00 ms"}, {12345, "12.3 ms"}, {999_499, "999 ms"}, {999_500, "1.00 s"},
		{1_500_000, "1.50 s"}, {59_949_999, "59.9 s"}, {59_960_000, "1m 00s"}, {125_000_000, "2m 05s"},
		{3_599_600_000, "1h 00m"}, {3_720_000_000, "1h 02m"}, {86_399_999_999, "1d 00h"}, {273_600_000_000, "3d 04h"},
		{-1_500_000, "-1.50 s"},
	} {
		if got := Duration(c.us); got != c.want {
			t.Errorf("Duration(%d) = %q, want %q", c.us, got, c.want)
		}
	}
	for _, us := range []int64{math.MaxInt64, math.MinInt64} {
		if got := Duration(us); !strings.HasSuffix(got, "h") {
			t.Errorf("Duration(%d) = %q", us, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"0", 0}, {"512", 512}, {"512B", 512}, {"512 bytes", 512}, {"1 byte", 1}, {" 40GiB ", 40 << 30}, {"40gib", 40 << 30},
		{"80G", 80 << 30}, {"80 Gi", 80 << 30}, {"4k", 4096}, {"1.5GiB", 3 << 29}, {"1.5 GB", 1_500_000_000}, {"24MB", 24_000_000},
		{"1,610,612,736 B", 1610612736}, {"9223372036854775807", math.MaxInt64}, {"0.3", 0}, {"7EiB", 7 << 60},
	} {
		got, err := ParseBytes(c.in)
		if err != nil || got != c.want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
}

func TestParseBytesErrors(t *testing.T) {
	for _, c := range []struct {
		in   string
		want error
		text string
	}{
		{"", ErrSize, `"": not a size; write it like 40GiB, 1.5 GB or 1048576`},
		{"GiB", ErrSize, ""}, {"1,5 GB", ErrSize, ""}, {"1.", ErrSize, ""}, {"0x10", ErrSize, ""}, {"1e9", ErrSize, ""},
		{"NaN", ErrSize, ""}, {"٣GiB", ErrSize, ""},
		{"40 parsecs", ErrSize, `"40 parsecs": not a size: unknown unit "parsecs"; use B, KiB, MiB, GiB, TiB, KB, MB, GB or TB`},
		{"-1GiB", ErrNegative, `"-1GiB": a size cannot be negative; write it like 40GiB, 1.5 GB or 1048576`},
		{"8EiB", ErrTooLarge, ""}, {"9223372036854775808", ErrTooLarge, ""}, {"99999999999999999999999", ErrTooLarge, ""},
		{strings.Repeat("9", 1000), ErrTooLarge, ""}, {"16EiB", ErrTooLarge, ""}, {"8.0EiB", ErrTooLarge, ""},
	} {
		_, err := ParseBytes(c.in)
		if !errors.Is(err, c.want) {
			t.Errorf("ParseBytes(%q): %v, want %v", c.in, err, c.want)
			continue
		}
		if c.text != "" && err.Error() != c.text {
			t.Errorf("ParseBytes(%q):\n got %s\nwant %s", c.in, err, c.text)
		}
		if len(err.Error()) > 300 {
			t.Errorf("ParseBytes: message of %d bytes", len(err.Error()))
		}
	}
}

// What is printed can be read back: exactly from Exact, within rounding from Bytes.
func TestParseBytesReadsOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")
		if got, err := ParseBytes(Exact(n)); err != nil || got != n {
			t.Fatalf("ParseBytes(%q) = %d, %v", Exact(n), got, err)
		}
		n >>= uint(rapid.IntRange(1, 62).Draw(t, "shift"))
		got, err := ParseBytes(Bytes(n))
		if err != nil || math.Abs(float64(got-n)) > 0.006*float64(n) {
			t.Fatalf("%d prints as %q, which reads as %d, %v", n, Bytes(n), got, err)
		}
	})
}

func TestSafe(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"train.py:12 main", "train.py:12 main"}, {`C:\models\net.py`, `C:\models\net.py`},
		{"modèle_模型.py", "modèle_模型.py"},
		{"a\x1b[31mred\x1b[0m", `a\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`},
		{"two\nlines\r\tx\x00", `two\nlines\r\tx\x00`},
		{"c1\u009b31m", `c1\x9b31m`},
		{"evil\u202egpj.py", `evil\u202egpj.py`}, {"\u2066x\u2069\u200f\u061c", `\u2066x\u2069\u200f\u061c`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`}, {"line\u2028par\u2029", `line\u2028par\u2029`},
		{"tag\U000e0041", `tag\U000e0041`}, {"priv\ue000", `priv\ue000`},
		{"bad\xff\xfe utf8 \xc3", `bad\xff\xfe utf8 \xc3`}, {"\x9b31m", `\x9b31m`}, {"real \ufffd", "real \ufffd"}, {"del\x7f", `del\x7f`},
	} {
		if got := Safe(c.in); got != c.want {
			t.Errorf("Safe(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J", "\u202e", "\xff", "é\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Safe(s)
		if !utf8.ValidString(out) {
			t.Fatalf("invalid UTF-8 in %q", out)
		}
		for _, r := range out {
			if unsafeRune(r) && r != utf8.RuneError {
				t.Fatalf("%U survives in %q", r, out)
			}
		}
		if Safe(out) != out {
			t.Fatalf("not stable: %q then %q", out, Safe(out))
		}
	})
}

func TestEllipsis(t *testing.T) {
	const path = "/home/ml/train/example/model/attention.py"
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{path, 100, path}, {path, len(path), path}, {path, 22, "/home/m…l/attention.py"},
		{"abcdef", 5, "a…def"}, {"abc", 1, "…"}, {"abc", 0, ""}, {"abc", -3, ""}, {"abc", 2, "…c"},
		{"模型模型模型", 7, "模…模型"}, {"模型模型模型", 6, "…模型"},
	} {
		got := Ellipsis(c.in, c.width)
		if got != c.want {
			t.Errorf("Ellipsis(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
		if Width(got) > max(c.width, 0) {
			t.Errorf("Ellipsis(%q, %d) takes %d cells", c.in, c.width, Width(got))
		}
	}
}
