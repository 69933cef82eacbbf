package budget

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
)

// planMemory is what a configuration takes on one GPU. Sizes are bytes.
type planMemory struct {
	Peak     int64   // of allocated memory
	Reserved int64   // by the allocator
	Half     float64 // half of the 95 % interval of Reserved as a part of it; 0 when not known

	Ledger     *Ledger     // of an estimate
	Prediction *Prediction // of a fitted model
}

// A variation is what is changed for one draw; zero values stay as they are.
type variation struct {
	Seq, Hidden, Batch int64
	Precision          string
}

// A planPlace is a configuration whose memory can be worked out.
type planPlace interface {
	memory(v variation) (planMemory, error)
	number(key string) int64 // 0 for a key that it does not have
	word(key string) string
	with(set []PlanSetting) (planPlace, error)
	// seqStep and hiddenStep are what the two have to be multiples of.
	seqStep() int64
	hiddenStep() int64
	most(key string) int64 // beyond which a value makes no sense; 0 for no bound
}

// A settingError is an error of a setting on a line of the plan.
func (p *Plan) settingError(s PlanSetting, err error) error {
	return &FileError{p.File, s.Line, err}
}

// An estimatePlace works memory out from the settings.
type estimatePlace struct{ c Config }

// estimatePlace puts a configuration together.
func (p *Plan) estimatePlace(c Config, own PlanConfiguration, g *PlanGPU) (planPlace, error) {
	var err error
	gpus := false
	for _, list := range [][]PlanSetting{p.Base, own.Set} {
		if c, err = p.apply(c, list); err != nil {
			return nil, err
		}
		for _, s := range list {
			if known, ok := setting(s.Key); ok && known.Name == "gpus" {
				gpus = true
			}
		}
	}
	switch {
	case g.Count > 0 && gpus && c.GPUs != g.Count:
		return nil, p.errorAt(g.Line, "count: %d, but %s says gpus: %d; say it in one place", g.Count, own.Name, c.GPUs)
	case g.Count > 0:
		c.GPUs = g.Count
	}
	c.GPU = g.Card.Name
	if err := c.Check(); err != nil {
		return nil, p.errorAt(p.blame(own, err), "%w", err)
	}
	if !c.Model.sized() {
		return nil, p.errorAt(own.Line, "%s: only the number of parameters is known, so activations, and with them the peak, are not; name a model, or give layers, hidden, heads and vocab", own.Name)
	}
	whole := c
	whole.settle()
	c.Model.Tied, c.Model.Params = whole.Model.Tied, 0 // the number of parameters follows when sizes vary
	return &estimatePlace{c}, nil
}

// apply changes settings one after the other; a model comes first, as in a file.
func (p *Plan) apply(c Config, set []PlanSetting) (Config, error) {
	byKey := map[string]PlanSetting{}
	var names []string
	for _, s := range set {
		byKey[s.Key] = s
		names = append(names, s.Key)
	}
	for _, name := range ordered(names) {
		s := byKey[name]
		if known, ok := setting(name); ok && known.Name == "gpu" {
			return c, p.settingError(s, errors.New("gpu: the plan compares GPUs; list them under gpus"))
		}
		if err := c.set(name, s.Value); err != nil {
			return c, p.settingError(s, err)
		}
	}
	return c, nil
}

// blame finds the line of the setting that an error begins with.
func (p *Plan) blame(own PlanConfiguration, err error) int {
	for _, list := range [][]PlanSetting{own.Set, p.Base} {
		for _, s := range list {
			known, ok := setting(s.Key)
			if ok && len(err.Error()) > len(known.Name) && err.Error()[:len(known.Name)+1] == known.Name+":" {
				return s.Line
			}
		}
	}
	return own.Line
}

func (e *estimatePlace) memory(v variation) (planMemory, error) {
	c := e.c
	if v.Seq > 0 {
		c.Seq = v.Seq
	}
	if v.Batch > 0 {
		c.Batch = v.Batch
	}
	if v.Hidden > 0 && v.Hidden != c.Model.Hidden {
		c.Model.widen(v.Hidden)
	}
	if v.Precision != "" {
		if err := c.set(keyPrecision, v.Precision); err != nil {
			return planMemory{}, err
		}
	}
	l, err := Estimate(c)
	if err != nil {
		return planMemory{}, err
	}
	return planMemory{Peak: l.PerGPU, Reserved: max(l.Reserved, l.PerGPU), Ledger: &l}, nil
}

// widen changes the width of a model; given widths of the MLP keep their ratio to it,
// and so does that of a head.
func (m *Model) widen(hidden int64) {
	scale := func(n *int64) {
		if *n > 0 {
			*n = int64(math.Round(float64(*n) * float64(hidden) / float64(m.Hidden)))
		}
	}
	scale(&m.FFN)
	scale(&m.ExpertFFN)
	scale(&m.SharedFFN)
	if m.HeadDim > 0 {
		m.HeadDim = max(2, m.HeadDim*hidden/m.Hidden/2*2)
	}
	m.Hidden = hidden
}

