package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserNames are looked up in PATH; Debian calls it chromium.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell", "chrome"}

// browser finds a Chromium. Without one the test is skipped, unless
// SNAPVIEW_REQUIRE_BROWSER=1 says that there must be one.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range browserNames {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("SNAPVIEW_REQUIRE_BROWSER") != "" {
		t.Fatalf("SNAPVIEW_REQUIRE_BROWSER is set, but none of %s is in PATH", strings.Join(browserNames, ", "))
	}
	t.Skipf("no browser to open the page with: none of %s is in PATH", strings.Join(browserNames, ", "))
	return ""
}

// watcher records what a page must not do.
type watcher struct {
	mu       sync.Mutex
	problems []string
	requests []string
}

func (w *watcher) see(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown, *runtime.EventConsoleAPICalled, *log.EventEntryAdded:
		text, _ := json.Marshal(e)
		w.problems = append(w.problems, fmt.Sprintf("%T %s", e, text))
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	}
}

// browserPage is a report in a fresh tab.
type browserPage struct {
	*testing.T
	ctx   context.Context
	url   string
	watch *watcher
}

func openPage(t *testing.T, s Snapshot, width int64) *browserPage {
	t.Helper()
	browser(t)
	return openHTML(t, render(t, s), width)
}

func openHTML(t *testing.T, html string, width int64) *browserPage {
	t.Helper()
	path := browser(t)
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	// One parent context bounds the whole test; see chromedp.Run.
	parent, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(stop)
	w := &watcher{}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path)}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to sandbox as root
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithAllocatorOptions(options...), chromedp.WithListener(w.see))
	t.Cleanup(cancel)
	p := &browserPage{t, ctx, "file://" + file, w}
	p.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		if _, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, tab, log.Enable, cdp.Empty{})
		return err
	}))
	p.do(chromedp.EmulateViewport(width, 800))
	p.do(chromedp.Navigate(p.url))
	if got := eval[string](p, `document.documentElement.dataset.ready || ""`); got != "yes" {
		t.Fatalf("the scripts did not start: %v", w.problems)
	}
	return p
}

func (p *browserPage) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

func eval[T any](p *browserPage, js string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		p.Fatalf("%s: %v", js, err)
	}
	return v
}

// quiet checks that nothing went wrong and nothing was fetched.
func (p *browserPage) quiet() {
	p.Helper()
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	for _, problem := range p.watch.problems {
		p.Errorf("the browser reports: %s", problem)
	}
	for _, url := range p.watch.requests {
		if url != p.url && !strings.HasPrefix(url, "data:") {
			p.Errorf("the page requested %s", url)
		}
	}
	if len(p.watch.requests) == 0 {
		p.Error("no request was seen, not even for the page: the test is blind")
	}
}

