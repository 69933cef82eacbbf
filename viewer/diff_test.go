package viewer

import (
	"strings"
	"testing"
)

// Text from a file stays text, tables are bounded, and nothing is fetched.
func TestWritePage(t *testing.T) {
	const evil = `</td><script>alert(1)</script>`
	table := PlainTable{Title: "rows", Head: []string{"Change", "Where"}, Right: []bool{true}}
	for range maxPlainRows + 7 {
		table.Rows = append(table.Rows, []string{"1 B", evil})
	}
	var b strings.Builder
	p := Page{Title: evil, Facts: []string{evil}, Sections: []Section{{Title: evil, Verdict: evil, Points: []string{evil}, Notes: []string{evil}, Tables: []PlainTable{table}}}}
	if err := WritePage(&b, p); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script>alert") {
		t.Error("a name became a script")
	}
	if n := strings.Count(page, `<td class="r">1 B</td>`); n != maxPlainRows {
		t.Errorf("%d rows, want %d", n, maxPlainRows)
	}
	if !strings.Contains(page, "7 smaller rows are not part of this page.") {
		t.Error("rows were left out without a word")
	}
	if !strings.Contains(page, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;`) {
		t.Error("the page has no policy")
	}
}
