package main

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/snapview/snapview/internal/input"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// programs are what scripts can run besides what is installed.
var programs = map[string]func(){"snapview": main, "snapview-eager": eager}

func TestMain(m *testing.M) { testscript.Main(m, programs) }

// eager is snapview with a progress bar from the first byte, and a standard
// input slow enough to see it.
func eager() {
	progressDelay = 0
	os.Exit(run(context.Background(), os.Args[1:], slowReader{os.Stdin}, os.Stdout, os.Stderr))
}

type slowReader struct{ r io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(40 * time.Millisecond)
	return s.r.Read(p[:min(len(p), 8<<10)])
}

func TestScripts(t *testing.T) {
	data, err := filepath.Abs("../../testdata/snapshots")
	if err != nil {
		t.Fatal(err)
	}
	traces, err := filepath.Abs("../../testdata/traces")
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Abs("../../testdata/logs")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", data)
			env.Setenv("TRACES", traces)
			env.Setenv("LOGS", logs)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"bytes": writeBytes,
			"cut":   cutFile,
			"gzip":  gzipFile,
			"plain": decompress,
			"zip":   zipFiles,
		},
	})
}

// exits CODE PROGRAM [ARGS…] runs a program and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if (got == want) == neg {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// bytes FILE TEXT writes a file from text with Go's escapes, such as \x80.
func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

// cut FROM TO N copies the first N bytes of a file; a negative N leaves out the last ones.
func cutFile(ts *testscript.TestScript, _ bool, args []string) {
	whole, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	if n < 0 {
		n += len(whole)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), whole[:n], 0o666))
}

// gzip FROM TO compresses a file.
func gzipFile(ts *testscript.TestScript, _ bool, args []string) {
	whole, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	w := gzip.NewWriter(f)
	_, err = w.Write(whole)
	ts.Check(errors.Join(err, w.Close(), f.Close()))
}

// plain FROM TO decompresses a file.
func decompress(ts *testscript.TestScript, _ bool, args []string) {
	f, err := input.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	whole, err := io.ReadAll(f)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), whole, 0o666))
}

// zip FILE NAME… makes an archive of small files of these names.
func zipFiles(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := zip.NewWriter(f)
	for _, name := range args[1:] {
		member, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		ts.Check(err)
		_, err = member.Write([]byte("\x80\x02}."))
		ts.Check(err)
	}
	ts.Check(errors.Join(w.Close(), f.Close()))
}
