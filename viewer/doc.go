// Package viewer draws finished results as one static HTML file.
//
// The page makes no network request of any kind: echarts, styles and scripts
// are part of it, and a Content-Security-Policy in its head forbids everything
// else. Numbers, tables and the memory curve are plain HTML and SVG, so the
// report can be read with scripts off; scripts add sorting, filtering, the
// zoomable curve, the flame graph and the segment map.
//
// The package computes nothing about memory. What it does compute is layout,
// and a reduction of long data to a bounded number of points, rows and blocks,
// so that a report stays below [MaxBytes] whatever the length of the input.
// Text from the input (file names, functions, annotations) is a stranger's:
// it is shortened, its control characters are made visible, and it reaches the
// page only through html/template, JSON with HTML-escaping, or textContent.
//
// The same input gives the same bytes: no time, no random id.
package viewer

// MaxBytes bounds the size of a report.
const MaxBytes = 5 << 20
