package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFile(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	broken := errors.New("broken")
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	for _, test := range []struct {
		name  string
		ctx   context.Context
		write func(io.Writer) error
		fails bool
	}{
		{"whole", t.Context(), hello, false},
		{"writer fails after some bytes", t.Context(), func(w io.Writer) error { hello(w); return broken }, true},
		{"interrupted", cancelled, hello, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.html")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			size, err := writeFile(test.ctx, path, test.write)
			if (err != nil) != test.fails {
				t.Fatalf("writeFile: %v", err)
			}
			want := "old"
			if !test.fails {
				want = "hello"
				if size != 5 {
					t.Errorf("size %d, want 5", size)
				}
			}
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
				t.Errorf("%d files left, want 1", len(entries))
			}
		})
	}
}
