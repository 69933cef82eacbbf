package viewer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func render(t *testing.T, s Snapshot) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteSnapshot(&out, s); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// parts takes a page apart: its HTML with our large constant parts left out,
// and its data.
func parts(t *testing.T, page string) (html, data string) {
	t.Helper()
	for _, constant := range []string{echartsJS, reportJS(), reportCSS} {
		if strings.Count(page, constant) != 1 {
			t.Fatal("the page does not hold each of echarts, scripts and styles exactly once")
		}
		page = strings.Replace(page, constant, "…", 1)
	}
	const open = `<script type="application/json" id="data">`
	before, rest, ok := strings.Cut(page, open)
	data, after, ok2 := strings.Cut(rest, "</script>")
	if !ok || !ok2 {
		t.Fatal("the page has no data")
	}
	return before + open + after, data
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./viewer -update and read the difference", path)
	}
}

func TestPageGolden(t *testing.T) {
	goldenPage(t, "page.html.golden", "data.json.golden", render(t, fakeSnapshot()))
}

// goldenPage compares a page and its data; hashes of scripts are left out.
func goldenPage(t *testing.T, htmlName, dataName, page string) {
	t.Helper()
	html, data := parts(t, page)
	golden(t, htmlName, regexp.MustCompile(`sha256-.*?=&#39;`).ReplaceAllString(html, "sha256-…&#39;"))
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(data), "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, dataName, indented.String())
}

func TestSameInputSameBytes(t *testing.T) {
	first := render(t, fakeSnapshot())
	for range 5 {
		if render(t, fakeSnapshot()) != first {
			t.Fatal("the same snapshot gave two different pages")
		}
	}
}

func TestEmptySnapshot(t *testing.T) {
	page := render(t, Snapshot{Name: "x"})
	if !strings.Contains(page, "The file holds no device") {
		t.Error("a snapshot without devices should say so")
	}
}

// The numbers must be there for readers without scripts.
func TestPlainHTMLHoldsTheAnswer(t *testing.T) {
	html, _ := parts(t, render(t, fakeSnapshot()))
	for _, want := range []string{
		"60.0 MiB", "62,914,560 B", // the peak
		"31.0 MiB", "64.0 MiB", // end, reserved
		"model.py", ":41", "_call_impl", // a row and its stack
		"<svg", "peak at least 60.0 MiB", // the curve
		"Free blocks that share their segment", // a definition
		"max_split_size_mb:64", "## forward ##",
		"The history is truncated",
		"Out of memory at event 8",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page without scripts lacks %q", want)
		}
	}
}

func TestPageLoadsNothing(t *testing.T) {
	html, _ := parts(t, render(t, fakeSnapshot()))
	if m := regexp.MustCompile(`(?i)(src|href|action|srcset|poster|data)\s*=\s*["']?(https?:|//|/|[a-z]+\.)`).FindString(html); m != "" {
		t.Errorf("the page refers to %q", m)
	}
	if m := regexp.MustCompile(`(?i)url\(|@import`).FindString(reportCSS); m != "" {
		t.Errorf("the style sheet loads something: %q", m)
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") {
		t.Error("the page has no strict Content-Security-Policy")
	}
	if strings.Contains(policy(), "script-src 'unsafe") || strings.Contains(policy(), "'unsafe-eval'") {
		t.Error("the policy lets scripts in")
	}
}

func TestNamesAreInert(t *testing.T) {
	inertNames(t, func(name string) string { return render(t, poisoned(name)) })
}

// inertNames checks that whatever a name is, it changes nothing but text: a page
// that has it everywhere has as many tags as one with a harmless name.
func inertNames(t *testing.T, page func(name string) string) {
	t.Helper()
	names := map[string]string{
		"script":  `</script><script>alert(1)</script>`,
		"image":   `<img src=x onerror=alert(1)>`,
		"quote":   `"' onmouseover=alert(1) x="`,
		"comment": `<!--<script>`,
		"ansi":    "\x1b[31mred\x1b[0m\x07",
		"utf8":    "bad\xff\xfe\xc3",
		"bidi":    "safe\u202egnp.exe",
		"lines":   "a\u2028b\u2029c\r\nd",
		"long":    strings.Repeat("x<", 1<<19),
		"tmpl":    "{{.}} ${alert(1)} `x`",
		"css":     "</style><script>alert(1)</script>",
	}
	plainPage, _ := parts(t, page("harmless"))
	tags := regexp.MustCompile(`<[a-zA-Z!/][^>]*`)
	wantTags := len(tags.FindAllString(plainPage, -1))
	for what, name := range names {
		t.Run(what, func(t *testing.T) {
			page := page(name)
			html, data := parts(t, page)
			if !utf8.ValidString(html) || !utf8.ValidString(data) {
				t.Error("the page is not valid UTF-8")
			}
			if i := strings.IndexFunc(html+data, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' || r == '\u2028' }); i >= 0 {
				t.Errorf("a control character reached the page: %q", (html + data)[max(0, i-20):i+10])
			}
			if strings.ContainsAny(data, "<>&") {
				t.Error("the data can end its script element")
			}
			if got := len(tags.FindAllString(html, -1)); got != wantTags {
				t.Errorf("the page has %d tags, a harmless one %d", got, wantTags)
			}
			if len(page) > len(echartsJS)+400<<10 {
				t.Errorf("the page has %d bytes: the name was not shortened", len(page))
			}
		})
	}
}

