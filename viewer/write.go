package viewer

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"sync"
)

//go:embed assets/frame.html.tmpl
var frameSource string

//go:embed assets/page.html.tmpl
var pageSource string

// bootJS runs before the page is shown, so that what scripts replace is never
// seen. It is a script of its own, allowed by its hash.
const bootJS = `document.documentElement.classList.add("js")`

//go:embed assets/allocator.html.tmpl
var allocatorSource string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return parsePage(pageSource + allocatorSource)
})

// parsePage parses the template of a page together with what all pages share.
func parsePage(source string) *template.Template {
	return template.Must(template.Must(template.New("page").Parse(frameSource)).Parse(source))
}

// WriteSnapshot writes the report of a memory snapshot to w. The page is
// complete in itself and at most MaxBytes long.
func WriteSnapshot(w io.Writer, s Snapshot) error {
	view, data, err := page(&s)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return writePage(w, pageTemplate(), view, data)
}

// writePage writes a page and, at its end, the data and the scripts.
func writePage(w io.Writer, t *template.Template, view any, data *pageData) error {
	if data.Devices == nil {
		data.Devices = []*deviceData{} // the scripts expect a list
	}
	// encoding/json escapes <, > and &, so that no name can end the element.
	blob, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("report data: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := t.Execute(out, view); err != nil {
		return fmt.Errorf("report page: %w", err)
	}
	for _, s := range []string{
		"<script type=\"application/json\" id=\"data\">", string(blob), "</script>\n",
		"<script>", echartsJS, "</script>\n",
		"<script>", reportJS(), "</script>\n</body>\n</html>\n",
	} {
		if _, err := out.WriteString(s); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
