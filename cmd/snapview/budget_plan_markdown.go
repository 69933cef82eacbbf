package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// writeCommitmentMarkdown writes a commitment as Markdown. What is text of the plan is
// taken every meaning.
func writeCommitmentMarkdown(w io.Writer, c *budget.Commitment) error {
	b := bufio.NewWriter(w)
	plain := func(s string) string { return strings.ReplaceAll(mdEscape(units.Safe(s)), "@", "@\u200b") }
	fmt.Fprintf(b, "# %s\n\n**%s.**\n\n", plain(c.Title), plain(c.Verdict))
	for _, f := range c.Facts {
		fmt.Fprintf(b, "- %s\n", plain(f))
	}
	for i := range c.Sections {
		s := &c.Sections[i]
		fmt.Fprintf(b, "\n## %s\n", plain(s.Title))
		for _, t := range s.Text {
			fmt.Fprintf(b, "\n%s\n", plain(t))
		}
		if len(s.Code) > 0 {
			b.WriteString("\n```sh\n")
			for _, line := range s.Code {
				b.WriteString(strings.ReplaceAll(units.Safe(line), "```", "'''") + "\n")
			}
			b.WriteString("```\n")
		}
		for _, t := range s.Tables {
			if t.Lead != "" {
				b.WriteString("\n" + plain(t.Lead) + "\n")
			}
			b.WriteString("\n" + mdPlainTable(&t, plain))
		}
		if len(s.Points) > 0 {
			b.WriteString("\n")
		}
		for _, p := range s.Points {
			fmt.Fprintf(b, "- %s\n", plain(p))
		}
	}
	return b.Flush()
}

func mdPlainTable(t *budget.DocTable, plain func(string) string) string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + plain(c) + " |")
		}
		b.WriteString("\n")
	}
	line(t.Head)
	b.WriteString("|")
	for i := range t.Head {
		if i < len(t.Right) && t.Right[i] {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}