// poisoned puts a name everywhere where text from a file goes.
func poisoned(name string) Snapshot {
	s := fakeSnapshot()
	s.Name, s.Format, s.Conf, s.Version = "a/"+name, name, name, name
	s.Settings = []Setting{{name, name}, {name, name}}
	s.Annotations[0].Name, s.Annotations[1].Name = name, name
	s.Warnings = []string{name}
	evil := Frame{File: name, Function: name, Line: 1}
	s.Stacks = fakeStacks{1: {evil, evil, evil, evil, evil}, 2: {evil, evil, evil}}
	d := &s.Devices[0]
	d.Name, d.Short = name, name
	d.Verdict.Text = name
	for i := range d.Marks {
		d.Marks[i].Label = name
	}
	d.Segments[3].Pool, d.Segments[3].Stream = name, name
	for i := range d.Moments {
		for j := range d.Moments[i].Rows {
			r := &d.Moments[i].Rows[j]
			if r.Kind == SpecialFrame {
				continue
			}
			r.File, r.Function = "/"+name, name
		}
	}
	var poison func(f *Flame)
	poison = func(f *Flame) {
		f.File, f.Function = name, name
		for _, c := range f.Children {
			poison(c)
		}
	}
	poison(d.Moments[0].Flame)
	return s
}

func TestPageIsBounded(t *testing.T) {
	for _, devices := range []int{1, 4} {
		page := render(t, hugeSnapshot(devices))
		t.Logf("%d devices: %d bytes", devices, len(page))
		if len(page) > MaxBytes {
			t.Errorf("%d devices: the page has %d bytes, more than %d", devices, len(page), MaxBytes)
		}
	}
	// Many devices, each of them small.
	s := hugeSnapshot(1)
	small := s.Devices[0]
	small.Curve = small.Curve[:5000]
	for range 200 {
		s.Devices = append(s.Devices, small)
	}
	page := render(t, s)
	t.Logf("%d devices: %d bytes", len(s.Devices), len(page))
	if len(page) > MaxBytes {
		t.Errorf("%d devices: the page has %d bytes, more than %d", len(s.Devices), len(page), MaxBytes)
	}
}

func TestEchartsIsThePublishedFile(t *testing.T) {
	version, err := os.ReadFile("assets/echarts/VERSION")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(echartsJS))
	fields := map[string]string{}
	for _, line := range strings.Split(string(version), "\n") {
		if f := strings.Fields(line); len(f) == 2 {
			fields[f[0]] = f[1]
		}
	}
	if got := hex.EncodeToString(sum[:]); got != fields["sha256"] {
		t.Errorf("sha256 of echarts.min.js is %s, VERSION says %s", got, fields["sha256"])
	}
	if fields["version"] != "5.6.0" || !strings.Contains(echartsJS, `version="5.6.0"`) {
		t.Errorf("VERSION says %q; the file must be of that version", fields["version"])
	}
	if !strings.HasPrefix(fields["integrity"], "sha512-oTbVTsXfKuEhxftHqL5xprgLoc0k7uScAwtryCgWF6hPYFLRwOUHiFmHGCBKP5NPFNkDVopOieyUqYGH8Fa3kA==") {
		t.Errorf("integrity is %q", fields["integrity"])
	}
	for _, name := range []string{"LICENSE", "NOTICE", "LICENSE-d3"} {
		if st, err := os.Stat("assets/echarts/" + name); err != nil || st.Size() == 0 {
			t.Errorf("assets/echarts/%s must be there: %v", name, err)
		}
	}
}

// What is inlined into script elements must not end them.
func TestScriptsCanBeInlined(t *testing.T) {
	for name, src := range map[string]string{"echarts": echartsJS, "ours": reportJS(), "boot": bootJS} {
		if strings.Contains(strings.ToLower(src), "</script") || strings.Contains(src, "<!--") {
			t.Errorf("%s would end its script element", name)
		}
	}
	if strings.Contains(reportJS(), "innerHTML") || strings.Contains(reportJS(), "insertAdjacentHTML") {
		t.Error("our scripts must add text only through textContent")
	}
}

func BenchmarkWriteSnapshot(b *testing.B) {
	s := hugeSnapshot(1)
	b.ReportAllocs()
	for b.Loop() {
		var n counter
		if err := WriteSnapshot(&n, s); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(n))
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