func (e *estimatePlace) number(key string) int64 {
	switch key {
	case keySeq:
		return e.c.Seq
	case keyHidden:
		return e.c.Model.Hidden
	case keyBatch:
		return e.c.Batch
	case "accumulation":
		return e.c.Accumulation
	case "zero":
		return e.c.ZeRO
	case "gpus":
		return e.c.GPUs
	case "replicas":
		return e.c.GPUs / (e.c.Tensor * e.c.Pipeline * e.c.Context)
	}
	return 0
}

func (e *estimatePlace) word(key string) string {
	s, ok := setting(key)
	if !ok {
		return ""
	}
	if w, ok := s.field(&e.c).(interface{ word() string }); ok {
		return w.word()
	}
	return ""
}

func (e *estimatePlace) with(set []PlanSetting) (planPlace, error) {
	c := e.c
	for _, s := range set {
		if err := c.set(s.Key, s.Value); err != nil {
			return nil, err
		}
	}
	return &estimatePlace{c}, c.Check()
}

func (e *estimatePlace) seqStep() int64 {
	step := e.c.Context
	if e.c.Seq%(8*step) == 0 {
		step *= 8
	}
	return step
}

// hiddenStep keeps heads whole, and their width even, as rotation needs it.
func (e *estimatePlace) hiddenStep() int64 {
	m := &e.c.Model
	if m.Hidden%(8*m.Heads) == 0 {
		return 8 * m.Heads
	}
	if m.Hidden%(2*m.Heads) == 0 {
		return 2 * m.Heads
	}
	return max(1, m.Heads)
}

func (e *estimatePlace) most(key string) int64 {
	if key == keySeq {
		return e.c.Model.Positions
	}
	return 0
}

// A modelPlace predicts memory with a fitted model.
type modelPlace struct {
	m   *MemoryModel
	set map[string]string
}

// modelPlace puts a configuration together from the keys of the points.
func (p *Plan) modelPlace(m *MemoryModel, own PlanConfiguration) (planPlace, error) {
	place := &modelPlace{m, map[string]string{}}
	known := map[string]bool{}
	for _, k := range m.keys {
		known[k.Name] = true
	}
	last := own.Line
	for _, list := range [][]PlanSetting{p.Base, own.Set} {
		for _, s := range list {
			if !known[keyName(s.Key)] {
				return nil, p.settingError(s, fmt.Errorf("%s: the points of the model have no such key; their keys are %s", quoteKey(s.Key), keyList(m.keys)))
			}
			one := Place{Numbers: map[string]float64{}, Words: map[string]string{}}
			for _, k := range m.keys {
				if k.Name == keyName(s.Key) {
					if err := one.set(k, s.Value); err != nil {
						return nil, p.settingError(s, fmt.Errorf("%s: %w", quoteKey(s.Key), err))
					}
				}
			}
			place.set[keyName(s.Key)] = s.Value
		}
	}
	if _, err := m.Place(place.set); err != nil {
		return nil, p.errorAt(last, "%s: %w", own.Name, err)
	}
	return place, nil
}

func (e *modelPlace) memory(v variation) (planMemory, error) {
	set := maps.Clone(e.set)
	for key, n := range map[string]int64{keySeq: v.Seq, keyHidden: v.Hidden, keyBatch: v.Batch} {
		if n > 0 {
			set[key] = strconv.FormatInt(n, 10)
		}
	}
	if v.Precision != "" {
		set[keyPrecision] = v.Precision
	}
	pr, err := e.m.Predict(set)
	if err != nil {
		return planMemory{}, err
	}
	out := planMemory{Peak: pr.Peak, Reserved: pr.Peak, Half: float64(pr.High)/float64(pr.Peak) - 1, Prediction: &pr}
	if r := pr.Reserved; r != nil {
		out.Reserved, out.Half = max(r.Bytes, pr.Peak), float64(r.High)/float64(r.Bytes)-1
	}
	return out, nil
}

func (e *modelPlace) place() Place {
	p, _ := e.m.Place(e.set) // checked when it was made
	return p
}

func (e *modelPlace) number(key string) int64 {
	switch key {
	case "accumulation", "gpus", "replicas":
		return 1
	}
	return int64(e.place().Numbers[key])
}

func (e *modelPlace) word(key string) string { return e.place().Words[key] }

func (e *modelPlace) with(set []PlanSetting) (planPlace, error) {
	out := &modelPlace{e.m, maps.Clone(e.set)}
	for _, s := range set {
		out.set[keyName(s.Key)] = s.Value
	}
	_, err := e.m.Place(out.set)
	return out, err
}

func (e *modelPlace) seqStep() int64 { return 1 }

func (e *modelPlace) hiddenStep() int64 { return max(1, e.number(keyHeads)) }

func (e *modelPlace) most(string) int64 { return 0 }

// fragmentationKnown reports whether reserved memory is known apart from the peak.
func (m *planMemory) fragmentationKnown() bool {
	return m.Ledger != nil || m.Prediction != nil && m.Prediction.Reserved != nil
}
