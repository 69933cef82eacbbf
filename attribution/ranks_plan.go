package attribution

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoRankMoment is wrapped by the error for a moment that no file is named after.
var ErrNoRankMoment = errors.New("no snapshot is named so")

// A rankFile is a file and whose it is, as far as its name says.
type rankFile struct {
	Source RankSource
	ID     RankID
	Basis  RankBasis // RankUnknown until it is read when its name does not say

	name   rankName
	moment int // index into rankPlan.moments
}

// A rankPlan says which files to compare.
type rankPlan struct {
	files   []rankFile // of the chosen moment, by rank
	all     []rankFile
	moments []RankMoment // in order of the run, as far as names tell
	chosen  int          // index into moments; −1 when files of several are read
	tells   []bool       // of each moment: its name speaks of progress
	older   int          // files of the chosen moment whose rank has a later one, by the times in their names
	unnamed []string     // snapshots in folders whose name tells no rank, while others' does
}

// planOptions are what is known beyond names.
type planOptions struct {
	at        string // the moment to take; "" for the last that most ranks have
	notRanks  bool   // bare numbers are no ranks: the files are of one process
	otherNode bool   // what looked like moments are machines
}

// planRanks reads the names of files and chooses those to compare.
func planRanks(sources []RankSource, o planOptions) (rankPlan, error) {
	p := rankPlan{chosen: -1}
	for i, path := range relativePaths(sources) {
		n := readName(path)
		f := rankFile{Source: sources[i], ID: n.id, name: n}
		if n.id.known() {
			f.Basis = RankByName
		}
		p.all = append(p.all, f)
	}
	dropSettings(p.all)
	if !o.notRanks {
		numberRanks(p.all)
	}
	dropAttributes(p.all)
	p.findMoments()
	if o.otherNode {
		p.momentsAreNodes()
	}
	localRanks(p.all)
	if err := p.choose(o.at); err != nil {
		return p, err
	}
	return p, nil
}

// relativePaths are the paths below the folder that all have in common. Where
// none of them says whose it is, a rank in the two last common folders counts.
func relativePaths(sources []RankSource) []string {
	split := make([][]string, len(sources))
	for i, s := range sources {
		split[i] = strings.Split(filepath.ToSlash(s.Path), "/")
	}
	common := 0
	for common < len(split[0])-1 && !slices.ContainsFunc(split, func(s []string) bool {
		return common >= len(s)-1 || s[common] != split[0][common]
	}) {
		common++
	}
	join := func(from int) (out []string, known, ranked bool) {
		for _, s := range split {
			path := strings.Join(s[from:], "/")
			id := readName(path).id
			known, ranked = known || id.known(), ranked || id.Rank >= 0
			out = append(out, path)
		}
		return out, known, ranked
	}
	paths, known, _ := join(common)
	if !known {
		if longer, _, ranked := join(max(common-2, 0)); ranked {
			return longer
		}
	}
	return paths
}

// dropSettings removes coordinates that are the same in all names: those are
// sizes (tp2_pp4_rank3) or tell nothing.
func dropSettings(files []rankFile) {
	if len(files) < 2 {
		return
	}
	for _, a := range slices.Clone(files[0].ID.Axes) {
		if slices.ContainsFunc(files, func(f rankFile) bool { return f.ID.axis(a.Name) != a.Index }) {
			continue
		}
		for i := range files {
			id := &files[i].ID
			id.Axes = slices.DeleteFunc(slices.Clone(id.Axes), func(x RankAxis) bool { return x == a })
			if !id.known() {
				files[i].Basis = RankUnknown
			}
		}
	}
}

// numberRanks takes a number that no word explains for the rank, when no name
// says a rank: the last one in which names differ, if it runs from 0 or 1 on
// without many gaps and the files that differ in nothing else have different ones.
func numberRanks(files []rankFile) {
	if len(files) < 2 || slices.ContainsFunc(files, func(f rankFile) bool { return f.ID.known() }) {
		return
	}
	shapes := map[string][]int{}
	for i := range files {
		shapes[shapeOf(&files[i].name)] = append(shapes[shapeOf(&files[i].name)], i)
	}
	for _, members := range shapes {
		bare := files[members[0]].name.bare
		for k := len(bare) - 1; k >= 0; k-- {
			if countsRanks(files, members, k) {
				for _, i := range members {
					files[i].takeNumber(k)
				}
				break
			}
		}
	}
}

