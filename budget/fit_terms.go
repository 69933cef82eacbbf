package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A moment is a place in a training step where memory can be at its highest. The
// peak of a step is the highest of them, so it bends where one takes over.
type moment uint8

const (
	builtMoment    moment = iota // the model is built; no peak, but it tells the weights apart
	lossMoment                   // the forward has ended: the loss is computed
	lossGradMoment               // the backward begins: the gradient of the logits exists too
	layerMoment                  // the backward is in the last layer, recomputing it if checkpointed
	gradMoment                   // the backward has ended: gradients, no activations
	stepMoment                   // the optimizer works
	numMoments     = int(stepMoment) + 1
)

// phase is what the user calls the part of the step that a moment is in.
func (m moment) phase() string {
	switch m {
	case lossMoment:
		return "forward"
	case stepMoment:
		return "step"
	}
	return "backward"
}

func (m moment) String() string {
	return [...]string{"model built", "end of the forward", "loss gradient", "last layer's backward", "end of the backward", "optimizer step"}[m]
}

// A momentSet is a set of moments.
type momentSet uint8

func at(moments ...moment) (s momentSet) {
	for _, m := range moments {
		s |= 1 << m
	}
	return s
}

func (s momentSet) has(m moment) bool { return s&(1<<m) != 0 }

var (
	always     = at(builtMoment, lossMoment, lossGradMoment, layerMoment, gradMoment, stepMoment)
	inStep     = at(lossMoment, lossGradMoment, layerMoment, gradMoment, stepMoment)
	whileSaved = at(lossMoment, lossGradMoment, layerMoment)
	withGrads  = at(gradMoment, stepMoment)
)

// A term is one kind of tensor: what it is proportional to, under which words it
// exists, and at which moments. Its coefficient is in bytes per unit.
type term struct {
	Name     string // "layer activations"
	Class    string // as in the ledger: parameter, gradient, …
	unit     termUnit
	When     []condition
	moments  momentSet
	textbook float64 // the coefficient before any point was seen
	spread   float64 // how far from that it may be, as a standard deviation
}

// A termUnit is a product of keys with their powers, times whatever the points lack
// as part of the coefficient. Without factors it is one byte.
type termUnit struct {
	factors []factor
	// matmul: the parameters that are in matrix products, P less the lookup
	// table of the embedding, in place of P.
	matmul bool
}

type factor struct {
	key   string
	power int
}

