package attribution

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snapview/snapview/internal/input"
)

// A RankSource is a file that may be a rank's snapshot.
type RankSource struct {
	Path        string
	Size        int64    // as it lies there, in bytes
	Compression []string // outermost first
	Named       bool     // given by itself, not found in a folder
	Err         error    // why it cannot be opened
}

// RankSkipped counts the files of folders that are no snapshots, by what they are.
type RankSkipped map[string]int

// Files is how many there are.
func (s RankSkipped) Files() (n int) {
	for _, k := range s {
		n += k
	}
	return n
}

// FindRanks lists the snapshots among files and in folders, which are searched
// to the bottom. They are told by content; in folders, other files are counted
// and left out. With match only paths count that hold it or, when it has *, ?
// or [, whose name or path matches it as a pattern.
func FindRanks(ctx context.Context, args []string, match string) ([]RankSource, RankSkipped, error) {
	f := rankFinder{match: match, skipped: RankSkipped{}, seen: map[string]bool{}}
	if _, err := filepath.Match(match, ""); err != nil {
		return nil, nil, err
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			if err := f.walk(ctx, arg); err != nil {
				return nil, nil, err
			}
		case f.matches(arg):
			f.add(arg, true)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(f.sources, func(a, b RankSource) int { return compareNatural(a.Path, b.Path) })
	return f.sources, f.skipped, nil
}

type rankFinder struct {
	match   string
	sources []RankSource
	skipped RankSkipped
	seen    map[string]bool
}

func (f *rankFinder) walk(ctx context.Context, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			f.skipped["a folder or file that cannot be read"]++
			return nil
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !f.matches(path):
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // a link to a file counts as that
			f.add(path, false)
		}
		return nil
	})
}

// matches reports whether a path is wanted.
func (f *rankFinder) matches(path string) bool {
	if !strings.ContainsAny(f.match, "*?[") {
		return strings.Contains(path, f.match)
	}
	for _, name := range []string{path, filepath.Base(path)} {
		if ok, _ := filepath.Match(f.match, name); ok {
			return true
		}
	}
	return false
}

// add recognises a file. One that cannot be opened is kept when it was named or
// is called a pickle: its rank is not missing but unreadable.
func (f *rankFinder) add(path string, named bool) {
	if clean := filepath.Clean(path); f.seen[clean] {
		return
	} else {
		f.seen[clean] = true
	}
	s := RankSource{Path: path, Named: named}
	in, err := input.Open(path)
	if err != nil {
		s.Err = err
		if open, ok := errors.AsType[*input.OpenError](err); ok {
			s.Err = open.Err // the caller names the file
		}
		if !named && !calledPickle(path) {
			f.skipped["unreadable"]++
			return
		}
		f.sources = append(f.sources, s)
		return
	}
	defer in.Close()
	s.Size, s.Compression = in.Size, slices.Clone(in.Compression)
	if !named && in.Kind != input.Pickle && in.Kind != input.SnapshotJSON && in.Kind != input.SegmentListJSON {
		f.skipped[in.Kind.Describe()]++
		return
	}
	f.sources = append(f.sources, s)
}

func calledPickle(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return strings.Contains(name, ".pickle") || strings.Contains(name, ".pkl")
}
