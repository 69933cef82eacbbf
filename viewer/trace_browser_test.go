package viewer

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/snapview/snapview/profiler"
)

func openTracePage(t *testing.T, tr Trace, width int64) *browserPage {
	t.Helper()
	browser(t)
	return openHTML(t, renderTrace(t, tr), width)
}

func TestBrowserTrace(t *testing.T) {
	p := openTracePage(t, fakeTrace(), 1280)
	peak := fakeTrace().Memory[0].Peak
	if got := eval[int64](p, `JSON.parse(document.getElementById("data").textContent).devices[0].peak.bytes`); got != peak {
		t.Errorf("the peak in the data is %d, want %d", got, peak)
	}
	chart := `echarts.getInstanceByDom(document.getElementById("m0-curve")).getOption()`
	if got := eval[int64](p, chart+`.series[0].markPoint.data[0].coord[1]`); got != peak {
		t.Errorf("the peak marked on the curve is %d, want %d", got, peak)
	}
	if got := eval[string](p, chart+`.series.map(s => s.name).join(" ")`); got != "allocated reserved temporary activation parameter" {
		t.Errorf("the curve has %q; the tallest layer must be drawn first", got)
	}
	// The layers of a moment end at the total.
	if got := eval[int64](p, `(o => o.dataset[0].source[6][o.series[2].encode.y])(`+chart+`)`); got != peak {
		t.Errorf("the layers at the peak reach %d, want %d", got, peak)
	}
	if !eval[bool](p, `document.querySelector("#m0-curve").getBoundingClientRect().bottom <= innerHeight`) {
		t.Error("the curve should be on the first view at 1280×800")
	}
	// Another device's curve is drawn when its tab is opened.
	p.do(chromedp.Click(chromedp.CSS(`#m1-tab`)))
	if !eval[bool](p, `document.getElementById("m0").hidden && !!document.querySelector("#m1-curve canvas")`) {
		t.Error("the second tab should show the second device's curve")
	}
	p.quiet()
}

const visibleLines = `Array.from(document.querySelectorAll("#p-line tbody tr")).filter(r => !r.hidden).map(r => r.cells[5].dataset.v).join(" ")`

func TestBrowserTraceTable(t *testing.T) {
	p := openTracePage(t, fakeTrace(), 1280)
	if got := eval[string](p, `Array.from(document.querySelectorAll("#p-line tbody tr")).map(r => r.dataset.bytes).join(" ")`); got != "62914560 20971520 10485760" {
		t.Errorf("rows are %s", got)
	}
	p.do(chromedp.Click(chromedp.CSS(`#p-line th:nth-child(5) button`)))
	if got := eval[string](p, `Array.from(document.querySelectorAll("#p-line tbody tr")).map(r => r.cells[4].textContent).join(" ")`); got != "7.00 ms 5.00 ms 1.20 µs" {
		t.Errorf("by GPU time the rows are %s", got)
	}
	p.do(chromedp.SendKeys(chromedp.CSS(`#p-line .filter input`), "backward"))
	if got := eval[string](p, visibleLines); got != "4" {
		t.Errorf("the filter leaves %q", got)
	}
	if got := eval[string](p, `document.querySelector("#p-line .shown").textContent`); !strings.Contains(got, "1 of 3 rows match and allocate 20.0 MiB (22.2%)") {
		t.Errorf("the filter says %q", got)
	}
	// Tabs by keyboard; the second table has an example stack.
	p.do(chromedp.Focus(chromedp.CSS(`#tab-line`)))
	eval[bool](p, `document.getElementById("tab-line").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}))`)
	if !eval[bool](p, `document.getElementById("p-line").hidden && !document.getElementById("p-op").hidden && document.activeElement.id === "tab-op"`) {
		t.Error("the right arrow should move to the second tab")
	}
	p.do(chromedp.Click(chromedp.CSS(`#p-op tr:first-child summary`)))
	if got := eval[string](p, `document.querySelector("#p-op tr:first-child .stack").textContent`); !strings.Contains(got, "_call_impl") {
		t.Errorf("the open stack shows %q", got)
	}
	p.do(chromedp.Click(chromedp.CSS(`#tab-kernel`)))
	eval[bool](p, `(i => { i.value = "gemm"; i.dispatchEvent(new Event("input")); return true; })(document.querySelector("#p-kernel .filter input"))`)
	if got := eval[string](p, `document.querySelector("#p-kernel .shown").textContent`); !strings.Contains(got, "take 12.0 ms") {
		t.Errorf("the filter of kernels says %q", got)
	}
	p.quiet()
}

