package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// The temporary file's name has no part of the target's, which may fill what
// the file system allows, and no error shows it.
func TestWriteFileLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("a", 240)+".html")
	if _, err := writeFile(t.Context(), path, func(w io.Writer) error { return nil }); err != nil {
		t.Error(err)
	}
	_, err := writeFile(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("a", 300)), func(w io.Writer) error { return nil })
	if err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("a name that is too long: %v", err)
	}
}

func TestWithoutName(t *testing.T) {
	for _, err := range []error{&os.PathError{Op: "write", Path: ".x.tmp", Err: os.ErrInvalid}, &os.LinkError{Op: "rename", Old: ".x.tmp", New: "y", Err: os.ErrInvalid}, os.ErrInvalid} {
		if got := withoutName(err); got != os.ErrInvalid {
			t.Errorf("%v became %v", err, got)
		}
	}
}
