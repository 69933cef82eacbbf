package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/input"
)

// readSmall reads a whole file that a person wrote. Its parser refuses one that
// is larger than the limit, so no more than that need be read.
func (u *ui) readSmall(name string, limit int64) ([]byte, error) {
	f, err := u.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, inFile(name, err)
	}
	return data, nil
}

func (u *ui) readBudget(name string) (*budget.Gates, error) {
	data, err := u.readSmall(name, budget.MaxFile)
	if err != nil {
		return nil, err
	}
	return budget.ParseGates(displayName(name), data)
}

// besideFile is a path that a file names, relative to that file's folder.
func besideFile(file, path string) string {
	if filepath.IsAbs(path) || file == "-" {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// budgetFiles are the captures that a budget names, in order.
func budgetFiles(file string, patterns []string) ([]string, error) {
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(besideFile(file, pattern))
		if err != nil {
			return nil, inFile(file, fmt.Errorf("files: %q: %w", pattern, err))
		}
		if len(found) == 0 {
			return nil, inFile(file, fmt.Errorf("files: nothing is called %q; make the captures first, or name others on the command line", pattern))
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// readBaseline reads a baseline: one that --update wrote, or a capture. It is
// nil when there is none.
func (u *ui) readBaseline(o *checkOptions, name string) (*budget.Baseline, error) {
	if name == "" {
		return nil, nil
	}
	if name == "-" {
		return nil, usagef("--baseline -: a baseline is read from a file")
	}
	f, err := u.openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; --update writes it", err)
	}
	if err != nil {
		return nil, err
	}
	f.Close()
	if isCapture(f.Kind) {
		c, err := u.readCapture(name, &o.options)
		if err != nil {
			return nil, err
		}
		return budget.NewBaseline(name, c), nil
	}
	data, err := u.readSmall(name, budget.MaxFile)
	if err != nil {
		return nil, err
	}
	return budget.ParseBaseline(name, data)
}

// isCapture reports whether a file is something that snapview reads rather than a
// text that a person could have written.
func isCapture(k input.Kind) bool {
	switch k {
	case input.Pickle, input.SnapshotJSON, input.SegmentListJSON, input.ChromeTrace, input.MemoryTimeline, input.MemoryTimelineRaw:
		return true
	}
	return false
}

// checkOutputs refuses outputs that would destroy something, or that cannot all
// go to stdout, before a large file is read.
func (o *checkOptions) checkOutputs(job *checkJob) error {
	toStdout := 0
	for _, on := range []bool{o.json, o.markdown == "-", o.junit == "-"} {
		if on {
			toStdout++
		}
	}
	switch {
	case toStdout > 1:
		return usagef("only one of --json, --markdown and --junit - goes to stdout; write the others to files, --markdown=FILE and --junit FILE")
	case o.update && (o.markdown != "" || o.junit != ""):
		return usagef("--update judges nothing, so there is nothing for --markdown and --junit to say")
	}
	inputs := append(slices.Clone(job.files), job.budget)
	if !o.update {
		inputs = append(inputs, job.baseline)
	}
	if o.update {
		return checkReplaced("--baseline", job.baseline, inputs, func(f *input.File) bool { return !isCapture(f.Kind) && isBaseline(f) })
	}
	err := checkReplaced("--markdown", o.markdown, inputs, func(f *input.File) bool { return f.Kind == input.Text || f.Kind == input.TrainingLog })
	if err != nil {
		return err
	}
	return checkReplaced("--junit", o.junit, inputs, func(f *input.File) bool { return f.Kind == input.XML })
}

// isBaseline reports whether a file begins as baselines do.
func isBaseline(f *input.File) bool {
	return len(f.Head) >= len(budget.BaselineHead) && string(f.Head[:len(budget.BaselineHead)]) == budget.BaselineHead
}

// checkReplaced refuses to replace an input, or a file that is not of the kind
// that is written: a shell pattern may have put a capture there.
func checkReplaced(flag, path string, inputs []string, mayReplace func(*input.File) bool) error {
	if path == "" || path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usagef("%s %s: is a directory; name a file", flag, path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return usagef("%s %s: the folder does not exist; create it or name another file", flag, path)
		}
		return nil
	case err != nil || !info.Mode().IsRegular():
		return nil // an error that writing will meet
	}
	for _, in := range inputs {
		if other, err := os.Stat(in); err == nil && os.SameFile(info, other) {
			return usagef("%s %s: would overwrite an input; name another file", flag, path)
		}
	}
	if info.Size() == 0 {
		return nil
	}
	f, err := input.Open(path)
	if err != nil {
		return usagef("%s %s: exists and cannot be read; name another file", flag, path)
	}
	defer f.Close()
	if !mayReplace(f) {
		return usagef("%s %s: exists and is %s; name another file", flag, path, f.Kind.Describe())
	}
	return nil
}