// evilName is a name that runs when it is not treated as text; see inert.
const evilName = `</script><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// inert checks that nothing of evilName has run.
func (p *browserPage) inert() {
	p.Helper()
	time.Sleep(200 * time.Millisecond)
	if got := eval[string](p, `document.title`); strings.HasPrefix(got, "owned") {
		p.Error("a name was run as a script")
	}
	if n := eval[int](p, `document.images.length + document.querySelectorAll("body script").length`); n != 3 {
		p.Errorf("the page holds %d images and scripts, want our 3 scripts", n)
	}
	p.quiet()
}

// withoutScripts opens the page again with scripts off and checks what is then
// true of it.
func (p *browserPage) withoutScripts(checks map[string]string) {
	p.Helper()
	p.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	p.do(chromedp.Navigate(p.url))
	for what, js := range checks {
		if !eval[bool](p, js) {
			p.Errorf("without scripts: %s is wrong", what)
		}
	}
	p.quiet()
}

const visibleRows = `Array.from(document.querySelectorAll("#d0-peak .rows tbody tr")).filter(r => !r.hidden).map(r => Array.from(r.cells[3].querySelectorAll(".dir, .base, .special")).map(e => e.textContent).join("").split(":")[0] + "|" + r.dataset.bytes).join(" ")`

func TestBrowser(t *testing.T) {
	p := openPage(t, fakeSnapshot(), 1280)
	peak := fakeDevice().History.Peak.Bytes
	if got := eval[string](p, `document.querySelector("#d0 .numbers .big").textContent`); got != "60.0 MiB" {
		t.Errorf("the displayed peak is %q", got)
	}
	if got := eval[int64](p, `JSON.parse(document.getElementById("data").textContent).devices[0].peak.bytes`); got != peak {
		t.Errorf("the peak in the data is %d, want %d", got, peak)
	}
	if got := eval[int64](p, `echarts.getInstanceByDom(document.getElementById("d0-curve")).getOption().series[0].markPoint.data[0].coord[1]`); got != peak {
		t.Errorf("the peak marked on the curve is %d, want %d", got, peak)
	}
	drawn := `(c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })`
	if n := eval[int](p, drawn+`(document.querySelector("#d0-curve canvas"))`); n < 5000 {
		t.Errorf("the curve is not drawn: %d pixels", n)
	}
	if n := eval[int](p, drawn+`(document.querySelector("#d0-map canvas"))`); n < 5000 {
		t.Errorf("the segment map is not drawn: %d pixels", n)
	}
	if n := eval[int](p, `document.querySelectorAll("#d0-peak .flame i").length`); n < 5 {
		t.Errorf("the flame graph has %d boxes", n)
	}
	if eval[bool](p, `getComputedStyle(document.querySelector(".static-curve")).display !== "none"`) {
		t.Error("the static curve should give way to the chart")
	}
	if !eval[bool](p, `document.querySelector("#d0-curve").getBoundingClientRect().bottom <= innerHeight`) {
		t.Error("the curve should be on the first view at 1280×800")
	}
	p.quiet()
}

func TestBrowserTable(t *testing.T) {
	p := openPage(t, fakeSnapshot(), 1280)
	first := eval[string](p, visibleRows)
	if !strings.HasPrefix(first, "example/model.py|41943040 ") {
		t.Errorf("rows should begin with the largest: %s", first)
	}
	p.do(chromedp.Click(chromedp.CSS(`#d0-peak th[data-sort="bytes"] button`)))
	if got := eval[string](p, visibleRows); !strings.HasPrefix(got, "–|4194303 ") {
		t.Errorf("after a click on Bytes the smallest should come first: %s", got)
	}
	if got := eval[string](p, `document.querySelector('#d0-peak th[data-sort="bytes"]').getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("aria-sort is %q", got)
	}
	p.do(chromedp.SendKeys(chromedp.CSS(`#d0-peak .filter input`), "linear"))
	if got := eval[string](p, visibleRows); got != "example/model.py|16777217" {
		t.Errorf("the filter leaves %q", got)
	}
	if got := eval[string](p, `document.querySelector("#d0-peak .shown").textContent`); !strings.Contains(got, "1 of 3 rows match and hold 16.0 MiB") {
		t.Errorf("the filter says %q", got)
	}
	p.do(chromedp.Click(chromedp.CSS(`#d0-peak tr:not([hidden]) summary`)))
	if got := eval[string](p, `document.querySelector("#d0-peak tr:not([hidden]) .stack").textContent`); !strings.Contains(got, "_call_impl") {
		t.Errorf("the open stack shows %q", got)
	}
	// The second tab by keyboard.
	p.do(chromedp.Focus(chromedp.CSS(`#d0-tab-peak`)))
	eval[bool](p, `document.getElementById("d0-tab-peak").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}))`)
	if !eval[bool](p, `document.getElementById("d0-peak").hidden && !document.getElementById("d0-end").hidden && document.activeElement.id === "d0-tab-end"`) {
		t.Error("the right arrow should move to the second tab")
	}
	// The other device.
	p.do(chromedp.Click(chromedp.CSS(`.devices a[data-device="d1"]`)))
	if !eval[bool](p, `document.getElementById("d0").hidden && !document.getElementById("d1").hidden`) {
		t.Error("the switch should show the second device only")
	}
	p.quiet()
}

