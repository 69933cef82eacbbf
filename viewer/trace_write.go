package viewer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"
)

//go:embed assets/trace.html.tmpl
var traceSource string

var traceTemplate = sync.OnceValue(func() *template.Template { return parsePage(traceSource) })

// WriteTrace writes the report of a profiler trace to w. The page is complete
// in itself and at most MaxBytes long.
func WriteTrace(w io.Writer, tr Trace) error {
	view, data, err := tracePage(&tr)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return writePage(w, traceTemplate(), view, data)
}
