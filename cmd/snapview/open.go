package main

import (
	"fmt"

	"github.com/snapview/snapview/snapshot"
)

// open reads the snapshot in the file called name, "-" for standard input.
// Oddities become notes. A damaged file is an error unless --partial is given.
func (u *ui) open(name string, o *options) (*snapshot.Snapshot, error) {
	bar := u.newProgress(name)
	defer bar.finish()
	read := snapshot.Options{Name: displayName(name), Partial: o.partial, Progress: bar.update}
	var s *snapshot.Snapshot
	var err error
	if name == "-" {
		s, err = snapshot.Read(u.in, read)
	} else {
		s, err = snapshot.OpenWith(name, read)
	}
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
	return s, nil
}
