//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func makePipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An interrupt ends the wait for a pipe's reader, and for one that stalls.
func TestWriteFileToPipeInterrupted(t *testing.T) {
	for _, stalled := range []bool{false, true} {
		path := makePipe(t)
		if stalled {
			r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := writeFile(ctx, path, func(w io.Writer) error {
			_, err := w.Write(make([]byte, 8<<20))
			return err
		})
		if !errors.Is(err, errInterrupted) {
			t.Errorf("a reader that stalls %v: %v", stalled, err)
		}
	}
}

func TestWriteFileToPipe(t *testing.T) {
	path := makePipe(t)
	got := make(chan string)
	go func() {
		time.Sleep(2 * pipePoll)
		data, _ := os.ReadFile(path)
		got <- string(data)
	}()
	size, err := writeFile(t.Context(), path, func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err })
	if text := <-got; err != nil || size != 5 || text != "hello" {
		t.Errorf("%d bytes, %v; the reader got %q", size, err, text)
	}
}