// shapeOf is the name with every bare number as #.
func shapeOf(n *rankName) string {
	rest := slices.Clone(n.rest)
	for _, i := range n.bare {
		rest[i].text = "#"
	}
	return joinTokens(rest)
}

// countsRanks reports whether the k-th bare number of some files numbers ranks.
func countsRanks(files []rankFile, members []int, k int) bool {
	values, seen := map[int]bool{}, map[string]bool{}
	lowest, highest := files[members[0]].name.number(k), 0
	for _, i := range members {
		n := &files[i].name
		v := n.number(k)
		values[v] = true
		lowest, highest = min(lowest, v), max(highest, v)
		id := n.time + "/" + n.key()
		if seen[id] {
			return false
		}
		seen[id] = true
	}
	return len(values) > 1 && lowest <= 1 && highest < 2*len(values)+1
}

func (n *rankName) number(k int) int { return n.rest[n.bare[k]].num }

func (f *rankFile) takeNumber(k int) {
	at := f.name.bare[k]
	f.ID = noRank
	f.ID.Rank, f.Basis = f.name.number(k), RankByNumber
	f.name.rest = slices.Delete(slices.Clone(f.name.rest), at, at+1)
}

// dropAttributes takes out of names what belongs to a rank as much as its
// number does, such as its machine or process: a word that all files of the
// ranks that have it hold, and those of other ranks do not. Words that speak of
// the progress of the run stay.
func dropAttributes(files []rankFile) {
	perRank := map[string]int{}            // files
	holding := map[string]map[string]int{} // files that hold a word, by word and rank
	for _, f := range files {
		if !f.ID.known() {
			continue
		}
		id := f.ID.String()
		perRank[id]++
		for word := range f.name.words() {
			if holding[word] == nil {
				holding[word] = map[string]int{}
			}
			holding[word][id]++
		}
	}
	attribute := func(word string) bool {
		ranks := holding[word]
		for id, n := range ranks {
			if n != perRank[id] {
				return false
			}
		}
		return len(ranks) < len(perRank)
	}
	for i := range files {
		if n := &files[i].name; files[i].ID.known() {
			words := n.words()
			n.rest = slices.DeleteFunc(slices.Clone(n.rest), func(t nameToken) bool { return words[t.text] && attribute(t.text) })
		}
	}
}

// words are the words and numbers of the rest that do not speak of progress.
func (n *rankName) words() map[string]bool {
	out, not := map[string]bool{}, map[string]bool{}
	for i, t := range n.rest {
		switch l, _, from := labelOf(n.rest, i); {
		case phaseWords[t.text] != 0:
		case t.kind == numberToken && l == stepLabel:
			for j := from; j <= i; j++ {
				not[n.rest[j].text] = true
			}
		default:
			out[t.text] = true
		}
	}
	maps.DeleteFunc(out, func(word string, _ bool) bool { return not[word] })
	return out
}

// localRanks recognises ranks that are numbers on a machine, or within a
// coordinate: the same number occurs on several at one moment.
func localRanks(files []rankFile) {
	type place struct {
		moment, rank int
	}
	where := map[place]string{}
	repeated := false
	for _, f := range files {
		if f.ID.Rank < 0 {
			continue
		}
		k, rest := place{f.moment, f.ID.Rank}, RankID{Rank: -1, Local: -1, Node: f.ID.Node, Axes: f.ID.Axes}.String()
		if old, known := where[k]; known && old != rest {
			repeated = true
		}
		where[k] = rest
	}
	for i := range files {
		id := &files[i].ID
		switch {
		case id.Rank < 0:
		case !repeated:
			id.Local = -1
		case id.Node != "":
			id.Local, id.Rank = id.Rank, -1
		case len(id.Axes) > 0:
			id.Axes = append(slices.Clone(id.Axes), RankAxis{"rank", id.Rank})
			id.Rank = -1
		}
	}
}
