package trainlog

import "strings"

// A wordInfo is all that a word may mean. Lines of a log share their words, so
// each is looked at once.
type wordInfo struct {
	lower   string
	says    label // about a number beside it
	unit    Unit  // of a number before it
	isUnit  bool
	isGlued bool // a unit only when it follows the number at once: 12G
	steps   int8 // how surely it names a step, 0 for not at all
	role    wordRole
	gpu     int // the GPU that it names by itself: cuda0
	isGPU   bool
	from    []*program // whose lines may have it
}

type wordRole uint8

const (
	noRole      wordRole = iota
	epochWord            // an epoch follows
	trainWord            // an epoch may follow: "Train: [3/300][120/1251]"
	asideWord            // the line is about a validation
	afterWord            // "after 2 iterations"
	ofStepsWord          // "max_steps", the name of a total
	innerWord            // of two steps the one that counts
)

// noWord is a word that means nothing.
var noWord = wordInfo{gpu: Unknown}

// A vocabulary holds the words seen so far.
type vocabulary struct{ words map[string]*wordInfo }

// maxWords bounds a vocabulary; a log of hashes would fill it.
const maxWords = 1 << 14

func newVocabulary() *vocabulary { return &vocabulary{map[string]*wordInfo{}} }

func (v *vocabulary) look(text string) *wordInfo {
	if w, ok := v.words[text]; ok {
		return w
	}
	if len(v.words) >= maxWords {
		clear(v.words)
	}
	text = strings.Clone(text) // the line it is part of is not to be kept
	w := newWord(text)
	v.words[text] = w
	return w
}

func newWord(text string) *wordInfo {
	w := &wordInfo{lower: strings.ToLower(text), gpu: Unknown}
	w.says.read(text)
	w.unit, w.isUnit = unitWords[w.lower]
	if !w.isUnit {
		w.unit, w.isGlued = gluedUnits[w.lower]
	}
	w.unit.Text = text
	w.steps = stepWords[w.lower]
	w.role = roles[w.lower]
	name := strings.TrimRight(w.lower, "0123456789")
	if w.isGPU = name == "gpu" || name == "cuda" || name == "device"; w.isGPU {
		if n, ok := smallNumber(w.lower[len(name):]); ok {
			w.gpu = n
		}
	}
	rank, device := ownerOf(text)
	if w.says.rank = rank + 1; device != Unknown {
		w.isGPU, w.gpu = true, device
	}
	for i := range programs {
		if programs[i].word(text) {
			w.from = append(w.from, &programs[i])
		}
	}
	return w
}
