package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/snapview/snapview/internal/input"
)

// writeFile makes the file called path hold what write writes, or leaves it as
// it was: the bytes go to a file beside it that is renamed at the end and
// removed on an error or an interrupt. It returns the size. A path that is a
// device or a pipe is written to directly.
func writeFile(ctx context.Context, path string, write func(io.Writer) error) (int64, error) {
	target, direct, err := resolve(path)
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var f *os.File
	if direct {
		f, err = openDirect(ctx, target)
	} else {
		f, err = createBeside(target)
	}
	if err != nil {
		return 0, err
	}
	// A pipe that nobody reads from blocks; a deadline in the past ends that.
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })()
	counter := &contextWriter{ctx: ctx, w: f}
	err = writeAndClose(f, counter, write)
	if direct {
		return counter.n, err
	}
	if err == nil {
		err = withoutName(os.Rename(f.Name(), target))
	}
	if err != nil {
		return 0, errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return counter.n, nil
}

// resolve follows a link, so that what it points to is replaced and not the
// link, and says whether path must be written to directly.
func resolve(path string) (target string, direct bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	if err != nil {
		return "", false, err
	}
	if info.IsDir() {
		return "", false, usagef("%s: is a directory; name a file", path)
	}
	if !info.Mode().IsRegular() {
		return path, true, nil
	}
	target, err = filepath.EvalSymlinks(path)
	return target, false, err
}

// pipePoll is how often openDirect looks for the reader of a pipe.
const pipePoll = 50 * time.Millisecond

// openDirect opens a device or a pipe for writing. A pipe is opened without
// blocking, so that an interrupt ends the wait for its reader.
func openDirect(ctx context.Context, path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return f, withoutName(err)
	}
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, withoutName(err)
		}
		select {
		case <-ctx.Done():
			return nil, errInterrupted
		case <-time.After(pipePoll):
		}
	}
}

// withoutName takes the name off an error of the file system: it may be that of
// the temporary file, which says nothing, and callers put the right one before.
func withoutName(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// createBeside creates a file in target's folder with the permissions that a
// new file gets, or those of the file it will replace.
func createBeside(target string) (*os.File, error) {
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	for try := int64(0); ; try++ {
		unique := strconv.FormatInt(time.Now().UnixNano()+try, 36)
		name := filepath.Join(filepath.Dir(target), ".snapview-"+unique+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		return f, withoutName(err)
	}
}

func writeAndClose(f *os.File, w io.Writer, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	err := write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if closed := f.Close(); err == nil {
		err = withoutName(closed)
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A contextWriter stops when its context ends, and counts.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
	n   int64
}

func (c *contextWriter) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, errInterrupted
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	if err != nil && c.ctx.Err() != nil {
		return n, errInterrupted
	}
	return n, withoutName(err)
}

var errInterrupted = errors.New("interrupted; the report was not written")

// checkFolder tells, before the work begins, that a new file has no place.
func checkFolder(path string) error {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the folder %s does not exist; create it or name another file with -o", path, folder)
	}
	return nil
}

// checkOutput refuses to replace a file that is not an HTML page: a shell
// pattern after -o would otherwise destroy the snapshot it matched first.
func checkOutput(path string, inputs []string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return usagef("%s: is a directory; name a file with -o", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return checkFolder(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil // an error that writing will meet
	}
	for _, in := range inputs {
		if other, err := os.Stat(in); err == nil && os.SameFile(info, other) {
			return usagef("%s: would overwrite the input; name another file with -o", path)
		}
	}
	if info.Size() == 0 {
		return nil
	}
	f, err := input.Open(path)
	if err != nil {
		return usagef("%s: exists and cannot be read; name another file with -o", path)
	}
	defer f.Close()
	if f.Kind != input.HTML {
		return usagef("%s: exists and is not a report but %s; name another file with -o", path, f.Kind.Describe())
	}
	return nil
}
