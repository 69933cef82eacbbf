package viewer

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/snapview/snapview/snapshot"
)

// real is the report of a capture.
func real(t *testing.T, name string) Snapshot {
	t.Helper()
	s, err := snapshot.Open("../testdata/snapshots/" + name + ".pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	return NewSnapshot(s, Options{})
}

// Layers sum to the curve at every point, bars to their moment, and parts of
// rows to their row.
func TestCategoriesClose(t *testing.T) {
	for _, name := range []string{"gpt_adamw/1_step", "gpt_adamw_cpp/0_step", "ring/end", "oom/after", "nohistory/end"} {
		for _, d := range real(t, name).Devices {
			if d.Idle() {
				continue
			}
			for _, p := range d.Curve {
				if sumOf(p.Categories) != p.Requested {
					t.Fatalf("%s, event %d: categories come to %d, the curve is at %d", name, p.Event, sumOf(p.Categories), p.Requested)
				}
			}
			for _, m := range d.Moments {
				var sum int64
				for _, p := range m.Parts {
					sum += p.Bytes
				}
				if sum != m.Total {
					t.Errorf("%s, %s: categories come to %d of %d", name, m.Name, sum, m.Total)
				}
				for _, r := range m.Rows {
					sum = 0
					for _, p := range r.Parts {
						sum += p.Bytes
					}
					if sum != r.Bytes {
						t.Errorf("%s, %s, %s:%d: parts come to %d of %d", name, m.Name, r.File, r.Line, sum, r.Bytes)
					}
				}
			}
		}
	}
}

func TestPurposeOfARealSnapshot(t *testing.T) {
	in := real(t, "gpt_adamw/1_step")
	d := in.Devices[0]
	if want := "The peak is in backward of step 2; activation is its largest part with 553 MiB (52.1%)."; !strings.Contains(d.Verdict.Text, want) {
		t.Errorf("the verdict lacks %q: %s", want, d.Verdict.Text)
	}
	html, data := parts(t, render(t, in))
	for _, want := range []string{
		"What the memory is for", "What can be changed", `<b title="100,663,296 B">up to 96.0 MiB</b>`, "Attention scores are written out in full",
		"phase of a step (6)", `optimizer state <b title="220,528,640 B">210 MiB</b> 19.8%`,
		`<p class="hint evidence">activation: `,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(html, `<ol class="top-findings"`); n != 1 || strings.Count(html[:strings.Index(html, "</ol>")], "<li><a") != topAdvice {
		t.Error("the first findings should be listed once, below the verdict")
	}
	for _, want := range []string{`"layers":[{"name":"parameter","colour":"c0"}`, `"kind":"phase","label":"forward of step 1"`, `"category":[`} {
		if !strings.Contains(data, want) {
			t.Errorf("the data lacks %q", want)
		}
	}
}

// Blocks of different categories are never drawn as one.
func TestMapKeepsCategoriesApart(t *testing.T) {
	seg := Segment{Bytes: 64 << 10}
	for i := range 64 {
		seg.Blocks = append(seg.Blocks, Block{Size: 1 << 10, State: Allocated, Category: []string{"gradient", "activation"}[i%2]})
	}
	groups, _ := buildSegmentMap([]Segment{seg}, 4)
	sums := map[string]int64{}
	for _, b := range groups[0].Segments[0].Blocks {
		sums[b.Category] += b.Size
	}
	if len(groups[0].Segments[0].Blocks) > 4 || sums["gradient"] != 32<<10 || sums["activation"] != 32<<10 {
		t.Errorf("%d blocks hold %v", len(groups[0].Segments[0].Blocks), sums)
	}
}

func TestNothingClassified(t *testing.T) {
	s := fakeSnapshot()
	d := &s.Devices[0]
	d.Categories, d.Findings, d.CategoryNote, d.PeakPhase = nil, nil, "", ""
	for i := range d.Moments {
		d.Moments[i].Parts = nil
	}
	for i := range d.Segments {
		for j := range d.Segments[i].Blocks {
			d.Segments[i].Blocks[j].Category = ""
		}
	}
	html, data := parts(t, render(t, s))
	for _, wrong := range []string{"What the memory is for", "What can be changed", "By category", "top-findings"} {
		if strings.Contains(html, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	if strings.Contains(data, `"layers"`) || strings.Contains(data, `"category"`) {
		t.Error("the data has categories")
	}
}

func TestBrowserCategories(t *testing.T) {
	p := openPage(t, fakeSnapshot(), 1280)
	series := `echarts.getInstanceByDom(document.getElementById("d0-curve")).getOption().series`
	if got := eval[string](p, series+`.map(s => s.name).join()`); got != "requested,reserved,unknown,activation,parameter" {
		t.Errorf("the curve draws %q", got)
	}
	// The tallest layer reaches the curve at the peak.
	if got := eval[int64](p, `(d => d[d.length - 1])([].concat(echarts.getInstanceByDom(document.getElementById("d0-curve")).getOption().dataset)[0].source.find(r => r[0] === 6))`); got != fakeDevice().History.Peak.Bytes {
		t.Errorf("the layers reach %d at the peak", got)
	}
	p.do(chromedp.Click(chromedp.CSS(`#d0 [data-colour="category"]`)))
	pixel := `(c => Array.from(c.getContext("2d").getImageData(Math.floor(c.width / 100), 10, 1, 1).data).slice(0, 3).join())(document.querySelector("#d0-map canvas"))`
	if got := eval[string](p, pixel); got != "224,142,27" { // --c5, activation
		t.Errorf("by category the first block has the colour %s", got)
	}
	if !eval[bool](p, `!document.querySelector("#d0 [data-colours]").hidden && document.querySelector('#d0 [data-colour="category"]').getAttribute("aria-pressed") === "true"`) {
		t.Error("the legend of categories should be shown")
	}
	p.do(chromedp.Click(chromedp.CSS(`#d0 .top-findings a`)))
	if !eval[bool](p, `(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector(".findings li:target").getBoundingClientRect())`) {
		t.Error("a click on a finding should bring it into view")
	}
	p.quiet()
}
