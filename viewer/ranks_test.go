package viewer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// fakeRanks are ranks of which one holds more, in groups as pipeline stages are.
func fakeRanks(n, groups int) attribution.RankReport {
	var set attribution.RankSet
	for i := range n {
		row := attribution.RankRow{
			ID: attribution.RankID{Rank: i, Local: -1}, Label: fmt.Sprint(i), Basis: attribution.RankByName, File: fmt.Sprintf("run/rank%d.pickle", i),
			Device: i % 8, HasPeak: true, History: snapshot.HistoryComplete,
		}
		add := func(line int32, c attribution.Category, bytes int64) {
			row.PeakLines = append(row.PeakLines, attribution.RankLine{File: "/home/me/<b>train</b>.py", Line: line, Function: "step", Category: c, Bytes: bytes, Count: 1})
			row.AtPeak[c] += bytes
		}
		add(10, attribution.Parameter, int64(100+50*(i*groups/n))<<20)
		add(20, attribution.Activation, 300<<20)
		if i == n/2 {
			add(30, attribution.Activation, 64<<20)
		}
		row.PeakRequested = row.AtPeak.Sum()
		row.PeakReserved = row.PeakRequested + 20<<20
		set.Rows = append(set.Rows, row)
	}
	set.Failed = []attribution.RankFailure{{Label: "99", File: "run/rank99.pickle", Err: errors.New("ends <early>")}}
	return attribution.Ranks(set)
}

func renderRanks(t *testing.T, r attribution.RankReport) string {
	t.Helper()
	var out bytes.Buffer
	p := RanksPage{Report: &r, Name: "Ranks: </title><script>alert(1)</script>", Facts: []string{"a fact"}, Notes: []string{"a note\x1b[31m"}, Partial: "1 could not be read", Version: "v0"}
	if err := WriteRanks(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestRanksPlain checks that the answer is there for readers without scripts,
// and that names are inert.
func TestRanksPlain(t *testing.T) {
	html, data := parts(t, renderRanks(t, fakeRanks(12, 1)))
	for _, want := range []string{
		"rank 6 limits the job", "484 MiB", "507,510,784 B", "&lt;b&gt;train&lt;/b&gt;.py:30", "&#43;64.0 MiB", // the outlier and its line
		"rank11.pickle", "<svg", "a note\\x1b[31m", "ends &lt;early&gt;", "1 could not be read",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script>alert", "<b>train"} {
		if strings.Contains(html, bad) || strings.Contains(data, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	html, _ = parts(t, renderRanks(t, fakeRanks(12, 3)))
	if !strings.Contains(html, "Ranks with equal parameters") || !strings.Contains(html, "as pipeline stages do") {
		t.Error("the groups are missing")
	}
	html, _ = parts(t, renderRanks(t, fakeRanks(1, 1)))
	if strings.Contains(html, "Where ranks differ") {
		t.Error("one rank is compared with nothing")
	}
	renderRanks(t, attribution.Ranks(attribution.RankSet{}))
}

// TestRanksSize bounds the page for any number of ranks, and keeps the unusual
// one in the table.
func TestRanksSize(t *testing.T) {
	for _, n := range []int{1000, 10000} {
		page := renderRanks(t, fakeRanks(n, 4))
		if len(page) > MaxBytes {
			t.Errorf("%d ranks make a page of %d bytes", n, len(page))
		}
		if !strings.Contains(page, fmt.Sprintf("<td class=\"rank\" data-head=\"Rank\" data-v=\"%d\">%d *</td>", n/2, n/2)) {
			t.Errorf("of %d ranks the unusual one is not in the table", n)
		}
	}
}

func TestShadeOf(t *testing.T) {
	for _, tt := range []struct {
		above, scale int64
		want         int
	}{{0, 100, 5}, {1, 100, 6}, {-1, 100, 4}, {100, 100, 10}, {-100, 100, 0}, {50, 100, 7}, {0, 0, 5}} {
		if got := shadeOf(tt.above, tt.scale); got != tt.want {
			t.Errorf("%d of %d has shade %d, want %d", tt.above, tt.scale, got, tt.want)
		}
	}
}

// TestRanksBrowser opens the page, wide and narrow: both charts are drawn, the
// table sorts and filters, and nothing is wider than the screen.
func TestRanksBrowser(t *testing.T) {
	for _, width := range []int64{1280, 390} {
		p := openHTML(t, renderRanks(t, fakeRanks(64, 1)), width)
		for _, id := range []string{"ranks-bars", "ranks-heat"} {
			drawn := `(c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })`
			if n := eval[int](p, drawn+`(document.querySelector("#`+id+` canvas"))`); n < 5000 {
				t.Errorf("at %d px %s is not drawn: %d pixels", width, id, n)
			}
		}
		if got := eval[int](p, `echarts.getInstanceByDom(document.getElementById("ranks-heat")).getOption().dataset[0].source.reduce((a, b) => b[2] > a[2] ? b : a)[0]`); got != 32 {
			t.Errorf("the largest difference is drawn in column %d", got)
		}
		if n := eval[int](p, `document.documentElement.scrollWidth - innerWidth`); n > 0 {
			t.Errorf("at %d px the page is %d px too wide", width, n)
		}
		if width == 1280 {
			p.do(chromedp.Click(chromedp.CSS(`#ranks-table th:nth-child(4) button`)))
			if got := eval[string](p, `document.querySelector("#ranks-table tbody tr td").textContent`); got != "32 *" {
				t.Errorf("sorted by peak reserved, rank %q comes first", got)
			}
			p.do(chromedp.SendKeys(chromedp.CSS(`#ranks-table .filter input`), "rank63"))
			if got := eval[int](p, `Array.from(document.querySelectorAll("#ranks-table tbody tr")).filter(r => !r.hidden).length`); got != 1 {
				t.Errorf("the filter leaves %d rows", got)
			}
		}
		p.quiet()
	}
}

func TestRanksCancelledWrite(t *testing.T) {
	r := fakeRanks(3, 1)
	if err := WriteRanks(failingWriter{}, RanksPage{Report: &r}); err == nil {
		t.Error("a failure to write is not told")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, context.Canceled }
