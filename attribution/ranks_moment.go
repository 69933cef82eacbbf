package attribution

import (
	"cmp"
	"slices"
)

// A RankMoment is one of several points of a run at which ranks left a snapshot.
type RankMoment struct {
	Name  string // what tells it from the others in the files' names; "" for the only one
	Ranks int    // how many left one
}

// phaseWords are words of names in the order in which a run passes them.
var phaseWords = map[string]int{
	"init": -5, "begin": -5, "start": -5, "initial": -5, "load": -5, "loaded": -5, "model": -5, "setup": -5, "before": -4, "pre": -4, "warmup": -4,
	"forward": 1, "fwd": 1, "backward": 2, "bwd": 2, "optim": 3, "optimizer": 3, "step": 3, "after": 4, "post": 4,
	"eval": 5, "val": 5, "validation": 5, "exit": 6, "oom": 6, "end": 7, "final": 7, "last": 7, "latest": 7, "done": 7, "finish": 7,
}

// momentOrder is where a moment lies in a run, as far as its name says: the
// numbers in it (steps, epochs), then its words.
type momentOrder struct {
	edge    int // −1: named like a start and without a number, 1: like an end
	numbers []int
	phase   int
	text    string
}

func orderOf(rest []nameToken) momentOrder {
	o := momentOrder{text: joinTokens(rest)}
	for i, t := range rest {
		phase := phaseWords[t.text]
		switch {
		case t.kind == numberToken:
			o.numbers = append(o.numbers, t.num)
		case i+1 < len(rest) && rest[i+1].kind == numberToken && labels[t.text] == stepLabel: // step of step_10 is no phase
		case phase < 0 && o.phase <= 0, phase > o.phase:
			o.phase = phase
		}
	}
	if len(o.numbers) == 0 {
		switch {
		case o.phase <= -5:
			o.edge = -1
		case o.phase >= 6:
			o.edge = 1
		}
	}
	return o
}

func compareMoments(a, b momentOrder) int {
	return cmp.Or(cmp.Compare(a.edge, b.edge), slices.Compare(a.numbers, b.numbers), cmp.Compare(a.phase, b.phase), compareNatural(a.text, b.text))
}

// tellsMoment reports whether a name speaks of the progress of a run, rather
// than of a machine or an experiment.
func tellsMoment(rest []nameToken) bool {
	for i, t := range rest {
		if phaseWords[t.text] != 0 {
			return true
		}
		if t.kind == numberToken {
			if l, _, _ := labelOf(rest, i); l == stepLabel {
				return true
			}
		}
	}
	return false
}

// differences are the parts of names in which they differ, in whole words:
// iteration_10 of iteration_10/memory_snapshot. The word of a number stays.
func differences(rests [][]nameToken) [][]nameToken {
	front := sameTokens(rests, func(t []nameToken, i int) int { return i })
	back := sameTokens(rests, func(t []nameToken, i int) int { return len(t) - 1 - i })
	for _, r := range rests {
		if front+back >= len(r) { // one name is another with more in it: leave its beginning
			front = 0
		}
	}
	out := make([][]nameToken, len(rests))
	for i, r := range rests {
		from, to := front, max(len(r)-back, 0)
		for from > 0 && from < len(r) && r[from].kind == numberToken && r[from-1].kind == wordToken {
			from--
		}
		if from >= to {
			from, to = 0, len(r)
		}
		out[i] = r[from:to]
	}
	return out
}

// sameTokens counts how many tokens are the same in all names, taken in the
// order that at gives.
func sameTokens(rests [][]nameToken, at func(t []nameToken, i int) int) int {
	for n := 0; ; n++ {
		for _, r := range rests {
			i, first := at(r, n), at(rests[0], n)
			if i < 0 || i >= len(r) || first < 0 || first >= len(rests[0]) || r[i].text != rests[0][first].text {
				return n
			}
		}
	}
}
