package main

import (
	"testing"

	"github.com/snapview/snapview/internal/units"
)

func TestLocation(t *testing.T) {
	const file = "/home/ml/train/example/model.py"
	for _, test := range []struct {
		file     string
		line     int32
		function string
		width    int
		want     string
	}{
		{file, 45, "forward", 80, "/home/ml/train/example/model.py:45 forward"},
		{file, 45, "forward", 40, "…/ml/train/example/model.py:45 forward"},
		{file, 45, "forward", 30, "…/example/model.py:45 forward"},
		{file, 45, "forward", 20, "…/model.py:45 forwa…"},
		{file, 45, "", 14, "…/model.py:45"},
		{file, 0, "", 20, "…/example/model.py"},
		{"model.py", 45, "a_very_long_function_name", 30, "model.py:45 a_very_long_funct…"},
		{"", 0, "(no stack)", 30, "(no stack)"},
		{"", 0, "", 30, "(native code)"},
		{"??", 0, "", 30, "(native code)"},
		{"", 0, "at::native::empty_strided_cuda", 12, "at::native:…"},
		{"/x/模型.py", 1, "f", 12, "模型.py:1 f"},
		{"evil\x1b[2J.py", 1, "f", 40, `evil\x1b[2J.py:1 f`},
	} {
		got := location(test.file, test.line, test.function, test.width)
		if got != test.want {
			t.Errorf("location(%q, %d, %q, %d) = %q, want %q", test.file, test.line, test.function, test.width, got, test.want)
		}
		if units.Width(got) > test.width {
			t.Errorf("location(%q, …, %d) is %d columns wide", test.file, test.width, units.Width(got))
		}
	}
}

func TestShortenPath(t *testing.T) {
	for _, test := range []struct {
		path  string
		width int
		want  string
	}{
		{"/a/b/c.py", 9, "/a/b/c.py"},
		{"/a/b/c.py", 8, "…/b/c.py"},
		{"/a/b/c.py", 7, "…/c.py"},
		{"/a/b/c.py", 6, "…/c.py"},
		{"/a/b/c.py", 3, "…py"},
		{"no_folder_at_all.py", 10, "…at_all.py"},
	} {
		if got := shortenPath(test.path, test.width); got != test.want {
			t.Errorf("shortenPath(%q, %d) = %q, want %q", test.path, test.width, got, test.want)
		}
	}
}

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"snapshot.pickle": "snapshot", "a/b/9_end.pickle.zst": "9_end", "x.PKL.GZ": "x", "noext": "noext",
		".pickle": ".pickle", "v1.2.pickle": "v1.2", "-": "snapshot", "x.html": "x.html",
	} {
		if got := baseName(name); got != want {
			t.Errorf("baseName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEscapeActive(t *testing.T) {
	for in, want := range map[string]string{
		`"plain ü 模"`:            `"plain ü 模"`,
		"\"\u009b2J\"":           `"\u009b2J"`,
		"\"\u007f\"":             `"\u007f"`,
		"\"a\u202ecod.exe\u202c": `"a\u202ecod.exe\u202c`,
	} {
		if got := string(escapeActive([]byte(in))); got != want {
			t.Errorf("escapeActive(%q) = %q, want %q", in, got, want)
		}
	}
}
