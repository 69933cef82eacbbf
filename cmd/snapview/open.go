package main

import (
	"fmt"
	"runtime"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/snapshot"
)

// openFile opens the file called name, "-" for standard input, and recognises it.
func (u *ui) openFile(name string) (*input.File, error) {
	var f *input.File
	var err error
	if name == "-" {
		f, err = input.New(displayName(name), u.in)
	} else {
		f, err = input.Open(name)
	}
	if err != nil {
		return nil, inFile(name, err)
	}
	return f, nil
}

// readSnapshot reads a snapshot. Oddities become notes. A damaged file is an
// error unless --partial is given.
func (u *ui) readSnapshot(f *input.File, name string, o *options) (*snapshot.Snapshot, error) {
	bar := u.newProgress(name)
	defer bar.finish()
	s, err := snapshot.Read(f, snapshot.Options{Name: displayName(name), Partial: o.partial, Progress: bar.update})
	bar.finish()
	if err != nil {
		if s != nil {
			err = fmt.Errorf("%w; --partial shows what was read", err)
		}
		return nil, inFile(name, err)
	}
	for _, w := range s.Warnings {
		u.note(name, w)
	}
	// What decoding needed is free now. The replay that follows finds its room
	// there: touching new memory would take longer than this does.
	runtime.GC()
	return s, nil
}