func TestBrowserFlameAndMap(t *testing.T) {
	p := openPage(t, fakeSnapshot(), 1280)
	eval[bool](p, `Array.from(document.querySelectorAll("#d0-peak .flame i")).find(i => i.textContent.startsWith("forward")).click() || true`)
	if got := eval[string](p, `document.querySelector("#d0-peak .flame-path").textContent`); !strings.Contains(got, "forward") || !strings.Contains(got, "56.0 MiB") {
		t.Errorf("after a click on forward the flame graph says %q", got)
	}
	if w := eval[float64](p, `Array.from(document.querySelectorAll("#d0-peak .flame i")).find(i => i.textContent.startsWith("forward")).offsetWidth / document.querySelector("#d0-peak .flame").clientWidth`); w < .98 {
		t.Errorf("the zoomed box takes %.2f of the width", w)
	}
	eval[bool](p, `(i => { i.value = "linear"; i.dispatchEvent(new Event("input")); return true; })(document.querySelector("#d0-peak .flame-box input"))`)
	if got := eval[string](p, `document.querySelector("#d0-peak .flame-path").textContent`); !strings.Contains(got, "16.0 MiB") {
		t.Errorf("the search says %q", got)
	}
	p.do(chromedp.Focus(chromedp.CSS(`#d0-map canvas`)))
	for _, key := range []string{"ArrowRight", "Enter"} {
		eval[bool](p, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "`+key+`", bubbles: true}))`)
	}
	if got := eval[string](p, `document.getElementById("d0-block").textContent`); !strings.Contains(got, "allocated") || !strings.Contains(got, "20,971,520 B") || !strings.Contains(got, "0x7f0000000000") {
		t.Errorf("the first block shows %q", got)
	}
	p.quiet()
}

// The flame graph without native frames still accounts for every byte.
func TestBrowserFlameHasNoGaps(t *testing.T) {
	s := fakeSnapshot()
	root := s.Devices[0].Moments[0].Flame
	root.Children = append(root.Children, &Flame{Frame: native, Bytes: 20 << 20, Count: 2})
	root.Bytes += 20 << 20
	p := openPage(t, s, 1280)
	boxes := `Array.from(document.querySelectorAll("#d0-peak .flame i")).filter(i => i.style.top === "19px")`
	for mode, want := range map[string]string{"python": "(native code)", "user": "(libraries and native code)", "all": "at::empty"} {
		eval[bool](p, `document.querySelector("#d0-peak [data-kinds=`+mode+`]").click() || true`)
		if !eval[bool](p, boxes+`.some(i => i.textContent === "`+want+`")`) {
			t.Errorf("%s: no box says %q", mode, want)
		}
		if gap := eval[float64](p, `document.querySelector("#d0-peak .flame").clientWidth - `+boxes+`.reduce((n, i) => n + i.offsetWidth + 1, 0)`); gap > 3 || gap < -3 {
			t.Errorf("%s: the boxes below the root leave %.0f pixels", mode, gap)
		}
	}
	p.quiet()
}

func TestBrowserOnAPhone(t *testing.T) {
	s := fakeSnapshot()
	s.Name = "checkpoints/a-rather-long-directory-name/" + strings.Repeat("rank", 30) + ".pickle"
	p := openPage(t, s, 390)
	if w := eval[int](p, `document.documentElement.scrollWidth`); w > 390 {
		t.Errorf("the page is %d pixels wide on a screen of 390", w)
	}
	p.quiet()
}

func TestBrowserNamesAreInert(t *testing.T) {
	p := openPage(t, poisoned(evilName), 1280)
	eval[bool](p, `document.querySelectorAll("details").forEach(d => { d.open = true; }) || true`)
	hover := `new MouseEvent("mousemove", {bubbles: true, clientX: 60, clientY: 60})`
	eval[bool](p, `document.querySelector(".flame i").dispatchEvent(`+hover+`)`)
	eval[bool](p, `document.querySelector("#d0-map canvas").dispatchEvent(`+hover+`)`)
	eval[bool](p, `echarts.getInstanceByDom(document.getElementById("d0-curve")).dispatchAction({type: "showTip", seriesIndex: 0, dataIndex: 3}) || true`)
	p.inert()
}

func TestBrowserWithoutScripts(t *testing.T) {
	p := openPage(t, fakeSnapshot(), 1280)
	p.withoutScripts(map[string]string{
		"the static curve":     `getComputedStyle(document.querySelector(".static-curve")).display === "block"`,
		"the table at the end": `document.querySelector("#d0-end .rows").getBoundingClientRect().height > 20`,
		"the second device":    `document.querySelector("#d1").getBoundingClientRect().height > 20`,
		"no empty chart":       `document.querySelector("#d0-curve").getBoundingClientRect().height === 0`,
	})
}

func TestBrowserPrint(t *testing.T) {
	p := openPage(t, fakeSnapshot(), 1280)
	eval[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	if !eval[bool](p, `Array.from(document.querySelectorAll("article.device, .panel")).every(e => !e.hidden) && document.documentElement.dataset.theme === "light"`) {
		t.Error("on paper every device and both tables should be open, in light colours")
	}
	eval[bool](p, `dispatchEvent(new Event("afterprint"))`)
	if !eval[bool](p, `document.getElementById("d1").hidden && document.getElementById("d0-end").hidden && !document.documentElement.dataset.theme`) {
		t.Error("after printing the page should be as it was")
	}
	p.quiet()
}