func TestBrowserTraceFlames(t *testing.T) {
	p := openTracePage(t, fakeTrace(), 1280)
	for name, want := range map[string]string{"bytes": "56.0 MiB", "time": "58.7 ms"} {
		p.do(chromedp.Click(chromedp.CSS(`#tab-` + name)))
		eval[bool](p, `Array.from(document.querySelectorAll("#p-`+name+` .flame i")).find(i => i.textContent.startsWith("forward")).click() || true`)
		if got := eval[string](p, `document.querySelector("#p-`+name+` .flame-path").textContent`); !strings.Contains(got, "forward") || !strings.Contains(got, want) {
			t.Errorf("after a click on forward the flame graph of %s says %q", name, got)
		}
	}
	p.quiet()
}

func TestBrowserTraceOnAPhone(t *testing.T) {
	tr := fakeTrace()
	tr.Name = "runs/a-rather-long-directory-name/" + strings.Repeat("rank", 30) + ".json"
	p := openTracePage(t, tr, 390)
	for _, tab := range []string{"line", "op", "kernel", "busy", "bytes", "steps"} {
		eval[bool](p, `document.getElementById("tab-`+tab+`").click() || true`)
		if w := eval[int](p, `document.documentElement.scrollWidth`); w > 390 {
			t.Errorf("%s: the page is %d pixels wide on a screen of 390", tab, w)
		}
	}
	p.quiet()
}

func TestBrowserTraceNamesAreInert(t *testing.T) {
	p := openTracePage(t, poisonedTrace(evilName), 1280)
	eval[bool](p, `document.querySelectorAll("details").forEach(d => { d.open = true; }) || true`)
	eval[bool](p, `document.querySelectorAll("[role=tab]").forEach(t => t.click()) || true`)
	hover := `new MouseEvent("mousemove", {bubbles: true, clientX: 60, clientY: 60})`
	eval[bool](p, `document.querySelector("#p-time .flame i").dispatchEvent(`+hover+`)`)
	eval[bool](p, `document.getElementById("m0-tab").click() || true`)
	eval[bool](p, `echarts.getInstanceByDom(document.getElementById("m0-curve")).dispatchAction({type: "showTip", seriesIndex: 0, dataIndex: 3}) || true`)
	p.inert()
}

func TestBrowserTraceWithoutScripts(t *testing.T) {
	p := openTracePage(t, fakeTrace(), 1280)
	p.withoutScripts(map[string]string{
		"the static curve":  `getComputedStyle(document.querySelector("#m0 .static-curve")).display === "block"`,
		"a coloured layer":  `getComputedStyle(document.querySelector("#m0 .layer")).fill !== "none"`,
		"the kernels":       `document.querySelector("#p-kernel .rows").getBoundingClientRect().height > 20`,
		"the steps":         `document.querySelector("#p-steps table").getBoundingClientRect().height > 20`,
		"the second device": `document.querySelector("#m1").getBoundingClientRect().height > 20`,
		"no empty flame":    `document.querySelector("#p-bytes .flame").getBoundingClientRect().height === 0`,
	})
}

func TestBrowserTracePrint(t *testing.T) {
	p := openTracePage(t, fakeTrace(), 1280)
	eval[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	if !eval[bool](p, `Array.from(document.querySelectorAll(".panel")).every(e => !e.hidden) && document.querySelectorAll("#p-time .flame i").length > 2`) {
		t.Error("on paper every panel should be open and drawn")
	}
	eval[bool](p, `dispatchEvent(new Event("afterprint"))`)
	if !eval[bool](p, `document.getElementById("p-op").hidden && document.getElementById("m1").hidden`) {
		t.Error("after printing the page should be as it was")
	}
	p.quiet()
}

// A real trace: everything is drawn and nothing complains.
func TestBrowserRealTrace(t *testing.T) {
	const file = "../testdata/traces/tr_gpt.trace.json.zst"
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	tr, err := profiler.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	p := openTracePage(t, NewTrace(tr, Options{}), 1280)
	eval[bool](p, `document.querySelectorAll("[role=tab]").forEach(t => t.click()) || true`)
	for _, flame := range []string{"bytes", "time"} {
		eval[bool](p, `document.getElementById("tab-`+flame+`").click() || true`)
		if n := eval[int](p, `document.querySelectorAll("#p-`+flame+` .flame i").length`); n < 20 {
			t.Errorf("the flame graph of %s has %d boxes", flame, n)
		}
	}
	p.quiet()
}
