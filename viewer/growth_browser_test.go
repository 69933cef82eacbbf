package viewer

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

func openGrowthPage(t *testing.T, p GrowthPage, width int64) *browserPage {
	t.Helper()
	browser(t)
	return openHTML(t, renderGrowth(t, p), width)
}

// section leaves a page one section of the made-up ones.
func section(i int) GrowthPage {
	p := fakeGrowth()
	p.Changes, p.Sections = nil, p.Sections[i:i+1]
	return p
}

func TestBrowserGrowth(t *testing.T) {
	p := openGrowthPage(t, section(0), 1280)
	const option = `echarts.getInstanceByDom(document.getElementById("g0-curve")).getOption()`
	if got := eval[string](p, option+`.series.map(s => s.id).join(" ")`); got != "band0 base band0 band1 base band1 fit0 line0 line1 line2" {
		t.Errorf("drawn are %s", got)
	}
	// The axis is that of the steps, also with bands stacked on one another.
	if got := eval[string](p, `echarts.getInstanceByDom(document.getElementById("g0-curve")).getModel().getComponent("xAxis").axis.scale.getExtent().join(" ")`); got != "0 390" {
		t.Errorf("the horizontal axis goes from and to %s", got)
	}
	const reach = option + `.yAxis[0].max / 1048576`
	near := eval[float64](p, reach)
	p.do(chromedp.Click(chromedp.CSS(`#g0 [data-range="zero"]`)))
	if zero := eval[float64](p, reach); zero <= near || eval[float64](p, option+`.yAxis[0].min`) != 0 {
		t.Errorf("the axis from zero reaches %g MiB, that of the growth %g", zero, near)
	}
	if !eval[bool](p, `document.querySelector("#g0 .near-note").hidden && document.querySelector("#g0 [data-range=zero]").getAttribute("aria-pressed") === "true"`) {
		t.Error("the note on the axis should be gone")
	}
	eval[bool](p, `echarts.getInstanceByDom(document.getElementById("g0-curve")).dispatchAction({type: "showTip", seriesIndex: 5, dataIndex: 7}) || true`)
	if got := eval[string](p, `document.querySelector("#g0-curve > div:last-child").textContent`); !strings.Contains(got, "step 70") || !strings.Contains(got, "allocated3.19 GiB  (3,430,560,309 B)") || strings.Contains(got, "trend") {
		t.Errorf("the tooltip says %q", got)
	}
	if !eval[bool](p, `document.querySelector("#g0-curve").getBoundingClientRect().bottom <= innerHeight`) {
		t.Error("the curve should be on the first view at 1280×800")
	}
	if eval[bool](p, `getComputedStyle(document.querySelector(".plot")).display !== "none"`) {
		t.Error("the static picture should give way to the chart")
	}
	p.quiet()
}

func TestBrowserGrowthTable(t *testing.T) {
	p := openGrowthPage(t, section(0), 1280)
	const places = `Array.from(document.querySelectorAll("#g0 .suspects tbody tr")).filter(r => !r.hidden).map(r => r.cells[7].textContent).join(" ")`
	if got := eval[string](p, places); got != "linear forward (autograd thread)" {
		t.Errorf("rows are %s", got)
	}
	p.do(chromedp.Click(chromedp.CSS(`#g0 .suspects th:nth-child(5) button`))) // by blocks, most first
	if got := eval[string](p, places); got != "linear (autograd thread) forward" {
		t.Errorf("by blocks the rows are %s", got)
	}
	p.do(chromedp.SendKeys(chromedp.CSS(`#g0 .filter input`), "linear"))
	if got := eval[string](p, `document.querySelector("#g0 .shown").textContent`); !strings.Contains(got, "1 of 3 rows match and grow by 819 KiB (66.8%)") {
		t.Errorf("the filter says %q", got)
	}
	p.do(chromedp.Click(chromedp.CSS(`#g0 .suspects tr:not([hidden]) summary`)))
	if got := eval[string](p, `document.querySelector("#g0 .suspects tr:not([hidden]) .stack").textContent`); !strings.Contains(got, "_call_impl") {
		t.Errorf("the open stack shows %q", got)
	}
	p.quiet()
}

// Each section has its own stacks.
func TestBrowserGrowthSections(t *testing.T) {
	page := fakeGrowth()
	other := page.Sections[0]
	other.Suspects = other.Suspects[1:2:2]
	page.Sections = append(page.Sections, other)
	page.Changes = nil
	p := openGrowthPage(t, page, 1280)
	if !eval[bool](p, `!document.getElementById("g0").hidden && document.getElementById("g4").hidden`) {
		t.Error("the first leak should be shown")
	}
	p.do(chromedp.Click(chromedp.CSS(`.devices a[data-device="g4"]`)))
	if !eval[bool](p, `document.getElementById("g0").hidden && !!document.querySelector("#g4-curve canvas")`) {
		t.Error("the switch should show the last section and draw it")
	}
	// Stacks that are not part of the HTML come from the data.
	if got := eval[string](p, `(() => { const d = JSON.parse(document.getElementById("data").textContent), out = []; for (let n = Number(document.querySelector("#g4 details").dataset.stack); n > 0; n = d.stacks.parent[n]) out.push(d.strings[d.frames[d.stacks.frame[n]][0]]); return out.join(" "); })()`); got != "_call_impl forward main" {
		t.Errorf("the stack of the last section is %q", got)
	}
	p.quiet()
}

