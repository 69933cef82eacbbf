package trainlog

import (
	"math"
	"strings"
)

// A place is how far the run is, as one line says.
type place struct {
	step  float64 // NaN: not printed
	of    float64 // how many steps there are, of the run or of the epoch; NaN: not printed
	batch bool    // the step counts from the start of an epoch
	epoch float64 // NaN: not printed
	sure  int8    // which spelling won: a higher one is surer
}

func nowhere() place { return place{step: math.NaN(), of: math.NaN(), epoch: math.NaN()} }

func (p *place) known() bool { return !math.IsNaN(p.step) || !math.IsNaN(p.epoch) }

// stepWords name a step, the surest first.
var stepWords = map[string]int8{
	"global_step": 6, "num_updates": 6, "trainer_step": 6,
	"step": 5, "iter": 5, "iteration": 5, "iters": 5, "it": 4, "update": 4, "steps": 4, "iterations": 4, "_step": 4, "train_step": 5, "training_step": 5, "current_step": 5, "iter_num": 5,
	"batch": batchSure, "batch_idx": batchSure, "minibatch": batchSure,
}

// roles are the words that tell how to read the numbers behind them.
var roles = map[string]wordRole{
	"inner": innerWord, "epoch": epochWord, "train": trainWord, "after": afterWord, "max_steps": ofStepsWord,
	"val": asideWord, "valid": asideWord, "validation": asideWord, "validating": asideWord, "eval": asideWord,
	"evaluation": asideWord, "evaluating": asideWord, "test": asideWord, "testing": asideWord,
}

const (
	batchSure = 3
	barSure   = 2 // a progress bar: "12/120 [00:03<00:30"
)

// placeOf reads how far the run is from the tokens of a line.
func placeOf(line string, tokens []token) place {
	p := nowhere()
	for i := range tokens {
		t := &tokens[i]
		if t.kind != word {
			continue
		}
		switch t.word.role {
		case asideWord:
			return p // the steps of a validation are not those of the training
		case epochWord:
			p.readEpoch(tokens, i)
			continue
		case trainWord:
			with := p
			if with.readEpoch(tokens, i); with.batch {
				p = with
			}
			continue
		}
		sure := t.word.steps
		if sure > 0 && i > 0 && tokens[i-1].kind == word && tokens[i-1].word.role == innerWord {
			sure++ // "outer step: 5 | inner step: 84"
		}
		if sure <= p.sure || isPlural(t.word.lower) && !plural(tokens, i) {
			continue
		}
		if at, ok := valueAt(tokens, i); ok {
			p.take(tokens, at, sure)
			p.batch = sure == batchSure
		} else if at, ok := valueBefore(tokens, i); ok {
			p.take(tokens, at, sure)
		}
	}
	if p.batch && math.IsNaN(p.of) && math.IsNaN(p.epoch) {
		p = nowhere() // the size of a batch
	}
	if p.sure < barSure {
		p.readBar(line, tokens)
	}
	return p
}

// take sets the step from the number at token i, and the total behind a slash.
func (p *place) take(tokens []token, i int, sure int8) {
	p.step, p.of, p.sure = tokens[i].value, math.NaN(), sure
	if total, ok := totalAfter(tokens, i); ok {
		p.of = total
	}
}

// totalAfter reads "/120" behind token i.
func totalAfter(tokens []token, i int) (float64, bool) {
	if i+2 < len(tokens) && tokens[i+1].kind == mark && tokens[i+1].mark == '/' && isCount(&tokens[i+2]) {
		return tokens[i+2].value, true
	}
	return 0, false
}

// isCount reports whether a token is a whole number that can count steps.
func isCount(t *token) bool {
	return t.kind == number && t.digits == 0 && isStep(t.value)
}

// isStep reports whether a number can be a step, an epoch or how many there are.
func isStep(v float64) bool { return v >= 0 && v < 1e12 }

// valueAt finds the number that the word at token i names. Between them may be
// marks, and the name of the total: "global_step/max_steps': '12/94".
func valueAt(tokens []token, i int) (at int, ok bool) {
	const far = 6
	for j := i + 1; j < len(tokens) && j <= i+far; j++ {
		t := &tokens[j]
		switch {
		case t.kind == number:
			return j, isCount(t) && !hasUnitAfter(tokens, j)
		case t.kind == mark && strings.IndexByte(":=#'\"[(/", t.mark) >= 0, t.kind == mark && t.mark == ']' && j == i+1:
		case t.kind == word && t.word.role == ofStepsWord:
		default:
			return 0, false
		}
	}
	return 0, false
}

// hasUnitAfter reports whether a number is followed by letters that make it
// something else: "step 12ms".
func hasUnitAfter(tokens []token, i int) bool {
	return i+1 < len(tokens) && tokens[i+1].kind == word && !tokens[i+1].spaced
}

// valueBefore reads "(after 2 iterations)".
func valueBefore(tokens []token, i int) (at int, ok bool) {
	if i < 2 || !isCount(&tokens[i-1]) || tokens[i-2].kind != word || tokens[i-2].word.role != afterWord {
		return 0, false
	}
	return i - 1, true
}

func isPlural(name string) bool { return name == "steps" || name == "iterations" || name == "iters" }

// plural reports whether "steps" at token i counts what is done, and not what is
// planned: it starts the line, or follows "after 12".
func plural(tokens []token, i int) bool {
	if i == 0 {
		return true
	}
	_, ok := valueBefore(tokens, i)
	return ok
}

// readEpoch reads what follows the word "epoch" at token i: "3", "3/10",
// "[3][120/7500]", "[3]  [ 120/7500]", "3: 10%|█ | 12/120". A word in
// parentheses may stand between: "Epoch(train)  [3][120/7500]".
func (p *place) readEpoch(tokens []token, i int) {
	j := i + 1
	if j+2 < len(tokens) && tokens[j].kind == mark && tokens[j].mark == '(' && tokens[j+1].kind == word {
		j += 3
	}
	var counts []int
	for ; j < len(tokens) && len(counts) < 2; j++ {
		t := &tokens[j]
		if t.kind == number {
			if len(counts) == 0 && t.value >= 0 && !hasUnitAfter(tokens, j) {
				p.epoch = t.value // Transformers counts in fractions
			}
			if !isCount(t) {
				return
			}
			counts = append(counts, j)
			if total, ok := totalAfter(tokens, j); ok && len(counts) == 1 && total >= t.value {
				j += 2 // of so many epochs
			}
			continue
		}
		if t.kind != mark || strings.IndexByte(":=#'\"[(])", t.mark) < 0 {
			return
		}
	}
	if len(counts) < 2 || p.sure >= batchSure {
		return
	}
	if total, ok := totalAfter(tokens, counts[1]); ok {
		p.step, p.of, p.batch, p.sure = tokens[counts[1]].value, total, true, batchSure
	}
}

// readBar reads a progress bar as tqdm draws it: "33%|███▎  | 12/120 [00:03<00:30".
func (p *place) readBar(line string, tokens []token) {
	for i := range tokens {
		total, ok := totalAfter(tokens, i)
		if !ok || !isCount(&tokens[i]) || total < tokens[i].value {
			continue
		}
		after, before := i+3, i-1
		bracket := after < len(tokens) && tokens[after].kind == mark && tokens[after].mark == '['
		bar := before >= 0 && tokens[before].kind == mark && tokens[before].mark == '|'
		if bracket && strings.ContainsAny(line[tokens[after].start:], "<,") || bar {
			p.step, p.of, p.sure, p.batch = tokens[i].value, total, barSure, true
			return
		}
	}
}