func (u termUnit) String() string {
	var parts []string
	for _, f := range u.factors {
		s := symbol(f.key)
		if f.power == 2 {
			s += "²"
		}
		if u.matmul && f.key == keyParams {
			s = "(P−V·h)"
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, "·")
}

// of is the value of the unit for the numbers of a point.
func (u termUnit) of(numbers map[string]float64) float64 {
	v := 1.0
	for _, f := range u.factors {
		x := numbers[f.key]
		if u.matmul && f.key == keyParams {
			x = max(0, x-numbers[keyVocab]*numbers[keyHidden])
		}
		v *= math.Pow(x, float64(f.power))
	}
	return v
}

// A schema is what a set of points has: its keys, and the words seen of each.
type schema struct {
	Numbers []string            // sorted
	Words   map[string][]string // the levels of each key, sorted

	// The points do not have params or heads: see fill.
	derivedParams, derivedHeads bool

	// Which measurements of the phases some point has: they decide which moments of
	// the step can be told apart where the textbook does not say.
	seen PhasePeaks
}

func schemaOf(points []Point) schema {
	s := schema{Words: map[string][]string{}}
	for key := range points[0].Numbers {
		s.Numbers = append(s.Numbers, key)
	}
	for key := range points[0].Words {
		s.Words[key] = levels(points, key)
	}
	for i := range points {
		s.seen.add(points[i].Phases)
	}
	if s.has(keyLayers) && s.has(keyHidden) {
		s.derivedParams, s.derivedHeads = !s.has(keyParams), !s.has(keyHeads)
	}
	s.Numbers = s.allNumbers()
	slices.Sort(s.Numbers)
	return s
}

// allNumbers are the number keys with those that fill adds.
func (s schema) allNumbers() []string {
	out := s.Numbers
	if s.derivedParams {
		out = append(out, keyParams)
	}
	if s.derivedHeads {
		out = append(out, keyHeads)
	}
	return out
}

// fill returns numbers with what the points do not have and what follows roughly
// from the rest: twelve matrices of h² per layer with an embedding and a head, and
// heads of 64. The coefficients take up what that is off by.
func (s schema) fill(numbers map[string]float64) map[string]float64 {
	if !s.derivedParams && !s.derivedHeads {
		return numbers
	}
	out := maps.Clone(numbers)
	if s.derivedParams {
		out[keyParams] = 12*out[keyLayers]*out[keyHidden]*out[keyHidden] + 2*out[keyVocab]*out[keyHidden]
	}
	if s.derivedHeads {
		out[keyHeads] = max(1, out[keyHidden]/64)
	}
	return out
}

// coarse reports whether nothing tells the forward from the backward.
func (s schema) coarse() bool {
	return !s.transformer() && s.seen.Forward == 0 && s.seen.Backward == 0
}

// phase and moment name where the peak is, as far as it can be told.
func (s schema) phase(m moment) string {
	if s.coarse() && whileSaved.has(m) {
		return "forward or backward"
	}
	if s.coarse() {
		return "step"
	}
	return m.phase()
}

func (s schema) moment(m moment) string {
	if s.coarse() {
		return s.phase(m)
	}
	return m.String()
}

// transformer reports whether the points say enough of the architecture for the
// dictionary of a transformer. Otherwise they are taken to be of one model.
func (s schema) transformer() bool {
	return s.has(keyLayers) && s.has(keyHidden) && (s.has(keyBatch) || s.has(keySeq))
}

func (s schema) has(key string) bool { return slices.Contains(s.Numbers, key) }

// unit is the product of the keys that the points have; the others are the same
// for all of them, or so it is assumed, and go into the coefficient, of which the
// textbook then knows nothing.
func (s schema) unit(factors ...factor) (u termUnit, whole bool) {
	for _, f := range factors {
		if s.has(f.key) {
			u.factors = append(u.factors, f)
		}
	}
	return u, len(u.factors) == len(factors)
}

// levelsOf are the words of a key, "" alone when the points do not have it.
func (s schema) levelsOf(key string) []string {
	if l := s.Words[key]; len(l) > 0 {
		return l
	}
	return []string{""}
}

// terms is the dictionary for points with this schema. It follows how a
// transformer trains under PyTorch; what it says is a start from which the points
// move each coefficient. Terms that the points cannot tell apart because a key is
// missing are merged.
func (s schema) terms() []term {
	b := &termBuilder{s: s}
	if s.transformer() {
		b.states()
		b.activations()
		b.loss()
	} else {
		b.plain()
	}
	b.userKeys()
	if b.s.transformer() || b.s.has(keyParams) {
		b.add(term{Name: "fixed", Class: "workspace", moments: inStep}, nil)
	}
	return b.merged()
}

type termBuilder struct {
	s   schema
	out []term
}

// add adds a term in proportion to the product of some keys.
func (b *termBuilder) add(t term, factors []factor) {
	matmul := t.unit.matmul
	whole := true
	t.unit, whole = b.s.unit(factors...)
	t.unit.matmul = matmul && whole && b.s.has(keyVocab)
	if !whole {
		t.textbook, t.spread = 0, 0
	}
	b.out = append(b.out, t)
}

// when builds the conditions of the keys that the points have.
func (b *termBuilder) when(pairs ...string) []condition {
	var out []condition
	for i := 0; i < len(pairs); i += 2 {
		if len(b.s.Words[pairs[i]]) > 0 {
			out = append(out, condition{pairs[i], pairs[i+1]})
		}
	}
	return out
}

var (
	perParam      = []factor{{keyParams, 1}}
	perLayerToken = []factor{{keyBatch, 1}, {keySeq, 1}, {keyHidden, 1}, {keyLayers, 1}}
	perToken      = []factor{{keyBatch, 1}, {keySeq, 1}, {keyHidden, 1}}
	perLayerScore = []factor{{keyBatch, 1}, {keySeq, 2}, {keyHeads, 1}, {keyLayers, 1}}
	perScore      = []factor{{keyBatch, 1}, {keySeq, 2}, {keyHeads, 1}}
	perHead       = []factor{{keyVocab, 1}, {keyHidden, 1}}
	perLogit      = []factor{{keyBatch, 1}, {keySeq, 1}, {keyVocab, 1}}
)

// states are weights, gradients and optimizer state: bytes per parameter.
func (b *termBuilder) states() {
	if b.s.derivedParams {
		b.add(term{Name: "parameters not counted", Class: "parameter", moments: inStep}, perHead)
		b.add(term{Name: "gradients not counted", Class: "gradient", moments: withGrads}, perHead)
	}
	for _, p := range b.s.levelsOf(keyPrecision) {
		kind, when, sure := precisionOf(p), b.when(keyPrecision, p), 0.4
		// 0.4: PyTorch's own rule, other only where states are sharded or offloaded.
		if b.s.derivedParams || kind == halfPrecision || kind == precisionUnknown {
			sure = 2 // "bf16" may mean autocast
		}
		b.add(term{Name: "weights", Class: "parameter", When: when, moments: always, textbook: kind.pick(4, 4, 2), spread: sure}, perParam)
		b.add(term{Name: "gradients", Class: "gradient", When: when, moments: withGrads, textbook: kind.pick(4, 4, 2), spread: sure}, perParam)
		if kind != fullPrecision {
			b.copies(p, kind)
		}
	}
	for _, o := range b.s.levelsOf(keyOptimizer) {
		when := b.when(keyOptimizer, o)
		b.add(term{Name: "optimizer state", Class: "optimizer_state", When: when, moments: inStep, textbook: optimizerState(o)}, perParam)
		temporary := 0.0
		if strings.Contains(strings.ToLower(o), "adam") {
			temporary = 4 // torch.optim's foreach steps make a list of tensors of the size of the weights
		}
		b.add(term{Name: "temporaries of the step", Class: "temporary", When: when, moments: at(stepMoment), textbook: temporary}, perParam)
	}
}

// copies are the 16-bit weights that autocast makes and keeps until it exits;
// the backward holds them too unless it recomputes the forward. The head is outside
// of the layers that are recomputed.
func (b *termBuilder) copies(precision string, kind precisionKind) {
	bytes := kind.pick(0, 2, 0)

	for _, c := range b.s.levelsOf(keyCheckpoint) {
		t := term{Name: "16-bit copies of the weights", Class: "temporary", unit: termUnit{matmul: true},
			When: b.when(keyPrecision, precision, keyCheckpoint, c), moments: whileSaved, textbook: bytes}
		if checkpointOf(c) == fullCheckpoint {
			t.moments = at(lossMoment)
			b.add(term{Name: "16-bit copy of the head", Class: "temporary", When: t.When, moments: at(lossGradMoment, layerMoment), textbook: bytes}, perHead)
		}
		b.add(t, perParam)
	}
}

// Textbook bytes of what a layer saves per element of b·s·h, without dropout: the
// input of two norms, what they feed, q, k, v, the attention's output, and the two
// four times wider tensors around the activation function make 32 elements in 16
// bits (Korthikanti et al. 2022, without masks). Under autocast the residual stream
// stays in 32 bits. Per element of b·s²·a it is the softmax, which autocast computes
// in 32 bits and then casts.
const (
	layerFull, layerMixed, layerHalf = 64, 36, 32
	scoreFull, scoreMixed, scoreHalf = 4, 6, 2
)

// activations are what the layers save for the backward, and what one layer needs
// while it works.
func (b *termBuilder) activations() {
	for _, p := range b.s.levelsOf(keyPrecision) {
		kind := precisionOf(p)
		whole, few := kind.pick(layerFull, layerMixed, layerHalf), kind.pick(16, 12, 8)
		b.add(term{Name: "embedding and last norm", Class: "activation", When: b.when(keyPrecision, p), moments: whileSaved, textbook: few}, perToken)
		for _, c := range b.s.levelsOf(keyCheckpoint) {
			when := b.when(keyPrecision, p, keyCheckpoint, c)
			saved := term{Name: "layer activations", Class: "activation", When: when, moments: whileSaved, textbook: whole}
			work := term{Name: "layer at work", Class: "temporary", When: when, moments: at(layerMoment), textbook: few}
			if checkpointOf(c) == fullCheckpoint {
				saved.Name, saved.textbook = "inputs of the layers", kind.pick(4, 4, 2)
				work.Name, work.textbook = "recomputed layer", whole
			}
			b.add(saved, perLayerToken)
			b.add(work, perToken)
		}
		b.scores(p, kind)
	}
	b.attentionExtra()
}

// scores are the s×s matrices of attention that is not fused.
func (b *termBuilder) scores(precision string, kind precisionKind) {
	for _, a := range b.s.levelsOf(keyAttention) {
		saved, working := kind.pick(scoreFull, scoreMixed, scoreHalf), kind.pick(8, 8, 4)
		if fusedAttention(a) {
			saved, working = 0, 0
		}
		for _, c := range b.s.levelsOf(keyCheckpoint) {
			if checkpointOf(c) == noCheckpoint {
				b.add(term{Name: "attention scores", Class: "activation", When: b.when(keyAttention, a, keyPrecision, precision, keyCheckpoint, c),
					moments: whileSaved, textbook: saved}, perLayerScore)
			}
		}
		b.add(term{Name: "attention at work", Class: "temporary", When: b.when(keyAttention, a, keyPrecision, precision),
			moments: at(layerMoment), textbook: working}, perScore)
	}
}

// attentionExtra is what one attention saves per token beyond another, such as
// copies of queries and keys.
func (b *termBuilder) attentionExtra() {
	kinds := b.s.levelsOf(keyAttention)
	lean := max(0, slices.IndexFunc(kinds, fusedAttention))
	for i, a := range kinds {
		if i == lean {
			continue
		}
		for _, c := range b.s.levelsOf(keyCheckpoint) {
			if checkpointOf(c) == noCheckpoint {
				b.add(term{Name: "attention activations", Class: "activation", When: b.when(keyAttention, a, keyCheckpoint, c), moments: whileSaved}, perLayerToken)
			}
		}
	}
}

// loss is the logits and what cross-entropy makes of them.
func (b *termBuilder) loss() {
	for _, p := range b.s.levelsOf(keyPrecision) {
		kind, when := precisionOf(p), b.when(keyPrecision, p)
		b.add(term{Name: "logits and loss", Class: "activation", When: when, moments: at(lossMoment, lossGradMoment), textbook: kind.pick(8, 10, 6)}, perLogit)
		b.add(term{Name: "gradient of the logits", Class: "temporary", When: when, moments: at(lossGradMoment), textbook: 4}, perLogit)
		b.add(term{Name: "logits held by the program", Class: "activation", When: when, moments: at(layerMoment)}, perLogit)
	}
}

// plain is the dictionary for points of one model, whose architecture they do not
// give: what is always there, what gradients and the step add, and activations per
// token and per pair of tokens. Each word has its own where words differ.
func (b *termBuilder) plain() {
	states := b.s.unitOr(perParam)
	seen := b.s.seen
	b.add(term{Name: "states", Class: "parameter", moments: always}, states)
	if seen.Init > 0 {
		b.add(term{Name: "optimizer state", Class: "optimizer_state", moments: inStep}, states)
	}
	b.add(term{Name: "gradients and what the step adds", Class: "gradient", moments: withGrads}, states)
	if seen.AfterBackward > 0 && seen.Step > 0 {
		b.add(term{Name: "temporaries of the step", Class: "temporary", moments: at(stepMoment)}, states)
	}
	b.add(term{Name: "activations per token", Class: "activation", moments: whileSaved}, tokens)
	if seen.Forward > 0 && seen.Backward > 0 {
		b.add(term{Name: "gradient of the loss", Class: "temporary", moments: at(lossGradMoment)}, tokens)
	}
	if b.s.has(keySeq) {
		b.add(term{Name: "attention scores", Class: "activation", moments: whileSaved}, tokenPairs)
	}
	for _, key := range wordKeys {
		b.word(key)
	}
}

// unitOr are the factors when the points have all of them, else none.
func (s schema) unitOr(factors []factor) []factor {
	if _, whole := s.unit(factors...); whole {
		return factors
	}
	return nil
}

var (
	tokens     = []factor{{keyBatch, 1}, {keySeq, 1}}
	tokenPairs = []factor{{keyBatch, 1}, {keySeq, 2}}
)

// userKeys are terms for keys whose meaning is not known: a number adds memory in
// proportion, by itself and per token; each word has its own.
func (b *termBuilder) userKeys() {
	for _, key := range b.s.Numbers {
		if slices.Contains(numberKeys, key) {
			continue
		}
		b.add(term{Name: key, Class: "unknown", moments: inStep}, []factor{{key, 1}})
		b.add(term{Name: key + " per token", Class: "unknown", moments: whileSaved}, append(slices.Clone(tokens), factor{key, 1}))
	}
	for _, key := range slices.Sorted(maps.Keys(b.s.Words)) {
		if !slices.Contains(wordKeys, key) {
			b.word(key)
		}
	}
}

// word gives each word of a key memory of its own.
func (b *termBuilder) word(key string) {
	words := b.s.Words[key]
	if len(words) < 2 {
		return
	}
	for _, w := range words {
		when := []condition{{key, w}}
		b.add(term{Name: key, Class: "unknown", When: when, moments: inStep}, nil)
		b.add(term{Name: key + ", gradients and step", Class: "unknown", When: when, moments: withGrads}, nil)
		b.add(term{Name: key + " per token", Class: "unknown", When: when, moments: whileSaved}, tokens)
		if b.s.has(keySeq) {
			b.add(term{Name: key + " per pair of tokens", Class: "unknown", When: when, moments: whileSaved}, tokenPairs)
		}
	}
}

// id tells terms apart that differ in what they are proportional to, when or where.
func (t *term) id() string {
	return fmt.Sprintf("%s|%v|%d", t.unit, t.When, t.moments)
}

// classOrder is the order of terms: what stays first.
var classOrder = []string{"parameter", "gradient", "optimizer_state", "activation", "temporary", "workspace", "unknown"}

// merged joins terms that are the same thing for these points.
func (b *termBuilder) merged() []term {
	index := map[string]int{}
	var out []term
	for _, t := range b.out {
		id := t.id()
		at, ok := index[id]
		if !ok {
			index[id] = len(out)
			out = append(out, t)
			continue
		}
		out[at].Name += ", " + t.Name
		out[at].textbook += t.textbook
	}
	slices.SortStableFunc(out, func(a, b term) int {
		return slices.Index(classOrder, a.Class) - slices.Index(classOrder, b.Class)
	})
	return out
}

// holds reports whether a term exists under the words of a point.
func (t *term) holds(words map[string]string) bool {
	for _, c := range t.When {
		if words[c.Key] != c.Level {
			return false
		}
	}
	return true
}

// row is the value of every term for a point, whatever the moment.
func (s schema) row(terms []term, numbers map[string]float64, words map[string]string) []float64 {
	out := make([]float64, len(terms))
	numbers = s.fill(numbers)
	for i := range terms {
		if terms[i].holds(words) {
			out[i] = terms[i].unit.of(numbers)
		}
	}
	return out
}