func TestBrowserGrowthChange(t *testing.T) {
	p := openGrowthPage(t, fakeGrowth(), 1280)
	if got := eval[string](p, `Array.from(document.querySelectorAll("article")).filter(a => !a.hidden).map(a => a.getAttribute("aria-label")).join()`); got != "Device 0, before and after" {
		t.Errorf("shown first is %q", got)
	}
	if got := eval[string](p, `echarts.getInstanceByDom(document.getElementById("g0-curve")).getOption().series.map(s => s.id).join(" ")`); got != "fit0 fit1 line0 line1" {
		t.Errorf("drawn are %s", got)
	}
	p.quiet()
}

func TestBrowserGrowthOnAPhone(t *testing.T) {
	page := fakeGrowth()
	page.Name = "runs/a-rather-long-directory-name/" + strings.Repeat("rank", 30) + ".log"
	page.Sections[0].Suspects[0].File = "/home/" + strings.Repeat("deep", 40) + ".py"
	p := openGrowthPage(t, page, 390)
	for _, id := range []string{"g0", "g1", "g2", "g3", "g4"} {
		eval[bool](p, `document.querySelector('.devices a[data-device="`+id+`"]').click() || true`)
		if w := eval[int](p, `document.documentElement.scrollWidth`); w > 390 {
			t.Errorf("%s: the page is %d pixels wide on a screen of 390", id, w)
		}
	}
	p.withoutScripts(map[string]string{
		"the width":           `document.documentElement.scrollWidth <= 390`,
		"labels of the curve": `parseFloat(getComputedStyle(document.querySelector("#g1 .plot .y")).fontSize) >= 11`,
	})
}

func TestBrowserGrowthNamesAreInert(t *testing.T) {
	p := openGrowthPage(t, poisonedGrowth(evilName), 1280)
	eval[bool](p, `document.querySelectorAll("details").forEach(d => { d.open = true; }) || true`)
	eval[bool](p, `document.querySelectorAll(".devices a").forEach(a => a.click()) || true`)
	for _, id := range []string{"g0", "g1", "g4"} {
		eval[bool](p, `document.querySelector('.devices a[data-device="`+id+`"]').click() || true`)
		eval[bool](p, `echarts.getInstanceByDom(document.getElementById("`+id+`-curve")).dispatchAction({type: "showTip", seriesIndex: 2, dataIndex: 1}) || true`)
	}
	p.inert()
}

func TestBrowserGrowthWithoutScripts(t *testing.T) {
	p := openGrowthPage(t, fakeGrowth(), 1280)
	p.withoutScripts(map[string]string{
		"the picture":       `document.querySelector("#g1 .plot svg").getBoundingClientRect().height === 300`,
		"the trend":         `getComputedStyle(document.querySelector("#g1 .trend")).stroke !== "none"`,
		"no empty chart":    `document.querySelector("#g1-curve").getBoundingClientRect().height === 0`,
		"the second device": `document.querySelector("#g2").getBoundingClientRect().height > 100`,
		"a small curve":     `document.querySelector("#g1 .spark svg").getBoundingClientRect().width > 50`,
		"a stack":           `document.querySelector("#g1 .stack").textContent.includes("_call_impl")`,
		"labels in view":    `Array.from(document.querySelectorAll("#g1 .plot span")).every(s => s.getBoundingClientRect().left >= 0 && s.getBoundingClientRect().right <= innerWidth)`,
	})
}

func TestBrowserGrowthPrint(t *testing.T) {
	p := openGrowthPage(t, fakeGrowth(), 1280)
	eval[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	if !eval[bool](p, `Array.from(document.querySelectorAll("article.device, .panel")).every(e => !e.hidden) && document.documentElement.dataset.theme === "light"`) {
		t.Error("on paper every section should be open, in light colours")
	}
	eval[bool](p, `dispatchEvent(new Event("afterprint"))`)
	if !eval[bool](p, `document.getElementById("g1").hidden && !document.getElementById("g0").hidden`) {
		t.Error("after printing the page should be as it was")
	}
	p.quiet()
}

// Real captures: everything is drawn and nothing complains.
func TestBrowserRealGrowth(t *testing.T) {
	page := GrowthPage{Name: "captures"}
	for _, name := range []string{"extra_val_no_nograd/9_end", "leak_embeddings/epoch3"} {
		s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
		if err != nil {
			t.Fatal(err)
		}
		r := attribution.Leaks(attribution.Classify(s, s.Timeline(s.Devices[0])))
		page.Sections = append(page.Sections, LeakSection(&r))
	}
	p := openGrowthPage(t, page, 1280)
	for i, want := range []string{"cap.py:144 Forwards outside torch.no_grad() keep their graphs", "scenarios.py:63 384 KiB a step, 100.0%"} {
		id := []string{"g0", "g1"}[i]
		eval[bool](p, `document.querySelector('.devices a[data-device="`+id+`"]').click() || true`)
		if got := eval[string](p, `Array.from(document.querySelectorAll("#`+id+` .numbers .wide dd")).map(e => e.textContent).join(" ")`); got != want {
			t.Errorf("%s: the line to blame is %q", page.Sections[i].Heading, got)
		}
		if n := eval[int](p, `(c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })(document.querySelector("#`+id+`-curve canvas"))`); n < 5000 {
			t.Errorf("the curve is not drawn: %d pixels", n)
		}
	}
	p.quiet()
}
