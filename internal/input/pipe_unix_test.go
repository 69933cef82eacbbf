//go:build unix

package input

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func makePipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPipeWithoutWriter(t *testing.T) {
	if _, err := Open(makePipe(t)); !errors.Is(err, ErrNoWriter) {
		t.Error(err)
	}
}

// A pipe with a writer, as the shell's <(command) makes, is read like a file.
func TestPipe(t *testing.T) {
	path := makePipe(t)
	keep, err := os.OpenFile(path, os.O_RDWR, 0) // so that opening for writing does not block
	if err != nil {
		t.Fatal(err)
	}
	data := payload(1 << 20)
	raw := compressed(t, "gzip", data)
	go func() {
		keep.Write(raw)
		keep.Close()
	}()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	check(t, f, data)
	again, err := f.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	check(t, again, data)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Reopen(); !errors.Is(err, ErrNoReopen) {
		t.Error(err)
	}
}
