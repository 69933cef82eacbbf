// Foldlines prints the lines of code that hold GPU memory at the peak of a
// snapshot's history.
//
//	go run ./examples/foldlines testdata/snapshots/gpt_adamw/9_end.pickle.zst
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/snapview/snapview/snapshot"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: foldlines FILE")
		os.Exit(2)
	}
	if err := foldLines(os.Stdout, os.Args[1], 3); err != nil {
		fmt.Fprintln(os.Stderr, "foldlines:", err)
		os.Exit(1)
	}
}

// foldLines writes the n heaviest lines of each device.
func foldLines(w io.Writer, path string, n int) error {
	s, err := snapshot.Open(path)
	if err != nil {
		return err
	}
	for _, d := range s.Devices {
		t := s.Timeline(d)
		m, err := t.Moment("peak")
		if err != nil { // the file holds no history
			m, err = t.Moment("end")
		}
		if err != nil {
			return err
		}
		table := s.Fold(t, m, snapshot.ByLine)
		fmt.Fprintf(w, "device %d held %d bytes at the %s\n", d.Index, table.Total, m.Name)
		for _, r := range table.Rows[:min(n, len(table.Rows))] {
			frame := snapshot.Frame{File: r.File, Line: r.Line, Function: r.Function}
			fmt.Fprintf(w, "%12d  %s\n", r.Bytes, s.FrameText(frame))
		}
	}
	return nil
}
