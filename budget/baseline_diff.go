package budget

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
)

// Growth is what one device of a capture has more, or less, than the baseline.
// Its rows sum to the change of the moment.
type Growth struct {
	Capture, Device string
	Run             string // of the baseline
	Moment          string // "peak"; "end" where the baseline knows no peak
	attribution.DiffResult

	// Unlisted is the most that a line holds which the baseline leaves out for
	// being small. A line that is new may be one of these.
	Unlisted int64
}

// UnlistedRow is the function of the row for what a baseline leaves out.
const UnlistedRow = "(too small for the baseline to list)"

// compare tells what changed since the baseline; nil when lines cannot be compared.
func (d *BaselineDevice) compare(now *CaptureDevice) *Growth {
	after, missing := now.source.places(d.Moment)
	if missing != "" {
		return nil
	}
	totals, missing := now.source.totals(d.Moment)
	if missing != "" {
		return nil
	}
	g := &Growth{Device: now.ID, Moment: d.Moment, Unlisted: d.Rest.Largest}
	g.DiffResult = attribution.DiffPlaces(renamed(d.Places, after), after)
	if d.Rest.Bytes > 0 {
		g.Rows = append(g.Rows, attribution.DiffRow{Function: UnlistedRow, Before: d.Rest.Bytes, Delta: -d.Rest.Bytes,
			BeforeCount: d.Rest.Lines, Status: attribution.Gone, Category: attribution.Unknown})
		g.Before += d.Rest.Bytes
		g.Delta -= d.Rest.Bytes
	}
	g.Categories = changes(d.Totals[d.Moment], totals)
	if !slices.ContainsFunc(g.Rows, func(r attribution.DiffRow) bool { return r.Category != attribution.Unknown }) {
		g.Summary = categorySentences(g.Categories) // lines are not divided into categories
	}
	if s := now.source.settings(); s != d.Settings {
		g.Settings = []attribution.SettingChange{{Key: "PYTORCH_CUDA_ALLOC_CONF", Before: d.Settings, After: s}}
	}
	return g
}

// changes are the categories that one of the two has, largest change first.
func changes(before, after attribution.Totals) []attribution.CategoryDelta {
	var out []attribution.CategoryDelta
	for c := range after {
		if before[c] != 0 || after[c] != 0 {
			out = append(out, attribution.CategoryDelta{Category: attribution.Category(c), Before: before[c], After: after[c], Delta: after[c] - before[c]})
		}
	}
	slices.SortStableFunc(out, func(a, b attribution.CategoryDelta) int {
		return cmp.Compare(max(b.Delta, -b.Delta), max(a.Delta, -a.Delta))
	})
	return out
}

// categorySentences say which categories changed most.
func categorySentences(changed []attribution.CategoryDelta) []string {
	const most = 4
	var out []string
	for _, c := range changed {
		if c.Delta != 0 && len(out) < most {
			out = append(out, fmt.Sprintf("%s %s (%s to %s)", strings.ReplaceAll(c.Category.String(), "_", " "), units.Signed(c.Delta), units.Bytes(c.Before), units.Bytes(c.After)))
		}
	}
	return out
}

// renamed gives the places of a baseline the paths that the same files have now:
// the program may have been checked out elsewhere.
func renamed(before, after []attribution.Place) []attribution.Place {
	paths := matchFiles(filesOf(before), filesOf(after))
	out := slices.Clone(before)
	for i := range out {
		if now, ok := paths[out[i].File]; ok {
			out[i].File = now
		}
	}
	return out
}

func filesOf(places []attribution.Place) (files []string) {
	for _, p := range places {
		if p.File != "" {
			files = append(files, p.File)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// matchFiles pairs files by their paths, which are sorted: the same ones first,
// then those of one name that have most of their last elements in common.
func matchFiles(before, after []string) map[string]string {
	paths := map[string]string{}
	byName := map[string][]string{}
	for _, a := range after {
		if _, same := slices.BinarySearch(before, a); same {
			paths[a] = a
		} else {
			name := path.Base(slashed(a))
			byName[name] = append(byName[name], a)
		}
	}
	type pair struct {
		before, after string
		common        int
	}
	var pairs []pair
	for _, b := range before {
		if _, same := paths[b]; same || len(pairs) > maxFilePairs {
			continue
		}
		for _, a := range byName[path.Base(slashed(b))] {
			pairs = append(pairs, pair{b, a, commonElements(a, b)})
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.common, x.common), cmp.Compare(len(x.after), len(y.after)))
	})
	taken := map[string]bool{}
	for _, p := range pairs {
		if _, done := paths[p.before]; !done && !taken[p.after] {
			paths[p.before], taken[p.after] = p.after, true
		}
	}
	return paths
}

// maxFilePairs bounds the pairs that are looked at: no program has so many files
// of one name.
const maxFilePairs = 1 << 18

// commonElements is how many of the last elements of two paths are the same.
func commonElements(a, b string) (n int) {
	x, y := strings.Split(slashed(a), "/"), strings.Split(slashed(b), "/")
	for n < min(len(x), len(y)) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}
