package main

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Alignments of a column.
const (
	left  = text.AlignLeft
	right = text.AlignRight
)

// columnGap is the space between two columns.
const columnGap = 2

// A textTable lines up cells in columns, without lines and without wrapping.
type textTable struct{ w table.Writer }

func newTable(alignments ...text.Align) *textTable {
	w := table.NewWriter()
	style := table.Style{Name: "snapview", Box: table.BoxStyle{PaddingRight: "  "}, Options: table.OptionsNoBordersAndSeparators}
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	var configs []table.ColumnConfig
	for i, a := range alignments {
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: a, AlignHeader: a, AlignFooter: a})
	}
	w.SetColumnConfigs(configs)
	return &textTable{w}
}

// header puts names above the columns.
func (t *textTable) header(names ...string) {
	row := make(table.Row, len(names))
	for i, n := range names {
		row[i] = n
	}
	t.w.AppendHeader(row)
}

func (t *textTable) row(cells ...string) {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	t.w.AppendRow(row)
}

// String renders the table, every line ended.
func (t *textTable) String() string { return t.w.Render() + "\n" }
