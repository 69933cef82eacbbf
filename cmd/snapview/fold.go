package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// A fold is what top folds by: the ways of snapshot.By, and those that need a
// classification or the modules of stacks.
type fold struct {
	by    snapshot.By
	other string // byCategory or byModule; "" for by
}

const byCategory, byModule = "category", "module"

// parseFold reads --by for a snapshot.
func parseFold(name string) (fold, error) {
	switch word := strings.ToLower(strings.TrimSpace(name)); word {
	case byCategory, byModule:
		return fold{other: word}, nil
	}
	by, err := snapshot.ParseBy(name)
	if err != nil {
		return fold{}, fmt.Errorf("%w, category, module", err)
	}
	return fold{by: by}, nil
}

func (f fold) String() string {
	if f.other != "" {
		return f.other
	}
	return f.by.String()
}

// plain reports whether f is by.
func (f fold) plain(by snapshot.By) bool { return f.other == "" && f.by == by }

// table folds what is live at m. Rows by category and module have the name as
// their function, and no file.
func (f fold) table(s *snapshot.Snapshot, t *snapshot.Timeline, m snapshot.Moment) snapshot.Table {
	switch f.other {
	case byCategory:
		return attribution.Classify(s, t).FoldCategories(m)
	case byModule:
		return attribution.FoldModules(s, t, m)
	}
	return s.Fold(t, m, f.by)
}

// name moves the name of a row to where JSON has it.
func (f fold) name(r *topRow) {
	switch f.other {
	case byCategory:
		r.Category, r.Function = r.Function, ""
	case byModule:
		r.Module, r.Function = r.Function, ""
	}
}
